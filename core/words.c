/* words.c - the words for reasons, states, deciders and metrics: one table each. */
#include "words.h"

#include <stddef.h>

static const struct {
	const char *word, *help;
} reasons[CR_REASON_COUNT] = {
	[CR_REASON_NONE] = { "none", "the router's order is used" },
	[CR_REASON_NO_ROUTER] = { "no_router", "the service has no router, only a default" },
	[CR_REASON_ROUTER_DEFAULT] = { "router_default", "the router left it to the default" },
	[CR_REASON_ROUTER_REFUSED] = { "router_refused", "the router refused the call" },
	[CR_REASON_STALE] = { "stale", "a metric that the router needs has no fresh value" },
	[CR_REASON_RANK_LATE] = { "rank_late", "the router's rank() was past its deadline" },
	[CR_REASON_RANK_ERROR] = { "rank_error", "the router's rank() returned an error" },
	[CR_REASON_RANK_BAD_ORDER] = { "rank_bad_order", "the router's rank() returned an unknown "
							 "or repeated server" },
	[CR_REASON_ROUTE_ERROR] = { "route_error", "the router's route() returned an error" },
	[CR_REASON_UNKNOWN_SERVER] = { "unknown_server", "the router's route() returned a server "
							 "that may not be contacted" },
	[CR_REASON_REPEATED_SERVER] = { "repeated_server",
					"the router's route() returned a server twice" },
	[CR_REASON_QUARANTINED] = { "quarantined", "the router crashed and is not asked again" },
	[CR_REASON_NO_SERVER] = { "no_server", "no server of the service may be contacted" },
	[CR_REASON_NO_SERVICE] = { "no_service", "callrouterd publishes no such service" },
	[CR_REASON_NO_SNAPSHOT] = { "no_snapshot", "callrouterd has not published anything yet" },
	[CR_REASON_NOT_LOADED] = { "not_loaded", "the router could not be loaded: callrouterctl "
						 "plugins says why" },
};

const char *words_reason(enum cr_reason reason)
{
	return (unsigned)reason < CR_REASON_COUNT ? reasons[reason].word : "unknown";
}

const char *words_reason_help(enum cr_reason reason)
{
	return (unsigned)reason < CR_REASON_COUNT ? reasons[reason].help : "unknown";
}

const char *words_decided(enum cr_decided decided)
{
	switch (decided) {
	case CR_NOBODY:
		return "nobody";
	case CR_ROUTER_DECIDED:
		return "router";
	case CR_DEFAULT_DECIDED:
		return "default";
	case CR_REFUSED:
		return "refused";
	case CR_DECIDED_COUNT:
		break;
	}
	return "unknown";
}

const char *words_state(enum cr_state state)
{
	switch (state) {
	case CR_UP:
		return "up";
	case CR_TRIAL:
		return "trial";
	case CR_ASIDE:
		return "aside";
	case CR_EJECTED:
		return "ejected";
	case CR_DRAINED:
		return "drained";
	case CR_DOWN:
		return "down";
	}
	return "unknown";
}

const char *words_why(enum cr_why why)
{
	switch (why) {
	case CR_TIMEOUT:
		return "timeout";
	case CR_CONNECT:
		return "connect";
	case CR_AUTH:
		return "auth";
	case CR_REPLY:
		return "reply";
	case CR_ABSENT:
		return "absent";
	case CR_VALUE:
		return "value";
	}
	return "unknown";
}

/* The one list of metrics; the two tables below are made from it, so that they cannot differ. */
/* clang-format off */
#define METRICS(entry) \
	entry("jvm_heap_free_bytes", "unused part of the heap that the JVM has now") \
	entry("jvm_heap_size_bytes", "heap that the JVM has now (committed)") \
	entry("jvm_heap_max_bytes", "heap that the JVM may grow to (-Xmx)") \
	entry("jvm_heap_used_bytes", "heap in use, garbage included") \
	entry("jvm_heap_available_bytes", "maximum heap minus heap in use") \
	entry("jvm_heap_free_after_gc_bytes", "maximum heap minus what the last collection kept") \
	entry("jvm_heap_used_after_gc_bytes", "heap that the last collection kept") \
	entry("jvm_heap_free_ratio", "available heap as a share of the maximum, 0 .. 1") \
	entry("busy_threads", "request threads at work") \
	entry("max_threads", "request threads that there can be") \
	entry("busy_threads_ratio", "busy threads as a share of the maximum, 0 .. 1") \
	entry("hogging_threads", "request threads that have been at one request for long") \
	entry("requests_total", "requests served since the server's start") \
	entry("request_errors_total", "requests that failed since the server's start") \
	entry("sessions", "open HTTP sessions") \
	entry("running", "1 if the server says that it is running, 0 if it is in another state") \
	entry("host_memory_free_bytes", "free physical memory of the server's host") \
	entry("cpu_load_ratio", "CPU use of the server's host, 0 .. 1")
#define ROW(name, help) { name, help },
#define NAME(name, help) name,
/* clang-format on */

const struct word_metric words_metrics[] = { METRICS(ROW){ NULL, NULL } };
const char *const words_metric_names[] = { METRICS(NAME) NULL };
