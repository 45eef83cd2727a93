/*
 * source_regex.c - extended regular expressions that cannot cost more than they look like.
 * regcomp() writes out what is repeated: a{1,255} in a second pair of braces takes gigabytes before
 * it says that memory is exhausted. So what it will write out is counted first.
 */
#include "source_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	DEPTH_MAX = 32,
	ELEMENTS_MAX = 500,
	FACTOR_MAX = 32767,
	CPU_MS_MAX = 100,
	LOOK_AFTER = 1024
};

/* Elements of the groups around, and of what a repetition would repeat. */
struct count {
	size_t sum[DEPTH_MAX + 1], last;
	size_t depth;
};

/* Behind a bracket expression, which begins at at: [^]a[:digit:]]. */
static const char *skip_bracket(const char *at)
{
	char end[3] = "?]";

	at += 1 + (at[1] == '^');
	at += *at == ']';
	while (*at != '\0' && *at != ']') {
		const char *close = NULL;

		if (*at == '[' && at[1] != '\0' && strchr(":.=", at[1]) != NULL) {
			end[0] = at[1];
			close = strstr(at + 2, end);
		}
		at = close != NULL ? close + 2 : at + 1;
	}
	return at + (*at == ']');
}

/* How often the repetition at *at writes out what stands before it; *at: behind it. */
static size_t take_factor(const char **at)
{
	unsigned long least, most;
	char *end;

	if (**at != '{') {
		*at += 1;
		return (*at)[-1] == '+' ? 2 : 1;
	}
	least = most = strtoul(*at + 1, &end, 10);
	if (*end == ',' && end[1] == '}')
		most = least < FACTOR_MAX ? least + 1 : least;
	else if (*end == ',')
		most = strtoul(end + 1, &end, 10);
	*at = end + strcspn(end, "}");
	*at += **at == '}';
	return most < 1 ? 1 : most < FACTOR_MAX ? most : FACTOR_MAX;
}

static void add(struct count *count, size_t n)
{
	count->last = n;
	count->sum[count->depth] += n;
}

/* One element, or one repetition, or one end of a group; false: that is too much. */
static bool take_one(struct count *count, const char **at)
{
	size_t more;

	switch (**at) {
	case '(':
		*at += 1;
		count->last = 0;
		if (count->depth == DEPTH_MAX)
			return false;
		count->sum[++count->depth] = 1;
		return true;
	case ')':
		*at += 1;
		if (count->depth > 0)
			add(count, count->sum[count->depth--]);
		return true;
	case '*':
	case '+':
	case '?':
	case '{':
		more = count->last * (take_factor(at) - 1);
		count->last += more;
		count->sum[count->depth] += more;
		return true;
	case '[':
		*at = skip_bracket(*at);
		break;
	case '\\':
		*at += 1 + ((*at)[1] != '\0');
		break;
	default:
		*at += 1;
	}
	add(count, 1);
	return true;
}

static bool is_too_much(const char *text)
{
	struct count count = { 0 };

	while (*text != '\0')
		if (!take_one(&count, &text) || count.sum[count.depth] > ELEMENTS_MAX)
			return true;
	return false;
}

static bool has_back_reference(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text == '\\' && *++text >= '1' && *text <= '9')
			return true;
		else if (*text == '\0')
			return false;
	return false;
}

int source_regex_compile(regex_t *out, const char *text, int flags, size_t column,
			 struct source_selector_fault *fault)
{
	char words[80];
	int rc;

	if (has_back_reference(text))
		return source_selector_fail(fault, column, "back references (\\1) are not taken");
	if (is_too_much(text))
		return source_selector_fail(fault, column,
					    "this regular expression is too large: at most %d "
					    "elements with what {} and + "
					    "repeat, and %d groups in each other",
					    ELEMENTS_MAX, DEPTH_MAX);
	rc = regcomp(out, text, REG_EXTENDED | flags);
	if (rc == 0)
		return 0;
	(void)regerror(rc, out, words, sizeof words);
	return source_selector_fail(fault, column, "not an extended regular expression: %s", words);
}

/*** What matching may cost ***/

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
