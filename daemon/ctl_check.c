/* ctl_check.c - check a configuration or a plugin: by callrouterd itself, which starts nothing. */
#include "ctl.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "err.h"

#define ARGUMENTS_MAX 128 /* of callrouterd */

/* callrouterd's command line. */
struct line {
	char *word[ARGUMENTS_MAX + 1];
	size_t n;
	bool is_full;
};

static void line_add(struct line *line, char *word)
{
	if (line->n < ARGUMENTS_MAX)
		line->word[line->n++] = word;
	else
		line->is_full = true;
}

/* Write the path of DIR/RELATIVE/callrouterd, where DIR is where we are. True if it can be run. */
static bool find_daemon(char *path, size_t len, const char *relative)
{
	const ssize_t n = readlink("/proc/self/exe", path, len - 1);
	char *slash;
	size_t used;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		return false;
	used = (size_t)(slash + 1 - path);
	if ((size_t)snprintf(slash + 1, len - used, "%scallrouterd", relative) >= len - used)
		return false;
	return access(path, X_OK) == 0;
}

static int run_daemon(struct line *line)
{
	char path[4096];

	/* Beside us in a build tree, in sbin when installed. */
	if (find_daemon(path, sizeof path, "") || find_daemon(path, sizeof path, "../sbin/"))
		(void)execv(path, line->word);
	else
		(void)execvp("callrouterd", line->word);
	return ctl_fail(CTL_USAGE,
			"callrouterd, which does the checking, cannot be run (%s): install it "
			"beside callrouterctl or in PATH",
			err_words(errno));
}

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Options of ours go on to callrouterd. Returns as ctl_option(). */
static int take_options(struct ctl *ctl, int argc, char **argv, struct line *line)
{
	static char plugins_dir[] = "--plugins-dir", run_dir[] = "--run-dir";
	static const struct option options[] = { CTL_COMMON_OPTIONS,
						 { "plugins-dir", required_argument, NULL, 'p' },
						 { 0 } };
	int code;

	while ((code = ctl_option(ctl, argc, argv, options)) == 'p') {
		line_add(line, plugins_dir);
		line_add(line, optarg);
	}
	if (ctl->has_run_dir) {
		line_add(line, run_dir);
		line_add(line, ctl->run_dir);
	}
	return code == CTL_ARGUMENTS ? ctl_count(ctl, argc, 1, ARGUMENTS_MAX) : code;
}

int ctl_check(struct ctl *ctl, int argc, char **argv)
{
	static char daemon[] = "callrouterd", check[] = "--check",
		    check_plugin[] = "--check-plugin", config[] = "-c";
	struct line line = { .n = 0 };
	int code;

	line_add(&line, daemon);
	code = take_options(ctl, argc, argv, &line);
	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	if (ends_with(argv[optind], ".so")) {
		line_add(&line, check_plugin);
		for (int i = optind; i < argc; i++)
			line_add(&line, argv[i]);
	} else {
		if (argc - optind > 1)
			return ctl_usage(ctl, "options (NAME=VALUE) go with a plugin, FILE.so");
		line_add(&line, config);
		line_add(&line, argv[optind]);
		line_add(&line, check);
	}
	if (line.is_full)
		return ctl_usage(ctl, "too many arguments");
	line.word[line.n] = NULL;
	return run_daemon(&line);
}
