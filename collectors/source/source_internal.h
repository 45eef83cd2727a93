/* source_internal.h - what the parts of the source language share: slots, values, kinds of
 * selectors. */
#ifndef CR_COLLECTORS_SOURCE_INTERNAL_H
#define CR_COLLECTORS_SOURCE_INTERNAL_H

#include "source.h"

#define SOURCE_TEXT_LEN   96    /* of a text that is kept, with the NUL */
#define SOURCE_VALUES_MAX 65536 /* of one answer */

/** One value of an answer, as it stands there. Borrowed from the answer. */
struct source_raw {
	enum { SOURCE_RAW_TEXT = 0, SOURCE_RAW_NUMBER, SOURCE_RAW_BOOL, SOURCE_RAW_OTHER } kind;
	double number; /* SOURCE_RAW_NUMBER; 0 or 1: SOURCE_RAW_BOOL */
	bool is_whole; /* SOURCE_RAW_NUMBER: integer is exact */
	int64_t integer;
	const char *text; /* SOURCE_RAW_TEXT: not NUL-terminated */
	size_t len;
};

/*** Slots: a place in the description that takes values ***/

enum source_role {
	SOURCE_ROLE_OK = 0, /* of the whole answer: it has to be so */
	SOURCE_ROLE_ERROR,  /* of the whole answer: the server's own words, if it is not */
	SOURCE_ROLE_SKIP,   /* of a row: an administration server */
	SOURCE_ROLE_WHERE,  /* of a row: it has to be so, or the row does not count */
	SOURCE_ROLE_KEY,    /* of a row: its name */
	SOURCE_ROLE_FIELD,
	SOURCE_ROLE_TIME,
};

enum source_reduce {
	SOURCE_ONE = 0, /* not given: there may be one value only */
	SOURCE_FIRST,
	SOURCE_SUM,
	SOURCE_MAX,
	SOURCE_MIN,
	SOURCE_COUNT,
	SOURCE_MEAN,
};

enum source_type { SOURCE_TYPE_NUMBER = 0, SOURCE_TYPE_BOOL, SOURCE_TYPE_STRING };

/** Why a value is not taken. */
enum source_reject {
	SOURCE_TAKEN = 0,
	SOURCE_NOT_A_NUMBER,
	SOURCE_NAN,
	SOURCE_INFINITE,
	SOURCE_NEGATIVE,
	SOURCE_WRAPPED,   /* the limit of a 32-bit agent */
	SOURCE_TOO_LARGE, /* 2^53 or more: "no limit", or no longer exact */
	SOURCE_ABOVE_ONE, /* a share of more than all */
	SOURCE_MANY,      /* several values and no word how to make one of them */
	SOURCE_TWICE,     /* from a series that the answer has twice */
	SOURCE_NO_TIME,   /* no time of this century */
};

struct source_pair {
	char *from, *to;
};

struct source_slot {
	enum source_role role;
	void **selector; /* compiled, of the request's kind */
	size_t n_selectors;
	size_t *oid;   /* [n_selectors] SNMP: index in the request's oid[] */
	char *where;   /* the first selector as text */
	char **equals; /* conditions: one of these; none: being there is enough */
	size_t n_equals;
	char *after, *before; /* cut the text; NULL: do not */
	struct source_pair *map;
	size_t n_map;
	size_t metric; /* fields: index in the source's metric[] */
	enum source_type type;
	enum source_reduce reduce;
	double factor; /* of the unit */
	bool is_bytes, is_ratio;
	bool negative_is_undefined, zero_is_undefined;
	bool is_optional; /* fields: may be missing; where: met where nothing is found, too */
};

/** Is this slot about the answer as a whole, not about its rows? */
static inline bool source_slot_is_of_answer(const struct source_slot *slot)
{
	return slot->role == SOURCE_ROLE_OK || slot->role == SOURCE_ROLE_ERROR;
}

/** The hidden part of a request. Alternatives of one field or key are slots one after the other. */
struct source_parts {
	const struct source_kind *kind;
	void *rows; /* selector; NULL: none */
	struct source_slot *slot;
	size_t n_slots;
};

/*** Sheets: what one answer held, row by row; row 0 is the answer as a whole ***/

/** All values of one slot in one row, reduced as they come. */
struct source_sum {
	size_t n, n_undefined;
	bool is_met; /* conditions: one of the values is right */
	enum source_reject reject;
	double first, total, least, most; /* of those that are taken */
	bool first_is_undefined;
	int64_t taken_ns; /* CLOCK_REALTIME: when the oldest was measured; 0: nobody says so */
	char text[SOURCE_TEXT_LEN]; /* the first one, or the one that was rejected */
};

/** Names to indices, for names that lie at the same distance from each other. */
struct source_names {
	uint32_t *slot; /* index + 1; 0: empty */
	size_t n_slots;
};

struct source_sheet {
	const struct source_parts *parts;
	struct source_sum *sum; /* [row * parts->n_slots + slot] */
	size_t n_rows, cap_rows;
	char (*name)[SOURCE_NAME_LEN]; /* [row]: where rows are found by name */
	struct source_names names;
	size_t n_values;
	size_t n_nameless; /* series of the description without a label that names a server */
	bool is_too_much, is_out_of_memory;
};

/** An empty sheet with its row 0. Returns 0 or -ENOMEM; source_sheet_fini() follows in both cases.
 */
int source_sheet_init(struct source_sheet *sheet, const struct source_parts *parts);
void source_sheet_fini(struct source_sheet *sheet);

/** A new row; 0: no more rows, and the sheet says why. */
size_t source_sheet_row(struct source_sheet *sheet);

/** The row of this name, made if need be; 0: as above. */
size_t source_sheet_named(struct source_sheet *sheet, const char *name);

/** A value came. */
void source_sheet_take(struct source_sheet *sheet, size_t row, size_t slot,
		       const struct source_raw *raw);

/** A value that has come cannot be true, for a reason that only its kind knows: the first such
 * reason counts, before all others. text: what to show of it. */
void source_sheet_refuse(struct source_sheet *sheet, size_t row, size_t slot,
			 enum source_reject reject, const char *text);

/** A value that has come says when it was measured: text, in s or ms since 1970. */
void source_sheet_date(struct source_sheet *sheet, size_t row, size_t slot, const char *text);

static inline const struct source_sum *source_sheet_at(const struct source_sheet *sheet, size_t row,
						       size_t slot)
{
	return &sheet->sum[row * sheet->parts->n_slots + slot];
}

/** Index of name, or SIZE_MAX. base: the first name; stride: bytes from one to the next. */
size_t source_names_find(const struct source_names *names, const void *base, size_t stride,
			 const char *name);
/** Note that the name stands at index; grows as needed. Returns 0 or -ENOMEM. */
int source_names_add(struct source_names *names, const void *base, size_t stride, size_t index);
void source_names_fini(struct source_names *names);

/*** Values: source_value.c ***/

/** The value as text, cut by after, before and map; false: none, it does not fit, or there is a NUL
 * in it. */
bool source_value_text(const struct source_slot *slot, const struct source_raw *raw, char *buf,
		       size_t len);

/** The raw value as text as it stands, cut to fit, made harmless. */
void source_value_show(const struct source_raw *raw, char *buf, size_t len);

/** The raw number of a field or time, before unit and undefined. */
enum source_reject source_value_number(const struct source_slot *slot, const struct source_raw *raw,
				       double *out);

/** Is the raw number one that a slot's metric can have? */
enum source_reject source_value_judge(const struct source_slot *slot, double number);

/** What a slot's values come to, in the metric's unit. reject: why, if SOURCE_REJECTED. */
enum source_state source_value_reduce(const struct source_slot *slot, const struct source_sum *sum,
				      double *out, enum source_reject *reject);

/** A time as it stands beside a value, in s or ms since 1970; false: it is none. */
bool source_value_stamp(const char *text, int64_t *out_ns);

/** A time of this slot as CLOCK_REALTIME; false: none. */
bool source_value_time(const struct source_slot *slot, const struct source_sum *sum,
		       int64_t *out_ns);

/** "wrapped", and what it means or what to do: part of a sentence. */
const char *source_reject_word(enum source_reject reject);
const char *source_reject_help(enum source_reject reject);

/*** Kinds: one file each ***/

/** What is wrong with a selector; column: from 1. */
struct source_selector_fault {
	size_t column;
	char text[160];
};

/** Fill fault; returns -EINVAL. */
int source_selector_fail(struct source_selector_fault *fault, size_t column, const char *fmt, ...)
	CR_PRINTF(3, 4);

/** The CPU time that the regular expressions take for one answer. */
struct source_budget {
	int64_t start_ms;
	size_t n_bytes; /* matched since the clock was looked at */
	bool is_begun, is_spent;
};

/** Before len bytes are matched: false once the expressions of this answer have had their time.
 * [any] */
bool source_budget_spend(struct source_budget *budget, size_t len);

/** One answer being read. */
struct source_reading {
	struct source_budget budget;
	const struct source_parts *parts;
	struct source_sheet *sheet;
	enum cr_why why;
	char text[224];
};

/** Fill why and text; returns -EPROTO. */
int source_reading_fail(struct source_reading *reading, enum cr_why why, const char *fmt, ...)
	CR_PRINTF(3, 4);

/** The reading's budget is spent: fail, and say what to do. Returns -EPROTO. */
int source_reading_fail_late(struct source_reading *reading, size_t line);

/** Why an answer with a status other than 200 is none. Returns -EPROTO. */
int source_judge_status(const struct source *source, const struct source_request *request,
			const struct source_answer *answer, struct source_reading *reading);

/** Is the description's "ok" met by what was read? Returns 0 or -EPROTO. */
int source_judge_ok(struct source_reading *reading);

struct source_kind {
	const char *word;   /* "json" */
	const char *accept; /* preset of the header Accept; NULL: none */
	bool has_rows_selector;
	bool has_labels; /* keys are names of labels */
	bool is_snmp;
	/** Returns 0, -EINVAL with fault, or -ENOMEM. */
	int (*compile)(const char *text, void **out, struct source_selector_fault *fault);
	void (*release)(void *selector);
	/** Put all values into the sheet. Returns 0, -EPROTO with why and text, or -ENOMEM. */
	int (*read)(struct source_reading *reading, const struct source_answer *answer);
};

extern const struct source_kind source_kind_json, source_kind_xml, source_kind_prometheus,
	source_kind_promql, source_kind_text, source_kind_snmp_get, source_kind_snmp_table;

/** Does the body begin as a page for people does? */
bool source_looks_like_html(const struct source_answer *answer);

/** The OID that an SNMP selector stands for. */
const struct source_oid *source_oid_get(const void *selector);

/*** Parsing: source_walk.c has the steps, source_parse.c and source_request.c use them ***/

struct json_t;

/** Where we are in the description; lives on the stack. */
struct source_at {
	const struct source_at *up; /* NULL: the root */
	const char *key;            /* NULL: index */
	size_t index;
};

struct source_parser {
	source_fault_fn *on_fault;
	void *user;
	bool is_faulty, is_out_of_memory;
	struct source *source;
};

/** Tell of a fault at this place. */
void source_parser_fault(struct source_parser *parser, const struct source_at *at, const char *fmt,
			 ...) CR_PRINTF(3, 4);

/** The JSON pointer to a place, cut if it does not fit. */
void source_parser_pointer(char *buf, size_t len, const struct source_at *at);

/** Memory of the description; NULL: there is none, and the parser knows. Arrays are zeroed. */
char *source_parser_copy(struct source_parser *parser, const char *text);
void *source_parser_array(struct source_parser *parser, size_t n, size_t size);

/** Check a map's keys against words[]; faults name the nearest. false: it is no map. */
bool source_parser_map(struct source_parser *parser, const struct source_at *at,
		       const struct json_t *json, const char *what, const char *const *words);

/** A scalar's text, or NULL with a fault. */
const char *source_parser_text(struct source_parser *parser, const struct source_at *at,
			       const struct json_t *json);

/** The text's index in words[] (NULL-terminated), or -1 with a fault. */
int source_parser_word(struct source_parser *parser, const struct source_at *at,
		       const struct json_t *json, const char *const *words);

/** True or false; false with a fault if it is neither. */
bool source_parser_bool(struct source_parser *parser, const struct source_at *at,
			const struct json_t *json);

/** A list as it is, or one thing as a list of one. */
size_t source_parser_count(const struct json_t *json);
struct json_t *source_parser_item(const struct json_t *json, size_t i);

/** Index of a metric of the source, made if new; SIZE_MAX with a fault. */
size_t source_parser_metric(struct source_parser *parser, const struct source_at *at,
			    const char *name);

/** Note the variables that a text names which is sent. Which servers have them is for the
 * configuration to say. */
void source_parser_variables(struct source_parser *parser, const struct source_at *at,
			     const char *text);

/** Read whom an SNMP agent is asked about; the transport is known. */
void source_parser_about(struct source_parser *parser, const struct json_t *root);

/** Read one request. shared: keys that are presets for it, or NULL. */
void source_parser_request(struct source_parser *parser, const struct source_at *at,
			   const struct json_t *own, const struct source_at *shared_at,
			   const struct json_t *shared, struct source_request *request);
void source_request_fini(struct source_request *request);

extern const char *const source_request_keys[];

#endif
