/* test_sim_queue.c - events come in the order of their times. */
#include <criterion/criterion.h>
#include <string.h>

#include "dice.h"
#include "queue.h"

#define IDS 1000

static struct queue queue;
static uint32_t place[IDS];

static void open_queue(void)
{
	memset(place, 0xff, sizeof place);
	queue_init(&queue, place);
}

static void close_queue(void)
{
	queue_fini(&queue);
}

TestSuite(sim_queue, .init = open_queue, .fini = close_queue);

static uint32_t take(void)
{
	const uint32_t id = queue_first(&queue)->id;

	queue_remove(&queue, id);
	return id;
}

Test(sim_queue, the_earliest_comes_first_and_equal_times_by_number)
{
	queue_put(&queue, 7, 2.0);
	queue_put(&queue, 3, 1.0);
	queue_put(&queue, 9, 1.0);
	queue_put(&queue, 1, 3.0);
	queue_put(&queue, 2, 1.0);
	cr_expect_eq(take(), 2);
	cr_expect_eq(take(), 3);
	cr_expect_eq(take(), 9);
	cr_expect_eq(take(), 7);
	cr_expect_eq(take(), 1);
	cr_expect_null(queue_first(&queue));
}

Test(sim_queue, an_entry_that_is_put_again_moves_in_both_directions)
{
	for (uint32_t id = 0; id < 10; id++)
		queue_put(&queue, id, id);
	queue_put(&queue, 0, 8.5);
	queue_put(&queue, 9, -1);
	cr_expect_eq(take(), 9);
	cr_expect_eq(take(), 1);
	for (uint32_t id = 2; id < 9; id++)
		cr_expect_eq(take(), id);
	cr_expect_eq(take(), 0);
}

Test(sim_queue, stays_sorted_under_a_hundred_thousand_random_changes)
{
	struct dice dice = dice_new(5, DICE_POLL);
	double last = -1;

	for (int i = 0; i < 100000; i++) {
		const uint32_t id = (uint32_t)(dice_bits(&dice) % IDS);

		if (place[id] != QUEUE_NOWHERE && dice_even(&dice) < 0.4)
			queue_remove(&queue, id);
		else
			queue_put(&queue, id, dice_even(&dice));
	}
	while (queue_first(&queue) != NULL) {
		const struct queue_entry first = *queue_first(&queue);

		cr_assert_geq(first.key, last);
		last = first.key;
		queue_remove(&queue, first.id);
		cr_assert_eq(place[first.id], QUEUE_NOWHERE);
	}
}
