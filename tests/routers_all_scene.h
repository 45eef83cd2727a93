/* routers_all_scene.h - any router, asked as the host asks it: for the tests of what all routers
 * have to keep. */
#ifndef CR_TESTS_ROUTERS_ALL_SCENE_H
#define CR_TESTS_ROUTERS_ALL_SCENE_H

#include "routers_found.h"
#include "routers_metrics_scene.h"

#define CALLS 4000

/* Read by failing assertions. */
static const struct found *asked;

static bool is_offered[FLEET];

/* Rank as the host does: the usable rows come in by row. */
static inline void rank_again(void)
{
	for (size_t i = 0, n = 0; i < fleet.view.n; i++)
		if (is_offered[i])
			fleet.published[n++] = (uint16_t)i;
	if (asked->has_rank)
		rank_now();
}

/* Offer the rows for which is_offered says so; without ranking: by row. */
static inline void offer(bool is_ranked)
{
	fleet.n_offered = 0;
	for (size_t i = 0; i < fleet.view.n; i++)
		if (is_offered[i])
			fleet.published[fleet.n_offered++] = (uint16_t)i;
	if (is_ranked)
		rank_again();
}

static inline void forget_columns(void)
{
	for (size_t k = 0; k < CR_COLUMNS_MAX; k++)
		for (size_t i = 0; i < FLEET; i++)
			fleet.column[k][i] = UNKNOWN;
}

static inline void begin(const struct found *one, size_t n)
{
	asked = one;
	load(one->name, one->packed);
	cr_assert_leq(one->shared_words, 8);
	set_fleet(n);
	for (size_t i = 0; i < FLEET; i++)
		is_offered[i] = i < n;
}

/* Every metric that it asks for, a heap half full, the same at each server. */
static inline void know(size_t i)
{
	const char *name;

	for (size_t k = 0; (name = plugin_metric(&plugin->router, k)) != NULL; k++) {
		double value = 10;

		if (strstr(name, "max_bytes") != NULL || strstr(name, "size_bytes") != NULL)
			value = 4 * GIB;
		else if (strstr(name, "bytes") != NULL)
			value = 2 * GIB;
		else if (strstr(name, "ratio") != NULL)
			value = 0.5;
		put(name, i, value);
	}
}

static inline void know_all(void)
{
	for (size_t i = 0; i < fleet.view.n; i++)
		know(i);
}

/* What a data plane does with a new view before calls see it. */
static inline void see_view(void)
{
#if CR_ABI_MINOR >= 1
	prepare(&fleet.view);
#endif
}

/* The list of the next call is in fleet.order: who was offered, each once, nobody else. */
static inline void decide(struct cr_call call)
{
	bool seen[FLEET] = { false };
	int got = (int)fleet.n_offered;

	call.now_ns = fleet.view.taken_ns;
	call.random = cr_draw(&fleet.draw);
	memcpy(fleet.order, fleet.published, sizeof fleet.order);
	see_view();
	if (asked->has_route)
		got = plugin->router.route(instance.self, &fleet.view, &call, fleet.order,
					   fleet.n_offered);
	cr_assert_eq(got, (int)fleet.n_offered, "%s %s: %d", asked->name, asked->packed, got);
	for (int k = 0; k < got; k++) {
		const uint16_t row = fleet.order[k];

		cr_assert(row < fleet.view.n && is_offered[row] && !seen[row],
			  "%s %s: server %u at place %d", asked->name, asked->packed, row, k);
		seen[row] = true;
	}
}

/* Who comes first in that many calls. A router that only ranks is asked anew for each. */
static inline void count_decisions(unsigned calls, int64_t cost_bytes, unsigned *first)
{
	memset(first, 0, fleet.view.n * sizeof *first);
	for (unsigned k = 0; k < calls; k++) {
		if (!asked->has_route)
			rank_again();
		decide((struct cr_call){ .cost_bytes = cost_bytes });
		first[fleet.order[0]]++;
	}
}

/* Chi-square against the same for each of 8: passed once in 10,000 times. */
static inline void expect_no_favourite(const unsigned *first, const char *where)
{
	static const double equal[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	const double chi = chi_square_of(first, equal, 8);

	cr_expect_lt(chi, 29.88, "%s %s, %s: chi-square %g: %u %u %u %u %u %u %u %u", asked->name,
		     asked->packed, where, chi, first[0], first[1], first[2], first[3], first[4],
		     first[5], first[6], first[7]);
}

#endif
