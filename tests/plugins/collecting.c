/* collecting.c - the smallest collector: for the loader's tests. */
#include <callrouter/plugin.h>

#ifndef COLLECT
#define COLLECT collect
#endif

__attribute__((unused)) static int64_t collect(void *self, const struct cr_round *round)
{
	(void)self;
	(void)round;
	return INT64_MAX;
}

CR_COLLECTOR = {
	CR_COLLECTOR_HEAD("collecting", "1.0.0", "collects nothing"),
	.collect = COLLECT,
};
