/* view.h - the view that a router gets of one service, built from an image and the shared counters.
 * [L3] */
#ifndef CR_CORE_VIEW_H
#define CR_CORE_VIEW_H

#include <callrouter/plugin.h>

#include "counters.h"
#include "image.h"

/**
 * Build the view of one service for a router. All arrays lie in one block that view_free() frees;
 * live and shared point into the counters' mapping, names into the image, both must outlive the
 * view. Values older than the service's stale_after at image->taken_ns are NaN. instance: whose
 * bank of shared words, or NULL. choice: whose columns. counters NULL: live figures are all zero.
 * Returns NULL without memory. [any]
 */
struct cr_view *view_new(const struct image_header *image, const struct image_service *service,
			 const struct image_choice *choice, const struct image_instance *instance,
			 const struct cr_router *router, const struct counters *counters);
void view_free(struct cr_view *view);

/** Fill order with the rows that may be contacted, by row. Returns how many. [any] */
size_t view_usable(const struct image_header *image, const struct image_service *service,
		   uint16_t *order);

/** What is wrong with the n entries of an order that a router returned. */
enum view_order_fault { VIEW_ORDER_GOOD = 0, VIEW_ORDER_UNKNOWN, VIEW_ORDER_REPEATED };

/**
 * Check an order: every entry a usable row (usable[row] != 0), none twice. seen: n_rows stamps that
 * hold no value >= stamp; after the call the listed rows hold stamp. No allocation. [any]
 */
enum view_order_fault view_check_order(const uint16_t *order, size_t n, size_t n_rows,
				       const uint8_t *usable, uint32_t *seen, uint32_t stamp);

#endif
