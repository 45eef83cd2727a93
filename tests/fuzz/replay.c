/* replay.c - gives a harness its corpus: every file of the folders that are named. What was found
 * once is kept there, and tried again with each test. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

enum { SECONDS = 10, FILE_MAX = 1 << 20 }; /* of one input: with sanitizers, on a busy machine */

static void replay(const char *path)
{
	uint8_t *bytes = malloc(FILE_MAX), *exact;
	FILE *file = fopen(path, "re");
	size_t len;

	if (file == NULL || bytes == NULL) {
		perror(path);
		exit(1);
	}
	len = fread(bytes, 1, FILE_MAX, file);
	(void)fclose(file);
	/* Not a byte more, so that a sanitizer sees who reads on. */
	exact = malloc(len > 0 ? len : 1);
	if (exact == NULL)
		exit(1);
	memcpy(exact, bytes, len);
	free(bytes);
	(void)fprintf(stderr, "%s\n", path);
	(void)alarm(SECONDS);
	(void)LLVMFuzzerTestOneInput(exact, len);
	(void)alarm(0);
	free(exact);
}

static size_t replay_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	char path[4096];
	size_t n = 0;

	if (dir == NULL) {
		replay(folder);
		return 1;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		replay(path);
		n++;
	}
	(void)closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	size_t n = 0;

	for (int i = 1; i < argc; i++)
		n += replay_folder(argv[i]);
	(void)fprintf(stderr, "%zu inputs, all well\n", n);
	return n > 0 ? 0 : 1;
}
