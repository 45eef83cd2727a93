/* refusal.h - what is wrong with a collector's options, a line for each of them. */
#ifndef CR_COLLECTORS_REFUSAL_H
#define CR_COLLECTORS_REFUSAL_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <callrouter/plugin.h>

static inline void refusal_add(char *err, size_t err_len, const char *fmt, va_list args)
	CR_PRINTF(3, 0);

/** Add a line to err, as open() has it: "" at first. It begins with the option's name. [own] */
static inline void refusal_add(char *err, size_t err_len, const char *fmt, va_list args)
{
	size_t used = strlen(err);

	if (used > 0 && used + 1 < err_len) {
		err[used++] = '\n';
		err[used] = '\0';
	}
	(void)vsnprintf(err + used, err_len - used, fmt, args);
}

#endif
