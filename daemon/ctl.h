/* ctl.h - what the commands of callrouterctl have in common. */
#ifndef CR_DAEMON_CTL_H
#define CR_DAEMON_CTL_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <callrouter/plugin.h>
#include <jansson.h>

#define CTL_RUN_DIR "/run/callrouter"
#define CTL_ASK_MS  5000 /* for a question */
#define CTL_CHANGE_MS                                                                              \
	20000 /* for a change: a trial and all data planes' answers lie in between                 \
	       */

/** Exit statuses. */
enum ctl_exit {
	CTL_GOOD = 0,
	CTL_REFUSED = 1, /* it was tried, and refused or failed */
	CTL_USAGE = 2,   /* nothing was tried: wrong usage, or no daemon */
};

struct ctl;

/** One command: ctl->command while it runs. */
struct ctl_command {
	const char *name, *arguments, *summary;
	const char *help; /* options, one a line, and an example; ends with a newline */
	/** argv[0] is for messages, the arguments follow. Returns the exit status. */
	int (*run)(struct ctl *ctl, int argc, char **argv);
};

struct ctl {
	char *run_dir;
	bool has_run_dir; /* --run-dir was given */
	bool is_json;     /* --json was given */
	const struct ctl_command *command;
};

/*** The commands: ctl_NAME.c ***/

int ctl_status(struct ctl *ctl, int argc, char **argv);
int ctl_route(struct ctl *ctl, int argc, char **argv);
int ctl_servers(struct ctl *ctl, int argc, char **argv);
int ctl_plugins(struct ctl *ctl, int argc, char **argv);
int ctl_rollback(struct ctl *ctl, int argc, char **argv);
int ctl_adopt(struct ctl *ctl, int argc, char **argv);
int ctl_reload(struct ctl *ctl, int argc, char **argv);
int ctl_drain(struct ctl *ctl, int argc, char **argv);
int ctl_undrain(struct ctl *ctl, int argc, char **argv);
int ctl_weight(struct ctl *ctl, int argc, char **argv);
int ctl_check(struct ctl *ctl, int argc, char **argv);
int ctl_restore(struct ctl *ctl, int argc, char **argv);
int ctl_source(struct ctl *ctl, int argc, char **argv);
int ctl_profile(struct ctl *ctl, int argc, char **argv);

/** All of one server, for people: ctl_server.c. Returns the exit status. */
int ctl_server_print(const json_t *server);

/*** Arguments: ctl_common.c ***/

/* Codes of the options that every command takes; a command's own are letters. */
enum { CTL_OPTION_RUN_DIR = 256, CTL_OPTION_JSON, CTL_OPTION_HELP };

/* clang-format off */
#define CTL_COMMON_OPTIONS \
	{ "run-dir", required_argument, NULL, CTL_OPTION_RUN_DIR }, \
	{ "help", no_argument, NULL, CTL_OPTION_HELP }
#define CTL_JSON_OPTION { "json", no_argument, NULL, CTL_OPTION_JSON }
#define CTL_DIR_OPTIONS \
	{ "plugins-dir", required_argument, NULL, 'p' }, \
	{ "profiles-dir", required_argument, NULL, 'P' }
/* clang-format on */

/** What ctl_option() returns besides a command's own letters. */
enum { CTL_ARGUMENTS = -1, CTL_DONE = -2, CTL_WRONG = -3 };

/**
 * The next option. Common ones are dealt with here. Returns a letter of the command's own (its
 * value is in optarg), CTL_ARGUMENTS (no more options: arguments start at optind), CTL_DONE (help
 * was shown), or CTL_WRONG (a sentence was shown).
 */
int ctl_option(struct ctl *ctl, int argc, char **argv, const struct option *options);

/** For a command with only common options: check that between least and most arguments follow.
 * Returns CTL_ARGUMENTS, CTL_DONE or CTL_WRONG. */
int ctl_arguments(struct ctl *ctl, int argc, char **argv, int least, int most);

/** The same check after a loop over ctl_option(). */
int ctl_count(const struct ctl *ctl, int argc, int least, int most);

/** The exit status for CTL_DONE or CTL_WRONG. */
int ctl_leave(int code);

/** Show help for ctl->command. */
void ctl_help(const struct ctl *ctl);

/** "callrouterctl: sentence" on standard error; returns status. */
int ctl_fail(int status, const char *fmt, ...) CR_PRINTF(2, 3);

/** "callrouterctl: sentence" and how to get help; returns CTL_USAGE. */
int ctl_usage(const struct ctl *ctl, const char *fmt, ...) CR_PRINTF(2, 3);

/*** Letting callrouterd do it: ctl_line.c ***/

#define CTL_LINE_MAX 128 /* words */

/** callrouterd's command line; zeroed at first. */
struct ctl_line {
	char *word[CTL_LINE_MAX + 1];
	size_t n;
	bool is_full;
};

/** Add a word; borrowed. */
void ctl_line_add(struct ctl_line *line, char *word);

/** Add an option and its value (NULL: it has none); borrowed. */
void ctl_line_add_option(struct ctl_line *line, const char *option, char *value);

/** Become callrouterd. Returns only if that fails, with the exit status after saying why. */
int ctl_line_run(struct ctl_line *line);

/*** Asking callrouterd: ctl_common.c ***/

/** Ask; *answer is the caller's; without --json its texts can be printed as they are. Returns
 * CTL_GOOD, or the exit status after saying why. Takes request. */
int ctl_ask(const struct ctl *ctl, json_t *request, int timeout_ms, json_t **answer);

/** Write a document to out, indented; returns the exit status. */
int ctl_print_json(const json_t *document, FILE *out);

/** Members of a document: the text or "-"; the number or NaN. */
const char *ctl_text(const json_t *object, const char *member);
double ctl_number(const json_t *object, const char *member);

/** The same as a sentence's number: 0 if it is not there. */
long long ctl_count_of(const json_t *object, const char *member);

/*** Tables: ctl_table.c ***/

enum ctl_colour { CTL_PLAIN = 0, CTL_BOLD, CTL_DIM, CTL_RED, CTL_GREEN, CTL_YELLOW };

struct ctl_column {
	const char *title;
	bool is_right; /* numbers */
};

struct ctl_table;

/** May colours be used on out: a terminal, and neither NO_COLOR nor TERM=dumb? */
bool ctl_is_coloured(FILE *out);

/** The escape sequence of a colour, "" if not is_coloured. */
const char *ctl_colour(bool is_coloured, enum ctl_colour colour);

/** Copy a text with everything that could steer a terminal as '?'. Returns buf. */
char *ctl_clean(char *buf, size_t len, const char *text);

/** columns: borrowed as long as the table lives. NULL without memory. */
struct ctl_table *ctl_table_new(const struct ctl_column *columns, size_t n_columns);
void ctl_table_free(struct ctl_table *table);

/** Fill the next cell, row by row. text: copied, cleaned. */
void ctl_table_add(struct ctl_table *table, enum ctl_colour colour, const char *text);
void ctl_table_addf(struct ctl_table *table, enum ctl_colour colour, const char *fmt, ...)
	CR_PRINTF(3, 4);
/** The value of a metric that counts bytes, as its document has it; "-" where it is unknown. */
void ctl_table_add_bytes(struct ctl_table *table, const json_t *metric);

/** A time that is left, rounded up: "12s", "2m10s", "3h5m". Returns buf. (ctl_health.c) */
char *ctl_show_left(char *buf, size_t len, double seconds);

/** A server's state: "up", "up 40 %" (slow start), "up, failed 3", "ejected 2m10s"; and a cell of
 * it. server: with the members of its health. Returns buf. (ctl_health.c) */
char *ctl_show_state(char *buf, size_t len, const char *state, const json_t *server);
void ctl_add_state(struct ctl_table *table, const char *state, const json_t *server);

struct cr_ticket;

/** Servers of a service that a ticket leaves out, and why, as far as that is known: a list of
 * {"server", "reason", "for_s"}; a new reference. (ctl_not_listed.c) */
json_t *ctl_not_listed(const struct ctl *ctl, const char *service, const struct cr_ticket *ticket);

struct cr_session;

/** What was understood of a session, and whether a service has its servers (call: after
 * cr_call_session()): a line for people; an object, a new reference, or NULL without memory.
 * (ctl_session.c) */
void ctl_session_print(const struct cr_session *session, const struct cr_call *call,
		       const char *service);
json_t *ctl_session_document(const struct cr_session *session, const struct cr_call *call);

/** Print with every line indented. Returns 0 or -ENOMEM: a cell could not be kept. */
int ctl_table_print(const struct ctl_table *table, FILE *out, bool is_coloured, int indent);

#endif
