/* ranker.c - the daemon's side of a ranker: start, ask, time, bury. */
#include "ranker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "ranker_internal.h"
#include "ranker_wire.h"
#include "text.h"

#define RANKER_ENDING_MS 500 /* from the end of its socket to the end of its process */

/*** Events ***/

static void ranker_arm(struct ranker *ranker, int64_t ns)
{
	const struct timeval tv = { .tv_sec = ns / CLOCK_S, .tv_usec = ns % CLOCK_S / CLOCK_US };

	evtimer_add(ranker->timer, &tv);
}

static void ranker_report(struct ranker *ranker, enum ranker_event event, const struct err *err)
{
	ranker->fn(ranker->arg, ranker, event, err);
}

/* Signals that programs do not send themselves by mistake. */
static bool ranker_is_outside(int signal)
{
	return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
	       signal == SIGQUIT;
}

/* Its socket is closed: has its process ended? One that was killed closes it just before. */
static bool ranker_has_ended(const struct ranker *ranker)
{
	struct pollfd end = { .fd = pidfd_open(ranker->pid, 0), .events = POLLIN };
	const bool is_unknown = end.fd < 0;
	const bool has_ended = !is_unknown && poll(&end, 1, RANKER_ENDING_MS) != 0;

	if (!is_unknown)
		close(end.fd);
	return is_unknown || has_ended;
}

/* The plugin wrote into the socket, or closed it: nothing in it can be believed any more. */
static void ranker_broke(struct ranker *ranker)
{
	const uint32_t phase = ranker->area->phase;
	struct err err = { 0 };
	int status;

	event_del(ranker->readable);
	event_del(ranker->timer);
	ranker_bury(ranker, &status);
	(void)ranker_blame(&err, ranker->plugin, phase);
	ranker->op = 0;
	ranker_report(ranker, RANKER_DEAD, &err);
}

/* The child's end, in words: how it ended and what it was doing. */
static void ranker_died(struct ranker *ranker, bool is_killed)
{
	const uint32_t phase = ranker->area->phase;
	const bool is_still = is_killed && ranker_is_still(ranker);
	struct err err = { 0 };
	int status;

	event_del(ranker->readable);
	event_del(ranker->timer);
	ranker_bury(ranker, &status);
	/* it had ended before, and what it forked kept its socket open */
	is_killed = is_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (is_killed && (phase == WIRE_WAITING || is_still))
		err_set(&err, -ETIME,
			"%s: its process did not run for 2 s (stopped, or no processor)",
			ranker->plugin);
	else if (is_killed)
		err_set(&err, -ETIMEDOUT, "%s did not return within 2 s %s: it was ended",
			ranker->plugin, ranker_phase_words(phase));
	else if (WIFSIGNALED(status) && ranker_is_outside(WTERMSIG(status)))
		err_set(&err, -EINTR, "%s: its process was killed from outside", ranker->plugin);
	else if (WIFSIGNALED(status))
		err_set(&err, -ECHILD, "%s crashed %s (signal %d, SIG%s)", ranker->plugin,
			ranker_phase_words(phase), WTERMSIG(status),
			sigabbrev_np(WTERMSIG(status)));
	else
		err_set(&err, -ECHILD, "%s ended its process %s", ranker->plugin,
			ranker_phase_words(phase));
	ranker->op = 0;
	ranker_report(ranker, RANKER_DEAD, &err);
}

static void ranker_timed_out(evutil_socket_t fd, short what, void *arg)
{
	struct ranker *ranker = arg;
	struct err err = { 0 };

	(void)fd;
	(void)what;
	if (ranker->op != WIRE_RANK || ranker->is_late) {
		ranker_died(ranker, true);
		return;
	}
	ranker->is_late = true;
	ranker_arm(ranker, RANKER_LOOPING_NS - RANKER_DEADLINE_NS);
	err_set(&err, -ETIME, "%s: rank() is past its deadline of 500 ms", ranker->plugin);
	ranker_report(ranker, RANKER_LATE, &err);
}

static void ranker_send(struct ranker *ranker, uint32_t op, uint32_t instance)
{
	const struct wire_message message = { .op = op, .instance = instance };

	ranker->op = op;
	ranker->is_late = false;
	ranker->ran_ns = ranker_ran_ns(ranker);
	ranker_arm(ranker, op == WIRE_RANK ? RANKER_DEADLINE_NS : RANKER_TRIAL_NS);
	/* a failure shows as the end of the socket, in the loop */
	(void)send(ranker->sock, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What the child wrote may be anything: copy it once, then check the copy. */
static void ranker_copy_answer(struct ranker *ranker)
{
	const struct wire_area *area = ranker->area;
	struct ranker_answer *answer = &ranker->answer;

	free(ranker->order);
	free(ranker->column);
	*answer = (struct ranker_answer){ .generation = area->generation,
					  .verdict = area->verdict,
					  .n = area->n,
					  .n_rows = area->n_rows,
					  .n_columns = area->n_columns };
	if (answer->n_rows >= CR_NONE || answer->n > answer->n_rows ||
	    answer->n_columns > CR_COLUMNS_MAX)
		*answer = (struct ranker_answer){ .verdict = -EBADMSG };
	ranker->order = calloc(answer->n + 1, sizeof *ranker->order);
	ranker->column =
		calloc((size_t)answer->n_rows * answer->n_columns + 1, sizeof *ranker->column);
	if (ranker->order == NULL || ranker->column == NULL) {
		*answer = (struct ranker_answer){ .verdict = -ENOMEM };
		return;
	}
	memcpy(ranker->order, area->order, answer->n * sizeof *ranker->order);
	memcpy(ranker->column, area->column,
	       (size_t)answer->n_rows * answer->n_columns * sizeof *ranker->column);
	answer->order = ranker->order;
	answer->column = ranker->column;
}

static void ranker_copy_saved(struct ranker *ranker)
{
	const uint32_t len = ranker->area->saved_len;

	free(ranker->saved);
	ranker->saved_len = len <= RANKER_SAVED_MAX ? len : 0;
	ranker->saved = malloc(ranker->saved_len + 1);
	if (ranker->saved != NULL)
		memcpy(ranker->saved, ranker->area->saved, ranker->saved_len);
	else
		ranker->saved_len = 0;
}

static void ranker_fail(struct ranker *ranker, const struct wire_message *message)
{
	struct err err = { 0 };
	int status;

	(void)ranker_quote(&err, ranker->plugin, message);
	event_del(ranker->readable);
	event_del(ranker->timer);
	ranker_bury(ranker, &status);
	ranker_report(ranker, RANKER_DEAD, &err);
}

static void ranker_heard(struct ranker *ranker, const struct wire_message *message)
{
	const uint32_t op = ranker->op;

	/* each message answers the request that is under way */
	if (op == 0 || message->op != op) {
		ranker_broke(ranker);
		return;
	}
	evtimer_del(ranker->timer);
	ranker->op = 0;
	if (message->result < 0) {
		ranker_fail(ranker, message);
		return;
	}
	if (op == WIRE_HELLO) {
		ranker->has_said_hello = true;
		if (ranker->next_op != 0)
			ranker_send(ranker, ranker->next_op, ranker->next_instance);
		ranker->next_op = 0;
	} else if (op == WIRE_TRY) {
		ranker_report(ranker, RANKER_TRIED, NULL);
	} else if (op == WIRE_RANK) {
		ranker_copy_answer(ranker);
		ranker_copy_saved(ranker);
		ranker_report(ranker, RANKER_RANKED, NULL);
	}
}

static void ranker_readable(evutil_socket_t fd, short what, void *arg)
{
	struct ranker *ranker = arg;
	struct wire_message message;
	ssize_t got = recv(fd, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);

	(void)what;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got != (ssize_t)sizeof message) {
		if (got > 0 || !ranker_has_ended(ranker))
			ranker_broke(ranker);
		else
			ranker_died(ranker, false);
		return;
	}
	message.text[sizeof message.text - 1] = '\0';
	ranker_heard(ranker, &message);
}

/*** The interface ***/

struct ranker *ranker_start(struct event_base *base, const struct ranker_load *load, ranker_fn *fn,
			    void *arg, struct err *err)
{
	struct ranker *ranker = calloc(1, sizeof *ranker);
	int failed;

	if (ranker == NULL) {
		err_set(err, -ENOMEM, "no memory for a ranker");
		return NULL;
	}
	ranker->sock = -1;
	ranker->fn = fn;
	ranker->arg = arg;
	text_copy(ranker->plugin, sizeof ranker->plugin, load->plugin);
	failed = ranker_launch(ranker, load);
	if (failed == 0) {
		ranker->readable = event_new(base, ranker->sock, EV_READ | EV_PERSIST,
					     ranker_readable, ranker);
		ranker->timer = evtimer_new(base, ranker_timed_out, ranker);
		if (ranker->readable == NULL || ranker->timer == NULL)
			failed = -ENOMEM;
	}
	if (failed < 0) {
		err_set(err, failed, "%s: no process for it: %s", load->plugin, err_words(failed));
		ranker_free(ranker);
		return NULL;
	}
	event_add(ranker->readable, NULL);
	ranker->op = WIRE_HELLO;
	ranker_arm(ranker, RANKER_TRIAL_NS);
	return ranker;
}

void ranker_free(struct ranker *ranker)
{
	int status;

	if (ranker == NULL)
		return;
	if (ranker->readable != NULL)
		event_free(ranker->readable);
	if (ranker->timer != NULL)
		event_free(ranker->timer);
	ranker_bury(ranker, &status);
	if (ranker->sock >= 0)
		close(ranker->sock);
	if (ranker->area != NULL)
		munmap(ranker->area, sizeof *ranker->area);
	free(ranker->order);
	free(ranker->column);
	free(ranker->saved);
	free(ranker);
}

static void ranker_ask(struct ranker *ranker, uint32_t op, const struct image_header *image,
		       uint32_t instance)
{
	if (image != NULL)
		memcpy(ranker->area->image, image, image->bytes);
	if (ranker->has_said_hello) {
		ranker_send(ranker, op, image != NULL ? instance : IMAGE_NONE);
		return;
	}
	ranker->next_op = op;
	ranker->next_instance = image != NULL ? instance : IMAGE_NONE;
}

void ranker_try(struct ranker *ranker, const struct image_header *image, uint32_t instance)
{
	ranker_ask(ranker, WIRE_TRY, image, instance);
}

void ranker_rank(struct ranker *ranker, const struct image_header *image, uint32_t instance)
{
	ranker_ask(ranker, WIRE_RANK, image, instance);
}

bool ranker_is_busy(const struct ranker *ranker)
{
	return (ranker->op != 0 && ranker->op != WIRE_HELLO) || ranker->next_op != 0;
}

const struct ranker_answer *ranker_answer(const struct ranker *ranker)
{
	return &ranker->answer;
}

const void *ranker_saved(const struct ranker *ranker, size_t *len)
{
	*len = ranker->saved_len;
	return ranker->saved;
}
