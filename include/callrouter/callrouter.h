/*
 * callrouter/callrouter.h - place calls: what a data plane (a proxy, a client) needs.
 *
 *	struct cr *cr;
 *	struct cr_thread *thread;
 *	struct cr_ticket ticket;
 *	const struct cr_server *server;
 *	enum cr_outcome outcome;
 *	int orders;
 *
 *	cr_attach(&(struct cr_config){ .start_thread = true }, &cr, err, sizeof err);
 *	thread = cr_thread_new(cr);
 *	orders = cr_service(cr, "orders");
 *	...
 *	cr_route(thread, orders, &call, &ticket);
 *	for (server = cr_first(&ticket); server != NULL; server = cr_next(thread, &ticket, outcome))
 *		if ((outcome = try_call(server)) == CR_OK)
 *			break;
 *	cr_end(thread, &ticket, outcome, latency_ns);
 *
 * Threads: [set-up] one thread at a time; [call] any number of threads, each with a cr_thread of
 * its own; [any] any thread. Nothing here may be called from a signal handler. The library is never
 * unloaded. A forked child starts with the last view it inherited and counts nothing until it calls
 * cr_refresh(), which also starts the library's thread again; calls of its parent are not its own.
 */
#ifndef CALLROUTER_CALLROUTER_H
#define CALLROUTER_CALLROUTER_H

#include <callrouter/plugin.h>
#include <callrouter/words.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CR_PUBLIC __attribute__((visibility("default")))

#define CR_LIST_MAX 16 /* servers in a ticket: more than anybody tries for one call */

struct cr;        /* one attachment to a run directory */
struct cr_thread; /* what one calling thread needs */
struct image_health;

/** A server that may be contacted. Lives until cr_detach(). */
struct cr_server {
	const char *name;    /* as in the configuration */
	const char *address; /* "host:port", as in the configuration */
	const char *host;    /* without the brackets of an IPv6 address */
	const char *port;
	uint32_t id; /* the same server keeps its id */
};

struct cr_config {
	const char *run_dir; /* NULL: /run/callrouter */
	const char *program; /* shown by callrouterctl; NULL: the process's name */
	bool start_thread;   /* call cr_refresh() every 10 ms from a thread of the library's own,
				signals blocked */
	/** Messages (a router that cannot be loaded, a file ignored). NULL: none. [any] */
	void (*log)(void *arg, enum cr_level level, const char *line);
	void *log_arg;
};

/** One call in progress: the caller's memory, free to move between threads; cr_route() fills all of
 * it. */
struct cr_ticket {
	uint32_t n;              /* servers listed */
	enum cr_decided decided; /* who decided */
	enum cr_reason reason;   /* why, where it was not the router */
	uint64_t generation;     /* of the view that was used */
	/* In the order in which they are to be contacted. */
	const struct cr_server *server[CR_LIST_MAX];
	/* Private from here on. */
	uint32_t line[CR_LIST_MAX], incarnation[CR_LIST_MAX];
	uint32_t at;    /* which one is contacted; n: the list is at its end */
	uint32_t epoch; /* of the counters that line[] belongs to; 0: counted nowhere */
	int64_t cost_bytes;
	bool is_held;    /* it is reserved at at */
	bool is_clocked; /* its time is cr_call_now()'s: when a contact ends may be asked, too */
	/* Of the servers' health: what the contact saw and claimed, when, and by which rules. */
	uint32_t let_in; /* bit i: listed although it is shut */
	uint64_t shut, was;
	int64_t contact_ns;
	const struct image_health *rules; /* until cr_detach(); NULL: it reports nothing */
};

/**
 * Attach to a run directory. Succeeds without a daemon too: cr_refresh() then finds it when it
 * comes. config: borrowed for the call, but for log_arg; *out: freed by cr_detach(); err: one line
 * on failure, or NULL. Returns 0, or a negative errno value. [set-up]
 */
CR_PUBLIC int cr_attach(const struct cr_config *config, struct cr **out, char *err, size_t err_len);

/** Detach: ends the library's thread, gives back what is in progress. No other call may be running.
 * [set-up] */
CR_PUBLIC void cr_detach(struct cr *cr);

/**
 * Take over the newest published state, answer the daemon's requests, load and unload routers.
 * Wanted every 20 ms or less, by one thread at a time; never waits for anybody. Makes system calls:
 * not for the call path. Returns 1 if there was something new, 0 if not, or a negative errno value
 * (the old state stays in use). [set-up]
 */
CR_PUBLIC int cr_refresh(struct cr *cr);

/**
 * The number under which cr_route() knows a service; stays valid until cr_detach(), also if the
 * service comes or goes later. Takes a lock: not for the call path. Returns >= 0, -ENAMETOOLONG or
 * -ENOSPC (4096 different names). [any]
 */
CR_PUBLIC int cr_service(struct cr *cr, const char *name);

/** The records of one calling thread, or NULL (no memory). Freed by cr_thread_free(). [any] */
CR_PUBLIC struct cr_thread *cr_thread_new(struct cr *cr);
CR_PUBLIC void cr_thread_free(struct cr_thread *thread);

/**
 * Decide where a call goes and count it as in progress at the first server. No lock, no allocation,
 * no system call. The list leaves out servers that are shut at the moment (refused connections,
 * failures in a row, an active check), unless too few would be left; a server whose time is over is
 * in it for the one call that tries it. service: from cr_service(); call: now_ns and random must be
 * given, cr_call_now() helps; so must primary and secondary, CR_NONE or by cr_call_session();
 * ticket: overwritten. Every call that was routed must be ended with
 * cr_end(). Returns the number of servers in ticket, 0 with ticket->decided CR_REFUSED or
 * CR_NOBODY. [call]
 */
CR_PUBLIC int cr_route(struct cr_thread *thread, int service, const struct cr_call *call,
		       struct cr_ticket *ticket);

/**
 * The same decision, with the same first server, but counted nowhere, reserving and claiming
 * nothing; must not be ended. Routers with shared words get a copy of them, which only dry calls of
 * this thread change, until the next published state. [call]
 */
CR_PUBLIC int cr_route_dry(struct cr_thread *thread, int service, const struct cr_call *call,
			   struct cr_ticket *ticket);

/** The server to contact first, or NULL. [any] */
static inline const struct cr_server *cr_first(const struct cr_ticket *ticket)
{
	return ticket->n > 0 ? ticket->server[0] : NULL;
}

/**
 * The current server did not serve the call: report how it failed and move the reservation to the
 * next; servers that somebody else is trying, or that were shut meanwhile while others are left,
 * are passed over. The report may shut the server for all processes, at once. Returns the next, or
 * NULL when the list is at its end (cr_end() is still due). [call]
 */
CR_PUBLIC const struct cr_server *cr_next(struct cr_thread *thread, struct cr_ticket *ticket,
					  enum cr_outcome outcome);

/**
 * The call is over: report how and give the reservation back. The report may shut the server for
 * all processes, or bring it back. latency_ns: from contacting the current server to its answer,
 * < 0 or more than a day: unknown. The time of a report, here and in cr_next(), is the contact's
 * beginning and its latency; where that is unknown, now, if cr_call_now() of the same thread gave
 * the call its time; else that of the newest call that thread has routed, dry ones apart. Must come
 * once for every cr_route(), a second one has no effect. [call]
 */
CR_PUBLIC void cr_end(struct cr_thread *thread, struct cr_ticket *ticket, enum cr_outcome outcome,
		      int64_t latency_ns);

/** Fill call's now_ns from CLOCK_MONOTONIC_COARSE and random from the thread's own draw. [call] */
CR_PUBLIC void cr_call_now(struct cr_thread *thread, struct cr_call *call);

/*** Sessions: which calls belong together, and where they live ***/

/** What a session's value looks like. What is not of that form is an id and nothing else. */
enum cr_session_format {
	CR_SESSION_ANY = 0,  /* with a '!' as WebLogic's, else with a '.' as Tomcat's, else plain */
	CR_SESSION_WEBLOGIC, /* id!primary!secondary, what follows is left out; "NONE": nobody */
	CR_SESSION_TOMCAT,   /* id.route: from the first dot on, a route may have dots */
	CR_SESSION_PLAIN,    /* an id */
	CR_SESSION_FIXED,    /* the server's id has a fixed place in the value: offset, length */
};

/** Where the requests of a service carry their session. Names are compared letter by letter, upper
 * and lower case are different; NULL or "": it is not looked for there. */
struct cr_session_rule {
	const char *cookie; /* "JSESSIONID" */
	const char *path;   /* "jsessionid", as in /shop;jsessionid=... */
	const char *param;  /* a parameter of the query, or of a posted form */
	enum cr_session_format format;
	size_t offset, length; /* bytes, for CR_SESSION_FIXED; length 0: to the end */
};

/** What a request has of it; what it has not is empty. The caller's memory. */
struct cr_session_request {
	const struct cr_str *cookie; /* [n_cookies]: the values of its Cookie headers, in order */
	size_t n_cookies;
	struct cr_str url;  /* with its query: "/shop;jsessionid=...?page=2" */
	struct cr_str form; /* the body, if it is application/x-www-form-urlencoded */
};

/** A session: pieces of the text in which it was found, and valid as long as that. */
struct cr_session {
	struct cr_str value;     /* all of it, without quotes and blanks around it; never empty */
	struct cr_str id;        /* what does not change when its servers do; never empty */
	struct cr_str primary;   /* the server that has it, in that server's words; empty: none */
	struct cr_str secondary; /* the one that has the replica; empty: none */
};

enum cr_session_source {
	CR_SESSION_NOWHERE = 0,
	CR_SESSION_IN_COOKIE,
	CR_SESSION_IN_PATH,
	CR_SESSION_IN_QUERY,
	CR_SESSION_IN_FORM,
};

/**
 * Find a request's session: in its cookies, else in the path, else in the query, else in the form;
 * of several of one name the first that is not empty. Reads each text once, makes no copies, takes
 * any bytes; no lock, no allocation, no system call. *out: written if found. Returns where it was
 * found (> 0) or CR_SESSION_NOWHERE. [any]
 */
CR_PUBLIC enum cr_session_source cr_session_find(const struct cr_session_rule *rule,
						 const struct cr_session_request *request,
						 struct cr_session *out);

/** Take the value of a session apart: of the rule only format, offset and length matter. *out:
 * written if value is not empty. Returns whether it is not. [any] */
CR_PUBLIC bool cr_session_split(const struct cr_session_rule *rule, struct cr_str value,
				struct cr_session *out);

/**
 * Make call one of this session: its key is the id, borrowed; its primary and secondary are the
 * rows of the servers of these names, or CR_NONE where the service has none of that name (WebLogic
 * writes numbers of its own there). session NULL: the call belongs to none, and its key stays.
 * Looks at all names of the service; no lock, no allocation, no system call. Call it right before
 * cr_route(): rows are those of the state that is published now. Returns how many of the two
 * servers the service has. [call]
 */
CR_PUBLIC int cr_call_session(struct cr_thread *thread, int service,
			      const struct cr_session *session, struct cr_call *call);

/** The words of a ticket's reason ("stale") and decider ("router"), as callrouterctl shows them;
 * "unknown" for other numbers. Static memory. [any] */
CR_PUBLIC const char *cr_reason_words(enum cr_reason reason);
CR_PUBLIC const char *cr_decided_words(enum cr_decided decided);

/** The version of the library, "1.0.0". [any] */
CR_PUBLIC const char *cr_version(void);

#ifdef __cplusplus
}
#endif
#endif
