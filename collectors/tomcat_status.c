/*
 * tomcat_status.c - reads <status><jvm><memory free= total= max=/></jvm><connector><threadInfo/>
 * <requestInfo/></connector>..</status>; the figures of all connectors are added up.
 */
#include "tomcat_status.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include <expat.h>

enum { HEAP_FREE, HEAP_SIZE, HEAP_MAX, BUSY, THREADS, REQUESTS, ERRORS, METRICS };

static const char *const metrics[METRICS + 1] = {
	[HEAP_FREE] = "jvm_heap_free_bytes", [HEAP_SIZE] = "jvm_heap_size_bytes",
	[HEAP_MAX] = "jvm_heap_max_bytes",   [BUSY] = "busy_threads",
	[THREADS] = "max_threads",           [REQUESTS] = "requests_total",
	[ERRORS] = "request_errors_total",
};

/* Where each figure stands; the root is <status>. */
static const struct {
	const char *parent, *element, *attribute;
	bool is_needed;
} places[METRICS] = {
	[HEAP_FREE] = { "jvm", "memory", "free", true },
	[HEAP_SIZE] = { "jvm", "memory", "total", true },
	[HEAP_MAX] = { "jvm", "memory", "max", true },
	[BUSY] = { "connector", "threadInfo", "currentThreadsBusy", false },
	[THREADS] = { "connector", "threadInfo", "maxThreads", false },
	[REQUESTS] = { "connector", "requestInfo", "requestCount", false },
	[ERRORS] = { "connector", "requestInfo", "errorCount", false },
};

struct page {
	XML_Parser parser;
	struct http_reading *reading;
	unsigned int depth; /* of the element that comes next; the root has 0 */
	const char *parent; /* the section of level 1 that we are in, if it is one of ours */
	bool is_found[METRICS];
	bool is_failed; /* reading says why */
};

static void stop(struct page *page)
{
	page->is_failed = true;
	XML_StopParser(page->parser, XML_FALSE);
}

static const char *attribute_get(const XML_Char *const *attributes, const char *name)
{
	for (; *attributes; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

static void read_figure(struct page *page, size_t i, const char *text)
{
	double n;

	if (!http_number(text, &n)) {
		http_reading_fail(page->reading, CR_VALUE, "%s of <%s> is not a number",
				  places[i].attribute, places[i].element);
		stop(page);
		return;
	}
	/* -1 (NaN here) is "no limit" or "no pool": such a connector adds nothing */
	if (!page->is_found[i])
		page->reading->value[i] = n;
	else if (!isnan(n))
		page->reading->value[i] =
			isnan(page->reading->value[i]) ? n : page->reading->value[i] + n;
	page->is_found[i] = true;
}

static void read_figures(struct page *page, const char *element, const XML_Char *const *attributes)
{
	for (size_t i = 0; i < METRICS && !page->is_failed; i++) {
		const char *text;

		if (strcmp(places[i].parent, page->parent) != 0 ||
		    strcmp(places[i].element, element) != 0)
			continue;
		text = attribute_get(attributes, places[i].attribute);
		if (text)
			read_figure(page, i, text);
	}
}

static void on_start(void *data, const XML_Char *element, const XML_Char **attributes)
{
	struct page *page = data;

	switch (page->depth++) {
	case 0:
		if (strcmp(element, "status") == 0)
			return;
		http_reading_fail(page->reading, CR_REPLY, "not a status page: its root is <%.40s>",
				  element);
		stop(page);
		return;
	case 1:
		page->parent = NULL;
		for (size_t i = 0; i < METRICS; i++)
			if (strcmp(places[i].parent, element) == 0)
				page->parent = places[i].parent;
		return;
	case 2:
		if (page->parent)
			read_figures(page, element, (const XML_Char *const *)attributes);
		return;
	default:
		return;
	}
}

static void on_end(void *data, const XML_Char *element)
{
	struct page *page = data;

	(void)element;
	page->depth--;
}

/* A status page has none, and what a DOCTYPE brings along (entities) can only do harm. */
static void on_doctype(void *data, const XML_Char *name, const XML_Char *system_id,
		       const XML_Char *public_id, int has_internal_subset)
{
	struct page *page = data;

	(void)name, (void)system_id, (void)public_id, (void)has_internal_subset;
	http_reading_fail(page->reading, CR_REPLY, "not a status page: it has a DOCTYPE");
	stop(page);
}

static int check(const struct page *page, enum XML_Status status)
{
	if (page->is_failed)
		return -EPROTO;
	if (status != XML_STATUS_OK)
		return http_reading_fail(page->reading, CR_REPLY,
					 "bad XML in line %lu, column %lu: %s",
					 XML_GetCurrentLineNumber(page->parser),
					 XML_GetCurrentColumnNumber(page->parser) + 1,
					 XML_ErrorString(XML_GetErrorCode(page->parser)));
	for (size_t i = 0; i < METRICS; i++)
		if (places[i].is_needed && !page->is_found[i])
			return http_reading_fail(page->reading, CR_VALUE,
						 "not a full status page: no %s of <%s>",
						 places[i].attribute, places[i].element);
	return 0;
}

static int parse(const char *body, size_t len, struct http_reading *reading)
{
	struct page page = { .reading = reading };
	int rc;

	if (http_looks_like_html(body, len))
		return http_reading_fail(reading, CR_REPLY,
					 "not a status page: looks like HTML (login page?)");
	if (len > INT_MAX)
		return http_reading_fail(reading, CR_REPLY, "not a status page: too long");
	page.parser = XML_ParserCreate(NULL);
	if (!page.parser)
		return http_reading_fail(reading, CR_REPLY, "no memory for an XML parser");
	XML_SetUserData(page.parser, &page);
	XML_SetElementHandler(page.parser, on_start, on_end);
	XML_SetStartDoctypeDeclHandler(page.parser, on_doctype);
	rc = check(&page, XML_Parse(page.parser, body, (int)len, XML_TRUE));
	XML_ParserFree(page.parser);
	return rc;
}

const struct http_profile tomcat_status_profile = {
	.path = "/manager/status?XML=true",
	.accept = "Accept: text/xml",
	.allow = "the role manager-status is needed",
	.metrics = metrics,
	.parse = parse,
};
