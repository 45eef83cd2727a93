/* failing_memory.h - memory that runs out at a chosen allocation: for test programs whose
 * allocations the linker sends here (failing_memory() in CMakeLists.txt). */
#ifndef CR_TESTS_FAILING_MEMORY_H
#define CR_TESTS_FAILING_MEMORY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void *__real_realloc(void *old, size_t len);
void *__real_reallocarray(void *old, size_t n, size_t len);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t len);
void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t n, size_t len);
void *__wrap_realloc(void *old, size_t len);
void *__wrap_reallocarray(void *old, size_t n, size_t len);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t len);

/* Of this thread alone: servers of the test have theirs. */
static _Thread_local size_t n_until_failure; /* 0: none fails */
static _Thread_local bool fails_on;          /* all that follow too */

static bool is_failing(void)
{
	if (n_until_failure == 0 || --n_until_failure > 0)
		return false;
	n_until_failure = fails_on ? 1 : 0;
	return true;
}

void *__wrap_malloc(size_t len)
{
	return is_failing() ? NULL : __real_malloc(len);
}

void *__wrap_calloc(size_t n, size_t len)
{
	return is_failing() ? NULL : __real_calloc(n, len);
}

void *__wrap_realloc(void *old, size_t len)
{
	return is_failing() ? NULL : __real_realloc(old, len);
}

void *__wrap_reallocarray(void *old, size_t n, size_t len)
{
	return is_failing() ? NULL : __real_reallocarray(old, n, len);
}

char *__wrap_strdup(const char *text)
{
	return is_failing() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t len)
{
	return is_failing() ? NULL : __real_strndup(text, len);
}

#endif
