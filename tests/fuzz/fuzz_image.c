/* fuzz_image.c - an image of any bytes: what image_check() takes can be read without further care.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "image.h"
#include "view.h"

#include "../shared_files.h"

static const char *const needs[] = { "metric_0_bytes", "no_such_bytes", NULL };
static const struct cr_router router = { .needs = needs };

static void see(const struct image_header *image, const struct image_service *service,
		const struct image_choice *choice)
{
	struct cr_view *view = view_new(image, service, choice, NULL, &router, NULL);
	uint16_t *order = calloc(service->n_rows + 1u, sizeof *order);
	size_t n;

	if (view == NULL || order == NULL)
		abort();
	n = view_usable(image, service, order);
	fuzz_expect(n == service->n_usable, "another number of usable servers");
	free(order);
	view_free(view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const uint8_t how = fuzz_byte(&in);
	struct err err = { 0 };
	size_t len;
	struct image_header *image = fuzz_rest(&in, &len);
	int rc;

	/* What no mutation would find: the length in the header. */
	if (how < 250 && len >= sizeof *image) {
		image->layout = IMAGE_LAYOUT;
		image->bytes = (uint32_t)len;
	}
	rc = image_check(image, len, &err);
	fuzz_expect(rc == 0 || err.text[0] != '\0', "damaged without a text");
	fuzz_expect_line(err.text, "what is damaged is no line");
	if (rc == 0) {
		(void)walk_image(image);
		for (uint32_t s = 0; s < image->service.count; s++) {
			see(image, &image_services(image)[s], &image_services(image)[s].router);
			see(image, &image_services(image)[s], &image_services(image)[s].preset);
		}
	}
	free(image);
	return 0;
}
