/* test_seats.c - seats, who sits there, and what they say. */
#include "daemon_scene.h"

Test(seats, there_are_two_for_each_service)
{
	struct daemon_scene scene;
	const struct seat *seat;

	daemon_scene_open(&scene);
	seat = scene.seats->seat;
	cr_assert_eq(scene.seats->n, 6u);
	cr_expect_str_eq(seat[ORDERS_ROUTER].service_name, "orders");
	cr_expect(!seat[ORDERS_ROUTER].is_preset);
	cr_expect_str_eq(seat[ORDERS_ROUTER].plugin, "most");
	cr_expect_str_eq(seat[ORDERS_ROUTER].options, "share=2\n");
	cr_expect_eq(seat[ORDERS_ROUTER].n_rows, 3u);
	cr_expect_str_eq(seat[STOCK_ROUTER].plugin, "", "it has no router");
	cr_expect(seat[STOCK_DEFAULT].is_preset);
	cr_expect_str_eq(seat[STOCK_DEFAULT].options, "");
	cr_expect_eq(seat[STOCK_DEFAULT].service, 1u);
	cr_expect_eq(seat_bank(&seat[ORDERS_ROUTER]), 0u);
	cr_expect_eq(seat_bank(&seat[ORDERS_DEFAULT]), 2u);
	daemon_scene_close(&scene);
}

Test(seats, a_key_stands_for_file_service_side_and_options)
{
	struct daemon_scene scene;
	struct seat *seat;
	uint64_t key;

	daemon_scene_open(&scene);
	seat = scene.seats->seat;
	key = seat_key(&seat[NEWS_ROUTER], 7);
	cr_expect_eq(seat_key(&seat[NEWS_ROUTER], 7), key);
	cr_expect_neq(seat_key(&seat[NEWS_ROUTER], 8), key);
	cr_expect_neq(seat_key(&seat[NEWS_DEFAULT], 7), key);
	cr_expect_neq(seat_key(&seat[ORDERS_DEFAULT], 7), seat_key(&seat[NEWS_DEFAULT], 7));
	cr_expect_neq(seat_key(&seat[ORDERS_ROUTER], 7), key);
	cr_expect_neq(key, 0u);
	daemon_scene_close(&scene);
}

/*** Succession ***/

static struct sitter *with_saved(struct sitter *sitter)
{
	sitter->saved = malloc(4);
	memcpy(sitter->saved, "abcd", 4);
	sitter->saved_len = 4;
	return sitter;
}

Test(seats, a_successor_of_the_same_layout_goes_on_with_words_and_saved_bytes)
{
	struct daemon_scene scene;
	struct counters_service *line;
	struct sitter *before, *next;
	struct seat *seat;

	daemon_scene_open(&scene);
	line = counters_service(scene.counters, 0);
	seat = &scene.seats->seat[ORDERS_ROUTER];
	before = with_saved(scene_seat(&scene, ORDERS_ROUTER, scene.most));
	line->shared[0][5] = 99;
	next = sitter_new(seat, scene.most, before, 3, line);
	cr_expect_eq(next->bank, 0u);
	cr_expect_eq(line->shared[0][5], 99u);
	cr_assert_eq(next->saved_len, 4u);
	cr_expect_arr_eq(next->saved, "abcd", 4);
	cr_expect_eq(next->key, before->key);
	sitter_free(next);
	daemon_scene_close(&scene);
}

Test(seats, a_successor_of_another_layout_gets_the_other_bank_empty_and_no_bytes)
{
	struct daemon_scene scene;
	struct counters_service *line;
	struct sitter *before, *next;
	struct seat *seat;

	daemon_scene_open(&scene);
	line = counters_service(scene.counters, 0);
	seat = &scene.seats->seat[ORDERS_ROUTER];
	before = with_saved(scene_seat(&scene, ORDERS_ROUTER, scene.most));
	line->shared[0][5] = 99;
	line->shared[1][5] = 77;
	line->shared[2][5] = 55;
	scene.turns->facts->state_tag = 2;
	next = sitter_new(seat, scene.turns, before, 0, line);
	cr_expect_eq(next->bank, 1u);
	cr_expect_eq(line->shared[0][5], 99u, "calls in progress may still use it");
	cr_expect_eq(line->shared[1][5], 0u);
	cr_expect_eq(line->shared[2][5], 55u, "the default's");
	cr_expect_eq(next->saved_len, 0u);
	sitter_free(next);
	/* the same tag of another plugin is no promise either */
	scene.turns->facts->state_tag = 1;
	next = sitter_new(seat, scene.turns, before, 0, line);
	cr_expect_eq(next->bank, 1u);
	sitter_free(next);
	daemon_scene_close(&scene);
}

Test(seats, a_first_sitter_takes_the_bank_as_it_is)
{
	struct daemon_scene scene;
	struct counters_service *line;
	struct sitter *sitter;

	daemon_scene_open(&scene);
	line = counters_service(scene.counters, 0);
	line->shared[1][5] = 77;
	sitter = sitter_new(&scene.seats->seat[ORDERS_ROUTER], scene.most, NULL, 1, line);
	cr_expect_eq(sitter->bank, 1u);
	cr_expect_eq(line->shared[1][5], 77u);
	cr_expect_eq(scene.most->refs, 2u);
	sitter_free(sitter);
	cr_expect_eq(scene.most->refs, 1u);
	seat_clear_bank(line, 1);
	cr_expect_eq(line->shared[1][5], 0u);
	daemon_scene_close(&scene);
}

/*** Answers ***/

Test(seats, an_answer_is_taken_only_if_it_is_good)
{
	static const struct {
		const char *what;
		int32_t verdict;
		uint16_t order[4];
		uint32_t n_rows;
		enum cr_reason reason;
	} cases[] = {
		{ "all rows", 3, { 2, 0, 1 }, 3, CR_REASON_NONE },
		{ "one row", 1, { 2 }, 3, CR_REASON_NONE },
		{ "default", CR_DEFAULT, { 0 }, 3, CR_REASON_NONE },
		{ "refused", CR_REFUSE, { 0 }, 3, CR_REASON_NONE },
		{ "an error", -EIO, { 0 }, 3, CR_REASON_RANK_ERROR },
		{ "nothing usable of the ranker's", -EBADMSG, { 0 }, 0, CR_REASON_RANK_ERROR },
		{ "another number of rows", 1, { 0 }, 2, CR_REASON_RANK_BAD_ORDER },
		{ "the same, and default", CR_DEFAULT, { 0 }, 64, CR_REASON_RANK_BAD_ORDER },
		{ "the same, and refused", CR_REFUSE, { 0 }, 0, CR_REASON_RANK_BAD_ORDER },
		{ "a row that is not there", 2, { 0, 3 }, 3, CR_REASON_RANK_BAD_ORDER },
		{ "a row twice", 2, { 2, 2 }, 3, CR_REASON_RANK_BAD_ORDER },
	};
	const uint8_t usable[] = { 1, 1, 1 };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct daemon_scene scene;
		struct sitter *sitter;

		daemon_scene_open(&scene);
		sitter = scene_seat(&scene, ORDERS_ROUTER, scene.most);
		fake_ranker_answers(sitter->ranker, cases[i].verdict, cases[i].order,
				    cases[i].n_rows);
		cr_expect_eq(scene.sitter, sitter);
		cr_expect_eq(scene.event, RANKER_RANKED);
		sitter_take_answer(sitter, usable);
		cr_expect(sitter->has_answer);
		cr_expect_eq(sitter->reason, cases[i].reason, "%s", cases[i].what);
		cr_expect_eq(sitter->verdict, cases[i].verdict, "%s", cases[i].what);
		if (cases[i].reason == CR_REASON_NONE && cases[i].verdict > 0)
			cr_expect_arr_eq(sitter->order, cases[i].order,
					 sizeof(uint16_t) * (size_t)cases[i].verdict);
		daemon_scene_close(&scene);
	}
}

Test(seats, a_row_that_was_not_offered_makes_an_order_bad)
{
	struct daemon_scene scene;
	struct sitter *sitter;

	daemon_scene_open(&scene);
	sitter = scene_seat(&scene, ORDERS_ROUTER, scene.most);
	fake_ranker_answers(sitter->ranker, 2, (const uint16_t[]){ 0, 1 }, 3);
	sitter_take_answer(sitter, (const uint8_t[]){ 1, 0, 1 });
	cr_expect_eq(sitter->reason, CR_REASON_RANK_BAD_ORDER);
	daemon_scene_close(&scene);
}

Test(seats, a_bad_answer_leaves_the_last_good_order_and_columns_alone)
{
	const uint8_t usable[] = { 1, 1, 1 };
	struct daemon_scene scene;
	struct sitter *sitter;

	daemon_scene_open(&scene);
	sitter = scene_seat(&scene, ORDERS_ROUTER, scene.most);
	sitter->ranker->answer.n_columns = 1;
	memcpy(sitter->ranker->column, (const double[]){ 1, 2, 3 }, 3 * sizeof(double));
	fake_ranker_answers(sitter->ranker, 2, (const uint16_t[]){ 2, 1 }, 3);
	sitter_take_answer(sitter, usable);
	cr_assert_eq(sitter->n_columns, 1u);
	sitter->ranker->answer.n_columns = 8;
	fake_ranker_answers(sitter->ranker, CR_DEFAULT, NULL, 8);
	sitter_take_answer(sitter, usable);
	cr_expect_eq(sitter->reason, CR_REASON_RANK_BAD_ORDER);
	cr_expect_eq(sitter->n_columns, 1u);
	cr_expect_eq(sitter->column[2], 3);
	cr_expect_eq(sitter->n_order, 2u);
	daemon_scene_close(&scene);
}

Test(seats, what_a_router_saved_is_kept_with_each_answer)
{
	struct daemon_scene scene;
	struct sitter *sitter;

	daemon_scene_open(&scene);
	sitter = scene_seat(&scene, ORDERS_ROUTER, scene.most);
	memcpy(sitter->ranker->saved, "learnt", 6);
	sitter->ranker->saved_len = 6;
	fake_ranker_answers(sitter->ranker, CR_DEFAULT, NULL, 3);
	sitter_take_answer(sitter, (const uint8_t[]){ 1, 1, 1 });
	cr_assert_eq(sitter->saved_len, 6u);
	cr_expect_arr_eq(sitter->saved, "learnt", 6);
	daemon_scene_close(&scene);
}
