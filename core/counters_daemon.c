/*
 * counters_daemon.c - the shared figures as callrouterd keeps them: the file, the lines, the dead.
 * [L2]
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "counters.h"
#include "counters_file.h"
#include "runfile.h"
#include "text.h"

#define INDEX_SIZE ((size_t)2 * COUNTERS_LINES)

/* What others wrote is summed up only so far: sums and differences cannot overflow. */
#define BYTES_MAX (INT64_MAX / (4 * (int64_t)COUNTERS_SLOTS))

/** How far a line's totals are from the sum of the ledgers. */
struct drift {
	int64_t inflight, bytes;
};

struct counters_daemon {
	struct counters_row *row[COUNTERS_SLOTS]; /* NULL: not looked at yet */
	struct drift drift[COUNTERS_LINES];       /* what the last audit saw */
	uint32_t lines_used;                      /* the highest line ever used + 1 */
	uint32_t reuse_from;                      /* where the search for an idle line goes on */
	/* Names: line + 1 by hash, open addressing. An entry whose line has another name by now is
	 * stale and harmless. */
	uint16_t index[INDEX_SIZE];
	uint32_t n_indexed;
};

/*** The file ***/

void counters_daemon_free(struct counters_daemon *daemon)
{
	if (daemon == NULL)
		return;
	for (uint32_t i = 0; i < COUNTERS_SLOTS; i++)
		counters_unmap_row(daemon->row[i]);
	free(daemon);
}

static int file_make(struct counters *c, const struct runfile *file, const char *path,
		     struct err *err)
{
	int code;

	c->fd = runfile_make(file, (off_t)COUNTERS_FILE_BYTES, (off_t)COUNTERS_ROWS_AT, err);
	if (c->fd < 0)
		return c->fd;
	code = counters_map(c, path, err);
	if (code == 0) {
		c->header->shape = counters_shape();
		c->header->mark = boot_mark_now();
		code = runfile_commit(file, c->fd, err);
	}
	if (code == 0 && fstat(c->fd, &c->st) < 0)
		code = err_set(err, -errno, "%s: %s", path, err_words(errno));
	if (code < 0)
		runfile_discard(file);
	return code;
}

/* Go on with the file that is there. Whatever is wrong with it: a new one replaces it. */
static bool file_take_over(struct counters *c, const struct runfile *file, const char *path)
{
	c->fd = runfile_open(path, O_RDWR, &c->st, NULL);
	if (c->fd < 0)
		return false;
	/* Somebody else's file can be truncated by somebody else. */
	if (c->st.st_uid == geteuid() && counters_check(c, path, NULL) == 0 &&
	    runfile_allocate(c->fd, 0, (off_t)COUNTERS_ROWS_AT) == 0 &&
	    runfile_own(file, c->fd, NULL) == 0 && counters_map(c, path, NULL) == 0)
		return true;
	close(c->fd);
	c->fd = -1;
	return false;
}

static uint32_t index_place(const char *name, size_t step)
{
	return (uint32_t)((cr_hash64(name, strlen(name)) + step) % INDEX_SIZE);
}

static void index_add(struct counters *c, uint32_t line)
{
	struct counters_daemon *daemon = c->daemon;
	char name[sizeof c->line->name];
	size_t step = 0;

	memcpy(name, c->line[line].name, sizeof name);
	name[sizeof name - 1] = '\0';
	for (;; step++) {
		const uint16_t entry = daemon->index[index_place(name, step)];

		if (entry == 0)
			break;
		/* The first of a name is the one that is found: many of one name would cost the
		 * square of their number. */
		if (strncmp(c->line[entry - 1].name, name, sizeof name) == 0)
			return;
	}
	daemon->index[index_place(name, step)] = (uint16_t)(line + 1);
	daemon->n_indexed++;
}

static void index_build(struct counters *c)
{
	memset(c->daemon->index, 0, sizeof c->daemon->index);
	c->daemon->n_indexed = 0;
	for (uint32_t i = 0; i < COUNTERS_LINES; i++) {
		struct counters_line *line = &c->line[i];

		if (atomic_load_explicit(&line->incarnation, memory_order_relaxed) == 0)
			continue;
		/* Others may have written here: names end, for all who print them. */
		line->name[sizeof line->name - 1] = '\0';
		c->daemon->lines_used = i + 1;
		index_add(c, i);
	}
}

int counters_create(const char *run_dir, gid_t gid, struct counters **out, struct err *err)
{
	const struct runfile file = { run_dir, COUNTERS_FILE, gid, 0660 };
	struct counters *c = counters_alloc();
	char path[PATH_MAX];
	int code;

	if (c == NULL || (c->daemon = calloc(1, sizeof *c->daemon)) == NULL) {
		counters_free(c);
		return err_set(err, -ENOMEM, "no memory for the counters");
	}
	code = runfile_path(run_dir, COUNTERS_FILE, path, sizeof path, err);
	if (code == 0 && !file_take_over(c, &file, path))
		code = file_make(c, &file, path, err);
	if (code < 0) {
		counters_free(c);
		return code;
	}
	index_build(c);
	for (uint32_t i = 0; i < COUNTERS_SERVICES; i++)
		c->service[i].name[sizeof c->service[i].name - 1] = '\0';
	*out = c;
	return 0;
}

/*** Rows ***/

/* The row of a used slot; NULL without memory. Never that of a slot nobody claimed: touching it
 * would make room for it. */
static struct counters_row *row_get(struct counters *c, uint32_t slot)
{
	struct counters_row **row = &c->daemon->row[slot];

	if (*row == NULL && counters_map_row(c, slot, row) < 0)
		*row = NULL;
	return *row;
}

/* The rows of all used slots; returns how many, or -1 if one cannot be looked at. */
static int rows_used(struct counters *c, struct counters_row **rows)
{
	int n = 0;

	for (uint32_t i = 0; i < COUNTERS_SLOTS; i++) {
		/* pairs with the release in counters_claim() */
		if (atomic_load_explicit(&c->slots[i].state, memory_order_acquire) == COUNTERS_FREE)
			continue;
		rows[n] = row_get(c, i);
		if (rows[n++] == NULL)
			return -1;
	}
	return n;
}

/*** Lines ***/

static int index_find(const struct counters *c, const char *name)
{
	const struct counters_daemon *daemon = c->daemon;

	for (size_t step = 0; step < INDEX_SIZE; step++) {
		const uint16_t entry = daemon->index[index_place(name, step)];

		if (entry == 0)
			return -ENOENT;
		if (strncmp(c->line[entry - 1].name, name, sizeof c->line->name) == 0)
			return entry - 1;
	}
	return -ENOENT;
}

static bool line_is_held(uint32_t line, struct counters_row *const *rows, int n)
{
	for (int i = 0; i < n; i++) {
		const struct counters_hold *hold = &rows[i]->hold[line];

		if (__atomic_load_n(&hold->inflight, __ATOMIC_RELAXED) != 0 ||
		    __atomic_load_n(&hold->bytes, __ATOMIC_RELAXED) != 0)
			return true;
	}
	return false;
}

static int line_find_unused(const struct counters *c)
{
	for (uint32_t i = 0; i < COUNTERS_LINES; i++) {
		/* Where lines were used, the next one is nearly always the first unused one. */
		const uint32_t line = (c->daemon->lines_used + i) % COUNTERS_LINES;

		if (atomic_load_explicit(&c->line[line].incarnation, memory_order_relaxed) == 0)
			return (int)line;
	}
	return -ENOSPC;
}

static int line_find_idle(struct counters *c, const bool *keep)
{
	struct counters_row *rows[COUNTERS_SLOTS];
	const int n = rows_used(c, rows);

	for (uint32_t i = 0; i < COUNTERS_LINES && n >= 0; i++) {
		const uint32_t line = (c->daemon->reuse_from + i) % COUNTERS_LINES;

		if ((keep != NULL && keep[line]) || line_is_held(line, rows, n))
			continue;
		c->daemon->reuse_from = line + 1;
		return (int)line;
	}
	return -ENOSPC;
}

static void live_clear(struct cr_live *live)
{
	__atomic_store_n(&live->inflight, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&live->peer_inflight, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&live->inflight_bytes, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&live->peer_bytes, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&live->latency_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&live->up_since_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&live->failure_ppm, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&live->state, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&live->calls, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&live->failure_ns, 0, __ATOMIC_RELAXED);
}

static void line_give(struct counters *c, uint32_t at, const char *name)
{
	struct counters_line *line = &c->line[at];
	const uint32_t before = atomic_load_explicit(&line->incarnation, memory_order_relaxed);

	live_clear(&line->live);
	atomic_store_explicit(&line->failures, 0, memory_order_relaxed);
	atomic_store_explicit(&line->shut, 0, memory_order_relaxed);
	atomic_store_explicit(&line->consecutive, 0, memory_order_relaxed);
	atomic_store_explicit(&line->refusals, 0, memory_order_relaxed);
	atomic_store_explicit(&line->down_until_ns, 0, memory_order_relaxed);
	text_copy(line->name, sizeof line->name, name);
	/* Last, and never 0: whoever sees the new number sees a clean line. */
	atomic_store_explicit(&line->incarnation, before == UINT32_MAX ? 1 : before + 1,
			      memory_order_release);
	c->daemon->drift[at] = (struct drift){ 0, 0 };
	if (at >= c->daemon->lines_used)
		c->daemon->lines_used = at + 1;
	if (c->daemon->n_indexed < INDEX_SIZE / 4 * 3)
		index_add(c, at);
	else
		index_build(c);
}

int counters_find_line(const struct counters *c, const char *name)
{
	return index_find(c, name);
}

int counters_line_of(struct counters *c, const char *name, const bool *keep)
{
	int line = index_find(c, name);

	if (line >= 0)
		return line;
	if (strlen(name) >= sizeof c->line->name)
		return -ENAMETOOLONG;
	line = line_find_unused(c);
	if (line < 0)
		line = line_find_idle(c, keep);
	if (line >= 0)
		line_give(c, (uint32_t)line, name);
	return line;
}

/*** Services ***/

int counters_find_service(const struct counters *c, const char *name)
{
	for (int i = 0; i < (int)COUNTERS_SERVICES; i++)
		if (strncmp(c->service[i].name, name, sizeof c->service->name) == 0)
			return i;
	return -ENOENT;
}

/* A data plane may still count a late decision there: in its own figures, never past them. */
static void service_give(struct counters_service *service, const char *name)
{
	for (size_t i = 0; i < sizeof service->decided / sizeof *service->decided; i++)
		atomic_store_explicit(&service->decided[i], 0, memory_order_relaxed);
	for (size_t i = 0; i < sizeof service->reason / sizeof *service->reason; i++)
		atomic_store_explicit(&service->reason[i], 0, memory_order_relaxed);
	for (size_t b = 0; b < COUNTERS_BANKS; b++)
		for (size_t i = 0; i < CR_SHARED_WORDS_MAX; i++)
			__atomic_store_n(&service->shared[b][i], 0, __ATOMIC_RELAXED);
	text_copy(service->name, sizeof service->name, name);
}

int counters_service_of(struct counters *c, const char *name, const bool *keep)
{
	int line = counters_find_service(c, name);

	if (name[0] == '\0' || strlen(name) >= sizeof c->service->name)
		return -EINVAL;
	if (line < 0)
		line = counters_find_service(c, ""); /* never used */
	for (int i = 0; line < 0 && keep != NULL && i < (int)COUNTERS_SERVICES; i++)
		if (!keep[i])
			line = i;
	if (line < 0)
		return -ENOSPC;
	if (strncmp(c->service[line].name, name, sizeof c->service->name) != 0)
		service_give(&c->service[line], name);
	return line;
}

/*** The dead ***/

/* More than one router may have been running. Each once; all of them are refused from now on. */
static void death_note_running(struct counters_death *death, uint64_t seq)
{
	for (size_t i = 0; i < COUNTERS_DEATH_SEQS; i++) {
		if (death->running_seq[i] == 0)
			death->running_seq[i] = seq;
		if (death->running_seq[i] == seq)
			return;
	}
}

static void slot_bury(struct counters *c, uint32_t at, struct counters_row *row,
		      struct counters_death *death)
{
	struct counters_slot *slot = &c->slots[at];
	const bool is_leaving = atomic_load_explicit(&slot->is_leaving, memory_order_relaxed) != 0;

	*death = (struct counters_death){
		.slot = at,
		.pid = slot->pid,
		.loaded_seq = atomic_load_explicit(&slot->loaded_seq, memory_order_relaxed),
		.loaded_ns = atomic_load_explicit(&slot->loaded_ns, memory_order_relaxed),
	};
	memcpy(death->program, slot->program, sizeof death->program);
	death->program[sizeof death->program - 1] = '\0';
	if (is_leaving)
		death->loaded_seq = 0;
	for (uint32_t t = 0; t < COUNTERS_THREADS && !is_leaving; t++) {
		const uint64_t seq = atomic_load_explicit(&row->running[t], memory_order_relaxed);

		counters_quarantine(c, seq);
		if (seq == 0)
			continue;
		death_note_running(death, seq);
		death->was_loading = t == COUNTERS_LOADER;
	}
	death->inflight = counters_give_back(c, row);
	/* pairs with the acquire of whoever claims it next: the row is empty */
	atomic_store_explicit(&slot->state, COUNTERS_FREE, memory_order_release);
}

int counters_reap(struct counters *c, void (*report)(void *arg, const struct counters_death *death),
		  void *arg)
{
	int deaths = 0;

	for (uint32_t i = 0; i < COUNTERS_SLOTS; i++) {
		struct counters_death death;
		struct counters_row *row;

		if (!counters_lock_dead(c, i))
			continue;
		row = row_get(c, i);
		if (row != NULL)
			slot_bury(c, i, row, &death);
		counters_unlock(c, i);
		if (row == NULL)
			continue;
		deaths++;
		if (report != NULL)
			report(arg, &death);
	}
	return deaths;
}

/*** Totals against ledgers ***/

static struct drift ledgers_sum(uint32_t line, struct counters_row *const *rows, int n)
{
	struct drift sum = { 0, 0 };

	for (int i = 0; i < n; i++) {
		const struct counters_hold *hold = &rows[i]->hold[line];
		const int64_t bytes = __atomic_load_n(&hold->bytes, __ATOMIC_RELAXED);

		sum.inflight += __atomic_load_n(&hold->inflight, __ATOMIC_RELAXED);
		if (bytes > 0)
			sum.bytes += bytes < BYTES_MAX ? bytes : BYTES_MAX;
	}
	return sum;
}

static struct drift totals_of(const struct cr_live *live)
{
	const int64_t bytes = __atomic_load_n(&live->inflight_bytes, __ATOMIC_RELAXED);

	return (struct drift){
		.inflight = __atomic_load_n(&live->inflight, __ATOMIC_RELAXED),
		.bytes = bytes > -BYTES_MAX ? bytes : -BYTES_MAX,
	};
}

static bool drift_is(struct drift a, struct drift b)
{
	return a.inflight == b.inflight && a.bytes == b.bytes;
}

/* A line in which calls come and go while it is read says nothing about itself. */
static bool line_measure(const struct counters *c, uint32_t line, struct counters_row *const *rows,
			 int n, struct drift *drift)
{
	const struct drift total = totals_of(&c->line[line].live);
	const struct drift sum = ledgers_sum(line, rows, n);

	if (!drift_is(sum, ledgers_sum(line, rows, n)) ||
	    !drift_is(total, totals_of(&c->line[line].live)))
		return false;
	*drift = (struct drift){ total.inflight - sum.inflight, total.bytes - sum.bytes };
	return true;
}

/* Changes, not values, are applied: calls go on meanwhile. */
static void line_correct(struct cr_live *live, struct drift drift)
{
	if (drift.inflight > 0)
		counters_take_calls(&live->inflight, (uint32_t)drift.inflight);
	else
		__atomic_fetch_add(&live->inflight, (uint32_t)-drift.inflight, __ATOMIC_RELAXED);
	if (drift.bytes > 0)
		counters_take_bytes(&live->inflight_bytes, drift.bytes);
	else
		__atomic_fetch_add(&live->inflight_bytes, -drift.bytes, __ATOMIC_RELAXED);
}

int counters_audit(struct counters *c)
{
	struct counters_row *rows[COUNTERS_SLOTS];
	const int n = rows_used(c, rows);
	int corrected = 0;

	for (uint32_t i = 0; i < c->daemon->lines_used && n >= 0; i++) {
		struct drift *last = &c->daemon->drift[i], now = { 0, 0 };

		if (line_measure(c, i, rows, n, &now) && (now.inflight != 0 || now.bytes != 0) &&
		    drift_is(now, *last)) {
			line_correct(&c->line[i].live, now);
			corrected++;
			now = (struct drift){ 0, 0 };
		}
		*last = now;
	}
	return corrected;
}
