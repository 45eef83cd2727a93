/* probe.c - finds the source and its target, gets answers, and has them read and shown. */
#include "probe_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define REPLAY_BYTES_MAX (64u << 20)
#define ALL_REQUESTS     SIZE_MAX

/* One try. */
struct attempt {
	const struct config *config;
	const struct probe_options *options;
	const struct config_source *source;
	struct probe_target target;
	struct source *language; /* NULL: its plugin does not read it */
	size_t request;          /* ALL_REQUESTS: it was not named */
	struct probe_page page;
	struct source_sample *sample;
};

static int fail(const char *fmt, ...) CR_PRINTF(1, 2);

/* "callrouterd: sentence"; returns the exit status. */
static int fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)fputs("callrouterd: ", stderr);
	(void)vfprintf(stderr, fmt, args);
	(void)fputc('\n', stderr);
	va_end(args);
	return EXIT_FAILURE;
}

/*** What is tried ***/

static int fail_unknown_source(const struct config *config, const char *name)
{
	const char **words = calloc(config->n_sources + 1, sizeof *words);
	const char *nearest = NULL;
	int status;

	for (size_t i = 0; words != NULL && i < config->n_sources; i++)
		words[i] = config->sources[i].name;
	if (words != NULL)
		nearest = text_nearest(name, words);
	if (config->n_sources == 0)
		status = fail("%s has no collectors", config->path);
	else if (nearest != NULL)
		status = fail("no collector \"%s\"; did you mean \"%s\"?", name, nearest);
	else
		status = fail("no collector \"%s\"; %s has %s%s", name, config->path,
			      config->sources[0].name, config->n_sources > 1 ? " and others" : "");
	free(words);
	return status;
}

/* The target for one server, which may be the one for all. */
static int take_target(struct attempt *attempt, const struct config_server *server)
{
	const struct config_source *source = attempt->source;
	const struct config_pair *own = config_own_target(server, source);
	struct probe_target *target = &attempt->target;

	target->is_shared = config_is_covered(server, source);
	target->name = target->is_shared ? source->name : server->name;
	target->endpoint =
		target->is_shared
			? strdup(source->target)
			: config_expand(own != NULL ? own->value : source->target, server);
	target->vars = target->is_shared ? config_vars_copy(NULL, 0)
					 : config_vars(source, server, &target->n_vars);
	return target->endpoint != NULL && target->vars != NULL ? 0 : fail("out of memory");
}

static int find_target(struct attempt *attempt)
{
	const struct config_source *source = attempt->source;
	const struct config_server *servers = attempt->config->servers, *chosen = NULL;
	const char *name = attempt->options->server;

	for (size_t i = 0; i < source->n_servers; i++) {
		const struct config_server *server = &servers[source->servers[i]];

		if (name != NULL ? strcmp(server->name, name) == 0
				 : chosen == NULL || config_is_covered(server, source))
			chosen = server;
	}
	if (chosen == NULL)
		return fail("collector %s polls no server \"%s\"", source->name,
			    name != NULL ? name : "");
	return take_target(attempt, chosen);
}

static const char *source_text(const struct config_source *source)
{
	for (size_t i = 0; i < source->n_options; i++)
		if (strcmp(source->options[i].name, "source") == 0)
			return source->options[i].value;
	return NULL;
}

/* "two, three" */
static void list_requests(const struct source *language, char *buf, size_t len)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < language->n_requests && used < len; i++)
		used += (size_t)snprintf(buf + used, len - used, "%s%s", i > 0 ? ", " : "",
					 language->request[i].name);
}

static int find_request(struct attempt *attempt)
{
	const struct source *language = attempt->language;
	const char *name = attempt->options->request;
	char names[300], *end;
	size_t number;

	assert(language != NULL);
	attempt->request = ALL_REQUESTS;
	list_requests(language, names, sizeof names);
	if (name == NULL && language->n_requests == 1)
		attempt->request = 0;
	/* A recorded walk holds what all requests of SNMP ask for. */
	if (name == NULL && (attempt->options->replay == NULL || language->n_requests == 1 ||
			     language->transport == SOURCE_SNMP))
		return 0;
	if (name == NULL)
		return fail("collector %s makes %zu requests; say with --request which one the "
			    "file answers: %s",
			    attempt->source->name, language->n_requests, names);
	for (size_t i = 0; i < language->n_requests; i++)
		if (strcmp(language->request[i].name, name) == 0)
			attempt->request = i;
	number = strtoul(name, &end, 10);
	if (attempt->request == ALL_REQUESTS && *name != '\0' && *end == '\0' && number >= 1 &&
	    number <= language->n_requests)
		attempt->request = number - 1;
	if (attempt->request == ALL_REQUESTS)
		return fail("no request \"%s\"; there are %s", name, names);
	return 0;
}

/*** Answers ***/

/* Read one answer into the sample. */
static void extract(struct attempt *attempt, size_t request, const struct source_answer *answer)
{
	const struct source_request *asked;
	struct probe_cells cells;
	char *copy;

	assert(attempt->language != NULL); /* else there are no requests */
	asked = &attempt->language->request[request];
	if (asked->n_oids == 0) {
		(void)source_extract(attempt->sample, request, answer);
		return;
	}
	if (answer->len > 0 && memchr(answer->bytes, '\0', answer->len) != NULL) {
		source_fail(attempt->sample, request, CR_REPLY,
			    "it holds a NUL byte, which no recorded walk does");
		return;
	}
	copy = strndup(answer->bytes, answer->len);
	if (copy == NULL || probe_cells_read(copy, asked, &cells) == -ENOMEM) {
		source_fail(attempt->sample, request, CR_REPLY, "out of memory");
		return;
	}
	if (cells.n_lines == 0 && answer->len > 0)
		source_fail(attempt->sample, request, CR_REPLY,
			    "no line like \".1.3.6.1... = INTEGER: 1\" (snmpwalk -On) or "
			    "\"1.3.6.1...|2|1\" (.snmprec)");
	else
		(void)source_extract_cells(attempt->sample, request, cells.cell, cells.n_rows);
	probe_cells_fini(&cells);
}

/* malloc'd, NUL-terminated; NULL with a message. */
static char *read_file(const char *path, size_t *len)
{
	FILE *file = fopen(path, "re");
	char *bytes = NULL;
	size_t room = 1 << 16, n;

	*len = 0;
	while (file != NULL && room <= REPLAY_BYTES_MAX) {
		char *grown = realloc(bytes, room + 1);

		if (grown == NULL)
			break;
		bytes = grown;
		n = fread(bytes + *len, 1, room - *len, file);
		*len += n;
		if (*len < room)
			break;
		room *= 2;
	}
	if (file == NULL || ferror(file) != 0 || *len == room || bytes == NULL) {
		(void)fail("%s: %s", path,
			   file == NULL || ferror(file) != 0 ? err_words(errno)
							     : "larger than can be read");
		free(bytes);
		bytes = NULL;
	}
	if (file != NULL)
		(void)fclose(file);
	if (bytes != NULL)
		bytes[*len] = '\0';
	return bytes;
}

/* Returns -1 to go on, else the exit status. */
static int replay(struct attempt *attempt)
{
	struct source_answer answer = { .url = attempt->options->replay };
	char *bytes = read_file(attempt->options->replay, &answer.len);

	assert(attempt->language != NULL); /* else nobody could read the file */
	if (bytes == NULL)
		return EXIT_FAILURE;
	answer.bytes = bytes;
	for (size_t i = 0; i < attempt->language->n_requests; i++) {
		if (attempt->request != ALL_REQUESTS && attempt->request != i) {
			source_fail(attempt->sample, i, CR_ABSENT, "no answer was recorded");
			continue;
		}
		if (i == 0 || attempt->request == i)
			probe_show_answer(&attempt->page, attempt->request, bytes, answer.len, 0);
		extract(attempt, i, &answer);
	}
	free(bytes);
	return -1;
}

static enum source_shown what_was_shown(const struct config_source *source)
{
	static const char *const names[] = { "password_file", "token_file", "secret_header" };
	static const enum source_shown shown[] = { SOURCE_SHOWN_PASSWORD, SOURCE_SHOWN_TOKEN,
						   SOURCE_SHOWN_HEADER };

	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		for (size_t i = 0; i < source->n_options; i++)
			if (strcmp(source->options[i].name, names[k]) == 0 &&
			    source->options[i].value[0] != '\0')
				return shown[k];
	return SOURCE_SHOWN_NOTHING;
}

static void read_answers(struct attempt *attempt, const struct probe_poll *poll)
{
	const size_t n = attempt->language->n_requests;
	bool is_answered[SOURCE_REQUESTS_MAX] = { false };

	for (size_t i = 0; i < poll->n_answers; i++) {
		const struct probe_answer *answer = &poll->answer[i];
		const struct source_answer read = { .bytes = answer->body,
						    .len = answer->len,
						    .status = answer->status,
						    .content_type = answer->type,
						    .location = answer->location,
						    .url = answer->url,
						    .shown = what_was_shown(attempt->source) };

		if (answer->request >= n)
			continue;
		is_answered[answer->request] = true;
		if (attempt->request == ALL_REQUESTS || attempt->request == answer->request)
			probe_show_answer(&attempt->page, answer->request, read.bytes, read.len,
					  read.status);
		extract(attempt, answer->request, &read);
	}
	for (size_t i = 0; i < n; i++)
		if (!is_answered[i])
			source_fail(attempt->sample, i,
				    poll->why > 0 ? (enum cr_why)poll->why : CR_REPLY,
				    poll->text[0] != '\0' ? poll->text : "it was not asked");
}

/* Returns -1 to go on, else the exit status. */
static int ask(struct attempt *attempt, const char *path)
{
	struct probe_poll poll;
	struct err err = { 0, "" };
	int status = -1;

	if (probe_child(path, attempt->source, &attempt->target, &poll, &err) < 0)
		return fail("%s", err.text);
	if (poll.why == PROBE_NOT_ENDED) {
		status = fail("%s", poll.text);
	} else if (attempt->language != NULL) {
		read_answers(attempt, &poll);
	} else {
		probe_show_values(&attempt->page, &poll);
		status = poll.n_values > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	probe_poll_fini(&poll);
	return status;
}

/*** All of it ***/

/* What goes with every question to an SNMP agent, but for the secret. */
static void print_about(const struct attempt *attempt)
{
	static const char *const keys[] = { "community_suffix", "context" };
	const struct probe_target *target = &attempt->target;
	const struct cr_target filled = { .name = target->name,
					  .var = target->vars,
					  .n_vars = target->n_vars };

	for (size_t i = 0; attempt->language != NULL && i < 2; i++) {
		const char *text =
			i == 0 ? attempt->language->community_suffix : attempt->language->context;
		char *sent;

		if (text[0] != '\0' && source_fill(text, &filled, SOURCE_ESCAPE_NONE, &sent) == 0) {
			(void)printf(", %s \"%s\"", keys[i], sent);
			free(sent);
		}
	}
}

static void print_title(const struct attempt *attempt)
{
	const struct probe_options *options = attempt->options;

	(void)printf("source %s: plugin %s, ", attempt->source->name, attempt->source->plugin);
	if (options->replay != NULL)
		(void)printf("%s instead of %s", options->replay, attempt->target.endpoint);
	else
		(void)printf("%s", attempt->target.endpoint);
	print_about(attempt);
	if (attempt->target.is_shared)
		(void)printf(", which answers for %zu server%s", attempt->source->n_servers,
			     text_s(attempt->source->n_servers));
	else
		(void)printf(", server %s", attempt->target.name);
	(void)fputc('\n', stdout);
}

static int run(struct attempt *attempt, const char *path)
{
	int status, rc;

	print_title(attempt);
	if (attempt->language != NULL) {
		attempt->sample = source_sample_new(attempt->language);
		if (attempt->sample == NULL)
			return fail("out of memory");
	}
	status = attempt->options->replay != NULL ? replay(attempt) : ask(attempt, path);
	if (status >= 0)
		return status;
	assert(attempt->sample != NULL); /* without a language ask() has ended it */
	rc = source_end(attempt->sample, attempt->target.is_shared ? NULL : attempt->target.name);
	probe_show_sample(&attempt->page, attempt->sample, rc);
	return attempt->sample->n_found > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int prepare(struct attempt *attempt)
{
	const char *text = source_text(attempt->source);

	if (find_target(attempt) != 0)
		return EXIT_FAILURE;
	if (text != NULL && source_parse(text, &attempt->language, NULL, NULL) < 0)
		return fail("out of memory");
	if (attempt->language == NULL && attempt->options->replay != NULL)
		return fail("plugin %s does not read the source language, so it cannot read a "
			    "recorded answer",
			    attempt->source->plugin);
	return attempt->language != NULL ? find_request(attempt) : 0;
}

int probe(const struct config *config, struct catalogue *catalogue,
	  const struct probe_options *options)
{
	struct attempt attempt = { .config = config, .options = options };
	int status;

	for (size_t i = 0; i < config->n_sources; i++)
		if (strcmp(config->sources[i].name, options->source) == 0)
			attempt.source = &config->sources[i];
	if (attempt.source == NULL)
		return fail_unknown_source(config, options->source);
	status = prepare(&attempt);
	attempt.page = (struct probe_page){ stdout,          config,           attempt.source,
					    &attempt.target, attempt.language, options->is_raw };
	if (status == 0)
		status = run(&attempt, catalogue_file(catalogue, attempt.source->plugin));
	source_sample_free(attempt.sample);
	source_free(attempt.language);
	free(attempt.target.endpoint);
	free(attempt.target.vars);
	return status;
}
