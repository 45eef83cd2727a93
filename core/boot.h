/* boot.h - which boot and which time namespace a monotonic time belongs to. [L1] */
#ifndef CR_CORE_BOOT_H
#define CR_CORE_BOOT_H

#include <stdint.h>

/** Where monotonic times can be compared: equal marks mean the same clock. */
struct boot_mark {
	uint64_t boot;     /* hash of the kernel's boot id */
	int64_t offset_ns; /* of this process's time namespace to the first one */
};

/** The mark of the calling process. [any] */
struct boot_mark boot_mark_now(void);

#endif
