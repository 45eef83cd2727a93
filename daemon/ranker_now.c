/* ranker_now.c - rankers that are asked once, outside the event loop: what a file is, whether it
 * accepts its options. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "ranker_internal.h"

/* A signal in between is not the plugin's time. */
static bool ranker_is_ready(struct pollfd *ready)
{
	const int64_t until = clock_now_ns() + RANKER_TRIAL_NS;
	int64_t left = RANKER_TRIAL_NS;
	int got;

	while ((got = poll(ready, 1, (int)(left / CLOCK_MS) + 1)) < 0 && errno == EINTR && left > 0)
		left = until - clock_now_ns();
	return got > 0;
}

/* Wait for one message of a child that is asked while nobody runs the loop. */
static int ranker_hear_now(struct ranker *child, const char *path, struct err *err)
{
	struct wire_message message = { 0 };
	struct pollfd ready = { .fd = child->sock, .events = POLLIN };

	assert(child->area != NULL); /* ranker_launch() went well */
	if (!ranker_is_ready(&ready))
		return err_set(err, -ETIMEDOUT, "%s did not return within 2 s %s", path,
			       ranker_phase_words(child->area->phase));
	if (recv(child->sock, &message, sizeof message, 0) != (ssize_t)sizeof message)
		return err_set(err, -ECHILD, "%s crashed, or ended its process, %s", path,
			       ranker_phase_words(child->area->phase));
	if (message.result < 0)
		return err_set(err, message.result, "%.*s", (int)sizeof message.text - 1,
			       message.text);
	return 0;
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
		failed = ranker_hear_now(&child, path, err);
	if (failed == 0) {
		child.area->facts[sizeof child.area->facts - 1] = '\0';
		*out = ranker_facts_read(child.area->facts, err);
		failed = *out != NULL ? 0 : -EBADMSG;
	}
	ranker_end_now(&child);
	return failed;
}

int ranker_check(const struct ranker_load *load, bool is_trial, struct err *err)
{
	const struct wire_message message = { .op = is_trial ? WIRE_TRY : WIRE_OPEN,
					      .instance = IMAGE_NONE };
	struct ranker child = { .sock = -1 };
	int failed = ranker_launch(&child, load);

	if (failed < 0)
		err_set(err, failed, "%s: no process to try it: %s", load->path, err_words(failed));
	else
		failed = ranker_hear_now(&child, load->path, err);
	if (failed == 0) {
		(void)send(child.sock, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
		failed = ranker_hear_now(&child, load->path, err);
	}
	ranker_end_now(&child);
	return failed;
}
