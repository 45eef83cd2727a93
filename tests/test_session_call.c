/* test_session_call.c - calls of a session: their key, and the rows of its servers. */
#include "plugins/probe.h"
#include "route_scene.h"

static const struct cr_session_rule any = { .cookie = "JSESSIONID" };

static int take_session(struct scene *s, const char *value)
{
	struct cr_session session;

	s->call.key = (struct cr_str){ "before", 6 };
	cr_assert(cr_session_split(&any, (struct cr_str){ value, strlen(value) }, &session));
	return cr_call_session(s->thread, s->service, &session, &s->call);
}

static void expect_call_of(const struct scene *s, const char *key, uint16_t primary,
			   uint16_t secondary)
{
	cr_expect(s->call.key.len == strlen(key) &&
			  memcmp(s->call.key.ptr, key, s->call.key.len) == 0,
		  "key \"%.*s\", not \"%s\"", (int)s->call.key.len, s->call.key.ptr, key);
	cr_expect_eq(s->call.primary, primary, "primary %u, not %u", s->call.primary, primary);
	cr_expect_eq(s->call.secondary, secondary, "secondary %u, not %u", s->call.secondary,
		     secondary);
}

Test(session_call, has_the_id_for_a_key_and_the_rows_of_servers_of_these_names)
{
	struct scene s;

	scene_open(&s, 12);
	scene_attach(&s);
	scene_publish(&s);
	cr_expect_eq(take_session(&s, "abc!ms1!ms12"), 2);
	expect_call_of(&s, "abc", 0, 11);
	cr_expect_eq(take_session(&s, "abc!ms2!NONE"), 1);
	expect_call_of(&s, "abc", 1, CR_NONE);
	cr_expect_eq(take_session(&s, "abc!-2032354160!ms3"), 1);
	expect_call_of(&s, "abc", CR_NONE, 2);
	cr_expect_eq(take_session(&s, "abc.ms10"), 1);
	expect_call_of(&s, "abc", 9, CR_NONE);
	/* nearly */
	cr_expect_eq(take_session(&s, "abc!ms!ms123"), 0);
	expect_call_of(&s, "abc", CR_NONE, CR_NONE);
	cr_expect_eq(take_session(&s, "abc!MS1!ms1 "), 0);
	expect_call_of(&s, "abc", CR_NONE, CR_NONE);
	cr_expect_eq(take_session(&s, "abc"), 0);
	expect_call_of(&s, "abc", CR_NONE, CR_NONE);
	scene_close(&s);
}

Test(session_call, of_no_session_keeps_its_key)
{
	struct scene s;

	scene_open(&s, 3);
	scene_attach(&s);
	scene_publish(&s);
	s.call.key = (struct cr_str){ "mine", 4 };
	s.call.primary = s.call.secondary = 1;
	cr_expect_eq(cr_call_session(s.thread, s.service, NULL, &s.call), 0);
	expect_call_of(&s, "mine", CR_NONE, CR_NONE);
	scene_close(&s);
}

Test(session_call, has_a_key_and_no_rows_where_nothing_is_published)
{
	struct scene s;

	scene_open(&s, 3);
	scene_attach(&s);
	cr_expect_eq(take_session(&s, "abc!ms1!ms2"), 0);
	expect_call_of(&s, "abc", CR_NONE, CR_NONE);
	scene_publish(&s);
	s.service = cr_service(s.cr, "nowhere");
	cr_expect_eq(take_session(&s, "abc!ms1!ms2"), 0);
	s.service = -1;
	cr_expect_eq(take_session(&s, "abc!ms1!ms2"), 0);
	expect_call_of(&s, "abc", CR_NONE, CR_NONE);
	scene_close(&s);
}

Test(session_call, knows_the_servers_of_its_service_only)
{
	struct scene s;

	scene_open(&s, 6);
	s.orders->first = 2;
	s.orders->n_rows = 3; /* ms3 ms4 ms5 */
	scene_attach(&s);
	scene_publish(&s);
	cr_expect_eq(take_session(&s, "abc!ms3!ms6"), 1);
	expect_call_of(&s, "abc", 0, CR_NONE);
	cr_expect_eq(take_session(&s, "abc!ms2!ms5"), 1);
	expect_call_of(&s, "abc", CR_NONE, 2);
	scene_close(&s);
}

/* What the router sees of the call. */
static void expect_seen(struct scene *s, uint16_t primary, uint16_t secondary)
{
	struct probe_look seen = { .n = 0 };

	s->call.method = (struct cr_str){ "look", 4 };
	s->call.key = (struct cr_str){ (const char *)&seen, sizeof seen };
	expect_call(s, "ms1 ms2 ms3", CR_ROUTER_DECIDED, CR_REASON_NONE);
	cr_expect_eq(seen.n, 3);
	cr_expect_eq(seen.primary, primary, "primary %u, not %u", seen.primary, primary);
	cr_expect_eq(seen.secondary, secondary, "secondary %u, not %u", seen.secondary, secondary);
}

/* A state may have become another between the two calls. */
Test(session_call, shows_routers_no_row_beyond_their_view)
{
	struct scene s;

	scene_open(&s, 3);
	s.plan->n_metrics = 1;
	s.plan->metric[0] = "free_bytes";
	s.orders->router = probe(&s, "");
	scene_attach(&s);
	scene_publish(&s);
	cr_expect_eq(take_session(&s, "abc!ms3!ms1"), 2);
	expect_seen(&s, 2, 0);
	s.call.primary = 3;
	expect_seen(&s, CR_NONE, 0);
	s.call.primary = 1;
	s.call.secondary = CR_NONE - 1;
	expect_seen(&s, 1, CR_NONE);
	cr_expect_eq(s.call.secondary, CR_NONE - 1, "the caller's own call is changed");
	scene_close(&s);
}
