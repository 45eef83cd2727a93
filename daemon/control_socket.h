/* control_socket.h - the listening socket of a run directory. */
#ifndef CR_DAEMON_CONTROL_SOCKET_H
#define CR_DAEMON_CONTROL_SOCKET_H

#include <sys/types.h>

#include "err.h"

struct control_socket {
	int fd;
	dev_t dev;
	ino_t ino;
	char path[108]; /* as long as a socket's path may be */
};

/**
 * Make RUN/control.sock, mode 0660, group gid ((gid_t)-1: leave), and listen. A stale socket is
 * replaced, a live one refused: -EADDRINUSE. s: the caller's, closed by control_socket_close().
 * Returns 0 or < 0 with err. [main]
 */
int control_socket_open(struct control_socket *s, const char *run_dir, gid_t gid, struct err *err);

/** Stop listening, and remove the file if it is still this socket. [main] */
void control_socket_close(struct control_socket *s);

#endif
