/* publisher.c - rounds of building, ranking and publishing. */
#include "publisher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "smooth.h"

struct publisher {
	struct publisher_context context;
	struct event *debounce, *tick;
	struct image_header *asked; /* what the rankers are working on; NULL: no round is running */
	uint32_t *instance;         /* in it, by seat */
	struct smooth *smooth;
	bool is_smooth_old;         /* it knows another configuration */
	struct image_header **seen; /* by service: asked with smoothed metrics; NULL: as it is */
	struct image_header *published;
	uint64_t asked_seq, published_seq; /* see servers_scan() */
	bool has_base;                     /* published is of this configuration */
	bool is_held;                      /* nothing is published yet */
	bool again;                        /* something changed while a round was running */
	int64_t cost_ns; /* of the last round: asking and publishing, not waiting */
	int64_t asked_cost_ns;
	uint64_t prepare;
	uint64_t complained; /* generation of the last failure that was logged, + 1 */
};

static const struct config *publisher_config(const struct publisher *publisher)
{
	return *publisher->context.config;
}

static struct seats *publisher_seats(const struct publisher *publisher)
{
	return *publisher->context.seats;
}

/* The newest image is the base of the next one. */
static struct image_header *publisher_build(
	struct publisher *publisher, uint32_t *instance,
	uint64_t *seq) /* NOLINT(readability-non-const-parameter): assemble() writes it */
{
	const bool from_asked = publisher->asked != NULL;
	const struct assemble in = {
		.config = publisher_config(publisher),
		.servers = publisher->context.servers,
		.counters = publisher->context.counters,
		.roster = *publisher->context.roster,
		.seats = publisher_seats(publisher),
		.now_ns = clock_now_ns(),
		.generation = snapshot_generation(publisher->context.writer) + 1,
		.prepare = publisher->prepare,
		.with_coming = publisher->prepare != 0,
		.base = from_asked            ? publisher->asked
			: publisher->has_base ? publisher->published
					      : NULL,
		.base_seq = from_asked ? publisher->asked_seq : publisher->published_seq,
		.seq = seq,
	};

	return assemble(&in, instance);
}

/*** The end of a round ***/

static int publisher_publish(struct publisher *publisher, struct err *err)
{
	const int64_t began_ns = clock_now_ns();
	uint64_t seq = 0;
	struct image_header *image = publisher_build(publisher, NULL, &seq);

	if (image == NULL) {
		err_set(err, -ENOMEM, "no memory for the image");
		log_error("state not published", "error=\"%s\"", err->text);
		return err->code;
	}
	if (snapshot_publish(publisher->context.writer, image, err) < 0) {
		if (publisher->complained != image->generation)
			log_error("state not published", "error=\"%s\"", err->text);
		publisher->complained = image->generation;
		free(image);
		return err->code;
	}
	free(publisher->published);
	publisher->published = image;
	publisher->published_seq = seq;
	publisher->has_base = true;
	publisher->cost_ns = publisher->asked_cost_ns + clock_now_ns() - began_ns;
	return 0;
}

/* Is there a sitter in office whose first or current answer is still to come? */
static bool publisher_waits(const struct publisher *publisher)
{
	const struct seats *seats = publisher_seats(publisher);

	for (size_t i = 0; i < seats->n; i++) {
		const struct sitter *sitter = seats->seat[i].now;

		if (sitter != NULL && sitter->ranker != NULL && !sitter->is_late &&
		    ranker_is_busy(sitter->ranker))
			return true;
	}
	return false;
}

static void publisher_forget_round(struct publisher *publisher)
{
	const size_t n = publisher->asked != NULL ? publisher->asked->service.count : 0;

	for (size_t i = 0; publisher->seen != NULL && i < n; i++)
		free(publisher->seen[i]);
	free(publisher->seen);
	publisher->seen = NULL;
	free(publisher->asked);
	free(publisher->instance);
	publisher->asked = NULL;
	publisher->instance = NULL;
}

static void publisher_end_round(struct publisher *publisher)
{
	struct err err = { 0 };

	(void)publisher_publish(publisher, &err); /* it has logged why */
	publisher_forget_round(publisher);
	if (publisher->again)
		publisher_run(publisher);
}

/*** The start of a round ***/

/* Smooth the samples that are new in this round. Without memory they stay as they are. */
static void publisher_smooth(struct publisher *publisher)
{
	if (publisher->is_smooth_old &&
	    smooth_configure(publisher->smooth, publisher_config(publisher)) < 0)
		log_error("metrics are not smoothed", "error=\"no memory\"");
	publisher->is_smooth_old = false;
	smooth_update(publisher->smooth, publisher->asked);
	publisher->seen =
		calloc(publisher->asked->service.count + 1, sizeof(struct image_header *));
}

/* The image as a service's rankers see it. */
static const struct image_header *publisher_view(struct publisher *publisher, size_t service)
{
	if (publisher->seen == NULL || !smooth_is_used(publisher->smooth, service))
		return publisher->asked;
	if (publisher->seen[service] == NULL)
		publisher->seen[service] =
			smooth_image(publisher->smooth, publisher->asked, service);
	return publisher->seen[service] != NULL ? publisher->seen[service] : publisher->asked;
}

static void publisher_ask(struct publisher *publisher, size_t seat)
{
	const struct seat *asked = &publisher_seats(publisher)->seat[seat];
	const struct image_service *service = &image_services(publisher->asked)[asked->service];
	const struct image_choice *choice = asked->is_preset ? &service->preset : &service->router;
	const struct sitter *sitter = asked->now;

	if (sitter == NULL || sitter->ranker == NULL || !sitter_ranks(sitter) ||
	    ranker_is_busy(sitter->ranker) || service->n_usable == 0)
		return;
	/* the contract: without a fresh value of what it needs, a router is not asked */
	if (choice->fresh_until_ns < publisher->asked->taken_ns)
		return;
	ranker_rank(sitter->ranker, publisher_view(publisher, asked->service),
		    publisher->instance[seat]);
}

void publisher_run(struct publisher *publisher)
{
	const size_t n = publisher_seats(publisher)->n;
	const int64_t began_ns = clock_now_ns();

	publisher->again = publisher->asked != NULL;
	if (publisher->again || publisher->is_held)
		return;
	evtimer_del(publisher->debounce);
	/* Not before: thousands of puts would be as many wake-ups. */
	servers_clear(publisher->context.servers);
	publisher->instance = calloc(2 * n + 1, sizeof *publisher->instance);
	if (publisher->instance != NULL)
		publisher->asked =
			publisher_build(publisher, publisher->instance, &publisher->asked_seq);
	if (publisher->asked == NULL) {
		log_error("state not published", "error=\"no memory for the image\"");
		publisher_forget_round(publisher);
		return;
	}
	publisher_smooth(publisher);
	for (size_t i = 0; i < n; i++)
		publisher_ask(publisher, i);
	publisher->asked_cost_ns = clock_now_ns() - began_ns;
	if (!publisher_waits(publisher))
		publisher_end_round(publisher);
}

int publisher_run_now(struct publisher *publisher, struct err *err)
{
	const int failed = publisher_publish(publisher, err);

	publisher_run(publisher);
	return failed;
}

/*** Events ***/

/* The rows that were offered when the question was put: a server drained since is not the router's
 * fault. */
static uint8_t *publisher_usable(const struct publisher *publisher, const struct seat *seat)
{
	const struct image_service *service = &image_services(publisher->asked)[seat->service];
	const uint32_t *rows = image_rows(publisher->asked, service);
	uint8_t *usable = calloc(seat->n_rows + 1, 1);

	for (size_t i = 0; usable != NULL && i < seat->n_rows; i++)
		usable[i] = image_is_usable(&image_servers(publisher->asked)[rows[i]]);
	return usable;
}

static void publisher_take(struct publisher *publisher, struct sitter *sitter)
{
	uint8_t *usable;

	if (publisher->asked != NULL && sitter->is_void && !sitter->is_late) {
		/* to a question of before: this round waits for an answer to its own */
		sitter->is_void = false;
		publisher_ask(publisher, (size_t)(sitter->seat - sitter->seat->seats->seat));
		return;
	}
	/* an answer after its deadline, or to an image that is gone: ask again */
	if (publisher->asked == NULL || sitter->is_late) {
		sitter->is_late = sitter->is_void = false;
		publisher_run(publisher);
		return;
	}
	usable = publisher_usable(publisher, sitter->seat);
	if (usable != NULL)
		sitter_take_answer(sitter, usable);
	free(usable);
}

void publisher_heard(struct publisher *publisher, struct sitter *sitter, enum ranker_event event)
{
	switch (event) {
	case RANKER_RANKED:
		publisher_take(publisher, sitter);
		break;
	case RANKER_LATE:
		sitter->is_late = true;
		break;
	case RANKER_TRIED:
	case RANKER_DEAD:
		break;
	}
	if (publisher->asked != NULL && !publisher_waits(publisher))
		publisher_end_round(publisher);
}

static void publisher_due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	publisher_run(arg);
}

int64_t publisher_pause_ns(int64_t cost_ns)
{
	const int64_t pause_ns = cost_ns * PUBLISHER_SHARE;

	if (pause_ns > PUBLISHER_PAUSE_MS * CLOCK_MS)
		return PUBLISHER_PAUSE_MS * CLOCK_MS;
	return pause_ns > PUBLISHER_DEBOUNCE_MS * CLOCK_MS ? pause_ns
							   : PUBLISHER_DEBOUNCE_MS * CLOCK_MS;
}

void publisher_touch(struct publisher *publisher)
{
	const int64_t pause_ns = publisher_pause_ns(publisher->cost_ns);
	const struct timeval tv = { .tv_sec = pause_ns / CLOCK_S,
				    .tv_usec = pause_ns % CLOCK_S / CLOCK_US };

	if (!evtimer_pending(publisher->debounce, NULL))
		evtimer_add(publisher->debounce, &tv);
}

void publisher_hold(struct publisher *publisher, bool is_held)
{
	publisher->is_held = is_held;
}

void publisher_prepare(struct publisher *publisher, uint64_t token)
{
	publisher->prepare = token;
}

void publisher_reset(struct publisher *publisher)
{
	struct seats *seats = publisher_seats(publisher);

	for (size_t i = 0; publisher->asked != NULL && i < seats->n; i++) {
		struct sitter *sitter = seats->seat[i].now;

		if (sitter != NULL && sitter->ranker != NULL && ranker_is_busy(sitter->ranker))
			sitter->is_void = true;
	}
	publisher_forget_round(publisher);
	publisher->again = false;
	publisher->has_base = false;
	publisher->is_smooth_old = true;
}

const struct smooth *publisher_smoothed(const struct publisher *publisher)
{
	return publisher->is_smooth_old ? NULL : publisher->smooth;
}

const struct image_header *publisher_image(const struct publisher *publisher)
{
	return publisher->published;
}

struct publisher *publisher_new(const struct publisher_context *context)
{
	const struct timeval tick = { .tv_usec = PUBLISHER_TICK_MS * 1000 };
	struct publisher *publisher = calloc(1, sizeof *publisher);

	if (publisher == NULL)
		return NULL;
	publisher->context = *context;
	publisher->debounce = evtimer_new(context->base, publisher_due, publisher);
	publisher->smooth = smooth_new();
	publisher->is_smooth_old = true;
	publisher->tick = event_new(context->base, -1, EV_PERSIST, publisher_due, publisher);
	if (publisher->debounce == NULL || publisher->tick == NULL || publisher->smooth == NULL) {
		publisher_free(publisher);
		return NULL;
	}
	event_add(publisher->tick, &tick);
	return publisher;
}

void publisher_free(struct publisher *publisher)
{
	if (publisher == NULL)
		return;
	if (publisher->debounce != NULL)
		event_free(publisher->debounce);
	if (publisher->tick != NULL)
		event_free(publisher->tick);
	publisher_forget_round(publisher);
	smooth_free(publisher->smooth);
	free(publisher->published);
	free(publisher);
}
