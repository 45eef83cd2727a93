/* plugin.c - load a router or collector: every check that can be made before it runs. */
#include "plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "option.h"
#include "text.h"

#define METRICS_MAX 64 /* needs and wants of one router; also ends lists without a NULL */
#define NEWEST_ABI  16 /* up to which majors are looked for, to say what a plugin was built for */

/* What minor 0 of this major had: a plugin's table may not be shorter. */
#define ROUTER_SIZE_MIN    (offsetof(struct cr_router, route) + sizeof(void *))
#define COLLECTOR_SIZE_MIN (offsetof(struct cr_collector, forget) + sizeof(void *))

size_t plugin_count(const char *const *names)
{
	size_t n = 0;

	while (names != NULL && names[n] != NULL)
		n++;
	return n;
}

const char *plugin_metric(const struct cr_router *router, size_t k)
{
	const size_t n_needs = plugin_count(router->needs);

	if (k < n_needs)
		return router->needs[k];
	k -= n_needs;
	return k < plugin_count(router->wants) ? router->wants[k] : NULL;
}

const char *plugin_name(const struct plugin *plugin)
{
	return plugin->kind == PLUGIN_ROUTER ? plugin->router.name : plugin->collector.name;
}

const char *plugin_version(const struct plugin *plugin)
{
	return plugin->kind == PLUGIN_ROUTER ? plugin->router.version : plugin->collector.version;
}

const struct cr_option *plugin_options(const struct plugin *plugin)
{
	return plugin->kind == PLUGIN_ROUTER ? plugin->router.options : plugin->collector.options;
}

/*** Loading ***/

/* The loader's own words, turned into what is to be done. text is "OBJECT: what: detail". */
static int explain_dlopen(const char *path, const char *text, struct err *err)
{
	static const char undefined[] = "undefined symbol: ";
	const char *at = strstr(text, undefined);

	if (at != NULL) {
		at += strlen(undefined);
		return err_set(err, -ENOEXEC,
			       "needs \"%.*s\", which nothing here defines: link the library that "
			       "has it, or define it",
			       (int)strcspn(at, ", "), at);
	}
	if (strstr(text, "cannot open shared object file") != NULL)
		return err_set(err, -ENOEXEC,
			       "needs the library %.*s, which is not here: install it, or build "
			       "the plugin without it",
			       (int)strcspn(text, ":"), text);
	if (strstr(text, "failed to map segment") != NULL)
		return err_set(err, -ENOEXEC,
			       "cannot be mapped from %s: if that file system is mounted noexec, "
			       "choose another --state-dir",
			       path);
	return err_set(err, -ENOEXEC, "cannot be loaded, build it again with cc -shared -fPIC: %s",
		       text);
}

static int load(struct plugin *plugin, const char *label, struct err *err)
{
	const int fd = open(plugin->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO? */
	int r;

	if (fd < 0)
		return err_set(err, -errno, "%s: cannot be read: %s", label, err_words(errno));
	r = plugin_check_elf(fd, label, err);
	close(fd);
	if (r < 0)
		return r;
	/* Never RTLD_GLOBAL: the next generation's calls would land in this one. */
	plugin->handle = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
	if (plugin->handle != NULL)
		return 0;
	/* glibc keeps it per thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	explain_dlopen(plugin->path, dlerror(), err);
	return err_prefix(err, "%s", label);
}

/* No table of our major is there. Was the plugin built for another one? */
static int missing_table(void *handle, struct err *err)
{
	static const char *const kinds[] = { "cr_router", "cr_collector" };
	char symbol[32];

	for (unsigned major = 0; major <= NEWEST_ABI; major++) {
		for (size_t i = 0; i < 2; i++) {
			(void)snprintf(symbol, sizeof symbol, "%s_%u", kinds[i], major);
			if (dlsym(handle, symbol) == NULL)
				continue;
			return err_set(err, -EPROTO,
				       "is built for plugin ABI %u, this callrouter has %u: build "
				       "it again with this callrouter's headers",
				       major, CR_ABI_MAJOR);
		}
	}
	return err_set(err, -EPROTO,
		       "has neither cr_router_1 nor cr_collector_1: define CR_ROUTER or "
		       "CR_COLLECTOR in it");
}

/* Both kinds of table begin with these two words, in every minor. */
static int check_head(const uint32_t *head, size_t size_min, struct err *err)
{
	const uint32_t abi = head[0], size = head[1];

	if (abi >> 16 != CR_ABI_MAJOR || size < size_min)
		return err_set(err, -EPROTO,
			       "its table does not begin with CR_ROUTER_HEAD or CR_COLLECTOR_HEAD: "
			       "add it and build it again");
	if ((abi & 0xffff) > CR_ABI_MINOR)
		return err_set(err, -EPROTO,
			       "is built for plugin ABI %u.%u, this callrouter has %u.%u: build it "
			       "again with this callrouter's headers, or upgrade callrouter",
			       abi >> 16, abi & 0xffff, CR_ABI_MAJOR, CR_ABI_MINOR);
	return 0;
}

static int adopt(struct plugin *plugin, struct err *err)
{
	const void *router = dlsym(plugin->handle, "cr_router_1");
	const void *collector = dlsym(plugin->handle, "cr_collector_1");
	const void *from = router != NULL ? router : collector;
	const size_t size_min = router != NULL ? ROUTER_SIZE_MIN : COLLECTOR_SIZE_MIN;
	const size_t ours = router != NULL ? sizeof plugin->router : sizeof plugin->collector;
	void *to = router != NULL ? (void *)&plugin->router : (void *)&plugin->collector;
	size_t size;

	if (from == NULL)
		return missing_table(plugin->handle, err);
	if (router != NULL && collector != NULL)
		return err_set(err, -EPROTO,
			       "has both cr_router_1 and cr_collector_1: make two plugins of it");
	if (check_head(from, size_min, err) < 0)
		return -EPROTO;
	plugin->kind = router != NULL ? PLUGIN_ROUTER : PLUGIN_COLLECTOR;
	size = ((const uint32_t *)from)[1];
	memcpy(to, from, size < ours ? size : ours);
	return 0;
}

/*** Is the table sound? ***/

static bool is_one_line(const char *text)
{
	return text != NULL && text[strcspn(text, "\r\n")] == '\0';
}

static int check_words(const char *plugin_name, const char *version, const char *summary,
		       struct err *err)
{
	if (plugin_name == NULL || !text_is_plugin_name(plugin_name))
		return err_set(err, -EINVAL,
			       "its .name \"%s\" is not 1 to 31 of a-z, 0-9 and _: change it",
			       plugin_name != NULL ? plugin_name : "");
	if (!is_one_line(version))
		return err_set(err, -EINVAL, "give it a .version of one line");
	if (!is_one_line(summary))
		return err_set(err, -EINVAL, "give it a .summary of one line");
	return 0;
}

/* Metrics and columns: shown, and matched, as jvm_heap_free_bytes is. */
static int check_names(const char *field, const char *const *names, size_t max, struct err *err)
{
	for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
		const size_t len = strspn(names[i], "abcdefghijklmnopqrstuvwxyz0123456789_");

		if (i == max)
			return err_set(err, -EINVAL,
				       ".%s has more than %zu names: remove some, or add the NULL "
				       "at its end",
				       field, max);
		if (len < 1 || len > TEXT_NAME_MAX || names[i][len] != '\0')
			return err_set(err, -EINVAL,
				       ".%s: \"%s\" is not 1 to %d of a-z, 0-9 and _: change it",
				       field, names[i], TEXT_NAME_MAX);
	}
	return 0;
}

static int check_router(const struct cr_router *router, struct err *err)
{
	if (router->rank == NULL && router->route == NULL)
		return err_set(err, -EINVAL, "has neither rank() nor route(): define one");
	if (router->prepare != NULL && router->route == NULL)
		return err_set(err, -EINVAL,
			       "has prepare() without route(), which reads what it makes: define "
			       "it, or leave prepare() out");
	if (router->prepare != NULL && router->release == NULL)
		return err_set(err, -EINVAL,
			       "has prepare() without release(): define it, to free what prepare() "
			       "makes");
	if (router->shared_words > CR_SHARED_WORDS_MAX)
		return err_set(err, -EINVAL, "wants %u .shared_words: %d is the most",
			       router->shared_words, CR_SHARED_WORDS_MAX);
	if (check_names("needs", router->needs, METRICS_MAX, err) < 0 ||
	    check_names("wants", router->wants, METRICS_MAX, err) < 0 ||
	    check_names("columns", router->columns, CR_COLUMNS_MAX, err) < 0)
		return -EINVAL;
	if (plugin_count(router->needs) + plugin_count(router->wants) > METRICS_MAX)
		return err_set(err, -EINVAL,
			       ".needs and .wants have more than %d names together: remove some",
			       METRICS_MAX);
	return 0;
}

static int check_table(const struct plugin *plugin, const char *name, struct err *err)
{
	const bool is_router = plugin->kind == PLUGIN_ROUTER;
	const char *summary = is_router ? plugin->router.summary : plugin->collector.summary;

	if (check_words(plugin_name(plugin), plugin_version(plugin), summary, err) < 0)
		return -EINVAL;
	if (name != NULL && strcmp(name, plugin_name(plugin)) != 0)
		return err_set(err, -EINVAL,
			       "its .name is \"%s\": rename the file to %s.so, or the plugin",
			       plugin_name(plugin), plugin_name(plugin));
	if (is_router && check_router(&plugin->router, err) < 0)
		return -EINVAL;
	if (!is_router && plugin->collector.collect == NULL)
		return err_set(err, -EINVAL, "has no collect(): define it");
	return option_table_check(plugin_options(plugin), err);
}

/* Libraries that collectors use leave thread keys and handlers behind: they stay mapped for good.
 */
static void pin(struct plugin *plugin)
{
	void *again = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);

	if (again != NULL)
		dlclose(again);
}

int plugin_open(const char *path, const char *name, struct plugin **out, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char label[NAME_MAX + 1];
	struct plugin *plugin;
	int r;

	(void)snprintf(label, sizeof label, "%s%s",
		       name != NULL    ? name
		       : slash != NULL ? slash + 1
				       : path,
		       name != NULL ? ".so" : "");
	plugin = calloc(1, sizeof *plugin);
	if (plugin == NULL)
		return err_set(err, -ENOMEM, "%s: no memory", label);
	/* Without a slash dlopen() would search the system's libraries. */
	r = snprintf(plugin->path, sizeof plugin->path, "%s%s", slash != NULL ? "" : "./", path);
	if (r < 0 || (size_t)r >= sizeof plugin->path) {
		r = err_set(err, -ENAMETOOLONG, "%s: its path is too long: move it", label);
		goto free_plugin;
	}
	r = load(plugin, label, err);
	if (r < 0)
		goto free_plugin;
	r = adopt(plugin, err);
	if (r == 0)
		r = check_table(plugin, name, err);
	if (r < 0) {
		err_prefix(err, "%s", label);
		goto unload;
	}
	if (plugin->kind == PLUGIN_COLLECTOR)
		pin(plugin);
	*out = plugin;
	return 0;

unload:
	dlclose(plugin->handle);
free_plugin:
	free(plugin);
	return r;
}

void plugin_close(struct plugin *plugin)
{
	if (plugin == NULL)
		return;
	dlclose(plugin->handle);
	free(plugin);
}

/*** Instances ***/

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

/* Fill out->packed and out->values from the packed options. */
static int parse_options(const struct plugin *plugin, const char *packed,
			 struct plugin_instance *out, struct err *err)
{
	const struct cr_option *table = plugin_options(plugin);
	const size_t max = count_lines(packed);
	struct option_text *given = calloc(max + 1, sizeof *given);
	int n, r = -ENOMEM;

	out->packed = strdup(packed);
	out->values = calloc(option_count(table) + 1, sizeof *out->values);
	if (given == NULL || out->packed == NULL || out->values == NULL) {
		err_set(err, r, "no memory");
		goto free_given;
	}
	n = option_unpack(out->packed, given, max);
	if (n < 0)
		r = err_set(err, n, "its options are not \"name=value\" lines");
	else
		r = option_parse(table, given, (size_t)n, out->values, err);
free_given:
	free(given);
	return r;
}

static int call_open(const struct plugin *plugin, struct cr_open *in, void **self, struct err *err)
{
	int (*const open_fn)(const struct cr_open *, void **) =
		plugin->kind == PLUGIN_ROUTER ? plugin->router.open : plugin->collector.open;
	char text[sizeof err->text] = "";
	int r;

	if (open_fn == NULL)
		return 0;
	in->err = text;
	in->err_len = sizeof text;
	r = open_fn(in, self);
	if (r >= 0)
		return 0;
	text[sizeof text - 1] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return err_set(err, r, "%s", text[0] != '\0' ? text : err_words(r));
}

/* What is handed in is cr_open's own list. NOLINTNEXTLINE(readability-function-size) */
int plugin_instance_open(const struct plugin *plugin, const struct cr_host *host,
			 const char *source, const char *packed, const void *saved,
			 size_t saved_len, struct plugin_instance *out, struct err *err)
{
	struct cr_open in = { .host = host,
			      .source = source,
			      .saved = saved,
			      .saved_len = saved != NULL ? saved_len : 0 };
	int r;

	*out = (struct plugin_instance){ .plugin = plugin };
	r = parse_options(plugin, packed, out, err);
	if (r == 0) {
		in.option = out->values;
		r = call_open(plugin, &in, &out->self, err);
	}
	if (r == 0)
		return 0;
	err_prefix(err, "%s", plugin_name(plugin));
	free(out->values);
	free(out->packed);
	*out = (struct plugin_instance){ 0 };
	return r;
}

void plugin_instance_close(struct plugin_instance *instance)
{
	const struct plugin *plugin = instance->plugin;

	if (plugin == NULL)
		return;
	if (plugin->kind == PLUGIN_ROUTER) {
		if (plugin->router.open != NULL && plugin->router.close != NULL)
			plugin->router.close(instance->self);
	} else if (plugin->collector.open != NULL && plugin->collector.close != NULL) {
		plugin->collector.close(instance->self);
	}
	free(instance->values);
	free(instance->packed);
	*instance = (struct plugin_instance){ 0 };
}
