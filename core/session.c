/* session.c - the session of a request: found where the rule says, and taken apart. Pieces of the
 * caller's text only: fit for the call path. [L4] */
#include <string.h>

#include <callrouter/callrouter.h>

static const struct cr_str nothing = { .ptr = "", .len = 0 };

/*** Pieces of texts ***/

static struct cr_str head(struct cr_str text, size_t len)
{
	return (struct cr_str){ text.ptr, len };
}

static struct cr_str tail(struct cr_str text, size_t from)
{
	return (struct cr_str){ text.ptr + from, text.len - from };
}

/* Where a letter stands first, or the text's length. */
static size_t find(struct cr_str text, char letter)
{
	const char *at = text.len > 0 ? memchr(text.ptr, letter, text.len) : NULL;

	return at != NULL ? (size_t)(at - text.ptr) : text.len;
}

/* What stands before the first separator is taken off *rest, and the separator with it. */
static struct cr_str cut(struct cr_str *rest, char separator)
{
	const struct cr_str text = *rest;
	const size_t at = find(text, separator);

	*rest = at < text.len ? tail(text, at + 1) : nothing;
	return head(text, at);
}

static bool is_blank(char letter)
{
	return letter == ' ' || letter == '\t';
}

static struct cr_str trim(struct cr_str text)
{
	while (text.len > 0 && is_blank(text.ptr[0]))
		text = tail(text, 1);
	while (text.len > 0 && is_blank(text.ptr[text.len - 1]))
		text.len--;
	return text;
}

static struct cr_str unquote(struct cr_str text)
{
	if (text.len >= 2 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"')
		return (struct cr_str){ text.ptr + 1, text.len - 2 };
	return text;
}

static bool is_same(struct cr_str text, const char *name)
{
	const size_t len = strlen(name);

	return text.len == len && memcmp(text.ptr, name, len) == 0;
}

/*** Finding ***/

/* "name = value" of this name; empty: of another, or without a value. */
static struct cr_str value_of(struct cr_str pair, const char *name)
{
	const struct cr_str key = trim(cut(&pair, '='));

	return is_same(key, name) ? unquote(trim(pair)) : nothing;
}

/* The first of these pairs that has the name and a value. */
static struct cr_str find_pair(struct cr_str text, char separator, const char *name)
{
	struct cr_str value = nothing;

	while (value.len == 0 && text.len > 0)
		value = value_of(cut(&text, separator), name);
	return value;
}

static struct cr_str find_in_cookies(const struct cr_session_request *request, const char *name)
{
	struct cr_str value = nothing;

	for (size_t i = 0; i < request->n_cookies && value.len == 0; i++)
		value = find_pair(request->cookie[i], ';', name);
	return value;
}

/* Parameters may stand in every step of a path and end with it: "/a;x=1;y=2/b;z=3". */
static struct cr_str find_in_path(struct cr_str url, const char *name)
{
	struct cr_str path = cut(&url, '?');
	struct cr_str value = nothing;

	(void)cut(&path, ';');
	while (value.len == 0 && path.len > 0) {
		struct cr_str parameter = cut(&path, ';');

		value = value_of(cut(&parameter, '/'), name);
	}
	return value;
}

static struct cr_str find_in_query(struct cr_str url, const char *name)
{
	(void)cut(&url, '?');
	return find_pair(url, '&', name);
}

static bool is_wanted(const char *name)
{
	return name != NULL && name[0] != '\0';
}

enum cr_session_source cr_session_find(const struct cr_session_rule *rule,
				       const struct cr_session_request *request,
				       struct cr_session *out)
{
	/* a fragment is not for servers: clients that send it all the same mean nothing by it */
	const struct cr_str url = head(request->url, find(request->url, '#'));

	if (is_wanted(rule->cookie) &&
	    cr_session_split(rule, find_in_cookies(request, rule->cookie), out))
		return CR_SESSION_IN_COOKIE;
	if (is_wanted(rule->path) && cr_session_split(rule, find_in_path(url, rule->path), out))
		return CR_SESSION_IN_PATH;
	if (!is_wanted(rule->param))
		return CR_SESSION_NOWHERE;
	if (cr_session_split(rule, find_in_query(url, rule->param), out))
		return CR_SESSION_IN_QUERY;
	if (cr_session_split(rule, find_pair(request->form, '&', rule->param), out))
		return CR_SESSION_IN_FORM;
	return CR_SESSION_NOWHERE;
}

/*** Taking apart ***/

/* The bytes of WebLogic's separator where it stands at the beginning, else 0: forms are posted with
 * "%21". */
static size_t mark_len(struct cr_str text)
{
	if (text.len > 0 && text.ptr[0] == '!')
		return 1;
	return text.len >= 3 && memcmp(text.ptr, "%21", 3) == 0 ? 3 : 0;
}

/* Where the first mark stands, or the text's length. */
static size_t find_mark(struct cr_str text)
{
	const struct cr_str before = head(text, find(text, '!'));
	size_t at = find(before, '%');

	while (at < before.len && mark_len(tail(before, at)) == 0)
		at += 1 + find(tail(before, at + 1), '%');
	return at;
}

static struct cr_str cut_mark(struct cr_str *rest)
{
	const struct cr_str text = *rest;
	const size_t at = find_mark(text);

	*rest = tail(text, at + mark_len(tail(text, at)));
	return head(text, at);
}

/* When the session began, in ms since 1970, follows the last server: 13 digits until 2286, while
 * the number of a server has 10 and a sign at most. */
static bool is_time(struct cr_str part)
{
	for (size_t i = 0; i < part.len; i++)
		if (part.ptr[i] < '0' || part.ptr[i] > '9')
			return false;
	return part.len == 13;
}

static struct cr_str cut_server(struct cr_str *rest)
{
	const struct cr_str part = cut_mark(rest);

	return is_same(part, "NONE") || is_time(part) ? nothing : part;
}

static void split_weblogic(struct cr_session *session)
{
	struct cr_str rest = session->value;

	session->id = cut_mark(&rest);
	session->primary = cut_server(&rest);
	session->secondary = cut_server(&rest);
}

static void split_tomcat(struct cr_session *session)
{
	struct cr_str rest = session->value;

	session->id = cut(&rest, '.');
	session->primary = rest;
}

static void split_fixed(const struct cr_session_rule *rule, struct cr_session *session)
{
	const struct cr_str value = session->value;
	struct cr_str behind;

	if (rule->offset >= value.len || rule->length > value.len - rule->offset)
		return;
	session->primary = tail(value, rule->offset);
	if (rule->length > 0)
		session->primary.len = rule->length;
	behind = tail(value, rule->offset + session->primary.len);
	if (rule->offset > 0)
		session->id = head(value, rule->offset);
	else if (behind.len > 0)
		session->id = behind;
}

static enum cr_session_format format_of(struct cr_str value)
{
	if (find_mark(value) < value.len)
		return CR_SESSION_WEBLOGIC;
	return find(value, '.') < value.len ? CR_SESSION_TOMCAT : CR_SESSION_PLAIN;
}

bool cr_session_split(const struct cr_session_rule *rule, struct cr_str value,
		      struct cr_session *out)
{
	const enum cr_session_format format =
		rule->format == CR_SESSION_ANY ? format_of(value) : rule->format;

	if (value.len == 0)
		return false;
	*out = (struct cr_session){ value, value, nothing, nothing };
	switch (format) {
	case CR_SESSION_WEBLOGIC:
		split_weblogic(out);
		break;
	case CR_SESSION_TOMCAT:
		split_tomcat(out);
		break;
	case CR_SESSION_FIXED:
		split_fixed(rule, out);
		break;
	case CR_SESSION_ANY:
	case CR_SESSION_PLAIN:
		break;
	}
	/* servers of no session */
	if (out->id.len == 0)
		*out = (struct cr_session){ value, value, nothing, nothing };
	return true;
}
