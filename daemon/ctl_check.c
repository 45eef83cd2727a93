/* ctl_check.c - check a configuration or a plugin: by callrouterd itself, which starts nothing. */
#include "ctl.h"

#include "text.h"

/* Options of ours go on to callrouterd. Returns as ctl_option(). */
static int take_options(struct ctl *ctl, int argc, char **argv, struct ctl_line *line)
{
	static char run_dir[] = "--run-dir";
	static const struct option options[] = { CTL_COMMON_OPTIONS, CTL_DIR_OPTIONS, { 0 } };
	int code;

	while ((code = ctl_option(ctl, argc, argv, options)) > 0)
		ctl_line_add_option(line, code == 'p' ? "--plugins-dir" : "--profiles-dir", optarg);
	if (ctl->has_run_dir) {
		ctl_line_add(line, run_dir);
		ctl_line_add(line, ctl->run_dir);
	}
	return code == CTL_ARGUMENTS ? ctl_count(ctl, argc, 0, CTL_LINE_MAX) : code;
}

int ctl_check(struct ctl *ctl, int argc, char **argv)
{
	static char daemon[] = "callrouterd", check[] = "--check",
		    check_plugin[] = "--check-plugin", config[] = "-c";
	struct ctl_line line = { .n = 0 };
	int code;

	ctl_line_add(&line, daemon);
	code = take_options(ctl, argc, argv, &line);
	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	if (optind == argc) { /* callrouterd has a file of its own, and names it */
		ctl_line_add(&line, check);
	} else if (text_ends_in(argv[optind], ".so")) {
		ctl_line_add(&line, check_plugin);
		for (int i = optind; i < argc; i++)
			ctl_line_add(&line, argv[i]);
	} else {
		if (argc - optind > 1)
			return ctl_usage(ctl, "options (NAME=VALUE) go with a plugin, FILE.so");
		ctl_line_add(&line, config);
		ctl_line_add(&line, argv[optind]);
		ctl_line_add(&line, check);
	}
	return ctl_line_run(&line);
}
