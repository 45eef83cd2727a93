/*
 * made_for_1_2.c - a collector as it was built before ABI 1.3: what plugin.h of 1.2 declared of
 * collectors stands here, and no header of ours is read. Never bring it up to date: it stands for
 * plugins of which nobody has the source any more.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct cr_host {
	void (*log)(const struct cr_host *host, int level, const char *fmt, ...);
	int (*metric)(const struct cr_host *host, const char *name);
};

struct cr_open {
	const struct cr_host *host;
	const void *option;
	const char *source;
	const void *saved;
	size_t saved_len;
	char *err;
	size_t err_len;
};

struct cr_target {
	const char *name, *endpoint;
	int64_t deadline_ns;
	bool is_shared;
	void *user;
};

struct cr_round {
	int64_t now_ns;
	size_t n;
	struct cr_target *const *target;
	void (*put)(const struct cr_round *r, struct cr_target *t, const char *row, int metric,
		    double value, int64_t taken_ns);
	void (*skip)(const struct cr_round *r, struct cr_target *t, const char *row,
		     const char *text);
	void (*done)(const struct cr_round *r, struct cr_target *t);
	void (*fail)(const struct cr_round *r, struct cr_target *t, int why, const char *text);
	void (*reject)(const struct cr_round *r, struct cr_target *t, const char *row, int metric,
		       const char *word, const char *text);
};

struct cr_collector {
	uint32_t abi, size;
	const char *name, *version, *summary;
	const void *options;
	int (*open)(const struct cr_open *in, void **self);
	void (*close)(void *self);
	int (*fd)(const void *self);
	int64_t (*collect)(void *self, const struct cr_round *round);
	void (*forget)(void *self, struct cr_target *target);
};

struct instance {
	int used, size;
};

static int open_instance(const struct cr_open *in, void **self)
{
	struct instance *instance = malloc(sizeof *instance);

	if (instance == NULL)
		return -12; /* ENOMEM */
	instance->used = in->host->metric(in->host, "jvm_heap_used_bytes");
	instance->size = in->host->metric(in->host, "jvm_heap_size_bytes");
	*self = instance;
	return 0;
}

/* At its n-th poll a target has n bytes in use, and a size that cannot be. */
static int64_t collect(void *self, const struct cr_round *round)
{
	const struct instance *instance = self;

	for (size_t i = 0; i < round->n; i++) {
		struct cr_target *target = round->target[i];
		int *polls = target->user;

		if (polls == NULL)
			target->user = polls = calloc(1, sizeof *polls);
		if (polls == NULL) {
			round->fail(round, target, 4, "no memory");
			continue;
		}
		round->put(round, target, NULL, instance->used, ++*polls, 0);
		round->reject(round, target, NULL, instance->size, "negative", "size is -1");
		round->done(round, target);
	}
	return INT64_MAX;
}

static void forget(void *self, struct cr_target *target)
{
	(void)self;
	free(target->user);
}

static _Noreturn void trap(void)
{
	abort();
}

/* What stands behind a table is nobody's business: the host must not take it for check(). */
__attribute__((visibility("default"))) const struct {
	struct cr_collector table;
	void (*behind)(void);
} cr_collector_1 = {
	.table = { .abi = 0x10002,
		   .size = sizeof(struct cr_collector),
		   .name = "made_for_1_2",
		   .version = "1",
		   .summary = "made for ABI 1.2",
		   .open = open_instance,
		   .close = free,
		   .collect = collect,
		   .forget = forget },
	.behind = trap,
};
