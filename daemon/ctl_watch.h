/* ctl_watch.h - show a page again and again until the user has had enough. */
#ifndef CR_DAEMON_CTL_WATCH_H
#define CR_DAEMON_CTL_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Write one page to out; is_coloured: it may have colours. Returns an exit status. */
typedef int ctl_page_fn(void *arg, FILE *out, bool is_coloured);

/**
 * Show the page every interval until SIGINT, SIGTERM or SIGHUP. in_place: in the terminal's
 * alternate screen, cut to its size, if standard output is one; else one page after the other.
 * Restores the terminal. Returns the exit status: good, or 1 if a page could not be written.
 */
int ctl_watch(ctl_page_fn *page, void *arg, int64_t interval_ns, bool in_place);

/** Write the first rows lines of text, each cut to columns letters; escape sequences take no place.
 * Every line is cleared to its end, and what is below the text too. */
void ctl_watch_draw(FILE *out, const char *text, int columns, int rows);

#endif
