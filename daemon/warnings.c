/* warnings.c - herds and full clusters, from samples of the counters; unsteady rankings. */
#include "warnings.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "document.h"
#include "health.h"
#include "log.h"
#include "report_parts.h"
#include "text.h"
#include "unsteady.h"

#define SAMPLES    5 /* the newest, and those of 1 s and 2 s ago */
#define SPAN_NS    (2 * CLOCK_S)
#define SLACK_NS   (CLOCK_S / 4) /* a tick may come early */
#define TEXT_LEN   256
#define FULL_TICKS 2 /* in a row, before the cluster is called full */

/** Why a cluster is full. */
enum full { NOT_FULL = 0, FULL_OF_HEAP, FULL_OF_CALLS };

/** What is known of one service, by its line. */
struct subject {
	char name[64];
	int64_t herd_until_ns, full_until_ns, unsteady_until_ns; /* shown until then */
	int64_t herd_logged_ns, full_logged_ns, unsteady_logged_ns;
	char server[64]; /* that draws the herd */
	double share, fair_share;
	enum full full;
	unsigned full_ticks;
	double per_weight; /* calls in progress */
	uint32_t full_at;
	struct unsteady unsteady;
	unsigned changes; /* of the first place, in a minute */
	char metric[64];  /* by which that place is given */
};

/** What one server had got. */
struct figure {
	uint64_t calls;
	uint32_t line, incarnation; /* whose calls; incarnation 0: not known */
};

struct sample {
	int64_t at_ns; /* 0: none yet */
	size_t n;
	struct figure *figure; /* by the server's index in the image of that time */
};

struct warnings {
	size_t newest;
	struct sample sample[SAMPLES];
	struct subject subject[COUNTERS_SERVICES];
};

struct warnings *warnings_new(void)
{
	return calloc(1, sizeof(struct warnings));
}

void warnings_free(struct warnings *warnings)
{
	if (warnings == NULL)
		return;
	for (size_t i = 0; i < SAMPLES; i++)
		free(warnings->sample[i].figure);
	for (size_t i = 0; i < COUNTERS_SERVICES; i++)
		unsteady_fini(&warnings->subject[i].unsteady);
	free(warnings);
}

/*** Samples ***/

/* Room for n figures. Without memory the sample is of nobody. */
static void sample_size(struct sample *sample, size_t n)
{
	struct figure *figure =
		n > sample->n ? reallocarray(sample->figure, n, sizeof *figure) : sample->figure;

	if (figure == NULL) {
		free(sample->figure);
		n = 0;
	}
	sample->figure = figure;
	sample->n = n;
}

static void take_sample(struct warnings *warnings, const struct report_source *source)
{
	const struct image_server *server = image_servers(source->image);
	struct sample *sample;

	warnings->newest = (warnings->newest + 1) % SAMPLES;
	sample = &warnings->sample[warnings->newest];
	sample_size(sample, source->image->server.count);
	sample->at_ns = source->now_ns;
	for (size_t i = 0; i < sample->n; i++) {
		const struct counters_line *line = report_line(source, &server[i]);

		sample->figure[i] = (struct figure){ .line = server[i].line };
		if (line == NULL)
			continue;
		sample->figure[i].calls = atomic_load_explicit(&line->calls, memory_order_relaxed);
		sample->figure[i].incarnation = server[i].incarnation;
	}
}

/* The sample of so many ticks ago. */
static const struct sample *sample_before(const struct warnings *warnings, size_t ticks)
{
	return &warnings->sample[(warnings->newest + SAMPLES - ticks) % SAMPLES];
}

static const struct figure *figure_of(const struct sample *sample, size_t index,
				      const struct image_server *server)
{
	const struct figure *figure = index < sample->n ? &sample->figure[index] : NULL;

	return figure != NULL && figure->line == server->line &&
			       figure->incarnation == server->incarnation
		       ? figure
		       : NULL;
}

/* Calls that a server got from one sample to another; 0 if it was not there, in its place, all the
 * time: after a reload it takes two seconds until there is something to say. */
static double calls_between(const struct sample *from, const struct sample *to, size_t index,
			    const struct image_server *server)
{
	const struct figure *first = figure_of(from, index, server);
	const struct figure *last = figure_of(to, index, server);

	if (first == NULL || last == NULL || last->calls < first->calls)
		return 0;
	return (double)(last->calls - first->calls);
}

/*** Herds ***/

/** One service while it is judged. */
struct scene {
	const struct report_source *source;
	const struct image_service *service;
	const struct config_service *config;
};

static size_t index_of(const struct scene *scene, size_t row)
{
	return image_rows(scene->source->image, scene->service)[row];
}

static const struct image_server *server_of(const struct scene *scene, size_t row)
{
	return &image_servers(scene->source->image)[index_of(scene, row)];
}

/* Does it take its full share of calls? Others are spared on purpose. */
static bool is_in_full_use(const struct scene *scene, size_t row)
{
	const struct image_server *server = server_of(scene, row);
	const struct counters_line *line = report_line(scene->source, server);
	const int64_t now = scene->source->now_ns;

	return line != NULL && image_is_usable(server) && health_state(line, now) == CR_UP &&
	       health_ramp(line, scene->service->health.slow_start_ns, now) >= 1;
}

/** Calls and weights of those in full use. */
struct sums {
	double first, second; /* calls of the first and the second second */
	double weight;
};

static struct sums sum_up(const struct scene *scene, const struct sample *const *at)
{
	struct sums sums = { 0 };

	for (size_t row = 0; row < scene->service->n_rows; row++) {
		const struct image_server *server = server_of(scene, row);

		if (!is_in_full_use(scene, row))
			continue;
		sums.first += calls_between(at[0], at[1], index_of(scene, row), server);
		sums.second += calls_between(at[1], at[2], index_of(scene, row), server);
		sums.weight += server->weight;
	}
	return sums;
}

/* Calls of one second, where mean were its share: more than 3 times as many, and more than chance
 * gives to any of thousands of servers (six deviations). */
static bool is_drawn(double calls, double mean)
{
	return calls >= WARNINGS_HERD_OWN && calls > WARNINGS_HERD_TIMES * mean &&
	       (calls - mean) * (calls - mean) > 36 * mean;
}

/* In both seconds: one burst is no herd. */
static bool draws_herd(const struct scene *scene, size_t row, const struct sample *const *at,
		       const struct sums *sums, struct subject *subject)
{
	const struct image_server *server = server_of(scene, row);
	const double first = calls_between(at[0], at[1], index_of(scene, row), server);
	const double second = calls_between(at[1], at[2], index_of(scene, row), server);
	const double fair = server->weight / sums->weight;

	if (!is_drawn(first, fair * sums->first) || !is_drawn(second, fair * sums->second))
		return false;
	subject->share = (first + second) / (sums->first + sums->second);
	subject->fair_share = fair;
	(void)text_copy(subject->server, sizeof subject->server, server->name);
	return true;
}

static void judge_herd(const struct warnings *warnings, const struct scene *scene,
		       struct subject *subject)
{
	const struct sample *const at[] = { sample_before(warnings, SAMPLES - 1),
					    sample_before(warnings, SAMPLES / 2),
					    sample_before(warnings, 0) };
	const int64_t now = scene->source->now_ns;
	const struct sums sums = sum_up(scene, at);

	if (at[0]->at_ns == 0 || now - at[0]->at_ns < SPAN_NS - SLACK_NS || sums.weight <= 0 ||
	    sums.first + sums.second < WARNINGS_HERD_CALLS)
		return;
	for (size_t row = 0; row < scene->service->n_rows; row++) {
		if (!is_in_full_use(scene, row) || !draws_herd(scene, row, at, &sums, subject))
			continue;
		subject->herd_until_ns = now + WARNINGS_HOLD_S * CLOCK_S;
		return;
	}
}

/*** Full clusters ***/

static int column_index(const struct scene *scene, const char *name)
{
	const struct report_source *source = scene->source;
	const struct image_choice *router = &scene->service->router;
	char *const *names = NULL;

	if (router->instance != IMAGE_NONE && source->columns != NULL)
		names = source->columns(source->columns_arg,
					(size_t)(scene->config - source->config->services),
					image_instances(source->image)[router->instance].seq);
	for (int k = 0; names != NULL && names[k] != NULL; k++)
		if ((uint32_t)k < router->n_columns && strcmp(names[k], name) == 0)
			return k;
	return -1;
}

/* Has every server less heap left than the calls in progress there are expected to take? What the
 * router does not know is no reason. */
static bool has_no_heap(const struct scene *scene)
{
	const struct image_header *image = scene->source->image;
	const int heap = column_index(scene, "heap_bytes"),
		  live = column_index(scene, "live_bytes");
	size_t n = 0;

	for (size_t row = 0; heap >= 0 && live >= 0 && row < scene->service->n_rows; row++) {
		const struct image_choice *router = &scene->service->router;
		const struct image_server *server = server_of(scene, row);
		const struct counters_line *line = report_line(scene->source, server);
		double room;

		if (!image_is_usable(server))
			continue;
		if (line == NULL)
			return false;
		room = image_column(image, scene->service, router, (size_t)heap)[row] -
		       image_column(image, scene->service, router, (size_t)live)[row] -
		       (double)__atomic_load_n(&line->live.inflight_bytes, __ATOMIC_RELAXED);
		if (!(room < 0)) /* NaN: nobody knows */
			return false;
		n++;
	}
	return n > 0;
}

static double calls_per_weight(const struct scene *scene)
{
	double calls = 0, weight = 0;

	for (size_t row = 0; row < scene->service->n_rows; row++) {
		const struct image_server *server = server_of(scene, row);
		const struct counters_line *line = report_line(scene->source, server);

		if (line == NULL || !image_is_usable(server))
			continue;
		calls += __atomic_load_n(&line->live.inflight, __ATOMIC_RELAXED);
		weight += server->weight;
	}
	return weight > 0 ? calls / weight : 0;
}

static void judge_full(const struct scene *scene, struct subject *subject)
{
	const double per_weight = calls_per_weight(scene);
	enum full full = NOT_FULL;

	if (scene->config->full_at > 0 && per_weight > scene->config->full_at)
		full = FULL_OF_CALLS;
	else if (has_no_heap(scene))
		full = FULL_OF_HEAP;
	subject->full_ticks = full != NOT_FULL ? subject->full_ticks + 1 : 0;
	if (subject->full_ticks < FULL_TICKS)
		return;
	subject->full = full;
	subject->per_weight = per_weight;
	subject->full_at = scene->config->full_at;
	subject->full_until_ns = scene->source->now_ns + WARNINGS_HOLD_S * CLOCK_S;
}

/*** Unsteady rankings ***/

static void judge_unsteady(const struct scene *scene, struct subject *subject)
{
	const struct image_header *image = scene->source->image;
	const int64_t now = scene->source->now_ns;
	const char *metric = unsteady_metric(image, scene->service, scene->config);
	const unsigned changes =
		unsteady_look(&subject->unsteady, image, scene->service, scene->config, now);

	if (metric == NULL) {
		subject->unsteady_until_ns = 0; /* smoothed by now: there is nothing left to do */
		return;
	}
	if (changes < UNSTEADY_CHANGES)
		return;
	subject->changes = changes;
	(void)text_copy(subject->metric, sizeof subject->metric, metric);
	subject->unsteady_until_ns = now + WARNINGS_HOLD_S * CLOCK_S;
}

/*** What is said ***/

static void herd_text(const struct subject *subject, char *text, size_t len)
{
	const double got = 100 * subject->share, fair = 100 * subject->fair_share;

	(void)snprintf(text, len, "%s got %.*f %% of the calls, its weight is %.*f %% of all",
		       subject->server, got < 2 ? 2 : 0, got, fair < 2 ? 2 : 0, fair);
}

static void full_text(const struct subject *subject, char *text, size_t len)
{
	if (subject->full == FULL_OF_CALLS)
		(void)snprintf(text, len,
			       "%.1f calls in progress per weight, the limit full_at is %" PRIu32,
			       subject->per_weight, subject->full_at);
	else
		(void)snprintf(text, len,
			       "no server has heap left for more than its calls in progress");
}

static void unsteady_text(const struct subject *subject, char *text, size_t len)
{
	(void)snprintf(text, len,
		       "the first place changed %u times in the last minute; smooth: [%s] in "
		       "service %s steadies it",
		       subject->changes, subject->metric, subject->name);
}

/* Once when it begins, and once a minute while it lasts. */
static bool is_due(int64_t until_ns, int64_t *logged_ns, int64_t now_ns)
{
	if (until_ns < now_ns + WARNINGS_HOLD_S * CLOCK_S ||
	    (*logged_ns != 0 && now_ns - *logged_ns < WARNINGS_LOG_S * CLOCK_S))
		return false;
	*logged_ns = now_ns;
	return true;
}

static void tell(struct subject *subject, int64_t now_ns)
{
	char text[TEXT_LEN];

	if (is_due(subject->herd_until_ns, &subject->herd_logged_ns, now_ns)) {
		herd_text(subject, text, sizeof text);
		log_warn("herd", "service=%s server=%s what=\"%s\"", subject->name, subject->server,
			 text);
	}
	if (is_due(subject->full_until_ns, &subject->full_logged_ns, now_ns)) {
		full_text(subject, text, sizeof text);
		log_warn("cluster full", "service=%s what=\"%s\"", subject->name, text);
	}
	if (is_due(subject->unsteady_until_ns, &subject->unsteady_logged_ns, now_ns)) {
		unsteady_text(subject, text, sizeof text);
		log_warn("unsteady", "service=%s what=\"%s\"", subject->name, text);
	}
}

/*** The whole ***/

static const struct config_service *find_config(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->n_services; i++)
		if (strcmp(config->services[i].name, name) == 0)
			return &config->services[i];
	return NULL;
}

static void judge(struct warnings *warnings, const struct scene *scene)
{
	struct subject *subject = &warnings->subject[scene->service->line];

	if (strcmp(subject->name, scene->service->name) != 0) {
		unsteady_fini(&subject->unsteady);
		*subject = (struct subject){ 0 };
		(void)text_copy(subject->name, sizeof subject->name, scene->service->name);
	}
	judge_herd(warnings, scene, subject);
	judge_full(scene, subject);
	judge_unsteady(scene, subject);
	tell(subject, scene->source->now_ns);
}

void warnings_tick(struct warnings *warnings, const struct report_source *source)
{
	if (source->image == NULL || source->counters == NULL)
		return;
	take_sample(warnings, source);
	for (size_t i = 0; i < source->image->service.count; i++) {
		const struct image_service *service = &image_services(source->image)[i];
		const struct scene scene = { source, service,
					     find_config(source->config, service->name) };

		if (scene.config != NULL && service->line < COUNTERS_SERVICES)
			judge(warnings, &scene);
	}
}

json_t *warnings_document(const struct warnings *warnings, const struct image_service *service,
			  int64_t now_ns)
{
	const struct subject *subject =
		service->line < COUNTERS_SERVICES ? &warnings->subject[service->line] : NULL;
	json_t *list = json_array();
	char text[TEXT_LEN];

	if (subject == NULL || strcmp(subject->name, service->name) != 0)
		return list;
	if (subject->herd_until_ns > now_ns) {
		herd_text(subject, text, sizeof text);
		(void)json_array_append_new(
			list,
			json_pack("{s:s,s:s,s:o,s:o,s:o}", "warning", "herd", "text", text,
				  "server", document_text(subject->server, sizeof subject->server),
				  "share", document_number(subject->share), "fair_share",
				  document_number(subject->fair_share)));
	}
	if (subject->full_until_ns > now_ns) {
		full_text(subject, text, sizeof text);
		(void)json_array_append_new(
			list,
			json_pack("{s:s,s:s,s:s,s:o}", "warning", "cluster_full", "text", text,
				  "reason", subject->full == FULL_OF_CALLS ? "calls" : "heap",
				  "calls_per_weight", document_number(subject->per_weight)));
	}
	if (subject->unsteady_until_ns > now_ns) {
		unsteady_text(subject, text, sizeof text);
		(void)json_array_append_new(list, json_pack("{s:s,s:s,s:I,s:s}", "warning",
							    "unsteady", "text", text, "changes",
							    (json_int_t)subject->changes, "metric",
							    subject->metric));
	}
	return list;
}
