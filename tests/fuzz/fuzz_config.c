/* fuzz_config.c - configuration files of any bytes. What is taken can be used; what is not has a
 * report of whole lines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "fuzz.h"

static const struct cr_option http_table[] = {
	{ "source", CR_TEXT, "", 0, 0, NULL, "what is read" },
	{ "user", CR_TEXT, "", 0, 0, NULL, "who asks" },
	{ "password_file", CR_TEXT, "", 0, 0, NULL, "file with the password" },
	{ "max_inflight", CR_INT, "64", 1, 1024, NULL, "requests at once" },
	{ 0 },
};
static const struct cr_option sorted_table[] = {
	{ "order_by", CR_TEXT, NULL, 0, 0, NULL, "what to compare" },
	{ "ties", CR_RATIO, "1%", 0, 1, NULL, "what is equal" },
	{ 0 },
};

static int find_options(void *arg, bool want_router, const char *plugin,
			const struct cr_option **table, struct err *err)
{
	(void)arg;
	*table = NULL;
	if (!want_router && (strcmp(plugin, "http") == 0 || strcmp(plugin, "snmp") == 0))
		*table = http_table;
	else if (want_router && strcmp(plugin, "sorted") == 0)
		*table = sorted_table;
	else if (!want_router || strcmp(plugin, "round_robin") != 0)
		return err_set(err, -ENOENT, "no plugin \"%s\"", plugin);
	return 0;
}

static int find_metrics(void *arg, const char *router, const char *const **needs,
			const char *const **wants)
{
	static const char *const metrics[] = { "jvm_heap_free_bytes", "busy_threads_ratio", NULL };

	(void)arg;
	*needs = strcmp(router, "sorted") == 0 ? NULL : metrics;
	*wants = metrics;
	return 0;
}

static char profiles_dir[] = FUZZ_PROFILES;
static const struct profiles profiles = { .dir = { profiles_dir }, .n = 1 };
static const struct config_plugins plugins = { .options = find_options,
					       .profiles = &profiles,
					       .metrics = find_metrics };

static void use_sources(const struct config *config)
{
	for (size_t i = 0; i < config->n_sources; i++) {
		const struct config_source *source = &config->sources[i];

		fuzz_expect(source->timeout_ns > 0 && source->timeout_ns <= source->interval_ns,
			    "a timeout that is longer than its interval");
		for (size_t k = 0; k < source->n_servers; k++) {
			char *target;

			fuzz_expect(source->servers[k] < config->n_servers, "a source of nobody");
			target =
				config_expand(source->target, &config->servers[source->servers[k]]);
			fuzz_expect(target != NULL, "a target with an unknown variable");
			free(target);
		}
		free(config_pack(source->options, source->n_options));
	}
}

static void use_warnings(const struct config *config)
{
	char text[CONFIG_WARNING_LEN];

	for (size_t i = 0; i < config->n_warnings; i++) {
		const struct config_warning *warning = &config->warnings[i];

		fuzz_expect(warning->service == CONFIG_NO_SERVICE ||
				    warning->service < config->n_services,
			    "a warning of no service that there is");
		config_warning_show(config, warning, text, sizeof text);
		fuzz_expect(strchr(text, '\n') == NULL, "a warning of several lines");
	}
}

static void use(const struct config *config)
{
	fuzz_expect(config->n_servers > 0 && config->n_services > 0, "nothing to do");
	for (size_t i = 0; i < config->n_servers; i++)
		fuzz_expect(config->servers[i].weight <= 100, "a weight above 100");
	use_sources(config);
	use_warnings(config);
	for (size_t i = 0; i < config->n_services; i++) {
		const struct config_service *service = &config->services[i];

		fuzz_expect(service->preset.plugin != NULL, "a service without a default");
		for (size_t k = 0; k < service->n_servers; k++)
			fuzz_expect(service->servers[k] < config->n_servers &&
					    !config->servers[service->servers[k]].is_admin,
				    "a service with a server that is none");
		free(config_pack(service->router.options, service->router.n_options));
	}
}

static void expect_report(const struct config_report *report)
{
	size_t n = 0;

	fuzz_expect(report->n > 0 && report->text != NULL, "refused without a mistake");
	for (const char *at = report->text; *at != '\0'; at++) {
		fuzz_expect((unsigned char)*at >= ' ' || *at == '\n', "a report that is no text");
		n += *at == '\n';
	}
	fuzz_expect(n >= (report->n < 500 ? report->n : 500), "fewer lines than mistakes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_report report = { 0 };
	struct config *config = NULL;
	int rc;

	fuzz_write("c.yaml", data, size);
	rc = config_read(fuzz_path("c.yaml"), &plugins, &config, &report);
	fuzz_expect((rc == 0) == (config != NULL), "a configuration, or not");
	if (rc == 0)
		use(config);
	else
		expect_report(&report);
	config_free(config);
	free(report.text);
	return 0;
}
