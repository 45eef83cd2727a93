/* config_health.c - a service's key health: what takes servers out, and how they are checked. */
#include "config_internal.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "image.h"
#include "text.h"

#define FAILURES_MAX 1000000
#define ROW_MAX      100 /* checks in a row */

enum { FAILURES, OUT_FOR, COUNTS, ASIDE, ASIDE_MOST, SLOW_START, CHECK };
static const char *const health_keys[] = { "failures",   "out_for",    "counts", "aside",
					   "aside_most", "slow_start", "check",  NULL };
enum { TCP, HTTP, STATUS, INTERVAL, TIMEOUT, FALL, RISE, PORT, HOST_HEADER };
static const char *const check_keys[] = { "tcp",  "http", "status", "interval",    "timeout",
					  "fall", "rise", "port",   "host_header", NULL };

/* The words of enum image_counts, in the order of its bits. */
static const char *const counts_words[] = { "connect", "timeout", "5xx", NULL };

static const struct config_range out_range = { 100 * CLOCK_MS, 86400 * CLOCK_S, "100ms to 1d" };
static const struct config_range pause_range = { 0, 3600 * CLOCK_S, "0s to 1h" };
static const struct config_range interval_range = { 50 * CLOCK_MS, 3600 * CLOCK_S, "50ms to 1h" };
static const struct config_range timeout_range = { 10 * CLOCK_MS, 3600 * CLOCK_S, "10ms to 1h" };

struct config_health config_health_preset(void)
{
	return (struct config_health){
		.out_for_ns = 180 * CLOCK_S,
		.aside_ns = 2 * CLOCK_S,
		.aside_most_ns = 30 * CLOCK_S,
		.slow_start_ns = 10 * CLOCK_S,
		.failures = 10,
		.counts = IMAGE_COUNTS_ALL,
		.check = { .interval_ns = 2 * CLOCK_S,
			   .timeout_ns = CLOCK_S,
			   .fall = 3,
			   .rise = 2 },
	};
}

/*** The check ***/

/* The status codes that count as good. */
static void read_status(struct config_reader *reader, const yaml_node_t *list,
			struct config_check *check)
{
	const size_t n = config_list(reader, list, "status", CONFIG_STATUS_MAX,
				     "name codes such as 200, or remove it for all 2xx and 3xx");

	for (size_t i = 0; i < n; i++)
		config_whole(reader, config_item(reader, list, i), "a status", 200, 599,
			     &check->status[check->n_status++]);
}

/* What a request's line and a header can hold: no spaces, nothing but ASCII. */
static char *read_token(struct config_reader *reader, const yaml_node_t *node, const char *what)
{
	const char *text = node != NULL ? config_text(reader, node, what, false) : NULL;

	if (text == NULL)
		return NULL;
	for (const char *c = text; *c != '\0'; c++) {
		if (*c > ' ' && *c <= '~')
			continue;
		config_mistake(reader, node,
			       "%s \"%s\" holds a space or a letter that is not ASCII; write it "
			       "as %%20 and the like",
			       what, text);
		return NULL;
	}
	return config_copy(reader, text);
}

static void read_port(struct config_reader *reader, const yaml_node_t *node,
		      struct config_check *check)
{
	uint32_t port = 0;

	config_whole(reader, node, "port", 1, 65535, &port);
	if (port > 0)
		check->port = config_copy(reader, (const char *)node->data.scalar.value);
}

static void read_path(struct config_reader *reader, const yaml_node_t *node,
		      struct config_check *check)
{
	check->kind = CONFIG_CHECK_HTTP;
	check->path = read_token(reader, node, "http");
	if (check->path != NULL && check->path[0] != '/')
		config_mistake(reader, node,
			       "http \"%s\" does not begin with \"/\"; write the path alone, such "
			       "as /health",
			       check->path);
}

static void read_kind(struct config_reader *reader, const yaml_node_t *node,
		      const yaml_node_t *const *slot, struct config_check *check)
{
	static const int http_only[] = { STATUS, HOST_HEADER };
	const size_t before = reader->n_mistakes;
	bool is_tcp = false;

	config_bool(reader, slot[TCP], "tcp", &is_tcp);
	if (is_tcp && slot[HTTP] != NULL)
		config_mistake(reader, slot[TCP], "the check has both tcp and http; keep one");
	else if (slot[HTTP] != NULL)
		read_path(reader, slot[HTTP], check);
	else if (is_tcp)
		check->kind = CONFIG_CHECK_TCP;
	else if (before == reader->n_mistakes)
		config_mistake(reader, node,
			       "the check does nothing; add http: /PATH, or tcp: true");
	for (size_t i = 0; is_tcp && i < sizeof http_only / sizeof *http_only; i++)
		if (slot[http_only[i]] != NULL)
			config_mistake(reader, slot[http_only[i]],
				       "%s means nothing to a tcp check; remove it, or check with "
				       "http: /PATH",
				       check_keys[http_only[i]]);
}

static void read_check(struct config_reader *reader, const yaml_node_t *node,
		       struct config_check *check)
{
	const yaml_node_t *slot[CONFIG_KEYS_MAX];

	if (!config_map(reader, node, "check", check_keys, false, slot))
		return;
	read_kind(reader, node, slot, check);
	if (slot[STATUS] != NULL)
		read_status(reader, slot[STATUS], check);
	config_duration(reader, slot[INTERVAL], "interval", &interval_range, &check->interval_ns);
	if (check->timeout_ns > check->interval_ns)
		check->timeout_ns = check->interval_ns;
	config_duration(reader, slot[TIMEOUT], "timeout", &timeout_range, &check->timeout_ns);
	if (check->timeout_ns > check->interval_ns)
		config_mistake(reader, slot[TIMEOUT],
			       "timeout %s is longer than the interval: checks would overlap; "
			       "shorten it",
			       (const char *)slot[TIMEOUT]->data.scalar.value);
	config_whole(reader, slot[FALL], "fall", 1, ROW_MAX, &check->fall);
	config_whole(reader, slot[RISE], "rise", 1, ROW_MAX, &check->rise);
	if (slot[PORT] != NULL)
		read_port(reader, slot[PORT], check);
	check->host_header = read_token(reader, slot[HOST_HEADER], "host_header");
}

/*** The rest ***/

static void read_counts(struct config_reader *reader, const yaml_node_t *list,
			struct config_health *health)
{
	const size_t n = config_list(reader, list, "counts", 3,
				     "name some of connect, timeout, 5xx, or write failures: 0");

	health->counts = 0;
	for (size_t i = 0; i < n; i++) {
		const yaml_node_t *item = config_item(reader, list, i);
		const char *word = config_text(reader, item, "a word of counts", false), *near;
		size_t k = 0;

		if (word == NULL)
			continue;
		while (counts_words[k] != NULL && strcmp(counts_words[k], word) != 0)
			k++;
		near = counts_words[k] == NULL ? text_nearest(word, counts_words) : NULL;
		if (counts_words[k] != NULL)
			health->counts |= UINT32_C(1) << k;
		else if (near != NULL)
			config_mistake(reader, item,
				       "unknown word \"%s\" in counts; did you mean \"%s\"?", word,
				       near);
		else
			config_mistake(reader, item,
				       "unknown word \"%s\" in counts; there are: connect, "
				       "timeout, 5xx",
				       word);
	}
}

static void read_aside(struct config_reader *reader, const yaml_node_t *const *slot,
		       struct config_health *health)
{
	config_duration(reader, slot[ASIDE], "aside", &pause_range, &health->aside_ns);
	if (health->aside_most_ns < health->aside_ns)
		health->aside_most_ns = health->aside_ns;
	config_duration(reader, slot[ASIDE_MOST], "aside_most", &pause_range,
			&health->aside_most_ns);
	if (health->aside_most_ns < health->aside_ns)
		config_mistake(reader, slot[ASIDE_MOST],
			       "aside_most %s is shorter than aside; make it at least as long",
			       (const char *)slot[ASIDE_MOST]->data.scalar.value);
}

/* A refused connection that puts aside is no failure beside that: then nothing would be one. */
static void judge_counts(struct config_reader *reader, const yaml_node_t *counts,
			 const struct config_health *health)
{
	if (health->counts == IMAGE_COUNTS_CONNECT && health->aside_ns > 0 && health->failures > 0)
		config_mistake(reader, counts,
			       "counts has only connect, which puts servers aside instead: add "
			       "timeout or 5xx, or write aside: 0s, or failures: 0");
}

static void read_switch(struct config_reader *reader, const yaml_node_t *node,
			struct config_health *health)
{
	const char *text = config_text(reader, node, "health", false);
	bool is_on = true;

	if (text != NULL && text_bool(text, &is_on) < 0)
		config_mistake(reader, node,
			       "health \"%s\" is neither on nor off; write one of them, or a map "
			       "of %s",
			       text,
			       "failures, out_for, counts, aside, aside_most, slow_start, check");
	if (is_on)
		return;
	health->failures = 0;
	health->aside_ns = health->aside_most_ns = health->slow_start_ns = 0;
}

void config_health_read(struct config_reader *reader, const yaml_node_t *node,
			struct config_health *health)
{
	const yaml_node_t *slot[CONFIG_KEYS_MAX];

	if (node->type == YAML_SCALAR_NODE) {
		read_switch(reader, node, health);
		return;
	}
	if (!config_map(reader, node, "health", health_keys, false, slot))
		return;
	config_whole(reader, slot[FAILURES], "failures", 0, FAILURES_MAX, &health->failures);
	config_duration(reader, slot[OUT_FOR], "out_for", &out_range, &health->out_for_ns);
	if (slot[COUNTS] != NULL)
		read_counts(reader, slot[COUNTS], health);
	read_aside(reader, slot, health);
	if (slot[COUNTS] != NULL)
		judge_counts(reader, slot[COUNTS], health);
	config_duration(reader, slot[SLOW_START], "slow_start", &pause_range,
			&health->slow_start_ns);
	if (slot[CHECK] != NULL)
		read_check(reader, slot[CHECK], &health->check);
}

void config_health_free(struct config_health *health)
{
	free(health->check.path);
	free(health->check.host_header);
	free(health->check.port);
}
