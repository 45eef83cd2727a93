/* snmp_settings.c - from options to settings; secrets come from files that others cannot read. */
#include "snmp_settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "refusal.h"

#define OPEN_AT_LEAST 16

enum {
	OPTION_SOURCE = 0,
	OPTION_VERSION,
	OPTION_COMMUNITY_FILE,
	OPTION_USER,
	OPTION_AUTH_PROTOCOL,
	OPTION_AUTH_PASSWORD_FILE,
	OPTION_PRIV_PROTOCOL,
	OPTION_PRIV_PASSWORD_FILE,
	OPTION_ENGINE_ID,
	OPTION_COUNTER64,
	OPTION_STRICT_SOURCE,
	OPTION_RETRIES,
	OPTION_MAX_REPETITIONS,
	OPTION_MAX_INFLIGHT,
	OPTION_MAX_PER_AGENT,
	OPTION_LOG_ANSWERS,
};

static const char *const version_words[] = { "1", "2c", "3", NULL };
static const long versions[] = { SNMP_VERSION_1, SNMP_VERSION_2c, SNMP_VERSION_3 };

const struct cr_option snmp_options[] = {
	[OPTION_SOURCE] = { .name = "source",
			    .type = CR_TEXT,
			    .help = "what to ask and how to read it; made of the profile and the "
				    "entry's own keys" },
	[OPTION_VERSION] = { .name = "version",
			     .type = CR_CHOICE,
			     .preset = "2c",
			     .choices = version_words,
			     .help = "SNMP version" },
	[OPTION_COMMUNITY_FILE] = { .name = "community_file",
				    .type = CR_TEXT,
				    .preset = "",
				    .help = "versions 1 and 2c: file with the community in its "
					    "first line; must not be readable by others" },
	[OPTION_USER] = { .name = "user",
			  .type = CR_TEXT,
			  .preset = "",
			  .help = "version 3: the user's name" },
	[OPTION_AUTH_PROTOCOL] = { .name = "auth_protocol",
				   .type = CR_CHOICE,
				   .preset = "none",
				   .choices = snmp_auth_words,
				   .help = "version 3: how messages are authenticated" },
	[OPTION_AUTH_PASSWORD_FILE] = { .name = "auth_password_file",
					.type = CR_TEXT,
					.preset = "",
					.help = "file with the password for auth in its first "
						"line" },
	[OPTION_PRIV_PROTOCOL] = { .name = "priv_protocol",
				   .type = CR_CHOICE,
				   .preset = "none",
				   .choices = snmp_priv_words,
				   .help = "version 3: how messages are encrypted" },
	[OPTION_PRIV_PASSWORD_FILE] = { .name = "priv_password_file",
					.type = CR_TEXT,
					.preset = "",
					.help = "file with the password for priv in its first "
						"line" },
	[OPTION_ENGINE_ID] = { .name = "engine_id",
			       .type = CR_TEXT,
			       .preset = "",
			       .help = "version 3: the agent's engine id in hexadecimal; empty: it "
				       "is asked for" },
	[OPTION_COUNTER64] = { .name = "counter64",
			       .type = CR_BOOL,
			       .preset = "false",
			       .help = "the source has 64-bit counters, which version 1 cannot "
				       "read" },
	[OPTION_STRICT_SOURCE] = { .name = "strict_source",
				   .type = CR_BOOL,
				   .preset = "true",
				   .help = "take answers from the polled address only, and notice "
					   "at once that nobody listens; false for agents that "
					   "answer from another address" },
	[OPTION_RETRIES] = { .name = "retries",
			     .type = CR_INT,
			     .preset = "1",
			     .min = 0,
			     .max = SNMP_RETRIES_MAX,
			     .help = "how often a message is sent again; all tries share the "
				     "timeout" },
	[OPTION_MAX_REPETITIONS] = { .name = "max_repetitions",
				     .type = CR_INT,
				     .preset = "10",
				     .min = 1,
				     .max = 50,
				     .help = "rows asked for at once; halved by itself where an "
					     "agent cannot; 1: GETNEXT" },
	[OPTION_MAX_INFLIGHT] = { .name = "max_inflight",
				  .type = CR_INT,
				  .preset = "64",
				  .min = 1,
				  .max = 4096,
				  .help = "polls started at once; the others follow in order" },
	[OPTION_MAX_PER_AGENT] = { .name = "max_per_agent",
				   .type = CR_INT,
				   .preset = "2",
				   .min = 1,
				   .max = 64,
				   .help = "targets with the same endpoint that are polled at "
					   "once" },
	[OPTION_LOG_ANSWERS] = { .name = "log_answers",
				 .type = CR_BOOL,
				 .preset = "false",
				 .help = "log each answer at level debug" },
	{ .name = NULL },
};

int snmp_config_refuse(const struct cr_open *in, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	refusal_add(in->err, in->err_len, fmt, args);
	va_end(args);
	return code;
}

/*** Secrets ***/

static int read_secret(struct secret *secret, int option, const struct cr_open *in)
{
	char text[512];
	const int code = secret_read(secret, snmp_options[option].name, in->option[option].text,
				     text, sizeof text);

	return code < 0 ? snmp_config_refuse(in, code, "%s", text) : code;
}

static int read_community(struct secret *community, const struct cr_open *in)
{
	const int code = read_secret(community, OPTION_COMMUNITY_FILE, in);

	if (code == 0 && strlen(community->text) > SOURCE_ABOUT_MAX)
		return snmp_config_refuse(in, -EINVAL,
					  "community_file: the community in %s has more than %d "
					  "bytes; give agent and file a shorter one",
					  in->option[OPTION_COMMUNITY_FILE].text, SOURCE_ABOUT_MAX);
	return code;
}

static int read_key(struct snmp_user *user, bool is_private, int option, const struct cr_open *in)
{
	const char *name = snmp_options[option].name, *path = in->option[option].text;
	struct secret password;
	int code;

	if (path[0] == '\0')
		return snmp_config_refuse(in, -EINVAL, "%s is set, so %s must be given",
					  is_private ? "priv_protocol" : "auth_protocol", name);
	code = read_secret(&password, option, in);
	if (code == 0 && strlen(password.text) < SNMP_PASSWORD_MIN)
		code = snmp_config_refuse(in, -EINVAL,
					  "%s: the password in %s has less than %d letters, which "
					  "SNMP does not allow; choose a longer one",
					  name, path, SNMP_PASSWORD_MIN);
	if (code == 0 && snmp_user_make_key(user, is_private, password.text) < 0)
		code = snmp_config_refuse(in, -EINVAL, "%s: no key could be made of the password",
					  name);
	secret_wipe(&password);
	return code;
}

/*** Who may read ***/

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	if (at == NULL)
		return -1;
	return (int)(at - digits) < 16 ? (int)(at - digits) : (int)(at - digits) - 6;
}

static int read_engine(struct snmp_engine *engine, const struct cr_open *in)
{
	const char *text = in->option[OPTION_ENGINE_ID].text;
	size_t len;

	if (strncmp(text, "0x", 2) == 0)
		text += 2;
	len = strlen(text);
	if (len == 0)
		return 0;
	for (size_t i = 0; i < len; i++)
		if (hex_digit(text[i]) < 0)
			len = 1;
	if (len % 2 != 0 || len < 10 || len > (size_t)2 * SNMP_ENGINE_MAX)
		return snmp_config_refuse(in, -EINVAL,
					  "engine_id \"%s\": write 5 to %d bytes in hexadecimal",
					  in->option[OPTION_ENGINE_ID].text, SNMP_ENGINE_MAX);
	engine->len = len / 2;
	for (size_t i = 0; i < engine->len; i++)
		engine->id[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
	return 0;
}

static int read_user(struct snmp_user *user, const struct cr_open *in)
{
	const union cr_value *option = in->option;
	int code = 0, key;

	if (option[OPTION_USER].text[0] == '\0')
		code = snmp_config_refuse(in, -EINVAL, "version 3 needs a user");
	if (strlen(option[OPTION_USER].text) >= sizeof user->name)
		code = snmp_config_refuse(in, -EINVAL, "user: more than %d letters",
					  SNMP_USER_LEN - 1);
	(void)snprintf(user->name, sizeof user->name, "%s", option[OPTION_USER].text);
	user->auth = (size_t)option[OPTION_AUTH_PROTOCOL].num;
	user->priv = (size_t)option[OPTION_PRIV_PROTOCOL].num;
	if (user->priv > 0 && user->auth == 0)
		return snmp_config_refuse(
			in, -EINVAL, "priv_protocol needs auth_protocol: set it to sha-256, say");
	if (user->auth > 0 && (key = read_key(user, false, OPTION_AUTH_PASSWORD_FILE, in)) < 0)
		code = key;
	if (user->priv > 0 && (key = read_key(user, true, OPTION_PRIV_PASSWORD_FILE, in)) < 0)
		code = key;
	return code;
}

static bool is_set(int option, const struct cr_open *in)
{
	return snmp_options[option].type == CR_CHOICE ? in->option[option].num > 0
						      : in->option[option].text[0] != '\0';
}

/* What would not be used: whoever wrote it believes that it is. */
static int refuse_unused(long version, const struct source *source, const struct cr_open *in)
{
	static const int of_version_3[] = {
		OPTION_USER,          OPTION_AUTH_PROTOCOL,      OPTION_AUTH_PASSWORD_FILE,
		OPTION_PRIV_PROTOCOL, OPTION_PRIV_PASSWORD_FILE, OPTION_ENGINE_ID,
	};
	int code = 0;

	for (size_t i = 0; i < sizeof of_version_3 / sizeof *of_version_3; i++)
		if (version != SNMP_VERSION_3 && is_set(of_version_3[i], in))
			code = snmp_config_refuse(in, -EINVAL,
						  "%s: set version to 3, or leave it out",
						  snmp_options[of_version_3[i]].name);
	if (version != SNMP_VERSION_3 && source->context[0] != '\0')
		code = snmp_config_refuse(in, -EINVAL,
					  "context: set version to 3, or leave it out; versions 1 "
					  "and 2c have a community_suffix");
	if (version != SNMP_VERSION_3)
		return code;
	if (source->community_suffix[0] != '\0')
		code = snmp_config_refuse(
			in, -EINVAL,
			"community_suffix: version 3 has a context instead; leave "
			"it out, or set version to 2c");
	if (is_set(OPTION_COMMUNITY_FILE, in))
		code = snmp_config_refuse(in, -EINVAL,
					  "community_file: version 3 has a user instead; leave it "
					  "out, or set version to 2c");
	if (is_set(OPTION_AUTH_PASSWORD_FILE, in) && !is_set(OPTION_AUTH_PROTOCOL, in))
		code = snmp_config_refuse(in, -EINVAL,
					  "auth_password_file: not used without auth_protocol; set "
					  "that as in the agent (sha-256, say), or leave it out");
	if (is_set(OPTION_PRIV_PASSWORD_FILE, in) && !is_set(OPTION_PRIV_PROTOCOL, in))
		code = snmp_config_refuse(in, -EINVAL,
					  "priv_password_file: not used without priv_protocol; set "
					  "that as in the agent (aes, say), or leave it out");
	return code;
}

/* A suffix without variables is judged here, all others with each server. */
static int check_suffix(const struct snmp_config *config, const struct cr_open *in)
{
	const char *suffix = config->source->community_suffix;
	char why[128];

	if (suffix[0] == '\0' || source_is_template(suffix) ||
	    source_about_check(suffix, config->community.text, why, sizeof why) == 0)
		return 0;
	return snmp_config_refuse(in, -EINVAL, "community_suffix: %s", why);
}

/* The secrets: what is wrong with one does not hide what is wrong with the others. */
static int read_who(struct snmp_config *config, const struct cr_open *in,
		    struct snmp_access *access)
{
	const union cr_value *option = in->option;
	int code, user;

	if (access->version == SNMP_VERSION_3) {
		access->about = config->source->context;
		access->user = &config->user;
		code = read_engine(&access->engine, in);
		user = read_user(&config->user, in);
		return code < 0 ? code : user;
	}
	if (option[OPTION_COMMUNITY_FILE].text[0] == '\0')
		return snmp_config_refuse(in, -EINVAL, "version %s needs a community_file",
					  version_words[option[OPTION_VERSION].num]);
	access->about = config->source->community_suffix;
	code = read_community(&config->community, in);
	access->community = config->community.text;
	return code < 0 ? code : check_suffix(config, in);
}

static int read_access(struct snmp_config *config, const struct cr_open *in,
		       struct snmp_access *access)
{
	const union cr_value *option = in->option;
	int code = 0, unused, who;

	access->version = versions[option[OPTION_VERSION].num];
	access->log_to = option[OPTION_LOG_ANSWERS].flag ? in->host : NULL;
	access->is_strict = option[OPTION_STRICT_SOURCE].flag;
	if (access->version == SNMP_VERSION_1 && option[OPTION_COUNTER64].flag)
		code = snmp_config_refuse(in, -EINVAL,
					  "version 1 has no 64-bit counters, and this source has "
					  "some: set version to 2c or 3");
	unused = refuse_unused(access->version, config->source, in);
	/* who sets what is version 3's has no community in mind */
	who = unused == 0 || access->version == SNMP_VERSION_3 ? read_who(config, in, access) : 0;
	if (code == 0)
		code = unused < 0 ? unused : who;
	return code;
}

/*** All of it ***/

/* Of what this process may open, to leave enough for others. */
static size_t count_open(void)
{
	const rlim_t half = files_limit() / 2;

	return half < OPEN_AT_LEAST ? OPEN_AT_LEAST : (size_t)half;
}

/* Keeps the first fault of the description. */
static void take_fault(void *user, const char *pointer, const char *text)
{
	const struct cr_open *in = user;

	if (in->err[0] == '\0')
		(void)snmp_config_refuse(in, -EINVAL, "source%s%s: %s",
					 pointer[0] != '\0' ? " " : "", pointer, text);
}

static int read_source(struct snmp_config *config, const struct cr_open *in)
{
	struct cr_open first = *in;
	int code;

	first.err[0] = '\0';
	code = source_parse(in->option[OPTION_SOURCE].text, &config->source, take_fault, &first);
	if (code == -ENOMEM)
		return snmp_config_refuse(in, code, "out of memory");
	if (code == 0 && config->source->transport != SOURCE_SNMP)
		return snmp_config_refuse(in, -EINVAL,
					  "this source is read over HTTP; write plugin: http");
	return code;
}

int snmp_config_read(struct snmp_config *config, const struct cr_open *in,
		     struct snmp_settings *settings)
{
	const union cr_value *option = in->option;
	int code = read_source(config, in);

	if (code < 0)
		return code;
	settings->source = config->source;
	settings->retries = (unsigned int)option[OPTION_RETRIES].num;
	settings->max_repetitions = (unsigned int)option[OPTION_MAX_REPETITIONS].num;
	settings->max_inflight = (size_t)option[OPTION_MAX_INFLIGHT].num;
	settings->max_per_agent = (size_t)option[OPTION_MAX_PER_AGENT].num;
	settings->max_open = count_open();
	return read_access(config, in, &settings->access);
}

void snmp_config_fini(struct snmp_config *config)
{
	source_free(config->source);
	explicit_bzero(config, sizeof *config);
}
