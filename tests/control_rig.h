/* control_rig.h - a control socket in a folder of its own, and clients for it. */
#ifndef CR_TESTS_CONTROL_RIG_H
#define CR_TESTS_CONTROL_RIG_H

#include <stdbool.h>

#include "control.h"

#define CLIENTS_MAX 64 /* as many as are served at once */

/* The daemon's part: an event loop, run by rig_pump(). */
extern char rig_dir[64];
extern struct event_base *rig_base;
extern struct control *rig_control;
extern struct control_request *rig_put_off; /* the last request of command "later" */
extern const struct control_command rig_commands[];

void rig_set_up(void);
void rig_tear_down(void);

/** Let the daemon do what it can do without waiting. */
void rig_pump(void);

/** Connect to the socket in this folder. Returns the descriptor or negative errno. */
int rig_connect(const char *in);

/** The same in rig_dir, taken on by the daemon. */
int rig_client(void);

void rig_say(int fd, const char *text);

/** One line of an answer, without its newline; "" if the connection is closed. Static memory. */
const char *rig_hear(int fd);

/** Has nothing been sent to this client? */
bool rig_hears_nothing(int fd);
bool rig_is_closed(int fd);

#endif
