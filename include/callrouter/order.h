/* callrouter/order.h - small tools for routers, all inline: a router links nothing but libc. */
#ifndef CALLROUTER_ORDER_H
#define CALLROUTER_ORDER_H

#include <string.h>

#include <callrouter/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Should row a stand before row b? Must be a strict weak order; ties keep their place. */
typedef bool cr_before_fn(const struct cr_view *view, uint16_t a, uint16_t b, const void *arg);

/**
 * Sort the n entries of order, stably, by binary insertion: n * log2(n) comparisons, moves of two
 * bytes each, no memory of its own. Returns n. [any]
 */
static inline int cr_order_sort(const struct cr_view *view, uint16_t *order, size_t n,
				cr_before_fn *before, const void *arg)
{
	for (size_t i = 1; i < n; i++) {
		const uint16_t x = order[i];
		size_t low = 0, high = i;

		if (!before(view, x, order[i - 1], arg))
			continue;
		while (low < high) {
			const size_t mid = (low + high) / 2;

			if (before(view, x, order[mid], arg))
				high = mid;
			else
				low = mid + 1;
		}
		memmove(order + low + 1, order + low, (i - low) * sizeof *order);
		order[low] = x;
	}
	return (int)n;
}

/** Move row x to the front, keeping the order of the others. No effect if x is absent. [any] */
static inline void cr_order_front(uint16_t *order, size_t n, uint16_t x)
{
	size_t i = 0;

	while (i < n && order[i] != x)
		i++;
	if (i == n)
		return;
	memmove(order + 1, order, i * sizeof *order);
	order[0] = x;
}

/** Reverse the n entries of order. [any] */
static inline void cr_order_reverse(uint16_t *order, size_t n)
{
	for (size_t i = 0, j = n; i + 1 < j; i++) {
		const uint16_t x = order[--j];

		order[j] = order[i];
		order[i] = x;
	}
}

#define CR_ROTATE_ROOM 256 /* entries that cr_order_rotate() sets aside */

/** Rotate order so that the entry at place by % n comes first. [any] */
static inline void cr_order_rotate(uint16_t *order, size_t n, uint64_t by)
{
	const size_t left = n > 1 ? (size_t)(by % n) : 0, right = n - left;
	uint16_t aside[CR_ROTATE_ROOM];

	if (left == 0)
		return;
	/* Blocks are moved many times as fast as single entries. */
	if (left <= right && left <= CR_ROTATE_ROOM) {
		memcpy(aside, order, left * sizeof *order);
		memmove(order, order + left, right * sizeof *order);
		memcpy(order + right, aside, left * sizeof *order);
	} else if (right <= CR_ROTATE_ROOM) {
		memcpy(aside, order + left, right * sizeof *order);
		memmove(order + right, order, left * sizeof *order);
		memcpy(order, aside, right * sizeof *order);
	} else {
		cr_order_reverse(order, left);
		cr_order_reverse(order + left, right);
		cr_order_reverse(order, n);
	}
}

/**
 * Let the equally good rows at the head of a sorted order take turns, one turn per view, so that a
 * tie does not always favour the same server. [any]
 */
static inline void cr_order_turns(const struct cr_view *view, uint16_t *order, size_t n,
				  cr_before_fn *before, const void *arg)
{
	size_t ties = 1;

	while (ties < n && !before(view, order[0], order[ties], arg))
		ties++;
	if (ties <= n)
		cr_order_rotate(order, ties, view->generation);
}

/** Stir 64 bits so that each depends on all (the finaliser of MurmurHash3, public domain). [any] */
static inline uint64_t cr_mix64(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ (x >> 33);
}

/** The next draw from a generator whose state is the caller's; start it with call->random
 * (splitmix64). [any] */
static inline uint64_t cr_draw(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/** A number below n (n > 0), even to 2^-32, from 64 random bits. [any] */
static inline uint32_t cr_below(uint64_t random, uint32_t n)
{
	return (uint32_t)(((random >> 32) * n) >> 32);
}

/** A 64-bit hash of len bytes: equal on every machine of one byte order; no defence against chosen
 * keys. [any] */
static inline uint64_t cr_hash64(const void *data, size_t len)
{
	const unsigned char *p = (const unsigned char *)data;
	uint64_t h = 0x9e3779b97f4a7c15ull ^ len, word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, p, len);
	return cr_mix64(h ^ word);
}

#ifdef __cplusplus
}
#endif
#endif
