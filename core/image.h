/*
 * image.h - one published state as a block of bytes: what callrouterd knows and data planes need.
 * [L2]
 *
 * An image is position-free: a header, then arrays at 8-aligned offsets. image_check() proves that
 * every offset, index, count and string stays inside, so that a checked private copy is read
 * without further care.
 */
#ifndef CR_CORE_IMAGE_H
#define CR_CORE_IMAGE_H

#include <callrouter/plugin.h>
#include <callrouter/words.h>

#include "err.h"

#define IMAGE_LAYOUT        2u
#define IMAGE_NONE          UINT32_MAX /* "no instance", "no string" */
#define IMAGE_BYTES_MAX     (64u << 20)
#define IMAGE_SERVERS_MAX   16384u
#define IMAGE_SERVICES_MAX  256u
#define IMAGE_METRICS_MAX   64u
#define IMAGE_INSTANCES_MAX (4u * IMAGE_SERVICES_MAX)
#define IMAGE_HEALTH_NS_MAX INT64_C(2592000000000000) /* 30 days: any duration of health */

/** A part of the image: count entries at byte offset at. */
struct image_part {
	uint32_t at, count;
};

struct image_header {
	uint32_t layout; /* IMAGE_LAYOUT */
	uint32_t bytes;  /* of the whole image */
	uint64_t generation;
	int64_t taken_ns; /* CLOCK_MONOTONIC */
	uint64_t prepare; /* token that data planes acknowledge once they have loaded all instances;
			     0: none */
	char cluster[64];
	uint32_t hosts; /* data-plane hosts of the fleet, this one included; 0: unknown */
	uint32_t spare;
	struct image_part server;   /* struct image_server: managed servers only */
	struct image_part metric;   /* struct image_metric */
	struct image_part value;    /* double [metric][server]; NaN: never measured */
	struct image_part taken;    /* int64_t [metric][server]: CLOCK_MONOTONIC; 0: never */
	struct image_part service;  /* struct image_service */
	struct image_part instance; /* struct image_instance */
	struct image_part
		row; /* uint32_t: server indices, pieces of it are the services' members */
	struct image_part order;  /* uint16_t: rows of a service, pieces of it are rankings */
	struct image_part column; /* double: pieces of it are columns */
	struct image_part text;   /* char: NUL-terminated strings; the last byte is NUL */
};

enum image_server_flag {
	IMAGE_DRAINED = 1,     /* by the operator */
	IMAGE_SKIPPED = 2,     /* a collector found an administration server there */
	IMAGE_ASSUMES_MAX = 4, /* the maximum of its heap was configured, not measured */
};

struct image_server {
	char name[64];
	char address[128];          /* "host:port", "[v6]:port" */
	uint32_t line, incarnation; /* in the counters file */
	uint32_t weight;            /* 0 .. 100 */
	uint32_t flags;             /* enum image_server_flag */
};

struct image_metric {
	char name[64];
};

enum image_instance_flag {
	IMAGE_HAS_RANK = 1,
	IMAGE_HAS_ROUTE = 2,
	IMAGE_IS_COMING = 4, /* not in use yet: loaded ahead of a swap */
};

/** One plugin opened with one set of options for one service. */
struct image_instance {
	uint64_t key; /* of this instance, never reused */
	uint64_t seq; /* of the plugin's file, never reused */
	uint32_t flags;
	uint32_t service; /* index */
	char plugin[32], version[32];
	uint32_t path, options; /* offsets in text: the staged file; "name=value\n" lines */
	uint32_t shared_bank;   /* which of the service line's banks of words */
	uint32_t shared_words;
};

/** What a router or default says at the moment: its order, ready to be used. */
struct image_choice {
	uint32_t instance; /* index, or IMAGE_NONE */
	uint32_t reason;   /* enum cr_reason: why order is not its own, or CR_REASON_NONE */
	int32_t verdict;   /* CR_DEFAULT, CR_REFUSE, or > 0: order counts */
	uint32_t n_columns;
	uint32_t order;  /* first entry in header.order: n_usable rows, each usable row once */
	uint32_t column; /* first entry in header.column: [n_columns][n_rows] */
	int64_t fresh_until_ns; /* when the last needed metric runs out; INT64_MAX: it needs none */
	int64_t ranked_ns;      /* when rank() last answered; 0: never */
};

/** What counts as a failure: bits of image_health.counts. */
enum image_counts {
	IMAGE_COUNTS_CONNECT = 1, /* CR_REFUSED_CONNECTION, where it does not put aside */
	IMAGE_COUNTS_TIMEOUT = 2, /* CR_TIMED_OUT */
	IMAGE_COUNTS_FAILED = 4,  /* CR_FAILED: 5xx and the like */
	IMAGE_COUNTS_ALL = 7,
};

/** When a service's calls put a server aside or out, and how it comes back. */
struct image_health {
	int64_t aside_ns;      /* after a refused connection, doubling; 0: never */
	int64_t aside_most_ns; /* up to this, but never below aside_ns */
	int64_t out_for_ns;    /* after that many failures in a row, more or less a tenth */
	int64_t slow_start_ns; /* 0: none */
	uint32_t failures;     /* 0: never out */
	uint32_t counts;       /* enum image_counts */
};

struct image_service {
	char name[64];
	uint32_t rows, n_rows; /* piece of header.row */
	uint32_t n_usable;     /* rows that may be contacted, 0 .. n_rows */
	uint32_t line;         /* in the counters file */
	int64_t stale_after_ns;
	struct image_health health;
	struct image_choice router; /* instance IMAGE_NONE: the service has only a default */
	struct image_choice preset; /* the default algorithm */
};

/** Views into a checked image. [any] */
static inline const void *image_at(const struct image_header *image, struct image_part part)
{
	return (const char *)image + part.at;
}

static inline const struct image_server *image_servers(const struct image_header *image)
{
	return (const struct image_server *)image_at(image, image->server);
}

static inline const struct image_metric *image_metrics(const struct image_header *image)
{
	return (const struct image_metric *)image_at(image, image->metric);
}

static inline const struct image_service *image_services(const struct image_header *image)
{
	return (const struct image_service *)image_at(image, image->service);
}

static inline const struct image_instance *image_instances(const struct image_header *image)
{
	return (const struct image_instance *)image_at(image, image->instance);
}

static inline const uint32_t *image_rows(const struct image_header *image,
					 const struct image_service *service)
{
	return (const uint32_t *)image_at(image, image->row) + service->rows;
}

static inline const uint16_t *image_order(const struct image_header *image,
					  const struct image_choice *choice)
{
	return (const uint16_t *)image_at(image, image->order) + choice->order;
}

static inline const double *image_column(const struct image_header *image,
					 const struct image_service *service,
					 const struct image_choice *choice, size_t k)
{
	return (const double *)image_at(image, image->column) + choice->column +
	       k * service->n_rows;
}

static inline const char *image_text(const struct image_header *image, uint32_t at)
{
	return (const char *)image_at(image, image->text) + at;
}

static inline const double *image_values(const struct image_header *image, size_t metric)
{
	return (const double *)image_at(image, image->value) + metric * image->server.count;
}

static inline const int64_t *image_taken(const struct image_header *image, size_t metric)
{
	return (const int64_t *)image_at(image, image->taken) + metric * image->server.count;
}

/** May this server be contacted at all (not drained, not skipped, weight above 0)? [any] */
static inline bool image_is_usable(const struct image_server *server)
{
	return (server->flags & (IMAGE_DRAINED | IMAGE_SKIPPED)) == 0 && server->weight > 0;
}

/** Index of a metric by name, or -1. [any] */
int image_metric_index(const struct image_header *image, const char *name);

/**
 * Prove that the len bytes at image are a whole, consistent image. It may come from a hostile file.
 * Every instance belongs to a service, every order names each usable row once; only a router choice
 * without instance and with verdict <= 0 has no order. Times are not negative. Returns 0, -EBADMSG
 * with what is wrong, or -ENOMEM. [any]
 */
int image_check(const struct image_header *image, size_t len, struct err *err);

/*** Building one ***/

/** Sizes of an image to be built. */
struct image_size {
	uint32_t servers, metrics, services, instances, rows, orders, columns, text;
};

/**
 * Lay out an image of these sizes, zeroed, values NaN. Returns malloc'd memory, or NULL (no memory,
 * or larger than IMAGE_BYTES_MAX). The arrays are written through image_edit_*(). [any]
 */
struct image_header *image_new(const struct image_size *size);

static inline void *image_edit(struct image_header *image, struct image_part part)
{
	return (char *)image + part.at;
}

#endif
