/* target_list.h - targets on their way to the collector that is to say whether it can poll them. */
#ifndef CR_DAEMON_TARGET_LIST_H
#define CR_DAEMON_TARGET_LIST_H

#include <stddef.h>
#include <stdint.h>

/** Called for each bad one; text: why, one line that may hold any bytes; borrowed. */
typedef void target_list_fn(void *user, size_t index, const char *text);

struct target_list {
	const char *const *target; /* [n]; each shorter than TARGET_LIST_LEN */
	size_t n;
	target_list_fn *bad;
	void *user;
	int64_t *left_ns; /* for check(), of this list and those that follow; what it takes is taken
			     off. NULL: TARGET_LIST_NS of its own */
};

#define TARGET_LIST_LEN 4096                      /* with the NUL */
#define TARGET_LIST_NS  (5000 * INT64_C(1000000)) /* for all lists of a configuration */

#endif
