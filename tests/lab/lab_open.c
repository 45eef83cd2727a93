/* lab_open.c - sorts settings into profile, keys of the source language, and options. */
#include "lab_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_profile.h"
#include "source.h"

enum { OPTIONS_MAX = 16 };

struct sorted {
	const char *profile;
	char keys[8192]; /* "key: value\n" lines */
	const char *option[OPTIONS_MAX + LAB_SETTINGS_MAX + 1];
	size_t n_options;
};

static bool is_of_language(const char *setting, size_t len)
{
	for (size_t i = 0; source_language_keys[i]; i++)
		if (strlen(source_language_keys[i]) == len &&
		    memcmp(source_language_keys[i], setting, len) == 0)
			return true;
	return false;
}

static void sort(struct sorted *sorted, const char *const *settings)
{
	size_t used = 0;

	for (; settings && *settings; settings++) {
		const size_t len = strcspn(*settings, "=");

		if (strncmp(*settings, "profile=", 8) == 0)
			sorted->profile = *settings + 8;
		else if (is_of_language(*settings, len))
			used += (size_t)snprintf(sorted->keys + used, sizeof sorted->keys - used,
						 "%.*s: %s\n", (int)len, *settings,
						 *settings + len + 1);
		else if (sorted->n_options < OPTIONS_MAX)
			sorted->option[sorted->n_options++] = *settings;
	}
}

struct collector_host *lab_open(const struct cr_collector *collector, const char *source,
				const char *const *settings, char *err, size_t err_len)
{
	struct sorted sorted = { .keys = "" };
	struct lab_profile *profile;
	struct collector_host *host;

	sort(&sorted, settings);
	if (!sorted.profile && !sorted.keys[0])
		return collector_host_open(collector, source, settings, err, err_len);
	profile = lab_profile_new(collector, sorted.profile, sorted.keys[0] ? sorted.keys : NULL,
				  err, err_len);
	if (!profile)
		return NULL;
	for (size_t i = 0; i < LAB_SETTINGS_MAX && profile->setting[i]; i++)
		sorted.option[sorted.n_options++] = profile->setting[i];
	host = collector_host_open(collector, source, sorted.option, err, err_len);
	lab_profile_free(profile);
	return host;
}
