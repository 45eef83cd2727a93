/* look.c - the health of a service's servers as one call sees it. No lock, no allocation, no system
 * call; nothing but spot->calm is written. */
#include "look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/order.h>

#include "health.h"

#define SLOW_SALT    UINT64_C(0x510e527fade682d1) /* a draw of its own, not the routers' */
#define INFLIGHT_MAX (1u << 20)                   /* sums and products cannot overflow */

int look_init(struct look *look)
{
	/* Large, but only what is used takes memory. */
	look->row = calloc(CR_NONE, sizeof *look->row);
	look->until = calloc(CR_NONE, sizeof *look->until);
	look->slow = calloc(CR_NONE, sizeof *look->slow);
	return look->row != NULL && look->until != NULL && look->slow != NULL ? 0 : -ENOMEM;
}

void look_fini(struct look *look)
{
	free(look->row);
	free(look->until);
	free(look->slow);
	look->row = NULL;
	look->until = NULL;
	look->slow = NULL;
}

/* The row's line, or NULL: it went to another server. */
static struct counters_line *row_line(const struct world *world, const struct spot *spot, size_t i)
{
	const struct place *place = &spot->place[i];
	struct counters_line *line = counters_line(world->counters, place->line);

	if (line == NULL ||
	    atomic_load_explicit(&line->incarnation, memory_order_relaxed) != place->incarnation)
		return NULL;
	return line;
}

static void memo_end(struct look_memo *memo, int64_t till_ns)
{
	if (till_ns < memo->till_ns)
		memo->till_ns = till_ns;
}

static uint8_t shut_judge(struct look_memo *memo, uint64_t shut)
{
	if (health_is_due(shut, memo->from_ns))
		return memo->can_claim ? LOOK_IN : 0;
	memo_end(memo, health_end_ns(shut));
	return health_kind(shut) == HEALTH_EJECTED ? LOOK_EJECTED : 0;
}

/* shut: the word that was seen, 0: open. */
static uint8_t row_judge(struct look_memo *memo, const struct world *world, size_t i,
			 uint64_t *shut)
{
	const struct spot *spot = memo->spot;
	const struct counters_line *line = row_line(world, spot, i);
	const int64_t now_ns = memo->from_ns;

	*shut = 0;
	if (line == NULL)
		return LOOK_IN;
	if (health_is_down(line, now_ns)) {
		memo_end(memo, atomic_load_explicit(&line->down_until_ns, memory_order_relaxed));
		return 0;
	}
	if (spot->rules == NULL) /* does not obey what shuts */
		return LOOK_IN;
	/* acquire, pairs with line_open(): it is not open before its slow start is there */
	*shut = atomic_load_explicit(&line->shut, memory_order_acquire);
	if (*shut != 0)
		return shut_judge(memo, *shut);
	if (health_ramp_permille(line, spot->rules->slow_start_ns, now_ns) == 1000)
		return LOOK_IN;
	memo_end(memo, __atomic_load_n(&line->live.up_since_ns, __ATOMIC_RELAXED) +
			       spot->rules->slow_start_ns);
	return LOOK_IN | LOOK_SLOW;
}

/* The k-th smallest, from 0, of n > k values, which are moved about (Hoare's way). */
static uint64_t smallest(uint64_t *value, size_t n, size_t k)
{
	ptrdiff_t low = 0, high = (ptrdiff_t)n - 1;
	const ptrdiff_t want = (ptrdiff_t)k;

	while (low < high) {
		const uint64_t pivot = value[want];
		ptrdiff_t i = low, j = high;

		while (i <= j) {
			while (value[i] < pivot)
				i++;
			while (value[j] > pivot)
				j--;
			if (i <= j) {
				const uint64_t x = value[i];

				value[i++] = value[j];
				value[j--] = x;
			}
		}
		if (j < want)
			low = i;
		if (want < i)
			high = j;
	}
	return value[k];
}

/* Let back in the n_back that are due first: of the same length of stay, those that are out
 * longest. Every process lets in the same. */
static void rows_let_back(struct look *look, const struct world *world, const struct spot *spot,
			  size_t n_ejected, size_t n_back)
{
	const uint64_t last = smallest(look->until, n_ejected, n_back - 1);
	size_t equals = n_back;

	for (size_t e = 0; e < n_ejected; e++)
		equals -= look->until[e] < last;
	for (size_t i = 0; i < spot->n_rows; i++) {
		const struct counters_line *line;
		uint64_t shut;

		if (look->row[i] != LOOK_EJECTED)
			continue;
		line = row_line(world, spot, i);
		shut = line != NULL ? atomic_load_explicit(&line->shut, memory_order_relaxed) : 0;
		if (shut == last && equals == 0)
			continue;
		equals -= shut == last;
		if (shut <= last)
			look->row[i] = LOOK_LET_IN;
	}
}

static void rows_count(struct look *look, const struct spot *spot)
{
	struct look_memo *memo = &look->memo;

	for (size_t i = 0; i < spot->n_rows; i++) {
		if (look->row[i] == LOOK_EJECTED)
			look->row[i] = 0;
		memo->n += look->row[i] != 0;
		memo->n_settled += look->row[i] == LOOK_IN;
		if ((look->row[i] & LOOK_SLOW) != 0)
			look->slow[memo->n_slow++] = (uint16_t)i;
	}
	if (memo->n > 0)
		return;
	for (size_t i = 0; i < spot->n_rows; i++)
		look->row[i] = spot->usable[i] != 0 ? LOOK_LET_IN : 0;
	memo->n = spot->n_usable;
}

static bool memo_holds(const struct look_memo *memo, const struct look_memo *want)
{
	return memo->spot == want->spot && memo->world == want->world &&
	       memo->trouble == want->trouble && memo->can_claim == want->can_claim &&
	       memo->from_ns <= want->from_ns && want->from_ns < memo->till_ns;
}

/* Returns whether all is well. */
static bool rows_judge(struct look *look, const struct world *world, const struct spot *spot)
{
	size_t may_stay = spot->n_usable / 2;
	size_t n_ejected = 0, n_in = 0;
	bool is_quiet = true;

	for (size_t i = 0; i < spot->n_rows; i++) {
		uint64_t shut;

		look->row[i] = 0;
		if (spot->usable[i] == 0)
			continue;
		look->row[i] = row_judge(&look->memo, world, i, &shut);
		is_quiet = is_quiet && look->row[i] == LOOK_IN && shut == 0;
		n_in += (look->row[i] & LOOK_IN) != 0;
		if (look->row[i] == LOOK_EJECTED)
			look->until[n_ejected++] = shut;
	}
	if (n_in == 0)
		may_stay = 0; /* none is well: nobody knows which of them is the better one */
	if (n_ejected > may_stay)
		rows_let_back(look, world, spot, n_ejected, n_ejected - may_stay);
	return is_quiet;
}

void look_closely(struct look *look, const struct world *world, struct spot *spot, int64_t now_ns,
		  bool can_claim)
{
	const struct look_memo want = {
		.world = world->number,
		/* acquire, pairs with the release of who raised it: see the top of look.h */
		.trouble = atomic_load_explicit(world->trouble, memory_order_acquire),
		.spot = spot,
		.from_ns = now_ns,
		.till_ns = INT64_MAX,
		.can_claim = can_claim,
	};

	if (!memo_holds(&look->memo, &want)) {
		look->memo = want;
		if (rows_judge(look, world, spot)) {
			look->memo.spot = NULL;
			if (!look->is_dry)
				atomic_store_explicit(&spot->calm, want.trouble,
						      memory_order_relaxed);
			return;
		}
		rows_count(look, spot);
	}
	look->is_calm = false;
	look->usable = look->row;
	look->n = look->memo.n;
	look->n_slow = look->memo.n_slow;
}

uint32_t look_filter(const struct look *look, const uint16_t *published, uint32_t n,
		     uint16_t *order)
{
	uint32_t kept = 0;

	if (look->is_calm) {
		memcpy(order, published, n * sizeof *order);
		return n;
	}
	for (uint32_t i = 0; i < n; i++)
		if (look->usable[published[i]] != 0)
			order[kept++] = published[i];
	return kept;
}

/*** Slow start ***/

/** The settled servers, among which the new one takes its place. */
struct crowd {
	uint64_t inflight, weight;
};

static uint64_t line_inflight(const struct counters_line *line)
{
	const uint32_t own = __atomic_load_n(&line->live.inflight, __ATOMIC_RELAXED);
	const uint32_t peers = __atomic_load_n(&line->live.peer_inflight, __ATOMIC_RELAXED);

	return (own < INFLIGHT_MAX ? own : INFLIGHT_MAX) +
	       (uint64_t)(peers < INFLIGHT_MAX ? peers : INFLIGHT_MAX);
}

static uint32_t row_weight(const struct world *world, const struct spot *spot, size_t i)
{
	return image_servers(world->image)[image_rows(world->image, spot->service)[i]].weight;
}

static struct crowd look_crowd(const struct look *look, const struct world *world,
			       const struct spot *spot)
{
	struct crowd crowd = { 0, 0 };

	for (size_t i = 0; i < spot->n_rows; i++) {
		const struct counters_line *line;

		if (look->usable[i] != LOOK_IN)
			continue;
		line = row_line(world, spot, i);
		if (line == NULL)
			continue;
		crowd.inflight += line_inflight(line);
		crowd.weight += row_weight(world, spot, i);
	}
	return crowd;
}

/* Has it more calls than its share, this one included? */
static bool row_is_full(const struct world *world, const struct spot *spot,
			const struct crowd *crowd, uint32_t ramp, size_t i)
{
	const struct counters_line *line = row_line(world, spot, i);

	/* not: inflight + 1 <= ramp * mean * weight + 1 */
	return line != NULL && line_inflight(line) * crowd->weight * 1000 >
				       ramp * crowd->inflight * row_weight(world, spot, i);
}

/* How far its start has come, if this call draws it; else 0. */
static uint32_t row_draw(const struct world *world, const struct spot *spot,
			 const struct cr_call *call, size_t i)
{
	const struct counters_line *line = row_line(world, spot, i);
	uint32_t ramp = 1000;

	if (line != NULL)
		ramp = health_ramp_permille(line, spot->rules->slow_start_ns, call->now_ns);
	return cr_below(cr_mix64((call->random ^ SLOW_SALT) + i), 1000) < ramp ? ramp : 0;
}

void look_start_slowly(struct look *look, const struct world *world, const struct spot *spot,
		       const struct cr_call *call)
{
	struct crowd crowd = { 0, 0 };
	bool is_counted = false;

	for (uint32_t k = 0; k < look->n_slow; k++) {
		const uint16_t i = look->slow[k];
		uint32_t ramp;

		look->row[i] = LOOK_IN | LOOK_SLOW; /* an earlier call may have held it back */
		if (look->memo.n_settled == 0)
			continue;
		ramp = row_draw(world, spot, call, i);
		if (ramp != 0 && !is_counted) {
			crowd = look_crowd(look, world, spot);
			is_counted = true;
		}
		if (ramp != 0 && !row_is_full(world, spot, &crowd, ramp, i))
			continue;
		look->row[i] = 0;
		look->n_held++;
	}
}

uint32_t look_append_held(const struct look *look, uint16_t *order, uint32_t n)
{
	if (n + look->n_held != look->n)
		return n;
	for (uint32_t k = 0; k < look->n_slow; k++)
		if (look->row[look->slow[k]] == 0)
			order[n++] = look->slow[k];
	return n;
}
