/*
 * probe_child.c - one poll in a child process, so that a collector that crashes or never returns
 * takes nobody with it. The child writes records into a file in memory; the parent reads them when
 * it has ended.
 */
#include "probe_internal.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "option.h"
#include "plugin.h"
#include "text.h"

#define OPTIONS_MAX 130
#define METRICS_MAX 128
#define GRACE_NS    (1 * CLOCK_S)  /* past the poll's deadline */
#define OPENING_NS  (10 * CLOCK_S) /* to load and open it */
#define BYTES_MAX   (160u << 20)   /* of all records: an answer may come with each byte escaped */

enum record_kind {
	RECORD_LOG = 1,
	RECORD_ANSWER,
	RECORD_PUT,
	RECORD_REJECT,
	RECORD_SKIP,
	RECORD_ABSENT,
	RECORD_END
};

/** Followed by len bytes of text. */
struct record {
	enum record_kind kind;
	int why;
	double value, age_s;
	char row[64], metric[64];
	size_t len;
};

/*** The child ***/

struct child {
	struct cr_host host; /* first: what the collector calls */
	FILE *out;
	char metric[METRICS_MAX][64];
	int n_metrics;
	struct cr_target target;
	bool has_ended;
};

/** One visit, as the callbacks find it. */
struct visit {
	struct cr_round round; /* first */
	struct child *child;
};

static struct child *child_of(const struct cr_round *round)
{
	return ((const struct visit *)(const void *)round)->child;
}

static void write_record(struct child *child, struct record *record, const char *text)
{
	text = text != NULL ? text : "";
	record->len = strlen(text);
	(void)fwrite(record, sizeof *record, 1, child->out);
	(void)fwrite(text, 1, record->len, child->out);
}

static CR_PRINTF(3, 4) void child_log(const struct cr_host *host, enum cr_level level,
				      const char *fmt, ...)
{
	struct child *child = (struct child *)(uintptr_t)host;
	struct record record = { .kind = RECORD_LOG };
	va_list args;
	char *text;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	if (level == CR_DEBUG && strncmp(text, "answer\n", 7) == 0)
		record.kind = RECORD_ANSWER;
	write_record(child, &record, text);
	free(text);
}

static int child_metric(const struct cr_host *host, const char *name)
{
	struct child *child = (struct child *)(uintptr_t)host;

	for (int i = 0; i < child->n_metrics; i++)
		if (strcmp(child->metric[i], name) == 0)
			return i;
	if (child->n_metrics == METRICS_MAX ||
	    !text_copy(child->metric[child->n_metrics], sizeof child->metric[0], name))
		return -ENOSPC;
	return child->n_metrics++;
}

/* record: what there is to say of it but whose it is. */
static void write_value(struct child *child, struct record *record, const char *row, int metric,
			const char *text)
{
	if (metric < 0 || metric >= child->n_metrics)
		return;
	(void)text_copy(record->row, sizeof record->row, row != NULL ? row : "");
	(void)text_copy(record->metric, sizeof record->metric, child->metric[metric]);
	write_record(child, record, text);
}

static void child_put(const struct cr_round *r, struct cr_target *t, const char *row, int metric,
		      double value, int64_t taken_ns)
{
	struct record record = { .kind = RECORD_PUT, .value = value };

	(void)t;
	if (taken_ns != 0)
		record.age_s = (double)(clock_now_ns() - taken_ns) / 1e9;
	write_value(child_of(r), &record, row, metric, NULL);
}

static void child_reject(const struct cr_round *r, struct cr_target *t, const char *row, int metric,
			 const char *word, const char *text)
{
	struct record record = { .kind = RECORD_REJECT, .value = (double)NAN };

	(void)t;
	(void)text;
	write_value(child_of(r), &record, row, metric, word);
}

static void child_skip(const struct cr_round *r, struct cr_target *t, const char *row,
		       const char *text)
{
	struct record record = { .kind = RECORD_SKIP };

	(void)t;
	(void)text_copy(record.row, sizeof record.row, row != NULL ? row : "");
	write_record(child_of(r), &record, text);
}

static void child_absent(const struct cr_round *r, struct cr_target *t, const char *row,
			 const char *text)
{
	struct record record = { .kind = RECORD_ABSENT };

	(void)t;
	(void)text_copy(record.row, sizeof record.row, row != NULL ? row : "");
	write_record(child_of(r), &record, text);
}

static void child_end(struct child *child, int why, const char *text)
{
	struct record record = { .kind = RECORD_END, .why = why };

	if (!child->has_ended)
		write_record(child, &record, text);
	child->has_ended = true;
}

static void child_done(const struct cr_round *r, struct cr_target *t)
{
	(void)t;
	child_end(child_of(r), 0, NULL);
}

static void child_fail(const struct cr_round *r, struct cr_target *t, enum cr_why why,
		       const char *text)
{
	(void)t;
	child_end(child_of(r), why > 0 ? (int)why : (int)CR_REPLY, text);
}

static int64_t collect(struct child *child, const struct cr_collector *table, void *self,
		       bool is_first)
{
	struct cr_target *target[] = { &child->target };
	struct visit visit = { .round = { .now_ns = clock_now_ns(),
					  .n = is_first,
					  .target = target,
					  .put = child_put,
					  .skip = child_skip,
					  .done = child_done,
					  .fail = child_fail,
					  .reject = child_reject,
					  .absent = child_absent },
			       .child = child };

	return table->collect(self, &visit.round);
}

static void run_poll(struct child *child, const struct cr_collector *table, void *self,
		     int64_t timeout_ns)
{
	struct pollfd fd = { .fd = table->fd != NULL ? table->fd(self) : -1, .events = POLLIN };
	int64_t next_ns, now_ns = clock_now_ns();
	const int64_t until_ns = now_ns + timeout_ns + GRACE_NS;

	child->target.deadline_ns = now_ns + timeout_ns;
	next_ns = collect(child, table, self, true);
	while (!child->has_ended && next_ns >= 0 && (now_ns = clock_now_ns()) < until_ns) {
		int64_t wait_ns = (next_ns < until_ns ? next_ns : until_ns) - now_ns;

		wait_ns = wait_ns > 0 ? wait_ns : 0;
		(void)poll(&fd, 1, (int)(wait_ns / CLOCK_MS) + 1);
		next_ns = collect(child, table, self, false);
	}
	if (next_ns < 0)
		child_end(child, CR_REPLY, "the collector failed");
	child_end(child, CR_TIMEOUT, "the collector did not end the poll by its deadline");
}

/* The entry's options, and the wish to see answers where the plugin knows it. */
static int parse_options(const struct config_source *source, const struct cr_option *table,
			 union cr_value *value, struct err *err)
{
	struct option_text given[OPTIONS_MAX];
	size_t n = 0;

	for (; n < source->n_options && n < OPTIONS_MAX - 1; n++)
		given[n] =
			(struct option_text){ source->options[n].name, source->options[n].value };
	if (option_find(table, "log_answers") >= 0) {
		size_t at = 0;

		while (at < n && strcmp(given[at].name, "log_answers") != 0)
			at++;
		given[at] = (struct option_text){ "log_answers", "true" };
		n += at == n;
	}
	return option_parse(table, given, n, value, err);
}

static void run_child(struct child *child, const char *path, const struct config_source *source)
{
	struct plugin *plugin = NULL;
	union cr_value value[OPTIONS_MAX];
	char text[256] = "";
	struct cr_open in = { .host = &child->host,
			      .option = value,
			      .source = source->name,
			      .err = text,
			      .err_len = sizeof text };
	struct err err = { 0, "" };
	void *self = NULL;
	int rc;

	if (plugin_open(path, source->plugin, &plugin, &err) < 0 ||
	    parse_options(source, plugin_options(plugin), value, &err) < 0) {
		child_end(child, PROBE_NOT_ENDED, err.text);
		return;
	}
	rc = plugin->collector.open != NULL ? plugin->collector.open(&in, &self) : 0;
	text[sizeof text - 1] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (rc < 0) {
		child_end(child, PROBE_NOT_ENDED, text[0] != '\0' ? text : err_words(rc));
		return;
	}
	run_poll(child, &plugin->collector, self, source->timeout_ns);
}

static _Noreturn void child_main(int fd, const char *path, const struct config_source *source,
				 const struct probe_target *target)
{
	struct child child = { .host = { .log = child_log, .metric = child_metric },
			       .out = fdopen(fd, "w"),
			       .target = { .name = target->name,
					   .endpoint = target->endpoint,
					   .var = target->vars,
					   .n_vars = target->n_vars,
					   .is_shared = target->is_shared } };

	if (child.out == NULL)
		_exit(1);
	run_child(&child, path, source);
	(void)fclose(child.out);
	_exit(0); /* its instance and libraries end with it */
}

/*** The parent ***/

/* The rest of a line that begins with this word and a blank; the text is cut there. */
static char *take_line(char **at, const char *word)
{
	const size_t len = strlen(word);
	char *line = *at, *end = strchr(line, '\n');

	if (end == NULL || strncmp(line, word, len) != 0)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return line + len;
}

/* In place: "\\0" is a NUL, and "\\\\" a "\\". Returns the length. */
static size_t unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at != '\0'; at++) {
		const bool is_escaped = at[0] == '\\' && at[1] != '\0';

		at += is_escaped;
		*to++ = (char)(is_escaped && *at == '0' ? '\0' : *at);
	}
	*to = '\0';
	return (size_t)(to - text);
}

/* text: taken. */
static void add_answer(struct probe_poll *poll, char *text)
{
	struct probe_answer *grown = reallocarray(poll->answer, poll->n_answers + 1, sizeof *grown),
			    answer = { 0 };
	char *at = text + strlen("answer\n"), *line;

	if (grown != NULL)
		poll->answer = grown;
	line = take_line(&at, "request ");
	if (grown == NULL || line == NULL) {
		free(text);
		return;
	}
	answer.text = text;
	answer.request = strtoul(line, NULL, 10);
	line = take_line(&at, "status ");
	answer.status = line != NULL ? strtol(line, NULL, 10) : 0;
	answer.type = take_line(&at, "type ");
	answer.location = take_line(&at, "location ");
	answer.url = take_line(&at, "url ");
	line = take_line(&at, "escaped");
	(void)take_line(&at, "");
	answer.body = at;
	answer.len = line != NULL ? unescape(at) : strlen(at);
	poll->answer[poll->n_answers++] = answer;
}

/* reject: why it is not passed on, or "". */
static void add_value(struct probe_poll *poll, const struct record *record, const char *reject)
{
	struct probe_value *grown = reallocarray(poll->value, poll->n_values + 1, sizeof *grown);

	if (grown == NULL)
		return;
	poll->value = grown;
	grown = &poll->value[poll->n_values++];
	*grown = (struct probe_value){ .value = record->value,
				       .age_s = record->age_s,
				       .is_skip = record->kind == RECORD_SKIP,
				       .is_absent = record->kind == RECORD_ABSENT };
	memcpy(grown->row, record->row, sizeof grown->row);
	memcpy(grown->metric, record->metric, sizeof grown->metric);
	(void)snprintf(grown->reject, sizeof grown->reject, "%s", reject);
}

/* text: taken. */
static void take_record(struct probe_poll *poll, const struct record *record, char *text)
{
	switch (record->kind) {
	case RECORD_ANSWER:
		add_answer(poll, text);
		return;
	case RECORD_PUT:
	case RECORD_SKIP:
	case RECORD_ABSENT:
		add_value(poll, record, "");
		break;
	case RECORD_REJECT:
		add_value(poll, record, text);
		break;
	case RECORD_END:
		poll->why = record->why;
		(void)text_copy(poll->text, sizeof poll->text, text);
		break;
	case RECORD_LOG:
		break;
	}
	free(text);
}

static void read_records(int fd, struct probe_poll *poll)
{
	FILE *in = fdopen(fd, "r");
	struct record record;
	size_t all = 0;

	if (in == NULL) {
		close(fd);
		return;
	}
	rewind(in);
	while (fread(&record, sizeof record, 1, in) == 1 && record.len < BYTES_MAX - all) {
		char *text = malloc(record.len + 1);

		if (text == NULL || fread(text, 1, record.len, in) != record.len) {
			free(text);
			break;
		}
		text[record.len] = '\0';
		all += record.len;
		record.row[sizeof record.row - 1] = '\0';
		record.metric[sizeof record.metric - 1] = '\0';
		take_record(poll, &record, text);
	}
	(void)fclose(in);
}

/* Wait for the child, at most so long. Returns its status; -1: it was ended. */
static int await_child(pid_t pid, int64_t timeout_ns)
{
	struct pollfd end = { .fd = pidfd_open(pid, 0), .events = POLLIN };
	const bool is_late = end.fd >= 0 && poll(&end, 1, (int)(timeout_ns / CLOCK_MS)) == 0;
	int status = 0;

	if (end.fd >= 0)
		close(end.fd);
	if (is_late)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return is_late ? -1 : status;
}

static void judge_child(struct probe_poll *poll, const char *plugin, int status)
{
	if (status == -1)
		(void)snprintf(poll->text, sizeof poll->text,
			       "plugin %s did not return in time: it was ended", plugin);
	else if (WIFSIGNALED(status))
		(void)snprintf(poll->text, sizeof poll->text, "plugin %s crashed (SIG%s)", plugin,
			       sigabbrev_np(WTERMSIG(status)));
	else
		return;
	poll->why = PROBE_NOT_ENDED;
}

int probe_child(const char *path, const struct config_source *source,
		const struct probe_target *target, struct probe_poll *poll, struct err *err)
{
	const int64_t began_ns = clock_now_ns();
	const int fd = memfd_create("callrouter-probe", MFD_CLOEXEC);
	int status;
	pid_t pid;

	*poll = (struct probe_poll){ .why = PROBE_NOT_ENDED, .text = "it ended without a word" };
	if (fd < 0)
		return err_set(err, -errno, "no file in memory: %s", err_words(errno));
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		child_main(fd, path, source, target);
	if (pid < 0) {
		close(fd);
		return err_set(err, -errno, "no process: %s", err_words(errno));
	}
	status = await_child(pid, source->timeout_ns + GRACE_NS + OPENING_NS);
	poll->took_s = (double)(clock_now_ns() - began_ns) / 1e9;
	read_records(fd, poll);
	judge_child(poll, source->plugin, status);
	return 0;
}

void probe_poll_fini(struct probe_poll *poll)
{
	for (size_t i = 0; i < poll->n_answers; i++)
		free(poll->answer[i].text);
	free(poll->answer);
	free(poll->value);
	*poll = (struct probe_poll){ 0 };
}
