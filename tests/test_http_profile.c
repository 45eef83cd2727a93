/* test_http_profile.c - how the answers of Tomcat's status page and of Jolokia are read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "jolokia.h"
#include "tomcat_status.h"

enum { FREE, SIZE, MAX, BUSY, THREADS, REQUESTS, ERRORS }; /* tomcat-status */
enum { J_USED, J_SIZE, J_MAX };                            /* jolokia */

static struct http_reading reading;

static int read_text(const struct http_profile *profile, const char *body)
{
	for (size_t i = 0; i < HTTP_METRICS_MAX; i++)
		reading.value[i] = NAN;
	reading.why = 0;
	reading.text[0] = '\0';
	return profile->parse(body, strlen(body), &reading);
}

static int read_capture(const struct http_profile *profile, const char *name)
{
	static char body[16384];
	char path[512];
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
	f = fopen(path, "r");
	cr_assert(f, "%s", path);
	n = fread(body, 1, sizeof body - 1, f);
	body[n] = '\0';
	fclose(f);
	return read_text(profile, body);
}

static void expect_failure(const struct http_profile *profile, const char *body, enum cr_why why,
			   const char *text)
{
	cr_assert_lt(read_text(profile, body), 0, "%s", body);
	cr_expect_eq(reading.why, why, "%s: %d", body, reading.why);
	cr_expect_str_eq(reading.text, text);
}

static char *repeat(const char *text, size_t times)
{
	size_t len = strlen(text);
	char *all = malloc(len * times + 1);

	cr_assert(all);
	for (size_t i = 0; i < times; i++)
		memcpy(all + i * len, text, len + 1);
	return all;
}

/*** tomcat-status ***/

Test(tomcat_status, reads_the_page_of_a_real_tomcat_10)
{
	cr_assert_eq(read_capture(&tomcat_status_profile, "tomcat10_status.xml"), 0);
	cr_expect_eq(reading.value[FREE], 48429664);
	cr_expect_eq(reading.value[SIZE], 64880640);
	cr_expect_eq(reading.value[MAX], 259522560);
	cr_expect_eq(reading.value[BUSY], 1);
	cr_expect_eq(reading.value[THREADS], 20);
	cr_expect_eq(reading.value[REQUESTS], 1);
	cr_expect_eq(reading.value[ERRORS], 0);
}

Test(tomcat_status, adds_up_the_connectors)
{
	cr_assert_eq(read_text(&tomcat_status_profile,
			       "<status><jvm><memory free='1' total='2' max='3'/></jvm>"
			       "<connector name='a'><threadInfo maxThreads=\"20\" "
			       "currentThreadsBusy=\"3\"/><requestInfo requestCount=\"100\" "
			       "errorCount=\"2\"/></connector>"
			       "<connector name='b'><threadInfo maxThreads=\"200\" "
			       "currentThreadsBusy=\"40\"/><requestInfo requestCount=\"1000\" "
			       "errorCount=\"5\"/></connector></status>"),
		     0);
	cr_expect_eq(reading.value[BUSY], 43);
	cr_expect_eq(reading.value[THREADS], 220);
	cr_expect_eq(reading.value[REQUESTS], 1100);
	cr_expect_eq(reading.value[ERRORS], 7);
}

Test(tomcat_status, leaves_out_minus_one_alone)
{
	cr_assert_eq(read_text(&tomcat_status_profile,
			       "<status><jvm><memory free='1' total='-2' max='-1'/></jvm>"
			       "<connector><threadInfo maxThreads='-1' currentThreadsBusy='-1'/>"
			       "</connector><connector><threadInfo maxThreads='8' "
			       "currentThreadsBusy='-1'/></connector></status>"),
		     0);
	cr_expect(isnan(reading.value[MAX]));
	cr_expect_eq(reading.value[SIZE], -2); /* the host counts it as rejected */
	cr_expect_eq(reading.value[THREADS], 8);
	cr_expect(isnan(reading.value[BUSY]));
}

Test(tomcat_status, takes_no_figure_from_another_place)
{
	expect_failure(&tomcat_status_profile,
		       "<status><jvm/><memory free='1' total='2' max='3'/><x><jvm><memory free='1' "
		       "total='2' max='3'/></jvm></x></status>",
		       CR_VALUE, "not a full status page: no free of <memory>");
}

Test(tomcat_status, says_what_is_wrong_with_a_page)
{
	const struct http_profile *p = &tomcat_status_profile;

	expect_failure(p, "", CR_REPLY, "bad XML in line 1, column 1: no element found");
	expect_failure(p, "<status><jvm><memory free='1'", CR_REPLY,
		       "bad XML in line 1, column 14: unclosed token");
	expect_failure(p, "<status>\n<jvm></status>", CR_REPLY,
		       "bad XML in line 2, column 8: mismatched tag");
	expect_failure(p, "{\"a\":1}", CR_REPLY,
		       "bad XML in line 1, column 1: not well-formed (invalid token)");
	expect_failure(p, "<server/>", CR_REPLY, "not a status page: its root is <server>");
	expect_failure(p, "<status><jvm><memory free='1' total='2'/></jvm></status>", CR_VALUE,
		       "not a full status page: no max of <memory>");
	expect_failure(p, "<status><jvm><memory free='NaN' total='2' max='3'/></jvm></status>",
		       CR_VALUE, "free of <memory> is not a number");
	expect_failure(p, "<status><jvm><memory free='1' total='' max='3'/></jvm></status>",
		       CR_VALUE, "total of <memory> is not a number");
	expect_failure(p, "<status><jvm><memory free='1' total='2' max='99999999999999999999'/>",
		       CR_VALUE, "max of <memory> is not a number");
}

Test(tomcat_status, recognises_a_page_for_people)
{
	const struct http_profile *p = &tomcat_status_profile;
	const char *text = "not a status page: looks like HTML (login page?)";

	cr_assert_lt(read_capture(p, "tomcat_401.html"), 0);
	cr_expect_str_eq(reading.text, text);
	expect_failure(p, " \r\n\t<HTML><body>Log in</body></HTML>", CR_REPLY, text);
	expect_failure(p, "\xef\xbb\xbf<!doctype HTML><p>", CR_REPLY, text);
}

Test(tomcat_status, stops_at_a_doctype_before_any_entity)
{
	expect_failure(&tomcat_status_profile,
		       "<?xml version='1.0'?><!DOCTYPE status [<!ENTITY a \"aaaaaaaaaa\">"
		       "<!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;\">"
		       "<!ENTITY d SYSTEM \"file:///etc/passwd\">]><status>&c;&d;</status>",
		       CR_REPLY, "not a status page: it has a DOCTYPE");
}

Test(tomcat_status, survives_a_million_open_elements)
{
	char *deep = repeat("<status>", 500000);

	cr_assert_lt(read_text(&tomcat_status_profile, deep), 0);
	cr_expect_eq(reading.why, CR_REPLY);
	free(deep);
}

/*** jolokia ***/

Test(jolokia, reads_the_heap_under_two_collectors_of_garbage)
{
	cr_assert_eq(read_capture(&jolokia_profile, "jolokia_like_g1.json"), 0);
	cr_expect_eq(reading.value[J_USED], 4116480);
	cr_expect_eq(reading.value[J_SIZE], 35651584);
	cr_expect_eq(reading.value[J_MAX], 134217728);
	cr_assert_eq(read_capture(&jolokia_profile, "jolokia_like_serial.json"), 0);
	cr_expect_eq(reading.value[J_USED], 5010984);
	cr_expect_eq(reading.value[J_SIZE], 32440320);
	cr_expect_eq(reading.value[J_MAX], 129761280);
}

Test(jolokia, reads_numbers_in_every_form_that_agents_use)
{
	static const struct {
		const char *used;
		double is;
	} forms[] = {
		{ "4116480", 4116480 },
		{ "\"4116480\"", 4116480 },
		{ "4.11648E6", 4116480 },
		{ "9007199254740993", 9007199254740992.0 },
		{ "\"8589934592\"", 8589934592.0 },
		{ "-7", -7 },
		{ "0", 0 },
	};
	char body[256];

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		snprintf(body, sizeof body,
			 "{\"value\":{\"used\":%s,\"committed\":5},\"status\":200}", forms[i].used);
		cr_assert_eq(read_text(&jolokia_profile, body), 0, "%s: %s", body, reading.text);
		cr_expect_eq(reading.value[J_USED], forms[i].is, "%s", body);
		cr_expect(isnan(reading.value[J_MAX]));
	}
}

Test(jolokia, leaves_out_an_undefined_maximum)
{
	cr_assert_eq(read_text(&jolokia_profile,
			       "{\"value\":{\"used\":1,\"committed\":5,\"max\":-1},"
			       "\"status\":200}"),
		     0);
	cr_expect(isnan(reading.value[J_MAX]));
	cr_assert_eq(read_text(&jolokia_profile, "{\"value\":{\"used\":1,\"committed\":5,"
						 "\"max\":\"-1\"},\"status\":200}"),
		     0);
	cr_expect(isnan(reading.value[J_MAX]));
}

Test(jolokia, takes_the_status_in_the_body_for_what_counts)
{
	const struct http_profile *p = &jolokia_profile;

	cr_assert_lt(read_capture(p, "jolokia_like_error.json"), 0);
	cr_expect_eq(reading.why, CR_REPLY);
	cr_expect_str_eq(reading.text,
			 "Jolokia's status 404: javax.management.InstanceNotFoundException : "
			 "no.such:type=X");
	expect_failure(p, "{\"status\":403,\"error\":\"Reading attribute is forbidden\"}", CR_AUTH,
		       "Jolokia's status 403: Reading attribute is forbidden");
	expect_failure(p, "{\"status\":500,\"value\":{\"used\":1,\"committed\":5}}", CR_REPLY,
		       "Jolokia's status 500: no reason given");
}

Test(jolokia, says_what_is_wrong_with_an_answer)
{
	const struct http_profile *p = &jolokia_profile;

	expect_failure(p, "<html><body>Log in</body></html>", CR_REPLY,
		       "not JSON: looks like HTML (login page?)");
	expect_failure(p, "[]", CR_REPLY, "not an answer of Jolokia: it is no JSON object");
	expect_failure(p, "{}", CR_REPLY, "not an answer of Jolokia: it has no status");
	expect_failure(p, "{\"status\":\"200\"}", CR_REPLY,
		       "not an answer of Jolokia: it has no status");
	expect_failure(p, "{\"status\":200,\"value\":5}", CR_REPLY, "\"value\" is not an object");
	expect_failure(p, "{\"status\":200,\"value\":{\"used\":1}}", CR_VALUE,
		       "\"value\" has no \"committed\"");
	expect_failure(p, "{\"status\":200,\"value\":{\"used\":null,\"committed\":5}}", CR_VALUE,
		       "\"used\" is not a number");
	expect_failure(p, "{\"status\":200,\"value\":{\"used\":\"12x\",\"committed\":5}}", CR_VALUE,
		       "\"used\" is not a number");
	expect_failure(p, "{\"status\":200,\"value\":{\"used\":\" 12\",\"committed\":5}}", CR_VALUE,
		       "\"used\" is not a number");
}

Test(jolokia, refuses_what_is_not_json)
{
	static const char *const bodies[] = {
		"",
		"{\"status\":200,\"value\":{\"used\":1,",
		"{\"status\":200} x",
		"{\"status\":200,\"value\":{\"used\":NaN}}",
		"{\"status\":1e400}",
		"{'status':200}",
		"\xff\xfe",
	};

	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		cr_assert_lt(read_text(&jolokia_profile, bodies[i]), 0, "%s", bodies[i]);
		cr_expect_eq(reading.why, CR_REPLY);
		cr_expect_eq(strncmp(reading.text, "bad JSON in line 1, column ", 27), 0, "%s",
			     reading.text);
	}
}

Test(jolokia, survives_a_deep_answer)
{
	char *deep = repeat("[", 1000000);

	cr_assert_lt(read_text(&jolokia_profile, deep), 0);
	cr_expect_eq(reading.why, CR_REPLY);
	cr_expect(strstr(reading.text, "maximum parsing depth reached"), "%s", reading.text);
	free(deep);
}
