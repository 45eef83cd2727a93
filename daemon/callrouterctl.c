/* callrouterctl.c - the operator's program: finds the command and lets it run. */
#include "ctl.h"

#include <string.h>

#include "text.h"

static const struct ctl_command commands[] = {
	{ "status", "[SERVICE] [--json] [--watch [--interval TIME]]",
	  "Show who decides for each service, why calls fell back, and the ranking",
	  "  --json          the whole document\n"
	  "  --watch         show it again every second until Ctrl-C\n"
	  "  --interval TIME how often (1s); means --watch\n",
	  ctl_status },
	{ "route", "SERVICE [OPTION...]",
	  "Show where a call would go now, and why; nothing is contacted or counted",
	  "  --method M      the call's method, such as \"GET /shop\"\n"
	  "  --param K=V     a parameter of the call; may be repeated\n"
	  "  --key K         what has to stay together\n"
	  "  --session S     the value of its session cookie: id!primary!secondary, id.route\n"
	  "  --client IP     where the call comes from\n"
	  "  --cost BYTES    heap that the call is expected to hold, such as 64KiB\n"
	  "  --count N       so many calls, each with a fresh draw\n"
	  "  --json          a document, with --count an array of them\n",
	  ctl_route },
	{ "servers", "[SERVER] [--json]",
	  "Show every server with its polls and figures, and every source; or all of one",
	  "  --json          the whole document\n", ctl_servers },
	{ "plugins", "[--json]",
	  "Show the generations of all plugins, and the data planes that use them",
	  "  --json          the whole document\n", ctl_plugins },
	{ "rollback", "PLUGIN [--json]",
	  "Go back to the generation of a plugin that was used before", "", ctl_rollback },
	{ "adopt", "FILE.so [--force] [--json]",
	  "Take a plugin's file now, also one that was rolled back or quarantined",
	  "  --force         even if a data plane cannot load it\n", ctl_adopt },
	{ "reload", "[--json]", "Read the configuration again: it is used whole or not at all", "",
	  ctl_reload },
	{ "drain", "SERVER [--json]", "Give a server no new calls, until undrain", "", ctl_drain },
	{ "undrain", "SERVER [--json]", "Give a drained server calls again", "", ctl_undrain },
	{ "restore", "SERVER [--json]",
	  "Give a server calls again that is aside, ejected, on trial or down, at once", "",
	  ctl_restore },
	{ "weight", "SERVER N|default [--json]",
	  "Set a server's weight, 0 .. 100; 0: no new calls; it outlives a restart", "",
	  ctl_weight },
	{ "check",
	  "[FILE.yaml|FILE.so [NAME=VALUE...]] [--plugins-dir DIR]... [--profiles-dir DIR]...",
	  "Check a configuration, or a plugin with these options; nothing is started",
	  "  FILE.yaml          the configuration (/etc/callrouter/callrouter.yaml)\n"
	  "  --plugins-dir DIR  where the configuration's plugins are; may be repeated\n"
	  "  --profiles-dir DIR and its profiles; may be repeated\n",
	  ctl_check },
	{ "source", "test NAME [-c FILE] [OPTION...]",
	  "Poll a collector's target once, or read a recorded answer, and show what came of it",
	  "  -c FILE            the configuration (/etc/callrouter/callrouter.yaml)\n"
	  "  --server NAME      that server's target, not the first one's\n"
	  "  --replay FILE      read this answer (a body, snmpwalk -On, .snmprec); ask nobody\n"
	  "  --request NAME     which request it answers, by name or number\n"
	  "  --raw              show answers whole\n"
	  "  --plugins-dir DIR, --profiles-dir DIR   as callrouterd takes them\n\n"
	  "  callrouterctl source test tomcat --server ms2\n"
	  "  callrouterctl source test app --replay page.json\n"
	  "  callrouterctl source test prom --request used --replay answer.json\n"
	  "  callrouterctl source test wls --replay walk.txt        snmpwalk -On ... >walk.txt\n\n"
	  "Secrets are read by whoever runs it: root, or callrouterd's user.\n",
	  ctl_source },
	{ "profile", "list | show NAME", "Show the profiles of sources, or what one says",
	  "  --profiles-dir DIR where they are; may be repeated\n", ctl_profile },
};

#define N_COMMANDS (sizeof commands / sizeof *commands)

static void print_help(FILE *out)
{
	(void)fputs("usage: callrouterctl [--run-dir DIR] COMMAND [ARGUMENT...]\n\n", out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		(void)fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
	(void)fputs("\n  --run-dir DIR   callrouterd's run directory (" CTL_RUN_DIR ")\n"
		    "  --version       the version of this program\n"
		    "  --help          this text; callrouterctl COMMAND --help tells more\n\n"
		    "Exit status: 0 done, 1 refused or failed, 2 wrong usage or no callrouterd.\n",
		    out);
}

static const struct ctl_command *find_command(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int fail_unknown(const char *name)
{
	const char *names[N_COMMANDS + 1] = { NULL };
	const char *near;

	for (size_t i = 0; i < N_COMMANDS; i++)
		names[i] = commands[i].name;
	near = text_nearest(name, names);
	if (near != NULL)
		return ctl_fail(CTL_USAGE, "no command \"%s\": did you mean \"%s\"?", name, near);
	return ctl_fail(CTL_USAGE, "no command \"%s\": callrouterctl --help shows them", name);
}

/* Options before the command. Returns an exit status, or -1: go on. */
static int take_options(struct ctl *ctl, int argc, char **argv)
{
	static const struct option options[] = { CTL_COMMON_OPTIONS,
						 { "version", no_argument, NULL, 'V' },
						 { 0 } };
	int code;

	/* "+": the first word that is no option is the command. */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): this program has one thread. */
	while ((code = getopt_long(argc, argv, "+hV", options, NULL)) != -1) {
		switch (code) {
		case CTL_OPTION_RUN_DIR:
			ctl->run_dir = optarg;
			ctl->has_run_dir = true;
			break;
		case 'h':
		case CTL_OPTION_HELP:
			print_help(stdout);
			return CTL_GOOD;
		case 'V':
			(void)puts("callrouterctl " CALLROUTER_VERSION);
			return CTL_GOOD;
		default:
			(void)fputs("callrouterctl --help shows what there is\n", stderr);
			return CTL_USAGE;
		}
	}
	return -1;
}

static int run_command(struct ctl *ctl, int argc, char **argv)
{
	static char program[] = "callrouterctl"; /* for getopt's messages */

	ctl->command = find_command(argv[0]);
	if (ctl->command == NULL)
		return fail_unknown(argv[0]);
	argv[0] = program;
	optind = 0; /* GNU: start afresh */
	return ctl->command->run(ctl, argc, argv);
}

int main(int argc, char **argv)
{
	static char run_dir[] = CTL_RUN_DIR;
	struct ctl ctl = { .run_dir = run_dir };
	int status = take_options(&ctl, argc, argv);

	if (status < 0 && optind == argc) {
		print_help(stderr);
		status = CTL_USAGE;
	} else if (status < 0) {
		status = run_command(&ctl, argc - optind, argv + optind);
	}
	if (fflush(stdout) != 0 || ferror(stdout) != 0)
		return ctl_fail(CTL_REFUSED, "standard output cannot be written");
	return status;
}
