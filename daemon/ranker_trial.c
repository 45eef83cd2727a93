/* ranker_trial.c - ask a router on services that it will not like, before anybody depends on it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ranker_wire.h"
#include "text.h"
#include "view.h"

#define TRIAL_CALLS 32 /* of route() per view */

/** A made-up service. */
struct trial_case {
	uint32_t n;
	uint32_t n_unusable; /* the last ones are drained */
	double value, step;  /* metric value of server i: value + i * step */
};

/* The last: what is prepared for many servers is too large for few. */
static const struct trial_case trial_cases[] = {
	{ 1, 0, 1e9, 0 }, { 1, 0, NAN, 0 },     { 3, 1, 4e8, 1e7 },  { 8, 0, 0, 0 },
	{ 8, 4, NAN, 0 }, { 17, 0, 1e9, -5e7 }, { 300, 20, 2e9, 1 }, { 2, 0, 1e9, 1e8 },
};

/* An image of one service with n servers and all metrics that the router asks for. */
static struct image_header *trial_image(const struct cr_router *router, const struct trial_case *c)
{
	const size_t metrics = plugin_count(router->needs) + plugin_count(router->wants);
	const struct image_size size = { .servers = c->n,
					 .metrics = (uint32_t)metrics,
					 .services = 1,
					 .rows = c->n,
					 .orders = c->n,
					 .text = 1 };
	struct image_header *image = image_new(&size);
	struct image_server *server;
	struct image_service *service;
	const int64_t now = clock_now_ns();

	if (image == NULL)
		return NULL;
	image->generation = 1;
	image->taken_ns = now;
	server = image_edit(image, image->server);
	service = image_edit(image, image->service);
	for (uint32_t i = 0; i < c->n; i++) {
		(void)snprintf(server[i].name, sizeof server[i].name, "trial-%u", i + 1);
		server[i].line = i;
		server[i].weight = i % 5 + 1;
		server[i].flags = i >= c->n - c->n_unusable ? (uint32_t)IMAGE_DRAINED : 0;
		((uint32_t *)image_edit(image, image->row))[i] = i;
	}
	for (size_t m = 0; m < metrics; m++) {
		struct image_metric *metric =
			(struct image_metric *)image_edit(image, image->metric) + m;

		text_copy(metric->name, sizeof metric->name, plugin_metric(router, m));
		for (uint32_t i = 0; i < c->n; i++) {
			const size_t at = m * c->n + i;

			/* what it needs is known of one server at least: else it is not asked */
			((double *)image_edit(image, image->value))[at] =
				isnan(c->value) && i == 0 && m < plugin_count(router->needs)
					? 1e9
					: c->value + i * c->step;
			((int64_t *)image_edit(image, image->taken))[at] = now - i * CLOCK_MS;
		}
	}
	text_copy(service->name, sizeof service->name, "trial");
	service->n_rows = c->n;
	service->n_usable = c->n - c->n_unusable;
	service->stale_after_ns = 10 * CLOCK_S;
	service->router.instance = service->preset.instance = IMAGE_NONE;
	return image;
}

/** What both halves of a trial on one view need. */
struct trial_view {
	const struct trial *trial;
	struct cr_view *view;
	const void **made; /* what prepare() made last */
	const uint8_t *usable;
	uint32_t *seen, stamp;
	uint16_t *order;
	size_t n;
	const uint16_t *start; /* order on entry */
};

static int trial_judge(struct trial_view *t, const char *function, int got, struct err *err)
{
	if (got == CR_DEFAULT || got == CR_REFUSE || got < 0)
		return 0;
	if ((size_t)got > t->n)
		return err_set(err, -EINVAL, "%s returned %d servers of %zu that were offered",
			       function, got, t->n);
	switch (view_check_order(t->order, (size_t)got, t->view->n, t->usable, t->seen,
				 ++t->stamp)) {
	case VIEW_ORDER_GOOD:
		break;
	case VIEW_ORDER_UNKNOWN:
		return err_set(
			err, -EINVAL,
			"%s put a row into order that was not offered: reorder the rows that "
			"order holds on entry",
			function);
	case VIEW_ORDER_REPEATED:
		return err_set(err, -EINVAL, "%s listed a server twice: each row may come once",
			       function);
	}
	return 0;
}

static int trial_rank(struct trial_view *t, struct err *err)
{
	const struct cr_router *router = &t->trial->plugin->router;
	const size_t columns = plugin_count(router->columns);
	double *column[CR_COLUMNS_MAX] = { NULL };
	double *block = calloc(columns * t->view->n + 1, sizeof *block);
	int got;

	if (block == NULL)
		return err_set(err, -ENOMEM, "no memory for the trial");
	for (size_t k = 0; k < columns; k++)
		column[k] = block + k * t->view->n;
	memcpy(t->order, t->start, t->n * sizeof *t->order);
	*t->trial->phase = WIRE_RANKING;
	got = router->rank(t->trial->instance->self, t->view, t->order, t->n, column);
	*t->trial->phase = WIRE_WAITING;
	free(block);
	return trial_judge(t, "rank()", got, err);
}

static int trial_route(struct trial_view *t, struct err *err)
{
	static const struct cr_param param = { { "amount", 6 }, { "1048576", 7 } };
	static const struct cr_param *const params[] = { &param };
	const struct cr_router *router = &t->trial->plugin->router;

	for (uint64_t i = 0; i < TRIAL_CALLS; i++) {
		const struct cr_call call = {
			.now_ns = t->view->taken_ns,
			.random = i * UINT64_C(0x9e3779b97f4a7c15),
			.method = { "Trial.call", i % 2 == 0 ? 10 : 0 },
			.key = { "key", i % 3 == 0 ? 3 : 0 },
			.client = { "192.0.2.1", i % 2 == 1 ? 9 : 0 },
			.cost_bytes = i % 4 == 3 ? INT64_C(1) << (i + 10) : 0,
			.param = params,
			.n_params = i % 2,
			.primary = i % 5 == 4 ? t->start[0] : CR_NONE,
			.secondary = CR_NONE,
		};
		int got;

		memcpy(t->order, t->start, t->n * sizeof *t->order);
		*t->trial->phase = WIRE_ROUTING;
		got = router->route(t->trial->instance->self, t->view, &call, t->order, t->n);
		*t->trial->phase = WIRE_WAITING;
		if (trial_judge(t, "route()", got, err) < 0)
			return err->code;
	}
	return 0;
}

/* What no view has any more; prepared NULL: nothing. */
static void trial_release(const struct trial *trial, const void *prepared)
{
	void *made;

	if (prepared == NULL)
		return;
	memcpy(&made, &prepared, sizeof made); /* nobody reads it now: const is over */
	*trial->phase = WIRE_RELEASING;
	trial->plugin->router.release(trial->instance->self, made);
	*trial->phase = WIRE_WAITING;
}

/* As a data plane does it, whatever servers the view before was of. */
static void trial_prepare(struct trial_view *t)
{
	const struct cr_router *router = &t->trial->plugin->router;
	const void *out = NULL;

	*t->trial->phase = WIRE_PREPARING;
	if (router->prepare(t->trial->instance->self, t->view, *t->made, &out) < 0)
		out = NULL;
	*t->trial->phase = WIRE_WAITING;
	if (out != *t->made)
		trial_release(t->trial, *t->made);
	*t->made = out;
	t->view->prepared = out;
}

/* Without anything prepared, as after a failure; new; and once more for the same servers. */
static int trial_calls(struct trial_view *t, struct err *err)
{
	int failed = trial_route(t, err);

	for (int i = 0; i < 2 && failed == 0 && t->trial->plugin->router.prepare != NULL; i++) {
		trial_prepare(t);
		failed = trial_route(t, err);
	}
	return failed;
}

/* The scratch arrays of one view: usable bytes, stamps, two orders. */
static int trial_run(struct trial_view *t, const struct image_header *image,
		     const struct image_service *service, struct err *err)
{
	const struct cr_router *router = &t->trial->plugin->router;
	uint8_t *usable = calloc(t->view->n, 1);
	uint16_t *start = calloc(t->view->n + 1, sizeof *start);
	int failed = err_set(err, -ENOMEM, "no memory for the trial");

	t->seen = calloc(t->view->n, sizeof *t->seen);
	t->order = calloc(CR_NONE, sizeof *t->order);
	if (usable != NULL && start != NULL && t->seen != NULL && t->order != NULL) {
		t->n = view_usable(image, service, start);
		for (size_t i = 0; i < t->n; i++)
			usable[start[i]] = 1;
		t->usable = usable;
		t->start = start;
		failed = 0;
		if (t->n > 0 && router->rank != NULL)
			failed = trial_rank(t, err);
		if (failed == 0 && t->n > 0 && router->route != NULL)
			failed = trial_calls(t, err);
	}
	free(usable);
	free(start);
	free(t->seen);
	free(t->order);
	return failed;
}

/* shared is a private copy: a trial must not move a real cursor. */
static int trial_on(const struct trial *trial, const struct image_header *image,
		    const struct image_service *service, const void **made, struct err *err)
{
	const struct cr_router *router = &trial->plugin->router;
	uint64_t shared[CR_SHARED_WORDS_MAX] = { 0 };
	struct cr_view *view = view_new(image, service, NULL, NULL, router, trial->counters);
	struct trial_view t = { .trial = trial, .view = view, .made = made };
	int failed;

	if (view == NULL)
		return err_set(err, -ENOMEM, "no memory for the trial");
	view->shared = router->shared_words > 0 ? shared : NULL;
	failed = trial_run(&t, image, service, err);
	view_free(view);
	return failed;
}

static int trial_on_made_up(const struct trial *trial, const void **made, struct err *err)
{
	const struct trial made_up = { trial->plugin, trial->instance, NULL, trial->phase };

	for (size_t i = 0; i < sizeof trial_cases / sizeof *trial_cases; i++) {
		struct image_header *fake = trial_image(&trial->plugin->router, &trial_cases[i]);
		int failed;

		if (fake == NULL)
			return err_set(err, -ENOMEM, "no memory for the trial");
		failed = trial_on(&made_up, fake, image_services(fake), made, err);
		free(fake);
		if (failed < 0)
			return err_prefix(err, "on a made-up service of %u server%s",
					  trial_cases[i].n, text_s(trial_cases[i].n));
	}
	return 0;
}

int ranker_trial(const struct trial *trial, const struct image_header *image, uint32_t instance,
		 struct err *err)
{
	const void *made = NULL;
	int failed = trial_on_made_up(trial, &made, err);

	if (failed == 0 && image != NULL && instance < image->instance.count)
		failed = trial_on(trial, image,
				  &image_services(image)[image_instances(image)[instance].service],
				  &made, err);
	trial_release(trial, made);
	return failed;
}
