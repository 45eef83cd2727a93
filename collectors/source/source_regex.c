/*
 * source_regex.c - what a regular expression may cost. The C library unrolls repetitions, and those
 * of repetitions by their product: "a++++++++" or "(a{1,255}){1,255}" would take all memory before
 * a byte of an answer was seen. Back references cost more than any bound. What is left may still
 * cost the square of a line's length: matching has a budget of time. And as long as an expression
 * lives, the C library remembers every state that any text has brought it into, up to 5 kB for each
 * byte: whoever chooses the texts could fill all memory, poll by poll. New states are what takes
 * long; so an expression that has been at work for some milliseconds is compiled anew.
 */
#include "source_regex.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"

enum { SIZE_MOST = 500, DEPTH_MAX = 32, CPU_MS_MAX = 100, LOOK_AFTER = 1024 };

#define AT_WORK_MAX_NS (5 * CLOCK_MS) /* about 2 MB of states */

struct source_regex {
	char *text; /* as it was compiled */
	int flags;
	size_t n_groups;
	pthread_mutex_t lock; /* of what follows */
	regex_t regex;
	int64_t at_work_ns; /* since it was compiled */
};

/** What a group, or the whole, comes to once it is unrolled. */
struct level {
	size_t total, last; /* last: what a repetition would repeat */
	bool is_repeated;   /* it has been */
};

/* From "[" to its "]", or to the end: "]" as the first letter, and "[:alpha:]", end nothing. */
static const char *skip_bracket(const char *at)
{
	at += at[1] == '^' ? 2 : 1;
	if (*at == ']')
		at++;
	for (; *at != '\0' && *at != ']'; at++) {
		const char kind = at[1];

		if (at[0] != '[' || (kind != ':' && kind != '.' && kind != '='))
			continue;
		for (at += 2; at[0] != '\0' && (at[0] != kind || at[1] != ']'); at++)
			;
		if (at[0] == '\0' || *++at == '\0')
			break;
	}
	return at;
}

/* How often "{2,5}" repeats, and where it ends; other braces stand for themselves, once. */
static size_t take_count(const char **at)
{
	const char *end = *at + strcspn(*at, "}");
	size_t most = 1;

	for (const char *digit = *at; digit < end; digit++)
		if (*digit >= '0' && *digit <= '9') {
			char *rest;
			const unsigned long n = strtoul(digit, &rest, 10);

			if (n >= most)
				most = n < SIZE_MOST ? n + 1 : SIZE_MOST;
			digit = rest - 1;
		}
	/* Where there is no "}", that is for the compiler to say. */
	if (*end == '}')
		*at = end;
	return most;
}

static void add(struct level *level, size_t size)
{
	level->total += size;
	level->last = size;
	level->is_repeated = false;
}

/* Returns what is wrong, or NULL. POSIX leaves open what "**" means, and a hundred of them are dear
 * to compile. */
static const char *repeat(struct level *level, size_t times)
{
	const size_t grown = level->last * times + 1;

	if (level->is_repeated)
		return "a repetition right behind a repetition, like \"**\" or \".*?\": take one "
		       "of "
		       "them (there are no lazy ones)";
	level->total += grown - level->last;
	level->last = grown;
	level->is_repeated = true;
	return NULL;
}

/* Returns what is wrong, or NULL. */
static const char *judge(const char *text)
{
	static const char too_large[] =
		"too large once its repetitions are unrolled (those of repetitions count by their "
		"product): make it simpler";
	struct level level[DEPTH_MAX] = { 0 };
	const char *wrong = NULL;
	size_t depth = 0;

	for (const char *at = text; *at != '\0' && wrong == NULL; at += *at != '\0') {
		if (*at == '(' && ++depth == DEPTH_MAX)
			return "more than 31 groups inside each other";
		if (*at == '(') {
			level[depth] = (struct level){ 0, 0, false };
		} else if (*at == ')') {
			if (depth == 0)
				return "a \")\" without its \"(\"";
			depth--;
			add(&level[depth], level[depth + 1].total + 1);
		} else if (*at == '*' || *at == '?') {
			wrong = repeat(&level[depth], 1);
		} else if (*at == '+') {
			wrong = repeat(&level[depth], 2);
		} else if (*at == '{') {
			wrong = repeat(&level[depth], take_count(&at));
		} else {
			if (*at == '\\' && at[1] >= '1' && at[1] <= '9')
				return "back references (\\1) are not taken";
			if (*at == '\\')
				at += at[1] != '\0';
			else if (*at == '[')
				at = skip_bracket(at);
			add(&level[depth], 1);
		}
		if (wrong == NULL && level[depth].total > SIZE_MOST)
			wrong = too_large;
	}
	return wrong;
}

/*** Compiling ***/

static int compile(struct source_regex *regex, size_t column, struct source_selector_fault *fault)
{
	char words[80];
	const int rc = regcomp(&regex->regex, regex->text, regex->flags);

	if (rc == 0)
		return 0;
	(void)regerror(rc, &regex->regex, words, sizeof words);
	return source_selector_fail(fault, column, "not an extended regular expression: %s", words);
}

int source_regex_new(const char *text, bool is_whole, size_t column, struct source_regex **out,
		     struct source_selector_fault *fault)
{
	const char *wrong = judge(text);
	struct source_regex *regex;
	int rc = -ENOMEM;

	if (wrong != NULL)
		return source_selector_fail(fault, column, "%s", wrong);
	regex = calloc(1, sizeof *regex);
	if (regex == NULL)
		return -ENOMEM;
	regex->flags = REG_EXTENDED | (is_whole ? REG_NOSUB : 0);
	if (asprintf(&regex->text, is_whole ? "^(%s)$" : "%s", text) < 0)
		goto free_regex;
	rc = compile(regex, column, fault);
	if (rc < 0)
		goto free_text;
	regex->n_groups = regex->regex.re_nsub;
	(void)pthread_mutex_init(&regex->lock, NULL);
	*out = regex;
	return 0;

free_text:
	free(regex->text);
free_regex:
	free(regex);
	return rc;
}

void source_regex_free(struct source_regex *regex)
{
	if (regex == NULL)
		return;
	regfree(&regex->regex);
	(void)pthread_mutex_destroy(&regex->lock);
	free(regex->text);
	free(regex);
}

size_t source_regex_groups(const struct source_regex *regex)
{
	return regex->n_groups;
}

/*** Matching ***/

/* Without memory for a new one the old one goes on. */
static void forget_states(struct source_regex *regex)
{
	regex_t fresh;

	if (regcomp(&fresh, regex->text, regex->flags) != 0)
		return;
	regfree(&regex->regex);
	regex->regex = fresh;
	regex->at_work_ns = 0;
}

bool source_regex_match(struct source_regex *regex, const char *text, regmatch_t *match, int flags)
{
	const size_t n = match != NULL ? 2 : 0;
	int64_t start_ns;
	bool is_match;

	pthread_mutex_lock(&regex->lock);
	/* not CPU time, which costs more to read: to forget too early does no harm */
	start_ns = clock_now_ns();
	is_match = regexec(&regex->regex, text, n, match, flags) == 0;
	regex->at_work_ns += clock_now_ns() - start_ns;
	if (regex->at_work_ns >= AT_WORK_MAX_NS)
		forget_states(regex);
	pthread_mutex_unlock(&regex->lock);
	return is_match;
}

static int64_t cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

bool source_budget_spend(struct source_budget *budget, size_t len)
{
	if (!budget->is_begun)
		budget->start_ms = cpu_ms();
	budget->is_begun = true;
	budget->n_bytes += len;
	if (budget->n_bytes >= LOOK_AFTER) {
		budget->n_bytes = 0;
		budget->is_spent |= cpu_ms() - budget->start_ms > CPU_MS_MAX;
	}
	return !budget->is_spent;
}

int source_reading_fail_late(struct source_reading *reading, size_t line)
{
	return source_reading_fail(reading, CR_REPLY,
				   "broken off in line %zu: the regular expressions take too long "
				   "(more than %d ms); let them begin with a text, like \"used=\", "
				   "and repeat less",
				   line, CPU_MS_MAX);
}
