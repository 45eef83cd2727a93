/* ctl_health.c - a server's health in few words, the same in all tables. */
#include <math.h>
#include <string.h>

#include "ctl.h"

char *ctl_show_left(char *buf, size_t len, double seconds)
{
	long long s = seconds > 0 && seconds < 1e15 ? (long long)seconds : 0;

	s += (double)s < seconds;
	if (s < 60)
		(void)snprintf(buf, len, "%llds", s);
	else if (s < 3600)
		(void)snprintf(buf, len, "%lldm%llds", s / 60, s % 60);
	else
		(void)snprintf(buf, len, "%lldh%lldm", s / 3600, s / 60 % 60);
	return buf;
}

static enum ctl_colour colour_of(const char *state, const json_t *server)
{
	if (strcmp(state, "up") == 0)
		return ctl_count_of(server, "failures_in_row") > 0 ? CTL_YELLOW : CTL_GREEN;
	if (strcmp(state, "ejected") == 0 || strcmp(state, "down") == 0)
		return CTL_RED;
	return CTL_YELLOW;
}

char *ctl_show_state(char *buf, size_t len, const char *state, const json_t *server)
{
	const double left_s = ctl_number(server, "state_for_s");
	const double slow_start = ctl_number(server, "slow_start");
	const long long in_row = ctl_count_of(server, "failures_in_row");
	const bool is_up = strcmp(state, "up") == 0;
	char left[32];

	if (!isnan(left_s) && (strcmp(state, "aside") == 0 || strcmp(state, "ejected") == 0))
		(void)snprintf(buf, len, "%s %s", state, ctl_show_left(left, sizeof left, left_s));
	else if (is_up && in_row > 0)
		(void)snprintf(buf, len, "up, failed %lld", in_row);
	else if (is_up && !isnan(slow_start))
		(void)snprintf(buf, len, "up %.0f %%", 100 * slow_start);
	else
		(void)snprintf(buf, len, "%s", state);
	return buf;
}

void ctl_add_state(struct ctl_table *table, const char *state, const json_t *server)
{
	char text[96];

	ctl_table_add(table, colour_of(state, server),
		      ctl_show_state(text, sizeof text, state, server));
}
