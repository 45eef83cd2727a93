/* stress_snapshot.c - one thread publishes as fast as it can, two read: never a torn image. */
#include <errno.h>
#include <pthread.h>

#include "shared_files.h"

#define PUBLISHES 20000
#define READERS   2

static struct folder folder;
static _Atomic bool is_over;
static _Atomic int failures;

static void fail(const char *what, uint64_t a, uint64_t b)
{
	(void)fprintf(stderr, "%s: %llu, %llu\n", what, (unsigned long long)a,
		      (unsigned long long)b);
	atomic_fetch_add(&failures, 1);
}

/* Every value of an image is its generation. */
static void check_content(const struct image_header *image)
{
	const double *values = image_values(image, 0);

	for (uint32_t i = 0; i < image->value.count; i++)
		if (values[i] != (double)image->generation)
			fail("torn: value, generation", (uint64_t)values[i], image->generation);
}

static void *read_all(void *arg)
{
	struct snapshot_reader *reader = snapshot_reader_new(folder.path);
	uint64_t have = 0, *count = arg;
	bool is_last = false;

	while (!is_last || have < PUBLISHES) {
		struct image_header *image;
		struct err err;
		int code;

		is_last = atomic_load(&is_over);
		code = snapshot_read(reader, have, &image, &err);
		if (code < 0 && code != -EAGAIN && code != -ENOENT) {
			fail(err.text, have, (uint64_t)-code);
			break;
		}
		if (code != 1) {
			if (is_last && code == 0)
				break;
			continue;
		}
		if (image->generation <= have)
			fail("backwards", image->generation, have);
		have = image->generation;
		check_content(image);
		free(image);
		++*count;
	}
	if (have != PUBLISHES)
		fail("the last image was not seen", have, PUBLISHES);
	snapshot_reader_free(reader);
	return NULL;
}

static void write_all(struct snapshot_writer *writer)
{
	for (uint32_t g = 1; g <= PUBLISHES; g++) {
		/* Sizes change, and now and then the file is removed, and so replaced. */
		struct image_header *image = sample_image(g % 60);
		double *value = image_edit(image, image->value);
		char path[128];
		struct err err;

		for (uint32_t i = 0; i < image->value.count; i++)
			value[i] = g;
		folder_file(&folder, SNAPSHOT_FILE, path, sizeof path);
		if (g % 500 == 0 && unlink(path) < 0)
			fail("unlink", g, 0);
		if (snapshot_publish(writer, image, &err) < 0)
			fail(err.text, g, 0);
		free(image);
	}
}

int main(void)
{
	uint64_t count[READERS] = { 0 };
	pthread_t thread[READERS];
	struct snapshot_writer *writer;
	struct err err;

	folder = folder_make();
	if (snapshot_create(folder.path, (gid_t)-1, &writer, &err) < 0) {
		fail(err.text, 0, 0);
		return 1;
	}
	for (int i = 0; i < READERS; i++)
		if (pthread_create(&thread[i], NULL, read_all, &count[i]) != 0)
			return 1;
	write_all(writer);
	atomic_store(&is_over, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(thread[i], NULL);
	snapshot_writer_close(writer);
	folder_remove(&folder);
	printf("%d published, %llu and %llu read, %d failures\n", PUBLISHES,
	       (unsigned long long)count[0], (unsigned long long)count[1], atomic_load(&failures));
	return atomic_load(&failures) != 0;
}
