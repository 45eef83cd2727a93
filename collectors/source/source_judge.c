/* source_judge.c - was it a success? By HTTP's status, and by the description's ok. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "source_internal.h"

int source_reading_fail(struct source_reading *reading, enum cr_why why, const char *fmt, ...)
{
	va_list args;

	reading->why = why;
	va_start(args, fmt);
	(void)vsnprintf(reading->text, sizeof reading->text, fmt, args);
	va_end(args);
	return -EPROTO;
}

static bool is_html_type(const char *type)
{
	return type != NULL && (strncasecmp(type, "text/html", 9) == 0 ||
				strncasecmp(type, "application/xhtml", 17) == 0);
}

bool source_looks_like_html(const struct source_answer *answer)
{
	static const char *const starts[] = { "<!doctype html", "<html" };
	static const char bom[] = "\xef\xbb\xbf";
	const char *at = answer->bytes, *end = at + answer->len;

	if (is_html_type(answer->content_type))
		return true;
	if (answer->len >= 3 && memcmp(at, bom, 3) == 0)
		at += 3;
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
		at++;
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if ((size_t)(end - at) >= strlen(starts[i]) &&
		    strncasecmp(at, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/*** Was it a success? ***/

/* What to do about status 401. */
static const char *cure_stranger(const struct source *source, enum source_shown shown)
{
	switch (shown) {
	case SOURCE_SHOWN_NOTHING:
		return source->has_auth && source->auth == SOURCE_AUTH_BEARER
			       ? "set token_file"
			       : "set user and password_file";
	case SOURCE_SHOWN_TOKEN:
		return "check token_file";
	case SOURCE_SHOWN_HEADER:
		return "check secret_header and secret_header_file";
	case SOURCE_SHOWN_UNKNOWN:
	case SOURCE_SHOWN_PASSWORD:
		break;
	}
	return "check user and password_file";
}

/* 401: the server does not know who asks. 403: it knows, and does not want it. */
static int refuse_access(const struct source *source, const struct source_answer *answer,
			 struct source_reading *reading)
{
	const char *text = cure_stranger(source, answer->shown);

	if (answer->status == 403)
		text = answer->shown == SOURCE_SHOWN_NOTHING
			       ? "this may not be read without a user, or not by this host"
			       : "this user may not read this, or this host may not";
	return source_reading_fail(reading, CR_AUTH, "HTTP status %ld: %s%s%s", answer->status,
				   text, *source->help_auth != '\0' ? "; " : "", source->help_auth);
}

int source_judge_status(const struct source *source, const struct source_request *request,
			const struct source_answer *answer, struct source_reading *reading)
{
	const char *url = answer->url != NULL ? answer->url : request->path;

	if (answer->status == 401 || answer->status == 403)
		return refuse_access(source, answer, reading);
	if (answer->status / 100 == 3)
		return source_reading_fail(reading, CR_REPLY,
					   "HTTP status %ld: redirected to %.100s; redirects are "
					   "not followed",
					   answer->status,
					   answer->location != NULL ? answer->location : "nowhere");
	/* There, the words of the error stand in the body. */
	if (request->format == SOURCE_PROMQL &&
	    request->parts->kind->read(reading, answer) == -EPROTO && reading->why == CR_REPLY &&
	    strncmp(reading->text, "Prometheus says", 15) == 0)
		return -EPROTO;
	return source_reading_fail(reading, CR_REPLY, "HTTP status %ld for %.120s", answer->status,
				   url);
}

/* The server's own words about what went wrong, or NULL. */
static const char *words_of(const struct source_sheet *sheet)
{
	for (size_t i = 0; i < sheet->parts->n_slots; i++) {
		const struct source_sum *sum = source_sheet_at(sheet, 0, i);

		if (sheet->parts->slot[i].role == SOURCE_ROLE_ERROR && sum->n > 0)
			return sum->text;
	}
	return NULL;
}

static int refuse(struct source_reading *reading, const struct source_slot *slot,
		  const struct source_sum *sum)
{
	const char *words = words_of(reading->sheet);
	const bool is_auth = strcmp(sum->text, "401") == 0 || strcmp(sum->text, "403") == 0;

	if (sum->n == 0)
		return source_reading_fail(reading, CR_REPLY, "not a good answer: no %.60s%s%s",
					   slot->where, words != NULL ? ": " : "",
					   words != NULL ? words : "");
	return source_reading_fail(reading, is_auth ? CR_AUTH : CR_REPLY,
				   "%.60s is \"%.40s\", not \"%.40s\"%s%s", slot->where, sum->text,
				   slot->n_equals > 0 ? slot->equals[0] : "",
				   words != NULL ? ": " : "", words != NULL ? words : "");
}

int source_judge_ok(struct source_reading *reading)
{
	const struct source_parts *parts = reading->parts;

	for (size_t i = 0; i < parts->n_slots; i++) {
		const struct source_sum *sum = source_sheet_at(reading->sheet, 0, i);

		if (parts->slot[i].role == SOURCE_ROLE_OK && !sum->is_met)
			return refuse(reading, &parts->slot[i], sum);
	}
	return 0;
}
