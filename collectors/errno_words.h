/* errno_words.h - the system's words for an error, whatever its number. */
#ifndef CR_COLLECTORS_ERRNO_WORDS_H
#define CR_COLLECTORS_ERRNO_WORDS_H

#include <string.h>

/** "Permission denied" for EACCES and for -EACCES. Static memory. [any] */
static inline const char *errno_words(int code)
{
	const char *words = strerrordesc_np(code < 0 ? -code : code);

	return words != NULL ? words : "unknown error";
}

#endif
