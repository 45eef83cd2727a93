/* test_ctl.c - what callrouterctl prints: tables, the page of status, what a terminal is sent. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "ctl_status.h"
#include "ctl_watch.h"
#include "words.h"

/* What was written to a stream. */
struct paper {
	FILE *out;
	char *text;
	size_t len;
};

static struct paper paper;

static FILE *paper_new(void)
{
	paper.out = open_memstream(&paper.text, &paper.len);
	cr_assert_not_null(paper.out);
	return paper.out;
}

#define expect_paper(want_)                                                                        \
	do {                                                                                       \
		fclose(paper.out);                                                                 \
		cr_expect_str_eq(paper.text, want_);                                               \
		free(paper.text);                                                                  \
	} while (0)

static const struct ctl_column columns[] = { { "SERVER", false },
					     { "CALLS", true },
					     { "X", false } };

/*** Tables ***/

Test(ctl, aligns_texts_left_and_numbers_right_without_blanks_at_the_end)
{
	struct ctl_table *table = ctl_table_new(columns, 3);

	ctl_table_add(table, CTL_PLAIN, "ms1");
	ctl_table_addf(table, CTL_PLAIN, "%d", 1234567);
	ctl_table_add(table, CTL_PLAIN, "a");
	ctl_table_add(table, CTL_PLAIN, "a-long-name");
	ctl_table_add(table, CTL_PLAIN, "-");
	ctl_table_add(table, CTL_PLAIN, "");
	cr_expect_eq(ctl_table_print(table, paper_new(), false, 2), 0);
	ctl_table_free(table);
	expect_paper("  SERVER         CALLS  X\n"
		     "  ms1          1234567  a\n"
		     "  a-long-name        -  \n");
}

Test(ctl, counts_letters_and_not_bytes)
{
	struct ctl_table *table = ctl_table_new(columns, 3);

	ctl_table_add(table, CTL_PLAIN, "m\xc3\xbcnchen");
	ctl_table_add(table, CTL_PLAIN, "1");
	ctl_table_add(table, CTL_PLAIN, "x");
	cr_expect_eq(ctl_table_print(table, paper_new(), false, 0), 0);
	ctl_table_free(table);
	expect_paper("SERVER   CALLS  X\n"
		     "m\xc3\xbcnchen      1  x\n");
}

Test(ctl, colours_the_text_and_not_the_blanks)
{
	struct ctl_table *table = ctl_table_new(columns, 3);

	ctl_table_add(table, CTL_GREEN, "ms1");
	ctl_table_add(table, CTL_RED, "5");
	ctl_table_add(table, CTL_PLAIN, "x");
	cr_expect_eq(ctl_table_print(table, paper_new(), true, 0), 0);
	ctl_table_free(table);
	expect_paper("\033[2mSERVER\033[0m  \033[2mCALLS\033[0m  \033[2mX\033[0m\n"
		     "\033[32mms1\033[0m         \033[31m5\033[0m  x\n");
}

Test(ctl, lets_no_text_steer_the_terminal)
{
	struct ctl_table *table = ctl_table_new(columns, 3);

	ctl_table_add(table, CTL_PLAIN, "\033[2Jm\n1\x7f");
	ctl_table_add(table, CTL_PLAIN, "\t");
	ctl_table_add(table, CTL_PLAIN, "x");
	cr_expect_eq(ctl_table_print(table, paper_new(), false, 0), 0);
	ctl_table_free(table);
	expect_paper("SERVER    CALLS  X\n"
		     "?[2Jm?1?      ?  x\n");
}

Test(ctl, uses_no_colours_on_what_is_no_terminal)
{
	FILE *out = tmpfile();

	cr_assert_not_null(out);
	cr_expect_not(ctl_is_coloured(out));
	fclose(out);
	cr_expect_str_eq(ctl_colour(false, CTL_RED), "");
	cr_expect_str_eq(ctl_colour(true, CTL_RED), "\033[31m");
}

/*** Documents ***/

Test(ctl, prints_documents_with_the_digits_that_were_meant)
{
	json_t *document = json_pack("{s:f,s:I}", "age_s", 0.1, "value", (json_int_t)2147483648);

	cr_expect_eq(ctl_print_json(document, paper_new()), CTL_GOOD);
	json_decref(document);
	expect_paper("{\n  \"age_s\": 0.1,\n  \"value\": 2147483648\n}\n");
}

Test(ctl, reads_members_that_are_not_there)
{
	json_t *document = json_pack("{s:s,s:n,s:i}", "name", "ms1", "value", "n", 3);

	cr_expect_str_eq(ctl_text(document, "name"), "ms1");
	cr_expect_str_eq(ctl_text(document, "value"), "-");
	cr_expect_str_eq(ctl_text(NULL, "value"), "-");
	cr_expect(ctl_number(document, "n") == 3);
	cr_expect(ctl_number(document, "value") != ctl_number(document, "value"), "NaN");
	cr_expect_eq(ctl_count_of(document, "n"), 3);
	cr_expect_eq(ctl_count_of(document, "m"), 0);
	json_decref(document);
}

/*** Status ***/

static const char whole[] =
	"{\"cluster\":\"test\",\"daemon\":{\"pid\":4711,\"uptime_s\":90,\"version\":\"1.0.0\"},"
	"\"services\":[{\"name\":\"orders\",\"router\":{\"plugin\":\"heap_free\",\"version\":\"1."
	"2\","
	"\"generation\":7,\"state\":\"active\"},\"default\":\"round_robin\",\"decided\":"
	"{\"router\":970,\"default\":29,\"refused\":1,\"nobody\":0},\"fallback_reasons\":"
	"{\"stale\":29},\"default_decides_now\":null,\"ranked_by\":\"router\",\"stale_after_s\":10,"
	"\"ranking\":[{\"position\":1,\"server\":\"ms2\",\"address\":\"10.0.0.12:7101\",\"state\":"
	"\"up\",\"weight\":3,\"inflight\":12,\"share\":0.75,\"metrics\":{\"jvm_heap_free_bytes\":"
	"{\"value\":1932735283,\"age_s\":1.2,\"fresh\":true},\"jvm_heap_size_bytes\":{\"value\":"
	"2147483648,\"age_s\":1.2,\"fresh\":true}}},{\"position\":2,\"server\":\"ms1\",\"address\":"
	"\"10.0.0.11:7101\",\"state\":\"ejected\",\"weight\":5,\"inflight\":0,\"share\":null,"
	"\"metrics\":{\"jvm_heap_free_bytes\":{\"value\":null,\"age_s\":12.5,\"fresh\":false}}},"
	"{\"position\":3,\"server\":\"ms3\",\"address\":\"10.0.0.13:7101\",\"state\":\"up\","
	"\"weight\":1,\"inflight\":0,\"share\":0,\"metrics\":{}}],"
	"\"not_ranked\":[{\"server\":\"ms4\",\"reason\":\"drained\"},{\"server\":\"ms5\","
	"\"reason\":"
	"\"weight 0\"}]}]}";

static void print_status(const char *text)
{
	json_t *document = json_loads(text, 0, NULL);

	cr_assert_not_null(document);
	cr_expect_eq(ctl_status_print(document, paper_new(), false), 0);
	json_decref(document);
}

Test(ctl, shows_a_service_on_one_page)
{
	print_status(whole);
	expect_paper("test   callrouterd 1.0.0, up 90.0 s, pid 4711\n"
		     "\n"
		     "orders\n"
		     "  router    heap_free 1.2 (generation 7): active\n"
		     "  default   round_robin\n"
		     "  calls     1000: 97.0 % by the router, 2.9 % by the default, 1 refused\n"
		     "  fell back 29: a metric that the router needs has no fresh value\n"
		     "  #  SERVER  STATE    HEAP FREE  HEAP SIZE           AGE  INFLIGHT  SHARE "
		     " WEIGHT  "
		     "ADDRESS\n"
		     "  1  ms2     up         1.8 GiB    2.0 GiB         1.2 s        12   75 % "
		     "      3  "
		     "10.0.0.12:7101\n"
		     "  2  ms1     ejected          -          -  12.5 s stale         0      - "
		     "      5  "
		     "10.0.0.11:7101\n"
		     "  3  ms3     up               -          -             -         0    0 % "
		     "      1  "
		     "10.0.0.13:7101\n"
		     "  not ranked: ms4 (drained), ms5 (weight 0)\n");
}

/*** Health ***/

Test(ctl, shows_a_time_that_is_left_rounded_up)
{
	static const struct {
		double seconds;
		const char *text;
	} table[] = { { 0, "0s" },      { -3, "0s" },       { 0.1, "1s" },    { 59.2, "1m0s" },
		      { 130, "2m10s" }, { 3599.5, "1h0m" }, { 11100, "3h5m" } };
	char text[32];

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		cr_expect_str_eq(ctl_show_left(text, sizeof text, table[i].seconds), table[i].text);
}

Test(ctl, shows_a_servers_state_in_few_words)
{
	static const struct {
		const char *state, *members, *text;
	} table[] = {
		{ "up", "{}", "up" },
		{ "up", "{\"state_for_s\":null,\"failures_in_row\":0,\"slow_start\":null}", "up" },
		{ "up", "{\"slow_start\":0.4}", "up 40 %" },
		{ "up", "{\"failures_in_row\":3,\"slow_start\":0.4}", "up, failed 3" },
		{ "ejected", "{\"state_for_s\":129.5,\"failures_in_row\":0}", "ejected 2m10s" },
		{ "aside", "{\"state_for_s\":1.2}", "aside 2s" },
		{ "trial", "{\"state_for_s\":null,\"failures_in_row\":9}", "trial" },
		{ "down", "{\"state_for_s\":null,\"slow_start\":0.5}", "down" },
		{ "drained", "{\"state_for_s\":129.5}", "drained" },
	};
	static const struct ctl_column title = { "STATE", false };

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct ctl_table *rows = ctl_table_new(&title, 1);
		json_t *members = json_loads(table[i].members, 0, NULL);
		char expected[64];

		ctl_add_state(rows, table[i].state, members);
		cr_expect_eq(ctl_table_print(rows, paper_new(), false, 0), 0);
		(void)snprintf(expected, sizeof expected, "STATE\n%s\n", table[i].text);
		expect_paper(expected);
		ctl_table_free(rows);
		json_decref(members);
	}
}

Test(ctl, shows_the_warnings_of_a_service)
{
	print_status(
		"{\"cluster\":\"test\",\"daemon\":{\"pid\":1,\"uptime_s\":1,\"version\":\"1\"},"
		"\"services\":[{\"name\":\"shop\",\"router\":null,\"default\":\"random\","
		"\"decided\":{},\"fallback_reasons\":{},\"ranking\":[],\"not_ranked\":[],"
		"\"warnings\":[{\"warning\":\"herd\",\"text\":\"ms3 got 50 % of the "
		"calls\"},{\"warning\":\"cluster_full\",\"text\":\"no heap\"}]}],"
		"\"warnings\":[{\"warning\":\"two_sources\",\"text\":\"a and b\"}]}");
	expect_paper("test   callrouterd 1, up 1.0 s, pid 1\n"
		     "  warning   two_sources: a and b\n"
		     "\n"
		     "shop\n"
		     "  router    none: the default decides every call\n"
		     "  default   random\n"
		     "  calls     none yet\n"
		     "  warning   herd: ms3 got 50 % of the calls\n"
		     "  warning   cluster_full: no heap\n"
		     "  no server may be contacted\n");
}

#define FAILS(server_, for_s_, error_)                                                             \
	"{\"server\":\"" server_ "\",\"for_s\":" for_s_ ",\"error\":\"" error_ "\"}"

Test(ctl, says_which_polls_fail_and_why_and_of_many_only_the_first)
{
	print_status(
		"{\"cluster\":\"test\",\"daemon\":{},\"services\":[{\"name\":\"shop\","
		"\"router\":null,"
		"\"default\":\"random\",\"ranking\":[],\"failing\":{\"servers\":7,\"list\":"
		"[" FAILS("ms1", "130", "jvm: auth: wrong\\u001b password") "," FAILS("ms1", "3", "wls: timeout") "," FAILS(
			"ms2", "3", "wls: timeout") "," FAILS("ms3", "2",
							      "wls: timeout") "," FAILS("ms4", "1",
											"wls: "
											"timeou"
											"t") "]}"
											     "}]"
											     "}");
	expect_paper("test   callrouterd -, up -, pid 0\n"
		     "\n"
		     "shop\n"
		     "  router    none: the default decides every call\n"
		     "  default   random\n"
		     "  calls     none yet\n"
		     "  polls     ms1 fails for 2.2 min: jvm: auth: wrong? password\n"
		     "            ms1 fails for 3.0 s: wls: timeout\n"
		     "            ms2 fails for 3.0 s: wls: timeout\n"
		     "            ms3 fails for 2.0 s: wls: timeout\n"
		     "            7 servers in all: see callrouterctl servers\n"
		     "  no server may be contacted\n");
}

Test(ctl, says_why_the_router_does_not_decide_now)
{
	print_status(
		"{\"cluster\":\"test\",\"daemon\":{\"pid\":1,\"uptime_s\":7200,\"version\":"
		"\"1.0.0\"},\"services\":[{\"name\":\"orders\",\"router\":{\"plugin\":\"heap_"
		"free\","
		"\"version\":\"1.2\",\"generation\":7,\"state\":\"waiting for metrics\"},"
		"\"default\":\"round_robin\",\"decided\":{\"router\":0,\"default\":0,\"refused\":0,"
		"\"nobody\":0},\"fallback_reasons\":{},\"default_decides_now\":\"stale\","
		"\"ranked_by\":\"default\",\"stale_after_s\":10,\"ranking\":[],\"not_ranked\":[]},"
		"{\"name\":\"shop\",\"router\":null,\"default\":\"random\",\"decided\":{\"router\":"
		"0,"
		"\"default\":8,\"refused\":0,\"nobody\":2},\"fallback_reasons\":{\"no_router\":8,"
		"\"no_server\":2},\"default_decides_now\":\"no_router\",\"ranked_by\":\"default\","
		"\"stale_after_s\":10,\"ranking\":[],\"not_ranked\":[]}]}");
	expect_paper(
		"test   callrouterd 1.0.0, up 2.0 h, pid 1\n"
		"\n"
		"orders\n"
		"  router    heap_free 1.2 (generation 7): waiting for metrics\n"
		"  now       a metric that the router needs has no fresh value\n"
		"  default   round_robin\n"
		"  calls     none yet\n"
		"  no server may be contacted\n"
		"\n"
		"shop\n"
		"  router    none: the default decides every call\n"
		"  default   random\n"
		"  calls     10: 0.0 % by the router, 80.0 % by the default, 2 without any server\n"
		"  fell back 2: no server of the service may be contacted\n"
		"  no server may be contacted\n");
}

Test(ctl, says_that_a_router_decides_per_call)
{
	print_status(
		"{\"cluster\":\"test\",\"daemon\":{},\"services\":[{\"name\":\"orders\","
		"\"router\":{\"plugin\":\"random\",\"version\":\"1.0\",\"generation\":9,"
		"\"state\":\"per call\"},\"default\":\"round_robin\",\"ranked_by\":\"default\","
		"\"ranking\":[{\"position\":1,\"server\":\"ms1\"}]}]}");
	expect_paper("test   callrouterd -, up -, pid 0\n"
		     "\n"
		     "orders\n"
		     "  router    random 1.0 (generation 9): per call\n"
		     "  default   round_robin\n"
		     "  calls     none yet\n"
		     "  order     the default's: the router chooses anew for each call\n"
		     "  #  SERVER  STATE  HEAP FREE  HEAP SIZE  AGE  INFLIGHT  SHARE  WEIGHT  "
		     "ADDRESS\n"
		     "  1  ms1     -              -          -    -         0      -       0  -\n");
}

Test(ctl, shows_the_routers_columns_before_the_address)
{
	print_status(
		"{\"cluster\":\"test\",\"daemon\":{},\"services\":[{\"name\":\"orders\","
		"\"router\":{\"plugin\":\"headroom\",\"version\":\"1.0\",\"generation\":9,"
		"\"state\":\"active\"},\"default\":\"round_robin\",\"ranked_by\":\"router\","
		"\"ranking\":[{\"position\":1,\"server\":\"ms1\",\"address\":\"h:1\",\"columns\":"
		"{\"price\":0.25,\"free_bytes\":1932735283}},{\"position\":2,\"server\":\"ms2\","
		"\"address\":\"h:2\",\"columns\":{\"price\":null,\"free_bytes\":12}},"
		"{\"position\":3,\"server\":\"ms3\",\"address\":\"h:3\"}]}]}");
	expect_paper(
		"test   callrouterd -, up -, pid 0\n"
		"\n"
		"orders\n"
		"  router    headroom 1.0 (generation 9): active\n"
		"  default   round_robin\n"
		"  calls     none yet\n"
		"  #  SERVER  STATE  HEAP FREE  HEAP SIZE  AGE  INFLIGHT  SHARE  WEIGHT  PRICE  "
		" FREE_BYTES  ADDRESS\n"
		"  1  ms1     -              -          -    -         0      -       0   0.25  "
		"1.93274e+09  h:1\n"
		"  2  ms2     -              -          -    -         0      -       0      -  "
		"         12  h:2\n"
		"  3  ms3     -              -          -    -         0      -       0      -  "
		"          -  h:3\n");
}

/*** The manual ***/

/* Words are one table each: what the manual says of reasons is what the code says. */
Test(ctl, explains_every_reason_in_the_manual_as_on_the_page)
{
	FILE *file = fopen(DOCS_DIR "/callrouterctl.1.scd", "r");
	static char manual[65536];
	char row[256];

	cr_assert_not_null(file);
	manual[fread(manual, 1, sizeof manual - 1, file)] = '\0';
	fclose(file);
	for (int i = CR_REASON_NONE + 1; i < CR_REASON_COUNT; i++) {
		(void)snprintf(row, sizeof row, " *%s*\n:< %s\n", words_reason(i),
			       words_reason_help(i));
		cr_expect_not_null(strstr(manual, row), "%s", row);
	}
}

/*** Watching ***/

Test(ctl, cuts_a_page_to_the_terminals_width_and_height)
{
	ctl_watch_draw(paper_new(), "abcdef\nghi\njkl\nmno\n", 4, 3);
	expect_paper("\033[H"
		     "abcd\033[0m\033[K\r\n"
		     "ghi\033[0m\033[K\r\n"
		     "jkl\033[0m\033[K");
}

Test(ctl, clears_what_is_below_a_short_page)
{
	ctl_watch_draw(paper_new(), "a\n", 80, 24);
	expect_paper("\033[Ha\033[0m\033[K\r\n\033[J");
}

Test(ctl, cuts_no_colour_and_no_letter_in_half)
{
	ctl_watch_draw(paper_new(), "\033[31mab\033[0mc\xc3\xbc\xc3\xbc\n", 4, 9);
	expect_paper("\033[H\033[31mab\033[0mc\xc3\xbc\033[0m\033[K\r\n\033[J");
}
