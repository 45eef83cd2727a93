/* files.h - sockets of collectors, and what to say when this process may open no more files. */
#ifndef CR_COLLECTORS_FILES_H
#define CR_COLLECTORS_FILES_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/** How many this process may open. [any] */
static inline rlim_t files_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

/**
 * socket(), closed by exec(), but the last 16 files are left to others: names are looked up,
 * certificates read and operators answered with them. Returns a descriptor, or -EMFILE or another
 * negative errno value. [any]
 */
static inline int files_socket(int family, int type, int protocol)
{
	const rlim_t limit = files_limit(), rest = limit / 8 < 16 ? limit / 8 : 16;
	const int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return -errno;
	if ((rlim_t)fd + rest < limit) /* it is the lowest that was free */
		return fd;
	close(fd);
	return -EMFILE;
}

/** Is that what this error, a negative errno value, says? [any] */
static inline bool files_are_short(int code)
{
	return code == -EMFILE || code == -ENFILE;
}

/** A sentence for the operator, of such an error. [any] */
static inline void files_explain(int code, char *text, size_t len)
{
	if (code == -ENFILE)
		(void)snprintf(text, len,
			       "this machine has no file left for a connection: raise fs.file-max "
			       "(sysctl) or lower max_inflight");
	else
		(void)snprintf(text, len,
			       "no file left for a connection: let callrouterd open more than %llu "
			       "(LimitNOFILE=, ulimit -n) or lower max_inflight",
			       (unsigned long long)files_limit());
}

#endif
