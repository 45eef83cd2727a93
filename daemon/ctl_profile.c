/* ctl_profile.c - the profiles of the source language that are there, and what one says. */
#include "ctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "profiles.h"

static int list_profiles(const struct profiles *profiles)
{
	static const struct ctl_column columns[] = { { "PROFILE", false }, { "READS", false } };
	struct ctl_table *table = ctl_table_new(columns, sizeof columns / sizeof *columns);
	struct profiles_list list;
	int r = profiles_list(profiles, &list);

	for (size_t i = 0; r == 0 && i < list.n; i++) {
		ctl_table_add(table, CTL_BOLD, list.entry[i].name);
		ctl_table_add(table, CTL_PLAIN, list.entry[i].summary);
	}
	if (r == 0 && list.n == 0) {
		ctl_table_free(table);
		return ctl_fail(CTL_REFUSED,
				"no profile is in %s; name a directory with "
				"--profiles-dir DIR",
				profiles->dir[0]);
	}
	if (r == 0) {
		r = ctl_table_print(table, stdout, ctl_is_coloured(stdout), 0);
		profiles_list_free(&list);
	}
	ctl_table_free(table);
	return r == 0 ? CTL_GOOD : ctl_fail(CTL_REFUSED, "out of memory");
}

static int copy_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[4096];

	if (file == NULL)
		return ctl_fail(CTL_REFUSED, "%s: %s", path, err_words(errno));
	while (fgets(line, sizeof line, file) != NULL)
		(void)fputs(line, stdout);
	(void)fclose(file);
	return CTL_GOOD;
}

static int show_profile(const struct profiles *profiles, const char *name)
{
	char *path = profiles_is_path(name) ? strdup(name) : profiles_find(profiles, name);
	char nearest[64];
	int status;

	if (path != NULL)
		status = copy_file(path);
	else if (profiles_nearest(profiles, name, nearest, sizeof nearest))
		status = ctl_fail(CTL_REFUSED, "no profile \"%s\"; did you mean \"%s\"?", name,
				  nearest);
	else
		status = ctl_fail(CTL_REFUSED,
				  "no profile \"%s\"; callrouterctl profile list shows them", name);
	free(path);
	return status;
}

/* What follows the options. */
static int run(struct ctl *ctl, int argc, char **argv, const struct profiles *profiles)
{
	const int n = argc - optind;

	if (strcmp(argv[optind], "list") == 0 && n == 1)
		return list_profiles(profiles);
	if (strcmp(argv[optind], "show") == 0 && n == 2)
		return show_profile(profiles, argv[optind + 1]);
	return ctl_usage(ctl, "write \"profile list\" or \"profile show NAME\"");
}

int ctl_profile(struct ctl *ctl, int argc, char **argv)
{
	static const struct option options[] = { CTL_COMMON_OPTIONS,
						 { "profiles-dir", required_argument, NULL, 'P' },
						 { 0 } };
	struct profiles profiles = { .n = 0 };
	int code, status = CTL_REFUSED;

	while ((code = ctl_option(ctl, argc, argv, options)) == 'P')
		if (profiles_add(&profiles, optarg) < 0)
			(void)ctl_fail(CTL_USAGE, "--profiles-dir %s: too many of them", optarg);
	if (code == CTL_ARGUMENTS)
		code = ctl_count(ctl, argc, 1, 2);
	if (code != CTL_ARGUMENTS)
		status = ctl_leave(code);
	else if (profiles.n == 0 && profiles_add_usual(&profiles) < 0)
		status = ctl_fail(CTL_REFUSED, "out of memory");
	else
		status = run(ctl, argc, argv, &profiles);
	profiles_fini(&profiles);
	return status;
}
