/* sorted.c - a comparator from the configuration: order_by "-jvm_heap_free_bytes, inflight". */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <callrouter/order.h>

#define SEPARATORS ", \t"

/* clang-format off */
enum { INFLIGHT, INFLIGHT_BYTES, LATENCY, FAILURE_RATIO, WEIGHT, METRICS };
static const char *const words[] = {
	"inflight", "inflight_bytes", "latency", "failure_ratio", "weight",
	/* METRICS: all that callrouter knows; a test compares with core/words.c. */
	"jvm_heap_free_bytes", "jvm_heap_size_bytes", "jvm_heap_max_bytes", "jvm_heap_used_bytes",
	"jvm_heap_available_bytes", "jvm_heap_free_after_gc_bytes", "jvm_heap_used_after_gc_bytes",
	"jvm_heap_free_ratio", "busy_threads", "max_threads", "busy_threads_ratio",
	"hogging_threads", "requests_total", "request_errors_total", "sessions", "running",
	"host_memory_free_bytes", "cpu_load_ratio", NULL,
};
/* clang-format on */

struct sorted {
	size_t n_keys;
	double *value; /* [key][row], while ranking */
	int key[];     /* index in words + 1; negative, as written with a "-": larger first */
};

static int open_sorted(const struct cr_open *in, void **out)
{
	const char *at = in->option[0].text;
	struct sorted *self = calloc(1, sizeof *self + (strlen(at) + 1) * sizeof self->key[0]);

	if (self == NULL)
		return -ENOMEM;
	for (at += strspn(at, SEPARATORS); *at != '\0'; at += strspn(at, SEPARATORS)) {
		const bool larger_first = *at == '-';
		const size_t len = strcspn(at + larger_first, SEPARATORS);
		int word = 0;

		while (words[word] != NULL && (strlen(words[word]) != len ||
					       memcmp(words[word], at + larger_first, len) != 0))
			word++;
		if (words[word] == NULL)
			break;
		self->key[self->n_keys++] = larger_first ? -(word + 1) : word + 1;
		at += larger_first + len;
	}
	*out = self;
	if (*at == '\0' && self->n_keys > 0)
		return 0;
	(void)snprintf(in->err, in->err_len,
		       "order_by: \"%.*s\" is no metric, nor inflight, inflight_bytes, latency, "
		       "failure_ratio, weight",
		       (int)strcspn(at, SEPARATORS), at);
	free(self);
	return -EINVAL;
}

static double read_value(const struct cr_view *view, int word, size_t row)
{
	if (word == INFLIGHT)
		return cr_inflight(view, row);
	if (word == INFLIGHT_BYTES)
		return (double)cr_inflight_bytes(view, row);
	if (word == LATENCY)
		return (double)__atomic_load_n(&view->live[row]->latency_ns, __ATOMIC_RELAXED);
	if (word == FAILURE_RATIO)
		return cr_failure_ratio(view, row);
	return word == WEIGHT ? view->weight[row] : view->metric[word - METRICS][row];
}

/* Unknown values come last in either direction. */
static bool is_before(const struct cr_view *view, uint16_t a, uint16_t b, const void *arg)
{
	const struct sorted *self = arg;

	for (size_t k = 0; k < self->n_keys; k++) {
		const double *value = self->value + k * view->n, x = value[a], y = value[b];

		if (isnan(x) != isnan(y))
			return isnan(y);
		if (x < y || x > y)
			return self->key[k] < 0 ? x > y : x < y;
	}
	return false;
}

static int rank(void *arg, const struct cr_view *view, uint16_t *order, size_t n,
		double *const *column)
{
	struct sorted *self = arg;

	(void)column;
	self->value = calloc(self->n_keys * view->n, sizeof *self->value);
	if (self->value == NULL)
		return -ENOMEM;
	/* Live figures move while we sort: read once, or the comparator would contradict itself. */
	for (size_t i = 0; i < self->n_keys * view->n; i++)
		self->value[i] = read_value(view, abs(self->key[i / view->n]) - 1, i % view->n);
	cr_order_sort(view, order, n, is_before, self);
	cr_order_turns(view, order, n, is_before, self);
	free(self->value);
	return (int)n;
}

static const struct cr_option options[] = {
	{ "order_by", CR_TEXT, NULL, 0, 0, NULL, "what to sort by; \"-\": larger first" }, { 0 }
};

CR_ROUTER = {
	CR_ROUTER_HEAD("sorted", "1.0.0", "sorts by what order_by says"),
	.wants = words + METRICS,
	.options = options,
	.open = open_sorted,
	.close = free,
	.rank = rank,
};
