/* test_ranker_facts.c - what a plugin says of itself is believed only as far as it can be true: its
 * own code ran where that was written. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ranker_wire.h"

#define OPTION                                                                                     \
	"{\"name\":\"ties\",\"type\":3,\"preset\":\"0\",\"min\":0.0,\"max\":1.0,\"help\":\"h\"}"

/* Facts that are good but for the member that replaces theirs. */
static struct ranker_facts *read_with(const char *key, const char *value, struct err *err)
{
	static const struct {
		const char *key, *value;
	} good[] = {
		{ "kind", "1" },
		{ "name", "\"sorted\"" },
		{ "version", "\"1.0\"" },
		{ "summary", "\"sorts\"" },
		{ "flags", "3" },
		{ "state_tag", "7" },
		{ "shared_words", "256" },
		{ "needs", "[\"jvm_heap_free_bytes\"]" },
		{ "wants", "[\"sessions\"]" },
		{ "columns", "[\"a\",\"b\"]" },
		{ "options", "[" OPTION "]" },
	};
	char text[4096] = "{";

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		const bool is_it = key != NULL && strcmp(key, good[i].key) == 0;
		const size_t used = strlen(text);

		snprintf(text + used, sizeof text - used, "%s\"%s\":%s", i > 0 ? "," : "",
			 good[i].key, is_it ? value : good[i].value);
	}
	strcat(text, "}");
	*err = (struct err){ 0 };
	return ranker_facts_read(text, err);
}

Test(facts, that_are_good_are_taken)
{
	struct err err;
	struct ranker_facts *facts = read_with(NULL, NULL, &err);

	cr_assert_not_null(facts, "%s", err.text);
	cr_expect_eq(facts->kind, PLUGIN_ROUTER);
	cr_expect_str_eq(facts->name, "sorted");
	cr_expect_str_eq(facts->summary, "sorts");
	cr_expect_eq(facts->shared_words, 256u);
	cr_expect_eq(facts->n_columns, 2u);
	cr_expect_str_eq(facts->needs[0], "jvm_heap_free_bytes");
	cr_expect_str_eq(facts->wants[0], "sessions");
	cr_expect_null(facts->wants[1]);
	cr_expect_str_eq(facts->options[0].name, "ties");
	cr_expect_null(facts->options[1].name);
	ranker_facts_free(facts);
}

Test(facts, that_cannot_be_true_are_refused)
{
	static const struct {
		const char *key, *value;
	} bad[] = {
		{ "kind", "0" },
		{ "kind", "3" },
		{ "kind", "\"1\"" },
		{ "name", "\"Not A Name\"" },
		{ "name", "7" },
		{ "flags", "4" },
		{ "shared_words", "257" },
		{ "shared_words", "-1" },
		{ "columns", "[1,2,3,4,5,6,7,8,9]" },
		{ "options", "[{}," OPTION "]" },
		{ "options", "[" OPTION "," OPTION "]" },
		{ "options", "[{\"name\":\"a\",\"type\":8,\"preset\":\"x\",\"help\":\"h\"}]" },
		{ "options", "[{\"name\":\"a\",\"type\":99,\"help\":\"h\"}]" },
		{ "options", "[{\"name\":\"a\",\"type\":2,\"preset\":\"x\",\"help\":\"h\"}]" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err err;

		cr_expect_null(read_with(bad[i].key, bad[i].value, &err), "%s: %s", bad[i].key,
			       bad[i].value);
		cr_expect_eq(err.code, -EBADMSG);
		cr_expect_str_eq(err.text, "the plugin's description could not be read");
	}
}

Test(facts, without_a_summary_have_an_empty_one)
{
	struct err err;
	struct ranker_facts *facts = read_with("summary", "null", &err);

	cr_assert_not_null(facts, "%s", err.text);
	cr_expect_str_eq(facts->summary, "");
	ranker_facts_free(facts);
}
