/* good.c - a sound router that shows what it was given: for the loader's tests. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/plugin.h>

static const char *const needs[] = { "first_metric", NULL };
static const char *const wants[] = { "second_metric", "third_metric", NULL };

static const struct cr_option options[] = {
	{ "mode", CR_TEXT, NULL, 0, 0, NULL, "what open() does" },
	{ "level", CR_INT, "3", 1, 10, NULL, "a number" },
	{ .name = NULL },
};

struct good {
	int64_t level;
	size_t saved_len;
	char mode[16], source[16];
};

static int open_good(const struct cr_open *in, void **out)
{
	struct good *self;

	if (strcmp(in->option[0].text, "explain") == 0) {
		snprintf(in->err, in->err_len, "mode: it was asked to fail");
		return -EDOM;
	}
	if (strcmp(in->option[0].text, "mute") == 0)
		return -EIO;
	if (strcmp(in->option[0].text, "overlong") == 0) {
		memset(in->err, 'x', in->err_len); /* no NUL */
		return -EDOM;
	}
	self = calloc(1, sizeof *self);
	if (self == NULL)
		return -ENOMEM;
	self->level = in->option[1].num;
	self->saved_len = in->saved_len;
	snprintf(self->mode, sizeof self->mode, "%s", in->option[0].text);
	snprintf(self->source, sizeof self->source, "%s", in->source);
	*out = self;
	return 0;
}

static size_t save(const void *self, void *buf, size_t cap)
{
	const struct good *good = self;
	const int len = snprintf(buf, cap, "%s %lld %zu %s", good->mode, (long long)good->level,
				 good->saved_len, good->source);

	return len < 0 ? 0 : (size_t)len;
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	(void)self;
	(void)view;
	(void)call;
	(void)order;
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("good", "1.2.3", "shows what it was given"),
	.state_tag = 7,
	.needs = needs,
	.wants = wants,
	.options = options,
	.open = open_good,
	.close = free,
	.save = save,
	.route = route,
};
