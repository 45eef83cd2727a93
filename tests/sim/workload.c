/* workload.c - Poisson arrivals, sizes from three classes. */
#include "workload.h"

#include <callrouter/order.h>

#include "jvm.h"
#include "portable.h"

#define KB 1024.0

static double mean_small(const struct scenario *s)
{
	return s->small_kb * KB * portable_exp(s->small_sigma * s->small_sigma / 2);
}

static double mean_medium(const struct scenario *s)
{
	return JVM_MB * (s->medium_max_mb - s->medium_min_mb) /
	       portable_log(s->medium_max_mb / s->medium_min_mb);
}

/* Of a bounded Pareto distribution; near 1 the formula has a hole. */
static double mean_big(const struct scenario *s)
{
	const double a = s->big_alpha > 0.9999 && s->big_alpha < 1.0001 ? 1.0001 : s->big_alpha;
	const double low = s->big_min_mb, ratio = s->big_max_mb / low;

	return JVM_MB * low * (a / (a - 1)) * (1 - portable_pow(ratio, 1 - a)) /
	       (1 - portable_pow(ratio, -a));
}

void workload_init(struct workload *workload, const struct scenario *scenario, uint64_t seed)
{
	*workload = (struct workload){
		.scenario = scenario,
		.arrival = dice_new(seed, DICE_ARRIVAL),
		.burst = dice_new(seed, DICE_BURST),
		.kind = dice_new(seed, DICE_KIND),
		.size = dice_new(seed, DICE_SIZE),
		.work = dice_new(seed, DICE_WORK),
		.host = dice_new(seed, DICE_HOST),
		.call = dice_new(seed, DICE_CALL),
		.hint = dice_new(seed, DICE_HINT),
		.gray = dice_new(seed, DICE_GRAY),
		.mean_bytes = { mean_small(scenario), mean_medium(scenario), mean_big(scenario) },
	};
}

static bool is_burst(const struct scenario *s, double now_s)
{
	const double cycle_s = s->burst_off + s->burst_on;
	const double whole = (double)(int64_t)(now_s / cycle_s);

	return now_s - whole * cycle_s >= s->burst_off;
}

/* Thinning: drawn at the highest rate, kept as often as the rate of that moment says. */
static double workload_when(struct workload *workload)
{
	const struct scenario *s = workload->scenario;
	const double highest = s->rate * s->burst_factor;

	do
		workload->now_s += dice_exponential(&workload->arrival) / highest;
	while (s->burst_factor > 1 && !is_burst(s, workload->now_s) &&
	       dice_even(&workload->burst) * s->burst_factor >= 1);
	return workload->now_s;
}

static enum call_kind workload_kind(struct dice *dice, const struct scenario *s)
{
	const double draw = dice_even(dice);

	if (draw < s->big_share)
		return CALL_BIG;
	return draw < s->big_share + s->medium_share ? CALL_MEDIUM : CALL_SMALL;
}

static double workload_bytes(struct workload *workload, enum call_kind kind)
{
	const struct scenario *s = workload->scenario;
	double draw;

	switch (kind) {
	case CALL_SMALL:
		return s->small_kb * KB *
		       portable_exp(s->small_sigma * dice_normal(&workload->size));
	case CALL_MEDIUM:
		draw = dice_even(&workload->size);
		return s->medium_min_mb * JVM_MB *
		       portable_pow(s->medium_max_mb / s->medium_min_mb, draw);
	case CALL_BIG:
		break;
	}
	draw = dice_even(&workload->size) *
	       (1 - portable_pow(s->big_max_mb / s->big_min_mb, -s->big_alpha));
	return s->big_min_mb * JVM_MB * portable_pow(1 - draw, -1 / s->big_alpha);
}

static int64_t workload_hint(struct workload *workload, enum call_kind kind, double bytes)
{
	const struct scenario *s = workload->scenario;
	const bool is_wrong = dice_even(&workload->hint) < s->hint_wrong;
	const uint32_t shift = 1 + cr_below(dice_bits(&workload->hint), 2);

	if (s->hint == HINT_NONE)
		return 0;
	if (s->hint == HINT_CLASS)
		bytes = workload->mean_bytes[kind];
	if (is_wrong)
		bytes = workload->mean_bytes[((uint32_t)kind + shift) % 3];
	return (int64_t)(bytes * s->hint_factor);
}

struct arrival workload_next(struct workload *workload)
{
	const struct scenario *s = workload->scenario;
	struct arrival arrival = { .at_s = workload_when(workload) };

	arrival.host = cr_below(dice_bits(&workload->host), s->hosts);
	arrival.random = dice_bits(&workload->call);
	arrival.gray = dice_even(&workload->gray);
	if (s->workload == WORKLOAD_THEORY) {
		/* never 0: something is divided by it */
		arrival.work_s = dice_exponential(&workload->work) + 1e-12;
		return arrival;
	}
	arrival.kind = workload_kind(&workload->kind, s);
	arrival.bytes = workload_bytes(workload, arrival.kind);
	arrival.work_s = (s->cpu_ms / 1000 + arrival.bytes / (s->cpu_mb * JVM_MB)) *
				 (1 + s->cpu_noise * (2 * dice_even(&workload->work) - 1)) +
			 1e-12;
	arrival.send_s = arrival.bytes / (s->send_mb * JVM_MB);
	arrival.hint_bytes = workload_hint(workload, arrival.kind, arrival.bytes);
	return arrival;
}
