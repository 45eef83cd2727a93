/* boot.c - which boot and which time namespace a monotonic time belongs to. */
#include "boot.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "clock.h"

/* The start of a small file as a string; "" if it cannot be read. */
static void read_start(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;

	if (fd >= 0) {
		got = read(fd, buf, len - 1);
		close(fd);
	}
	buf[got > 0 ? got : 0] = '\0';
}

/* A line "monotonic  SECONDS  NANOSECONDS". A kernel without time namespaces has no such file. */
static int64_t monotonic_offset_ns(void)
{
	char buf[256], *at, *end;
	long long seconds, ns;

	read_start("/proc/self/timens_offsets", buf, sizeof buf);
	at = strstr(buf, "monotonic");
	if (at == NULL)
		return 0;
	at += strlen("monotonic");
	seconds = strtoll(at, &end, 10);
	ns = strtoll(end, NULL, 10);
	if (seconds > INT64_MAX / CLOCK_S - 1 || seconds < INT64_MIN / CLOCK_S + 1)
		return 0;
	return seconds * CLOCK_S + ns;
}

struct boot_mark boot_mark_now(void)
{
	char id[64];

	read_start("/proc/sys/kernel/random/boot_id", id, sizeof id);
	return (struct boot_mark){ .boot = cr_hash64(id, strcspn(id, "\n")),
				   .offset_ns = monotonic_offset_ns() };
}
