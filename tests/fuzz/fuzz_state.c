/* fuzz_state.c - JSON that the daemon keeps for itself (manifest.json, operator.json) or gets from
 * the process that looks into a plugin: any bytes. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "manifest.h"
#include "option.h"
#include "ranker_wire.h"
#include "servers_operator.h"

static void expect_file(const struct manifest_file *file)
{
	fuzz_expect(memchr(file->version, '\0', sizeof file->version) != NULL,
		    "a version without an end");
}

static void take_manifest(const void *bytes, size_t len)
{
	struct manifest *manifest = NULL;
	const struct manifest_entry *entry;
	struct err err = { 0 };
	size_t n = 0;

	fuzz_write(MANIFEST_FILE, bytes, len);
	if (manifest_open(fuzz_folder(), &manifest, &err) < 0)
		return;
	entry = manifest_entries(manifest, &n);
	for (size_t i = 0; i < n; i++) {
		fuzz_expect(entry[i].n_refused <= MANIFEST_REFUSED_MAX, "too many refused");
		fuzz_expect(manifest_find(manifest, entry[i].plugin) != NULL, "an entry of nobody");
		expect_file(&entry[i].current);
		expect_file(&entry[i].previous);
	}
	if (n == 1) {
		const struct manifest_file file = { .seq = 7, .digest = 9, .version = "1" };

		(void)manifest_next_seq(manifest, &err);
		(void)manifest_adopt(manifest, "heap_free", false, &file, &err);
		(void)manifest_send_away(manifest, "heap_free", &file, MANIFEST_QUARANTINED, "no",
					 &err);
		fuzz_expect(manifest_refuses(manifest, "heap_free", 9) != NULL,
			    "sent away, and not refused");
	}
	manifest_close(manifest);
}

static void take_wishes(const void *bytes, size_t len)
{
	struct servers_operator *wishes;
	struct servers_wish wish;

	fuzz_write(SERVERS_OPERATOR_FILE, bytes, len);
	wishes = servers_operator_new(fuzz_folder());
	wish = servers_operator_get(wishes, "ms1");
	fuzz_expect(!wish.weight_is_set || wish.weight <= 100, "a weight above 100");
	servers_operator_free(wishes);
}

static void take_facts(const char *text)
{
	struct err err = { 0 };
	struct ranker_facts *facts = ranker_facts_read(text, &err);

	if (facts == NULL) {
		fuzz_expect(err.text[0] != '\0', "unread without a text");
		return;
	}
	fuzz_expect(facts->kind == PLUGIN_ROUTER || facts->kind == PLUGIN_COLLECTOR,
		    "a plugin of no kind");
	fuzz_expect(facts->n_columns <= CR_COLUMNS_MAX &&
			    facts->shared_words <= CR_SHARED_WORDS_MAX,
		    "more than an image holds");
	/* A configuration is checked against this table. */
	fuzz_expect(option_table_check(facts->options, &err) == 0, "an unsound table");
	(void)option_check(facts->options, "min_free", "64MiB", &err);
	ranker_facts_free(facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const uint8_t how = fuzz_byte(&in);
	size_t len;

	if (how % 4 >= 2) {
		char *text = fuzz_text(&in);

		take_facts(text);
		free(text);
	} else {
		void *bytes = fuzz_rest(&in, &len);

		if (how % 4 == 0)
			take_manifest(bytes, len);
		else
			take_wishes(bytes, len);
		free(bytes);
	}
	return 0;
}
