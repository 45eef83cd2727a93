/*
 * beat.c - a collector that asks nobody: every poll of a target puts the version's number as its
 * free heap. It leaves a thread key with a destructor behind, as libraries do: the object must stay
 * mapped. For tests of swaps.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <callrouter/plugin.h>

#ifndef VALUE
#define VALUE 1
#endif
#ifndef VERSION
#define VERSION "1"
#endif
#ifndef OPENS
#define OPENS 0 /* what open() returns */
#endif

struct beat {
	int metric;
};

static pthread_key_t key;
static char word[8] = "beat";

static void forget_thread(void *arg)
{
	((volatile char *)arg)[0] = 'B';
}

__attribute__((constructor)) static void construct(void)
{
	pthread_key_create(&key, forget_thread);
}

static int open_beat(const struct cr_open *in, void **out)
{
	struct beat *self = malloc(sizeof *self);

	if (OPENS < 0 || self == NULL) {
		snprintf(in->err, in->err_len, "it was told to fail");
		free(self);
		return OPENS < 0 ? OPENS : -1;
	}
	self->metric = in->host->metric(in->host, "jvm_heap_free_bytes");
	*out = self;
	return 0;
}

static int64_t collect(void *self, const struct cr_round *round)
{
	const struct beat *beat = self;

	pthread_setspecific(key, word);
	for (size_t i = 0; i < round->n; i++) {
		round->put(round, round->target[i], NULL, beat->metric, VALUE, 0);
		round->done(round, round->target[i]);
	}
	return INT64_MAX;
}

CR_COLLECTOR = {
	CR_COLLECTOR_HEAD("beat", VERSION, "puts a number"),
	.open = open_beat,
	.close = free,
	.collect = collect,
};
