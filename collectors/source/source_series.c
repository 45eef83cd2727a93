/* source_series.c - takes the lines of the exposition format apart, in a buffer of its own. */
#include "source_series.h"

#include <errno.h>
#include <string.h>

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:"
				   "0123456789";

size_t source_series_name_len(const char *text)
{
	return text[0] >= '0' && text[0] <= '9' ? 0 : strspn(text, name_letters);
}

const char *source_series_label(const struct source_series *series, const char *name)
{
	for (size_t i = 0; i < series->n_labels; i++)
		if (strcmp(series->label[i].name, name) == 0)
			return series->label[i].value;
	return "";
}

void source_series_begin(struct source_series_reader *reader, const char *bytes, size_t len)
{
	reader->at = bytes;
	reader->end = bytes + len;
	reader->line = 0;
	reader->has_eof = false;
	reader->text = "";
}

static char *skip_blanks(char *at)
{
	return at + strspn(at, " \t");
}

/* A text in quotes, undone in place; NULL: it is not closed. */
static char *take_quoted(char **at)
{
	char *start = *at + 1, *from = start, *to = start;

	for (; *from != '"'; from++) {
		if (*from == '\0')
			return NULL;
		if (*from == '\\' && from[1] != '\0') {
			from++;
			*to++ = (char)(*from == 'n' ? '\n' : *from);
		} else {
			*to++ = *from;
		}
	}
	*at = from + 1;
	*to = '\0';
	return start;
}

/* A name, bare or in quotes (newer exporters). *end: the letter after it, which is cut off. */
static char *take_name(char **at, char *end)
{
	char *name = *at;
	size_t len;

	if (*name == '"') {
		name = take_quoted(at);
		*end = **at;
		return name;
	}
	len = source_series_name_len(name);
	if (len == 0)
		return NULL;
	*at = name + len;
	*end = **at;
	return name;
}

/* A label, or the name in quotes that may stand among them. *at stands at it. */
static const char *take_label(struct source_series *series, char **at)
{
	struct source_label *label = &series->label[series->n_labels];
	const bool is_quoted = **at == '"';
	char end, *name = take_name(at, &end), *after = *at;

	if (name == NULL)
		return "a label has no name";
	*at = skip_blanks(*at);
	if (**at != '=') {
		if (!is_quoted || series->name != NULL)
			return "a label has no value";
		series->name = name;
		return NULL;
	}
	*at = skip_blanks(*at + 1);
	*after = '\0';
	if (series->n_labels == SOURCE_LABELS_MAX)
		return "more than 64 labels";
	for (size_t i = 0; i < series->n_labels; i++)
		if (strcmp(series->label[i].name, name) == 0)
			return "a label is there twice";
	label->name = name;
	label->value = **at == '"' ? take_quoted(at) : NULL;
	if (label->value == NULL)
		return "a label's value is not in quotes, or they are not closed";
	series->n_labels++;
	return NULL;
}

/* *at stands behind "{". A comma may follow the last one. */
static const char *take_labels(struct source_series *series, char **at)
{
	const char *fault;

	for (;;) {
		*at = skip_blanks(*at);
		if (**at == '}')
			break;
		fault = take_label(series, at);
		if (fault != NULL)
			return fault;
		*at = skip_blanks(*at);
		if (**at == ',')
			(*at)++;
		else if (**at != '}')
			return "labels are not separated by commas and closed by }";
	}
	(*at)++;
	return NULL;
}

/* A word at *at, which is moved behind it; cut off in place. */
static char *take_word(char **at)
{
	char *word = skip_blanks(*at);
	const size_t len = strcspn(word, " \t");

	*at = word + len + (word[len] != '\0');
	word[len] = '\0';
	return word;
}

/* NAME{LABELS} VALUE [TIME] [# EXEMPLAR] */
static const char *take_line(struct source_series *series, char *at)
{
	const char *fault = NULL;
	size_t len;
	char *name_end;

	series->name = NULL;
	series->n_labels = 0;
	len = source_series_name_len(at);
	name_end = at + len;
	if (len > 0)
		series->name = at;
	at = skip_blanks(name_end);
	if (*at == '{') {
		if (len > 0)
			*name_end = '\0';
		at++;
		fault = take_labels(series, &at);
	} else if (len > 0 && at == name_end) {
		return "the value is missing";
	}
	if (fault != NULL)
		return fault;
	if (series->name == NULL)
		return "it does not begin with a metric's name";
	at = skip_blanks(at);
	if (len > 0)
		*name_end = '\0';
	series->value = take_word(&at);
	series->time = take_word(&at);
	if (series->time[0] == '#')
		series->time = "";
	return series->value[0] != '\0' ? NULL : "the value is missing";
}

/* The next line in the buffer, without its end. Returns 1, 0, or -EPROTO. */
static int next_line(struct source_series_reader *reader)
{
	const char *end;
	size_t len;

	if (reader->at == reader->end)
		return 0;
	end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
	len = (size_t)((end != NULL ? end : reader->end) - reader->at);
	reader->line++;
	if (reader->at[0] == '#') { /* help may be of any length, and is not looked at */
		reader->has_eof |= len >= 5 && memcmp(reader->at, "# EOF", 5) == 0;
		len = 0;
	}
	if (len > SOURCE_LINE_MAX) {
		reader->text = "longer than 8192 bytes";
		return -EPROTO;
	}
	memcpy(reader->buffer, reader->at, len);
	if (len > 0 && reader->buffer[len - 1] == '\r')
		len--;
	reader->buffer[len] = '\0';
	reader->at = end != NULL ? end + 1 : reader->end;
	if (strlen(reader->buffer) == len)
		return 1;
	reader->text = "it holds a zero byte";
	return -EPROTO;
}

int source_series_next(struct source_series_reader *reader, const struct source_series **out)
{
	char *start;
	int rc;

	do {
		rc = next_line(reader);
		if (rc <= 0)
			return rc;
		start = skip_blanks(reader->buffer);
	} while (*start == '\0' || *start == '#');
	if (reader->has_eof)
		reader->text = "a series follows \"# EOF\"";
	else
		reader->text = take_line(&reader->series, start);
	if (reader->text != NULL)
		return -EPROTO;
	reader->text = "";
	*out = &reader->series;
	return 1;
}
