/* bare.c - the clock and the account of the bare loops. */
#include "bare.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "responder.h"

#define MS INT64_C(1000000)

static int64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

bool bare_read(struct bare *bare, int argc, char **argv)
{
	static const struct option known[] = { { "port", required_argument, NULL, 'p' },
					       { "targets", required_argument, NULL, 'n' },
					       { "first", required_argument, NULL, 'f' },
					       { "share", required_argument, NULL, 's' },
					       { "interval", required_argument, NULL, 'i' },
					       { "warm", required_argument, NULL, 'w' },
					       { "measure", required_argument, NULL, 'm' },
					       { NULL, 0, NULL, 0 } };
	struct rlimit limit;
	int option;

	*bare = (struct bare){ .interval_ns = 2000 * MS,
			       .warm_ns = 4000 * MS,
			       .measure_ns = 10000 * MS };
	while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		const int64_t value = optarg != NULL ? strtoll(optarg, NULL, 10) : 0;

		switch (option) {
		case 'p':
			bare->port = (uint16_t)value;
			break;
		case 'n':
			bare->n = (uint32_t)value;
			break;
		case 'f':
			bare->first = (uint32_t)value;
			break;
		case 's':
			bare->share = (uint32_t)value;
			break;
		case 'i':
			bare->interval_ns = value * MS;
			break;
		case 'w':
			bare->warm_ns = value * MS;
			break;
		case 'm':
			bare->measure_ns = value * MS;
			break;
		default:
			break;
		}
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	bare->began_ns = responder_now_ns();
	if (bare->port > 0 && bare->n > 0 && bare->interval_ns > 0 && optind == argc)
		return true;
	fprintf(stderr,
		"usage: %s --port P --targets N [--first I] [--share N] [--interval MS] [--warm "
		"MS] "
		"[--measure MS]\n",
		argv[0]);
	return false;
}

static int64_t due_ns(const struct bare *bare)
{
	return bare->began_ns +
	       (int64_t)((double)bare->started * (double)bare->interval_ns / (double)bare->n);
}

int64_t bare_next(struct bare *bare)
{
	if (due_ns(bare) > responder_now_ns())
		return -1;
	return (int64_t)(bare->started++ % bare->n);
}

int bare_wait_ms(const struct bare *bare)
{
	const int64_t left_ns = due_ns(bare) - responder_now_ns();

	return left_ns <= 0 ? 0 : (int)(left_ns / MS) + 1;
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long kib = 0;

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (file != NULL)
		fclose(file);
	return kib;
}

bool bare_goes_on(struct bare *bare)
{
	const int64_t now_ns = responder_now_ns();
	uint64_t answered;

	if (!bare->is_measuring && now_ns - bare->began_ns >= bare->warm_ns) {
		bare->is_measuring = true;
		bare->cpu_ns = cpu_ns();
		bare->answered_before = bare->answered;
	}
	if (!bare->is_measuring || now_ns - bare->began_ns < bare->warm_ns + bare->measure_ns)
		return true;
	answered = bare->answered - bare->answered_before;
	printf("{\"polls\":%" PRIu64 ",\"cpu_us_per_poll\":%.2f,\"resident_kib\":%ld}\n", answered,
	       answered > 0 ? (double)(cpu_ns() - bare->cpu_ns) / 1e3 / (double)answered : 0.0,
	       resident_kib());
	return false;
}
