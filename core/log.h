/* log.h - one line per event: words first, then key=value. Goes to one sink; none by default. [L1]
 */
#ifndef CR_CORE_LOG_H
#define CR_CORE_LOG_H

#include <callrouter/plugin.h>

/** Gets a finished line, without newline. May be called from any thread, several at once. */
typedef void log_sink_fn(void *arg, enum cr_level level, const char *line);

/** Where lines go; set before threads start. Lines above (less urgent than) level are dropped.
 * [set-up] */
void log_to(log_sink_fn *sink, void *arg, enum cr_level level);

/**
 * A sink that writes lines to standard error: with a "<N>" priority before them if journald or
 * another collector listens (JOURNAL_STREAM is set), else with the local time. [any]
 */
log_sink_fn log_stderr;

/**
 * Write one line: event, then the formatted key=value part (may be ""). Control characters are
 * replaced, so that one event stays one line. [any]
 */
void log_line(enum cr_level level, const char *event, const char *fmt, ...) CR_PRINTF(3, 4);

#define log_error(event, ...) log_line(CR_ERROR, event, __VA_ARGS__)
#define log_warn(event, ...)  log_line(CR_WARN, event, __VA_ARGS__)
#define log_info(event, ...)  log_line(CR_INFO, event, __VA_ARGS__)
#define log_debug(event, ...) log_line(CR_DEBUG, event, __VA_ARGS__)

#endif
