/* state_folder.h - a state directory for one test, and short ways to look into it. */
#ifndef CR_TESTS_STATE_FOLDER_H
#define CR_TESTS_STATE_FOLDER_H

#include <criterion/criterion.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char state_folder[64];

static inline void state_folder_make(void)
{
	snprintf(state_folder, sizeof state_folder, "/tmp/callrouter-test-XXXXXX");
	cr_assert_not_null(mkdtemp(state_folder));
}

static inline int state_folder_drop(const char *path, const struct stat *st, int flag,
				    struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void state_folder_remove(void)
{
	nftw(state_folder, state_folder_drop, 8, FTW_DEPTH | FTW_PHYS);
}

/** The whole path of a name in it; of the last four that were asked for. */
static inline const char *state_path(const char *name)
{
	static char path[4][256];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof path[turn], "%s/%s", state_folder, name);
	return path[turn];
}

static inline void state_write(const char *name, const char *text)
{
	FILE *file = fopen(state_path(name), "w");

	cr_assert_not_null(file);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
}

/** A file's text; valid until the next call. */
static inline const char *state_read(const char *name)
{
	static char text[65536];
	FILE *file = fopen(state_path(name), "r");
	size_t got = 0;

	if (file != NULL) {
		got = fread(text, 1, sizeof text - 1, file);
		fclose(file);
	}
	text[got] = '\0';
	return text;
}

/** The text is this one, in which every %s stands for the folder. */
static inline void state_expect(const char *text, const char *expected)
{
	char whole[1024];
	size_t n = 0;

	for (; *expected != '\0' && n < sizeof whole - sizeof state_folder; expected++) {
		if (expected[0] == '%' && expected[1] == 's') {
			n += (size_t)snprintf(whole + n, sizeof whole - n, "%s", state_folder);
			expected++;
		} else {
			whole[n++] = *expected;
		}
	}
	whole[n] = '\0';
	cr_assert_str_eq(text, whole);
}

#endif
