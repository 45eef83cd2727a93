/* place.h - who comes first, second and third: by the lowest score, or drawn in proportion to a
 * weight. */
#ifndef CR_ROUTERS_PLACE_H
#define CR_ROUTERS_PLACE_H

#include <math.h>

#include <callrouter/order.h>

#define FIELD_MAX 64 /* servers that are compared; of more, a drawn sample */

/** The servers that a call is decided between: their places in order[], and their scores. */
struct field {
	size_t n;
	uint16_t at[FIELD_MAX];
	uint8_t hits[FIELD_MAX]; /* of a drawn field: how many draws found it */
	double score[FIELD_MAX]; /* the lowest is the best; NaN: only if there is nobody else */
	double price[FIELD_MAX]; /* equal scores are drawn in proportion to 1 / price; of a drawn
				    field that is not once more the weight */
};

/** A number from [0, 1). [any] */
static inline double draw_unit(uint64_t *state)
{
	return (double)(cr_draw(state) >> 11) * 0x1p-53;
}

/** All n places, n <= FIELD_MAX. [any] */
static inline void field_take_all(struct field *field, size_t n)
{
	field->n = n;
	for (size_t i = 0; i < n; i++)
		field->at[i] = (uint16_t)i;
}

/**
 * Draw up to want <= FIELD_MAX different places in proportion to the servers' weights: one from
 * each of want stretches of equal weight, so that one walk finds them all. A server that outweighs
 * a stretch is in for certain. [any]
 */
static inline void field_draw(struct field *field, const struct cr_view *view,
			      const uint16_t *order, size_t n, size_t want, uint64_t *state)
{
	uint64_t total = 0, passed = 0, stretch;
	size_t i = 0;

	field->n = 0;
	for (size_t k = 0; k < n; k++)
		total += view->weight[order[k]];
	stretch = (total << 32) / want; /* in units of 2^-32 */
	for (size_t k = 0; k < want && total > 0; k++) {
		const uint64_t mark =
			(k * stretch + (stretch >> 20) * (cr_draw(state) >> 44)) >> 32;

		while (i + 1 < n && passed + view->weight[order[i]] <= mark)
			passed += view->weight[order[i++]];
		if (field->n > 0 && field->at[field->n - 1] == i) {
			field->hits[field->n - 1]++;
			continue;
		}
		field->hits[field->n] = 1;
		field->at[field->n++] = (uint16_t)i;
	}
	for (size_t k = 0; k < want && total == 0; k++) { /* nobody has a weight: all are equal */
		field->hits[k] = 1;
		field->at[field->n++] =
			(uint16_t)((k * n + cr_below(cr_draw(state), (uint32_t)n)) / want);
	}
}

/** The member with the lowest score. Scores that differ by rounding alone are equal. [any] */
static inline size_t field_least(const struct field *field, uint64_t *state)
{
	double low = INFINITY, high = INFINITY, sum = 0;
	size_t least = field->n;

	for (size_t k = 0; k < field->n; k++) {
		const double score = field->score[k];

		if (!(score <= high))
			continue;
		if (score < low) {
			low = score * (1 - 1e-12);
			high = score * (1 + 1e-12);
			sum = 1 / field->price[k];
			least = k;
			continue;
		}
		sum += 1 / field->price[k];
		if (draw_unit(state) * sum * field->price[k] < 1)
			least = k;
	}
	return least < field->n ? least : cr_below(cr_draw(state), (uint32_t)field->n);
}

static inline void place_swap(uint16_t *order, size_t a, size_t b)
{
	const uint16_t row = order[a];

	order[a] = order[b];
	order[b] = row;
}

/* Bring three different places to the front, in this order; what was there takes theirs. */
static inline void place_front(uint16_t *order, const size_t *at, size_t n)
{
	size_t from[3] = { at[0], at[1], at[2] };

	for (size_t k = 0; k < n; k++) {
		place_swap(order, k, from[k]);
		for (size_t j = k + 1; j < n; j++)
			if (from[j] == k)
				from[j] = from[k];
	}
}

/**
 * Put the field's member first at the head of order, and the two best of the others behind it,
 * equal ones by a random start: a server that fails must not have one successor for all its calls.
 * [any]
 */
static inline void field_front(const struct field *field, size_t first, uint16_t *order,
			       uint64_t *state)
{
	const size_t n = field->n;
	size_t at[3] = { 0 }, n_at = 1, k;
	double second = INFINITY, third = INFINITY;

	if (first >= n)
		return;
	at[0] = field->at[first];
	k = cr_below(cr_draw(state), (uint32_t)n);
	for (size_t i = 0; i < n; i++, k = k + 1 < n ? k + 1 : 0) {
		const double score = field->score[k];

		if (k == first || !(score < third))
			continue;
		if (score < second) {
			third = second;
			at[2] = at[1];
			second = score;
			at[1] = field->at[k];
		} else {
			third = score;
			at[2] = field->at[k];
		}
		n_at += n_at < 3;
	}
	place_front(order, at, n_at);
}

/**
 * Draw the first three of order in proportion to weight[row], each from those that are left; where
 * nobody has a weight the order is turned by a random number of places. [any]
 */
static inline void place_by_weight(uint16_t *order, size_t n, const double *weight, uint64_t random)
{
	uint64_t state = random;
	double total = 0;

	for (size_t i = 0; i < n; i++)
		total += weight[order[i]] > 0 ? weight[order[i]] : 0;
	if (!(total > 0)) {
		cr_order_rotate(order, n, cr_below(cr_draw(&state), (uint32_t)n));
		return;
	}
	for (size_t k = 0; k < 3 && k < n; k++) {
		double left = draw_unit(&state) * total;
		size_t found = n;

		for (size_t i = k; i < n; i++) {
			const double w = weight[order[i]];

			if (!(w > 0))
				continue;
			found = i; /* rounding may leave a rest: then the last one that has a weight
				    */
			if (left < w)
				break;
			left -= w;
		}
		if (found == n)
			return;
		total -= weight[order[found]];
		place_swap(order, k, found);
	}
}

#endif
