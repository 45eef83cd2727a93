/* test_secret.c - files with secrets: which are taken, and what is said of the others. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "secret.h"

static char folder[] = "/tmp/callrouter-secret-XXXXXX", path[64], err[512];
static struct secret secret;

static void enter(void)
{
	cr_assert(mkdtemp(folder) != NULL);
	snprintf(path, sizeof path, "%s/file", folder);
}

static void leave(void)
{
	char name[80];

	snprintf(name, sizeof name, "%s/link", folder);
	unlink(name);
	unlink(path);
	cr_expect_eq(rmdir(folder), 0);
}

TestSuite(secret, .init = enter, .fini = leave);

static void write_file(const void *bytes, size_t len, mode_t mode)
{
	FILE *file = fopen(path, "w");

	cr_assert(file != NULL);
	cr_assert_eq(fwrite(bytes, 1, len, file), len);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(chmod(path, mode), 0);
}

static int read_as(const void *bytes, size_t len)
{
	write_file(bytes, len, 0640);
	return secret_read(&secret, "password_file", path, err, sizeof err);
}

/* Is all of it wiped? */
static bool is_blank(void)
{
	for (size_t i = 0; i < sizeof secret.text; i++)
		if (secret.text[i] != '\0')
			return false;
	return true;
}

static void expect_refused(int code, int want, const char *text)
{
	char whole[600];

	snprintf(whole, sizeof whole, "password_file: %s %s", path, text);
	cr_expect_eq(code, want, "%s: %d", text, code);
	cr_expect_str_eq(err, whole);
	cr_expect(is_blank(), "%s", text);
}

Test(secret, is_the_first_line_without_its_end)
{
	static const struct {
		const char *bytes, *text;
	} good[] = {
		{ "public", "public" },
		{ "public\n", "public" },
		{ "public\r\n", "public" },
		{ "public\r", "public" },
		{ "public\nsecond\n", "public" },
		{ " with blanks \n", " with blanks " },
		{ "p\xc3\xa4ss\n", "p\xc3\xa4ss" },
		{ "#no comment\n", "#no comment" },
	};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		cr_expect_eq(read_as(good[i].bytes, strlen(good[i].bytes)), 0, "%s", err);
		cr_expect_str_eq(secret.text, good[i].text);
	}
	cr_expect_eq(read_as("pass\nx\0y", 8), 0, "what follows is nobody's business: %s", err);
	secret_wipe(&secret);
	cr_expect(is_blank());
}

Test(secret, that_is_none_is_told_what_is_wrong_with_it)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text;
	} bad[] = {
		{ "", 0, "has nothing in its first line; write the secret there" },
		{ "\npublic\n", 8, "has nothing in its first line; write the secret there" },
		{ "\r\npublic\n", 9, "has nothing in its first line; write the secret there" },
		{ "pub\0lic\n", 8,
		  "has a control byte (0x00) as byte 4 of its first line; write the secret as "
		  "plain text" },
		{ "\0\0", 2,
		  "has a control byte (0x00) as byte 1 of its first line; write the secret as "
		  "plain text" },
		{ "a\rb\n", 4,
		  "has a control byte (0x0d) as byte 2 of its first line; write the secret as "
		  "plain text" },
		{ "ab\r\r\n", 5,
		  "has a control byte (0x0d) as byte 3 of its first line; write the secret as "
		  "plain text" },
		{ "a\x7f\n", 3,
		  "has a control byte (0x7f) as byte 2 of its first line; write the secret as "
		  "plain text" },
		{ "\xef\xbb\xbfpublic\n", 10,
		  "begins with a byte order mark, which would be part of the secret; save it "
		  "without" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		expect_refused(read_as(bad[i].bytes, bad[i].len), -EINVAL, bad[i].text);
}

Test(secret, has_a_largest_size)
{
	static const char many[] = "has more than 4095 bytes in its first line; name the file "
				   "that holds the secret alone";
	char *bytes = malloc(100000);

	memset(bytes, 'x', 100000);
	memcpy(bytes + SECRET_MAX, "\r\n", 2);
	cr_expect_eq(read_as(bytes, 100000), 0, "%s", err);
	cr_expect_eq(strlen(secret.text), (size_t)SECRET_MAX);
	cr_expect_eq(read_as(bytes, SECRET_MAX), 0, "%s", err);
	bytes[SECRET_MAX] = 'x';
	expect_refused(read_as(bytes, SECRET_MAX + 2), -EINVAL, many);
	bytes[SECRET_MAX + 1] = 'x';
	expect_refused(read_as(bytes, 100000), -EINVAL, many);
	free(bytes);
}

Test(secret, is_for_nobody_but_its_owner_and_group)
{
	static const mode_t bad[] = { 0644, 0602, 0601, 0647 }, good[] = { 0600, 0640, 0660, 0400 };
	char text[300];

	for (size_t i = 0; i < 4; i++) {
		write_file("public\n", 7, bad[i]);
		snprintf(text, sizeof text,
			 "has mode %03o, so others than its owner and group can get at it; run "
			 "chmod 640 %s",
			 (unsigned)bad[i], path);
		expect_refused(secret_read(&secret, "password_file", path, err, sizeof err),
			       -EACCES, text);
		expect_refused(secret_check("password_file", path, err, sizeof err), -EACCES, text);
		write_file("public\n", 7, good[i]);
		cr_expect_eq(secret_read(&secret, "password_file", path, err, sizeof err), 0, "%s",
			     err);
		secret_wipe(&secret);
	}
}

Test(secret, is_in_a_regular_file_that_can_be_opened)
{
	expect_refused(secret_read(&secret, "password_file", path, err, sizeof err), -ENOENT,
		       "cannot be opened: No such file or directory; create it, with mode 640, or "
		       "correct the path");
	cr_assert_eq(mkfifo(path, 0600), 0);
	expect_refused(secret_read(&secret, "password_file", path, err, sizeof err), -EINVAL,
		       "is no regular file; name one");
	unlink(path);
	cr_assert_eq(mkdir(path, 0700), 0);
	expect_refused(secret_check("password_file", path, err, sizeof err), -EINVAL,
		       "is no regular file; name one");
	rmdir(path);
}

/* So do secrets of containers come: as links into a folder that is swapped as a whole. */
Test(secret, is_taken_through_a_link_and_judged_where_that_leads)
{
	char name[80];

	snprintf(name, sizeof name, "%s/link", folder);
	write_file("public\n", 7, 0640);
	cr_assert_eq(symlink("file", name), 0);
	cr_expect_eq(secret_read(&secret, "password_file", name, err, sizeof err), 0, "%s", err);
	cr_expect_str_eq(secret.text, "public");
	cr_assert_eq(chmod(path, 0644), 0);
	cr_expect_eq(secret_read(&secret, "password_file", name, err, sizeof err), -EACCES);
	cr_expect(is_blank());
}

Test(secret, in_a_form_of_its_own_is_judged_from_outside)
{
	write_file("-----BEGIN\n\0", 12, 0600);
	cr_expect_eq(secret_check("key_file", path, err, sizeof err), 0, "%s", err);
	cr_assert_eq(chmod(path, 0604), 0);
	cr_expect_eq(secret_check("key_file", path, err, sizeof err), -EACCES);
	cr_expect(strncmp(err, "key_file: ", 10) == 0, "%s", err);
}

Test(secret, is_never_in_what_is_said_of_it)
{
	cr_expect_lt(read_as("hunter2\x01\n", 9), 0);
	cr_expect(strstr(err, "hunter2") == NULL, "%s", err);
}
