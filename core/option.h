/* option.h - a plugin's options: text in, checked values out. [L2] */
#ifndef CR_CORE_OPTION_H
#define CR_CORE_OPTION_H

#include <callrouter/plugin.h>

#include "err.h"

/** One setting as it was written. */
struct option_text {
	const char *name, *value;
};

/** Number of rows of a table (NULL: 0). [any] */
size_t option_count(const struct cr_option *table);

/** The row of this name, or -ENOENT (also where there is no table). [any] */
int option_find(const struct cr_option *table, const char *name);

/**
 * Check one setting against the table: err gets a sentence with the nearest known name or the
 * allowed range. Returns its index, -ENOENT (no such option), -EINVAL or -ERANGE. [any]
 */
int option_check(const struct cr_option *table, const char *name, const char *value,
		 struct err *err);

/**
 * Turn settings into values, presets filled in. value: option_count(table) of them, caller's; texts
 * in them point into given[] or the table. Returns 0 or the first error (-EINVAL: also a mandatory
 * one missing). [any]
 */
int option_parse(const struct cr_option *table, const struct option_text *given, size_t n,
		 union cr_value *value, struct err *err);

/**
 * Check that the table itself is sound: names, types, presets that parse, choices.
 * Returns 0 or -EINVAL with a sentence for the plugin's author. [any]
 */
int option_table_check(const struct cr_option *table, struct err *err);

/**
 * "name=value\n" lines in one string, as instances carry them. option_unpack() cuts packed in
 * place. option_pack() returns malloc'd memory or NULL; option_unpack() returns the number of
 * settings, at most max, or -EINVAL. Values may not hold newlines (option_check() refuses them).
 * [any]
 */
char *option_pack(const struct option_text *given, size_t n);
int option_unpack(char *packed, struct option_text *given, size_t max);

#endif
