/* commands.c - what callrouterctl can ask for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "daemon.h"
#include "document.h"
#include "health.h"
#include "lives.h"
#include "log.h"
#include "text.h"
#include "words.h"

/** The list of plugins for a report, with the memory that it points into. */
struct inventory {
	struct report_plugin *plugin;
	size_t n;
	struct report_generation (*generation)[3 + MANIFEST_REFUSED_MAX];
	const char *(*used_by)[2 * IMAGE_SERVICES_MAX + 1];
	char (*words)[96]; /* of all used_by lists */
	size_t n_words;
};

static const char *text_member(const json_t *request, const char *key, struct err *err)
{
	const char *text = json_string_value(json_object_get(request, key));

	if (text == NULL)
		err_set(err, -EINVAL, "the request lacks \"%s\"", key);
	return text;
}

/*** plugins ***/

static void generation_add(struct report_generation *list, size_t *n,
			   const struct manifest_file *file, const char *state, const char *note)
{
	struct report_generation *row = &list[*n];

	if (file->seq == 0)
		return;
	row->seq = file->seq != UINT64_MAX ? file->seq : 0;
	text_copy(row->version, sizeof row->version, file->version);
	text_copy(row->state, sizeof row->state, state);
	text_copy(row->note, sizeof row->note, note);
	++*n;
}

static void inventory_add_generations(struct inventory *inventory, const struct daemon *daemon,
				      const struct shelf *shelf)
{
	struct report_generation *list = inventory->generation[inventory->n];
	const struct manifest_entry *entry =
		manifest_find(daemon->catalogue.manifest, shelf->plugin);
	const char *moving = daemon->swap != NULL ? swap_plugin(daemon->swap) : NULL;
	size_t n = 0;

	generation_add(list, &n, &shelf->refused, "refused", shelf->note);
	if (entry != NULL) {
		generation_add(list, &n, &entry->current, "current",
			       shelf->is_gone ? "its file was removed from the plugin directory"
					      : "");
		generation_add(list, &n, &entry->previous, "previous", "");
	}
	for (size_t i = 0; entry != NULL && i < entry->n_refused; i++)
		generation_add(list, &n, &entry->refused[i].file,
			       entry->refused[i].verdict == MANIFEST_ROLLED_BACK ? "rolled back"
										 : "quarantined",
			       entry->refused[i].note);
	if (moving != NULL && strcmp(moving, shelf->plugin) == 0 && n > 0)
		text_copy(list[0].note, sizeof list[0].note, "a swap is under way");
	inventory->plugin[inventory->n].generation = list;
	inventory->plugin[inventory->n].n_generations = n;
}

static void inventory_add_user(struct inventory *inventory, size_t *n, const char *name,
			       const char *what)
{
	char *words = inventory->words[inventory->n_words];

	if (*n == (size_t)2 * IMAGE_SERVICES_MAX)
		return;
	(void)snprintf(words, sizeof inventory->words[0], "%s%s%s", name,
		       what[0] != '\0' ? " " : "", what);
	inventory->used_by[inventory->n][(*n)++] = words;
	inventory->n_words++;
}

static size_t inventory_add_users(struct inventory *inventory, const struct daemon *daemon,
				  const char *plugin)
{
	size_t n = 0;

	for (size_t i = 0; i < daemon->seats->n; i++)
		if (strcmp(daemon->seats->seat[i].plugin, plugin) == 0)
			inventory_add_user(inventory, &n, daemon->seats->seat[i].service_name,
					   daemon->seats->seat[i].is_preset ? "default" : "router");
	for (size_t i = 0; i < daemon->config->n_sources; i++)
		if (strcmp(daemon->config->sources[i].plugin, plugin) == 0)
			inventory_add_user(inventory, &n, daemon->config->sources[i].name, "");
	return n;
}

static void inventory_add(struct inventory *inventory, const struct daemon *daemon,
			  const struct shelf *shelf)
{
	struct report_plugin *row = &inventory->plugin[inventory->n];
	const bool is_collector =
		shelf->current != NULL && shelf->current->facts->kind == PLUGIN_COLLECTOR;

	inventory_add_users(inventory, daemon, shelf->plugin);
	text_copy(row->name, sizeof row->name, shelf->plugin);
	text_copy(row->kind, sizeof row->kind, is_collector ? "collector" : "router");
	text_copy(row->file, sizeof row->file, shelf->is_gone ? "" : shelf->seen.path);
	row->used_by = inventory->used_by[inventory->n];
	inventory_add_generations(inventory, daemon, shelf);
	inventory->n++;
}

static void inventory_free(struct inventory *inventory)
{
	free(inventory->plugin);
	free(inventory->generation);
	free(inventory->used_by);
	free(inventory->words);
}

static int inventory_make(struct inventory *inventory, const struct daemon *daemon)
{
	const struct catalogue *catalogue = &daemon->catalogue;
	const size_t n = catalogue->n + 1;

	*inventory = (struct inventory){
		.plugin = calloc(n, sizeof *inventory->plugin),
		.generation = calloc(n, sizeof *inventory->generation),
		.used_by = calloc(n, sizeof *inventory->used_by),
		.words = calloc(daemon->seats->n + daemon->config->n_sources + 1,
				sizeof *inventory->words),
	};
	if (inventory->plugin == NULL || inventory->generation == NULL ||
	    inventory->used_by == NULL || inventory->words == NULL) {
		inventory_free(inventory);
		return -ENOMEM;
	}
	for (size_t i = 0; i < catalogue->n; i++)
		inventory_add(inventory, daemon, catalogue->shelf[i]);
	return 0;
}

/*** Reading commands ***/

static json_t *run_status(void *arg, const json_t *request, struct control_request *later,
			  struct err *err)
{
	struct daemon *daemon = arg;
	struct report_source source;

	(void)later;
	daemon_describe(daemon, &source);
	return report_status(daemon->report, &source,
			     json_string_value(json_object_get(request, "service")), err);
}

static json_t *run_servers(void *arg, const json_t *request, struct control_request *later,
			   struct err *err)
{
	struct daemon *daemon = arg;
	struct report_source source;
	json_t *answer;

	(void)later;
	(void)request;
	daemon_describe(daemon, &source);
	answer = report_servers(daemon->report, &source);
	if (answer == NULL)
		err_set(err, -ENOMEM, "no memory for the answer");
	return answer;
}

static json_t *run_plugins(void *arg, const json_t *request, struct control_request *later,
			   struct err *err)
{
	struct daemon *daemon = arg;
	struct report_source source;
	struct inventory inventory;
	json_t *answer = NULL;

	(void)later;
	(void)request;
	daemon_describe(daemon, &source);
	if (inventory_make(&inventory, daemon) == 0) {
		source.plugin = inventory.plugin;
		source.n_plugins = inventory.n;
		answer = report_plugins(daemon->report, &source);
		inventory_free(&inventory);
	}
	if (answer == NULL)
		err_set(err, -ENOMEM, "no memory for the answer");
	return answer;
}

/*** Writing commands ***/

static json_t *run_rollback(void *arg, const json_t *request, struct control_request *later,
			    struct err *err)
{
	struct daemon *daemon = arg;
	const char *plugin = text_member(request, "plugin", err);

	if (plugin != NULL && swap_rollback(daemon->swap, plugin, later, err) == 0)
		err->code = 0;
	return NULL;
}

static json_t *run_adopt(void *arg, const json_t *request, struct control_request *later,
			 struct err *err)
{
	struct daemon *daemon = arg;
	const char *file = text_member(request, "file", err);

	if (file != NULL &&
	    swap_adopt(daemon->swap, file, json_is_true(json_object_get(request, "force")), later,
		       err) == 0)
		err->code = 0;
	return NULL;
}

static json_t *lines_of(char *text)
{
	json_t *lines = json_array();

	for (char *end; *text != '\0'; text = end) {
		end = strchrnul(text, '\n');
		json_array_append_new(lines, document_text(text, (size_t)(end - text)));
		end += *end == '\n';
	}
	return lines;
}

static json_t *run_reload(void *arg, const json_t *request, struct control_request *later,
			  struct err *err)
{
	struct daemon *daemon = arg;
	char *report = NULL;
	json_t *answer = NULL;

	(void)request;
	(void)later;
	if (daemon_reload(daemon, &report, err) == 0)
		answer = json_pack("{s:b, s:i, s:i}", "applied", 1, "servers",
				   (int)daemon->config->n_servers, "services",
				   (int)daemon->config->n_services);
	else if (report != NULL)
		answer = json_pack("{s:b, s:o}", "applied", 0, "mistakes", lines_of(report));
	free(report);
	return answer;
}

/* The operator's wish is kept: an answer that it is done must mean that data planes go by it. */
static int publish_wish(struct daemon *daemon, struct err *err)
{
	if (publisher_run_now(daemon->publisher, err) < 0)
		return err_prefix(err, "noted, but not published yet (it is tried again)");
	return 0;
}

/* As published last, NULL: it is not. */
static const struct image_server *find_published(const struct daemon *daemon, const char *name)
{
	const struct image_header *image = publisher_image(daemon->publisher);

	for (size_t i = 0; image != NULL && i < image->server.count; i++)
		if (strcmp(image_servers(image)[i].name, name) == 0)
			return &image_servers(image)[i];
	return NULL;
}

static bool is_drained(const struct daemon *daemon, const char *name)
{
	const struct image_server *server = find_published(daemon, name);

	return server != NULL && (server->flags & IMAGE_DRAINED) != 0;
}

static json_t *run_drain_to(struct daemon *daemon, const json_t *request, bool wants_drain,
			    struct err *err)
{
	const char *server = text_member(request, "server", err);
	const bool was_drained = server != NULL && is_drained(daemon, server);

	if (server == NULL || servers_drain(daemon->servers, server, wants_drain, err) < 0)
		return NULL;
	if (was_drained && !wants_drain)
		lives_undrained(daemon->counters, find_published(daemon, server)->line);
	if (publish_wish(daemon, err) < 0)
		return NULL;
	return json_pack("{s:s, s:b}", "server", server, "drained", (int)wants_drain);
}

static json_t *run_drain(void *arg, const json_t *request, struct control_request *later,
			 struct err *err)
{
	(void)later;
	return run_drain_to(arg, request, true, err);
}

static json_t *run_undrain(void *arg, const json_t *request, struct control_request *later,
			   struct err *err)
{
	(void)later;
	return run_drain_to(arg, request, false, err);
}

/* null takes the operator's weight back: the configuration's counts again. */
static int weight_member(const json_t *request, uint32_t *weight, struct err *err)
{
	const json_t *member = json_object_get(request, "weight");
	const json_int_t number = json_integer_value(member);

	*weight = SERVERS_WEIGHT_UNSET;
	if (json_is_null(member))
		return 0;
	if (!json_is_integer(member) || number < 0 || number > 100)
		return err_set(err, -EINVAL, "a weight is a whole number from 0 to 100, or null");
	*weight = (uint32_t)number;
	return 0;
}

static json_t *run_weight(void *arg, const json_t *request, struct control_request *later,
			  struct err *err)
{
	struct daemon *daemon = arg;
	const char *server = text_member(request, "server", err);
	uint32_t weight;

	(void)later;
	if (server == NULL || weight_member(request, &weight, err) < 0 ||
	    servers_weight(daemon->servers, server, weight, err) < 0 ||
	    publish_wish(daemon, err) < 0)
		return NULL;
	return json_pack("{s:s, s:O}", "server", server, "weight",
			 json_object_get(request, "weight"));
}

/* The configuration's index of a managed server, or < 0 with err. */
static int find_managed(const struct config *config, const char *name, struct err *err)
{
	for (size_t i = 0; i < config->n_servers; i++) {
		if (strcmp(config->servers[i].name, name) != 0)
			continue;
		if (!config->servers[i].is_admin)
			return (int)i;
		return err_set(err, -EINVAL,
			       "%s is an administration server: no call goes there anyway", name);
	}
	return err_set(err, -ENOENT,
		       "no server \"%.80s\" in the configuration; callrouterctl servers lists them",
		       name);
}

/* The operator knows better than calls and checks. */
static json_t *run_restore(void *arg, const json_t *request, struct control_request *later,
			   struct err *err)
{
	struct daemon *daemon = arg;
	const char *server = text_member(request, "server", err);
	const int64_t now = clock_now_ns();
	const int i = server != NULL ? find_managed(daemon->config, server, err) : -1;
	struct counters_line *line;
	enum cr_state was;

	(void)later;
	if (i < 0)
		return NULL;
	line = counters_line(daemon->counters, daemon->roster->server_line[i]);
	was = health_state(line, now);
	checks_restored(daemon->checks, daemon->roster->server_line[i]);
	health_restore(daemon->counters, line, now);
	log_info("server restored by the operator", "name=%s was=%s", server, words_state(was));
	return json_pack("{s:s, s:s, s:b}", "server", server, "was", words_state(was), "drained",
			 (int)is_drained(daemon, server));
}

const struct control_command daemon_commands[] = {
	{ "status", false, run_status },
	{ "servers", false, run_servers },
	{ "plugins", false, run_plugins },
	{ "rollback", true, run_rollback },
	{ "adopt", true, run_adopt },
	{ "reload", true, run_reload },
	{ "drain", true, run_drain },
	{ "undrain", true, run_undrain },
	{ "weight", true, run_weight },
	{ "restore", true, run_restore },
	{ NULL, false, NULL },
};
