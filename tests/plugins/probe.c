/* probe.c - a router that shows what route() sees, waits where it is told to, and reports when it
 * is opened and closed: for the tests of its surroundings. */
#include "probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "gate.h"

static const char *const needs[] = { "free_bytes", NULL };
static const char *const wants[] = { "busy_ratio", "nobody_has_this", NULL };
static const char *const columns[] = { "probe_one", "probe_two", NULL };

static const struct cr_option options[] = {
	{ "report_to", CR_INT, "-1", 0, 0, NULL, "descriptor: 'o' for opened, 'c' for closed" },
	{ .name = NULL },
};

static void report(const int *to, char letter)
{
	if (*to >= 0 && write(*to, &letter, 1) != 1)
		abort();
}

static int open_probe(const struct cr_open *in, void **self)
{
	int *to = malloc(sizeof *to);

	if (to == NULL)
		return -ENOMEM;
	*to = (int)in->option[0].num;
	report(to, 'o');
	*self = to;
	return 0;
}

static void close_probe(void *self)
{
	report(self, 'c');
	free(self);
}

static void look(const struct cr_view *view, const struct cr_call *call, const uint16_t *order,
		 size_t n)
{
	struct probe_look *seen = (struct probe_look *)(uintptr_t)call->key.ptr;

	seen->primary = call->primary;
	seen->secondary = call->secondary;
	seen->generation = view->generation;
	seen->hosts = view->hosts;
	seen->taken_ns = view->taken_ns;
	seen->n = view->n;
	seen->n_order = n;
	memcpy(seen->order, order, n * sizeof *order);
	for (size_t i = 0; i < view->n && i < PROBE_ROWS; i++) {
		seen->name[i] = view->name[i];
		seen->id[i] = view->id[i];
		seen->weight[i] = view->weight[i];
		seen->inflight[i] = cr_inflight(view, i);
		seen->inflight_bytes[i] = cr_inflight_bytes(view, i);
		seen->failures[i] = cr_failure_ratio_at(view, i, view->taken_ns);
		for (size_t k = 0; k < 3; k++) {
			seen->metric[k][i] = view->metric[k][i];
			seen->metric_taken_ns[k][i] = view->metric_taken_ns[k][i];
		}
		for (size_t k = 0; k < 2; k++)
			seen->column[k][i] = view->column[k][i];
	}
	seen->word = cr_shared_add(view, 0, 1);
}

static bool is_method(const struct cr_call *call, const char *method)
{
	return call->method.len == strlen(method) &&
	       memcmp(call->method.ptr, method, call->method.len) == 0;
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	(void)self;
	if (is_method(call, "wait"))
		gate_wait((struct gate *)(uintptr_t)call->key.ptr);
	else if (is_method(call, "look"))
		look(view, call, order, n);
	else if (is_method(call, "die"))
		abort();
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("probe", "1", "shows what it sees"),
	.shared_words = 1,
	.needs = needs,
	.wants = wants,
	.columns = columns,
	.options = options,
	.open = open_probe,
	.close = close_probe,
	.route = route,
};
