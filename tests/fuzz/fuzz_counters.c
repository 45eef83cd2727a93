/* fuzz_counters.c - a counters file in which somebody wrote anything anywhere but in its shape: the
 * daemon takes it over, buries the dead, audits, gives lines out; a data plane attaches. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters_file.h"
#include "fuzz.h"
#include "health.h"

enum { LINES = 8, SERVICES = 4, SLOTS = 4, WORDS = 8 };

static struct counters *file;
static struct counters_row *row[SLOTS];

static void *part(uint32_t which, uint32_t at, size_t *size)
{
	switch (which) {
	case 0:
	case 1:
		*size = sizeof(struct counters_line);
		return &file->line[at % LINES];
	case 2:
		*size = sizeof(struct counters_slot);
		return &file->slots[at % SLOTS];
	case 3:
		*size = 256;
		return &file->service[at % SERVICES];
	case 4:
		*size = LINES * sizeof(struct counters_hold);
		return row[at % SLOTS]->hold;
	case 5:
		*size = sizeof row[0]->running;
		return row[at % SLOTS]->running;
	default:
		*size = sizeof file->header->quarantine;
		return file->header->quarantine;
	}
}

static void set_up(void)
{
	if (counters_create(fuzz_folder(), (gid_t)-1, &file, NULL) < 0)
		abort();
	for (uint32_t i = 0; i < SLOTS; i++)
		if (counters_map_row(file, i, &row[i]) < 0)
			abort();
}

static void clear(bool all)
{
	size_t size;

	for (uint32_t which = 1; which < 7; which++)
		for (uint32_t at = 0; at < LINES; at++) {
			void *bytes = part(which, at, &size);

			memset(bytes, 0, size);
		}
	memset(file->slots, 0, 16 * sizeof *file->slots);
	memset(file->line, 0, (all ? COUNTERS_LINES : 2 * LINES) * sizeof *file->line);
}

/* Up to some words anywhere. Lines are in use, slots seem to be, so that somebody looks at them. */
static void scribble(struct fuzz_input *in)
{
	for (int i = 0; i < WORDS && in->left >= 3; i++) {
		size_t size;
		const uint32_t which = fuzz_below(in, 7), at = fuzz_byte(in);
		char *bytes = part(which, at, &size);
		const uint64_t word = fuzz_word(in);

		memcpy(bytes + fuzz_below(in, (uint32_t)(size / 8)) * 8, &word, sizeof word);
		if (which == 0)
			atomic_store(&file->line[at % LINES].incarnation, 1);
		if (which == 2 || which == 4 || which == 5)
			atomic_store(&file->slots[at % SLOTS].state, COUNTERS_USED);
	}
}

/* Every line in use, all of one name. */
static void fill_lines(void)
{
	for (uint32_t i = 0; i < COUNTERS_LINES; i++) {
		atomic_store(&file->line[i].incarnation, 1);
		file->line[i].name[0] = 'x';
	}
}

static void on_death(void *arg, const struct counters_death *death)
{
	(void)arg;
	fuzz_expect(death->slot < COUNTERS_SLOTS, "a death in no slot");
	fuzz_expect(memchr(death->program, '\0', sizeof death->program) != NULL,
		    "a program's name without an end");
}

static void expect_line(struct counters *c, const char *name)
{
	const int line = counters_line_of(c, name, NULL);

	if (line < 0)
		return;
	fuzz_expect(line < (int)COUNTERS_LINES, "no line");
	fuzz_expect(counters_find_line(c, name) == line, "a line that is not found again");
}

static void act_as_daemon(void)
{
	struct counters *c = NULL;

	if (counters_create(fuzz_folder(), (gid_t)-1, &c, NULL) < 0)
		return;
	for (uint32_t i = 0; i < LINES; i++)
		fuzz_expect(memchr(counters_line(c, i)->name, '\0', 64) != NULL,
			    "a line's name without an end");
	(void)counters_reap(c, on_death, NULL);
	(void)counters_audit(c);
	(void)counters_audit(c);
	expect_line(c, "ms1");
	expect_line(c, "x");
	(void)counters_service_of(c, "orders", NULL);
	(void)counters_quarantine_newest(c);
	(void)counters_slots_used(c);
	counters_close(c);
}

static void act_as_plane(void)
{
	struct counters *c = NULL;

	if (counters_open(fuzz_folder(), false, &c, NULL) < 0)
		return;
	(void)counters_inquest(c);
	if (counters_claim(c, "fuzz") >= 0) {
		counters_hold_add(c, 1, 1000);
		counters_hold_drop(c, 1, 1000);
		counters_hold_drop(c, 2, INT64_MAX);
	}
	for (uint32_t i = 0; i < LINES; i++) {
		(void)health_state(counters_line(c, i), 1000);
		(void)health_until_ns(counters_line(c, i), 1000);
	}
	(void)counters_is_quarantined(c, 7);
	counters_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const uint8_t how = fuzz_byte(&in);

	if (file == NULL)
		set_up();
	clear(how == 255);
	scribble(&in);
	if (how == 255)
		fill_lines();
	if (how % 2 == 0)
		act_as_plane();
	act_as_daemon();
	if (how % 2 == 1)
		act_as_plane();
	if (how == 255)
		clear(true);
	return 0;
}
