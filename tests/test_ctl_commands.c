/* test_ctl_commands.c - the commands of callrouterctl: what they ask, what they say, how they exit.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "ctl.h"

/* A daemon that keeps the request it gets and answers what it was told to. */
static char dir[64], *request;
static const char *answer; /* members; NULL: fail */
static struct event_base *base;
static struct control *control;
static struct event *stop;
static int stop_pipe[2];
static pthread_t thread;

static json_t *run(void *arg, const json_t *asked, struct control_request *later, struct err *err)
{
	(void)arg;
	(void)later;
	free(request);
	request = json_dumps(asked, JSON_COMPACT);
	if (answer != NULL)
		return json_loads(answer, 0, NULL);
	(void)err_set(err, -ENOENT, "there is no server \"ms9\":\033 ask servers");
	return NULL;
}

static const struct control_command commands[] = {
	{ "status", false, run },  { "servers", false, run }, { "plugins", false, run },
	{ "rollback", true, run }, { "adopt", true, run },    { "reload", true, run },
	{ "drain", true, run },    { "undrain", true, run },  { "weight", true, run },
	{ "restore", true, run },  { NULL, false, NULL },
};

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)event_base_loopbreak(arg);
}

static void *serve(void *arg)
{
	(void)event_base_dispatch(arg);
	return NULL;
}

static void set_up(void)
{
	struct err err = { 0 };

	(void)snprintf(dir, sizeof dir, "/tmp/ctl.XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	base = event_base_new();
	cr_assert_eq(control_open(base, dir, (gid_t)-1, commands, NULL, &control, &err), 0);
	cr_assert_eq(pipe(stop_pipe), 0);
	stop = event_new(base, stop_pipe[0], EV_READ, on_stop, base);
	cr_assert_eq(event_add(stop, NULL), 0);
	request = NULL;
	answer = "{}";
	cr_redirect_stdout();
	cr_redirect_stderr();
	cr_assert_eq(pthread_create(&thread, NULL, serve, base), 0);
}

static void tear_down(void)
{
	cr_assert_eq(write(stop_pipe[1], "x", 1), 1);
	(void)pthread_join(thread, NULL);
	event_free(stop);
	control_close(control);
	event_base_free(base);
	free(request);
	(void)close(stop_pipe[0]);
	(void)close(stop_pipe[1]);
	cr_assert_eq(rmdir(dir), 0);
}

TestSuite(ctl_commands, .init = set_up, .fini = tear_down, .timeout = 30);

/* Run a command with at most three arguments, in this run directory. */
static int call_in(char *run_dir, int (*command)(struct ctl *, int, char **), const char *name,
		   const char *const argument[3])
{
	const struct ctl_command entry = { .name = name,
					   .arguments = "ARGUMENTS",
					   .summary = "Do it",
					   .help = "",
					   .run = command };
	struct ctl ctl = { .run_dir = run_dir, .command = &entry };
	char words[4][64] = { "callrouterctl" }, *argv[5] = { words[0] };
	int argc = 1, status;

	for (; argc < 4 && argument[argc - 1] != NULL; argc++) {
		(void)snprintf(words[argc], sizeof words[argc], "%s", argument[argc - 1]);
		argv[argc] = words[argc];
	}
	optind = 0;
	status = command(&ctl, argc, argv);
	(void)fflush(stdout);
	(void)fflush(stderr);
	return status;
}

#define CALL(command_, name_, ...)                                                                 \
	call_in(dir, command_, name_, (const char *const[3]){ __VA_ARGS__ })

Test(ctl_commands, drain_asks_and_says_what_it_means)
{
	cr_expect_eq(CALL(ctl_drain, "drain", "ms1"), CTL_GOOD);
	cr_expect_str_eq(request, "{\"command\":\"drain\",\"server\":\"ms1\"}");
	cr_expect_stdout_eq_str(
		"ms1 is drained: it gets no new calls until callrouterctl undrain\n");
}

Test(ctl_commands, undrain_asks_and_says_what_it_means)
{
	cr_expect_eq(CALL(ctl_undrain, "undrain", "ms1"), CTL_GOOD);
	cr_expect_str_eq(request, "{\"command\":\"undrain\",\"server\":\"ms1\"}");
	cr_expect_stdout_eq_str("ms1 gets calls again\n");
}

Test(ctl_commands, restore_says_what_the_server_was)
{
	answer = "{\"server\":\"ms1\",\"was\":\"ejected\",\"drained\":false}";
	cr_expect_eq(CALL(ctl_restore, "restore", "ms1"), CTL_GOOD);
	cr_expect_str_eq(request, "{\"command\":\"restore\",\"server\":\"ms1\"}");
	cr_expect_stdout_eq_str("ms1 gets calls again (it was ejected)\n");
}

Test(ctl_commands, restore_says_that_a_drained_server_gets_no_calls_yet)
{
	answer = "{\"server\":\"ms1\",\"was\":\"down\",\"drained\":true}";
	cr_expect_eq(CALL(ctl_restore, "restore", "ms1"), CTL_GOOD);
	cr_expect_stdout_eq_str("ms1 is well (it was down), but drained: callrouterctl undrain "
				"gives it calls again\n");
}

Test(ctl_commands, weight_asks_with_a_number)
{
	cr_expect_eq(CALL(ctl_weight, "weight", "ms1", "0"), CTL_GOOD);
	cr_expect_str_eq(request, "{\"command\":\"weight\",\"server\":\"ms1\",\"weight\":0}");
	cr_expect_stdout_eq_str("ms1 has weight 0 now: it gets no new calls\n");
}

Test(ctl_commands, weight_default_takes_the_operators_weight_back)
{
	cr_expect_eq(CALL(ctl_weight, "weight", "ms1", "default"), CTL_GOOD);
	cr_expect_str_eq(request, "{\"command\":\"weight\",\"server\":\"ms1\",\"weight\":null}");
	cr_expect_stdout_eq_str("ms1 has the configuration's weight again\n");
}

Test(ctl_commands, weight_refuses_what_is_no_weight)
{
	cr_expect_eq(CALL(ctl_weight, "weight", "ms1", "101"), CTL_USAGE);
	cr_expect_null(request);
	cr_expect_stderr_eq_str("callrouterctl: \"101\" is no weight: 0 .. 100, or default\n"
				"usage: callrouterctl weight ARGUMENTS\n");
}

Test(ctl_commands, rollback_says_what_is_in_use_now)
{
	answer = "{\"plugin\":\"heap_free\",\"generation\":6,\"version\":\"1.1\"}";
	cr_expect_eq(CALL(ctl_rollback, "rollback", "heap_free"), CTL_GOOD);
	cr_expect_str_eq(request, "{\"command\":\"rollback\",\"plugin\":\"heap_free\"}");
	cr_expect_stdout_eq_str("heap_free 1.1 (generation 6) is in use now\n");
}

Test(ctl_commands, reload_prints_the_document_if_asked)
{
	answer = "{\"services\":2}";
	cr_expect_eq(CALL(ctl_reload, "reload", "--json"), CTL_GOOD);
	cr_expect_str_eq(request, "{\"command\":\"reload\"}");
	cr_expect_stdout_eq_str("{\n  \"services\": 2\n}\n");
}

Test(ctl_commands, adopt_sends_a_path_that_the_daemon_can_find)
{
	cr_expect_eq(CALL(ctl_adopt, "adopt", "--force", "/somewhere/a.so"), CTL_GOOD);
	cr_expect_str_eq(request,
			 "{\"command\":\"adopt\",\"file\":\"/somewhere/a.so\",\"force\":true}");
	/* Not here, so it is for the daemon to look in plugins.d. */
	cr_expect_eq(CALL(ctl_adopt, "adopt", "nowhere.so"), CTL_GOOD);
	cr_expect_str_eq(request,
			 "{\"command\":\"adopt\",\"file\":\"nowhere.so\",\"force\":false}");
	cr_assert_eq(chdir("/usr"), 0);
	cr_expect_eq(CALL(ctl_adopt, "adopt", "lib/a.so"), CTL_GOOD);
	cr_expect_str_eq(request,
			 "{\"command\":\"adopt\",\"file\":\"/usr/lib/a.so\",\"force\":false}");
}

Test(ctl_commands, a_refusal_is_said_and_exits_with_1)
{
	answer = NULL;
	cr_expect_eq(CALL(ctl_drain, "drain", "ms9"), CTL_REFUSED);
	cr_expect_stderr_eq_str("callrouterctl: there is no server \"ms9\":? ask servers\n");
}

Test(ctl_commands, no_daemon_is_said_and_exits_with_2)
{
	char nowhere[] = "/nowhere";

	cr_expect_eq(call_in(nowhere, ctl_reload, "reload", (const char *const[3]){ NULL }),
		     CTL_USAGE);
	cr_expect_stderr_eq_str(
		"callrouterctl: no callrouterd serves /nowhere: start it (systemctl "
		"start callrouterd, or callrouterd -c FILE --run-dir DIR), or name its "
		"run directory with --run-dir DIR\n");
}

Test(ctl_commands, missing_arguments_exit_with_2)
{
	cr_expect_eq(CALL(ctl_drain, "drain", NULL), CTL_USAGE);
	cr_expect_stderr_eq_str("callrouterctl: drain: an argument is missing\n"
				"usage: callrouterctl drain ARGUMENTS\n");
}

Test(ctl_commands, arguments_too_many_exit_with_2)
{
	cr_expect_eq(CALL(ctl_reload, "reload", "now"), CTL_USAGE);
	cr_expect_stderr_eq_str("callrouterctl: reload: too many arguments\n"
				"usage: callrouterctl reload ARGUMENTS\n");
}

Test(ctl_commands, an_unknown_option_exits_with_2)
{
	cr_expect_eq(CALL(ctl_reload, "reload", "--now"), CTL_USAGE);
	cr_expect_stderr_eq_str("callrouterctl: unrecognized option '--now'\n"
				"callrouterctl reload --help shows what there is\n");
}

Test(ctl_commands, help_is_shown_and_is_good)
{
	cr_expect_eq(CALL(ctl_reload, "reload", "--help"), CTL_GOOD);
	cr_expect_null(request);
	cr_expect_stdout_eq_str("usage: callrouterctl reload ARGUMENTS\n\nDo it.\n\n"
				"  --run-dir DIR   callrouterd's run directory (/run/callrouter)\n"
				"  --help          this text\n");
}

Test(ctl_commands, status_asks_for_one_service)
{
	answer = "{\"cluster\":\"test\",\"daemon\":{\"pid\":7,\"uptime_s\":1,\"version\":\"1\"},"
		 "\"services\":[]}";
	cr_expect_eq(CALL(ctl_status, "status", "orders"), CTL_GOOD);
	cr_expect_str_eq(request, "{\"command\":\"status\",\"service\":\"orders\"}");
	cr_expect_stdout_eq_str("test   callrouterd 1, up 1.0 s, pid 7\n");
}

Test(ctl_commands, status_refuses_an_interval_that_is_none)
{
	cr_expect_eq(CALL(ctl_status, "status", "--interval", "5ms"), CTL_USAGE);
	cr_expect_stderr_eq_str("callrouterctl: --interval 5ms: a time from 100ms on, such as 2s\n"
				"usage: callrouterctl status ARGUMENTS\n");
}

Test(ctl_commands, plugins_shows_generations_and_processes)
{
	answer = "{\"plugins\":[{\"plugin\":\"heap_free\",\"kind\":\"router\",\"file\":"
		 "\"/p/heap_free.so\",\"used_by\":[\"orders router\",\"shop "
		 "router\"],\"generations\":["
		 "{\"generation\":7,\"version\":\"1.2\",\"state\":\"current\",\"note\":\"\"},"
		 "{\"generation\":null,\"version\":null,\"state\":\"refused\",\"note\":\"not "
		 "ELF\"}]}],"
		 "\"processes\":[{\"pid\":12,\"program\":\"nginx\",\"generation\":99,\"lacks\":"
		 "{\"generation\":7,\"error\":\"libm is "
		 "missing\"}},{\"pid\":13,\"program\":\"nginx\","
		 "\"generation\":99,\"lacks\":null}]}";
	cr_expect_eq(CALL(ctl_plugins, "plugins", NULL), CTL_GOOD);
	cr_expect_stdout_eq_str(
		"PLUGIN     KIND    GENERATION  VERSION  STATE    USED BY                     FILE"
		"             NOTE\n"
		"heap_free  router           7  1.2      current  orders router, shop router  "
		"/p/heap_free.so  \n"
		"                            -  -        refused                                   "
		" "
		"           not ELF\n"
		"\n"
		"data planes attached:\n"
		"PID  PROGRAM  STATE SEEN  LACKS\n"
		" 12  nginx            99  generation 7: libm is missing\n"
		" 13  nginx            99  -\n");
}

Test(ctl_commands, servers_shows_servers_and_sources)
{
	answer = "{\"servers\":[{\"server\":\"ms1\",\"address\":\"h:1\",\"role\":\"managed\","
		 "\"state\":"
		 "\"up\",\"weight\":5,\"weight_set\":true,\"drained\":true,\"skipped\":null,"
		 "\"inflight\":4,\"calls\":100,\"failures\":2,\"polls\":9,\"poll_failures\":1,"
		 "\"error\":"
		 "\"wls: "
		 "timeout\",\"metrics\":{\"jvm_heap_free_bytes\":{\"value\":1048576,\"age_s\":11,"
		 "\"fresh\":false}},\"rejected\":{}}],\"sources\":[{\"source\":\"wls\",\"plugin\":"
		 "\"snmp\",\"targets\":3,\"in_flight\":1,\"rejected\":4,"
		 "\"latency_worst_s\":0.25,\"good_age_s\":1,\"polls\":9,\"good\":7,\"failed\":{"
		 "\"timeout\":"
		 "1,\"auth\":1},\"interval_s\":2,\"latency_s\":0.0125,\"error\":\"no answer\","
		 "\"error_age_s\":3}]}";
	cr_expect_eq(CALL(ctl_servers, "servers", NULL), CTL_GOOD);
	cr_expect_stdout_eq_str("SERVER  ROLE     STATE     WEIGHT  INFLIGHT  CALLS  FAILURES  "
				"HEAP FREE           AGE"
				"  POLLS  FAILED  ADDRESS  LAST ERROR\n"
				"ms1     managed  drained  5 (set)         4    100         2    "
				"1.0 MiB  11.0 s stale"
				"      9       1  h:1      wls: timeout\n"
				"\n"
				"SOURCE  PLUGIN  TARGETS  EVERY  POLLS  GOOD  FAILED             "
				"REJECTED  UNDER WAY  ANSWERS IN   WORST  LAST GOOD  LAST ERROR\n"
				"wls     snmp          3  2.0 s      9     7  timeout 1, auth 1  "
				"       4          1       13 ms  250 ms      1.0 s  3.0 s ago: "
				"no answer\n");
}

Test(ctl_commands, servers_shows_what_a_check_says_of_a_server_that_is_down)
{
	answer = "{\"servers\":[{\"server\":\"ms1\",\"role\":\"managed\",\"state\":\"down\","
		 "\"error\":null,\"check\":{\"down\":true,\"error\":\"it answered 503\"}},"
		 "{\"server\":\"ms2\",\"role\":\"managed\",\"state\":\"up\",\"error\":null,"
		 "\"check\":{\"down\":false,\"error\":\"no answer in time\"}}],\"sources\":[]}";
	cr_expect_eq(CALL(ctl_servers, "servers", NULL), CTL_GOOD);
	cr_expect_stdout_eq_str(
		"SERVER  ROLE     STATE  WEIGHT  INFLIGHT  CALLS  FAILURES  HEAP FREE  AGE  POLLS  "
		"FAILED  ADDRESS  LAST ERROR\n"
		"ms1     managed  down        0         0      0         0          -    -      0  "
		"     0  -        it answered 503\n"
		"ms2     managed  up          0         0      0         0          -    -      0  "
		"     0  -        \n"
		"\n"
		"no collectors are configured: routers see no metrics\n");
}

Test(ctl_commands, servers_of_one_tells_its_health_and_what_its_check_says)
{
	answer = "{\"servers\":[{\"server\":\"ms1\",\"address\":\"h:1\",\"role\":\"managed\","
		 "\"state\":\"ejected\",\"state_for_s\":129.5,\"weight\":1,\"calls\":20,"
		 "\"failures\":12,\"inflight\":3,\"check\":{\"what\":\"GET http://h:1/x\","
		 "\"down\":false,\"passed_in_row\":0,\"failed_in_row\":2,"
		 "\"error\":\"it answered 503\"}}]}";
	cr_expect_eq(CALL(ctl_servers, "servers", "ms1"), CTL_GOOD);
	answer = "{\"servers\":[{\"server\":\"ms1\",\"address\":\"h:1\",\"role\":\"managed\","
		 "\"state\":\"up\",\"slow_start\":0.4,\"weight\":1,\"check\":{"
		 "\"what\":\"connect to h:1\",\"down\":false,\"passed_in_row\":7,"
		 "\"failed_in_row\":0,\"error\":null}}]}";
	cr_expect_eq(CALL(ctl_servers, "servers", "ms1"), CTL_GOOD);
	answer = "{\"servers\":[{\"server\":\"ms1\",\"address\":\"h:1\",\"role\":\"managed\","
		 "\"state\":\"drained\",\"drained\":true,\"weight\":1,\"check\":null}]}";
	cr_expect_eq(CALL(ctl_servers, "servers", "ms1"), CTL_GOOD);
	cr_expect_stdout_eq_str(
		"ms1  h:1  managed, ejected 2m10s, weight 1\n"
		"calls 20, of which 12 failed; 3 in progress\n"
		"check GET http://h:1/x: not down, failed 2 in a row: it answered 503\n"
		"polls 0, of which 0 failed\n"
		"ms1  h:1  managed, up 40 %, weight 1\n"
		"calls 0, of which 0 failed; 0 in progress\n"
		"check connect to h:1: not down, passed 7 in a row\n"
		"polls 0, of which 0 failed\n"
		"ms1  h:1  managed, drained, weight 1\n"
		"calls 0, of which 0 failed; 0 in progress\n"
		"polls 0, of which 0 failed\n");
}

static const char one_server[] =
	"{\"servers\":[{\"server\":\"ms1\",\"address\":\"h:1\",\"role\":\"managed\",\"state\":"
	"\"up\","
	"\"weight\":5,\"weight_set\":true,\"drained\":false,\"skipped\":null,\"polls\":9,"
	"\"poll_failures\":1,\"failing\":[{\"error\":\"wls: timeout: none in 500 "
	"ms\\u001b\",\"for_s\":130},"
	"{\"error\":\"jvm: connect: refused\",\"for_s\":3}],\"metrics\":{\"jvm_heap_free_bytes\":{"
	"\"value\":1048576,\"age_s\":11,\"fresh\":false,\"derived\":\"size - "
	"used\"},\"busy_threads\":{\"value\":3,"
	"\"age_s\":1,\"fresh\":true}},\"absent\":[\"jvm_heap_max_bytes\"],\"inconsistent\":["
	"\"used > size\"],\"rejected_by\":[{\"source\":\"wls\",\"counts\":{\"negative\":2,"
	"\"wrapped\":1},\"text\":\"jvm_heap_max_bytes: 4294967295\\u001b\",\"age_s\":3}]}],"
	"\"sources\":[]}";

Test(ctl_commands, servers_of_one_shows_every_metric_and_what_was_not_taken)
{
	answer = one_server;
	cr_expect_eq(CALL(ctl_servers, "servers", "ms1"), CTL_GOOD);
	cr_expect_stdout_eq_str("ms1  h:1  managed, up, weight 5 (set)\n"
				"calls 0, of which 0 failed; 0 in progress\n"
				"polls 9, of which 1 failed\n"
				"fails for 2.2 min: wls: timeout: none in 500 ms?\n"
				"fails for 3.0 s: jvm: connect: refused\n"
				"inconsistent: used > size\n"
				"not taken from wls: negative 2, wrapped 1; the last, 3.0 s ago: "
				"jvm_heap_max_bytes: 4294967295?\n"
				"\n"
				"METRIC                 VALUE     AGE  STATE   HOW\n"
				"jvm_heap_free_bytes  1.0 MiB  11.0 s  stale   size - used\n"
				"busy_threads               3   1.0 s  fresh   measured\n"
				"jvm_heap_max_bytes         -       -  absent  -\n");
}

Test(ctl_commands, servers_of_an_unknown_one_says_which_was_meant)
{
	answer = one_server;
	cr_expect_eq(CALL(ctl_servers, "servers", "msl"), CTL_REFUSED);
	cr_expect_stderr_eq_str("callrouterctl: no server \"msl\"; did you mean \"ms1\"?\n");
}

Test(ctl_commands, source_and_profile_say_how_they_are_written)
{
	cr_expect_eq(CALL(ctl_source, "source", "tst", "x"), CTL_USAGE);
	cr_expect_eq(CALL(ctl_source, "source", "test", NULL), CTL_USAGE);
	cr_expect_eq(CALL(ctl_profile, "profile", "shw", "x"), CTL_USAGE);
	cr_expect_eq(CALL(ctl_profile, "profile", "show", NULL), CTL_USAGE);
	cr_expect_eq(CALL(ctl_profile, "profile", "show", "no-such-profile-at-all"), CTL_REFUSED);
}

Test(ctl_commands, check_refuses_options_for_a_configuration)
{
	cr_expect_eq(CALL(ctl_check, "check", "a.yaml", "x=1"), CTL_USAGE);
	cr_expect_stderr_eq_str("callrouterctl: options (NAME=VALUE) go with a plugin, FILE.so\n"
				"usage: callrouterctl check ARGUMENTS\n");
}
