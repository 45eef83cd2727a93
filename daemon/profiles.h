/* profiles.h - where profiles of the source language are: one NAME.yaml each, in directories. */
#ifndef CR_DAEMON_PROFILES_H
#define CR_DAEMON_PROFILES_H

#include <stdbool.h>
#include <stddef.h>

#define PROFILES_DIRS_MAX 16

/** Directories; of two profiles with one name the one in the later directory counts. */
struct profiles {
	char *dir[PROFILES_DIRS_MAX];
	size_t n;
};

/** One profile. */
struct profiles_entry {
	char *name, *path;
	char *summary; /* the first sentence of its first comment, or "" */
};

struct profiles_list {
	struct profiles_entry *entry; /* by name */
	size_t n;
};

/** Add a directory, which need not be there. Returns 0, -E2BIG or -ENOMEM. [main] */
int profiles_add(struct profiles *profiles, const char *dir);

/** Add those that are looked at where nothing else is said: the ones that came with this program
 * (beside it in a build tree, else installed), and /etc/callrouter/profiles. [main] */
int profiles_add_usual(struct profiles *profiles);
void profiles_fini(struct profiles *profiles);

/** Is it a path (it has a "/", or ends in .yaml or .yml), not a name? [any] */
bool profiles_is_path(const char *name);

/** The path of a profile by name; malloc'd, or NULL: there is none. profiles may be NULL. [any] */
char *profiles_find(const struct profiles *profiles, const char *name);

/** All of them, freed by profiles_list_free(). Returns 0 or -ENOMEM. profiles may be NULL. [any] */
int profiles_list(const struct profiles *profiles, struct profiles_list *list);
void profiles_list_free(struct profiles_list *list);

/** The name that was probably meant, copied into buf; false: none is like it. [any] */
bool profiles_nearest(const struct profiles *profiles, const char *name, char *buf, size_t len);

#endif
