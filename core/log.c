/* log.c - one line per event, handed to one sink. */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048

/* The one mutable global of core: set before threads start, read by all of them. */
static struct {
	log_sink_fn *sink;
	void *arg;
	enum cr_level level;
} target = { .level = CR_INFO };

void log_to(log_sink_fn *sink, void *arg, enum cr_level level)
{
	target.sink = sink;
	target.arg = arg;
	target.level = level;
}

static const char *level_word(enum cr_level level)
{
	switch (level) {
	case CR_ERROR:
		return "error";
	case CR_WARN:
		return "warn ";
	case CR_INFO:
		return "info ";
	case CR_DEBUG:
		return "debug";
	}
	return "?    ";
}

/* "2024-05-01 12:00:00.123 warn  ", in local time: what a person at a terminal compares with. */
static int stamp(char *buf, size_t len, enum cr_level level)
{
	char when[32];
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	if (localtime_r(&now.tv_sec, &tm) == NULL ||
	    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		when[0] = '\0';
	return snprintf(buf, len, "%s.%03ld %s ", when, now.tv_nsec / 1000000, level_word(level));
}

void log_stderr(void *arg, enum cr_level level, const char *line)
{
	char buf[LINE_MAX_BYTES + 64];
	int len;
	size_t end;
	ssize_t written;

	(void)arg;
	if (secure_getenv("JOURNAL_STREAM") != NULL)
		len = snprintf(buf, sizeof buf, "<%d>", (int)level);
	else
		len = stamp(buf, sizeof buf, level);
	if (len < 0)
		return;
	end = (size_t)len + strnlen(line, sizeof buf - (size_t)len - 1);
	memcpy(buf + len, line, end - (size_t)len);
	buf[end++] = '\n';
	/* One write for the whole line: lines of several threads do not mix. Nobody can be told of
	 * a failure. */
	written = write(STDERR_FILENO, buf, end);
	(void)written;
}

static void keep_one_line(char *line)
{
	for (unsigned char *p = (unsigned char *)line; *p != '\0'; p++) {
		if (*p == '\n' || *p == '\r' || *p == '\t')
			*p = ' ';
		else if (*p < ' ' || *p == 0x7f)
			*p = '?';
	}
}

void log_line(enum cr_level level, const char *event, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;
	int len;

	if (target.sink == NULL || level > target.level)
		return;
	len = snprintf(line, sizeof line, "%s ", event);
	if (len < 0 || (size_t)len >= sizeof line)
		return;
	va_start(args, fmt);
	if (vsnprintf(line + len, sizeof line - (size_t)len, fmt, args) < 0)
		line[len] = '\0';
	va_end(args);
	if (line[len] == '\0')
		line[len - 1] = '\0'; /* no values: no space after the event either */
	keep_one_line(line);
	target.sink(target.arg, level, line);
}
