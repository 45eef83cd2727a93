/* bad.c - a router with one thing wrong, chosen by macros (core.cmake): for the loader's tests. */
#include <callrouter/plugin.h>

#ifndef SYMBOL
#define SYMBOL cr_router_1
#endif
#ifndef ABI
#define ABI CR_ABI
#endif
#ifndef SIZE
#define SIZE sizeof(struct cr_router)
#endif
#ifndef NAME
#define NAME "bad"
#endif
#ifndef VERSION
#define VERSION "1.0.0"
#endif
#ifndef SUMMARY
#define SUMMARY "one thing is wrong"
#endif
#ifndef SHARED_WORDS
#define SHARED_WORDS 0
#endif
#ifndef ROUTE
#define ROUTE route
#endif
#ifndef RANK
#define RANK NULL
#endif
#ifndef PREPARE
#define PREPARE NULL
#endif
#ifndef RELEASE
#define RELEASE NULL
#endif
#ifndef NEEDS
#define NEEDS NULL
#endif
#ifndef WANTS
#define WANTS NULL
#endif
#ifndef COLUMNS
#define COLUMNS NULL
#endif
#ifndef OPTIONS
#define OPTIONS NULL
#endif

/* Parts to choose from. */
#define TEN(x) x, x, x, x, x, x, x, x, x, x
extern const char *const capital[], *const nine[], *const seventy[], *const forty[];
extern const struct cr_option loud[];
const char *const capital[] = { "jvm_heap_free_bytes", "Heap", NULL };
const char *const nine[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", NULL };
const char *const forty[] = { TEN("m"), TEN("m"), TEN("m"), TEN("m"), NULL };
const char *const seventy[] = { TEN("m"), TEN("m"), TEN("m"), TEN("m"),
				TEN("m"), TEN("m"), TEN("m"), NULL };
const struct cr_option loud[] = { { "Loud", CR_BOOL, "no", 0, 0, NULL, "help" }, { .name = NULL } };

int route(const void *self, const struct cr_view *view, const struct cr_call *call, uint16_t *order,
	  size_t n);
int rank(void *self, const struct cr_view *view, uint16_t *order, size_t n, double *const *column);
int prepare(const void *self, const struct cr_view *view, const void *previous, const void **out);
void release(const void *self, void *prepared);
int undefined_function(void);
int function_of_a_library(void);

int route(const void *self, const struct cr_view *view, const struct cr_call *call, uint16_t *order,
	  size_t n)
{
	(void)self;
	(void)view;
	(void)call;
	(void)order;
#ifdef CALLS
	return CALLS();
#endif
	return (int)n;
}

int rank(void *self, const struct cr_view *view, uint16_t *order, size_t n, double *const *column)
{
	(void)self;
	(void)view;
	(void)order;
	(void)column;
	return (int)n;
}

int prepare(const void *self, const struct cr_view *view, const void *previous, const void **out)
{
	(void)self;
	(void)view;
	(void)previous;
	(void)out;
	return 0;
}

void release(const void *self, void *prepared)
{
	(void)self;
	(void)prepared;
}

extern CR_EXPORT const struct cr_router SYMBOL;
CR_EXPORT const struct cr_router SYMBOL = {
	.abi = ABI,
	.size = SIZE,
	.name = NAME,
	.version = VERSION,
	.summary = SUMMARY,
	.shared_words = SHARED_WORDS,
	.needs = NEEDS,
	.wants = WANTS,
	.columns = COLUMNS,
	.options = OPTIONS,
	.rank = RANK,
	.route = ROUTE,
	.prepare = PREPARE,
	.release = RELEASE,
};

#ifdef BOTH
CR_COLLECTOR = { CR_COLLECTOR_HEAD("bad", "1", "both") };
#endif
