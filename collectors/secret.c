/* secret.c - reads the first line of a guarded file. */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errno_words.h"

#define OTHERS 007 /* permissions of everybody else */

/** What is read, with who wants to know what is wrong with it. */
struct reading {
	const char *option, *path;
	char *err;
	size_t err_len;
};

static int refuse(const struct reading *reading, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(const struct reading *reading, int code, const char *fmt, ...)
{
	int len =
		snprintf(reading->err, reading->err_len, "%s: %s ", reading->option, reading->path);
	va_list args;

	if (len < 0 || (size_t)len >= reading->err_len)
		return code;
	va_start(args, fmt);
	(void)vsnprintf(reading->err + len, reading->err_len - (size_t)len, fmt, args);
	va_end(args);
	return code;
}

static int judge_file(const struct reading *reading, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return refuse(reading, -EINVAL, "is no regular file; name one");
	if ((st.st_mode & OTHERS) != 0)
		return refuse(reading, -EACCES,
			      "has mode %03o, so others than its owner and group can get at it; "
			      "run chmod 640 %s",
			      (unsigned)st.st_mode & 0777, reading->path);
	return 0;
}

static struct reading begin(const char *option, const char *path, char *err, size_t err_len)
{
	struct reading reading = { .option = option, .path = path, .err_len = err_len };

	reading.err = err;
	return reading;
}

/* Returns a descriptor. */
static int open_file(const struct reading *reading)
{
	/* a FIFO must not hold us up */
	const int fd = open(reading->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const int code = fd < 0 ? -errno : judge_file(reading, fd);

	if (fd < 0)
		return refuse(reading, code, "cannot be opened: %s; %s", errno_words(code),
			      code == -EACCES ? "let the daemon's user read it"
					      : "create it, with mode 640, or correct the path");
	if (code == 0)
		return fd;
	close(fd);
	return code;
}

/* As much as there is and buf takes. Returns how much, or < 0. */
static ssize_t read_bytes(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size && (n = read(fd, buf + len, size - len)) != 0) {
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR)
			return -errno;
	}
	return (ssize_t)len;
}

/* text: len bytes. */
static int judge_line(const struct reading *reading, const char *text, size_t len)
{
	if (len == 0)
		return refuse(reading, -EINVAL,
			      "has nothing in its first line; write the secret there");
	if (len > SECRET_MAX)
		return refuse(reading, -EINVAL,
			      "has more than %d bytes in its first line; name the file that holds "
			      "the secret alone",
			      SECRET_MAX);
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		return refuse(reading, -EINVAL,
			      "begins with a byte order mark, which would be part of the secret; "
			      "save it without");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return refuse(reading, -EINVAL,
				      "has a control byte (0x%02x) as byte %zu of its first line; "
				      "write the secret as plain text",
				      (unsigned char)text[i], i + 1);
	return 0;
}

/* The first line of what was read. buf has room for a NUL behind it. */
static int take_line(struct secret *secret, const struct reading *reading, const char *buf,
		     size_t len)
{
	const char *end = memchr(buf, '\n', len);
	size_t line = end != NULL ? (size_t)(end - buf) : len;
	int code;

	if (line > 0 && buf[line - 1] == '\r')
		line--;
	code = judge_line(reading, buf, line);
	if (code < 0)
		return code;
	memcpy(secret->text, buf, line);
	secret->text[line] = '\0';
	return 0;
}

int secret_check(const char *option, const char *path, char *err, size_t err_len)
{
	const struct reading reading = begin(option, path, err, err_len);
	const int fd = open_file(&reading);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int secret_read(struct secret *secret, const char *option, const char *path, char *err,
		size_t err_len)
{
	const struct reading reading = begin(option, path, err, err_len);
	char buf[SECRET_MAX + 3]; /* a byte too many shows, behind it CR and LF do not count */
	ssize_t len;
	int code, fd;

	secret_wipe(secret);
	fd = open_file(&reading);
	if (fd < 0)
		return fd;
	len = read_bytes(fd, buf, sizeof buf);
	close(fd);
	if (len < 0)
		code = refuse(&reading, (int)len, "cannot be read: %s; put it elsewhere",
			      errno_words((int)len));
	else
		code = take_line(secret, &reading, buf, (size_t)len);
	explicit_bzero(buf, sizeof buf);
	return code;
}

void secret_wipe(struct secret *secret)
{
	explicit_bzero(secret, sizeof *secret);
}
