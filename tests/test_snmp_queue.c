/* test_snmp_queue.c - whose turn it is to be asked, without agents and without a clock. */
#include <criterion/criterion.h>

#include "snmp_queue.h"

enum { N = 12 };

static struct snmp_queue queue;
static struct snmp_agent *agent[N];
static struct snmp_settings settings = { .max_inflight = 6, .max_per_agent = 2 };

/* Agents 0 .. 7 are at one endpoint, the others each at its own. */
static void begin(void)
{
	char own[32];

	snmp_queue_init(&queue);
	for (int i = 0; i < N; i++) {
		agent[i] = calloc(1, sizeof *agent[i]);
		snprintf(own, sizeof own, "udp:127.0.0.%d:161", i);
		cr_assert_eq(snmp_queue_join(&queue, agent[i], i < 8 ? "udp:admin:161" : own), 0);
	}
}

static void end(void)
{
	for (int i = 0; i < N; i++) {
		if (agent[i]->place != NULL)
			snmp_queue_leave(&queue, agent[i]);
		free(agent[i]);
	}
	cr_expect_null(queue.places, "an endpoint is left over");
	snmp_queue_fini(&queue);
}

/* Numbers of the agents whose turn it is now: "0 1 8 ". */
static const char *take_all(int64_t now_ns)
{
	static char text[128];
	const struct snmp_agent *next;
	size_t used = 0;

	text[0] = '\0';
	while ((next = snmp_queue_take(&queue, &settings, now_ns)) != NULL)
		for (int i = 0; i < N; i++)
			if (agent[i] == next)
				used += (size_t)snprintf(text + used, sizeof text - used, "%d ", i);
	return text;
}

TestSuite(snmp_queue, .init = begin, .fini = end);

Test(snmp_queue, asks_few_at_one_endpoint_and_the_others_do_not_wait_for_them)
{
	for (int i = 0; i < 10; i++)
		snmp_queue_push(&queue, agent[i]);
	cr_expect_str_eq(take_all(0), "0 1 8 9 ");
	cr_expect_eq(queue.n_fresh, 4u);
	/* an answer: the next one, in its order */
	snmp_queue_unfresh(&queue, agent[1]);
	cr_expect_str_eq(take_all(0), "2 ");
	snmp_queue_unfresh(&queue, agent[0]);
	cr_expect_str_eq(take_all(0), "3 ");
	snmp_queue_unfresh(&queue, agent[2]);
	cr_expect_str_eq(take_all(0), "4 ");
}

Test(snmp_queue, asks_no_more_than_so_many_in_all)
{
	settings.max_inflight = 3;
	for (int i = N - 1; i >= 0; i--)
		snmp_queue_push(&queue, agent[i]);
	cr_expect_str_eq(take_all(0), "11 10 9 ");
	snmp_queue_unfresh(&queue, agent[10]);
	cr_expect_str_eq(take_all(0), "8 ");
}

Test(snmp_queue, counts_a_poll_for_its_first_moments)
{
	snmp_queue_push(&queue, agent[8]);
	cr_expect_str_eq(take_all(1000), "8 ");
	cr_expect(agent[8]->is_fresh);
	cr_expect_eq(agent[8]->fresh_until_ns, 20001000);
	snmp_queue_unfresh(&queue, agent[8]);
	snmp_queue_unfresh(&queue, agent[8]);
	cr_expect_eq(queue.n_fresh, 0u);
}

Test(snmp_queue, lets_those_come_last_that_did_not_answer)
{
	agent[8]->is_suspect = agent[0]->is_suspect = agent[1]->is_suspect = true;
	agent[2]->is_suspect = true;
	for (int i = 0; i < N; i++)
		snmp_queue_push(&queue, agent[i]);
	cr_expect_str_eq(take_all(0), "3 4 9 10 11 8 ");
	/* one that was held is still a suspect */
	snmp_queue_unfresh(&queue, agent[3]);
	snmp_queue_unfresh(&queue, agent[11]);
	snmp_queue_unfresh(&queue, agent[10]);
	cr_expect_str_eq(take_all(0), "5 ");
	snmp_queue_unfresh(&queue, agent[4]);
	cr_expect_str_eq(take_all(0), "6 ");
}

Test(snmp_queue, forgets_who_leaves_wherever_it_waits)
{
	for (int i = 0; i < 5; i++)
		snmp_queue_push(&queue, agent[i]);
	cr_expect_str_eq(take_all(0), "0 1 ");
	snmp_queue_leave(&queue, agent[2]); /* held at its endpoint */
	snmp_queue_leave(&queue, agent[0]); /* just asked */
	cr_expect_str_eq(take_all(0), "3 ");
	snmp_queue_remove(agent[4]);
	snmp_queue_unfresh(&queue, agent[1]);
	cr_expect_str_eq(take_all(0), "");
	cr_expect_eq(queue.n_fresh, 1u);
}
