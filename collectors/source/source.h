/*
 * source.h - the source language: one description of where figures stand (transport, requests, what
 * success is, rows, keys, fields) and one way to read an answer by it. Knows no network: a
 * collector sends the requests and hands over what came; callrouterd's probe, what a file holds.
 *
 *	source_parse(json, &source, on_fault, user);        once: all faults at once
 *	sample = source_sample_new(source);                 each poll
 *	source_extract(sample, 0, &answer);                 each request's answer, or
 *	source_fail(sample, 1, CR_TIMEOUT, "too late");     why there is none
 *	source_end(sample, "ms1");                          the verdict
 *	sample->row[]                                       and the figures
 *	source_sample_free(sample);
 *
 * The text is one JSON object in which every scalar is a string; docs/sources.md describes the keys
 * as they are written in YAML. What is NOT in it: keys of the collector's entry (name, plugin,
 * target, interval, timeout, servers, profile) and the options of the plugin (user, password_file,
 * community_file, max_inflight ...), which are given to the plugin one by one as ever. A profile
 * may hold such options too: they are then the options' presets.
 */
#ifndef CR_COLLECTORS_SOURCE_H
#define CR_COLLECTORS_SOURCE_H

#include <callrouter/plugin.h>

#define SOURCE_REQUESTS_MAX  16
#define SOURCE_METRICS_MAX   32   /* different metrics of one source */
#define SOURCE_VARIABLES_MAX 32   /* that what is sent may name */
#define SOURCE_ROWS_MAX      4096 /* of one answer */
#define SOURCE_NAME_LEN      64   /* of a row, with the NUL: more than any server's name */
#define SOURCE_NOTES_MAX     32   /* kept of one sample; the others are only counted */

struct source_parts; /* the library's own */

enum source_transport { SOURCE_HTTP = 0, SOURCE_SNMP };

/** Who is asked: each server by itself, or one that answers for many (rows with a key). */
enum source_scope { SOURCE_SERVER = 0, SOURCE_GROUP };

enum source_auth { SOURCE_AUTH_BASIC = 0, SOURCE_AUTH_DIGEST, SOURCE_AUTH_BEARER };

enum source_format {
	SOURCE_JSON = 0,
	SOURCE_XML,
	SOURCE_PROMETHEUS, /* text exposition format, OpenMetrics too */
	SOURCE_PROMQL,     /* answer of a Prometheus server's query API */
	SOURCE_TEXT,
	SOURCE_SNMP_GET,   /* scalars: whole OIDs, with their ".0" */
	SOURCE_SNMP_TABLE, /* columns: OIDs without the index; every index is a row */
};

struct source_header {
	char *name, *value;
};

/** How the value of a variable is written, so that it stays a value. */
enum source_escape {
	SOURCE_ESCAPE_NONE = 0,
	SOURCE_ESCAPE_URL,  /* percent-encoded: in paths, queries, forms */
	SOURCE_ESCAPE_JSON, /* inside the quotes of a string */
	SOURCE_ESCAPE_XML,  /* in text or an attribute */
};

/** A variable that something named which is sent. */
struct source_variable {
	char *name;
	char *pointer; /* where it was named first, as in faults */
};

/** An OID in numbers. */
struct source_oid {
	uint32_t *id;
	size_t len;
};

/** One request of a source. Read only. */
struct source_request {
	char *name; /* its key under "requests"; "request" if there is only one */
	enum source_format format;

	/* SOURCE_HTTP. In path, body and values "${x}" stands for variable x: source_fill(). */
	char *method; /* "GET", "POST" */
	char *path;   /* begins with "/"; may hold a query; follows the target's own path */
	char *body;   /* NULL: none */
	enum source_escape body_escape; /* as Content-Type says */
	struct source_header *header;   /* Accept and Content-Type included */
	size_t n_headers;

	/* SOURCE_SNMP. What is to be asked, each once: scalars, or columns in the same table.
	 * source_extract_cells() takes one cell for each, in this order. */
	struct source_oid *oid;
	size_t n_oids;

	bool has_rows; /* its answer is about several servers: each row has a name */
	struct source_parts *parts;
};

/** A parsed description. Immutable; shared by all samples. [any] */
struct source {
	enum source_transport transport;
	enum source_scope scope;
	bool has_auth; /* "auth" was given; else: basic with a user, bearer with a token */
	enum source_auth auth;
	/* SOURCE_SNMP. Whom an agent is asked about: what follows the community (versions 1 and
	 * 2c), and the context (version 3). "${x}" stands for variable x: source_fill(). "": none.
	 */
	char *community_suffix, *context;
	struct source_request *request;
	size_t n_requests;
	char **metric; /* names of all fields of all requests, each once */
	size_t n_metrics;
	struct source_variable *variable; /* each once */
	size_t n_variables;
	bool *is_optional; /* [n_metrics] */
	char **where;      /* [n_metrics] the first selector, for messages */
	char *help_auth;   /* what the user needs in the server, part of a sentence; or "" */
	char *help_absent; /* what to switch on in the server, part of a sentence; or "" */
};

/** A fault of a description: pointer: the place (JSON pointer, "" is the whole, "/fields/x/unit");
 * text: one line: what is wrong and what would be right. Both borrowed. */
typedef void source_fault_fn(void *user, const char *pointer, const char *text);

/**
 * Read and check a description. on_fault is called for each fault (NULL: nobody wants them), in no
 * particular order; user is passed on. *out: the source, to be freed by source_free(). Returns 0,
 * -EINVAL after at least one fault, or -ENOMEM; *out is NULL then. [any]
 */
int source_parse(const char *json, struct source **out, source_fault_fn *on_fault, void *user);
void source_free(struct source *source);

/** The keys at the top level of a description, NULL-terminated, for "did you mean". [any] */
extern const char *const source_language_keys[];

/** Does text name a variable: "${"? [any] */
bool source_is_template(const char *text);

/**
 * Put the values of a target's variables where text says ${x}; ${name} is its name. Returns 0 with
 * *out malloc'd; -ENOENT: the target has no such variable; -ENOMEM. [any]
 */
int source_fill(const char *text, const struct cr_target *target, enum source_escape escape,
		char **out);

#define SOURCE_ABOUT_MAX 255 /* bytes of a community, suffix included; of a context */

/**
 * Can this, values filled in, be sent behind a community or as a context? community: what it
 * follows, which is not shown; NULL: it is a context, or nobody knows. Nothing at all is refused,
 * too: it would ask about somebody else. Returns 0, or -EINVAL with what is wrong in why. [any]
 */
int source_about_check(const char *text, const char *community, char *why, size_t why_len);

/*** Samples ***/

/** How a row came to a metric. */
enum source_state {
	SOURCE_MISSING = 0, /* the answer has no such value (or null) */
	SOURCE_FOUND,
	SOURCE_UNDEFINED, /* the server says "I do not know" there: -1, 0 where the field says so */
	SOURCE_REJECTED,  /* there is something, but it cannot be true; a note says what */
};

/** The figures of one server. Arrays have source->n_metrics elements. */
struct source_row {
	char name[SOURCE_NAME_LEN]; /* "": the target itself (an answer without rows) */
	bool is_skipped;            /* an administration server: never a candidate */
	size_t left_out_by;         /* request, from 1, by whose "where" it does not count; or 0 */
	char why[160];              /* it is skipped or left out */
	int64_t taken_ns;           /* CLOCK_REALTIME; 0: the source gives no time, so it is now */
	double *value;              /* in the metric's own unit; NaN unless SOURCE_FOUND */
	enum source_state *state;
	const char **reject; /* the word why, where it is SOURCE_REJECTED */
};

/** Something worth telling about one value or row, which did not end the whole sample. */
struct source_note {
	char row[SOURCE_NAME_LEN]; /* "": the target itself */
	const char *metric;        /* NULL: about the row */
	enum cr_why why;
	char text[192]; /* "jvm_heap_max_bytes: wrapped: 4294967295 is ..." */
};

/** One poll: rows x metrics. */
struct source_sample {
	const struct source *source;
	struct source_row *row;
	size_t n_rows;
	struct source_note *note;  /* NULL as long as there is none: they are rare, and large */
	size_t n_notes, n_unnoted; /* kept, and past SOURCE_NOTES_MAX */

	/* Set by source_end(). */
	size_t n_found;  /* values with SOURCE_FOUND in rows that are not skipped or left out */
	bool is_partial; /* it failed, but some requests were good and their values can be used */
	enum cr_why why; /* if it failed */
	char text[256];  /* and one line for the operator; bytes of strangers made harmless */

	struct source_progress *progress; /* the library's own */
};

/** An empty sample, or NULL without memory. source has to outlive it. [any] */
struct source_sample *source_sample_new(const struct source *source);
void source_sample_free(struct source_sample *sample);

/** What was sent along so that the server knows who asks. */
enum source_shown {
	SOURCE_SHOWN_UNKNOWN = 0, /* nobody knows */
	SOURCE_SHOWN_NOTHING,
	SOURCE_SHOWN_PASSWORD, /* user and password_file */
	SOURCE_SHOWN_TOKEN,    /* token_file */
	SOURCE_SHOWN_HEADER,   /* secret_header and its file */
};

/** What came over HTTP (or out of a file). */
struct source_answer {
	const char *bytes; /* any; not NUL-terminated */
	size_t len;
	long status;              /* HTTP's; 0: nobody knows, taken for 200 */
	const char *content_type; /* NULL or "": nobody knows */
	const char *location;     /* where it redirects to; NULL: nowhere */
	const char *url;          /* what was asked, for messages; NULL: the request's path */
	enum source_shown shown;
};

/**
 * Read the answer to one request: judge status, content and the description's "ok", find rows,
 * read fields. Cost is bounded by len and SOURCE_ROWS_MAX. Returns 0 or -EPROTO if the request as a
 * whole is of no use (source_end() says why), -ENOMEM. [any]
 */
int source_extract(struct source_sample *sample, size_t request,
		   const struct source_answer *answer);

/** One object of an SNMP answer, in the words of the language. */
struct source_cell {
	enum {
		SOURCE_CELL_NONE = 0, /* no such object, no such instance, NULL, not in this row */
		SOURCE_CELL_NUMBER,   /* any integer type */
		SOURCE_CELL_TEXT,     /* an OCTET STRING: may hold a number, too */
	} kind;
	double number;
	const char *text; /* not NUL-terminated; borrowed */
	size_t len;
};

/**
 * The same for SNMP: cell[row * request->n_oids + i] belongs to request->oid[i]; n_rows is 1 for
 * SOURCE_SNMP_GET. Returns as source_extract(). [any]
 */
int source_extract_cells(struct source_sample *sample, size_t request,
			 const struct source_cell *cell, size_t n_rows);

/** There is no answer to this request. text: one line. [any] */
void source_fail(struct source_sample *sample, size_t request, enum cr_why why, const char *text);

/**
 * All requests have been told of (one that has not counts as failed). server: the name of the
 * server polled: of the rows, only its own stays, under the name ""; NULL: the target is shared,
 * and rows keep their names. Returns 0: good; < 0 with why and text: it failed, in part perhaps
 * (is_partial). [any]
 */
int source_end(struct source_sample *sample, const char *server);

/**
 * Put what one row of an ended sample says: values, those that are not believed, that it is an
 * administration server, or why it does not count. metric: the host's numbers of source->metric[];
 * < 0: the host has no use for it. asked_ns: when a row without a time of its own was measured, as
 * put() wants it. [own]
 */
void source_put_row(const struct source_sample *sample, const struct source_row *row,
		    const struct cr_round *round, struct cr_target *target, const int *metric,
		    int64_t asked_ns);

/** "missing" "found" "undefined" "rejected". [any] */
const char *source_state_word(enum source_state state);

/** What a note says of the figure of a row that was rejected, without the metric's name and the
 * word; NULL: none does. [any] */
const char *source_reject_text(const struct source_sample *sample, const struct source_row *row,
			       size_t metric);

#endif
