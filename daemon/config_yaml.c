/* config_yaml.c - from the configuration file to its one YAML document, within bounds. */
#include "config_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file's bytes. */
struct input {
	unsigned char *bytes;
	size_t len;
};

/* What libyaml complains of, and what to do about it. */
static const struct {
	const char *problem, *advice;
} advices[] = {
	{ "mapping values are not allowed", "check the indentation, or put a value that holds "
					    "\": \" in quotes" },
	{ "could not find expected ':'", "a line of a map is \"key: value\"" },
	{ "did not find expected key", "check the indentation, and that values with special "
				       "characters are in quotes" },
	{ "did not find expected '-'", "check the indentation" },
	{ "did not find expected ',' or ']'", "separate the entries by , and close the list with "
					      "]; put values that hold { } [ ] in quotes" },
	{ "did not find expected ',' or '}'", "separate the entries by , and close the map with "
					      "}; put values that hold { } [ ] in quotes" },
	{ "did not find expected node content", "close what was opened with [ or {, and put a "
						"value like \"[::1]:7001\" in quotes" },
	{ "did not find expected alphabetic", "put a value that begins with & or * in quotes" },
	{ "found unexpected end of stream", "close the quotes" },
	{ "found unexpected document indicator", "close the quotes" },
	{ "found a tab", "indent with spaces" },
	{ "found character that cannot start", "put a value that begins with this character in "
					       "quotes" },
	{ "found undefined alias", "define it before with &, or put a value that begins with * in "
				   "quotes" },
	{ "second occurrence", "give each anchor a name of its own" },
	{ "found unknown escape", "in double quotes write \\\\ for a backslash, or use single "
				  "quotes" },
	{ "block sequence entries are not allowed", "begin the list on a line of its own" },
	{ "control characters are not allowed", "remove it" },
	{ "", "see docs/config.md for examples" },
};

static const char *advice_for(const char *problem)
{
	size_t i = 0;

	while (strncmp(problem, advices[i].problem, strlen(advices[i].problem)) != 0)
		i++;
	return advices[i].advice;
}

/*** Reading the file ***/

static int refuse(struct config_reader *reader, int code, const char *text)
{
	config_mistake_at(reader, 0, 0, "%s", text);
	return code;
}

static bool make_room(struct config_reader *reader, struct input *input, size_t *room)
{
	const size_t wanted = *room > 0 ? 2 * *room : 16384;
	void *grown = realloc(input->bytes, wanted);

	if (grown == NULL) {
		reader->is_out_of_memory = true;
		return false;
	}
	input->bytes = grown;
	*room = wanted;
	return true;
}

static int read_bytes(struct config_reader *reader, int fd, struct input *input)
{
	size_t room = 0;
	ssize_t n = 1;

	while (n != 0 && input->len <= CONFIG_BYTES_MAX) {
		if (input->len == room && !make_room(reader, input, &room))
			return -ENOMEM;
		n = read(fd, input->bytes + input->len, room - input->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			n = -errno;
			config_mistake_at(reader, 0, 0, "cannot be read: %s", err_words((int)n));
			return (int)n;
		}
		input->len += (size_t)n;
	}
	if (input->len > CONFIG_BYTES_MAX)
		return refuse(reader, -EFBIG, "is larger than 4 MiB; is it the configuration?");
	return 0;
}

static int read_file(struct config_reader *reader, struct input *input)
{
	/* A FIFO must not hold us up. */
	const int fd = open(reader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r = fd < 0 ? -errno : 0;

	if (fd < 0) {
		config_mistake_at(reader, 0, 0,
				  "cannot be opened: %s; check the path and its permissions",
				  err_words(r));
		return r;
	}
	if (fstat(fd, &st) < 0)
		r = refuse(reader, -EIO, "cannot be examined");
	else if (S_ISDIR(st.st_mode))
		r = refuse(reader, -EISDIR, "is a folder; name the file in it");
	else if (!S_ISREG(st.st_mode))
		r = refuse(reader, -EINVAL, "is no regular file; name one");
	else
		r = read_bytes(reader, fd, input);
	close(fd);
	return r;
}

/*** What libyaml says ***/

/* The byte at a line and column, both from 0; 0 past the end. */
static unsigned char byte_at(const struct input *input, yaml_mark_t mark)
{
	size_t at = 0, line = 0, column = 0;

	while (at < input->len && line < mark.line)
		line += input->bytes[at++] == '\n';
	/* Columns count characters: the later bytes of one are 10xxxxxx. */
	while (at < input->len && column < mark.column && input->bytes[at] != '\n') {
		at++;
		while (at < input->len && (input->bytes[at] & 0xc0) == 0x80)
			at++;
		column++;
	}
	return at < input->len ? input->bytes[at] : 0;
}

/* libyaml's reader knows the offset alone. */
static yaml_mark_t mark_of_offset(const struct input *input, size_t offset)
{
	yaml_mark_t mark = { 0, 0, 0 };

	for (size_t i = 0; i < offset && i < input->len; i++) {
		const unsigned char byte = input->bytes[i];

		if (byte == '\n') {
			mark.line++;
			mark.column = 0;
		} else if ((byte & 0xc0) != 0x80) {
			mark.column++;
		}
	}
	return mark;
}

static int note_bytes(struct config_reader *reader, const struct input *input,
		      const yaml_parser_t *parser)
{
	const yaml_mark_t mark = mark_of_offset(input, parser->problem_offset);
	const bool is_control = strncmp(parser->problem, "control", 7) == 0;

	config_mistake_at(reader, mark.line + 1, mark.column + 1, "not YAML: %s (0x%02x); %s",
			  parser->problem, (unsigned)parser->problem_value,
			  is_control ? advice_for(parser->problem) : "save the file as UTF-8");
	return -EINVAL;
}

static int note_syntax(struct config_reader *reader, const struct input *input,
		       const yaml_parser_t *parser)
{
	const yaml_mark_t at = parser->problem_mark, begin = parser->context_mark;
	const bool is_tab = byte_at(input, at) == '\t';
	const char *problem = parser->problem;
	char where[160] = "";

	if (is_tab)
		problem = "found a tab";
	else if (parser->error == YAML_COMPOSER_ERROR && parser->context != NULL)
		(void)snprintf(where, sizeof where, " of an anchor that stands at %zu:%zu",
			       begin.line + 1, begin.column + 1);
	else if (parser->context != NULL && begin.line != at.line)
		(void)snprintf(where, sizeof where, " %s that begins at %zu:%zu", parser->context,
			       begin.line + 1, begin.column + 1);
	config_mistake_at(reader, at.line + 1, at.column + 1, "not YAML: %s%s; %s", problem, where,
			  advice_for(problem));
	return -EINVAL;
}

static int note_error(struct config_reader *reader, const struct input *input,
		      const yaml_parser_t *parser)
{
	if (parser->error == YAML_MEMORY_ERROR || parser->problem == NULL) {
		reader->is_out_of_memory = true;
		return -ENOMEM;
	}
	if (parser->error == YAML_READER_ERROR)
		return note_bytes(reader, input, parser);
	return note_syntax(reader, input, parser);
}

/*** Bounds: libyaml has none, and its time grows with the square of depth, anchors, directives ***/

struct bounds {
	size_t depth, anchors, nodes, documents;
};

static bool has_anchor(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return event->data.scalar.anchor != NULL;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.anchor != NULL;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.anchor != NULL;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
	case YAML_ALIAS_EVENT:
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		break;
	}
	return false;
}

/* Returns what is too much of this event, or NULL. */
static const char *count_event(struct bounds *bounds, const yaml_event_t *event)
{
	const bool opens =
		event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT;
	const bool closes =
		event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT;

	bounds->nodes += opens || event->type == YAML_SCALAR_EVENT;
	bounds->anchors += has_anchor(event);
	bounds->documents += event->type == YAML_DOCUMENT_START_EVENT;
	if (closes)
		bounds->depth--;
	if (opens && ++bounds->depth > CONFIG_DEPTH_MAX)
		return "more than 16 lists and maps inside each other; a configuration needs 6";
	if (bounds->anchors > CONFIG_ANCHORS_MAX)
		return "more than 1000 anchors (&name); write values out instead";
	if (bounds->nodes > CONFIG_NODES_MAX)
		return "more than 1000000 values; is this the configuration?";
	if (bounds->documents > 1)
		return "a second document begins here; a configuration is one document, remove "
		       "the line \"---\" or what follows";
	return NULL;
}

/* Each %TAG is compared with all before it, within one event. */
static int check_tags(struct config_reader *reader, const struct input *input)
{
	static const char tag[] = "%TAG";
	size_t at = 0, n = 0;

	if (input->bytes == NULL) /* an empty file */
		return 0;
	while (n <= CONFIG_TAGS_MAX) {
		const unsigned char *found =
			memmem(input->bytes + at, input->len - at, tag, sizeof tag - 1);

		if (found == NULL)
			return 0;
		at = (size_t)(found - input->bytes) + 1;
		n++;
	}
	config_mistake_at(reader, mark_of_offset(input, at).line + 1, 1,
			  "more than 100 times %%TAG; tags mean nothing here, remove them");
	return -EINVAL;
}

/* Reads the events alone, so that nothing is built of a file that is out of bounds. */
static int check_bounds(struct config_reader *reader, const struct input *input)
{
	struct bounds bounds = { 0 };
	const char *excess = NULL;
	yaml_parser_t parser;
	yaml_event_t event;
	bool is_over = false;
	int r = 0;

	if (!yaml_parser_initialize(&parser)) {
		reader->is_out_of_memory = true;
		return -ENOMEM;
	}
	yaml_parser_set_input_string(&parser, input->bytes, input->len);
	while (r == 0 && !is_over) {
		if (!yaml_parser_parse(&parser, &event)) {
			r = note_error(reader, input, &parser);
			break;
		}
		is_over = event.type == YAML_STREAM_END_EVENT;
		excess = count_event(&bounds, &event);
		if (excess != NULL) {
			config_mistake_at(reader, event.start_mark.line + 1,
					  event.start_mark.column + 1, "%s", excess);
			r = -EINVAL;
		}
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return r;
}

/* Takes the file's bytes apart a second time, now keeping all. */
static int load_document(struct config_reader *reader, const struct input *input)
{
	yaml_parser_t parser;
	int r = 0;

	if (!yaml_parser_initialize(&parser)) {
		reader->is_out_of_memory = true;
		return -ENOMEM;
	}
	yaml_parser_set_input_string(&parser, input->bytes, input->len);
	if (!yaml_parser_load(&parser, &reader->document))
		r = note_error(reader, input, &parser);
	yaml_parser_delete(&parser);
	return r;
}

int config_load(struct config_reader *reader, const yaml_node_t **root)
{
	struct input input = { NULL, 0 };
	int r = read_file(reader, &input);

	if (r == 0)
		r = check_tags(reader, &input);
	if (r == 0)
		r = check_bounds(reader, &input);
	if (r == 0)
		r = load_document(reader, &input);
	free(input.bytes);
	if (r < 0)
		return r;
	*root = yaml_document_get_root_node(&reader->document);
	if (*root != NULL && !config_is_null(*root))
		return 0;
	yaml_document_delete(&reader->document);
	config_mistake_at(reader, 1, 1,
			  "the file is empty; a configuration has at least servers and services");
	return -EINVAL;
}
