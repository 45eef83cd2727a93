/* http_settings.c - the options of the HTTP collector, checked and made ready. */
#include "http_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PASSWORD_MAX = 1024 };

enum { PROFILE, USER, PASSWORD_FILE, PATH, MAX_INFLIGHT, MAX_BODY, VERIFY_TLS, CA_FILE };

const struct cr_option http_options[] = {
	[PROFILE] = { "profile", CR_CHOICE, NULL, 0, 0, http_profile_names,
		      "what is asked, and how the answer is read" },
	[USER] = { "user", CR_TEXT, "", 0, 0, NULL, "user for HTTP basic authentication" },
	[PASSWORD_FILE] = { "password_file", CR_TEXT, "", 0, 0, NULL,
			    "file whose first line is the user's password" },
	[PATH] = { "path", CR_TEXT, "", 0, 0, NULL, "path of the page, instead of the profile's" },
	[MAX_INFLIGHT] = { "max_inflight", CR_INT, "64", 1, 4096, NULL,
			   "polls in progress at the same time" },
	[MAX_BODY] = { "max_body", CR_BYTES, "4MiB", 1024, 67108864, NULL,
		       "largest answer that is read, unpacked" },
	[VERIFY_TLS] = { "verify_tls", CR_BOOL, "true", 0, 0, NULL,
			 "https: refuse a certificate that is not trusted" },
	[CA_FILE] = { "ca_file", CR_TEXT, "", 0, 0, NULL,
		      "https: certificates to trust, instead of the system's" },
	{ 0 },
};

static int fail(char *err, size_t err_len, int code, const char *fmt, ...) CR_PRINTF(4, 5);

static int fail(char *err, size_t err_len, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(err, err_len, fmt, args);
	va_end(args);
	return code;
}

static int check_password_file(int fd, const char *path, char *err, size_t err_len)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fail(err, err_len, -EINVAL, "password_file %s is not a plain file", path);
	if (st.st_mode & (S_IROTH | S_IWOTH))
		return fail(err, err_len, -EPERM,
			    "password_file %s can be read by everybody: chmod o= %s", path, path);
	return 0;
}

static int read_password(char *password, const char *path, char *err, size_t err_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
	ssize_t n;

	if (fd < 0)
		return fail(err, err_len, -errno, "password_file %s: %s", path,
			    strerrordesc_np(errno));
	rc = check_password_file(fd, path, err, err_len);
	n = rc < 0 ? -1 : read(fd, password, PASSWORD_MAX);
	close(fd);
	if (rc < 0)
		return rc;
	if (n < 0 || n == PASSWORD_MAX)
		return fail(err, err_len, -EINVAL, "password_file %s cannot be read or is too long",
			    path);
	password[n] = '\0';
	password[strcspn(password, "\r\n")] = '\0';
	if (!*password)
		return fail(err, err_len, -EINVAL,
			    "password_file %s holds no password in its first line", path);
	return 0;
}

static bool path_is_good(const char *path)
{
	if (*path && *path != '/')
		return false;
	for (; *path; path++)
		if (*path <= ' ' || *path > '~' || *path == '#')
			return false;
	return true;
}

static int check(const struct http_settings *settings, const char *password_file, char *err,
		 size_t err_len)
{
	if (!path_is_good(settings->path))
		return fail(err, err_len, -EINVAL,
			    "path: \"%s\" must begin with \"/\" and hold no blanks and no \"#\"",
			    settings->path);
	if (!*settings->user != !*password_file)
		return fail(err, err_len, -EINVAL, "user and password_file: give both or none");
	if (strchr(settings->user, ':'))
		return fail(err, err_len, -EINVAL, "user: \"%s\" must not hold a colon",
			    settings->user);
	if (*settings->ca_file && access(settings->ca_file, R_OK) < 0)
		return fail(err, err_len, -errno, "ca_file %s: %s", settings->ca_file,
			    strerrordesc_np(errno));
	return 0;
}

int http_settings_init(struct http_settings *settings, const union cr_value *option, char *err,
		       size_t err_len)
{
	const char *password_file = option[PASSWORD_FILE].text;
	int rc;

	*settings = (struct http_settings){
		.profile = http_profile_get(option[PROFILE].num),
		.path = option[PATH].text,
		.user = option[USER].text,
		.ca_file = option[CA_FILE].text,
		.verify_tls = option[VERIFY_TLS].flag,
		.max_body = (size_t)option[MAX_BODY].num,
		.max_inflight = (size_t)option[MAX_INFLIGHT].num,
	};
	rc = check(settings, password_file, err, err_len);
	if (rc < 0)
		return rc;
	settings->headers = curl_slist_append(NULL, settings->profile->accept);
	settings->password = *settings->user ? calloc(1, PASSWORD_MAX) : NULL;
	if (!settings->headers || (*settings->user && !settings->password))
		return fail(err, err_len, -ENOMEM, "no memory");
	return settings->password ? read_password(settings->password, password_file, err, err_len)
				  : 0;
}

void http_settings_fini(struct http_settings *settings)
{
	curl_slist_free_all(settings->headers);
	if (settings->password)
		explicit_bzero(settings->password, PASSWORD_MAX);
	free(settings->password);
	*settings = (struct http_settings){ 0 };
}
