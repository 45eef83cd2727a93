/*
 * lab_profile.h - what the daemon makes of a collector's entry: the profile's file, own keys laid
 * over it, the collector's options taken out, and the rest as the option "source".
 */
#ifndef CR_TESTS_LAB_PROFILE_H
#define CR_TESTS_LAB_PROFILE_H

#include <callrouter/plugin.h>

#define LAB_SETTINGS_MAX 16

struct lab_profile {
	char *setting[LAB_SETTINGS_MAX + 1]; /* "name=value", NULL-terminated */
};

/**
 * Read collectors/profiles/NAME.yaml (NULL: none), lay keys, a map in YAML, over it (NULL: none).
 * Returns NULL with err if that is no good. Ends the process without memory.
 */
struct lab_profile *lab_profile_new(const struct cr_collector *collector, const char *name,
				    const char *keys, char *err, size_t err_len);
void lab_profile_free(struct lab_profile *profile);

#endif
