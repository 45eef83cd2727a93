/* poller_log.c - what the log is told of targets that fail and answer again, and by collectors:
 * with a whole rack down the first ones by name, the others as a number. [own] */
#include "poller_internal.h"

#include "log.h"

#define LINES_NS  (60 * CLOCK_S) /* in which so many lines are written */
#define OTHERS_NS (10 * CLOCK_S) /* in which the others are gathered */

bool poller_log_take(struct poller_lines *lines, int64_t now_ns)
{
	if (lines->written == 0 || now_ns - lines->since_ns >= LINES_NS) {
		lines->since_ns = now_ns;
		lines->written = 0;
	}
	if (lines->written < POLLER_LINES) {
		lines->written++;
		return true;
	}
	if (lines->others++ == 0)
		lines->tell_ns = now_ns + OTHERS_NS;
	return false;
}

size_t poller_log_others(struct poller_lines *lines, int64_t now_ns)
{
	const size_t others = lines->others;

	if (others == 0 || now_ns < lines->tell_ns)
		return 0;
	lines->others = 0;
	return others;
}

void poller_log_change(struct source *source, struct target *target, unsigned before,
		       const char *text)
{
	/* its successor has taken over what the log knows, and tells of its own polls */
	if (source->is_retiring)
		return;
	if (target->failures == POLLER_FAILURES) {
		source->n_told += !target->is_told;
		target->is_told = true;
		if (poller_log_take(&source->fails, clock_now_ns()))
			log_warn("target fails, polled less often from now on",
				 "source=%s target=%s endpoint=%s error=\"%s\"", source->name,
				 target->name, target->endpoint, text);
	} else if (target->failures == 0 && target->is_told) {
		source->n_told--;
		target->is_told = false;
		if (poller_log_take(&source->answers, clock_now_ns()))
			log_info("target answers again", "source=%s target=%s failures=%u",
				 source->name, target->name, before);
	}
}

void poller_log_say(struct source *source, enum cr_level level, const char *text)
{
	struct poller_lines *lines = level < CR_INFO ? &source->warnings : &source->remarks;

	if (level == CR_DEBUG || poller_log_take(lines, clock_now_ns()))
		log_line(level, "collector", "source=%s %s", source->name, text);
}

static void tell_more(struct source *source, int64_t now_ns)
{
	const size_t warnings = poller_log_others(&source->warnings, now_ns);
	const size_t remarks = poller_log_others(&source->remarks, now_ns);

	if (warnings > 0)
		log_warn("more warnings of the collector",
			 "source=%s more=%zu: callrouterctl servers NAME shows what is not taken",
			 source->name, warnings);
	if (remarks > 0)
		log_info("more remarks of the collector", "source=%s more=%zu", source->name,
			 remarks);
}

static void tell(struct source *source, int64_t now_ns)
{
	const size_t fail = poller_log_others(&source->fails, now_ns);
	const size_t answer = poller_log_others(&source->answers, now_ns);

	if (fail > 0)
		log_warn("more targets fail",
			 "source=%s more=%zu failing=%zu targets=%zu: callrouterctl status counts "
			 "them, callrouterctl servers lists them",
			 source->name, fail, source->n_told, source->n_targets);
	if (answer > 0)
		log_info("more targets answer again", "source=%s more=%zu failing=%zu targets=%zu",
			 source->name, answer, source->n_told, source->n_targets);
	tell_more(source, now_ns);
}

int64_t poller_log_visit(struct source *source, int64_t now_ns)
{
	const struct poller_lines *const all[] = { &source->fails, &source->answers,
						   &source->warnings, &source->remarks, NULL };
	int64_t next_ns = INT64_MAX;

	tell(source, now_ns);
	for (size_t i = 0; all[i] != NULL; i++)
		if (all[i]->others > 0 && all[i]->tell_ns < next_ns)
			next_ns = all[i]->tell_ns;
	return next_ns;
}

void poller_log_end(struct source *source)
{
	tell(source, INT64_MAX);
}
