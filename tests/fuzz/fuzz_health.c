/* fuzz_health.c - servers' health out of lines of any bytes: looks, slow starts, claims, results
 * and checks in any order and at any times. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counters_file.h"
#include "fuzz.h"
#include "health.h"
#include "look.h"

enum { ROWS_MAX = 12 };

static struct counters_header header;
static struct counters_line lines[COUNTERS_LINES];
static struct counters counters = { .header = &header, .line = lines };

/** A service of some servers. */
struct stage {
	struct image_header *image;
	struct world world;
	struct spot spot;
	struct place place[ROWS_MAX];
	uint8_t usable[ROWS_MAX];
	struct image_health rules;
	struct look look;
	struct health_contact contact;
	int64_t now_ns;
};

static void make_lines(struct stage *s, struct fuzz_input *in)
{
	for (uint16_t i = 0; i < s->spot.n_rows; i++) {
		struct counters_line *line = &lines[i];
		const uint8_t how = fuzz_byte(in);

		memset(line, 0, sizeof *line);
		atomic_store(&line->incarnation, how % 8 == 7 ? 2 : 1);
		if ((how & 8) != 0)
			atomic_store(&line->shut, fuzz_word(in));
		if ((how & 16) != 0)
			atomic_store(&line->down_until_ns, (int64_t)fuzz_word(in));
		if ((how & 32) != 0)
			line->live.up_since_ns = (int64_t)fuzz_word(in);
		if ((how & 64) != 0) {
			line->live.inflight = (uint32_t)fuzz_word(in);
			line->live.peer_inflight = (uint32_t)fuzz_word(in);
		}
		if ((how & 128) != 0) {
			atomic_store(&line->consecutive, (uint32_t)fuzz_word(in));
			atomic_store(&line->refusals, (uint32_t)fuzz_word(in));
		}
		s->place[i] = (struct place){ .line = i, .incarnation = 1 };
		s->usable[i] = how % 4 != 3;
		s->spot.n_usable = (uint16_t)(s->spot.n_usable + s->usable[i]);
	}
}

/* What image_check() lets through. */
static void make_rules(struct stage *s, struct fuzz_input *in)
{
	s->rules = (struct image_health){
		.aside_ns = (int64_t)(fuzz_word(in) % (IMAGE_HEALTH_NS_MAX + 1)),
		.aside_most_ns = (int64_t)(fuzz_word(in) % (IMAGE_HEALTH_NS_MAX + 1)),
		.out_for_ns = (int64_t)(fuzz_word(in) % (IMAGE_HEALTH_NS_MAX + 1)),
		.slow_start_ns = (int64_t)(fuzz_word(in) % (IMAGE_HEALTH_NS_MAX + 1)),
		.failures = (uint32_t)fuzz_word(in),
		.counts = fuzz_byte(in) & IMAGE_COUNTS_ALL,
	};
}

static void make_image(struct stage *s, struct fuzz_input *in)
{
	const struct image_size size = { .servers = s->spot.n_rows,
					 .services = 1,
					 .rows = s->spot.n_rows };
	struct image_server *server;
	uint32_t *rows;

	s->image = image_new(&size);
	if (s->image == NULL)
		abort();
	server = image_edit(s->image, s->image->server);
	rows = image_edit(s->image, s->image->row);
	for (uint16_t i = 0; i < s->spot.n_rows; i++) {
		server[i].weight = 1 + fuzz_below(in, 100);
		rows[i] = i;
	}
	s->spot.service = image_services(s->image);
}

static void expect_look(const struct stage *s)
{
	const struct look *look = &s->look;
	uint32_t n = 0, n_slow = 0;

	for (uint16_t i = 0; i < s->spot.n_rows; i++) {
		n += look->usable[i] != 0;
		n_slow += !look->is_calm && (look->usable[i] & LOOK_SLOW) != 0;
		fuzz_expect(look->usable[i] == 0 || s->usable[i] != 0, "one that is not usable");
	}
	fuzz_expect(n + look->n_held == look->n && n_slow + look->n_held == look->n_slow,
		    "another number than it says");
	fuzz_expect(n > 0 || s->spot.n_usable == 0, "nobody is left");
}

/* As a call does: what an earlier one held back is offered again first. */
static void look_and_route(struct stage *s, struct fuzz_input *in)
{
	const struct cr_call call = { .now_ns = s->now_ns, .random = fuzz_word(in) };
	uint16_t published[ROWS_MAX], order[ROWS_MAX];
	uint32_t n = 0;

	look_take(&s->look, &s->world, &s->spot, s->now_ns, fuzz_byte(in) % 4 != 0);
	if (s->look.n_slow > 0)
		look_start_slowly(&s->look, &s->world, &s->spot, &call);
	expect_look(s);
	for (uint16_t i = 0; i < s->spot.n_rows; i++)
		if (s->usable[i] != 0)
			published[n++] = i;
	n = look_filter(&s->look, published, n, order);
	fuzz_expect(n + s->look.n_held == s->look.n, "a filter that keeps others");
	fuzz_expect(look_append_held(&s->look, order, n) == s->look.n, "one that is held is lost");
}

static void contact(struct stage *s, struct counters_line *line, uint8_t outcome)
{
	const uint64_t shut = atomic_load(&line->shut);

	s->contact = (struct health_contact){ .shut = shut, .at_ns = s->now_ns, .salt = 3 };
	if (shut != 0 && health_is_due(shut, s->now_ns)) {
		s->contact.shut = health_claim(&counters, line, shut, s->now_ns);
		s->contact.was = shut;
		fuzz_expect(s->contact.shut != 0, "a claim that fails without anybody else");
	}
	if (!health_is_off(&s->rules))
		health_result(&counters, line, &s->rules, &s->contact,
			      (enum cr_outcome)(outcome % (CR_ABANDONED + 1)), s->now_ns);
}

static void expect_line(const struct stage *s, const struct counters_line *line)
{
	const uint32_t ramp = health_ramp_permille(line, s->rules.slow_start_ns, s->now_ns);

	fuzz_expect(ramp >= 100 && ramp <= 1000, "a slow start beyond its ends");
	(void)health_until_ns(line, s->now_ns);
	if (health_is_down(line, s->now_ns))
		fuzz_expect(health_state(line, s->now_ns) == CR_DOWN, "down, and not said so");
}

static void act(struct stage *s, struct fuzz_input *in)
{
	const uint8_t what = fuzz_byte(in);
	struct counters_line *line = &lines[what / 8 % s->spot.n_rows];

	switch (what % 8) {
	case 0:
	case 1:
		look_and_route(s, in);
		break;
	case 2:
		contact(s, line, fuzz_byte(in));
		break;
	case 3:
		s->now_ns += (int64_t)(fuzz_word(in) >> fuzz_below(in, 64)) / 8;
		if (s->now_ns < 0 || s->now_ns > INT64_MAX / 8)
			s->now_ns = INT64_MAX / 8;
		break;
	case 4:
		health_check_failed(&counters, line, s->now_ns + 1 + fuzz_byte(in));
		break;
	case 5:
		health_check_passed(&counters, line, s->now_ns);
		break;
	case 6:
		health_restore(&counters, line, s->now_ns);
		fuzz_expect(atomic_load(&line->shut) == 0, "restored, and shut");
		break;
	default:
		health_begin(&counters, line, fuzz_byte(in) % 2 ? s->now_ns : 0);
		break;
	}
	expect_line(s, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct stage s = { .now_ns = 1000000000000 };

	s.spot.n_rows = (uint16_t)(1 + fuzz_below(&in, ROWS_MAX));
	make_rules(&s, &in);
	make_image(&s, &in);
	make_lines(&s, &in);
	atomic_store(&header.trouble, 1);
	s.spot.place = s.place;
	s.spot.usable = s.usable;
	s.spot.rules = fuzz_byte(&in) % 4 != 0 && !health_is_off(&s.rules) ? &s.rules : NULL;
	s.world = (struct world){ .number = 1,
				  .image = s.image,
				  .counters = &counters,
				  .trouble = &header.trouble,
				  .spot = &s.spot,
				  .n_spots = 1 };
	if (look_init(&s.look) < 0)
		abort();
	for (int i = 0; i < 64 && in.left > 0; i++)
		act(&s, &in);
	look_fini(&s.look);
	free(s.image);
	return 0;
}
