/* callrouterd.c - the daemon's command line. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check_plugin.h"
#include "daemon.h"
#include "log.h"
#include "option.h"
#include "probe.h"
#include "ranker.h"
#include "text.h"

#define DEFAULT_RUN_DIR   "/run/callrouter"
#define DEFAULT_STATE_DIR "/var/lib/callrouter"
#define DEFAULT_CONFIG    "/etc/callrouter/callrouter.yaml"
#define ETC_PLUGINS_DIR   "/etc/callrouter/plugins.d"

#define EXIT_USAGE 2

static const char usage[] =
	"usage: callrouterd [-c FILE] [--run-dir DIR] [--state-dir DIR] [--plugins-dir DIR]...\n"
	"                   [--profiles-dir DIR]... [--log-level error|warn|info|debug] [--check]\n"
	"       callrouterd --check-plugin FILE.so [NAME=VALUE]...\n"
	"       callrouterd [-c FILE] --test-source NAME [--server NAME] [--replay FILE]\n"
	"                   [--request NAME] [--raw]\n"
	"  -c, --config FILE      configuration (" DEFAULT_CONFIG ")\n"
	"      --run-dir DIR      snapshot, counters and control socket (" DEFAULT_RUN_DIR ")\n"
	"      --state-dir DIR    adopted plugins and the operator's wishes (" DEFAULT_STATE_DIR
	")\n"
	"      --plugins-dir DIR  plugins; may be repeated, of two with one name the later wins\n"
	"                         (" CALLROUTER_PLUGINS_DIR " and " ETC_PLUGINS_DIR ")\n"
	"      --profiles-dir DIR profiles of sources; may be repeated, the later wins\n"
	"                         (" CALLROUTER_PROFILES_DIR " and /etc/callrouter/profiles)\n"
	"      --log-level LEVEL  (info)\n"
	"      --check            check the configuration and its plugins, start nothing\n"
	"      --check-plugin F   load F in a process of its own and try it\n"
	"      --test-source NAME poll a collector's target once, show what came of it\n"
	"      --server NAME      that server's target\n"
	"      --replay FILE      read a recorded answer instead\n"
	"      --request NAME     which request it answers, or is to be shown\n"
	"      --raw              show answers whole\n"
	"      --version, --help\n";

/** The command line, and what it asks for besides running. */
struct command_line {
	struct daemon_options options;
	enum cr_level level;
	bool only_check;
	const char *plugin;         /* --check-plugin */
	struct probe_options probe; /* --test-source, if that is set */
	char **rest;                /* NAME=VALUE */
	int n_rest;
};

enum {
	OPT_RUN_DIR = 256,
	OPT_STATE_DIR,
	OPT_PLUGINS_DIR,
	OPT_PROFILES_DIR,
	OPT_CHECK,
	OPT_CHECK_PLUGIN,
	OPT_TEST_SOURCE,
	OPT_SERVER,
	OPT_REPLAY,
	OPT_REQUEST,
	OPT_RAW,
	OPT_LEVEL,
	OPT_VERSION
};

static const struct option long_options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "run-dir", required_argument, NULL, OPT_RUN_DIR },
	{ "state-dir", required_argument, NULL, OPT_STATE_DIR },
	{ "plugins-dir", required_argument, NULL, OPT_PLUGINS_DIR },
	{ "profiles-dir", required_argument, NULL, OPT_PROFILES_DIR },
	{ "log-level", required_argument, NULL, OPT_LEVEL },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "check-plugin", required_argument, NULL, OPT_CHECK_PLUGIN },
	{ "test-source", required_argument, NULL, OPT_TEST_SOURCE },
	{ "server", required_argument, NULL, OPT_SERVER },
	{ "replay", required_argument, NULL, OPT_REPLAY },
	{ "request", required_argument, NULL, OPT_REQUEST },
	{ "raw", no_argument, NULL, OPT_RAW },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static bool parse_level(const char *text, enum cr_level *level)
{
	static const struct {
		const char *word;
		enum cr_level level;
	} levels[] = { { "error", CR_ERROR },
		       { "warn", CR_WARN },
		       { "info", CR_INFO },
		       { "debug", CR_DEBUG } };

	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		if (strcmp(text, levels[i].word) == 0) {
			*level = levels[i].level;
			return true;
		}
	(void)fprintf(stderr, "callrouterd: --log-level %s: one of error, warn, info, debug\n",
		      text);
	return false;
}

/* What is to be tried of a source. Returns whether it was such an option. */
static bool parse_probe(struct probe_options *probe, int option)
{
	switch (option) {
	case OPT_TEST_SOURCE:
		probe->source = optarg;
		return true;
	case OPT_SERVER:
		probe->server = optarg;
		return true;
	case OPT_REPLAY:
		probe->replay = optarg;
		return true;
	case OPT_REQUEST:
		probe->request = optarg;
		return true;
	case OPT_RAW:
		probe->is_raw = true;
		return true;
	default:
		return false;
	}
}

/* Returns -1 to go on, else the exit status. */
static int parse_one(struct command_line *line, int option)
{
	switch (option) {
	case 'c':
		line->options.config_path = optarg;
		return -1;
	case OPT_RUN_DIR:
		line->options.run_dir = optarg;
		return -1;
	case OPT_STATE_DIR:
		line->options.state_dir = optarg;
		return -1;
	case OPT_PLUGINS_DIR:
		line->options.plugins_dir[line->options.n_plugins_dirs++] = optarg;
		return -1;
	case OPT_PROFILES_DIR:
		if (profiles_add(&line->options.profiles, optarg) == 0)
			return -1;
		(void)fprintf(stderr, "callrouterd: --profiles-dir %s: more than %d of them\n",
			      optarg, PROFILES_DIRS_MAX);
		return EXIT_USAGE;
	case OPT_LEVEL:
		return parse_level(optarg, &line->level) ? -1 : EXIT_USAGE;
	case OPT_CHECK:
		line->only_check = true;
		return -1;
	case OPT_CHECK_PLUGIN:
		line->plugin = optarg;
		return -1;
	case OPT_VERSION:
		(void)printf("callrouterd %s\n", CALLROUTER_VERSION);
		return EXIT_SUCCESS;
	case 'h':
		(void)fputs(usage, stdout);
		return EXIT_SUCCESS;
	default:
		(void)fputs(usage, stderr);
		return EXIT_USAGE;
	}
}

static int parse(struct command_line *line, int argc, char **argv)
{
	static char installed[] = CALLROUTER_PLUGINS_DIR, etc[] = ETC_PLUGINS_DIR;
	int option, status = -1;

	/* One thread, yet. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (status < 0 && (option = getopt_long(argc, argv, "c:h", long_options, NULL)) != -1)
		status = parse_probe(&line->probe, option) ? -1 : parse_one(line, option);
	line->rest = argv + optind;
	line->n_rest = argc - optind;
	if (status < 0 && line->n_rest > 0 && line->plugin == NULL) {
		(void)fprintf(stderr, "callrouterd: unexpected argument \"%s\"\n%s", line->rest[0],
			      usage);
		status = EXIT_USAGE;
	}
	if (line->options.n_plugins_dirs == 0) {
		line->options.plugins_dir[line->options.n_plugins_dirs++] = installed;
		line->options.plugins_dir[line->options.n_plugins_dirs++] = etc;
	}
	if (line->options.profiles.n == 0 && profiles_add_usual(&line->options.profiles) < 0)
		status = EXIT_FAILURE;
	return status;
}

/*** --check and --test-source ***/

/* They refuse nothing. */
static void show_warnings(const struct config *config)
{
	char text[CONFIG_WARNING_LEN];

	for (size_t i = 0; i < config->n_warnings; i++)
		(void)fprintf(stderr, "%s\n",
			      config_warning_show(config, &config->warnings[i], text, sizeof text));
}

static int check_config(const struct command_line *line)
{
	struct catalogue catalogue;
	struct config_report report = { 0 };
	struct config *config = NULL;
	struct err err = { 0 };
	const struct config_plugins plugins = { catalogue_options, &catalogue,
						catalogue_accepts, &line->options.profiles,
						catalogue_metrics, catalogue_can_poll };
	int failed;

	catalogue_open(&catalogue, NULL, line->options.plugins_dir, line->options.n_plugins_dirs,
		       &err);
	failed = config_read(line->options.config_path, &plugins, &config, &report);
	if (failed == 0 && line->probe.source != NULL) {
		failed = probe(config, &catalogue, &line->probe);
	} else if (failed == 0) {
		show_warnings(config);
		(void)printf("%s: good: %zu server%s, %zu collector%s, %zu service%s\n",
			     line->options.config_path, config->n_servers,
			     text_s(config->n_servers), config->n_sources,
			     text_s(config->n_sources), config->n_services,
			     text_s(config->n_services));
	} else if (report.text != NULL) {
		(void)fputs(report.text, stderr);
	}
	free(report.text);
	config_free(config);
	catalogue_close(&catalogue);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A target that is polled takes a descriptor, and 1024 are soon gone. Nothing here uses select(),
 * for whose sake the soft limit is that low. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_warn("limit of open files not raised", "error=\"%s\"", err_words(errno));
}

static int run(const struct command_line *line)
{
	struct daemon daemon;
	struct err err = { 0 };
	char *report = NULL;
	/* at a terminal the mistakes come as a compiler's would; the journal wants lines of a log
	 */
	const bool is_journal = secure_getenv("JOURNAL_STREAM") != NULL;
	int failed;

	raise_descriptors();
	failed = daemon_open(&daemon, &line->options, is_journal ? NULL : &report, &err);
	if (failed == 0)
		daemon_run(&daemon);
	else if (report != NULL)
		(void)fputs(report, stderr);
	if (failed < 0)
		log_error("not started", "error=\"%s\"", err.text);
	free(report);
	daemon_close(&daemon);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Or files of ours become the standard streams, of which programs have their own opinion. */
static void open_missing_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct command_line line = {
		.options = { .config_path = DEFAULT_CONFIG,
			     .run_dir = DEFAULT_RUN_DIR,
			     .state_dir = DEFAULT_STATE_DIR },
		.level = CR_INFO,
	};
	sigset_t hup;
	int status;

	if (ranker_is_me(argc, argv))
		return ranker_main(argc, argv);
	open_missing_streams();
	/* who started us may have ignored it: nobody would know how a child has ended */
	(void)signal(SIGCHLD, SIG_DFL);
	/* a reload that is asked for while we start has to wait, not to end us: daemon_run() lets
	 * it in */
	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &hup, NULL);
	line.options.plugins_dir = calloc((size_t)argc + 2, sizeof(char *));
	if (line.options.plugins_dir == NULL)
		return EXIT_FAILURE;
	status = parse(&line, argc, argv);
	if (status < 0) {
		log_to(log_stderr, NULL, line.level);
		if (line.plugin != NULL)
			status = check_plugin(line.plugin, line.rest, line.n_rest,
					      &line.options.profiles);
		else if (line.only_check || line.probe.source != NULL)
			status = check_config(&line);
		else
			status = run(&line);
	}
	profiles_fini(&line.options.profiles);
	free(line.options.plugins_dir);
	return status;
}
