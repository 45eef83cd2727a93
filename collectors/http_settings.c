/* http_settings.c - the options of the HTTP collector, checked and made ready. */
#include "http_settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "errno_words.h"
#include "refusal.h"

enum {
	SOURCE,
	USER,
	PASSWORD_FILE,
	TOKEN_FILE,
	SECRET_HEADER,
	SECRET_HEADER_FILE,
	MAX_INFLIGHT,
	MAX_BODY,
	VERIFY_TLS,
	CA_FILE,
	CERT_FILE,
	KEY_FILE,
	SERVER_NAME,
	LOG_ANSWERS
};

const struct cr_option http_options[] = {
	[SOURCE] = { "source", CR_TEXT, NULL, 0, 0, NULL,
		     "what is asked and how the answer is read: made of profile and the entry's "
		     "other keys" },
	[USER] = { "user", CR_TEXT, "", 0, 0, NULL, "user for basic or digest authentication" },
	[PASSWORD_FILE] = { "password_file", CR_TEXT, "", 0, 0, NULL,
			    "file whose first line is the user's password" },
	[TOKEN_FILE] = { "token_file", CR_TEXT, "", 0, 0, NULL,
			 "file whose first line is a bearer token" },
	[SECRET_HEADER] = { "secret_header", CR_TEXT, "", 0, 0, NULL,
			    "name of a header whose value is a secret, like X-Api-Key" },
	[SECRET_HEADER_FILE] = { "secret_header_file", CR_TEXT, "", 0, 0, NULL,
				 "file whose first line is the value of secret_header" },
	[MAX_INFLIGHT] = { "max_inflight", CR_INT, "256", 1, 4096, NULL,
			   "polls in progress at the same time" },
	[MAX_BODY] = { "max_body", CR_BYTES, "1MiB", 1024, 67108864, NULL,
		       "largest answer that is read, unpacked" },
	[VERIFY_TLS] = { "verify_tls", CR_BOOL, "true", 0, 0, NULL,
			 "https: refuse a certificate that is not trusted" },
	[CA_FILE] = { "ca_file", CR_TEXT, "", 0, 0, NULL,
		      "https: certificates to trust, instead of the system's" },
	[CERT_FILE] = { "cert_file", CR_TEXT, "", 0, 0, NULL,
			"https: our own certificate, where the server wants one" },
	[KEY_FILE] = { "key_file", CR_TEXT, "", 0, 0, NULL,
		       "https: the key of cert_file, if it is not in there" },
	[SERVER_NAME] = { "server_name", CR_TEXT, "", 0, 0, NULL,
			  "https: name that the certificate has to hold, instead of the "
			  "target's host" },
	[LOG_ANSWERS] = { "log_answers", CR_BOOL, "false", 0, 0, NULL,
			  "log each answer at level debug" },
	{ 0 },
};

static int fail(char *err, size_t err_len, int code, const char *fmt, ...) CR_PRINTF(4, 5);

/* One more line, which begins with an option's name. */
static int fail(char *err, size_t err_len, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	refusal_add(err, err_len, fmt, args);
	va_end(args);
	return code;
}

static int check_readable(const char *option, const char *path, char *err, size_t err_len)
{
	if (!*path || access(path, R_OK) == 0)
		return 0;
	return fail(err, err_len, -errno, "%s %s: %s", option, path, errno_words(errno));
}

static int check_auth(const struct http_settings *settings, const union cr_value *option, char *err,
		      size_t err_len)
{
	const bool has_password = *option[PASSWORD_FILE].text != '\0';
	const bool has_token = *option[TOKEN_FILE].text != '\0';
	int rc = 0;

	if (!*settings->user != !has_password)
		rc = fail(err, err_len, -EINVAL, "user and password_file: give both or none");
	if (strchr(settings->user, ':'))
		rc = fail(err, err_len, -EINVAL, "user: \"%s\" must not hold a colon",
			  settings->user);
	if (has_password && has_token)
		rc = fail(err, err_len, -EINVAL, "token_file and password_file: give one of them");
	if (!settings->source->has_auth)
		return rc;
	if (settings->auth == SOURCE_AUTH_BEARER && has_password)
		rc = fail(err, err_len, -EINVAL, "auth: bearer needs token_file, and no user");
	if (settings->auth != SOURCE_AUTH_BEARER && has_token)
		rc = fail(err, err_len, -EINVAL, "token_file needs auth: bearer");
	return rc;
}

/* Is the header sent anyway? Its name in the description, or NULL. */
static const char *find_header(const struct source *source, const char *name)
{
	for (size_t i = 0; i < source->n_requests; i++)
		for (size_t k = 0; k < source->request[i].n_headers; k++)
			if (strcasecmp(source->request[i].header[k].name, name) == 0)
				return source->request[i].header[k].name;
	return NULL;
}

static int check_secret_header(const struct http_settings *settings, const union cr_value *option,
			       char *err, size_t err_len)
{
	static const char *const never[] = { "Host", "Content-Length", "Transfer-Encoding",
					     "Connection", "Accept-Encoding" };
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_";
	const char *name = settings->secret_header;
	const bool has_auth = *option[PASSWORD_FILE].text || *option[TOKEN_FILE].text;

	if (!*name != !*option[SECRET_HEADER_FILE].text)
		return fail(err, err_len, -EINVAL,
			    "secret_header and secret_header_file: give both or none");
	if (name[strspn(name, letters)])
		return fail(err, err_len, -EINVAL,
			    "secret_header: \"%.64s\" is no name of a header", name);
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		if (strcasecmp(name, never[i]) == 0)
			return fail(err, err_len, -EINVAL, "secret_header: %s is not yours to set",
				    never[i]);
	if (find_header(settings->source, name))
		return fail(err, err_len, -EINVAL,
			    "secret_header: %.64s stands in headers, too; keep one of them", name);
	if (has_auth && strcasecmp(name, "Authorization") == 0)
		return fail(err, err_len, -EINVAL,
			    "secret_header: %.64s is made of user or token_file already; keep one "
			    "of them",
			    name);
	return 0;
}

static int check_secret_file(const char *option, const char *path, char *err, size_t err_len)
{
	char text[512];
	const int rc = secret_check(option, path, text, sizeof text);

	return rc < 0 ? fail(err, err_len, rc, "%s", text) : rc;
}

/* The first error of several. */
static void keep_first(int *rc, int next)
{
	if (*rc >= 0)
		*rc = next;
}

/* All of it: one mistake does not hide the others. */
static int check(const struct http_settings *settings, const union cr_value *option, char *err,
		 size_t err_len)
{
	int rc = check_auth(settings, option, err, err_len);

	keep_first(&rc, check_secret_header(settings, option, err, err_len));
	keep_first(&rc, check_readable("ca_file", settings->ca_file, err, err_len));
	keep_first(&rc, check_readable("cert_file", settings->cert_file, err, err_len));
	if (*settings->key_file && !*settings->cert_file)
		keep_first(&rc, fail(err, err_len, -EINVAL, "key_file needs cert_file"));
	if (*settings->key_file)
		keep_first(&rc, check_secret_file("key_file", settings->key_file, err, err_len));
	return rc;
}

/* Where the first fault of a description is told. */
struct told {
	char *err;
	size_t err_len;
	bool is_told;
};

static void on_fault(void *user, const char *pointer, const char *text)
{
	struct told *told = user;

	if (!told->is_told)
		(void)snprintf(told->err, told->err_len, "%s%s%s", text, *pointer ? ", at " : "",
			       pointer);
	told->is_told = true;
}

static int parse_source(struct http_settings *settings, const char *json, char *err, size_t err_len)
{
	struct told told = { err, err_len, false };
	const int rc = source_parse(json, &settings->source, on_fault, &told);

	if (rc == -ENOMEM)
		return fail(err, err_len, rc, "no memory");
	if (rc == 0 && settings->source->transport != SOURCE_HTTP)
		return fail(err, err_len, -EINVAL,
			    "this source is read over SNMP; write plugin: snmp");
	return rc;
}

/* The option i names its file. */
static int read_secret(struct secret *secret, int i, const union cr_value *option, char *err,
		       size_t err_len)
{
	char text[512];
	const int rc = secret_read(secret, http_options[i].name, option[i].text, text, sizeof text);

	return rc < 0 ? fail(err, err_len, rc, "%s", text) : rc;
}

static int read_secrets(struct http_settings *settings, const union cr_value *option, char *err,
			size_t err_len)
{
	const bool has_token = *option[TOKEN_FILE].text != '\0';
	const int i = has_token ? TOKEN_FILE : PASSWORD_FILE;
	int rc = 0;

	if (*settings->secret_header && *option[SECRET_HEADER_FILE].text)
		rc = read_secret(&settings->header_secret, SECRET_HEADER_FILE, option, err,
				 err_len);
	if (!*option[i].text)
		return rc;
	if (has_token)
		settings->auth = SOURCE_AUTH_BEARER;
	settings->has_secret = true;
	keep_first(&rc, read_secret(&settings->secret, i, option, err, err_len));
	return rc;
}

int http_settings_init(struct http_settings *settings, const union cr_value *option, char *err,
		       size_t err_len)
{
	int rc;

	*settings = (struct http_settings){
		.user = option[USER].text,
		.ca_file = option[CA_FILE].text,
		.cert_file = option[CERT_FILE].text,
		.key_file = option[KEY_FILE].text,
		.secret_header = option[SECRET_HEADER].text,
		.server_name = option[SERVER_NAME].text,
		.verify_tls = option[VERIFY_TLS].flag,
		.log_answers = option[LOG_ANSWERS].flag,
		.max_body = (size_t)option[MAX_BODY].num,
		.max_inflight = (size_t)option[MAX_INFLIGHT].num,
	};
	rc = parse_source(settings, option[SOURCE].text, err, err_len);
	if (rc < 0)
		return rc;
	settings->auth = settings->source->auth;
	rc = check(settings, option, err, err_len);
	keep_first(&rc, read_secrets(settings, option, err, err_len));
	return rc;
}

enum source_shown http_settings_shown(const struct http_settings *settings)
{
	if (settings->has_secret)
		return settings->auth == SOURCE_AUTH_BEARER ? SOURCE_SHOWN_TOKEN
							    : SOURCE_SHOWN_PASSWORD;
	return *settings->secret_header ? SOURCE_SHOWN_HEADER : SOURCE_SHOWN_NOTHING;
}

void http_settings_fini(struct http_settings *settings)
{
	source_free(settings->source);
	explicit_bzero(settings, sizeof *settings);
}
