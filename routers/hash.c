/*
 * hash.c - calls with the same key go to the same server, as long as it may be contacted.
 *
 * consistent: each server draws a number from the key and its own name, and the lowest gets the
 * call (rendezvous, by weight). A new server takes the keys for which it draws the lowest; a lost
 * one leaves its keys to whoever drew the next, all others by their weights. It needs no table, and
 * all hosts agree, in whatever order they know the servers.
 *
 * buckets: 65,536 buckets, owned by the service's servers row by row, each as many as it weighs. A
 * new or lost server moves up to half of all keys; one that is away for a while only its own.
 *
 * maglev: as consistent, but from a table that prepare() makes (maglev.h), so that the first server
 * costs the same however many there are. A key whose server is away looks on in the table, in steps
 * of its own. Without a table it does what consistent does.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <callrouter/order.h>

#include "maglev.h"
#include "place.h"

#define PLACES 3   /* nobody counts on more tries for one call: behind them any order will do */
#define FULL   1e9 /* longer than any distance: no number is below 2^-54, no weight below 1 */
#define LOOKS  32  /* into the table for one call; then distances decide */

enum mode { CONSISTENT, BUCKETS, MAGLEV };

struct hash {
	enum mode mode;
	double bound;     /* 0: none */
	const char *from; /* where the key comes from */
};

/** The servers with the lowest numbers, the lowest first. */
struct nearest {
	double distance[PLACES];
	uint16_t row[PLACES];
};

static int open_hash(const struct cr_open *in, void **out)
{
	const union cr_value *option = in->option;
	const char *from = option[2].text;
	struct hash *self;

	if (strcmp(from, "auto") != 0 && strcmp(from, "client") != 0 &&
	    strcmp(from, "method") != 0 && (strncmp(from, "param:", 6) != 0 || from[6] == '\0')) {
		(void)snprintf(in->err, in->err_len,
			       "key: \"%s\" is none of auto, client, method, param:NAME", from);
		return -EINVAL;
	}
	if (option[1].real != 0 && option[1].real < 1) {
		(void)snprintf(in->err, in->err_len,
			       "bound: %g is below 1, the even share; write 0 for none",
			       option[1].real);
		return -EINVAL;
	}
	self = malloc(sizeof *self);
	if (self == NULL)
		return -ENOMEM;
	*self = (struct hash){ (enum mode)option[0].num, option[1].real, from };
	*out = self;
	return 0;
}

static struct cr_str find_param(const struct cr_call *call, const char *name)
{
	for (size_t i = 0; i < call->n_params; i++) {
		const struct cr_param *param = call->param[i];

		if (param->name.len == strlen(name) &&
		    memcmp(param->name.ptr, name, param->name.len) == 0)
			return param->value;
	}
	return (struct cr_str){ NULL, 0 };
}

/* An IPv4 client keeps its key where it comes in at an IPv6 socket: "::ffff:192.0.2.1". */
static struct cr_str find_client(const struct cr_call *call)
{
	struct cr_str client = call->client;

	if (client.len > 7 && memcmp(client.ptr, "::ffff:", 7) == 0 &&
	    memchr(client.ptr, '.', client.len) != NULL) {
		client.ptr += 7;
		client.len -= 7;
	}
	return client;
}

/* A call without any key goes anywhere. */
static uint64_t hash_key(const struct hash *self, const struct cr_call *call)
{
	struct cr_str key = { NULL, 0 };

	if (self->from[0] == 'p')
		key = find_param(call, self->from + 6);
	else if (self->from[0] == 'm')
		key = call->method;
	if (key.len == 0 && self->from[0] != 'c')
		key = call->key;
	if (key.len == 0)
		key = find_client(call);
	return key.len > 0 ? cr_hash64(key.ptr, key.len) : cr_mix64(call->random);
}

/* How many calls for each unit of its weight a server may have before it counts as full: bound
 * times the mean, with the call that is coming. */
static double find_limit(const struct hash *self, const struct cr_view *view, const uint16_t *order,
			 size_t n)
{
	double calls = 1, weight = 0;

	if (self->bound == 0)
		return INFINITY;
	for (size_t i = 0; i < n; i++) {
		calls += cr_inflight(view, order[i]);
		weight += view->weight[order[i]];
	}
	return weight > 0 ? self->bound * calls / weight : INFINITY;
}

static bool is_full(const struct cr_view *view, size_t row, double limit)
{
	return cr_inflight(view, row) >= limit * view->weight[row];
}

static void nearest_put(struct nearest *nearest, double distance, uint16_t row)
{
	size_t i = PLACES - 1;

	if (!(distance < nearest->distance[i]))
		return;
	for (; i > 0 && distance < nearest->distance[i - 1]; i--) {
		nearest->distance[i] = nearest->distance[i - 1];
		nearest->row[i] = nearest->row[i - 1];
	}
	nearest->distance[i] = distance;
	nearest->row[i] = row;
}

/* Cheap: that names differ is enough, cr_mix64() spreads the difference. */
static uint64_t hash_name(const char *name)
{
	uint64_t h = 0;

	for (; *name != '\0'; name++)
		h = (h + (unsigned char)*name) * 0x9e3779b97f4a7c15ull;
	return h;
}

/* Distances are exponentially distributed with the weight as their rate: each server is the nearest
 * as often as it weighs, and of those that are left the next one is again. */
static void order_by_distance(const struct cr_view *view, uint16_t *order, size_t n, uint64_t hash,
			      double limit)
{
	struct nearest nearest = { { INFINITY, INFINITY, INFINITY },
				   { CR_NONE, CR_NONE, CR_NONE } };

	for (size_t i = 0; i < n; i++) {
		const uint16_t row = order[i];
		const double weight = view->weight[row];
		const uint64_t drawn = cr_mix64(hash ^ hash_name(view->name[row]));
		const double even = ((double)(drawn >> 11) + 0.5) * 0x1p-53; /* in (0, 1) */

		/* 1 - even <= -log(even): saves most of the logarithms */
		if (weight == 0 || 1 - even >= nearest.distance[PLACES - 1] * weight)
			continue;
		nearest_put(&nearest, (is_full(view, row, limit) ? FULL : 0) - log(even) / weight,
			    row);
	}
	if (nearest.row[0] == CR_NONE)
		cr_order_rotate(order, n, hash);
	for (size_t place = PLACES; place-- > 0;)
		cr_order_front(order, n, nearest.row[place]);
}

/* The owner among all servers of the service: those that are away keep their buckets. */
static uint16_t find_owner(const struct cr_view *view, uint64_t bucket)
{
	uint64_t weight = 0, at;
	uint16_t row = 0;

	for (size_t i = 0; i < view->n; i++)
		weight += view->weight[i];
	if (weight == 0)
		return CR_NONE;
	for (at = bucket * weight >> 16; at >= view->weight[row]; row++)
		at -= view->weight[row];
	return row;
}

/** The rows on offer: by row where nobody ranks, but nobody has to trust in that. */
struct offer {
	const uint16_t *order;
	size_t n;
	bool is_sorted, is_known; /* whether it is */
};

static bool is_sorted(struct offer *offer)
{
	size_t falls = 0;

	if (offer->is_known)
		return offer->is_sorted;
	for (size_t i = 1; i < offer->n; i++) /* without a way out it is faster */
		falls += offer->order[i] < offer->order[i - 1];
	offer->is_sorted = falls == 0;
	offer->is_known = true;
	return offer->is_sorted;
}

/* Where a row stands in order; n: it is not there. */
static size_t find_place(struct offer *offer, uint16_t row)
{
	const uint16_t *order = offer->order;
	size_t low = 0, high = offer->n;

	if (row < high && order[row] == row)
		return row;
	while (low < high) {
		const size_t mid = (low + high) / 2;

		if (order[mid] == row)
			return mid;
		if (order[mid] < row)
			low = mid + 1;
		else
			high = mid;
	}
	if (is_sorted(offer))
		return offer->n;
	for (low = 0; low < offer->n && order[low] != row; low++)
		continue;
	return low;
}

/* Is it one of the n places already found? */
static bool is_among(const size_t *at, size_t n, size_t place)
{
	for (size_t i = 0; i < n; i++)
		if (at[i] == place)
			return true;
	return false;
}

/* Each key visits all entries in its own order, so the keys of a server that is away, or full, go
 * to all others. Who is not met in few steps comes by distance, behind those that are. */
static void order_by_table(const struct maglev *table, const struct cr_view *view, uint16_t *order,
			   size_t n, uint64_t hash, double limit)
{
	const uint32_t step = (uint32_t)((hash >> 32) % (table->size - 1)) + 1;
	const size_t wanted = n <= PLACES ? n - 1 : PLACES; /* nobody else can be the last */
	struct offer offer = { .order = order, .n = n };
	uint32_t entry = (uint32_t)(hash % table->size);
	size_t at[PLACES] = { 0 }, found = 0;

	for (int look = 0; look < LOOKS && found < wanted; look++) {
		const uint16_t row = table->entry[entry];
		const size_t place = find_place(&offer, row);

		if (place < n && !is_among(at, found, place) && !is_full(view, row, limit))
			at[found++] = place;
		entry = maglev_after(entry, step, table->size);
	}
	place_front(order, at, found);
	if (found < wanted)
		order_by_distance(view, order + found, n - found, hash, limit);
}

static int route(const void *arg, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	const struct hash *self = arg;
	const uint64_t hash = hash_key(self, call);
	const double limit = find_limit(self, view, order, n);

	if (self->mode == MAGLEV && view->prepared != NULL && n > 0) {
		order_by_table(view->prepared, view, order, n, hash, limit);
		return (int)n;
	}
	order_by_distance(view, order, n, hash, limit);
	if (self->mode == BUCKETS) {
		const uint16_t owner = find_owner(view, hash >> 48);

		if (owner != CR_NONE && !is_full(view, owner, limit))
			cr_order_front(order, n, owner);
	}
	return (int)n;
}

/* Health is looked at by each call: a server that comes and goes moves no other one's keys. */
static int prepare(const void *arg, const struct cr_view *view, const void *previous,
		   const void **out)
{
	const struct hash *self = arg;
	struct maglev *table;

	if (self->mode != MAGLEV)
		return 0;
	if (previous != NULL && maglev_is_of(previous, view)) {
		*out = previous;
		return 0;
	}
	if (maglev_new(view, &table) < 0)
		return -ENOMEM;
	*out = table;
	return 0;
}

static void release(const void *self, void *prepared)
{
	(void)self;
	free(prepared);
}

static const char *const modes[] = { "consistent", "buckets", "maglev", NULL };

static const struct cr_option options[] = {
	{ "mode", CR_CHOICE, "consistent", 0, 0, modes, "how keys are divided among the servers" },
	{ "bound", CR_REAL, "0", 0, 100, NULL,
	  "most calls in progress of a server, in multiples of its share; 0: no bound" },
	{ "key", CR_TEXT, "auto", 0, 0, NULL,
	  "auto (the call's key, or else its client), client, method or param:NAME" },
	{ 0 },
};

CR_ROUTER = {
	CR_ROUTER_HEAD("hash", "1.1.0", "calls with the same key to the same server"),
	.options = options,
	.open = open_hash,
	.close = free,
	.route = route,
	.prepare = prepare,
	.release = release,
};
