/* counters.c - the shared figures as data planes use them: map, claim a slot, count calls. */
#include "counters.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "clock.h"
#include "counters_file.h"
#include "runfile.h"
#include "text.h"

/* No call holds more, whatever callers say: it takes 2^27 such calls in progress to overflow. */
#define CALL_BYTES_MAX (INT64_C(1) << 36)

/*** The mapping ***/

struct counters *counters_alloc(void)
{
	struct counters *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->fd = c->lock_fd = -1;
	c->slot = -1;
	return c;
}

void counters_close_files(struct counters *c)
{
	if (c->lock_fd >= 0)
		close(c->lock_fd);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = c->lock_fd = -1;
}

void counters_free(struct counters *c)
{
	if (c == NULL)
		return;
	counters_daemon_free(c->daemon);
	counters_unmap_row(c->row);
	if (c->header != NULL)
		munmap(c->header, COUNTERS_ROWS_AT);
	counters_close_files(c);
	free(c);
}

int counters_check(const struct counters *c, const char *path, struct err *err)
{
	const struct counters_shape shape = counters_shape();
	const struct boot_mark now = boot_mark_now();
	struct counters_header header;
	const int code = runfile_read(c->fd, &header, sizeof header, 0);

	if (code < 0 && code != -ENODATA)
		return err_set(err, code, "%s: cannot read: %s", path, err_words(code));
	if (code < 0 || memcmp(&header.shape, &shape, sizeof shape) != 0)
		return err_set(err, -EBADMSG,
			       "%s: not a counters file of this version: restart callrouterd, it "
			       "makes a new one",
			       path);
	if ((uint64_t)c->st.st_size < COUNTERS_FILE_BYTES)
		return err_set(err, -EBADMSG,
			       "%s: the file was truncated: restart callrouterd, it makes a new "
			       "one",
			       path);
	if (header.mark.boot != now.boot || header.mark.offset_ns != now.offset_ns)
		return err_set(err, -ESTALE,
			       "%s: written before this boot or in another time namespace: it is "
			       "not used; start callrouterd here",
			       path);
	return 0;
}

int counters_map(struct counters *c, const char *path, struct err *err)
{
	const int access = c->is_read_only ? PROT_READ : PROT_READ | PROT_WRITE;
	char *at = mmap(NULL, COUNTERS_ROWS_AT, access, MAP_SHARED, c->fd, 0);

	if (at == MAP_FAILED)
		return err_set(err, -errno, "%s: cannot map it: %s", path, err_words(errno));
	c->header = (struct counters_header *)at;
	c->line = (struct counters_line *)(at + COUNTERS_LINES_AT);
	c->service = (struct counters_service *)(at + COUNTERS_SERVICES_AT);
	c->slots = (struct counters_slot *)(at + COUNTERS_SLOTS_AT);
	return 0;
}

int counters_map_row(const struct counters *c, uint32_t slot, struct counters_row **row)
{
	const off_t at = (off_t)(COUNTERS_ROWS_AT + slot * COUNTERS_ROW_STRIDE);
	const int code = runfile_allocate(c->fd, at, sizeof **row);
	void *map;

	if (code < 0)
		return code;
	map = mmap(NULL, sizeof **row, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, at);
	if (map == MAP_FAILED)
		return -errno;
	*row = map;
	return 0;
}

void counters_unmap_row(struct counters_row *row)
{
	if (row != NULL)
		munmap(row, sizeof *row);
}

static int counters_open_lock(struct counters *c, const char *path, struct err *err)
{
	struct stat st;

	c->lock_fd = runfile_open(path, O_RDWR, &st, err);
	if (c->lock_fd < 0)
		return c->lock_fd;
	if (st.st_dev != c->st.st_dev || st.st_ino != c->st.st_ino)
		return err_set(err, -EAGAIN, "%s: replaced at this moment: try again", path);
	return 0;
}

int counters_open(const char *run_dir, bool read_only, struct counters **out, struct err *err)
{
	struct counters *c = counters_alloc();
	char path[PATH_MAX];
	int code;

	if (c == NULL)
		return err_set(err, -ENOMEM, "no memory for the counters");
	c->is_read_only = read_only;
	code = runfile_path(run_dir, COUNTERS_FILE, path, sizeof path, err);
	if (code == 0)
		code = c->fd = runfile_open(path, read_only ? O_RDONLY : O_RDWR, &c->st, err);
	if (code >= 0)
		code = counters_check(c, path, err);
	if (code >= 0 && !read_only)
		code = counters_open_lock(c, path, err);
	if (code >= 0)
		code = counters_map(c, path, err);
	if (code < 0) {
		counters_free(c);
		return code;
	}
	*out = c;
	return 0;
}

bool counters_is_replaced(const struct counters *c, const char *run_dir)
{
	char path[PATH_MAX];

	return runfile_path(run_dir, COUNTERS_FILE, path, sizeof path, NULL) < 0 ||
	       runfile_is_replaced(path, &c->st);
}

struct counters_line *counters_line(const struct counters *c, uint32_t line)
{
	return line < COUNTERS_LINES ? &c->line[line] : NULL;
}

struct counters_service *counters_service(const struct counters *c, uint32_t line)
{
	return line < COUNTERS_SERVICES ? &c->service[line] : NULL;
}

_Atomic uint64_t *counters_trouble(const struct counters *c)
{
	return &c->header->trouble;
}

struct counters_slot *counters_slot(const struct counters *c, uint32_t slot)
{
	return slot < COUNTERS_SLOTS ? &c->slots[slot] : NULL;
}

/*** Slots ***/

static int slot_lock_file(const struct counters *c)
{
	return c->lock_fd >= 0 ? c->lock_fd : c->fd;
}

static struct flock slot_byte(uint32_t slot, short type)
{
	return (struct flock){
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = COUNTERS_LOCK_AT + slot,
		.l_len = 1,
	};
}

/* type: F_WRLCK or F_UNLCK. The lock belongs to the open file, so to this mapping. */
static bool slot_lock(const struct counters *c, uint32_t slot, short type)
{
	struct flock lock = slot_byte(slot, type);

	return fcntl(slot_lock_file(c), F_OFD_SETLK, &lock) == 0;
}

static bool slot_is(const struct counters *c, uint32_t slot, enum counters_state state)
{
	/* pairs with the release in counters_claim(): what the slot says belongs to its process */
	return atomic_load_explicit(&c->slots[slot].state, memory_order_acquire) == state;
}

bool counters_is_alive(const struct counters *c, uint32_t slot)
{
	struct flock lock = slot_byte(slot, F_WRLCK);

	if (slot >= COUNTERS_SLOTS)
		return false;
	/* A lock of one's own is never in the way, and so is not reported. */
	if ((int64_t)slot == c->slot)
		return true;
	return fcntl(slot_lock_file(c), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool counters_lock_dead(const struct counters *c, uint32_t slot)
{
	if ((int64_t)slot == c->slot || !slot_is(c, slot, COUNTERS_USED) ||
	    !slot_lock(c, slot, F_WRLCK))
		return false;
	/* It may have left in good order just before. */
	if (slot_is(c, slot, COUNTERS_USED))
		return true;
	slot_lock(c, slot, F_UNLCK);
	return false;
}

void counters_unlock(const struct counters *c, uint32_t slot)
{
	slot_lock(c, slot, F_UNLCK);
}

static bool slot_lock_free(const struct counters *c, uint32_t slot)
{
	if (!slot_is(c, slot, COUNTERS_FREE) || !slot_lock(c, slot, F_WRLCK))
		return false;
	if (slot_is(c, slot, COUNTERS_FREE))
		return true;
	slot_lock(c, slot, F_UNLCK);
	return false;
}

static void slot_introduce(struct counters_slot *slot, const char *program)
{
	atomic_fetch_add_explicit(&slot->epoch, 1, memory_order_relaxed);
	atomic_store_explicit(&slot->is_leaving, 0, memory_order_relaxed);
	slot->pid = getpid();
	text_copy(slot->program, sizeof slot->program, program);
	slot->attached_ns = clock_now_ns();
	atomic_store_explicit(&slot->prepared, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->prepared_result, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->generation, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->oldest, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->loaded_seq, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->loaded_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->lacks, 0, memory_order_relaxed);
	slot->error[0] = '\0';
	/* pairs with the acquire in slot_is() */
	atomic_store_explicit(&slot->state, COUNTERS_USED, memory_order_release);
}

int counters_claim(struct counters *c, const char *program)
{
	/* Processes that start together do not try the same slots one after the other. */
	const uint64_t start = cr_mix64((uint64_t)getpid());

	if (c->slot >= 0)
		return c->slot;
	if (c->lock_fd < 0)
		return -EBADF;
	for (uint32_t i = 0; i < COUNTERS_SLOTS; i++) {
		const uint32_t slot = (uint32_t)((start + i) % COUNTERS_SLOTS);
		int code;

		if (!slot_lock_free(c, slot))
			continue;
		/* The daemon has emptied the ledger of whoever was here before. */
		code = counters_map_row(c, slot, &c->row);
		if (code < 0) {
			counters_unlock(c, slot);
			return code;
		}
		slot_introduce(&c->slots[slot], program);
		c->slot = (int)slot;
		c->epoch = atomic_load_explicit(&c->slots[slot].epoch, memory_order_relaxed);
		return c->slot;
	}
	return -EAGAIN;
}

bool counters_has_slot(const struct counters *c)
{
	return c->slot >= 0 && slot_is(c, (uint32_t)c->slot, COUNTERS_USED) &&
	       atomic_load_explicit(&c->slots[c->slot].epoch, memory_order_relaxed) == c->epoch;
}

void counters_leave(const struct counters *c)
{
	if (counters_has_slot(c))
		atomic_store_explicit(&c->slots[c->slot].is_leaving, 1, memory_order_relaxed);
}

void counters_close(struct counters *c)
{
	if (c != NULL && counters_has_slot(c)) {
		counters_give_back(c, c->row);
		atomic_store_explicit(&c->slots[c->slot].state, COUNTERS_FREE,
				      memory_order_release);
		counters_unlock(c, (uint32_t)c->slot);
	}
	counters_free(c);
}

void counters_disown(struct counters *c)
{
	/* Not unlocked: the lock belongs to the open file, which the parent has, too. */
	counters_close_files(c);
	counters_unmap_row(c->row);
	c->row = NULL;
	c->slot = -1;
}

struct counters_row *counters_row(const struct counters *c)
{
	return c->row;
}

int counters_slot_number(const struct counters *c)
{
	return c->slot;
}

uint32_t counters_slots_used(const struct counters *c)
{
	uint32_t n = COUNTERS_SLOTS;

	while (n > 0 && !slot_is(c, n - 1, COUNTERS_USED))
		n--;
	return n;
}

/*** Counting calls: the ledger first, so that a process that dies in between is owed nothing ***/

/* The builtin writes. NOLINTNEXTLINE(readability-non-const-parameter) */
uint32_t counters_take_calls(uint32_t *figure, uint32_t n)
{
	uint32_t now = __atomic_load_n(figure, __ATOMIC_RELAXED), take;

	do
		take = now < n ? now : n;
	while (take > 0 && !__atomic_compare_exchange_n(figure, &now, now - take, true,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return take;
}

/* The builtin writes. NOLINTNEXTLINE(readability-non-const-parameter) */
int64_t counters_take_bytes(int64_t *figure, int64_t n)
{
	int64_t now = __atomic_load_n(figure, __ATOMIC_RELAXED), take;

	do
		take = now < n ? now : n;
	while (take > 0 && !__atomic_compare_exchange_n(figure, &now, now - take, true,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return take > 0 ? take : 0;
}

static int64_t call_bytes(int64_t bytes)
{
	if (bytes < 0)
		return 0;
	return bytes < CALL_BYTES_MAX ? bytes : CALL_BYTES_MAX;
}

void counters_hold_add(struct counters *c, uint32_t line, int64_t bytes)
{
	struct counters_hold *hold;
	struct cr_live *live;

	if (c->row == NULL || line >= COUNTERS_LINES)
		return;
	hold = &c->row->hold[line];
	live = &c->line[line].live;
	bytes = call_bytes(bytes);
	__atomic_fetch_add(&hold->inflight, 1, __ATOMIC_RELAXED);
	if (bytes > 0)
		__atomic_fetch_add(&hold->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&live->inflight, 1, __ATOMIC_RELAXED);
	if (bytes > 0)
		__atomic_fetch_add(&live->inflight_bytes, bytes, __ATOMIC_RELAXED);
}

void counters_hold_drop(struct counters *c, uint32_t line, int64_t bytes)
{
	struct counters_hold *hold;
	struct cr_live *live;

	if (c->row == NULL || line >= COUNTERS_LINES)
		return;
	hold = &c->row->hold[line];
	live = &c->line[line].live;
	bytes = call_bytes(bytes);
	/* What the ledger no longer has was given back already. */
	if (counters_take_calls(&hold->inflight, 1) == 0)
		return;
	if (bytes > 0)
		bytes = counters_take_bytes(&hold->bytes, bytes);
	counters_take_calls(&live->inflight, 1);
	if (bytes > 0)
		counters_take_bytes(&live->inflight_bytes, bytes);
}

uint32_t counters_give_back(const struct counters *c, struct counters_row *row)
{
	uint32_t calls = 0;

	for (uint32_t i = 0; i < COUNTERS_LINES; i++) {
		struct counters_hold *hold = &row->hold[i];
		struct cr_live *live = &c->line[i].live;
		uint32_t inflight;
		int64_t bytes;

		if (__atomic_load_n(&hold->inflight, __ATOMIC_RELAXED) == 0 &&
		    __atomic_load_n(&hold->bytes, __ATOMIC_RELAXED) == 0)
			continue;
		inflight = __atomic_exchange_n(&hold->inflight, 0, __ATOMIC_RELAXED);
		bytes = __atomic_exchange_n(&hold->bytes, 0, __ATOMIC_RELAXED);
		counters_take_calls(&live->inflight, inflight);
		counters_take_bytes(&live->inflight_bytes, bytes);
		calls += inflight;
	}
	for (uint32_t i = 0; i < COUNTERS_THREADS; i++)
		atomic_store_explicit(&row->running[i], 0, memory_order_relaxed);
	return calls;
}
