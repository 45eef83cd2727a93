/* scenario.c - the table of settings, and reading them. */
#include "scenario.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_keys.h"
#include "text.h"

#define KEYS         (sizeof scenario_keys / sizeof *scenario_keys)
#define PERIOD_LEAST 0.001 /* seconds */

/*** Values ***/

static int bad_value(const struct scenario_key *key, const char *value, const char *wanted,
		     struct err *err)
{
	return err_set(err, -EINVAL, "%s: \"%s\" is not %s", key->name, value, wanted);
}

static int bad_range(const struct scenario_key *key, const char *value, struct err *err)
{
	return err_set(err, -EINVAL, "%s: \"%s\" is not within %g .. %g", key->name, value,
		       key->min, key->max);
}

static int set_real(double *to, const struct scenario_key *key, const char *value, struct err *err)
{
	double real;

	if (text_real(value, &real) < 0)
		return bad_value(key, value, "a number", err);
	if (real < key->min || real > key->max)
		return bad_range(key, value, err);
	*to = real;
	return 0;
}

static int set_count(uint32_t *to, const struct scenario_key *key, const char *value,
		     struct err *err)
{
	int64_t num;

	if (key->kind == KEY_SERVER && strcmp(value, "none") == 0) {
		*to = SCENARIO_NOBODY;
		return 0;
	}
	if (text_int(value, &num) < 0)
		return bad_value(key, value,
				 key->kind == KEY_SERVER ? "a server (0 is the first) or \"none\""
							 : "a whole number",
				 err);
	if ((double)num < key->min || (double)num > key->max)
		return bad_range(key, value, err);
	*to = (uint32_t)num;
	return 0;
}

static int set_list(struct scenario_list *to, const struct scenario_key *key, const char *value,
		    struct err *err)
{
	struct scenario_list list = { 0 };
	char word[32];

	for (const char *at = value + strspn(value, " ,"); *at != '\0'; at += strspn(at, " ,")) {
		const size_t len = strcspn(at, " ,");

		if (list.n == SCENARIO_LIST_MAX || len >= sizeof word)
			return bad_value(key, value, "a list of at most 64 numbers", err);
		memcpy(word, at, len);
		word[len] = '\0';
		if (set_real(&list.value[list.n++], key, word, err) < 0)
			return -EINVAL;
		at += len;
	}
	if (list.n == 0)
		return bad_value(key, value, "a list of numbers", err);
	*to = list;
	return 0;
}

static int set_choice(uint32_t *to, const struct scenario_key *key, const char *value,
		      struct err *err)
{
	char all[128] = "";
	size_t len = 0;

	for (uint32_t i = 0; key->choices[i] != NULL; i++) {
		if (strcmp(key->choices[i], value) == 0) {
			*to = i;
			return 0;
		}
		len += (size_t)snprintf(all + len, sizeof all - len, "%s%s", i > 0 ? ", " : "",
					key->choices[i]);
	}
	return err_set(err, -EINVAL, "%s: \"%s\" is none of: %s", key->name, value, all);
}

static int set_text(char *to, const struct scenario_key *key, const char *value, struct err *err)
{
	if (text_copy(to, (size_t)key->max, value))
		return 0;
	return bad_value(key, value, "short enough", err);
}

int scenario_set(struct scenario *scenario, const char *name, const char *value, struct err *err)
{
	const char *names[KEYS + 1] = { NULL };
	const char *near;

	for (size_t i = 0; i < KEYS; i++) {
		const struct scenario_key *key = &scenario_keys[i];
		char *to = (char *)scenario + key->at;

		names[i] = key->name;
		if (strcmp(key->name, name) != 0)
			continue;
		switch (key->kind) {
		case KEY_REAL:
			return set_real((double *)to, key, value, err);
		case KEY_COUNT:
		case KEY_SERVER:
			return set_count((uint32_t *)to, key, value, err);
		case KEY_LIST:
			return set_list((struct scenario_list *)to, key, value, err);
		case KEY_CHOICE:
			return set_choice((uint32_t *)to, key, value, err);
		case KEY_TEXT:
			return set_text(to, key, value, err);
		case KEY_FLAG:
			if (text_bool(value, (bool *)to) < 0)
				return bad_value(key, value, "yes or no", err);
			return 0;
		}
	}
	near = text_nearest(name, names);
	return err_set(err, -EINVAL, "unknown key \"%s\"%s%s%s", name,
		       near != NULL ? ", did you mean \"" : "", near != NULL ? near : "",
		       near != NULL ? "\"?" : "");
}

void scenario_init(struct scenario *scenario)
{
	struct err err;

	*scenario = (struct scenario){ 0 };
	for (size_t i = 0; i < KEYS; i++)
		if (scenario_set(scenario, scenario_keys[i].name, scenario_keys[i].preset, &err) <
		    0) {
			(void)fprintf(stderr, "routesim: default of %s\n", err.text);
			abort();
		}
}

void scenario_fini(struct scenario *scenario)
{
	for (struct scenario_router *router = scenario->routers, *next; router != NULL;
	     router = next) {
		next = router->next;
		free(router);
	}
	for (struct scenario_limit *limit = scenario->limits, *next; limit != NULL; limit = next) {
		next = limit->next;
		free(limit);
	}
	scenario->routers = NULL;
	scenario->limits = NULL;
}

double scenario_stale_after(const struct scenario *scenario)
{
	if (scenario->stale_after > 0)
		return scenario->stale_after;
	return 3 * scenario->interval > 10 ? 3 * scenario->interval : 10;
}

void scenario_help(void)
{
	for (size_t i = 0; i < KEYS; i++)
		printf("%-16s %-12s %s\n", scenario_keys[i].name, scenario_keys[i].preset,
		       scenario_keys[i].help);
}

/* What happens again and again needs some time in between, or a second never ends. */
static int check_periods(const struct scenario *scenario, struct err *err)
{
	const struct {
		const char *key;
		double period;
	} periods[] = {
		{ "check", scenario->check },
		{ "peers", scenario->peers },
		{ "restart_every", scenario->restart_every },
		{ "tick", scenario->tick },
	};

	for (size_t i = 0; i < sizeof periods / sizeof *periods; i++)
		if (periods[i].period > 0 && periods[i].period < PERIOD_LEAST)
			return err_set(err, -EINVAL, "%s is neither 0 (none) nor at least %g",
				       periods[i].key, PERIOD_LEAST);
	return 0;
}

int scenario_check(const struct scenario *scenario, struct err *err)
{
	const struct {
		const char *key;
		uint32_t server;
	} faults[] = {
		{ "slow_server", scenario->slow_server },
		{ "flap_server", scenario->flap_server },
		{ "half_server", scenario->half_server },
		{ "leak_server", scenario->leak_server },
		{ "hole_server", scenario->hole_server },
		{ "gray_server", scenario->gray_server },
		{ "frozen_server", scenario->frozen_server },
	};

	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		if (faults[i].server != SCENARIO_NOBODY && faults[i].server >= scenario->servers)
			return err_set(err, -EINVAL, "%s: there is no server %u, only 0 .. %u",
				       faults[i].key, faults[i].server, scenario->servers - 1);
	if (scenario->medium_share + scenario->big_share > 1)
		return err_set(err, -EINVAL, "medium_share and big_share are above 1 together");
	if (scenario->medium_max_mb <= scenario->medium_min_mb ||
	    scenario->big_max_mb <= scenario->big_min_mb)
		return err_set(err, -EINVAL, "the largest size has to be above the smallest");
	if (scenario->restart_every > 0 &&
	    scenario->restart_every < scenario->restart_down + scenario->restart_drain)
		return err_set(err, -EINVAL,
			       "restart_every is shorter than restart_drain and restart_down");
	return check_periods(scenario, err);
}

/*** Routers ***/

static const char *const blank = " \t";

/* Append "word" and its end to text. */
static bool append(char *text, size_t room, const char *word, size_t len, const char *end)
{
	const size_t at = strlen(text);

	if (at + len + strlen(end) + 1 > room)
		return false;
	memcpy(text + at, word, len);
	memcpy(text + at + len, end, strlen(end) + 1);
	return true;
}

/* "PLUGIN option=value ... / key=value ...", separated by any of these characters. */
static int router_parse(struct scenario_router *router, const char *text, const char *separators,
			struct err *err)
{
	bool is_with = false, fits = true;
	size_t len = strcspn(text, separators);

	if (len == 0 || len >= sizeof router->plugin)
		return err_set(err, -EINVAL, "router: \"%s\" does not begin with a plugin", text);
	memcpy(router->plugin, text, len);
	router->plugin[len] = '\0';
	if (!text_is_plugin_name(router->plugin))
		return err_set(err, -EINVAL, "router: \"%s\" is not the name of a plugin",
			       router->plugin);
	for (text += len; *(text += strspn(text, separators)) != '\0'; text += len) {
		len = strcspn(text, separators);
		if (len == 1 && *text == '/')
			is_with = true;
		else if (memchr(text, '=', len) == NULL)
			return err_set(err, -EINVAL, "router: \"%.*s\" is not name=value", (int)len,
				       text);
		else if (is_with)
			fits = append(router->with, sizeof router->with, text, len, " ") && fits;
		else
			fits = append(router->options, sizeof router->options, text, len, "\n") &&
			       fits;
	}
	return fits ? 0 : err_set(err, -EINVAL, "router: too many settings");
}

/* "LABEL: PLUGIN ..." or "PLUGIN ...". */
static int scenario_add_router(struct scenario *scenario, const char *text, struct err *err)
{
	struct scenario_router **at = &scenario->routers;
	struct scenario_router *router = calloc(1, sizeof *router);
	const char *colon = strchr(text, ':');
	int code;

	if (router == NULL)
		return err_set(err, -ENOMEM, "no memory");
	code = router_parse(router, colon != NULL ? colon + 1 + strspn(colon + 1, blank) : text,
			    blank, err);
	if (code == 0) {
		const size_t len = colon != NULL ? (size_t)(colon - text) : strlen(router->plugin);
		const char *label = colon != NULL ? text : router->plugin;

		if (len == 0 || len >= sizeof router->label || strcspn(label, " \t,") < len)
			code = err_set(err, -EINVAL,
				       "router: a label of 1 to 63 letters, "
				       "without blanks and commas, is wanted");
		else
			memcpy(router->label, label, len);
	}
	while (*at != NULL && strcmp((*at)->label, router->label) != 0)
		at = &(*at)->next;
	if (code == 0 && *at != NULL)
		code = err_set(err, -EINVAL, "router: there are two of label \"%s\"",
			       router->label);
	if (code < 0)
		free(router);
	else
		*at = router;
	return code;
}

static int scenario_add_limit(struct scenario *scenario, const char *text, struct err *err)
{
	struct scenario_limit **at = &scenario->limits;
	struct scenario_limit *limit = calloc(1, sizeof *limit);

	if (limit == NULL || !text_copy(limit->text, sizeof limit->text, text)) {
		free(limit);
		return err_set(err, -EINVAL, "limit: too long");
	}
	while (*at != NULL)
		at = &(*at)->next;
	*at = limit;
	return 0;
}

int scenario_router(const struct scenario *scenario, const char *name,
		    struct scenario_router *router, struct err *err)
{
	char text[sizeof router->options];
	char *plus;

	*router = (struct scenario_router){ 0 };
	for (const struct scenario_router *of = scenario->routers; of != NULL; of = of->next)
		if (strcmp(of->label, name) == 0) {
			*router = *of;
			router->next = NULL;
			return 0;
		}
	if (!text_copy(router->label, sizeof router->label, name) ||
	    !text_copy(text, sizeof text, name))
		return err_set(err, -EINVAL, "%s: too long for a router", name);
	while ((plus = strrchr(text, '+')) != NULL) {
		const bool is_peers = strcmp(plus, "+peers") == 0;

		if (!is_peers && strcmp(plus, "+blind") != 0)
			return err_set(err, -EINVAL, "%s: only +peers and +blind may follow", name);
		append(router->with, sizeof router->with, is_peers ? "peers=0.25" : "report=no",
		       is_peers ? 10 : 9, " ");
		*plus = '\0';
	}
	return router_parse(router, text, ":", err);
}

int scenario_apply(struct scenario *scenario, const struct scenario_router *router, struct err *err)
{
	char word[sizeof router->with];
	char *value;

	for (const char *at = router->with; *at != '\0'; at += strspn(at, blank)) {
		const size_t len = strcspn(at, blank);

		memcpy(word, at, len);
		word[len] = '\0';
		value = strchr(word, '=');
		*value++ = '\0';
		if (scenario_set(scenario, word, value, err) < 0)
			return err_prefix(err, "router %s", router->label);
		at += len;
	}
	return scenario_check(scenario, err);
}

/*** The file ***/

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r\n");
	len = strlen(text);
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

static int scenario_line(struct scenario *scenario, char *line, struct err *err)
{
	char *value;

	line[strcspn(line, "#")] = '\0';
	line = trim(line);
	if (*line == '\0')
		return 0;
	value = strchr(line, '=');
	if (value == NULL || value == line)
		return err_set(err, -EINVAL, "\"%s\" is not \"key = value\"", line);
	*value++ = '\0';
	line = trim(line);
	value = trim(value);
	if (strcmp(line, "router") == 0)
		return scenario_add_router(scenario, value, err);
	if (strcmp(line, "limit") == 0)
		return scenario_add_limit(scenario, value, err);
	return scenario_set(scenario, line, value, err);
}

static void scenario_name(struct scenario *scenario, const char *path)
{
	const char *slash = strrchr(path, '/');

	text_copy(scenario->name, sizeof scenario->name, slash != NULL ? slash + 1 : path);
	scenario->name[strcspn(scenario->name, ".")] = '\0';
}

/* A trace lies beside the scenario. */
static int scenario_find_trace(struct scenario *scenario, const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char name[sizeof scenario->trace];
	int len;

	if (scenario->trace[0] == '\0' || scenario->trace[0] == '/' || slash == NULL)
		return 0;
	memcpy(name, scenario->trace, sizeof name);
	len = snprintf(scenario->trace, sizeof scenario->trace, "%.*s/%s", (int)(slash - path),
		       path, name);
	if (len < 0 || (size_t)len >= sizeof scenario->trace)
		return err_set(err, -ENAMETOOLONG, "%s: its path is too long", name);
	return 0;
}

int scenario_read(struct scenario *scenario, const char *path, struct err *err)
{
	FILE *file = fopen(path, "re");
	char line[1024];
	int code = 0;

	if (file == NULL)
		return err_set(err, -errno, "%s: %s", path, err_words(errno));
	scenario_name(scenario, path);
	for (unsigned n = 1; code == 0 && fgets(line, sizeof line, file) != NULL; n++) {
		if (strlen(line) == sizeof line - 1)
			code = err_set(err, -EINVAL, "the line is too long");
		else if (strchr(line, '\n') == NULL && feof(file) == 0)
			code = err_set(err, -EINVAL, "a byte of 0: this is no text");
		else
			code = scenario_line(scenario, line, err);
		if (code < 0)
			err_prefix(err, "%s:%u", path, n);
	}
	if (code == 0 && ferror(file) != 0)
		code = err_set(err, -errno, "%s: %s", path, err_words(errno));
	(void)fclose(file);
	if (code == 0)
		code = scenario_find_trace(scenario, path, err);
	return code == 0 ? scenario_check(scenario, err) : code;
}
