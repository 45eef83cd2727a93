/*
 * source_xml.c - XML answers, read by paths: /status/jvm/memory@free, /a/b[@k='v']/c for an
 * element's text; below a row: @name, ., /b@x.
 */
#include "source_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 32, TESTS_MAX = 4 };

struct test {
	char *attribute, *value;
};

struct step {
	char *name; /* "*": any */
	struct test test[TESTS_MAX];
	size_t n_tests;
};

struct selector {
	struct step step[STEPS_MAX];
	size_t n;
	char *attribute; /* NULL: the element's text */
};

/*** Compiling ***/

static void release(void *user)
{
	struct selector *selector = user;

	if (selector == NULL)
		return;
	for (size_t i = 0; i < selector->n; i++) {
		struct step *step = &selector->step[i];

		free(step->name);
		for (size_t j = 0; j < step->n_tests; j++) {
			free(step->test[j].attribute);
			free(step->test[j].value);
		}
	}
	free(selector->attribute);
	free(selector);
}

struct compiler {
	const char *text, *at;
	struct selector *selector;
	struct source_selector_fault *fault;
};

static size_t column(const struct compiler *c)
{
	return (size_t)(c->at - c->text) + 1;
}

/* Letters of a name; bytes of UTF-8 are as good as any. */
static size_t name_len(const char *text)
{
	size_t len = 0;

	while ((unsigned char)text[len] >= 0x80 ||
	       (text[len] != '\0' && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "0123456789_-.:",
					    text[len]) != NULL))
		len++;
	return len;
}

static int take_name(struct compiler *c, char **out, const char *what)
{
	const size_t len = name_len(c->at);

	if (len == 0)
		return source_selector_fail(c->fault, column(c), "here has to be %s", what);
	*out = strndup(c->at, len);
	c->at += len;
	return *out != NULL ? 0 : -ENOMEM;
}

/* c->at stands at "[". */
static int compile_test(struct compiler *c, struct step *step)
{
	struct test *test = &step->test[step->n_tests];
	const char *end;
	int rc;

	if (step->n_tests == TESTS_MAX)
		return source_selector_fail(c->fault, column(c), "more than %d tests", TESTS_MAX);
	if (c->at[1] != '@')
		return source_selector_fail(c->fault, column(c), "write [@name='value']");
	c->at += 2;
	rc = take_name(c, &test->attribute, "an attribute's name");
	if (rc < 0)
		return rc;
	step->n_tests++;
	if (c->at[0] != '=' || (c->at[1] != '\'' && c->at[1] != '"'))
		return source_selector_fail(c->fault, column(c),
					    "here has to be ='value', in quotes");
	end = strchr(c->at + 2, c->at[1]);
	if (end == NULL || end[1] != ']')
		return source_selector_fail(c->fault, column(c) + 1,
					    "this quote is not closed by %c]", c->at[1]);
	test->value = strndup(c->at + 2, (size_t)(end - c->at - 2));
	c->at = end + 2;
	return test->value != NULL ? 0 : -ENOMEM;
}

/* c->at stands at "/". */
static int compile_step(struct compiler *c)
{
	struct step *step = &c->selector->step[c->selector->n];
	int rc = 0;

	if (c->selector->n == STEPS_MAX)
		return source_selector_fail(c->fault, column(c), "more than %d steps", STEPS_MAX);
	c->at++;
	if (*c->at == '*') {
		step->name = strdup("*");
		c->at++;
		rc = step->name != NULL ? 0 : -ENOMEM;
	} else {
		rc = take_name(c, &step->name, "an element's name or *");
	}
	c->selector->n += step->name != NULL;
	while (rc == 0 && *c->at == '[')
		rc = compile_test(c, step);
	return rc;
}

static int compile_path(struct compiler *c)
{
	int rc = 0;

	if (*c->at == '.' && (c->at[1] == '\0' || c->at[1] == '@'))
		c->at++;
	else if (*c->at != '/' && *c->at != '@')
		return source_selector_fail(c->fault, 1,
					    "a path begins with /, as in /status/jvm/memory@free; "
					    "below a row also with @ or .");
	while (rc == 0 && *c->at == '/')
		rc = compile_step(c);
	if (rc == 0 && *c->at == '@') {
		c->at++;
		rc = take_name(c, &c->selector->attribute, "an attribute's name");
	}
	if (rc == 0 && *c->at != '\0')
		rc = source_selector_fail(c->fault, column(c), "\"%c\" cannot stand here", *c->at);
	return rc;
}

static int compile(const char *text, void **out, struct source_selector_fault *fault)
{
	struct compiler c = { text, text, calloc(1, sizeof *c.selector), fault };
	int rc;

	if (c.selector == NULL)
		return -ENOMEM;
	rc = compile_path(&c);
	if (rc < 0) {
		release(c.selector);
		return rc;
	}
	*out = c.selector;
	return 0;
}

/*** Reading ***/

struct visit {
	struct source_reading *reading;
	const struct selector *selector;
	bool is_rows;
	size_t row, slot;
};

static void read_slots(struct source_reading *reading, const struct source_node *node, size_t row,
		       bool is_answer);

static bool fits(const struct step *step, const struct source_node *node)
{
	if (strcmp(step->name, "*") != 0 && strcmp(step->name, node->name) != 0)
		return false;
	for (size_t i = 0; i < step->n_tests; i++) {
		const char *value = source_tree_attribute(node, step->test[i].attribute);

		if (value == NULL || strcmp(value, step->test[i].value) != 0)
			return false;
	}
	return true;
}

static void visit_end(const struct visit *visit, const struct source_node *node)
{
	struct source_sheet *sheet = visit->reading->sheet;
	const char *attribute = visit->selector->attribute;
	struct source_raw raw = { .kind = SOURCE_RAW_TEXT, .text = node->text, .len = node->len };

	if (visit->is_rows) {
		const size_t row = source_sheet_row(sheet);

		if (row > 0)
			read_slots(visit->reading, node, row, false);
		return;
	}
	if (attribute != NULL) {
		raw.text = source_tree_attribute(node, attribute);
		raw.len = raw.text != NULL ? strlen(raw.text) : 0;
	} else if (raw.text == NULL) {
		raw.text = ""; /* an element without text */
	}
	if (raw.text != NULL)
		source_sheet_take(sheet, visit->row, visit->slot, &raw);
}

static void visit_from(const struct visit *visit, const struct source_node *node, size_t at)
{
	const struct step *step = &visit->selector->step[at];

	if (at == visit->selector->n) {
		visit_end(visit, node);
		return;
	}
	for (const struct source_node *child = node->child; child != NULL; child = child->next) {
		if (visit->reading->sheet->is_too_much)
			return;
		if (fits(step, child))
			visit_from(visit, child, at + 1);
	}
}

static void read_slots(struct source_reading *reading, const struct source_node *node, size_t row,
		       bool is_answer)
{
	const struct source_parts *parts = reading->parts;

	for (size_t slot = 0; slot < parts->n_slots; slot++) {
		const struct source_slot *at = &parts->slot[slot];

		if (is_answer != source_slot_is_of_answer(at))
			continue;
		for (size_t i = 0; i < at->n_selectors; i++) {
			const struct visit visit = { reading, at->selector[i], false, row, slot };

			visit_from(&visit, node, 0);
		}
	}
}

static int read_xml(struct source_reading *reading, const struct source_answer *answer)
{
	const struct source_parts *parts = reading->parts;
	struct source_node *document = source_tree_new(reading, answer);

	if (document == NULL)
		return -EPROTO;
	read_slots(reading, document, 0, true);
	if (parts->rows != NULL) {
		const struct visit visit = { reading, parts->rows, true, 0, 0 };

		visit_from(&visit, document, 0);
	} else {
		read_slots(reading, document, 0, false);
	}
	source_tree_free(document);
	return 0;
}

const struct source_kind source_kind_xml = {
	.word = "xml",
	.accept = "text/xml",
	.has_rows_selector = true,
	.compile = compile,
	.release = release,
	.read = read_xml,
};
