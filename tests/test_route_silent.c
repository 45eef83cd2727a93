/* test_route_silent.c - the call path allocates nothing and makes no system call: shown by counting
 * every allocation of the process, and by a kernel that kills it at the first system call. */
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "health.h"
#include "route_scene.h"

#define CALLS 100000

/*** Every allocation and release of this process is counted ***/

static _Atomic unsigned long n_allocations;

#ifdef __SANITIZE_ADDRESS__
/* ASan has its own allocator, which calls these. Not every compiler brings the header of this. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					      void (*on_free)(const volatile void *));

static void note_malloc(const volatile void *at, size_t bytes)
{
	(void)at;
	(void)bytes;
	atomic_fetch_add(&n_allocations, 1);
}

static void note_free(const volatile void *at)
{
	(void)at;
	atomic_fetch_add(&n_allocations, 1);
}

static void count_allocations(void)
{
	cr_assert_gt(__sanitizer_install_malloc_and_free_hooks(note_malloc, note_free), 0);
}
#else
/* glibc's own, under the names that it keeps for this. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *at, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *at);

void *malloc(size_t bytes)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_calloc(n, bytes);
}

void *realloc(void *at, size_t bytes)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_realloc(at, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_memalign(alignment, bytes);
}

void free(void *at)
{
	atomic_fetch_add(&n_allocations, 1);
	__libc_free(at);
}

static void count_allocations(void)
{
}
#endif

TestSuite(route_silent, .init = count_allocations, .timeout = 100);

/*** Calls of every kind ***/

static const char *const answers[] = { "say=all\n",     "say=reversed\n", "say=two\n",
				       "say=default\n", "say=refuse\n",   "say=error\n",
				       "say=forged\n",  "say=repeated\n", "say=excess\n" };

#define N_ANSWERS (sizeof answers / sizeof *answers)

/* In a cookie, in the path, in the query, in the form, nowhere; of servers that are there or not.
 */
static void take_session(struct scene *s, int i)
{
	static const struct cr_str cookies[] = { { "a=b; c=\"d\"", 10 },
						 { "JSESSIONID=abc!ms2!ms3!1700000000000", 36 } };
	static const struct cr_session_rule rule = { .cookie = "JSESSIONID",
						     .path = "jsessionid",
						     .param = "sid" };
	static const struct cr_session_request requests[] = {
		{ .cookie = cookies, .n_cookies = 2 },
		{ .cookie = cookies, .n_cookies = 1, .url = { "/a;x=1;jsessionid=abc.ms4?b", 27 } },
		{ .url = { "/a?b=c&sid=abc%21ms1%21NONE", 27 } },
		{ .url = { "/a", 2 }, .form = { "b=c&sid=abc!nobody", 18 } },
		{ .url = { "/a?b=c", 6 } },
	};
	const enum cr_session_source where[] = { CR_SESSION_IN_COOKIE, CR_SESSION_IN_PATH,
						 CR_SESSION_IN_QUERY, CR_SESSION_IN_FORM,
						 CR_SESSION_NOWHERE };
	static const int n_servers[] = { 2, 1, 1, 0, 0 };
	struct cr_session session;
	const int which = i % 5;
	const enum cr_session_source found = cr_session_find(&rule, &requests[which], &session);

	/* an assertion of Criterion's allocates */
	if (found != where[which] ||
	    cr_call_session(s->thread, s->service, found > 0 ? &session : NULL, &s->call) !=
		    n_servers[which])
		abort();
}

/** Everything that a caller does with one call. */
static void call_once(struct scene *s, int i)
{
	struct cr_ticket ticket;

	cr_call_now(s->thread, &s->call);
	take_session(s, i);
	s->call.cost_bytes = i;
	cr_route(s->thread, s->service, &s->call, &ticket);
	if (i % 3 == 0)
		cr_next(s->thread, &ticket, CR_FAILED);
	cr_end(s->thread, &ticket, i % 2 == 0 ? CR_OK : CR_TIMED_OUT, i);
	cr_route_dry(s->thread, s->service, &s->call, &ticket);
}

static void scene_of_answer(struct scene *s, struct plan_side router)
{
	s->orders->router = router;
	s->orders->router.fresh_until_ns = INT64_MAX;
	scene_publish(s);
}

static void scene_of_silence(struct scene *s)
{
	scene_open(s, 8);
	s->orders->preset =
		plan_route("round_robin", run_stage(&s->run, PLUGINS_DIR, "round_robin", 50), 50);
	s->orders->preset.shared_words = 1;
	scene_attach(s);
}

/* One server is down, others are shut and tried again all the time. */
static void scene_of_trouble(struct scene *s)
{
	scene_of_silence(s);
	s->orders->health = (struct image_health){ .aside_ns = CLOCK_MS,
						   .aside_most_ns = 8 * CLOCK_MS,
						   .out_for_ns = CLOCK_MS,
						   .slow_start_ns = CLOCK_MS,
						   .failures = 1,
						   .counts = IMAGE_COUNTS_ALL };
	health_check_failed(s->run.counters, run_line(&s->run, "ms8"),
			    clock_now_ns() + 86400 * CLOCK_S);
}

static void expect_trouble(const struct scene *s)
{
	cr_expect_gt(atomic_load(counters_trouble(s->run.counters)), 100);
}

static void expect_no_allocation(struct scene *s, struct plan_side router)
{
	unsigned long before;

	scene_of_answer(s, router);
	before = atomic_load(&n_allocations);
	for (int i = 0; i < CALLS / 10; i++)
		call_once(s, i);
	cr_expect_eq(atomic_load(&n_allocations), before);
}

Test(route_silent, the_counter_of_allocations_counts)
{
	const unsigned long before = atomic_load(&n_allocations);
	void *volatile at = malloc(1000); /* or the compiler leaves both out */

	free(at);
	cr_expect_geq(atomic_load(&n_allocations), before + 2);
}

Test(route_silent, a_call_allocates_nothing)
{
	struct scene s;

	scene_of_silence(&s);
	for (size_t i = 0; i < N_ANSWERS; i++)
		expect_no_allocation(&s, says(&s, answers[i]));
	expect_no_allocation(&s, ranked(&s, NULL));
	expect_no_allocation(&s, (struct plan_side){ .plugin = NULL });
	scene_close(&s);
}

Test(route_silent, a_call_in_trouble_allocates_nothing)
{
	struct scene s;

	scene_of_trouble(&s);
	for (size_t i = 0; i < N_ANSWERS; i++)
		expect_no_allocation(&s, says(&s, answers[i]));
	expect_no_allocation(&s, ranked(&s, NULL));
	expect_no_allocation(&s, (struct plan_side){ .plugin = NULL });
	expect_trouble(&s);
	scene_close(&s);
}

/* Only read, write, and exit of the thread are left: anything else is SIGKILL. */
static _Noreturn void call_under_seccomp(struct scene *s, bool then_getpid)
{
	cr_refresh(s->cr);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		_exit(77);
	for (int i = 0; i < CALLS; i++)
		call_once(s, i);
	if (then_getpid)
		syscall(SYS_getppid);
	syscall(SYS_exit, 42);
	__builtin_trap();
}

static int status_under_seccomp(struct scene *s, bool then_getpid)
{
	int status = -1;
	const pid_t pid = fork();

	if (pid == 0)
		call_under_seccomp(s, then_getpid);
	waitpid(pid, &status, 0);
	return status;
}

static uint64_t count_all(const struct scene *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < CR_DECIDED_COUNT; i++)
		sum += count_of(s, (enum cr_decided)i);
	return sum;
}

static void expect_no_system_call(struct scene *s, struct plan_side router)
{
	const uint64_t before = count_all(s);
	int status;

	scene_of_answer(s, router);
	status = status_under_seccomp(s, false);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		cr_skip("no seccomp here");
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 42, "it ended with %x", status);
	/* the calls were real ones, counted in a slot of the child's */
	cr_expect_eq(count_all(s), before + CALLS);
	cr_expect_eq(counters_reap(s->run.counters, NULL, NULL), 1);
}

Test(route_silent, a_call_makes_no_system_call)
{
	struct scene s;

	scene_of_silence(&s);
	for (size_t i = 0; i < N_ANSWERS; i++)
		expect_no_system_call(&s, says(&s, answers[i]));
	expect_no_system_call(&s, ranked(&s, NULL));
	expect_no_system_call(&s, (struct plan_side){ .plugin = NULL });
	scene_close(&s);
}

Test(route_silent, a_call_in_trouble_makes_no_system_call)
{
	struct scene s;

	scene_of_trouble(&s);
	expect_no_system_call(&s, says(&s, "say=all\n"));
	expect_no_system_call(&s, says(&s, "say=default\n"));
	expect_no_system_call(&s, ranked(&s, NULL));
	expect_trouble(&s);
	scene_close(&s);
}

Test(route_silent, the_kernel_would_have_noticed)
{
	struct scene s;
	int status;

	scene_of_silence(&s);
	scene_of_answer(&s, says(&s, "say=all\n"));
	status = status_under_seccomp(&s, true);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		cr_skip("no seccomp here");
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it ended with %x", status);
	scene_close(&s);
}
