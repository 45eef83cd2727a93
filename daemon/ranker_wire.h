/* ranker_wire.h - what callrouterd and its rankers say to each other: short messages, bulk in
 * shared memory. */
#ifndef CR_DAEMON_RANKER_WIRE_H
#define CR_DAEMON_RANKER_WIRE_H

#include <jansson.h>

#include "image.h"
#include "plugin.h"
#include "ranker.h"

#define WIRE_SOCKET_FD 10 /* in the child; lower numbers may be the parent's sources */
#define WIRE_AREA_FD   11
#define WIRE_ARGUMENT  "--ranker"

enum wire_op {
	WIRE_HELLO = 1, /* child: the plugin is loaded, its facts are in the area */
	WIRE_TRY,
	WIRE_RANK,
	WIRE_OPEN,    /* only open() */
	WIRE_TARGETS, /* open(), then check() of the targets in the area */
};

/** Either way; from the child result and text say how it went. */
struct wire_message {
	uint32_t op;
	uint32_t instance; /* index in the image; IMAGE_NONE: no image */
	int32_t result;
	char text[320];
};

/** Where the child is, for the sentence about its end. */
enum wire_phase {
	WIRE_LOADING = 0,
	WIRE_OPENING,
	WIRE_CHECKING,
	WIRE_RANKING,
	WIRE_ROUTING,
	WIRE_PREPARING,
	WIRE_RELEASING,
	WIRE_SAVING,
	WIRE_CLOSING,
	WIRE_WAITING,
};

#define WIRE_TARGETS_MAX   16384u
#define WIRE_TARGETS_BYTES (8u << 20)

struct wire_verdict {
	uint8_t is_bad;
	char text[199];
};

/** Targets to be judged, a NUL behind each, and what became of them. Only bad ones cost memory. */
struct wire_targets {
	uint32_t n;
	struct wire_verdict verdict[WIRE_TARGETS_MAX];
	char text[WIRE_TARGETS_BYTES];
};

/** The shared memory: sealed against shrinking, sparse. Nothing that the child writes is used
 * unchecked. */
struct wire_area {
	uint32_t phase;
	uint32_t saved_len;
	/* rank()'s answer */
	uint64_t generation;
	int32_t verdict;
	uint32_t n, n_rows, n_columns;
	uint16_t order[CR_NONE + 1u];
	double column[(size_t)CR_COLUMNS_MAX * (CR_NONE + 1u)];
	char saved[RANKER_SAVED_MAX];
	char facts[256 << 10]; /* JSON */
	char refused[4096];    /* what a collector's open() says, a line for each wrong option */
	union {                /* of a router, of a collector */
		_Alignas(4096) char image[IMAGE_BYTES_MAX];
		struct wire_targets targets;
	};
};

/** What the child is told by its command line. */
enum wire_argument {
	WIRE_ARG_MARK = 1,
	WIRE_ARG_PATH,
	WIRE_ARG_PLUGIN, /* "": any name */
	WIRE_ARG_SERVICE,
	WIRE_ARG_OPTIONS,
	WIRE_ARG_RUN_DIR, /* "": no counters */
	WIRE_ARGS,
};

/** A plugin's facts as JSON text in buf. Returns 0 or -EMSGSIZE. [child] */
int ranker_facts_write(const struct plugin *plugin, char *buf, size_t len);

/** And back. Returns NULL with err if it is not what ranker_facts_write() writes. [main] */
struct ranker_facts *ranker_facts_read(const char *text, struct err *err);

/** A collector on trial. */
struct collector_trial {
	const struct plugin *plugin;
	const struct cr_host *host;
	const char *source, *options; /* options packed */
	struct wire_area *area;
};

/** open() and close(), and with_targets check() between them. Returns 0, or < 0 with err: it could
 * not be opened. [child] */
int ranker_try_collector(const struct collector_trial *trial, bool with_targets, struct err *err);

/** What a trial works on. */
struct trial {
	const struct plugin *plugin;
	struct plugin_instance *instance;
	const struct counters *counters; /* or NULL */
	uint32_t *phase;
};

/** Ask rank(), prepare() and route() on made-up services, then on this image's instance (image
 * NULL: not). 0 or < 0 with err. [child] */
int ranker_trial(const struct trial *trial, const struct image_header *image, uint32_t instance,
		 struct err *err);

#endif
