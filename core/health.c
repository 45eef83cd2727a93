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
	const int64_t shut_ns = health_end_ns(shut);

	if (health_is_down(line, now_ns)) {
		const int64_t down_ns =
			atomic_load_explicit(&line->down_until_ns, memory_order_relaxed);

		return shut_ns > down_ns ? shut_ns : down_ns;
	}
	return shut_ns;
}

int64_t health_left_ns(const struct counters_line *line, int64_t now_ns)
{
	const uint64_t left_ns = health_ahead_ns(health_until_ns(line, now_ns), now_ns);

	/* others write the line meanwhile, and what they write is not believed */
	return left_ns <= (uint64_t)HEALTH_FAR_NS ? (int64_t)left_ns : 0;
}

uint32_t health_ramp_permille(const struct counters_line *line, int64_t slow_start_ns,
			      int64_t now_ns)
{
	const int64_t since_ns = __atomic_load_n(&line->live.up_since_ns, __ATOMIC_RELAXED);

	if (slow_start_ns <= 0 || since_ns <= 0)
		return 1000;
	if (since_ns >= now_ns)
		return since_ns - slow_start_ns >= now_ns ? 1000 : RAMP_FIRST;
	if (now_ns - since_ns >= slow_start_ns)
		return 1000;
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

/* After the line was changed. Pairs with the acquire in look_closely(). */
static void trouble_raise(const struct counters *c)
{
	atomic_fetch_add_explicit(counters_trouble(c), 1, memory_order_release);
}

/* From one word to another; false: somebody else was faster. */
static bool line_turn(const struct counters *c, struct counters_line *line, uint64_t from,
		      uint64_t to, int64_t now_ns)
{
	/* release part, pairs with the acquire of who finds it open: up_since comes first */
	if (!atomic_compare_exchange_strong_explicit(&line->shut, &from, to, memory_order_seq_cst,
						     memory_order_relaxed))
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
static bool line_open(const struct counters *c, struct counters_line *line, uint64_t from,
		      int64_t now_ns)
{
	if (atomic_load_explicit(&line->shut, memory_order_relaxed) != from)
		return false;
	__atomic_store_n(&line->live.up_since_ns, now_ns, __ATOMIC_RELAXED);
	line_forget_failures(line);
	return line_turn(c, line, from, 0, now_ns);
}

/*** Calls ***/

uint64_t health_claim(const struct counters *c, struct counters_line *line, uint64_t shut,
		      int64_t now_ns)
{
	const uint64_t lease = health_word(HEALTH_TRIAL, now_ns + HEALTH_LEASE_NS);

	return line_turn(c, line, shut, lease, now_ns) ? lease : 0;
}

/** What an outcome says about a server, by the rules of the call's service. */
enum verdict { VERDICT_GOOD, VERDICT_REFUSED, VERDICT_BAD, VERDICT_ANSWERED, VERDICT_NOTHING };

/* A service that is never to put a server out for failures counts none, not in a trial either. */
static bool is_counted(const struct image_health *rules, enum image_counts bit)
{
	return rules->failures > 0 && (rules->counts & bit) != 0;
}

static enum verdict verdict_of(const struct image_health *rules, enum cr_outcome outcome)
{
	switch (outcome) {
	case CR_OK:
		return VERDICT_GOOD;
	case CR_REFUSED_CONNECTION:
		if (rules->aside_ns > 0)
			return VERDICT_REFUSED;
		return is_counted(rules, IMAGE_COUNTS_CONNECT) ? VERDICT_BAD : VERDICT_NOTHING;
	case CR_TIMED_OUT:
		return is_counted(rules, IMAGE_COUNTS_TIMEOUT) ? VERDICT_BAD : VERDICT_NOTHING;
	case CR_FAILED:
		/* What the service does not count is as good an answer as any, on trial. */
		return is_counted(rules, IMAGE_COUNTS_FAILED) ? VERDICT_BAD : VERDICT_ANSWERED;
	case CR_ABANDONED:
		break;
	}
	return VERDICT_NOTHING;
}

static int64_t aside_length_ns(const struct image_health *rules, uint32_t refusals)
{
	int64_t ns = rules->aside_ns;

	for (; refusals > 0 && ns < rules->aside_most_ns; refusals--)
		ns *= 2;
	if (ns > rules->aside_most_ns)
		ns = rules->aside_most_ns;
	return ns > rules->aside_ns ? ns : rules->aside_ns;
}

/* Servers that fail together are not to be tried together. */
static int64_t out_length_ns(const struct image_health *rules, uint32_t salt, int64_t now_ns)
{
	const uint64_t tenth = (uint64_t)rules->out_for_ns / 10;
	const uint64_t draw = cr_mix64((uint64_t)now_ns ^ ((uint64_t)salt << 40));

	return rules->out_for_ns - (int64_t)tenth + (int64_t)(draw % (2 * tenth + 1));
}

static void line_put_aside(struct counters *c, struct counters_line *line,
			   const struct image_health *rules, uint64_t from, int64_t now_ns)
{
	const uint32_t refusals = atomic_load_explicit(&line->refusals, memory_order_relaxed);
	const int64_t until_ns = now_ns + aside_length_ns(rules, refusals);

	/* Of many refused at the same moment one gets here first, and counts. */
	if (line_turn(c, line, from, health_word(HEALTH_ASIDE, until_ns), now_ns))
		atomic_fetch_add_explicit(&line->refusals, 1, memory_order_relaxed);
}

static void line_eject(struct counters *c, struct counters_line *line,
		       const struct image_health *rules, const struct health_contact *contact,
		       int64_t now_ns)
{
	const int64_t until_ns = now_ns + out_length_ns(rules, contact->salt, now_ns);

	if (line_turn(c, line, contact->shut, health_word(HEALTH_EJECTED, until_ns), now_ns))
		line_forget_failures(line);
}

/* Did the contact begin before the server came back? A time that the result is far behind is not
 * believed: else nothing would be counted for as long. */
static bool is_from_before(const struct counters_line *line, const struct health_contact *contact,
			   int64_t now_ns)
{
	const int64_t since_ns = __atomic_load_n(&line->live.up_since_ns, __ATOMIC_RELAXED);

	return contact->at_ns < since_ns &&
	       health_ahead_ns(since_ns, now_ns) <= (uint64_t)HEALTH_CONTACT_NS;
}

/* A contact with an open line: it may be an old one, about a server that was shut since then. */
static void open_note(struct counters *c, struct counters_line *line,
		      const struct image_health *rules, const struct health_contact *contact,
		      enum verdict verdict, int64_t now_ns)
{
	if (verdict == VERDICT_ANSWERED || verdict == VERDICT_NOTHING)
		return;
	if (atomic_load_explicit(&line->shut, memory_order_acquire) != 0) {
		/* Should who shut it have died before he said so: */
		if (verdict != VERDICT_GOOD)
			trouble_raise(c);
		return;
	}
	if (is_from_before(line, contact, now_ns))
		return;
	if (verdict == VERDICT_GOOD)
		line_forget_failures(line);
	else if (verdict == VERDICT_REFUSED)
		line_put_aside(c, line, rules, 0, now_ns);
	else if (rules->failures > 0 &&
		 atomic_fetch_add_explicit(&line->consecutive, 1, memory_order_relaxed) + 1 >=
			 rules->failures)
		line_eject(c, line, rules, contact, now_ns);
}

/* Calls may all take longer than a lease: then each trial ends when the next one is under way, and
 * only such a late success can bring the server back. */
static void trial_pass(struct counters *c, struct counters_line *line, uint64_t claimed,
		       int64_t now_ns)
{
	uint64_t shut;

	if (line_open(c, line, claimed, now_ns))
		return;
	shut = atomic_load_explicit(&line->shut, memory_order_relaxed);
	if (health_kind(shut) == HEALTH_TRIAL)
		line_open(c, line, shut, now_ns);
}

static void trial_note(struct counters *c, struct counters_line *line,
		       const struct image_health *rules, const struct health_contact *contact,
		       enum verdict verdict, int64_t now_ns)
{
	if (verdict == VERDICT_GOOD || verdict == VERDICT_ANSWERED)
		trial_pass(c, line, contact->shut, now_ns);
	else if (verdict == VERDICT_REFUSED)
		line_put_aside(c, line, rules, contact->shut, now_ns);
	else if (verdict == VERDICT_BAD && rules->out_for_ns > 0)
		line_eject(c, line, rules, contact, now_ns);
	else /* due again, as it was */
		line_turn(c, line, contact->shut, contact->was, now_ns);
}

/* A contact in spite of what shut the line, since too few were left. */
static void shut_note(struct counters *c, struct counters_line *line,
		      const struct image_health *rules, const struct health_contact *contact,
		      enum verdict verdict, int64_t now_ns)
{
	const enum health_kind kind = health_kind(contact->shut);

	/* Nor does it end somebody else's trial. */
	if (verdict == VERDICT_GOOD && kind != HEALTH_TRIAL)
		line_open(c, line, contact->shut, now_ns);
	else if (verdict == VERDICT_REFUSED && kind == HEALTH_EJECTED)
		line_put_aside(c, line, rules, contact->shut, now_ns);
}

void health_result(struct counters *c, struct counters_line *line, const struct image_health *rules,
		   const struct health_contact *contact, enum cr_outcome outcome, int64_t now_ns)
{
	const enum verdict verdict = verdict_of(rules, outcome);

	if (contact->shut == 0)
		open_note(c, line, rules, contact, verdict, now_ns);
	else if (contact->was != 0)
		trial_note(c, line, rules, contact, verdict, now_ns);
	else
		shut_note(c, line, rules, contact, verdict, now_ns);
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
		is_changed |= line_open(c, line, shut, now_ns);
	else if (health_kind(shut) == HEALTH_EJECTED && !health_is_due(shut, now_ns))
		is_changed |= line_turn(c, line, shut, health_word(HEALTH_EJECTED, now_ns), now_ns);
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
	while (shut != 0 && !line_open(c, line, shut, now_ns));
	trouble_raise(c);
}
