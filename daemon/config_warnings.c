/* config_warnings.c - what is no mistake but seldom meant: one figure from two collectors, and one
 * figure in several ways among the servers of a service. */
#include "config_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define PAIRS_LISTED 32 /* of collectors: 256 that all ask the same make 32,640 */
#define NAMES_LEN    256
#define USES_MAX     64 /* metrics of all routers together */
#define WAYS_NAMED   3

CR_PRINTF(5, 6)
static void warn(struct config_reader *reader, const char *word, size_t service,
		 const struct config_place *place, const char *fmt, ...)
{
	struct config *config = reader->config;
	struct config_warning *grown;
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	grown = reallocarray(config->warnings, config->n_warnings + 1, sizeof *grown);
	if (grown != NULL)
		config->warnings = grown;
	if (text == NULL || grown == NULL) {
		free(text);
		reader->is_out_of_memory = true;
		return;
	}
	grown[config->n_warnings++] = (struct config_warning){
		.word = word,
		.text = text,
		.service = service,
		.line = (int)place->line,
		.column = (int)place->column,
	};
}

/* "a, b, c", or "a, b ..." if there is no room. */
struct names {
	char text[NAMES_LEN];
	const char *first;
	size_t used, n;
};

static void add_name(struct names *names, const char *name)
{
	const char *comma = names->n++ > 0 ? ", " : "";
	const size_t need = strlen(comma) + strlen(name);

	if (names->n == 1)
		names->first = name;
	if (names->used + need + sizeof " ..." > sizeof names->text) {
		(void)text_copy(names->text + names->used, sizeof names->text - names->used,
				" ...");
		return;
	}
	(void)snprintf(names->text + names->used, sizeof names->text - names->used, "%s%s", comma,
		       name);
	names->used += need;
}

/*** Two collectors of one figure ***/

/* A bit for each server. */
static void mark_servers(const struct config_source *source, uint64_t *bits)
{
	for (size_t i = 0; i < source->n_servers; i++)
		bits[source->servers[i] / 64] |= UINT64_C(1) << source->servers[i] % 64;
}

/* How many servers are in both; *first: the index of the first of them. */
static size_t count_common(const uint64_t *a, const uint64_t *b, size_t n_words, size_t *first)
{
	size_t n = 0;

	for (size_t i = 0; i < n_words; i++) {
		const uint64_t both = a[i] & b[i];

		if (n == 0 && both != 0)
			*first = 64 * i + (size_t)__builtin_ctzll(both);
		n += (size_t)__builtin_popcountll(both);
	}
	return n;
}

/* What both give, unless it follows from what both measure; figures are sorted by name.
 * *measured_by: who measures the first of them, b if both do. */
static void list_common(const struct config_source *a, const struct config_source *b,
			struct names *names, const struct config_source **measured_by)
{
	size_t i = 0, k = 0;

	while (i < a->n_figures && k < b->n_figures) {
		const struct config_figure *of_a = &a->figures[i], *of_b = &b->figures[k];
		const int order = strcmp(of_a->metric, of_b->metric);

		if (order == 0 && !(of_a->is_derived && of_b->is_derived)) {
			if (names->n == 0)
				*measured_by = of_b->is_derived ? a : b;
			add_name(names, of_a->metric);
		}
		i += order <= 0;
		k += order >= 0;
	}
}

static void warn_of_pair(struct config_reader *reader, const struct config_source *a,
			 const struct config_source *b, size_t n_servers, size_t first)
{
	const char *server = reader->config->servers[first].name;
	const struct config_place place = { .line = (size_t)b->line, .column = (size_t)b->column };
	const struct config_source *measured_by = b;
	struct names figures = { .n = 0 };
	char more[64];

	list_common(a, b, &figures, &measured_by);
	warn(reader, "two_sources", CONFIG_NO_SERVICE, &place,
	     "collectors %s and %s both give %s of %s%s: the newer value wins, so what is known "
	     "goes back and forth between the two; let them poll different servers (servers:), "
	     "%sleave figures out, like fields: { %s: ~ } in %s%s",
	     a->name, b->name, figures.text, server,
	     config_others(more, sizeof more, n_servers - 1), a->is_backup ? "or " : "",
	     figures.first, measured_by->name,
	     a->is_backup
		     ? "; both are backups, and none of them comes before the other"
		     : ", or let one stand in where the other has nothing fresh (backup: true)");
}

static bool have_common_figures(const struct config_source *a, const struct config_source *b)
{
	const struct config_source *measured_by;
	struct names figures = { .n = 0 };

	list_common(a, b, &figures, &measured_by);
	return figures.n > 0;
}

static void warn_of_two_sources(struct config_reader *reader)
{
	const struct config *config = reader->config;
	const struct config_source *source = config->sources;
	const struct config_place whole = { .line = 0 };
	const size_t n_words = config->n_servers / 64 + 1;
	uint64_t *bits = config_array(reader, config->n_sources * n_words, sizeof *bits);
	size_t n_pairs = 0, first = 0;

	for (size_t i = 0; bits != NULL && i < config->n_sources; i++)
		mark_servers(&source[i], bits + i * n_words);
	for (size_t b = 1; bits != NULL && b < config->n_sources; b++)
		for (size_t a = 0; a < b; a++) {
			const size_t n = count_common(bits + a * n_words, bits + b * n_words,
						      n_words, &first);

			if (n > 0 && source[a].is_backup == source[b].is_backup &&
			    have_common_figures(&source[a], &source[b]) &&
			    ++n_pairs <= PAIRS_LISTED)
				warn_of_pair(reader, &source[a], &source[b], n, first);
		}
	if (n_pairs > PAIRS_LISTED)
		warn(reader, "two_sources", CONFIG_NO_SERVICE, &whole,
		     "%zu more pairs of collectors give the same of the same servers",
		     n_pairs - PAIRS_LISTED);
	free(bits);
}

/*** One figure in several ways ***/

/* Which source gives a metric of each server: index + 1, 0: none. The first one in the
 * configuration, where there are several; backups come last. */
struct givers {
	const char *metric; /* borrowed from a plugin's facts */
	uint16_t *source;   /* by server */
};

struct all_givers {
	struct givers metric[USES_MAX];
	size_t n;
};

static void free_givers(struct all_givers *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->metric[i].source);
}

static void fill_givers(const struct config *config, bool is_backup, struct givers *givers)
{
	for (size_t i = 0; i < config->n_sources; i++) {
		const struct config_source *source = &config->sources[i];

		if (source->is_backup != is_backup ||
		    config_figure_find(source, givers->metric) == NULL)
			continue;
		for (size_t k = 0; k < source->n_servers; k++)
			if (givers->source[source->servers[k]] == 0)
				givers->source[source->servers[k]] = (uint16_t)(i + 1);
	}
}

/* Looked up once for all services; NULL: no memory, or too many. */
static const struct givers *givers_of(struct config_reader *reader, struct all_givers *all,
				      const char *metric)
{
	const struct config *config = reader->config;
	struct givers *givers = &all->metric[all->n];

	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->metric[i].metric, metric) == 0)
			return &all->metric[i];
	if (all->n == USES_MAX)
		return NULL;
	*givers = (struct givers){
		.metric = metric,
		.source = config_array(reader, config->n_servers + 1, sizeof *givers->source),
	};
	all->n++;
	if (givers->source == NULL)
		return NULL;
	fill_givers(config, false, givers);
	fill_givers(config, true, givers);
	return givers;
}

/* The ways in which the servers of a service have one metric. */
struct ways {
	uint64_t way[WAYS_NAMED];
	const struct config_source *source[WAYS_NAMED]; /* the first of each */
	size_t count[WAYS_NAMED];                       /* servers */
	size_t n, n_others;                             /* n_others: servers with further ways */
};

static void count_way(struct ways *ways, uint64_t way, const struct config_source *source)
{
	size_t k = 0;

	while (k < ways->n && ways->way[k] != way)
		k++;
	if (k == WAYS_NAMED) {
		ways->n_others++;
		return;
	}
	if (k == ways->n) {
		ways->way[k] = way;
		ways->source[k] = source;
		ways->n++;
	}
	ways->count[k]++;
}

static void count_ways(const struct config *config, const struct config_service *service,
		       const struct givers *givers, struct ways *ways)
{
	const struct config_figure *figure = NULL;
	uint16_t last = 0; /* whose figure that is: neighbours are mostly of one source */

	*ways = (struct ways){ .n = 0 };
	for (size_t i = 0; i < service->n_servers; i++) {
		const uint16_t giver = givers->source[service->servers[i]];
		const struct config_source *source;

		if (giver == 0)
			continue;
		source = &config->sources[giver - 1];
		if (giver != last)
			figure = config_figure_find(source, givers->metric);
		last = giver;
		count_way(ways, figure->way, source);
	}
}

/* One service while it is looked at. */
struct mixing {
	size_t service;
	const struct config_choice *choice;
	struct names metrics;
	struct ways ways; /* of the first of them */
};

static void look_at(struct config_reader *reader, struct all_givers *all, const char *metric,
		    struct mixing *mixing)
{
	const struct config_service *service = &reader->config->services[mixing->service];
	const struct givers *givers = givers_of(reader, all, metric);
	struct ways ways;

	if (givers == NULL)
		return;
	count_ways(reader->config, service, givers, &ways);
	if (ways.n < 2)
		return;
	if (mixing->metrics.n == 0)
		mixing->ways = ways;
	add_name(&mixing->metrics, metric);
}

static void warn_of_mixing(struct config_reader *reader, const struct mixing *mixing)
{
	const struct ways *ways = &mixing->ways;
	const struct config_place place = { .line = (size_t)mixing->choice->line,
					    .column = (size_t)mixing->choice->column };
	struct names sources = { .n = 0 };
	char text[160];

	for (size_t k = 0; k < ways->n; k++) {
		const char *profile = ways->source[k]->profile;

		(void)snprintf(text, sizeof text, "%zu server%s by collector %s%s%s%s",
			       ways->count[k], text_s(ways->count[k]), ways->source[k]->name,
			       profile != NULL ? " (" : "", profile != NULL ? profile : "",
			       profile != NULL ? ")" : "");
		add_name(&sources, text);
	}
	if (ways->n_others > 0) {
		(void)snprintf(text, sizeof text, "%zu in other ways", ways->n_others);
		add_name(&sources, text);
	}
	warn(reader, "mixed_sources", mixing->service, &place,
	     "router %s looks at %s, which the servers of service %s have from different kinds of "
	     "source: %s; equal servers may then look different; use one profile for all servers "
	     "of a service",
	     mixing->choice->plugin, mixing->metrics.text,
	     reader->config->services[mixing->service].name, sources.text);
}

static void judge_choice(struct config_reader *reader, struct all_givers *all, size_t service,
			 const struct config_choice *choice)
{
	struct mixing mixing = { .service = service, .choice = choice };
	struct config_looks looks;

	config_looks_find(reader, choice, &looks);
	for (size_t i = 0; i < looks.n; i++)
		look_at(reader, all, looks.metric[i], &mixing);
	if (mixing.metrics.n > 0)
		warn_of_mixing(reader, &mixing);
}

static void warn_of_mixed_sources(struct config_reader *reader)
{
	const struct config *config = reader->config;
	struct all_givers all = { .n = 0 };

	if (config->n_sources < 2)
		return;
	for (size_t i = 0; i < config->n_services; i++) {
		judge_choice(reader, &all, i, &config->services[i].router);
		judge_choice(reader, &all, i, &config->services[i].preset);
	}
	free_givers(&all);
}

void config_warnings_make(struct config_reader *reader)
{
	if (reader->n_mistakes > 0 || reader->is_out_of_memory)
		return;
	warn_of_two_sources(reader);
	warn_of_mixed_sources(reader);
}

const char *config_warning_show(const struct config *config, const struct config_warning *warning,
				char *buf, size_t len)
{
	char place[32] = "";

	if (warning->line > 0)
		(void)snprintf(place, sizeof place, ":%d:%d", warning->line, warning->column);
	(void)snprintf(buf, len, "%s%s: warning: %s: %s", config->path, place, warning->word,
		       warning->text);
	return buf;
}

void config_warnings_free(struct config *config)
{
	for (size_t i = 0; i < config->n_warnings; i++)
		free(config->warnings[i].text);
	free(config->warnings);
}
