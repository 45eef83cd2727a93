/* source_json.c - JSON answers, read by JSON pointers with two more steps: "*" for all members and
 * "[key=value]" for those that hold this value. */
#include "source_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 32 };

enum step_kind { STEP_KEY, STEP_ALL, STEP_FILTER };

struct step {
	enum step_kind kind;
	char *key;    /* of STEP_KEY and STEP_FILTER */
	char *value;  /* of STEP_FILTER */
	size_t index; /* STEP_KEY as a list's index; SIZE_MAX: it is none */
};

struct selector {
	size_t n;
	struct step step[STEPS_MAX];
};

/*** Compiling ***/

static void release(void *user)
{
	struct selector *selector = user;

	if (selector == NULL)
		return;
	for (size_t i = 0; i < selector->n; i++) {
		free(selector->step[i].key);
		free(selector->step[i].value);
	}
	free(selector);
}

static size_t index_of(const char *key)
{
	char *end;
	unsigned long index;

	if (key[0] < '0' || key[0] > '9' || (key[0] == '0' && key[1] != '\0') || strlen(key) > 9)
		return SIZE_MAX;
	index = strtoul(key, &end, 10);
	return *end == '\0' ? index : SIZE_MAX;
}

/* text[0 .. len) with ~0 ~1 ~2 undone; *fault_at: of a bad "~". NULL: bad, or no memory. */
static char *unescape(const char *text, size_t len, size_t *fault_at)
{
	static const char meant[] = { '~', '/', '[' };
	char *out = malloc(len + 1), *to = out;

	*fault_at = SIZE_MAX;
	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '~') {
			*to++ = text[i];
			continue;
		}
		if (i + 1 == len || text[i + 1] < '0' || text[i + 1] > '2') {
			*fault_at = i;
			free(out);
			return NULL;
		}
		*to++ = meant[text[++i] - '0'];
	}
	*to = '\0';
	return out;
}

/* A compilation under way. */
struct compiler {
	const char *text, *at;
	struct selector *selector;
	struct source_selector_fault *fault;
};

static size_t column(const struct compiler *c, const char *at)
{
	return (size_t)(at - c->text) + 1;
}

static struct step *new_step(struct compiler *c, int *rc)
{
	if (c->selector->n == STEPS_MAX) {
		*rc = source_selector_fail(c->fault, column(c, c->at), "more than %d steps",
					   STEPS_MAX);
		return NULL;
	}
	*rc = 0;
	return &c->selector->step[c->selector->n++];
}

static int copy_part(struct compiler *c, const char *from, size_t len, char **out)
{
	size_t fault_at;

	*out = unescape(from, len, &fault_at);
	if (*out != NULL)
		return 0;
	if (fault_at == SIZE_MAX)
		return -ENOMEM;
	return source_selector_fail(c->fault, column(c, from + fault_at),
				    "\"~\" is written ~0, \"/\" in a key ~1, \"[\" in a key ~2");
}

/* c->at stands at "[". */
static int compile_filter(struct compiler *c)
{
	const char *start = c->at + 1, *end = strchr(start, ']'), *equals;
	struct step *step;
	int rc;

	if (end == NULL)
		return source_selector_fail(c->fault, column(c, c->at), "this [ has no ]");
	equals = memchr(start, '=', (size_t)(end - start));
	if (equals == NULL || equals == start)
		return source_selector_fail(c->fault, column(c, start),
					    "write [key=value], without quotes");
	step = new_step(c, &rc);
	if (step == NULL)
		return rc;
	step->kind = STEP_FILTER;
	rc = copy_part(c, start, (size_t)(equals - start), &step->key);
	if (rc == 0)
		rc = copy_part(c, equals + 1, (size_t)(end - equals - 1), &step->value);
	c->at = end + 1;
	if (rc == 0 && *c->at != '[' && *c->at != '/' && *c->at != '\0')
		rc = source_selector_fail(c->fault, column(c, c->at),
					  "after ] comes /, [ or the end");
	return rc;
}

/* c->at stands at "/". */
static int compile_step(struct compiler *c)
{
	const char *start = c->at + 1;
	const size_t len = strcspn(start, "/[");
	const bool is_bare_filter = len == 0 && start[0] == '[';
	struct step *step;
	int rc;

	step = new_step(c, &rc);
	if (step == NULL)
		return rc;
	c->at = start + len;
	if (is_bare_filter || (len == 1 && start[0] == '*')) {
		step->kind = STEP_ALL;
	} else {
		step->kind = STEP_KEY;
		rc = copy_part(c, start, len, &step->key);
		if (rc == 0)
			step->index = index_of(step->key);
	}
	while (rc == 0 && *c->at == '[')
		rc = compile_filter(c);
	return rc;
}

static int compile(const char *text, void **out, struct source_selector_fault *fault)
{
	struct compiler c = { text, text, calloc(1, sizeof *c.selector), fault };
	int rc = 0;

	if (c.selector == NULL)
		return -ENOMEM;
	if (*text != '/' && *text != '\0')
		rc = source_selector_fail(fault, 1,
					  "a JSON pointer begins with /, as in /value/used");
	while (rc == 0 && *c.at != '\0')
		rc = compile_step(&c);
	if (rc < 0) {
		release(c.selector);
		return rc;
	}
	*out = c.selector;
	return 0;
}

/*** Reading ***/

/* What is to be done with each thing that a selector leads to. */
struct visit {
	struct source_reading *reading;
	const struct selector *selector;
	bool is_rows;
	size_t row, slot;
};

static void visit_from(const struct visit *visit, const json_t *json, size_t at);

struct source_raw source_json_raw(const json_t *json)
{
	struct source_raw raw = { .kind = SOURCE_RAW_OTHER };

	if (json_is_string(json)) {
		raw.kind = SOURCE_RAW_TEXT;
		raw.text = json_string_value(json);
		raw.len = json_string_length(json);
	} else if (json_is_integer(json)) {
		raw.kind = SOURCE_RAW_NUMBER;
		raw.is_whole = true;
		raw.integer = json_integer_value(json);
		raw.number = (double)raw.integer;
	} else if (json_is_real(json)) {
		raw.kind = SOURCE_RAW_NUMBER;
		raw.number = json_real_value(json);
	} else if (json_is_boolean(json)) {
		raw.kind = SOURCE_RAW_BOOL;
		raw.number = json_is_true(json);
	}
	return raw;
}

static void read_slots(struct source_reading *reading, const json_t *json, size_t row,
		       bool is_answer);

static void visit_end(const struct visit *visit, const json_t *json)
{
	struct source_sheet *sheet = visit->reading->sheet;
	struct source_raw raw;

	/* Where a server writes null it has nothing to say. */
	if (json_is_null(json))
		return;
	if (visit->is_rows) {
		const size_t row = source_sheet_row(sheet);

		if (row > 0)
			read_slots(visit->reading, json, row, false);
		return;
	}
	raw = source_json_raw(json);
	source_sheet_take(sheet, visit->row, visit->slot, &raw);
}

static void visit_all(const struct visit *visit, const json_t *json, size_t step)
{
	const char *key;
	const json_t *item;
	size_t i;

	if (json_is_array(json))
		json_array_foreach(json, i, item)
		{
			visit_from(visit, item, step);
		}
	else if (json_is_object(json))
		json_object_foreach((json_t *)(uintptr_t)json, key, item)
		{
			visit_from(visit, item, step);
		}
}

static bool passes(const struct step *step, const json_t *json)
{
	const struct source_slot plain = { .role = SOURCE_ROLE_OK };
	const json_t *member = json_object_get(json, step->key);
	struct source_raw raw;
	char text[256];

	if (member == NULL)
		return false;
	raw = source_json_raw(member);
	return source_value_text(&plain, &raw, text, sizeof text) && strcmp(text, step->value) == 0;
}

static void visit_from(const struct visit *visit, const json_t *json, size_t at)
{
	const struct step *step = &visit->selector->step[at];
	const json_t *next = NULL;

	if (visit->reading->sheet->is_too_much)
		return;
	if (at == visit->selector->n) {
		visit_end(visit, json);
		return;
	}
	switch (step->kind) {
	case STEP_ALL:
		visit_all(visit, json, at + 1);
		return;
	case STEP_FILTER:
		next = passes(step, json) ? json : NULL;
		break;
	case STEP_KEY:
		if (json_is_array(json))
			next = step->index != SIZE_MAX ? json_array_get(json, step->index) : NULL;
		else
			next = json_object_get(json, step->key);
		break;
	}
	if (next != NULL)
		visit_from(visit, next, at + 1);
}

static void read_slots(struct source_reading *reading, const json_t *json, size_t row,
		       bool is_answer)
{
	const struct source_parts *parts = reading->parts;

	for (size_t slot = 0; slot < parts->n_slots; slot++) {
		const struct source_slot *at = &parts->slot[slot];

		if (is_answer != source_slot_is_of_answer(at))
			continue;
		for (size_t i = 0; i < at->n_selectors; i++) {
			const struct visit visit = { reading, at->selector[i], false, row, slot };

			visit_from(&visit, json, 0);
		}
	}
}

/* The key, as it is written, whose quote ends at bytes[end]; *len: without the quotes. */
static const char *key_before(const char *bytes, size_t end, size_t *len)
{
	size_t begin = end - 1, escapes;

	do {
		begin--;
		for (escapes = 0; bytes[begin - 1 - escapes] == '\\'; escapes++)
			;
	} while (bytes[begin] != '"' || escapes % 2 == 1);
	*len = end - begin - 2;
	return bytes + begin + 1;
}

#define NUL_BYTE "it holds a NUL byte"

const char *source_json_words(const json_error_t *where)
{
	switch (json_error_code(where)) {
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return "a text holds \\u0000, which no name or figure does";
	case json_error_null_value:
		return NUL_BYTE;
	default:
		return where->text;
	}
}

static void fail_load(struct source_reading *reading, const struct source_answer *answer,
		      const json_error_t *where)
{
	const size_t at = (size_t)where->position; /* behind what was read last */
	const bool is_nul = at > 0 && at <= answer->len && answer->bytes[at - 1] == '\0';
	const char *key;
	size_t len;

	if (json_error_code(where) != json_error_duplicate_key) {
		source_reading_fail(reading, CR_REPLY, "bad JSON in line %d, column %d: %s",
				    where->line, where->column,
				    is_nul ? NUL_BYTE : source_json_words(where));
		return;
	}
	key = key_before(answer->bytes, at, &len);
	source_reading_fail(reading, CR_REPLY,
			    "bad JSON in line %d, column %d: the key \"%.*s\" is there twice; who "
			    "knows which one is true",
			    where->line, where->column, len < 80 ? (int)len : 80, key);
}

json_t *source_json_load(struct source_reading *reading, const struct source_answer *answer)
{
	/* Of a key that is there twice jansson would silently take the last. */
	const size_t flags = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES;
	json_error_t where;
	json_t *root;

	if (source_looks_like_html(answer)) {
		source_reading_fail(reading, CR_REPLY, "not JSON: looks like HTML (login page?)");
		return NULL;
	}
	root = json_loadb(answer->bytes, answer->len, flags, &where);
	if (root == NULL && json_error_code(&where) == json_error_numeric_overflow)
		root = json_loadb(answer->bytes, answer->len, flags | JSON_DECODE_INT_AS_REAL,
				  &where);
	if (root == NULL)
		fail_load(reading, answer, &where);
	return root;
}

static int read_json(struct source_reading *reading, const struct source_answer *answer)
{
	const struct source_parts *parts = reading->parts;
	json_t *root = source_json_load(reading, answer);

	if (root == NULL)
		return -EPROTO;
	read_slots(reading, root, 0, true);
	if (parts->rows != NULL) {
		const struct visit visit = { reading, parts->rows, true, 0, 0 };

		visit_from(&visit, root, 0);
	} else {
		read_slots(reading, root, 0, false);
	}
	json_decref(root);
	return 0;
}

const struct source_kind source_kind_json = {
	.word = "json",
	.accept = "application/json",
	.has_rows_selector = true,
	.compile = compile,
	.release = release,
	.read = read_json,
};
