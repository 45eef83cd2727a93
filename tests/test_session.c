/* test_session.c - sessions of requests: where they are found, and what becomes of their values. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/callrouter.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static struct cr_str str(const char *text)
{
	return (struct cr_str){ text, text != NULL ? strlen(text) : 0 };
}

/* Which row of which table, in static memory. */
static const char *row(const char *table, size_t i, const char *text)
{
	static char line[512];

	(void)snprintf(line, sizeof line, "%s %zu, %s", table, i, text);
	return line;
}

static void expect_str(struct cr_str got, const char *expected, const char *what, const char *of)
{
	cr_expect(got.len == strlen(expected) && memcmp(got.ptr, expected, got.len) == 0,
		  "%s: %s is \"%.*s\", not \"%s\"", of, what, (int)got.len, got.ptr, expected);
}

/*** Taking apart ***/

#define WLS "BBp9TAACMTglQ2TDFAKR4tpyXg73LZDQJ2PtT9x8htG1tWY122aa" /* 52 letters, as by default */
#define TOM "C5DC1ECDB2B7E0703BBD4D9C2C298035"

struct split {
	enum cr_session_format format;
	const char *value, *id, *primary, *secondary;
};

static void expect_split(const struct cr_session_rule *rule, const struct split *row_,
			 const char *of)
{
	struct cr_session session = { .id = str("untouched") };

	cr_expect(cr_session_split(rule, str(row_->value), &session), "%s: nothing", of);
	expect_str(session.value, row_->value, "value", of);
	expect_str(session.id, row_->id, "id", of);
	expect_str(session.primary, row_->primary, "primary", of);
	expect_str(session.secondary, row_->secondary, "secondary", of);
}

static void expect_splits(const struct split *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect_split(&(struct cr_session_rule){ .format = table[i].format }, &table[i],
			     row("split", i, table[i].value));
}

Test(session, of_weblogic_has_an_id_a_primary_and_a_secondary)
{
	static const struct split table[] = {
		{ CR_SESSION_WEBLOGIC, WLS "!-2032354160!-457294087", WLS, "-2032354160",
		  "-457294087" },
		{ CR_SESSION_WEBLOGIC, WLS "!869187422!-457294087!1308677666322", WLS, "869187422",
		  "-457294087" },
		{ CR_SESSION_WEBLOGIC, WLS "!ms1!ms2", WLS, "ms1", "ms2" },
		{ CR_SESSION_WEBLOGIC, WLS "!ms1!ms2!more!of!it", WLS, "ms1", "ms2" },
		{ CR_SESSION_WEBLOGIC, WLS "!ms1!NONE", WLS, "ms1", "" },
		{ CR_SESSION_WEBLOGIC, WLS "!ms1!NONE!1308677666322", WLS, "ms1", "" },
		{ CR_SESSION_WEBLOGIC, WLS "!NONE!ms2", WLS, "", "ms2" },
		{ CR_SESSION_WEBLOGIC, WLS "!-314662473", WLS, "-314662473", "" },
		{ CR_SESSION_WEBLOGIC, WLS, WLS, "", "" },
		{ CR_SESSION_WEBLOGIC, WLS "!", WLS, "", "" },
		{ CR_SESSION_WEBLOGIC, WLS "!!ms2", WLS, "", "ms2" },
		{ CR_SESSION_WEBLOGIC, WLS "!ms1!", WLS, "ms1", "" },
		{ CR_SESSION_WEBLOGIC, WLS "!ms.1!none", WLS, "ms.1", "none" },
	};

	expect_splits(table, COUNT(table));
}

Test(session, takes_the_time_of_its_creation_for_no_server)
{
	static const struct split table[] = {
		{ CR_SESSION_WEBLOGIC, WLS "!869187422!1308677666322", WLS, "869187422", "" },
		{ CR_SESSION_WEBLOGIC, WLS "!1308677666322", WLS, "", "" },
		{ CR_SESSION_WEBLOGIC, WLS "!1!130867766632", WLS, "1", "130867766632" },
		{ CR_SESSION_WEBLOGIC, WLS "!1!-308677666322", WLS, "1", "-308677666322" },
		{ CR_SESSION_WEBLOGIC, WLS "!1!130867766632a", WLS, "1", "130867766632a" },
	};

	expect_splits(table, COUNT(table));
}

Test(session, of_weblogic_may_be_percent_encoded_as_browsers_post_it)
{
	static const struct split table[] = {
		{ CR_SESSION_WEBLOGIC, WLS "%21-2032354160%21-457294087", WLS, "-2032354160",
		  "-457294087" },
		{ CR_SESSION_ANY, WLS "%21ms1!ms2%21", WLS, "ms1", "ms2" },
		{ CR_SESSION_ANY, "a%b%2%%21ms1%ms2!", "a%b%2%", "ms1%ms2", "" },
		{ CR_SESSION_WEBLOGIC, WLS "%2", WLS "%2", "", "" },
		{ CR_SESSION_WEBLOGIC, WLS "%22ms1", WLS "%22ms1", "", "" },
	};

	expect_splits(table, COUNT(table));
}

Test(session, of_tomcat_has_all_behind_its_first_dot_for_a_route)
{
	static const struct split table[] = {
		{ CR_SESSION_TOMCAT, TOM ".ms1", TOM, "ms1", "" },
		{ CR_SESSION_TOMCAT, TOM ".node-1.example.org", TOM, "node-1.example.org", "" },
		{ CR_SESSION_TOMCAT, TOM ".", TOM, "", "" },
		{ CR_SESSION_TOMCAT, TOM, TOM, "", "" },
		{ CR_SESSION_TOMCAT, TOM ".ms!1", TOM, "ms!1", "" },
	};

	expect_splits(table, COUNT(table));
}

Test(session, of_any_form_is_told_by_what_stands_in_it)
{
	static const struct split table[] = {
		{ CR_SESSION_ANY, WLS "!ms.1!NONE", WLS, "ms.1", "" },
		{ CR_SESSION_ANY, TOM ".ms1", TOM, "ms1", "" },
		{ CR_SESSION_ANY, TOM, TOM, "", "" },
		{ CR_SESSION_PLAIN, TOM ".ms1!ms2", TOM ".ms1!ms2", "", "" },
	};

	expect_splits(table, COUNT(table));
}

Test(session, has_an_id_whatever_it_looks_like)
{
	static const struct split table[] = {
		{ CR_SESSION_WEBLOGIC, "!ms1!ms2", "!ms1!ms2", "", "" },
		{ CR_SESSION_WEBLOGIC, "!", "!", "", "" },
		{ CR_SESSION_WEBLOGIC, "%21", "%21", "", "" },
		{ CR_SESSION_TOMCAT, ".ms1", ".ms1", "", "" },
		{ CR_SESSION_TOMCAT, ".", ".", "", "" },
		{ CR_SESSION_ANY, "..", "..", "", "" },
		{ CR_SESSION_ANY, "x", "x", "", "" },
	};
	struct cr_session session;

	expect_splits(table, COUNT(table));
	for (int format = CR_SESSION_ANY; format <= CR_SESSION_FIXED; format++) {
		const struct cr_session_rule rule = { .format = (enum cr_session_format)format };

		cr_expect_not(cr_session_split(&rule, str(""), &session), "format %d", format);
		cr_expect_not(cr_session_split(&rule, str(NULL), &session), "format %d", format);
	}
}

Test(session, has_its_server_at_a_fixed_place)
{
	static const struct {
		size_t offset, length;
		struct split split;
	} table[] = {
		{ 53, 10, { 0, WLS "!8691874221!-457294087", WLS "!", "8691874221", "" } },
		{ 53, 0, { 0, WLS "!ms1", WLS "!", "ms1", "" } },
		{ 0, 3, { 0, "ms1-abcdef", "-abcdef", "ms1", "" } },
		{ 3, 2, { 0, "abc42xyz", "abc", "42", "" } },
		{ 0, 0, { 0, "ms1", "ms1", "ms1", "" } },
		{ 0, 3, { 0, "ms1", "ms1", "ms1", "" } },
		/* too short */
		{ 3, 0, { 0, "ms1", "ms1", "", "" } },
		{ 0, 4, { 0, "ms1", "ms1", "", "" } },
		{ 2, 2, { 0, "ms1", "ms1", "", "" } },
		{ SIZE_MAX, 1, { 0, "ms1", "ms1", "", "" } },
		{ 1, SIZE_MAX, { 0, "ms1", "ms1", "", "" } },
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		const struct cr_session_rule rule = { .format = CR_SESSION_FIXED,
						      .offset = table[i].offset,
						      .length = table[i].length };

		expect_split(&rule, &table[i].split, row("fixed", i, table[i].split.value));
	}
}

/* Another replica, or a new primary, is the same session: its key must not move. */
Test(session, keeps_its_id_when_its_servers_change)
{
	static const char *const values[] = { WLS "!ms1!ms2", WLS "!ms1!ms3", WLS "!ms2!NONE",
					      WLS "!ms3!ms1!1308677666322", WLS };
	struct cr_session session;

	for (size_t i = 0; i < COUNT(values); i++) {
		cr_expect(
			cr_session_split(&(struct cr_session_rule){ 0 }, str(values[i]), &session));
		expect_str(session.id, WLS, "id", values[i]);
	}
}

/*** Cookies ***/

static const struct cr_session_rule java = { .cookie = "JSESSIONID",
					     .path = "jsessionid",
					     .param = "jsessionid" };

static void expect_found(const struct cr_session_request *request, enum cr_session_source source,
			 const char *value, const char *of)
{
	struct cr_session session = { .value = str("untouched") };

	cr_expect_eq(cr_session_find(&java, request, &session), source, "%s", of);
	expect_str(session.value, source != CR_SESSION_NOWHERE ? value : "untouched", "value", of);
}

Test(session, is_found_in_the_cookie_of_its_name)
{
	static const struct {
		const char *header, *value; /* NULL: none */
	} table[] = {
		{ "JSESSIONID=abc", "abc" },
		{ "a=1; JSESSIONID=abc; b=2", "abc" },
		{ "a=1;JSESSIONID=abc;b=2", "abc" },
		{ " \t a = 1 ;\tJSESSIONID \t= \tabc \t; b", "abc" },
		{ "JSESSIONID=\"abc\"", "abc" },
		{ "JSESSIONID=\" a b \"", " a b " },
		{ "JSESSIONID=\"abc", "\"abc" },
		{ "JSESSIONID=\"", "\"" },
		{ "JSESSIONID=a=b=c; x", "a=b=c" },
		{ "JSESSIONID=first; JSESSIONID=second", "first" },
		{ "JSESSIONID=; JSESSIONID=\"\"; JSESSIONID; JSESSIONID=fourth", "fourth" },
		{ ";;; ;=;==; JSESSIONID=abc", "abc" },
		{ "JSESSIONID=" WLS "!-2032354160!NONE; Path=/", WLS "!-2032354160!NONE" },
		/* a list's commas are not cookies': one may stand in another's value */
		{ "a=1, JSESSIONID=abc", NULL },
		{ "jsessionid=abc", NULL },
		{ "XJSESSIONID=abc; JSESSIONIDX=abc; JSESSION=abc", NULL },
		{ "a=JSESSIONID=abc", NULL },
		{ "JSESSIONID", NULL },
		{ "JSESSIONID=", NULL },
		{ "JSESSIONID= \t", NULL },
		{ "=abc", NULL },
		{ ";", NULL },
		{ "", NULL },
		{ NULL, NULL },
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		const struct cr_str header = str(table[i].header);

		expect_found(
			&(struct cr_session_request){ .cookie = &header, .n_cookies = 1 },
			table[i].value != NULL ? CR_SESSION_IN_COOKIE : CR_SESSION_NOWHERE,
			table[i].value,
			row("cookie", i, table[i].header != NULL ? table[i].header : "no text"));
	}
}

Test(session, is_found_in_any_of_several_cookie_headers)
{
	const struct cr_str headers[] = { str("a=1"), str(NULL), str("JSESSIONID="),
					  str("b=2; JSESSIONID=abc"), str("JSESSIONID=later") };

	for (size_t n = 0; n <= COUNT(headers); n++)
		expect_found(&(struct cr_session_request){ .cookie = headers, .n_cookies = n },
			     n >= 4 ? CR_SESSION_IN_COOKIE : CR_SESSION_NOWHERE, "abc", "headers");
}

/* The line as the server wrote it; a browser sends the pair before the first ';'. */
Test(session, of_a_real_tomcat_is_taken_apart)
{
	FILE *file = fopen(DATA_DIR "/tomcat_jsessionid_jvmroute.txt", "r");
	char line[512] = "";
	struct cr_session session;
	struct cr_str header;
	const char *pair;

	cr_assert_not_null(file);
	cr_assert_not_null(fgets(line, sizeof line, file));
	(void)fclose(file);
	pair = strstr(line, "Set-Cookie: ");
	cr_assert_not_null(pair);
	pair += strlen("Set-Cookie: ");
	header = (struct cr_str){ pair, strcspn(pair, ";") };
	cr_expect_eq(
		cr_session_find(&java,
				&(struct cr_session_request){ .cookie = &header, .n_cookies = 1 },
				&session),
		CR_SESSION_IN_COOKIE);
	expect_str(session.id, "C5DC1ECDB2B7E0703BBD4D9C2C298035", "id", line);
	expect_str(session.primary, "ms1", "primary", line);
	expect_str(session.secondary, "", "secondary", line);
}

/*** Addresses and forms ***/

Test(session, is_found_in_the_path_and_in_the_query)
{
	static const struct {
		const char *url;
		enum cr_session_source source;
		const char *value;
	} table[] = {
		{ "/shop;jsessionid=abc", CR_SESSION_IN_PATH, "abc" },
		{ "/shop;jsessionid=abc?page=2", CR_SESSION_IN_PATH, "abc" },
		{ "/shop;jsessionid=abc#top", CR_SESSION_IN_PATH, "abc" },
		{ "/shop;jsessionid=abc/cart", CR_SESSION_IN_PATH, "abc" },
		{ "/shop;a=1;jsessionid=abc;b=2/cart;c=3", CR_SESSION_IN_PATH, "abc" },
		{ "/shop;a=1/cart;jsessionid=abc", CR_SESSION_IN_PATH, "abc" },
		{ "https://example.org:7001/shop;jsessionid=abc", CR_SESSION_IN_PATH, "abc" },
		{ "/shop;jsessionid=" WLS "!-2032354160!-457294087", CR_SESSION_IN_PATH,
		  WLS "!-2032354160!-457294087" },
		{ "/shop;jsessionid=;jsessionid=abc", CR_SESSION_IN_PATH, "abc" },
		{ ";jsessionid=abc", CR_SESSION_IN_PATH, "abc" },
		{ "/shop;jsessionid=abc?jsessionid=def", CR_SESSION_IN_PATH, "abc" },
		{ "/shop?jsessionid=abc", CR_SESSION_IN_QUERY, "abc" },
		{ "/shop?a=1&jsessionid=abc&b=2", CR_SESSION_IN_QUERY, "abc" },
		{ "/shop?jsessionid=abc#jsessionid=def", CR_SESSION_IN_QUERY, "abc" },
		{ "/shop?x?jsessionid=no&jsessionid=abc", CR_SESSION_IN_QUERY, "abc" },
		{ "?jsessionid=abc", CR_SESSION_IN_QUERY, "abc" },
		{ "/jsessionid=abc", CR_SESSION_NOWHERE, NULL },
		{ "jsessionid=abc", CR_SESSION_NOWHERE, NULL },
		{ "/shop;JSESSIONID=abc", CR_SESSION_NOWHERE, NULL },
		{ "/shop;jsessionid", CR_SESSION_NOWHERE, NULL },
		{ "/shop;jsessionid/abc=1", CR_SESSION_NOWHERE, NULL },
		{ "/shop;jsessionid=/abc", CR_SESSION_NOWHERE, NULL },
		{ "/shop#;jsessionid=abc", CR_SESSION_NOWHERE, NULL },
		{ "/shop?a;jsessionid=abc", CR_SESSION_NOWHERE, NULL },
		{ "/shop?ajsessionid=abc&jsessionid", CR_SESSION_NOWHERE, NULL },
		{ "", CR_SESSION_NOWHERE, NULL },
		{ NULL, CR_SESSION_NOWHERE, NULL },
	};

	for (size_t i = 0; i < COUNT(table); i++)
		expect_found(&(struct cr_session_request){ .url = str(table[i].url) },
			     table[i].source, table[i].value,
			     row("url", i, table[i].url != NULL ? table[i].url : "no text"));
}

Test(session, is_found_in_a_posted_form)
{
	const struct cr_session_request request = { .url = str("/shop?page=2"),
						    .form = str("item=42&jsessionid=" WLS
								"%21ms1%21ms2&ok=1") };
	struct cr_session session;

	cr_expect_eq(cr_session_find(&java, &request, &session), CR_SESSION_IN_FORM);
	expect_str(session.value, WLS "%21ms1%21ms2", "value", "form");
	expect_str(session.id, WLS, "id", "form");
	expect_str(session.primary, "ms1", "primary", "form");
	expect_str(session.secondary, "ms2", "secondary", "form");
}

Test(session, is_the_cookies_before_the_paths_the_querys_and_the_forms)
{
	const struct cr_str header = str("JSESSIONID=in_cookie");
	const struct cr_session_request request = {
		.cookie = &header,
		.n_cookies = 1,
		.url = str("/shop;jsessionid=in_path?jsessionid=in_query"),
		.form = str("jsessionid=in_form"),
	};
	static const struct {
		const char *cookie, *path, *param;
		enum cr_session_source source;
		const char *value;
	} table[] = {
		{ "JSESSIONID", "jsessionid", "jsessionid", CR_SESSION_IN_COOKIE, "in_cookie" },
		{ NULL, "jsessionid", "jsessionid", CR_SESSION_IN_PATH, "in_path" },
		{ "other", "other", "jsessionid", CR_SESSION_IN_QUERY, "in_query" },
		{ "", "", "", CR_SESSION_NOWHERE, "" },
		{ NULL, NULL, NULL, CR_SESSION_NOWHERE, "" },
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		const struct cr_session_rule rule = { .cookie = table[i].cookie,
						      .path = table[i].path,
						      .param = table[i].param };
		struct cr_session session = { .value = str("") };

		cr_expect_eq(cr_session_find(&rule, &request, &session), table[i].source, "row %zu",
			     i);
		expect_str(session.value, table[i].value, "value", row("order", i, "all of them"));
	}
}

/* Exactly as many bytes as are given, in memory that ends there: for the sanitizers. */
Test(session, reads_no_byte_beyond_its_texts)
{
	static const char *const texts[] = { "JSESSIONID", "JSESSIONID=a%2",  "JSESSIONID=a!", ";",
					     "/a;",        ";jsessionid=a%2", "?jsessionid=a" };

	for (size_t i = 0; i < COUNT(texts); i++)
		for (size_t len = 0; len <= strlen(texts[i]); len++) {
			char *bytes = malloc(len > 0 ? len : 1);
			const struct cr_str text = { bytes, len };
			struct cr_session session;

			cr_assert_not_null(bytes);
			memcpy(bytes, texts[i], len);
			(void)cr_session_find(&java,
					      &(struct cr_session_request){ .cookie = &text,
									    .n_cookies = 1,
									    .url = text,
									    .form = text },
					      &session);
			free(bytes);
		}
}
