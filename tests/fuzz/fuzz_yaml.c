/* fuzz_yaml.c - profiles: YAML to the JSON text of a source, and places of its faults. An input may
 * hold a second file, behind a NUL, that is laid over the first. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "source_yaml.h"
#include "sources.h"

static const char *const names[] = { "a.yaml", "b.yaml" };

static void on_yaml_fault(void *user, const struct source_place *place, const char *text)
{
	(void)user;
	fuzz_expect(place->file != NULL, "a fault in no file");
	fuzz_expect(text[0] != '\0', "a fault without a text");
	fuzz_expect_line(text, "a fault is no line");
}

static bool is_other(void *user, const char *key)
{
	(void)user;
	return strcmp(key, "name") == 0 || strcmp(key, "target") == 0;
}

static void on_fault(void *user, const char *pointer, const char *text)
{
	const struct source_place place = source_yaml_place(user, pointer);

	fuzz_expect_line(text, "a fault is no line");
	fuzz_expect(place.line == 0 || place.column >= 1, "a place without a column");
}

static void read_out(struct source_yaml *yaml)
{
	char *json = source_yaml_text(yaml);
	struct source *source = NULL;
	json_t *root = json_loads(json, 0, NULL);

	fuzz_expect(root != NULL, "the text is not JSON");
	json_decref(root);
	(void)source_parse(json, &source, on_fault, yaml);
	source_free(source);
	free(json);
	free(source_yaml_take(yaml, "user"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct source_yaml_calls calls = { is_other, on_yaml_fault, NULL };
	struct source_yaml *yaml = source_yaml_new();
	const size_t len = size > 0 ? strnlen((const char *)data, size) : 0;
	int rc;

	fuzz_write(names[0], data, len);
	rc = source_yaml_load(yaml, fuzz_path(names[0]), &calls);
	if (rc == 0 && len < size) {
		fuzz_write(names[1], data + len + 1, size - len - 1);
		rc = source_yaml_load(yaml, fuzz_path(names[1]), &calls);
	}
	if (rc == 0)
		read_out(yaml);
	source_yaml_free(yaml);
	return 0;
}
