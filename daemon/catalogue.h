/*
 * catalogue.h - the plugins by name: the generation in use, the file in plugins.d, what was refused
 * and why. [main only]
 */
#ifndef CR_DAEMON_CATALOGUE_H
#define CR_DAEMON_CATALOGUE_H

#include "config.h"
#include "generation.h"
#include "manifest.h"
#include "stage.h"

/** One plugin name. */
struct shelf {
	char plugin[32];
	struct generation *current; /* NULL: none has been adopted yet */
	struct plugin *loaded;      /* collectors: current, as loaded into this process */
	struct stage_file seen;     /* the file that was dealt with last; path "": none */
	struct stage_file look;     /* the file as the last look found it */
	int64_t look_ns;            /* since when it looks like that */
	bool is_gone;               /* the file was removed */
	bool must_return;   /* the current generation is quarantined: the previous one has to come
			       back */
	uint64_t sent_away; /* the generation that was quarantined last: once is enough */
	struct manifest_file refused; /* the last file that was tried and refused; seq 0: none */
	char note[320];               /* why */
};

struct loose_facts;

/** A plugin that accepted some options, or targets with them. */
struct accepted {
	uint64_t key;  /* of its file's path, the options and the targets */
	bool is_loose; /* the file is not staged: it may be another one the next time */
};

struct catalogue {
	const char *state_dir;
	char *const *dirs; /* later ones win */
	size_t n_dirs;
	struct manifest *manifest; /* NULL: nothing may be written (--check) */
	struct shelf **shelf;
	size_t n;
	struct loose_facts *loose; /* catalogue_options()'s */
	struct accepted *accepted; /* catalogue_accepts()'s and catalogue_can_poll()'s */
	size_t n_accepted;
	char hung[32]; /* the plugin that has not answered in this reading, and what was said: it
			  is not asked again, for each of its sources may want another answer */
	struct err hung_why;
};

/** Open: the manifest and the staging directory of state_dir. state_dir NULL: only for looking
 * (--check). 0 or < 0 with err. */
int catalogue_open(struct catalogue *catalogue, const char *state_dir, char *const *dirs,
		   size_t n_dirs, struct err *err);
void catalogue_close(struct catalogue *catalogue);

/** The shelf of a plugin name, made if need be; NULL: no memory. */
struct shelf *catalogue_shelf(struct catalogue *catalogue, const char *plugin);

/** Put back the generation that the manifest says is current, if its staged file is still good. 0
 * or < 0 with err. */
int catalogue_restore(struct catalogue *catalogue, struct shelf *shelf, struct err *err);

/**
 * Adopt the file in the directories as the first generation, without the sequence of a swap: for
 * collectors, before anything is polled. The file is staged and described in a child process. 0 or
 * < 0 with err.
 */
int catalogue_adopt_first(struct catalogue *catalogue, struct shelf *shelf, struct err *err);

/** Stage a file and open it as a generation; *staged says what it is. NULL with err. */
struct generation *catalogue_stage(const struct catalogue *catalogue, const struct stage_file *file,
				   struct manifest_file *staged, struct err *err);

/**
 * For config_read(): the options of a plugin, from its current generation, else from the file in
 * the directories. arg: the catalogue. See struct config_plugins.
 */
int catalogue_options(void *arg, bool want_router, const char *plugin,
		      const struct cr_option **table, struct err *err);

/**
 * For config_read(), after catalogue_options(): have the plugin's open() judge the options, in a
 * child process, once for all who use it so. arg: the catalogue. See struct config_plugins.
 */
int catalogue_accepts(void *arg, const char *plugin, const char *packed, char **lines,
		      struct err *err);

/** For config_read(): the metrics of a router. arg: the catalogue. See struct config_plugins. */
int catalogue_metrics(void *arg, const char *router, const char *const **needs,
		      const char *const **wants);

/**
 * For config_read(), with options that were accepted: have the collector judge targets, in a child
 * process. If all were good, the same list is not asked about again. arg: the catalogue. See struct
 * config_plugins.
 */
int catalogue_can_poll(void *arg, const char *plugin, const char *packed,
		       const struct target_list *targets, struct err *err);

/** The file of a plugin that was asked for by catalogue_options(), or NULL. Borrowed. */
const char *catalogue_file(const struct catalogue *catalogue, const char *plugin);

/** Do these packed options fit a generation's table? 0 or < 0 with err. */
int catalogue_check_options(const struct generation *generation, const char *packed,
			    struct err *err);

/** Forget what catalogue_options(), catalogue_accepts() and catalogue_can_poll() learnt of files
 * that are not staged: the tables are no longer used. */
void catalogue_forget_facts(struct catalogue *catalogue);

#endif
