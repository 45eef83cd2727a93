/* apply.c - make a configuration the one in force, whole or not at all. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "lives.h"
#include "log.h"
#include "plugin.h"
#include "text.h"

/** What a new configuration brings, until it is in force. */
struct coming {
	struct config *config;
	struct roster *roster;
	struct seats *seats;
	struct plugin **plugins; /* loaded collectors; borrowed from their shelves */
	size_t n_plugins;
};

static void coming_free(struct coming *coming)
{
	seats_free(coming->seats);
	roster_free(coming->roster);
	config_free(coming->config);
	free(coming->plugins);
}

/*** Reading ***/

static void apply_log_report(const char *text)
{
	for (const char *line = text, *end; *line != '\0'; line = end + (*end == '\n')) {
		end = strchrnul(line, '\n');
		log_error("configuration mistake", "%.*s", (int)(end - line), line);
	}
}

static int apply_read(struct daemon *daemon, struct config **config, char **text, struct err *err)
{
	const struct config_plugins plugins = { catalogue_options, &daemon->catalogue,
						catalogue_accepts, &daemon->options.profiles,
						catalogue_metrics, catalogue_can_poll };
	struct config_report report = { 0 };
	const int failed = config_read(daemon->options.config_path, &plugins, config, &report);

	catalogue_forget_facts(&daemon->catalogue);
	if (failed == 0)
		return 0;
	err_set(err, failed, "%s: %zu mistake%s, the configuration is not applied",
		daemon->options.config_path, report.n, text_s(report.n));
	if (report.text != NULL && (text == NULL || daemon->config != NULL))
		apply_log_report(report.text);
	if (text != NULL)
		*text = report.text;
	else
		free(report.text);
	return failed;
}

/* Told with each configuration that is applied; status shows them meanwhile. */
static void apply_log_warnings(const struct config *config)
{
	char text[CONFIG_WARNING_LEN];

	for (size_t i = 0; i < config->n_warnings; i++)
		log_warn("configuration warning", "%s",
			 config_warning_show(config, &config->warnings[i], text, sizeof text));
}

/*** Collectors ***/

static bool coming_has_plugin(const struct coming *coming, const char *name)
{
	for (size_t i = 0; i < coming->n_plugins; i++)
		if (strcmp(plugin_name(coming->plugins[i]), name) == 0)
			return true;
	return false;
}

/* Needed before anything can be polled, so not by way of a swap: from the manifest, else from
 * plugins.d. */
static int apply_load_collector(struct daemon *daemon, struct shelf *shelf, struct err *err)
{
	if (shelf->loaded != NULL)
		return 0;
	if (shelf->current == NULL && catalogue_adopt_first(&daemon->catalogue, shelf, err) < 0)
		return err->code;
	return plugin_open(shelf->current->path, shelf->plugin, &shelf->loaded, err);
}

static int apply_load_collectors(struct daemon *daemon, struct coming *coming, struct err *err)
{
	coming->plugins = calloc(coming->config->n_sources + 1, sizeof(struct plugin *));
	if (coming->plugins == NULL)
		return err_set(err, -ENOMEM, "no memory");
	for (size_t i = 0; i < coming->config->n_sources; i++) {
		const struct config_source *source = &coming->config->sources[i];
		struct shelf *shelf;

		if (coming_has_plugin(coming, source->plugin))
			continue;
		shelf = catalogue_shelf(&daemon->catalogue, source->plugin);
		if (shelf == NULL)
			return err_set(err, -ENOMEM, "no memory");
		if (apply_load_collector(daemon, shelf, err) < 0)
			return err_prefix(err, "collector %s", source->plugin);
		coming->plugins[coming->n_plugins++] = shelf->loaded;
	}
	return 0;
}

/*** Seats ***/

static struct seat *seats_same(const struct seats *seats, const struct seat *seat)
{
	for (size_t i = 0; seats != NULL && i < seats->n; i++)
		if (seats->seat[i].is_preset == seat->is_preset &&
		    strcmp(seats->seat[i].service_name, seat->service_name) == 0)
			return &seats->seat[i];
	return NULL;
}

static bool seat_can_move(const struct seat *old, const struct seat *seat)
{
	return old != NULL && old->now != NULL &&
	       strcmp(old->now->generation->plugin, seat->plugin) == 0 &&
	       strcmp(old->now->options, seat->options) == 0;
}

/* The bank that a daemon before us left this seat's words in; another instance gets the seat's
 * other bank. */
static uint32_t apply_inherited_bank(const struct daemon *daemon, const struct seat *seat,
				     uint64_t key, bool *is_same)
{
	const struct image_header *image = daemon->inherited;

	*is_same = false;
	for (uint32_t i = 0; image != NULL && i < image->instance.count; i++) {
		const struct image_instance *instance = &image_instances(image)[i];

		if (instance->shared_bank / 2 != seat_bank(seat) / 2 ||
		    strcmp(image_services(image)[instance->service].name, seat->service_name) != 0)
			continue;
		*is_same = instance->key == key;
		return *is_same ? instance->shared_bank : instance->shared_bank ^ 1;
	}
	return seat_bank(seat);
}

static int apply_fill_seat(struct daemon *daemon, const struct coming *coming, struct seat *seat,
			   struct err *err)
{
	const struct seat *old = seats_same(daemon->seats, seat);
	struct shelf *shelf = catalogue_shelf(&daemon->catalogue, seat->plugin);
	struct counters_service *line =
		counters_service(daemon->counters, coming->roster->service_line[seat->service]);
	bool is_same;
	uint32_t bank;

	if (shelf == NULL)
		return err_set(err, -ENOMEM, "no memory");
	if (shelf->current == NULL)
		return 0; /* a swap puts the first generation there, after its trial */
	bank = apply_inherited_bank(daemon, seat, seat_key(seat, shelf->current->seq), &is_same);
	if (old == NULL && !is_same)
		seat_clear_bank(line, bank);
	seat->now = sitter_new(seat, shelf->current, old != NULL ? old->now : NULL, bank, line);
	if (seat->now == NULL)
		return err_set(err, -ENOMEM, "no memory");
	return sitter_ranks(seat->now) ? sitter_start(seat->now, err) : 0;
}

static int apply_fill_seats(struct daemon *daemon, struct coming *coming, struct err *err)
{
	const struct seats_context *context = &daemon->seats_context;

	coming->seats = seats_new(coming->config, context);
	if (coming->seats == NULL)
		return err_set(err, -ENOMEM, "no memory for the services");
	for (size_t i = 0; i < coming->seats->n; i++) {
		struct seat *seat = &coming->seats->seat[i];

		if (seat->plugin[0] == '\0' || seat_can_move(seats_same(daemon->seats, seat), seat))
			continue;
		if (apply_fill_seat(daemon, coming, seat, err) < 0)
			return err->code;
	}
	return 0;
}

/* Who need not change stays, with its ranker and all that it has learnt; only its rows may be
 * others now. So does who is to be followed by a plugin that has yet to pass its trial. */
static void apply_move_sitters(struct daemon *daemon, struct coming *coming)
{
	for (size_t i = 0; i < coming->seats->n; i++) {
		struct seat *seat = &coming->seats->seat[i];
		struct seat *old = seats_same(daemon->seats, seat);

		if (seat->now != NULL || seat->plugin[0] == '\0' || old == NULL || old->now == NULL)
			continue;
		seat->now = old->now;
		old->now = NULL;
		seat->now->seat = seat;
		seat->now->has_answer = false;
		seat->now->n_order = seat->now->n_columns = 0;
		seat->now->is_late = false;
		seat->now->is_void = seat->now->ranker != NULL && ranker_is_busy(seat->now->ranker);
	}
}

/*** In force ***/

static void apply_commit(struct daemon *daemon, struct coming *coming)
{
	struct coming old = { daemon->config, daemon->roster, daemon->seats, NULL, 0 };
	const struct lives_before before = { daemon->config, daemon->roster, daemon->inherited };

	lives_begin(daemon->counters, coming->config, coming->roster, &before);
	if (daemon->publisher != NULL)
		publisher_reset(daemon->publisher);
	if (daemon->seats != NULL)
		apply_move_sitters(daemon, coming);
	daemon->config = coming->config;
	daemon->roster = coming->roster;
	daemon->seats = coming->seats;
	free(coming->plugins);
	*coming = (struct coming){ 0 };
	coming_free(&old);
}

/* Too little memory for checks is no reason to go on with the old configuration: it is in force. */
static void apply_checks(struct daemon *daemon)
{
	struct err err = { 0 };

	if (checks_apply(daemon->checks, daemon->config, daemon->roster, &err) < 0)
		log_error("checks not changed", "error=\"%s\" remedy=\"reload again\"", err.text);
}

static int apply_prepare(struct daemon *daemon, struct coming *coming, struct err *err)
{
	if (daemon_open_files(daemon, coming->config, err) < 0 ||
	    apply_load_collectors(daemon, coming, err) < 0)
		return err->code;
	coming->roster = roster_new(coming->config, daemon->counters, daemon->roster, err);
	if (coming->roster == NULL || apply_fill_seats(daemon, coming, err) < 0)
		return err->code;
	return poller_apply(daemon->poller, coming->config, coming->plugins, coming->n_plugins,
			    err);
}

int daemon_apply(struct daemon *daemon, char **report, struct err *err)
{
	struct coming coming = { 0 };

	if (apply_read(daemon, &coming.config, report, err) < 0)
		return err->code;
	if (daemon->swap != NULL)
		swap_abort(daemon->swap, "the configuration is being reloaded");
	if (apply_prepare(daemon, &coming, err) < 0 ||
	    servers_configure(daemon->servers, coming.config, err) < 0) {
		coming_free(&coming);
		return err->code;
	}
	apply_commit(daemon, &coming);
	apply_checks(daemon);
	/* Reading 10,000 servers takes tens of megabytes that are not needed again for long. */
	(void)malloc_trim(0);
	log_info("configuration applied", "file=%s servers=%zu services=%zu sources=%zu",
		 daemon->options.config_path, daemon->config->n_servers, daemon->config->n_services,
		 daemon->config->n_sources);
	apply_log_warnings(daemon->config);
	return 0;
}
