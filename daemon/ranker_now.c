/* ranker_now.c - rankers that are asked once, outside the event loop: what a file is, whether it
 * accepts its options. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "ranker_internal.h"

/* A signal in between is not the plugin's time. */
static bool ranker_is_ready(struct pollfd *ready, int64_t limit_ns)
{
	const int64_t until = clock_now_ns() + limit_ns;
	int64_t left = limit_ns;
	int got;

	while ((got = poll(ready, 1, (int)(left / CLOCK_MS) + 1)) < 0 && errno == EINTR && left > 0)
		left = until - clock_now_ns();
	return got > 0;
}

/* It has not answered in time: whose fault is that? */
static int ranker_late_now(const struct ranker *child, const char *path, int64_t limit_ns,
			   struct err *err)
{
	/* of a time that was nearly used up a millisecond is waited */
	const int64_t limit_ms = limit_ns < CLOCK_MS ? 1 : limit_ns / CLOCK_MS;
	const double limit_s = (double)limit_ms / 1000;

	if (ranker_is_still(child))
		return err_set(err, -ETIME,
			       "%s: its process did not run for %g s (stopped, or no processor)",
			       path, limit_s);
	return err_set(err, -ETIMEDOUT, "%s did not return within %g s %s", path, limit_s,
		       ranker_phase_words(child->area->phase));
}

/* Wait for one message of a child that is asked while nobody runs the loop: the answer to op. */
static int ranker_hear_now(struct ranker *child, const char *path, enum wire_op op,
			   int64_t limit_ns, struct err *err)
{
	struct wire_message message = { 0 };
	struct pollfd ready = { .fd = child->sock, .events = POLLIN };
	ssize_t got;

	assert(child->area != NULL); /* ranker_launch() went well */
	if (!ranker_is_ready(&ready, limit_ns))
		return ranker_late_now(child, path, limit_ns, err);
	got = recv(child->sock, &message, sizeof message, MSG_TRUNC);
	if (got <= 0)
		return err_set(err, -ECHILD, "%s crashed, or ended its process, %s", path,
			       ranker_phase_words(child->area->phase));
	if (got != (ssize_t)sizeof message || message.op != op)
		return ranker_blame(err, path, child->area->phase);
	return message.result < 0 ? ranker_quote(err, path, &message) : 0;
}

static void ranker_end_now(struct ranker *child)
{
	int status;

	ranker_bury(child, &status);
	if (child->sock >= 0)
		close(child->sock);
	if (child->area != NULL)
		munmap(child->area, sizeof *child->area);
}

int ranker_describe(const char *path, const char *name, struct ranker_facts **out, struct err *err)
{
	const struct ranker_load load = { .path = path, .plugin = name };
	struct ranker child = { .sock = -1 };
	int failed = ranker_launch(&child, &load);

	*out = NULL;
	if (failed < 0)
		err_set(err, failed, "%s: no process to look into it: %s", path, err_words(failed));
	else
		failed = ranker_hear_now(&child, path, WIRE_HELLO, RANKER_TRIAL_NS, err);
	if (failed == 0) {
		child.area->facts[sizeof child.area->facts - 1] = '\0';
		*out = ranker_facts_read(child.area->facts, err);
		failed = *out != NULL ? 0 : -EBADMSG;
	}
	ranker_end_now(&child);
	return failed;
}

/* Start one and wait until it has loaded its plugin. */
static int ranker_start_now(struct ranker *child, const struct ranker_load *load, struct err *err)
{
	const int failed = ranker_launch(child, load);

	if (failed < 0)
		return err_set(err, failed, "%s: no process to try it: %s", load->path,
			       err_words(failed));
	return ranker_hear_now(child, load->path, WIRE_HELLO, RANKER_TRIAL_NS, err);
}

static int ranker_ask_now(struct ranker *child, const struct ranker_load *load, enum wire_op op,
			  int64_t limit_ns, struct err *err)
{
	const struct wire_message message = { .op = op, .instance = IMAGE_NONE };

	child->ran_ns = ranker_ran_ns(child);
	(void)send(child->sock, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
	return ranker_hear_now(child, load->path, op, limit_ns, err);
}

/* What open() wrote before it failed; without memory the sentence has to do. */
static char *ranker_take_lines(const struct ranker *child)
{
	const struct wire_area *area = child->area;
	char *lines = area != NULL ? strndup(area->refused, sizeof area->refused) : NULL;

	if (lines != NULL && lines[strspn(lines, "\n")] == '\0') { /* there is nothing to tell */
		free(lines);
		lines = NULL;
	}
	return lines;
}

int ranker_check(const struct ranker_load *load, bool is_trial, char **lines, struct err *err)
{
	struct ranker child = { .sock = -1 };
	int failed = ranker_start_now(&child, load, err);

	if (failed == 0)
		failed = ranker_ask_now(&child, load, is_trial ? WIRE_TRY : WIRE_OPEN,
					RANKER_TRIAL_NS, err);
	if (lines != NULL)
		*lines = failed < 0 ? ranker_take_lines(&child) : NULL;
	ranker_end_now(&child);
	return failed;
}

/* As many as fit, from the i-th on. Returns how many. */
static size_t ranker_put_targets(struct wire_targets *to, const struct target_list *from, size_t i)
{
	size_t n = 0, bytes = 0;

	for (; n < WIRE_TARGETS_MAX && i + n < from->n; n++) {
		const size_t len = strlen(from->target[i + n]) + 1;

		assert(len <= TARGET_LIST_LEN);
		if (len > sizeof to->text - bytes)
			break;
		memcpy(to->text + bytes, from->target[i + n], len);
		to->verdict[n].is_bad = false;
		bytes += len;
	}
	to->n = (uint32_t)n;
	return n;
}

/* Ask about those in the area, and take the time off. */
static int ranker_ask_targets(struct ranker *child, const struct ranker_load *load,
			      int64_t *left_ns, struct err *err)
{
	const int64_t begun_ns = clock_now_ns();
	const int failed = ranker_ask_now(child, load, WIRE_TARGETS, *left_ns, err);
	const int64_t took_ns = clock_now_ns() - begun_ns;

	*left_ns = took_ns < *left_ns ? *left_ns - took_ns : 0;
	return failed;
}

int ranker_check_targets(const struct ranker_load *load, const struct target_list *targets,
			 struct err *err)
{
	struct ranker child = { .sock = -1 };
	int64_t own_ns = TARGET_LIST_NS;
	int64_t *left_ns = targets->left_ns != NULL ? targets->left_ns : &own_ns;
	int failed = ranker_start_now(&child, load, err);
	size_t n;

	for (size_t i = 0; failed == 0 && i < targets->n; i += n) {
		struct wire_targets *area = &child.area->targets;

		n = ranker_put_targets(area, targets, i);
		failed = ranker_ask_targets(&child, load, left_ns, err);
		for (size_t k = 0; failed == 0 && k < n; k++) {
			struct wire_verdict verdict = area->verdict[k]; /* whatever it wrote */

			verdict.text[sizeof verdict.text - 1] = '\0';
			if (verdict.is_bad)
				targets->bad(targets->user, i + k, verdict.text);
		}
	}
	ranker_end_now(&child);
	return failed;
}
