/* config_vars.c - variables in what is sent to a server: which of them a source names, whether all
 * servers have them, what comes of them for an SNMP agent, and their values for one server. */
#include "config_internal.h"

#include <stdlib.h>
#include <string.h>

#include "secret.h"
#include "source.h"
#include "source_yaml.h"
#include "text.h"

/*** Mistakes ***/

/* The variable that was probably meant, of those that this server has. */
static const char *nearest_variable(const struct config_server *server, const char *name)
{
	const char *words[CONFIG_PAIRS_MAX + 4];
	size_t n = 0;

	for (; config_own_variables[n] != NULL; n++)
		words[n] = config_own_variables[n];
	for (size_t i = 0; i < server->n_vars; i++)
		words[n++] = server->vars[i].name;
	words[n] = NULL;
	return text_nearest(name, words);
}

/* first: the first of n_lacking servers that do not have the variable. */
static void note_lacking(struct config_reader *reader, const struct config_use *use,
			 const char *name, const struct config_server *first, size_t n_lacking)
{
	const char *nearest = nearest_variable(first, name);
	const char *of = first->name != NULL ? first->name : "?";
	char others[64];

	(void)config_others(others, sizeof others, n_lacking - 1);
	if (nearest != NULL)
		config_mistake_in(reader, &use->place,
				  "%s: ${%s} is unknown for server \"%s\"%s; did you mean ${%s}?",
				  use->what, name, of, others, nearest);
	else
		config_mistake_in(reader, &use->place,
				  "%s: ${%s} is unknown for server \"%s\"%s; there are ${host}, "
				  "${port}, ${name} and the server's vars",
				  use->what, name, of, others);
}

/* Every server has these; one that lacks them has a bad address or name, and that has been told. */
static bool is_own_variable(const struct config_use *use)
{
	for (size_t i = 0; config_own_variables[i] != NULL; i++)
		if (strlen(config_own_variables[i]) == use->len &&
		    strncmp(config_own_variables[i], use->name, use->len) == 0)
			return true;
	return false;
}

void config_vars_check_use(struct config_reader *reader, const struct config_source *source,
			   const struct config_use *use)
{
	const struct config_server *first = NULL;
	size_t n_lacking = 0;
	char *name;

	for (size_t i = 0; i < source->n_servers && !is_own_variable(use); i++) {
		const struct config_server *server = &reader->config->servers[source->servers[i]];

		if ((use->is_of_target && config_own_target(server, source) != NULL) ||
		    config_variable(server, use->name, use->len) != NULL)
			continue;
		first = first != NULL ? first : server;
		n_lacking++;
	}
	if (first == NULL)
		return;
	name = strndup(use->name, use->len);
	if (name != NULL)
		note_lacking(reader, use, name, first, n_lacking);
	else
		reader->is_out_of_memory = true;
	free(name);
}

/*** What a source names ***/

/* Where what the description has at pointer was written. */
static void note_place(struct config_reader *reader, const struct source_yaml *yaml,
		       const char *pointer, struct config_pair *pair)
{
	const struct source_place place = source_yaml_place(yaml, pointer);

	pair->line = (int)place.line;
	pair->column = (int)place.column;
	if (place.file != NULL && strcmp(place.file, reader->path) != 0)
		pair->file = config_copy(reader, place.file);
}

static void note_about(struct config_reader *reader, const struct source_yaml *yaml,
		       const char *pointer, const char *text, struct config_source *source)
{
	struct config_pair *pair = &source->abouts[source->n_abouts];

	if (!source_is_template(text)) /* it has been judged */
		return;
	source->n_abouts++;
	pair->name = config_copy(reader, pointer + 1);
	pair->value = config_copy(reader, text);
	note_place(reader, yaml, pointer, pair);
}

void config_vars_note(struct config_reader *reader, const struct source *parsed,
		      const struct source_yaml *yaml, struct config_source *source)
{
	source->abouts = config_array(reader, 2, sizeof *source->abouts);
	if (source->abouts != NULL) {
		note_about(reader, yaml, "/community_suffix", parsed->community_suffix, source);
		note_about(reader, yaml, "/context", parsed->context, source);
	}
	source->variables = config_array(reader, parsed->n_variables, sizeof *source->variables);
	for (size_t i = 0; source->variables != NULL && i < parsed->n_variables; i++) {
		const struct source_variable *variable = &parsed->variable[i];
		struct config_pair *pair = &source->variables[source->n_variables++];

		pair->name = config_copy(reader, variable->name);
		pair->value = config_copy(reader, variable->pointer);
		note_place(reader, yaml, variable->pointer, pair);
	}
}

/*** What comes of them ***/

/* The community that a suffix follows, if it can be read: what is wrong with its file is told by
 * others. */
static bool read_community(const struct config_source *source, struct secret *secret)
{
	char text[2 * CONFIG_TEXT_MAX + 300]; /* nobody wants to know */

	for (size_t i = 0; i < source->n_options; i++)
		if (strcmp(source->options[i].name, "community_file") == 0)
			return secret_read(secret, "", source->options[i].value, text,
					   sizeof text) == 0;
	return false;
}

/* A text, filled in for each server. */
struct filling {
	const struct config_pair *about;
	const char *community;             /* that it follows; NULL: none, or nobody knows */
	const struct config_server *first; /* of n for whom it cannot be sent */
	char why[128];
	size_t n;
};

static void fill(struct filling *filling, const struct config_server *server)
{
	char *text = config_expand(filling->about->value, server), why[sizeof filling->why];

	/* NULL: a variable is missing, which is told elsewhere */
	if (text != NULL && source_about_check(text, filling->community, why, sizeof why) < 0 &&
	    filling->n++ == 0) {
		filling->first = server;
		memcpy(filling->why, why, sizeof why);
	}
	free(text);
}

static void check_about(struct config_reader *reader, const struct config_source *source,
			const struct config_source_nodes *nodes, const struct config_pair *about)
{
	const struct config_place place = config_pair_place(about, nodes->profile);
	struct filling filling = { .about = about };
	struct secret secret;
	char others[64];

	if (strcmp(about->name, "community_suffix") == 0 && read_community(source, &secret))
		filling.community = secret.text;
	for (size_t i = 0; i < source->n_servers; i++)
		fill(&filling, &reader->config->servers[source->servers[i]]);
	secret_wipe(&secret);
	if (filling.first == NULL)
		return;
	(void)config_others(others, sizeof others, filling.n - 1);
	config_mistake_in(reader, &place, "%s cannot be sent for server \"%s\"%s: %s", about->name,
			  filling.first->name, others, filling.why);
}

/* Does one poll answer for several servers? */
static bool is_shared(const struct config_reader *reader, const struct config_source *source,
		      const struct config_source_nodes *nodes)
{
	bool is_covered = false;

	for (size_t i = 0; i < source->n_servers; i++)
		is_covered |= config_own_target(&reader->config->servers[source->servers[i]],
						source) == NULL;
	return is_covered && !nodes->is_per_server && source->target != NULL &&
	       !source_is_template(source->target);
}

void config_vars_check(struct config_reader *reader, const struct config_source *source,
		       const struct config_source_nodes *nodes)
{
	const bool is_for_all = is_shared(reader, source, nodes);

	for (size_t i = 0; i < source->n_variables; i++) {
		const struct config_pair *pair = &source->variables[i];
		struct config_use use = { config_pair_place(pair, nodes->profile), NULL, pair->name,
					  0, false };

		if (pair->name == NULL || pair->value == NULL) /* no memory, and that is known */
			continue;
		use.what = pair->value + 1;
		use.len = strlen(pair->name);
		if (is_for_all)
			config_mistake_in(
				reader, &use.place,
				"%s: ${%s} is another one for each server, but one poll "
				"answers for all servers of this collector; write what it "
				"stands for",
				use.what, pair->name);
		else
			config_vars_check_use(reader, source, &use);
	}
	for (size_t i = 0; i < source->n_abouts && !is_for_all; i++)
		if (source->abouts[i].name != NULL && source->abouts[i].value != NULL)
			check_about(reader, source, nodes, &source->abouts[i]);
}

/*** Values ***/

/* Copy text to *at, which moves on behind its end. */
static const char *put_text(char **at, const char *text)
{
	char *copy = *at;

	*at = mempcpy(copy, text, strlen(text) + 1);
	return copy;
}

struct cr_var *config_vars_copy(const struct cr_var *from, size_t n)
{
	size_t len = 0;
	struct cr_var *vars;
	char *at;

	for (size_t i = 0; i < n; i++)
		len += strlen(from[i].name) + strlen(from[i].value) + 2;
	vars = malloc(n * sizeof *vars + len + 1);
	if (vars == NULL)
		return NULL;
	at = (char *)(vars + n);
	for (size_t i = 0; i < n; i++) {
		vars[i].name = put_text(&at, from[i].name);
		vars[i].value = put_text(&at, from[i].value);
	}
	return vars;
}

struct cr_var *config_vars(const struct config_source *source, const struct config_server *server,
			   size_t *n)
{
	struct cr_var vars[SOURCE_VARIABLES_MAX];

	*n = 0;
	for (size_t i = 0; i < source->n_variables && *n < SOURCE_VARIABLES_MAX; i++) {
		const char *name = source->variables[i].name;
		const char *value = config_variable(server, name, strlen(name));

		if (value != NULL)
			vars[(*n)++] = (struct cr_var){ name, value };
	}
	return config_vars_copy(vars, *n);
}
