/*
 * smooth.h - metrics as a service's rankers shall see them: without the sawtooth of collections,
 * and with servers that are nearly equal made equal. Only what rank() is given; a data plane and
 * status see what was measured, status sees both.
 *
 * For each metric of a service, in this order, each as configured:
 *	window      the largest (or smallest) value of the last so many seconds
 *	half_life   a mean in which a sample counts half after that time
 *	band        servers whose values differ by less are given one value, the largest of theirs;
 *		    those that were equal stay so until they differ by more than the band, and those
 *		    that were not become so when they differ by less than half of it
 */
#ifndef CR_DAEMON_SMOOTH_H
#define CR_DAEMON_SMOOTH_H

#include "config.h"
#include "image.h"

struct smooth;

/** Returns NULL only without memory. [main] */
struct smooth *smooth_new(void);
void smooth_free(struct smooth *smooth);

/**
 * Smooth what this configuration says from now on; servers keep what is known of them as long as
 * the service smooths the metric in the same way. Returns 0, or -ENOMEM: nothing is smoothed.
 * [main]
 */
int smooth_configure(struct smooth *smooth, const struct config *config);

/** Take the new samples in image, which was built from that configuration. [main] */
void smooth_update(struct smooth *smooth, const struct image_header *image);

/** Does this service smooth anything? [main] */
bool smooth_is_used(const struct smooth *smooth, size_t service);

/** A copy of image as the service's rankers shall see it; malloc'd, or NULL without memory. [main]
 */
struct image_header *smooth_image(const struct smooth *smooth, const struct image_header *image,
				  size_t service);

/** The value that row of a service was last given for a metric; NaN: it is not smoothed, or not
 * known. smooth may be NULL. [main] */
double smooth_get(const struct smooth *smooth, size_t service, const char *metric, size_t row);

#endif
