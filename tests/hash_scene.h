/* hash_scene.h - keys and where they go: for the tests of the router hash. */
#ifndef CR_TESTS_HASH_SCENE_H
#define CR_TESTS_HASH_SCENE_H

#include "routers_classic_scene.h"

#define KEYS 40000

static const char *const modes[] = { "mode=consistent\n", "mode=buckets\n", "mode=maglev\n" };
#define MODES (sizeof modes / sizeof *modes)

static inline void load_hash(const char *packed, size_t n, const uint32_t *weight)
{
	load("hash", packed);
	set_crowd(n);
	if (weight != NULL)
		set_weights(n, weight);
}

static inline struct cr_str text_of(const char *text)
{
	return (struct cr_str){ text, strlen(text) };
}

/* Where the call with this key goes, whatever else it has. */
static inline uint16_t route_key(const char *key)
{
	return ask(&(struct cr_call){ .random = cr_draw(&crowd.draw), .key = text_of(key) });
}

static inline uint16_t route_client(const char *client)
{
	return ask(&(struct cr_call){ .random = cr_draw(&crowd.draw), .client = text_of(client) });
}

static inline uint16_t route_number(unsigned number)
{
	char key[20];

	snprintf(key, sizeof key, "session-%u", number);
	return route_key(key);
}

static inline void assign(uint16_t *owner)
{
	for (unsigned k = 0; k < KEYS; k++)
		owner[k] = route_number(k);
}

/* How many keys went from one server to another; but_row: not counted where it had or has them. */
static inline unsigned moved(const uint16_t *before, const uint16_t *after, uint16_t but_row)
{
	unsigned sum = 0;

	for (unsigned k = 0; k < KEYS; k++)
		sum += before[k] != after[k] && before[k] != but_row && after[k] != but_row;
	return sum;
}

static inline double percent(unsigned count)
{
	return 100.0 * count / KEYS;
}

/* The first server for all keys while one row is away (CR_NONE: none), but still of the service. */
static inline void assign_as_it_is(uint16_t away, uint16_t *owner)
{
	for (unsigned k = 0; k < KEYS; k++) {
		char key[20];
		uint16_t order[CROWD];
		size_t n = 0;

		snprintf(key, sizeof key, "session-%u", k);
		for (uint16_t i = 0; i < crowd.view.n; i++)
			if (i != away)
				order[n++] = i;
		plugin->router.route(instance.self, &crowd.view,
				     &(struct cr_call){ .key = text_of(key) }, order, n);
		owner[k] = order[0];
	}
}

/* The same, once the view has been prepared. */
static inline void assign_without(uint16_t away, uint16_t *owner)
{
	prepare(&crowd.view);
	assign_as_it_is(away, owner);
}

#endif
