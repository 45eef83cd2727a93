/* collector_settings.h - "name=value" texts become the option values of a collector. */
#ifndef CR_TESTS_COLLECTOR_SETTINGS_H
#define CR_TESTS_COLLECTOR_SETTINGS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/plugin.h>

#include "option.h"

#define SETTINGS_MAX 32

/**
 * Cut the texts (NULL-terminated) and check them against the table. copy: of each one, the caller's
 * to free, also on failure; value: point into them. Returns 0, or -1 with a line in err.
 */
static inline int collector_settings_parse(const struct cr_option *table,
					   const char *const *settings, char *copy[SETTINGS_MAX],
					   union cr_value value[SETTINGS_MAX], char *err,
					   size_t err_len)
{
	struct option_text given[SETTINGS_MAX];
	struct err why;
	size_t n = 0;

	for (; settings != NULL && settings[n] != NULL && n < SETTINGS_MAX; n++) {
		char *equals;

		copy[n] = strdup(settings[n]);
		if (copy[n] == NULL)
			abort();
		equals = strchr(copy[n], '=');
		if (equals == NULL) {
			snprintf(err, err_len, "\"%s\" is not name=value", settings[n]);
			return -1;
		}
		*equals = '\0';
		given[n] = (struct option_text){ copy[n], equals + 1 };
	}
	for (size_t i = 0; i < n; i++)
		if (option_check(table, given[i].name, given[i].value, &why) < 0) {
			snprintf(err, err_len, "%s", why.text);
			return -1;
		}
	if (option_table_check(table, &why) < 0 || option_count(table) > SETTINGS_MAX ||
	    option_parse(table, given, n, value, &why) < 0) {
		snprintf(err, err_len, "%s", why.text);
		return -1;
	}
	return 0;
}

#endif
