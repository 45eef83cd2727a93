/* ctl_line.c - a command line for callrouterd, which does what needs plugins. */
#include "ctl.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "err.h"

void ctl_line_add(struct ctl_line *line, char *word)
{
	if (line->n < CTL_LINE_MAX)
		line->word[line->n++] = word;
	else
		line->is_full = true;
}

void ctl_line_add_option(struct ctl_line *line, const char *option, char *value)
{
	/* execv() changes none of them */
	ctl_line_add(line, (char *)(uintptr_t)option);
	if (value != NULL)
		ctl_line_add(line, value);
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

int ctl_line_run(struct ctl_line *line)
{
	char path[4096];

	if (line->is_full)
		return ctl_fail(CTL_USAGE, "too many arguments");
	line->word[line->n] = NULL;
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
