/* http_profile.c - the table of profiles, and what their parsers share. */
#include "http_profile.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "jolokia.h"
#include "tomcat_status.h"

const char *const http_profile_names[] = { "tomcat-status", "jolokia", NULL };

const struct http_profile *http_profile_get(int64_t index)
{
	return index == 0 ? &tomcat_status_profile : &jolokia_profile;
}

int http_reading_fail(struct http_reading *reading, enum cr_why why, const char *fmt, ...)
{
	va_list args;

	reading->why = why;
	va_start(args, fmt);
	(void)vsnprintf(reading->text, sizeof reading->text, fmt, args);
	va_end(args);
	return -EPROTO;
}

bool http_number(const char *text, double *out)
{
	char *end;
	long long n;

	/* strtoll() alone would take blanks and a plus sign */
	if (*text != '-' && (*text < '0' || *text > '9'))
		return false;
	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || end == text || *end)
		return false;
	*out = n == -1 ? (double)NAN : (double)n;
	return true;
}

bool http_looks_like_html(const char *body, size_t len)
{
	static const char *const starts[] = { "<!doctype html", "<html" };
	static const char bom[] = "\xef\xbb\xbf";
	const char *end = body + len;

	if (len >= 3 && memcmp(body, bom, 3) == 0)
		body += 3;
	while (body < end && (*body == ' ' || *body == '\t' || *body == '\r' || *body == '\n'))
		body++;
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		size_t n = strlen(starts[i]);

		if ((size_t)(end - body) >= n && strncasecmp(body, starts[i], n) == 0)
			return true;
	}
	return false;
}
