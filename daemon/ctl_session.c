/* ctl_session.c - what was understood of a session, for people and as a document. */
#include <stdio.h>

#include <callrouter/callrouter.h>

#include "ctl.h"
#include "document.h"
#include "text.h"

/* "ms1", "none", "-2032354160 (no server of orders)" */
static void print_server(const char *what, struct cr_str server, uint16_t row, const char *service)
{
	char text[256], clean[256];
	const int len = (int)(server.len < sizeof text ? server.len : sizeof text - 1);

	(void)snprintf(text, sizeof text, "%.*s", len, server.ptr);
	(void)printf(", %s %s", what,
		     server.len > 0 ? ctl_clean(clean, sizeof clean, text) : "none");
	if (server.len > 0 && row == CR_NONE)
		(void)printf(" (no server of %s)", service);
}

void ctl_session_print(const struct cr_session *session, const struct cr_call *call,
		       const char *service)
{
	(void)printf("  session: id %zu byte%s", session->id.len, text_s(session->id.len));
	print_server("primary", session->primary, call->primary, service);
	print_server("secondary", session->secondary, call->secondary, service);
	(void)fputc('\n', stdout);
}

static json_t *server_document(struct cr_str server, uint16_t row)
{
	if (server.len == 0)
		return json_null();
	return json_pack("{s:o,s:b}", "name", document_text(server.ptr, server.len), "is_server",
			 row != CR_NONE);
}

json_t *ctl_session_document(const struct cr_session *session, const struct cr_call *call)
{
	return json_pack("{s:o,s:o,s:o}", "id", document_text(session->id.ptr, session->id.len),
			 "primary", server_document(session->primary, call->primary), "secondary",
			 server_document(session->secondary, call->secondary));
}
