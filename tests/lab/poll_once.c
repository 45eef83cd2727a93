/*
 * poll_once.c - ask an agent or server once, the way callrouterd would, and print what comes.
 *
 *	poll_once plugins.d/snmp.so udp:127.0.0.1:161 profile=weblogic-mib community_file=c
 *
 * -n NAME: poll it as this one server; without: as a source that answers for many. -t MS: timeout,
 * preset 1000. Settings are as for lab_open(). -c COUNT: poll so often, every
 * 200 ms, and say "good" after each good one. Prints "ROW METRIC VALUE" lines ("-" without a row);
 * log lines and errors go to standard error. Status: 0 good, 1 the (last) poll failed, 2 it could
 * not be tried.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector_host.h"
#include "lab_open.h"

static const char *const why_words[] = { "?",     "timeout", "connect", "auth",
					 "reply", "absent",  "value" };

static int usage(void)
{
	fprintf(stderr, "usage: poll_once [-n SERVER] [-t MS] [-c COUNT] PLUGIN.so ENDPOINT "
			"[OPTION=VALUE]...\n");
	return 2;
}

static int show(const struct collector_host *host, int target)
{
	const struct collector_poll *poll = collector_host_last(host, target);
	const struct collector_value *value;
	size_t n;

	value = collector_host_values(host, &n);
	for (size_t i = 0; i < n; i++)
		printf("%s %s %.15g\n", value[i].has_row ? value[i].row : "-", value[i].metric,
		       value[i].value);
	if (poll->skips > 0)
		printf("skip %s: %s\n", poll->skip_row, poll->skip_text);
	if (poll->absents > 0)
		printf("absent %s: %s\n", poll->absent_row, poll->absent_text);
	if (collector_host_fault(host) != NULL)
		fprintf(stderr, "fault: %s\n", collector_host_fault(host));
	if (collector_host_logged(host, "") != NULL)
		fprintf(stderr, "log: %s\n", collector_host_logged(host, ""));
	if (poll->state == COLLECTOR_FAILED)
		fprintf(stderr, "failed (%s) after %.1f ms: %s\n", why_words[poll->why],
			(double)poll->took_ns / CH_MS, poll->text);
	return poll->state == COLLECTOR_GOOD && collector_host_fault(host) == NULL ? 0 : 1;
}

/* Open the plugin with the settings. */
static struct collector_host *open_plugin(const char *path, const char *const *settings, char *err,
					  size_t err_len)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	const struct cr_collector *collector =
		object != NULL ? dlsym(object, "cr_collector_1") : NULL;

	if (collector == NULL) {
		snprintf(err, err_len, "%s", dlerror());
		return NULL;
	}
	return lab_open(collector, "poll_once", settings, err, err_len);
}

int main(int argc, char **argv)
{
	const char *name = NULL;
	long timeout_ms = 1000, count = 0;
	char err[512];
	struct collector_host *host;
	int opt, target, status;

	while ((opt = getopt(argc, argv, "n:t:c:")) != -1)
		switch (opt) {
		case 'n':
			name = optarg;
			break;
		case 'c':
			count = strtol(optarg, NULL, 10);
			break;
		case 't':
			timeout_ms = strtol(optarg, NULL, 10);
			break;
		default:
			return usage();
		}
	if (argc - optind < 2 || timeout_ms <= 0)
		return usage();
	host = open_plugin(argv[optind], (const char *const *)argv + optind + 2, err, sizeof err);
	if (host == NULL) {
		fprintf(stderr, "%s\n", err);
		return 2;
	}
	target = collector_host_add(host, name != NULL ? name : "poll_once", argv[optind + 1],
				    name == NULL);
	do {
		collector_host_poll(host, timeout_ms * CH_MS, (timeout_ms + 2000) * CH_MS);
		status = show(host, target);
		if (status == 0 && count > 0)
			puts("good");
		fflush(stdout);
		if (count > 1)
			poll(NULL, 0, 200);
	} while (--count > 0);
	collector_host_close(host);
	return status;
}
