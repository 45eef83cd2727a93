/* ctl_source.c - try a source: by callrouterd itself, which starts nothing. */
#include "ctl.h"

#include <string.h>

enum { SERVER = 1, REPLAY, REQUEST, RAW };

static const struct option options[] = { CTL_COMMON_OPTIONS,
					 CTL_DIR_OPTIONS,
					 { "config", required_argument, NULL, 'c' },
					 { "server", required_argument, NULL, SERVER },
					 { "replay", required_argument, NULL, REPLAY },
					 { "request", required_argument, NULL, REQUEST },
					 { "raw", no_argument, NULL, RAW },
					 { 0 } };

static const char *daemon_option(int code)
{
	switch (code) {
	case 'p':
		return "--plugins-dir";
	case 'P':
		return "--profiles-dir";
	case 'c':
		return "--config";
	case SERVER:
		return "--server";
	case REPLAY:
		return "--replay";
	case REQUEST:
		return "--request";
	default:
		return "--raw";
	}
}

int ctl_source(struct ctl *ctl, int argc, char **argv)
{
	static char daemon[] = "callrouterd";
	struct ctl_line line = { .n = 0 };
	int code;

	ctl_line_add(&line, daemon);
	while ((code = ctl_option(ctl, argc, argv, options)) > 0)
		ctl_line_add_option(&line, daemon_option(code), code == RAW ? NULL : optarg);
	if (code == CTL_ARGUMENTS)
		code = ctl_count(ctl, argc, 2, 2);
	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	if (strcmp(argv[optind], "test") != 0)
		return ctl_usage(ctl, "no \"source %s\"; there is \"source test NAME\"",
				 argv[optind]);
	ctl_line_add_option(&line, "--test-source", argv[optind + 1]);
	return ctl_line_run(&line);
}
