/* err.c - errors for humans: a code and one line of text. */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return code;
	err->code = code;
	va_start(args, fmt);
	if (vsnprintf(err->text, sizeof err->text, fmt, args) < 0)
		err->text[0] = '\0';
	va_end(args);
	return code;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	char text[sizeof err->text];
	va_list args;
	size_t at, n;

	if (err == NULL)
		return -EINVAL;
	memcpy(text, err->text, sizeof text);
	va_start(args, fmt);
	if (vsnprintf(err->text, sizeof err->text, fmt, args) < 0)
		err->text[0] = '\0';
	va_end(args);
	at = strlen(err->text);
	for (n = 0; n < 2 && at < sizeof err->text - 1; n++)
		err->text[at++] = ": "[n];
	for (n = 0; text[n] != '\0' && at < sizeof err->text - 1; n++)
		err->text[at++] = text[n];
	err->text[at] = '\0';
	return err->code;
}

const char *err_words(int code)
{
	/* Not strerror(): that one is neither thread-safe nor the same in every locale. */
	const char *words = strerrordesc_np(code < 0 ? -code : code);

	return words != NULL ? words : "unknown error";
}
