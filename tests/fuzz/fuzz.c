/* fuzz.c - bytes into choices, texts and files. */
#include "fuzz.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[256];

uint8_t fuzz_byte(struct fuzz_input *in)
{
	return in->left > 0 ? in->at[--in->left] : 0;
}

uint64_t fuzz_word(struct fuzz_input *in)
{
	uint64_t word = 0;

	for (int i = 0; i < 8; i++)
		word = word << 8 | fuzz_byte(in);
	return word;
}

uint32_t fuzz_below(struct fuzz_input *in, uint32_t most)
{
	const uint32_t low = fuzz_byte(in);

	return (most > 256 ? (uint32_t)fuzz_byte(in) << 8 | low : low) % most;
}

static char *copy(const void *bytes, size_t len)
{
	char *text = malloc(len + 1);

	if (text == NULL)
		abort();
	if (len > 0)
		memcpy(text, bytes, len);
	text[len] = '\0';
	return text;
}

char *fuzz_line(struct fuzz_input *in)
{
	size_t len = 0;
	char *line;

	while (len < in->left && in->at[len] != '\n' && in->at[len] != '\0')
		len++;
	line = copy(in->at, len);
	len += len < in->left;
	in->at += len;
	in->left -= len;
	return line;
}

char *fuzz_text(struct fuzz_input *in)
{
	char *text = copy(in->at, in->left > 0 ? strnlen((const char *)in->at, in->left) : 0);

	in->left = 0;
	return text;
}

void *fuzz_rest(struct fuzz_input *in, size_t *len)
{
	void *bytes = malloc(in->left > 0 ? in->left : 1);

	if (bytes == NULL)
		abort();
	if (in->left > 0)
		memcpy(bytes, in->at, in->left);
	*len = in->left;
	in->left = 0;
	return bytes;
}

void fuzz_expect(bool is_so, const char *what)
{
	if (is_so)
		return;
	(void)fprintf(stderr, "FINDING: %s\n", what);
	abort();
}

void fuzz_expect_line(const char *text, const char *what)
{
	for (; *text != '\0'; text++)
		fuzz_expect((unsigned char)*text >= ' ' && *text != 0x7f, what);
}

static int drop(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void drop_folder(void)
{
	(void)nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_folder(void)
{
	const char *tmp = getenv("TMPDIR");

	if (folder[0] != '\0')
		return folder;
	(void)snprintf(folder, sizeof folder, "%s/callrouter-fuzz-XXXXXX",
		       tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(folder) == NULL || atexit(drop_folder) != 0)
		abort();
	return folder;
}

const char *fuzz_path(const char *name)
{
	static char path[2][512];
	static unsigned turn;

	turn = !turn;
	(void)snprintf(path[turn], sizeof path[turn], "%s/%s", fuzz_folder(), name);
	return path[turn];
}

void fuzz_write(const char *name, const void *bytes, size_t len)
{
	FILE *file = fopen(fuzz_path(name), "we");

	if (file == NULL || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
		abort();
}
