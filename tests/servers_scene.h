/* servers_scene.h - three servers, one of them the admin server, for the suites of servers. */
#ifndef CR_TESTS_SERVERS_SCENE_H
#define CR_TESTS_SERVERS_SCENE_H

#include <string.h>

#include <criterion/criterion.h>

#include "servers.h"

static char a_name[] = "ms1", b_name[] = "ms2", admin_name[] = "admin";
static char a_address[] = "10.0.0.11:7101", b_address[] = "10.0.0.12:7101";
static char admin_address[] = "10.0.0.10:7001";

static struct config_server trio[] = {
	{ .name = admin_name, .address = admin_address, .is_admin = true, .weight = 1 },
	{ .name = a_name, .address = a_address, .weight = 5 },
	{ .name = b_name, .address = b_address, .weight = 3 },
};

static void configure(struct servers *servers, struct config_server *list, size_t n)
{
	const struct config config = { .servers = list, .n_servers = n };
	struct err err = { 0 };

	cr_assert_eq(servers_configure(servers, &config, &err), 0, "%s", err.text);
}

static struct servers *make(const char *state_dir)
{
	struct servers *servers = servers_new(state_dir);

	cr_assert_not_null(servers);
	configure(servers, trio, 3);
	return servers;
}

static struct servers_entry entry_of(struct servers *servers, const char *name)
{
	struct servers_entry entry;

	for (size_t i = 0; servers_get(servers, i, &entry); i++)
		if (strcmp(entry.name, name) == 0)
			return entry;
	cr_assert_fail("no server %s", name);
	return entry;
}

#endif
