/* config.h - the configuration file: read whole, checked whole, every mistake with its line and
 * column. */
#ifndef CR_DAEMON_CONFIG_H
#define CR_DAEMON_CONFIG_H

#include <callrouter/plugin.h>

#include "err.h"
#include "option.h"
#include "profiles.h"
#include "target_list.h"

/** One "name: value" of a plugin's options or a server's vars. */
struct config_pair {
	char *name, *value;
	int line, column; /* of the value */
	char *file;       /* the profile it stood in; NULL: the configuration */
};

struct config_server {
	char *name;
	char *address;     /* "host:port", "[v6]:port" */
	char *host, *port; /* host: with the brackets of an IPv6 address */
	bool is_admin;
	uint32_t weight;  /* 0 .. 100, default 1 */
	int64_t heap_max; /* bytes, where no source says a maximum; its own, or that of a collector
			     which polls it; 0: none */
	int64_t stale_after_ns; /* of the strictest service that has it; 0: none has it */
	struct config_pair *vars;
	size_t n_vars;
	struct config_pair *targets; /* source name: target, instead of the source's template */
	size_t n_targets;
};

/** A figure that a source gives. */
struct config_figure {
	char *metric;
	bool is_derived; /* it follows from what the source measures alone */
	/* A number of what its description says of it, or of what it follows from. */
	uint64_t way;
};

/** One entry of collectors: a source. */
struct config_source {
	char *name, *plugin;
	char *target;                    /* template: ${host} ${port} ${name} ${var} */
	int64_t interval_ns, timeout_ns; /* default 2 s, 500 ms; timeout <= interval; at most 1 d */
	int64_t heap_max;                /* of servers that have none of their own; 0: none */
	bool is_backup;                  /* counts where no other source has something fresh */
	size_t *servers;                 /* indices of managed servers it polls; default: all */
	size_t n_servers;
	/* Every other key of the entry. Those of the source language and what its profile says are
	 * one option "source". */
	struct config_pair *options;
	size_t n_options;
	char *profile; /* as it was written, or NULL */
	/* What its description gives, by name; none if its plugin reads no source language. */
	struct config_figure *figures;
	size_t n_figures;
	/* What is sent names these variables. value: where, as a JSON pointer; line, column and
	 * file are of that place. */
	struct config_pair *variables;
	size_t n_variables;
	/* Keys of the description whose text, filled in for a server, stands in a community or a
	 * context: at most two. value: the text; places as of variables. */
	struct config_pair *abouts;
	size_t n_abouts;
	int line, column;
};

/** A router or a default: "plugin", or { plugin: P, options: { ... } }. */
struct config_choice {
	char *plugin; /* NULL: none */
	struct config_pair *options;
	size_t n_options;
	/* The figure of the heap that its plugin needs, or that its options name first; NULL: none,
	 * or nobody knows. */
	char *ranks_by;
	int line, column;
};

enum config_check_kind { CONFIG_CHECK_NONE = 0, CONFIG_CHECK_TCP, CONFIG_CHECK_HTTP };

#define CONFIG_STATUS_MAX 16 /* good status codes of a check */

/** How the daemon itself looks after the servers of a service. */
struct config_check {
	enum config_check_kind kind;
	char *path;                         /* of the GET; NULL for TCP */
	char *host_header;                  /* NULL: the address */
	char *port;                         /* another than the server's, or NULL */
	uint32_t status[CONFIG_STATUS_MAX]; /* good answers; n_status 0: 2xx and 3xx */
	size_t n_status;
	int64_t interval_ns, timeout_ns; /* default 2 s, 1 s; timeout <= interval */
	uint32_t fall, rise;             /* in a row, until it is down or up; default 3, 2 */
};

/** What takes a service's servers out, and how they come back. */
struct config_health {
	int64_t out_for_ns;              /* default 3 min */
	int64_t aside_ns, aside_most_ns; /* default 2 s, 30 s; 0: never put aside */
	int64_t slow_start_ns;           /* default 10 s; 0: none */
	uint32_t failures;               /* in a row; default 10; 0: never out */
	uint32_t counts;                 /* enum image_counts; default: all */
	struct config_check check;       /* default: none */
};

/** How a metric is smoothed for a service's rankers; see smooth.h. */
struct config_smooth {
	char *metric;
	int64_t window_ns;    /* 0: none */
	bool is_min;          /* the smallest of the window, not the largest */
	int64_t half_life_ns; /* 0: none */
	double band;          /* 0.05: 5 % */
};

struct config_service {
	char *name;
	size_t *servers; /* indices of managed servers, each once, in the order given; default: all
			  */
	size_t n_servers;
	struct config_choice router; /* may be absent */
	struct config_choice preset; /* default algorithm; round_robin if not given */
	int64_t stale_after_ns;      /* default 10 s */
	uint32_t full_at; /* calls in progress per weight that are too many; 0: no limit */
	struct config_health health;
	struct config_smooth *smooth;
	size_t n_smooth;
};

#define CONFIG_NO_SERVICE SIZE_MAX

/** What is no mistake, but seldom meant. */
struct config_warning {
	const char *word; /* "two_sources": two collectors give one figure of one server;
			     "mixed_sources": the servers of a service have one figure from
			     different kinds of source */
	char *text;       /* what, what happens, and what to do */
	size_t service;   /* index of whom it is about, or CONFIG_NO_SERVICE */
	int line, column; /* line 0: the file as a whole */
};

struct config {
	char *path;
	uint32_t hosts; /* data-plane hosts of the fleet; 0: unknown */
	char *cluster;  /* default "callrouter" */
	char *group; /* that may read the snapshot and write the counters; NULL: the daemon's own */
	struct config_server *servers;
	size_t n_servers;
	struct config_source *sources;
	size_t n_sources;
	struct config_service *services;
	size_t n_services;
	struct config_warning *warnings;
	size_t n_warnings;
};

/** How the configuration learns which options a plugin takes. */
struct config_plugins {
	/**
	 * The option table of a plugin (*table NULL: it has none), valid until the configuration is
	 * read. want_router: else a collector. Returns 0, or < 0 with a sentence (no such plugin,
	 * near ones; wrong kind; broken).
	 */
	int (*options)(void *arg, bool want_router, const char *plugin,
		       const struct cr_option **table, struct err *err);
	void *arg;
	/**
	 * Does the plugin accept these options, which are all in its table? packed: see
	 * config_pack(). NULL: it is not asked. Returns 0, or < 0 with a sentence that begins
	 * with the plugin's name; *lines: what open() wrote of a collector, a line for each wrong
	 * option, or NULL; to be freed.
	 */
	int (*accepts)(void *arg, const char *plugin, const char *packed, char **lines,
		       struct err *err);
	const struct profiles *profiles; /* NULL: there are none but by their path */
	/**
	 * The metrics that a router needs and wants, both NULL-terminated or NULL, valid until the
	 * configuration is read. NULL: nobody knows. Returns 0, or < 0.
	 */
	int (*metrics)(void *arg, const char *router, const char *const **needs,
		       const char *const **wants);
	/**
	 * Can the collector, with options that it accepts, poll these targets? NULL: it is not
	 * asked. Returns 0 (targets->bad has been called for those that it cannot), or < 0 with a
	 * sentence that begins with the plugin's name. Takes its time off *targets->left_ns.
	 */
	int (*can_poll)(void *arg, const char *plugin, const char *packed,
			const struct target_list *targets, struct err *err);
};

/** All mistakes of a file in its order: lines "file:line:col: what, and what would be right\n";
 * just "file: what\n" where there is no place. A mistake of a profile names that file and comes
 * where the profile is used. n counts those past 500, too, which are not listed. Freed by
 * free(text). */
struct config_report {
	char *text;
	size_t n;
};

/**
 * Read and check the file. plugins NULL: options are not checked. Options that end in _file become
 * absolute paths, seen from the file's folder. Returns 0 with *out (freed by
 * config_free()), or < 0 with report filled in: never only the first mistake. [main]
 */
int config_read(const char *path, const struct config_plugins *plugins, struct config **out,
		struct config_report *report);
void config_free(struct config *config);

#define CONFIG_WARNING_LEN 1536

/** "FILE:3:5: warning: two_sources: collectors a and b ...", in buf. [any] */
const char *config_warning_show(const struct config *config, const struct config_warning *warning,
				char *buf, size_t len);

/**
 * Fill a target template in for one server: ${host} ${port} ${name} and its vars. Returns malloc'd
 * text, or NULL (an unknown variable: config_read() has refused that). [any]
 */
char *config_expand(const char *target, const struct config_server *server);

/** Is every server of the source polled by itself, and not one agent for all? So it is if its
 * target, or what is sent, names a variable. [any] */
bool config_asks_each(const struct config_source *source);

/**
 * The values that a server has for the variables of what a source sends. *n: how many. Returns one
 * piece of memory for free(), or NULL without memory. [any]
 */
struct cr_var *config_vars(const struct config_source *source, const struct config_server *server,
			   size_t *n);

/** The same of variables as they are. [any] */
struct cr_var *config_vars_copy(const struct cr_var *from, size_t n);

/** The target that a server has of its own, instead of this source's; NULL: it has none. [any] */
const struct config_pair *config_own_target(const struct config_server *server,
					    const struct config_source *source);

/** Is it one of those for whom the source's one target answers? [any] */
bool config_is_covered(const struct config_server *server, const struct config_source *source);

/** Options of a choice as packed text for plugin_instance_open(); malloc'd. [any] */
char *config_pack(const struct config_pair *options, size_t n);

#endif
