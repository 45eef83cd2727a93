/* fuzz_session.c - sessions of requests: values taken apart and put together again, requests of any
 * bytes, and requests made of pairs, of which it is known what has to be found in them. Lines of an
 * input: a value, or headers, address and form, or pairs "name=value". */
#include <stdlib.h>
#include <string.h>

#include <callrouter/callrouter.h>

#include "fuzz.h"

enum { HEADERS_MAX = 4, PAIRS_MAX = 8 };

static const char *const names[] = { "JSESSIONID", "jsessionid", "a", "", NULL };

/* Memory that ends with the text: a byte beyond it is a finding. */
static struct cr_str exact(const void *bytes, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);

	fuzz_expect(copy != NULL, "no memory");
	memcpy(copy, bytes, len);
	return (struct cr_str){ copy, len };
}

static struct cr_str exact_line(struct fuzz_input *in)
{
	char *line = fuzz_line(in);
	const struct cr_str text = exact(line, strlen(line));

	free(line);
	return text;
}

static void release(struct cr_str text)
{
	free((void *)(uintptr_t)text.ptr);
}

static bool lies_in(struct cr_str piece, struct cr_str text)
{
	return piece.ptr >= text.ptr && piece.len <= text.len &&
	       (size_t)(piece.ptr - text.ptr) <= text.len - piece.len;
}

static bool is_same(struct cr_str a, struct cr_str b)
{
	return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

/*** What has to hold of a session ***/

/* How long the mark at this place is; 0: there is none. */
static size_t mark_at(struct cr_str value, size_t at)
{
	if (at < value.len && value.ptr[at] == '!')
		return 1;
	return at + 3 <= value.len && memcmp(value.ptr + at, "%21", 3) == 0 ? 3 : 0;
}

static bool is_nobody(struct cr_str part)
{
	if (part.len == 13)
		for (size_t i = 0; part.ptr[i] >= '0' && part.ptr[i] <= '9'; i++)
			if (i == 12)
				return true;
	return part.len == 0 || (part.len == 4 && memcmp(part.ptr, "NONE", 4) == 0);
}

/* The part that begins at *at, which goes behind its mark. */
static struct cr_str next_part(struct cr_str value, size_t *at)
{
	struct cr_str part = { value.ptr + *at, 0 };

	while (*at + part.len < value.len && mark_at(value, *at + part.len) == 0)
		part.len++;
	*at += part.len + mark_at(value, *at + part.len);
	return part;
}

static void expect_server(struct cr_str server, struct cr_str part)
{
	if (is_nobody(part))
		fuzz_expect(server.len == 0, "nobody is taken for a server");
	else
		fuzz_expect(server.ptr == part.ptr && server.len == part.len, "another server");
}

static void expect_weblogic(const struct cr_session *session)
{
	const struct cr_str value = session->value;
	size_t at = 0;
	const struct cr_str id = next_part(value, &at);

	if (id.len == 0)
		return;
	fuzz_expect(session->id.ptr == value.ptr && session->id.len == id.len, "another id");
	expect_server(session->primary, next_part(value, &at));
	expect_server(session->secondary, next_part(value, &at));
}

static void expect_tomcat(const struct cr_session *session)
{
	const struct cr_str value = session->value, id = session->id;

	fuzz_expect(session->secondary.len == 0, "a secondary of Tomcat's");
	if (value.ptr[0] == '.')
		return;
	fuzz_expect(memchr(id.ptr, '.', id.len) == NULL, "an id with a dot");
	fuzz_expect(id.len == value.len || id.len + 1 + session->primary.len == value.len,
		    "put together it is something else");
	fuzz_expect(session->primary.len == 0 || session->primary.ptr == id.ptr + id.len + 1,
		    "the route is not what follows the id");
}

static void expect_fixed(const struct cr_session_rule *rule, const struct cr_session *session)
{
	const struct cr_str value = session->value;
	const bool is_long_enough = rule->offset < value.len &&
				    (rule->length == 0 || rule->length <= value.len - rule->offset);

	fuzz_expect((session->primary.len > 0) == is_long_enough, "a server that is not there");
	if (is_long_enough)
		fuzz_expect(session->primary.ptr == value.ptr + rule->offset &&
				    (rule->length == 0 || session->primary.len == rule->length),
			    "a server at another place");
}

/* What CR_SESSION_ANY has to take a value for. */
static enum cr_session_format format_of(const struct cr_session_rule *rule, struct cr_str value)
{
	size_t at = 0;

	if (rule->format != CR_SESSION_ANY)
		return rule->format;
	return next_part(value, &at).len < value.len ? CR_SESSION_WEBLOGIC : CR_SESSION_TOMCAT;
}

static void expect_format(const struct cr_session_rule *rule, const struct cr_session *session)
{
	switch (rule->format) {
	case CR_SESSION_WEBLOGIC:
		expect_weblogic(session);
		break;
	case CR_SESSION_TOMCAT:
		expect_tomcat(session);
		break;
	case CR_SESSION_ANY:
	case CR_SESSION_PLAIN:
		fuzz_expect(session->id.len == session->value.len && session->primary.len == 0,
			    "a plain id with servers");
		break;
	case CR_SESSION_FIXED:
		expect_fixed(rule, session);
		break;
	}
}

static void expect_session(const struct cr_session_rule *rule, const struct cr_session *session,
			   struct cr_str text)
{
	struct cr_session_rule taken = *rule;
	struct cr_session again;

	fuzz_expect(session->value.len > 0 && session->id.len > 0, "no id");
	fuzz_expect(lies_in(session->value, text), "a value from elsewhere");
	fuzz_expect(lies_in(session->id, session->value), "an id from elsewhere");
	fuzz_expect(session->primary.len == 0 || lies_in(session->primary, session->value),
		    "a primary from elsewhere");
	fuzz_expect(session->secondary.len == 0 || lies_in(session->secondary, session->value),
		    "a secondary from elsewhere");
	taken.format = format_of(rule, session->value);
	expect_format(&taken, session);
	if (taken.format == CR_SESSION_FIXED)
		return;
	fuzz_expect(cr_session_split(&taken, session->id, &again) &&
			    is_same(again.id, session->id) && again.primary.len == 0,
		    "an id with servers in it");
}

/*** Any bytes ***/

static void take_value(struct fuzz_input *in, const struct cr_session_rule *rule)
{
	const struct cr_str value = exact(in->at, in->left);
	struct cr_session session;
	const bool is_one = cr_session_split(rule, value, &session);

	fuzz_expect(is_one == (value.len > 0), "a value is lost, or made up");
	if (is_one) {
		fuzz_expect(session.value.ptr == value.ptr && session.value.len == value.len,
			    "another value");
		expect_session(rule, &session, value);
	}
	release(value);
}

static void take_request(struct fuzz_input *in, struct cr_session_rule *rule)
{
	struct cr_str header[HEADERS_MAX];
	struct cr_session_request request = { .cookie = header };
	struct cr_session session;
	struct cr_str text;

	rule->cookie = names[fuzz_below(in, 5)];
	rule->path = names[fuzz_below(in, 5)];
	rule->param = names[fuzz_below(in, 5)];
	request.n_cookies = fuzz_below(in, HEADERS_MAX + 1);
	for (size_t i = 0; i < request.n_cookies; i++)
		header[i] = exact_line(in);
	request.url = exact_line(in);
	request.form = exact(in->at, in->left);
	text = request.url;
	switch (cr_session_find(rule, &request, &session)) {
	case CR_SESSION_IN_FORM:
		text = request.form;
		break;
	case CR_SESSION_IN_COOKIE:
		for (size_t i = 0; i < request.n_cookies; i++)
			if (lies_in(session.value, header[i]))
				text = header[i];
		break;
	case CR_SESSION_IN_PATH:
	case CR_SESSION_IN_QUERY:
		break;
	case CR_SESSION_NOWHERE:
		text.ptr = NULL;
		break;
	}
	if (text.ptr != NULL)
		expect_session(rule, &session, text);
	for (size_t i = 0; i < request.n_cookies; i++)
		release(header[i]);
	release(request.url);
	release(request.form);
}

/*** Requests of which the answer is known ***/

/* A text that grows. */
struct made {
	char *bytes;
	size_t len;
};

static void add(struct made *made, const char *bytes, size_t len)
{
	made->bytes = realloc(made->bytes, made->len + len + 1);
	fuzz_expect(made->bytes != NULL, "no memory");
	memcpy(made->bytes + made->len, bytes, len);
	made->len += len;
}

static void add_blanks(struct made *made, uint8_t how)
{
	add(made, " \t ", how % 4);
}

/* Nothing in a name or a value that could separate it, nor a blank or a quote at its ends. */
static void tame(char *text, const char *separators)
{
	for (; *text != '\0'; text++)
		if (strchr(separators, *text) != NULL)
			*text = '-';
}

/* One pair; *expected: the first value that belongs to the name, "" as long as there was none. */
static void add_pair(struct made *made, struct fuzz_input *in, const char *name, char separator,
		     char **expected)
{
	const uint8_t how = fuzz_byte(in);
	const bool is_cookie = separator == ';' && how % 2 != 0;
	char *key = fuzz_line(in), *value = fuzz_line(in);

	tame(key, "=;&/?# \t\"");
	tame(value, ";&/?# \t\"");
	if (how >= 128) {
		free(key);
		key = strdup(name);
		fuzz_expect(key != NULL, "no memory");
	}
	if (made->len > 0)
		add(made, &separator, 1);
	if (is_cookie)
		add_blanks(made, how >> 1);
	add(made, key, strlen(key));
	add(made, "=", 1);
	if (is_cookie)
		add_blanks(made, how >> 3);
	add(made, "\"", is_cookie && (how & 32) != 0);
	add(made, value, strlen(value));
	add(made, "\"", is_cookie && (how & 32) != 0);
	if ((*expected)[0] == '\0' && strcmp(key, name) == 0) {
		free(*expected);
		*expected = value;
		value = NULL;
	}
	free(key);
	free(value);
}

static void expect_found(const struct cr_session_rule *rule,
			 const struct cr_session_request *request, enum cr_session_source source,
			 const char *expected)
{
	struct cr_session session;
	const enum cr_session_source found = cr_session_find(rule, request, &session);

	if (expected[0] == '\0') {
		fuzz_expect(found == CR_SESSION_NOWHERE, "found what is not there");
		return;
	}
	fuzz_expect(found == source, "not found where it is");
	fuzz_expect(is_same(session.value, (struct cr_str){ expected, strlen(expected) }),
		    "found another value");
}

/* The same pairs as cookies, as a query or as a form. */
static void take_pairs(struct fuzz_input *in, struct cr_session_rule *rule)
{
	const uint32_t kind = fuzz_below(in, 3), n = fuzz_below(in, PAIRS_MAX);
	struct cr_session_request request = { .n_cookies = kind == 0 };
	struct made made = { .len = 0 };
	char *expected = calloc(1, 1);
	struct cr_str text;

	fuzz_expect(expected != NULL, "no memory");
	rule->cookie = rule->param = "JSESSIONID";
	if (kind == 1)
		add(&made, "/?", 2);
	for (uint32_t i = 0; i < n; i++)
		add_pair(&made, in, "JSESSIONID", kind == 0 ? ';' : '&', &expected);
	text = exact(made.bytes != NULL ? made.bytes : "", made.len);
	request.cookie = &text;
	if (kind == 1)
		request.url = text;
	if (kind == 2)
		request.form = text;
	expect_found(rule, &request,
		     kind == 0   ? CR_SESSION_IN_COOKIE
		     : kind == 1 ? CR_SESSION_IN_QUERY
				 : CR_SESSION_IN_FORM,
		     expected);
	release(text);
	free(made.bytes);
	free(expected);
}

/* In a path a parameter ends with its step. */
static void take_path(struct fuzz_input *in, struct cr_session_rule *rule)
{
	const uint32_t n = fuzz_below(in, PAIRS_MAX);
	struct made made = { .len = 0 };
	char *expected = calloc(1, 1);
	struct cr_str text;

	fuzz_expect(expected != NULL, "no memory");
	rule->path = "jsessionid";
	add(&made, "/", 1);
	for (uint32_t i = 0; i < n; i++) {
		char *step = fuzz_line(in);

		tame(step, ";?#");
		add(&made, "/", 1);
		add(&made, step, strlen(step));
		free(step);
		add_pair(&made, in, "jsessionid", ';', &expected);
		add(&made, "/jsessionid=no", fuzz_byte(in) % 2 != 0 ? 14 : 0);
	}
	text = exact(made.bytes, made.len);
	expect_found(rule, &(struct cr_session_request){ .url = text }, CR_SESSION_IN_PATH,
		     expected);
	release(text);
	free(made.bytes);
	free(expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const uint8_t how = fuzz_byte(&in);
	struct cr_session_rule rule = { .format = (enum cr_session_format)fuzz_below(&in, 5) };

	if (rule.format == CR_SESSION_FIXED) {
		rule.offset = fuzz_below(&in, 64);
		rule.length = fuzz_below(&in, 16);
	}
	switch (how % 4) {
	case 0:
		take_value(&in, &rule);
		break;
	case 1:
		take_request(&in, &rule);
		break;
	case 2:
		take_pairs(&in, &rule);
		break;
	default:
		take_path(&in, &rule);
		break;
	}
	return 0;
}
