/* test_warnings.c - when a herd and a full cluster are warned of, and when not. */
#include "warnings.h"

#include "kept_log.h"
#include "report_fixture.h"
#include "sawtooth.h"

static struct warnings *warnings;

static void begin(void)
{
	set_up();
	keep_log(CR_WARN);
	warnings = warnings_new();
	cr_assert_not_null(warnings);
}

static void end(void)
{
	config_service[0].full_at = 0;
	warnings_free(warnings);
	tear_down();
}

TestSuite(warnings, .init = begin, .fini = end);

/* Half a second with so many calls of ms1, ms2, ms3. */
static void half_second(uint64_t ms1, uint64_t ms2, uint64_t ms3)
{
	line_of(MS1)->calls += ms1;
	line_of(MS2)->calls += ms2;
	line_of(MS3)->calls += ms3;
	source.now_ns += 500 * CLOCK_MS;
	warnings_tick(warnings, &source);
}

static const char *said_of(size_t service)
{
	return text_of(warnings_document(warnings, image_service_at(service), source.now_ns));
}

#define HERD                                                                                       \
	"[{\"warning\":\"herd\",\"text\":\"ms3 got 50 % of the calls, its weight is 11 % of "      \
	"all\","                                                                                   \
	"\"server\":\"ms3\",\"share\":0.5,\"fair_share\":0.111111111111111}]"

Test(warnings, a_server_with_over_three_times_its_share_for_two_seconds_is_a_herd)
{
	half_second(0, 0, 0);
	for (int i = 0; i < 3; i++)
		half_second(10, 5, 15);
	cr_expect_str_eq(said_of(0), "[]", "not for two seconds yet");
	half_second(10, 5, 15);
	cr_expect_str_eq(said_of(0), HERD);
	cr_expect_str_eq(said_of(1), "[]", "the other service does not have it");
}

Test(warnings, shares_as_the_weights_say_are_no_herd)
{
	for (int i = 0; i < 8; i++)
		half_second(50, 30, 10);
	cr_expect_str_eq(said_of(0), "[]");
}

Test(warnings, exactly_three_times_the_share_is_no_herd)
{
	for (int i = 0; i < 8; i++)
		half_second(40, 20, 30);
	cr_expect_str_eq(said_of(0), "[]");
}

Test(warnings, too_few_calls_tell_nothing)
{
	for (int i = 0; i < 8; i++)
		half_second(0, 0, 12); /* 48 in two seconds */
	cr_expect_str_eq(said_of(0), "[]");
	half_second(0, 0, 14);
	cr_expect_str_neq(said_of(0), "[]");
}

/* Of a thousand servers one always gets four times its share of few calls. */
Test(warnings, what_chance_gives_to_one_of_many_servers_is_no_herd)
{
	image_server_at(MS1)->weight = image_server_at(MS2)->weight = 100;
	for (int i = 0; i < 8; i++)
		half_second(99, 99, 4); /* eight calls a second where two are its share */
	cr_expect_str_eq(said_of(0), "[]");
	for (int i = 0; i < 8; i++)
		half_second(12, 12, 2); /* four where it is none or one */
	cr_expect_str_eq(said_of(0), "[]");
	for (int i = 0; i < 8; i++)
		half_second(147, 147, 6); /* twelve where three are */
	cr_expect_str_eq(said_of(0), "[]");
	for (int i = 0; i < 8; i++)
		half_second(990, 990, 35); /* 3.5 times: in so many calls that is no chance */
	cr_expect_str_neq(said_of(0), "[]");
	cr_expect_not_null(strstr(logged, " % of the calls, its weight is 0.50 % of "
					  "all"),
			   "%s", logged);
}

Test(warnings, one_burst_is_no_herd)
{
	for (int i = 0; i < 8; i++)
		half_second(5, 3, i == 4 ? 500 : 1);
	cr_expect_str_eq(said_of(0), "[]");
}

Test(warnings, who_carries_on_while_others_are_out_is_no_herd)
{
	line_of(MS1)->down_until_ns = line_of(MS2)->down_until_ns = source.now_ns + 60 * CLOCK_S;
	for (int i = 0; i < 8; i++)
		half_second(0, 0, 100);
	cr_expect_str_eq(said_of(0), "[]");
}

Test(warnings, a_herd_is_shown_for_ten_seconds_after_it_ended_and_logged_once_a_minute)
{
	for (int i = 0; i < 100; i++)
		half_second(10, 5, 15);
	cr_expect_str_eq(logged, "herd service=orders server=ms3 what=\"ms3 got 50 % of the calls, "
				 "its weight is 11 % of all\"\n");
	for (int i = 0; i < 18; i++)
		half_second(10, 5, 1);
	cr_expect_str_neq(said_of(0), "[]");
	for (int i = 0; i < 8; i++)
		half_second(10, 5, 1);
	cr_expect_str_eq(said_of(0), "[]");
	logged[0] = '\0';
	for (int i = 0; i < 8; i++)
		half_second(10, 5, 15);
	cr_expect_str_neq(logged, "", "over a minute later it is told again");
}

Test(warnings, a_line_that_went_to_another_server_starts_afresh)
{
	for (int i = 0; i < 3; i++)
		half_second(10, 5, 15);
	image_server_at(MS3)->incarnation = ++line_of(MS3)->incarnation;
	for (int i = 0; i < 4; i++)
		half_second(10, 5, 15);
	cr_expect_str_eq(said_of(0), "[]");
}

/*** Full ***/

static char heap_bytes[] = "heap_bytes", live_bytes[] = "live_bytes";
static char *column_names[] = { heap_bytes, live_bytes, NULL };

static char *const *names(const void *arg, size_t service, uint64_t seq)
{
	(void)arg;
	cr_expect_eq(seq, (uint64_t)HEAP_FREE_SEQ);
	return service == 0 ? column_names : NULL;
}

/* Every server of orders has a heap of 1000, and keeps so much. */
static void set_columns(double ms1, double ms2, double ms3)
{
	const double column[] = { 1000, 1000, 1000, 1000, ms1, ms2, ms3, 0 };

	image_service_at(0)->router.n_columns = 2;
	memcpy(image_edit(image, image->column), column, sizeof column);
	source.columns = names;
}

#define FULL_OF_HEAP                                                                               \
	"[{\"warning\":\"cluster_full\",\"text\":\"no server has heap left for more than its "     \
	"calls "                                                                                   \
	"in progress\",\"reason\":\"heap\",\"calls_per_weight\":0}]"

Test(warnings, a_cluster_is_full_when_no_server_has_heap_left)
{
	set_columns(900, 900, 900);
	line_of(MS1)->live.inflight_bytes = line_of(MS2)->live.inflight_bytes = 101;
	line_of(MS3)->live.inflight_bytes = 100;
	half_second(0, 0, 0);
	half_second(0, 0, 0);
	cr_expect_str_eq(said_of(0), "[]", "ms3 has room for nothing, but not less");
	line_of(MS3)->live.inflight_bytes = 101;
	half_second(0, 0, 0);
	cr_expect_str_eq(said_of(0), "[]", "a moment is not enough");
	half_second(0, 0, 0);
	cr_expect_str_eq(said_of(0), FULL_OF_HEAP);
	cr_expect_str_eq(said_of(1), "[]");
	cr_expect_str_eq(logged, "cluster full service=orders what=\"no server has heap left for "
				 "more than its calls in progress\"\n");
}

Test(warnings, a_heap_that_nobody_knows_is_not_full)
{
	set_columns(2000, 2000, (double)NAN);
	for (int i = 0; i < 4; i++)
		half_second(0, 0, 0);
	cr_expect_str_eq(said_of(0), "[]");
}

Test(warnings, a_router_without_these_columns_is_never_full_of_heap)
{
	for (int i = 0; i < 4; i++)
		half_second(0, 0, 0);
	cr_expect_str_eq(said_of(0), "[]");
}

Test(warnings, a_cluster_is_full_above_the_limit_of_calls_in_progress)
{
	/* weights 5, 3 and 1: 90 calls are 10 per weight; ms4 is drained */
	line_of(MS1)->live.inflight = 60;
	line_of(MS2)->live.inflight = 30;
	line_of(MS4)->live.inflight = 1000;
	config_service[0].full_at = 10;
	half_second(0, 0, 0);
	half_second(0, 0, 0);
	cr_expect_str_eq(said_of(0), "[]");
	line_of(MS3)->live.inflight = 9;
	half_second(0, 0, 0);
	half_second(0, 0, 0);
	cr_expect_str_eq(said_of(0),
			 "[{\"warning\":\"cluster_full\",\"text\":\"11.0 calls in progress per "
			 "weight, the limit full_at is 10\",\"reason\":\"calls\","
			 "\"calls_per_weight\":11}]");
}

Test(warnings, without_a_limit_no_number_of_calls_is_too_many)
{
	line_of(MS1)->live.inflight = 1000000;
	for (int i = 0; i < 4; i++)
		half_second(0, 0, 0);
	cr_expect_str_eq(said_of(0), "[]");
}

/*** Unsteady ***/

static char free_heap[] = "jvm_heap_free_bytes";
static struct config_smooth smoothing = { .metric = free_heap,
					  .window_ns = 10 * CLOCK_S,
					  .band = 0.1 };

/* Orders has ms1, ms2 and ms3 by what is free. */
static void begin_ranking(void)
{
	begin();
	config_service[0].router.ranks_by = free_heap;
}

static void end_ranking(void)
{
	config_service[0].router.ranks_by = NULL;
	config_service[0].smooth = NULL;
	config_service[0].n_smooth = 0;
	end();
}

TestSuite(unsteady, .init = begin_ranking, .fini = end_ranking);

static void set_free(size_t server, double value)
{
	((double *)image_edit(image, image->value))[FREE * 4 + server] = value;
}

/* The router's order begins with this server. */
static void put_first(uint16_t server)
{
	uint16_t *order = image_edit(image, image->order);

	for (uint16_t i = 0, row = 0; i < 3; i++)
		order[i] = i == 0 ? server : row++ == server ? row++ : (uint16_t)(row - 1);
}

/* The servers with this much free, the fullest of them first, for half a second. */
static void rank_by(double ms1, double ms2, double ms3)
{
	set_free(MS1, ms1);
	set_free(MS2, ms2);
	set_free(MS3, ms3);
	put_first(ms1 >= ms2 && ms1 >= ms3 ? MS1 : ms2 >= ms3 ? MS2 : MS3);
	half_second(0, 0, 0);
}

/* Two equal servers live the recorded life of a Tomcat for a minute, one 0.9 s behind the other;
 * the third has nothing. */
static void live_a_minute(void)
{
	struct sawtooth_point trace[128];
	const size_t n = sawtooth_read(trace, 128);

	for (int64_t t_ns = 0; t_ns < 60 * CLOCK_S; t_ns += 500 * CLOCK_MS) {
		double value[2];

		for (size_t i = 0; i < 2; i++) {
			const int64_t at_ns =
				(t_ns + (int64_t)i * 900 * CLOCK_MS) % trace[n - 1].t_ns;
			size_t k = 0;

			while (k + 1 < n && trace[k + 1].t_ns <= at_ns)
				k++;
			value[i] = trace[k].free;
		}
		rank_by(value[0], value[1], 0);
	}
}

#define UNSTEADY_TEXT(n)                                                                           \
	"the first place changed " n                                                               \
	" times in the last minute; smooth: [jvm_heap_free_bytes] in "                             \
	"service orders steadies it"

Test(unsteady, is_what_the_recorded_sawtooth_makes_of_equal_servers)
{
	live_a_minute();
	cr_expect_str_eq(said_of(0),
			 "[{\"warning\":\"unsteady\",\"text\":\"" UNSTEADY_TEXT(
				 "59") "\",\"changes\":59,\"metric\":\"jvm_heap_free_bytes\"}]");
	cr_expect_str_eq(said_of(1), "[]");
	cr_expect_str_eq(logged, "unsteady service=orders what=\"" UNSTEADY_TEXT("10") "\"\n");
}

Test(unsteady, is_nothing_that_is_smoothed)
{
	config_service[0].smooth = &smoothing;
	config_service[0].n_smooth = 1;
	live_a_minute();
	cr_expect_str_eq(said_of(0), "[]");
	cr_expect_str_eq(logged, "");
}

Test(unsteady, is_over_at_once_when_it_is_smoothed)
{
	live_a_minute();
	config_service[0].smooth = &smoothing;
	config_service[0].n_smooth = 1;
	half_second(0, 0, 0);
	cr_expect_str_eq(said_of(0), "[]");
	config_service[0].n_smooth = 0;
	half_second(0, 0, 0);
	cr_expect_str_eq(said_of(0), "[]", "and counted anew when it is no longer");
}

Test(unsteady, is_ten_changes_in_a_minute_but_not_nine)
{
	for (int i = 0; i < 10; i++) {
		rank_by(i % 2 == 0 ? 2 : 0, 1, 0);
		for (int k = 0; k < 9; k++)
			half_second(0, 0, 0); /* five seconds each */
	}
	cr_expect_str_eq(said_of(0), "[]");
	rank_by(2, 1, 0);
	cr_expect_str_neq(said_of(0), "[]");
	for (int i = 0; i < 60; i++)
		half_second(0, 0, 0);
	cr_expect_str_eq(said_of(0), "[]", "30 s later the oldest ones are forgotten");
}

Test(unsteady, is_no_ranking_whose_equal_servers_take_turns)
{
	set_free(MS1, 100);
	set_free(MS2, 100);
	set_free(MS3, 100);
	for (uint16_t i = 0; i < 100; i++) {
		put_first(i % 3);
		half_second(0, 0, 0);
	}
	cr_expect_str_eq(said_of(0), "[]");
}

/* It is not the figure that moved them. */
Test(unsteady, is_no_ranking_whose_first_server_leaves_and_comes_back)
{
	set_free(MS1, 300);
	set_free(MS2, 200);
	set_free(MS3, 100);
	for (uint16_t i = 0; i < 100; i++) {
		put_first(i % 2 == 0 ? MS1 : MS2);
		half_second(0, 0, 0);
	}
	cr_expect_str_eq(said_of(0), "[]");
	set_free(MS1, (double)NAN);
	for (uint16_t i = 0; i < 100; i++)
		rank_by(i % 2 == 0 ? (double)NAN : 300, 200, 100);
	cr_expect_str_eq(said_of(0), "[]", "nor one that is not known for a while");
}

Test(unsteady, is_no_router_that_chooses_for_each_call_or_ranks_by_something_else)
{
	image_instance_at(0)->flags = IMAGE_HAS_RANK | IMAGE_HAS_ROUTE;
	live_a_minute();
	cr_expect_str_eq(said_of(0), "[]");
	image_instance_at(0)->flags = IMAGE_HAS_RANK;
	config_service[0].router.ranks_by = NULL;
	live_a_minute();
	cr_expect_str_eq(said_of(0), "[]");
}

Test(unsteady, is_looked_at_anew_when_a_service_has_other_servers)
{
	for (int i = 0; i < 40; i++) {
		rank_by(i % 2 == 0 ? 2 : 0, 1, 0);
		image_service_at(0)->n_rows = i % 2 == 0 ? 3 : 4;
	}
	cr_expect_str_eq(said_of(0), "[]");
}
