/* probe_internal.h - a poll in a process of its own, recorded answers, and the page that is shown.
 */
#ifndef CR_DAEMON_PROBE_INTERNAL_H
#define CR_DAEMON_PROBE_INTERNAL_H

#include <stdio.h>

#include "derive.h"
#include "probe.h"
#include "source.h"

#define PROBE_NOT_ENDED (-1) /* instead of a cr_why: the collector crashed or never ended */

/** Whom to poll. */
struct probe_target {
	const char *name;    /* of the server, or of the source */
	char *endpoint;      /* ours to free */
	struct cr_var *vars; /* likewise */
	size_t n_vars;
	bool is_shared;
};

/** An answer to one request, as it came. */
struct probe_answer {
	size_t request;
	long status;                 /* 0: not over HTTP */
	char *text;                  /* what the others point into */
	char *type, *location, *url; /* NUL-terminated; NULL: there is none */
	char *body;                  /* len bytes and a NUL */
	size_t len;
};

/** A value as the collector put it. */
struct probe_value {
	char row[64], metric[64]; /* row "": the target itself */
	double value;
	double age_s;    /* 0: now */
	bool is_skip;    /* an administration server: metric is empty */
	bool is_absent;  /* what is said of it does not count: likewise */
	char reject[32]; /* why the collector does not pass it on; "": it does */
};

/** What became of one poll. */
struct probe_poll {
	struct probe_answer *answer;
	size_t n_answers;
	struct probe_value *value;
	size_t n_values;
	int why; /* 0: good; an enum cr_why; PROBE_NOT_ENDED */
	char text[256];
	double took_s;
};

/**
 * Load the collector at path in a child process and poll target once. Returns 0 with *poll, to be
 * freed by probe_poll_fini(), or < 0 with err: it could not be started. [main]
 */
int probe_child(const char *path, const struct config_source *source,
		const struct probe_target *target, struct probe_poll *poll, struct err *err);
void probe_poll_fini(struct probe_poll *poll);

/** Objects of an SNMP agent out of a file. */
struct probe_cells {
	struct source_cell *cell; /* [n_rows * request->n_oids] */
	size_t n_rows, n_lines;   /* objects that were read */
	char *text;               /* what cells point into */
};

/**
 * Read lines of "snmpwalk -On" or of a .snmprec file: the objects that request asks for. text: cut
 * in place and taken. Returns 0, -EINVAL (no line of either form), or -ENOMEM. [any]
 */
int probe_cells_read(char *text, const struct source_request *request, struct probe_cells *cells);
void probe_cells_fini(struct probe_cells *cells);

/** A page under way. */
struct probe_page {
	FILE *out;
	const struct config *config;
	const struct config_source *source;
	const struct probe_target *target;
	const struct source *language; /* NULL: the plugin does not read the source language */
	bool is_raw;
};

/** Show an answer, cut short unless is_raw. [main] */
void probe_show_answer(const struct probe_page *page, size_t request, const char *body, size_t len,
		       long status);

/** Show rows, fields, derived values, notes and the verdict of an ended sample. [main] */
void probe_show_sample(const struct probe_page *page, const struct source_sample *sample, int rc);

/** Show what a collector put that does not read the source language. [main] */
void probe_show_values(const struct probe_page *page, const struct probe_poll *poll);

#endif
