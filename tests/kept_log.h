/* kept_log.h - for tests that look at what is logged: the lines are kept instead. */
#ifndef CR_TESTS_KEPT_LOG_H
#define CR_TESTS_KEPT_LOG_H

#include <string.h>

#include "log.h"

static char logged[4096]; /* "words key=value\n" each */

static inline void keep_line(void *arg, enum cr_level level, const char *line)
{
	(void)arg;
	(void)level;
	(void)strncat(logged, line, sizeof logged - strlen(logged) - 1);
	(void)strncat(logged, "\n", sizeof logged - strlen(logged) - 1);
}

/* Keep the lines of this level and above from now on. */
static inline void keep_log(enum cr_level level)
{
	logged[0] = '\0';
	log_to(keep_line, NULL, level);
}

#endif
