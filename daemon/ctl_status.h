/* ctl_status.h - the page that status shows. */
#ifndef CR_DAEMON_CTL_STATUS_H
#define CR_DAEMON_CTL_STATUS_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/** Write the page for a status document. Returns 0 or -ENOMEM. */
int ctl_status_print(const json_t *status, FILE *out, bool is_coloured);

#endif
