/* lab_profile.c - from YAML to settings, with the daemon's own parts. */
#include "lab_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_yaml.h"

struct fault {
	char *err;
	size_t len;
};

static void take_fault(void *user, const struct source_place *place, const char *text)
{
	const struct fault *fault = user;

	snprintf(fault->err, fault->len, "%s:%zu:%zu: %s", place->file, place->line, place->column,
		 text);
}

static int lay(struct source_yaml *yaml, const char *keys, struct fault *fault)
{
	yaml_parser_t parser;
	yaml_document_t document;
	int code = -1;

	if (keys == NULL)
		return 0;
	yaml_parser_initialize(&parser);
	yaml_parser_set_input_string(&parser, (const unsigned char *)keys, strlen(keys));
	if (yaml_parser_load(&parser, &document)) {
		code = source_yaml_lay(yaml, "keys", &document,
				       yaml_document_get_root_node(&document),
				       &(struct source_yaml_calls){ NULL, take_fault, fault });
		yaml_document_delete(&document);
	} else {
		snprintf(fault->err, fault->len, "keys: %s", parser.problem);
	}
	yaml_parser_delete(&parser);
	return code;
}

static char *setting(const char *name, char *value)
{
	const size_t len = strlen(name) + strlen(value) + 2;
	char *text = malloc(len);

	if (text == NULL)
		abort();
	snprintf(text, len, "%s=%s", name, value);
	free(value);
	return text;
}

static void fill(struct lab_profile *profile, struct source_yaml *yaml,
		 const struct cr_option *options)
{
	size_t n = 0;
	char *value;

	for (const struct cr_option *o = options; o->name != NULL && n < LAB_SETTINGS_MAX - 1;
	     o++) {
		value = source_yaml_take(yaml, o->name);
		if (value != NULL)
			profile->setting[n++] = setting(o->name, value);
	}
	value = source_yaml_text(yaml);
	if (value == NULL)
		abort();
	profile->setting[n] = setting("source", value);
}

struct lab_profile *lab_profile_new(const struct cr_collector *collector, const char *name,
				    const char *keys, char *err, size_t err_len)
{
	struct lab_profile *profile = calloc(1, sizeof *profile);
	struct source_yaml *yaml = source_yaml_new();
	struct fault fault = { err, err_len };
	char path[512];
	int code = 0;

	if (profile == NULL || yaml == NULL)
		abort();
	err[0] = '\0';
	snprintf(path, sizeof path, "%s/%s.yaml", LAB_PROFILES, name != NULL ? name : "");
	if (name != NULL)
		code = source_yaml_load(yaml, path,
					&(struct source_yaml_calls){ NULL, take_fault, &fault });
	if (code == 0)
		code = lay(yaml, keys, &fault);
	if (code == 0)
		fill(profile, yaml, collector->options);
	source_yaml_free(yaml);
	if (code == 0)
		return profile;
	lab_profile_free(profile);
	return NULL;
}

void lab_profile_free(struct lab_profile *profile)
{
	for (size_t i = 0; i < LAB_SETTINGS_MAX; i++)
		free(profile->setting[i]);
	free(profile);
}
