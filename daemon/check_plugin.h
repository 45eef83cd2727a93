/* check_plugin.h - load a plugin's file in a process of its own and try it: callrouterd
 * --check-plugin. */
#ifndef CR_DAEMON_CHECK_PLUGIN_H
#define CR_DAEMON_CHECK_PLUGIN_H

#include "profiles.h"

/**
 * Check file with these options ("NAME=VALUE", cut in place). For a collector that reads the source
 * language they are written as in its entry: profile, keys of the language (their values in YAML)
 * and options. Prints what there is to say; returns the exit status: 0 good, 1 refused, 2 wrong
 * usage. [main]
 */
int check_plugin(const char *file, char **option, int n_options, const struct profiles *profiles);

#endif
