/* health.c - what shuts a server, and what brings it back: the words in its line. */
#include "health.h"

#include <callrouter/order.h>

#define RAMP_FIRST 100u /* of a thousand: where a slow start begins */

/*** Reading ***/

static enum cr_state state_of(uint64_t shut, bool is_down, int64_t now_ns)
{
	if (is_down)
		return CR_DOWN;
	if (shut == 0)
		return CR_UP;
	if (health_kind(shut) == HEALTH_TRIAL || health_is_due(shut, now_ns))
		return CR_TRIAL;
	return health_kind(shut) == HEALTH_ASIDE ? CR_ASIDE : CR_EJECTED;
}

enum cr_state health_state(const struct counters_line *line, int64_t now_ns)
{
	return state_of(atomic_load_explicit(&line->shut, memory_order_relaxed),
			health_is_down(line, now_ns), now_ns);
}

int64_t health_until_ns(const struct counters_line *line, int64_t now_ns)
{
	const uint64_t shut = atomic_load_explicit(&line->shut, memory_order_relaxed);
	const int64_t shut_ns = (int64_t)((shut | 3) ^ 3);

	if (health_is_down(line, now_ns)) {
		const int64_t down_ns =
			atomic_load_explicit(&line->down_until_ns, memory_order_relaxed);

		return shut_ns > down_ns ? shut_ns : down_ns;
	}
	return shut_ns;
}

uint32_t health_ramp_permille(const struct counters_line *line, int64_t slow_start_ns,
			      int64_t now_ns)
{
	const int64_t since_ns = __atomic_load_n(&line->live.up_since_ns, __ATOMIC_RELAXED);

	if (slow_start_ns <= 0 || since_ns <= 0 || since_ns <= now_ns - slow_start_ns ||
	    since_ns - slow_start_ns >= now_ns)
		return 1000;
	if (since_ns >= now_ns)
		return RAMP_FIRST;
	return RAMP_FIRST +
	       (uint32_t)((now_ns - since_ns) * (1000 - (int64_t)RAMP_FIRST) / slow_start_ns);
}

double health_ramp(const struct counters_line *line, int64_t slow_start_ns, int64_t now_ns)
{
	return health_ramp_permille(line, slow_start_ns, now_ns) * 1e-3;
}

/*** Writing ***/

/* Keep the state that routers and people read in step. Whoever wrote an older one looks again. */
static void line_show(struct counters_line *line, int64_t now_ns)
{
	uint64_t shut;
	bool is_down;

	do {
		shut = atomic_load_explicit(&line->shut, memory_order_seq_cst);
		is_down = health_is_down(line, now_ns);
		/* seq_cst, pairs with the same of another writer: the later store looks later */
		__atomic_store_n(&line->live.state, (uint32_t)state_of(shut, is_down, now_ns),
				 __ATOMIC_SEQ_CST);
	} while (atomic_load_explicit(&line->shut, memory_order_seq_cst) != shut ||
		 health_is_down(line, now_ns) != is_down);
}

/* After the line was changed. Pairs with the acquire in look_take(). */
static void trouble_raise(const struct counters *c)
{
	atomic_fetch_add_explicit(counters_trouble(c), 1, memory_order_release);
}

static bool line_replace(struct counters_line *line, uint64_t from, uint64_t to)
{
	/* release, pairs with the acquire of who finds it open: up_since comes first */
	return atomic_compare_exchange_strong_explicit(&line->shut, &from, to, memory_order_seq_cst,
						       memory_order_relaxed);
}

static bool line_shut(struct counters *c, struct counters_line *line, uint64_t from, uint64_t to,
		      int64_t now_ns)
{
	if (!line_replace(line, from, to))
		return false;
	line_show(line, now_ns);
	trouble_raise(c);
	return true;
}

static void line_forget_failures(struct counters_line *line)
{
	if (atomic_load_explicit(&line->consecutive, memory_order_relaxed) != 0)
		atomic_store_explicit(&line->consecutive, 0, memory_order_relaxed);
	if (atomic_load_explicit(&line->refusals, memory_order_relaxed) != 0)
		atomic_store_explicit(&line->refusals, 0, memory_order_relaxed);
}

/* Slow start first: nobody is to find it open and settled. */
static bool line_open(struct counters_line *line, uint64_t from, int64_t now_ns)
{
	if (atomic_load_explicit(&line->shut, memory_order_relaxed) != from)
		return false;
	__atomic_store_n(&line->live.up_since_ns, now_ns, __ATOMIC_RELAXED);
	line_forget_failures(line);
	if (!line_replace(line, from, 0))
		return false;
	line_show(line, now_ns);
	return true;
}

/*** The daemon ***/

void health_begin(struct counters *c, struct counters_line *line, int64_t up_since_ns)
{
	__atomic_store_n(&line->live.latency_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.failure_ppm, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.failure_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.up_since_ns, up_since_ns, __ATOMIC_RELAXED);
	atomic_store_explicit(&line->consecutive, 0, memory_order_relaxed);
	atomic_store_explicit(&line->refusals, 0, memory_order_relaxed);
	atomic_store_explicit(&line->down_until_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&line->shut, 0, memory_order_seq_cst);
	line_show(line, up_since_ns);
	trouble_raise(c);
}

void health_check_failed(struct counters *c, struct counters_line *line, int64_t until_ns)
{
	atomic_store_explicit(&line->down_until_ns, until_ns, memory_order_seq_cst);
	line_show(line, until_ns - 1);
	trouble_raise(c);
}

/* No longer down. Was it until now? */
static bool line_end_down(struct counters_line *line, int64_t now_ns)
{
	const bool is_down = health_is_down(line, now_ns);

	if (atomic_load_explicit(&line->down_until_ns, memory_order_relaxed) == 0)
		return false;
	if (is_down)
		__atomic_store_n(&line->live.up_since_ns, now_ns, __ATOMIC_RELAXED);
	atomic_store_explicit(&line->down_until_ns, 0, memory_order_seq_cst);
	line_show(line, now_ns);
	return is_down;
}

void health_check_passed(struct counters *c, struct counters_line *line, int64_t now_ns)
{
	uint64_t shut = atomic_load_explicit(&line->shut, memory_order_relaxed);
	bool is_changed = line_end_down(line, now_ns);

	if (health_kind(shut) == HEALTH_ASIDE)
		is_changed |= line_open(line, shut, now_ns);
	else if (health_kind(shut) == HEALTH_EJECTED && !health_is_due(shut, now_ns))
		is_changed |= line_shut(c, line, shut, health_word(HEALTH_EJECTED, now_ns), now_ns);
	if (is_changed)
		trouble_raise(c);
}

void health_restore(struct counters *c, struct counters_line *line, int64_t now_ns)
{
	uint64_t shut;

	line_end_down(line, now_ns);
	line_forget_failures(line);
	do
		shut = atomic_load_explicit(&line->shut, memory_order_relaxed);
	while (shut != 0 && !line_open(line, shut, now_ns));
	trouble_raise(c);
}
