/* hot_cold.c - Prequal's rule: of three drawn servers the fastest that is not hot, or the least
 * hot; hot is who has more calls in progress than most. */
#include "heap_history.h"
#include "place.h"

#define OLD_NS  INT64_C(60000000000) /* the limit of a view so old is not used: all are hot */
#define PHANTOM 50                   /* calls that a server stands for where every call fails */
#define HOT     1e6                  /* behind every latency in seconds */

enum { COLUMN_LIMIT, COLUMN_COST };
enum { BY_LATENCY, BY_HEAP };

static const char *const by[] = { "latency", "heap", NULL };
static const char *const columns[] = { "hot_above", "cost", NULL };

struct hot_cold {
	double hot_ratio;
	size_t draws;
	int64_t by;
};

static int open_hot_cold(const struct cr_open *in, void **out)
{
	struct hot_cold *self = calloc(1, sizeof *self);

	if (self == NULL)
		return -ENOMEM;
	self->hot_ratio = in->option[0].real;
	self->draws = (size_t)in->option[1].num;
	self->by = in->option[2].num;
	*out = self;
	return 0;
}

/* Calls in progress by weight, failures with them: who fails fast is not cold. */
static double load_of(const struct cr_view *view, size_t i, int64_t now_ns)
{
	const double calls = cr_inflight(view, i) + PHANTOM * cr_failure_ratio_at(view, i, now_ns);

	return view->weight[i] > 0 ? calls / view->weight[i] : (double)NAN;
}

/* What makes one cold server better than another; NaN if nobody knows. */
static double cost_of(const struct hot_cold *self, const struct cr_view *view, size_t i)
{
	const int64_t latency_ns = __atomic_load_n(&view->live[i]->latency_ns, __ATOMIC_RELAXED);
	const struct heap_reading heap = heap_read(view, i);

	if (self->by == BY_LATENCY)
		return latency_ns > 0 ? (double)latency_ns * 1e-9 : (double)NAN;
	return heap_judge(&heap) > HEAP_UNKNOWN ? heap.used / heap.max : (double)NAN;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The load that this share of the servers does not exceed; NaN without servers. */
static double limit_of(const struct hot_cold *self, double *loads, size_t n)
{
	size_t at = (size_t)(self->hot_ratio * (double)n);

	qsort(loads, n, sizeof *loads, compare);
	return n > 0 ? loads[at < n ? at : n - 1] : (double)NAN;
}

static bool is_before(const struct cr_view *view, uint16_t a, uint16_t b, const void *arg)
{
	const double *cost = arg;

	(void)view;
	return cost[a] < cost[b];
}

/* A new server, of which nothing is known, is taken for an average one: not for the fastest. */
static int rank(void *arg, const struct cr_view *view, uint16_t *order, size_t n,
		double *const *column)
{
	const struct hot_cold *self = arg;
	double *loads = calloc(n + 1, sizeof *loads), sum = 0, limit;
	size_t n_loads = 0, known = 0;

	if (loads == NULL)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++) {
		const double cost = cost_of(self, view, order[k]);

		loads[n_loads] = load_of(view, order[k], view->taken_ns);
		n_loads += isnan(loads[n_loads]) ? 0 : 1;
		known += isnan(cost) ? 0 : 1;
		sum += isnan(cost) ? 0 : cost;
	}
	limit = limit_of(self, loads, n_loads);
	free(loads);
	for (size_t i = 0; i < view->n; i++) {
		const double cost = cost_of(self, view, i);

		column[COLUMN_LIMIT][i] = limit;
		column[COLUMN_COST][i] = isnan(cost) ? sum / (double)(known > 0 ? known : 1) : cost;
	}
	cr_order_sort(view, order, n, is_before, column[COLUMN_COST]);
	cr_order_turns(view, order, n, is_before, column[COLUMN_COST]);
	return (int)n;
}

static int route(const void *arg, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	const struct hot_cold *self = arg;
	const bool is_old = call->now_ns - view->taken_ns > OLD_NS;
	uint64_t state = call->random;
	struct field field;

	if (n <= self->draws)
		field_take_all(&field, n);
	else
		field_draw(&field, view, order, n, self->draws, &state);
	for (size_t k = 0; k < field.n; k++) {
		const size_t i = order[field.at[k]];
		const double load = load_of(view, i, call->now_ns);
		const bool is_cold = !is_old && load <= view->column[COLUMN_LIMIT][i];

		field.price[k] = 1.0 / (n <= self->draws ? view->weight[i] : field.hits[k]);
		field.score[k] = is_cold ? view->column[COLUMN_COST][i] : HOT + load;
	}
	field_front(&field, field_least(&field, &state), order, &state);
	return (int)n;
}

static const struct cr_option options[] = {
	{ "hot", CR_RATIO, "84%", 0, 1, NULL, "the share of the servers that is not hot" },
	{ "draws", CR_INT, "3", 1, FIELD_MAX, NULL, "servers that are compared for a call" },
	{ "cold_by", CR_CHOICE, "latency", 0, 0, by, "what makes one cold server the best" },
	{ 0 }
};

CR_ROUTER = {
	CR_ROUTER_HEAD("hot_cold", "1.0.0", "of three drawn the fastest that is not hot"),
	.state_tag = 1,
	.wants = heap_metrics,
	.columns = columns,
	.options = options,
	.open = open_hot_cold,
	.close = free,
	.rank = rank,
	.route = route,
};
