/* test_order.c - the tools of callrouter/order.h. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include <callrouter/order.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static void expect_order(const uint16_t *got, const uint16_t *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cr_expect_eq(got[i], want[i], "place %zu: %u instead of %u", i, got[i], want[i]);
}

/* arg: the values of the rows; larger first. */
static bool is_larger(const struct cr_view *view, uint16_t a, uint16_t b, const void *arg)
{
	const int *value = arg;

	(void)view;
	return value[a] > value[b];
}

Test(order, sorts_and_keeps_the_place_of_ties)
{
	static const int value[] = { 5, 9, 5, 1, 9, 5 };
	static const uint16_t want[] = { 4, 1, 2, 0, 5, 3 };
	uint16_t order[] = { 2, 0, 4, 3, 1, 5 };

	cr_expect_eq(cr_order_sort(NULL, order, 6, is_larger, value), 6);
	expect_order(order, want, 6);
	cr_expect_eq(cr_order_sort(NULL, order, 0, is_larger, value), 0);
	cr_expect_eq(cr_order_sort(NULL, order, 1, is_larger, value), 1);
	expect_order(order, want, 6);
}

Test(order, sorts_stably_whatever_the_order_was)
{
	int value[64];
	uint16_t order[64];
	uint64_t state = 1;

	for (int round = 0; round < 200; round++) {
		uint16_t place[64];

		for (uint16_t i = 0; i < 64; i++) {
			value[i] = (int)cr_below(cr_draw(&state), 8);
			order[i] = i;
		}
		for (size_t i = 63; i > 0; i--) {
			const size_t j = cr_below(cr_draw(&state), (uint32_t)(i + 1));
			const uint16_t x = order[i];

			order[i] = order[j];
			order[j] = x;
		}
		for (uint16_t i = 0; i < 64; i++)
			place[order[i]] = i;
		cr_order_sort(NULL, order, 64, is_larger, value);
		for (size_t i = 1; i < 64; i++) {
			const uint16_t a = order[i - 1], b = order[i];

			cr_assert(value[a] > value[b] ||
				  (value[a] == value[b] && place[a] < place[b]));
		}
	}
}

static bool contradicts_itself(const struct cr_view *view, uint16_t a, uint16_t b, const void *arg)
{
	(void)view;
	(void)a;
	(void)b;
	(void)arg;
	return rand() % 2; /* NOLINT: any will do */
}

Test(order, keeps_every_entry_even_if_the_comparator_contradicts_itself)
{
	for (int round = 0; round < 100; round++) {
		uint16_t order[40];
		bool seen[40] = { false };

		for (uint16_t i = 0; i < 40; i++)
			order[i] = i;
		cr_order_sort(NULL, order, 40, contradicts_itself, NULL);
		for (size_t i = 0; i < 40; i++) {
			cr_assert_not(seen[order[i]]);
			seen[order[i]] = true;
		}
	}
}

Test(order, moves_one_row_to_the_front)
{
	static const uint16_t last[] = { 9, 4, 7, 2 }, first[] = { 4, 9, 7, 2 };
	uint16_t order[] = { 4, 7, 2, 9 };

	cr_order_front(order, 4, 9);
	expect_order(order, last, 4);
	cr_order_front(order, 4, 4);
	expect_order(order, first, 4);
	cr_order_front(order, 4, 77);
	cr_order_front(order, 4, 4);
	expect_order(order, first, 4);
	cr_order_front(order, 0, 4);
	expect_order(order, first, 4);
}

Test(order, rotates_by_any_number_of_places)
{
	static const struct {
		uint64_t by;
		uint16_t want[5];
	} cases[] = {
		{ 0, { 0, 1, 2, 3, 4 } },
		{ 1, { 1, 2, 3, 4, 0 } },
		{ 3, { 3, 4, 0, 1, 2 } },
		{ 5, { 0, 1, 2, 3, 4 } },
		{ UINT64_MAX, { 0, 1, 2, 3, 4 } }, /* 2^64 - 1 is a multiple of 5 */
		{ UINT64_MAX - 1, { 4, 0, 1, 2, 3 } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint16_t order[] = { 0, 1, 2, 3, 4 };

		cr_order_rotate(order, 5, cases[i].by);
		expect_order(order, cases[i].want, 5);
	}
	cr_order_rotate(NULL, 0, 3);
}

/* It moves blocks where one of the two parts is short, and single entries where both are long. */
Test(order, rotates_few_and_many_entries_alike)
{
	static const size_t sizes[] = { 1, 2, 8, 255, 256, 257, 511, 512, 513, 514, 1500 };
	static uint16_t order[1500];

	for (size_t s = 0; s < COUNT(sizes); s++)
		for (size_t by = 0; by < sizes[s]; by++) {
			for (size_t i = 0; i < sizes[s]; i++)
				order[i] = (uint16_t)(7 * i);
			cr_order_rotate(order, sizes[s], by);
			for (size_t i = 0; i < sizes[s]; i++)
				cr_assert_eq(order[i], (uint16_t)(7 * ((by + i) % sizes[s])),
					     "%zu of %zu", by, sizes[s]);
		}
}

Test(order, reverses)
{
	static const uint16_t even[] = { 3, 2, 1, 0 }, odd[] = { 2, 1, 0 };
	uint16_t four[] = { 0, 1, 2, 3 }, three[] = { 0, 1, 2 };

	cr_order_reverse(four, 4);
	expect_order(four, even, 4);
	cr_order_reverse(three, 3);
	expect_order(three, odd, 3);
	cr_order_reverse(three, 0);
	cr_order_reverse(three, 1);
	expect_order(three, odd, 3);
}

Test(order, gives_equal_heads_turns_and_leaves_the_rest)
{
	static const int value[] = { 9, 9, 9, 1, 1 };
	static const uint16_t want[3][5] = { { 0, 1, 2, 3, 4 },
					     { 1, 2, 0, 3, 4 },
					     { 2, 0, 1, 3, 4 } };

	for (uint64_t generation = 0; generation < 6; generation++) {
		const struct cr_view view = { .generation = generation };
		uint16_t order[] = { 0, 1, 2, 3, 4 };

		cr_order_turns(&view, order, 5, is_larger, value);
		expect_order(order, want[generation % 3], 5);
		cr_order_turns(&view, order, 0, is_larger, value);
		cr_order_turns(&view, order, 1, is_larger, value);
		expect_order(order, want[generation % 3], 5);
	}
}

Test(order, draws_the_published_numbers_of_splitmix64)
{
	uint64_t state = 1234567;

	cr_expect_eq(cr_draw(&state), UINT64_C(6457827717110365317));
	cr_expect_eq(cr_draw(&state), UINT64_C(3203168211198807973));
	cr_expect_eq(cr_draw(&state), UINT64_C(9817491932198370423));
}

Test(order, draws_below_a_bound_evenly)
{
	unsigned count[7] = { 0 };
	uint64_t state = 42;
	double chi = 0;

	for (int i = 0; i < 70000; i++)
		count[cr_below(cr_draw(&state), 7)]++;
	for (size_t i = 0; i < 7; i++)
		chi += (count[i] - 10000.0) * (count[i] - 10000.0) / 10000;
	cr_expect_lt(chi, 22.46); /* 6 degrees of freedom, one in a thousand */
	cr_expect_eq(cr_below(UINT64_MAX, 1), 0);
	cr_expect_eq(cr_below(UINT64_MAX, UINT32_MAX), UINT32_MAX - 1);
	cr_expect_eq(cr_below(0, 5), 0);
}

Test(order, hashes_every_byte_and_the_length)
{
	unsigned char data[40] = { 0 };
	uint64_t seen[8 * 40 + 41];
	size_t n = 0;

	for (size_t len = 0; len <= sizeof data; len++)
		seen[n++] = cr_hash64(data, len);
	for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
		data[bit / 8] ^= (unsigned char)(1u << bit % 8);
		seen[n++] = cr_hash64(data, sizeof data);
		data[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			cr_assert_neq(seen[i], seen[j]);
	cr_expect_eq(cr_mix64(0), 0);
	cr_expect_eq(cr_mix64(1), UINT64_C(0xb456bcfc34c2cb2c));
}
