/* profiles.c - finds profiles in directories, and what each says of itself. */
#include "profiles.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define ETC_PROFILES_DIR "/etc/callrouter/profiles"
#define SUMMARY_MAX      160
#define NAME_MAX_LEN     63

static const char suffix[] = ".yaml";

int profiles_add(struct profiles *profiles, const char *dir)
{
	char *copy;

	if (profiles->n == PROFILES_DIRS_MAX)
		return -E2BIG;
	copy = strdup(dir);
	if (copy == NULL)
		return -ENOMEM;
	profiles->dir[profiles->n++] = copy;
	return 0;
}

/* "DIR/profiles", where DIR is where this program is. False if there is none. */
static bool find_beside(char *path, size_t len)
{
	static const char name[] = "profiles";
	const ssize_t n = readlink("/proc/self/exe", path, len - 1);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL || (size_t)(slash + 1 - path) + sizeof name > len)
		return false;
	memcpy(slash + 1, name, sizeof name);
	return access(path, R_OK | X_OK) == 0;
}

int profiles_add_usual(struct profiles *profiles)
{
	char beside[4096];
	int rc = profiles_add(
		profiles, find_beside(beside, sizeof beside) ? beside : CALLROUTER_PROFILES_DIR);

	return rc < 0 ? rc : profiles_add(profiles, ETC_PROFILES_DIR);
}

void profiles_fini(struct profiles *profiles)
{
	for (size_t i = 0; i < profiles->n; i++)
		free(profiles->dir[i]);
	profiles->n = 0;
}

bool profiles_is_path(const char *name)
{
	return strchr(name, '/') != NULL || text_ends_in(name, suffix) ||
	       text_ends_in(name, ".yml");
}

char *profiles_find(const struct profiles *profiles, const char *name)
{
	char *path;

	if (profiles == NULL || profiles_is_path(name) || name[0] == '.')
		return NULL;
	for (size_t i = profiles->n; i-- > 0;) {
		if (asprintf(&path, "%s/%s%s", profiles->dir[i], name, suffix) < 0)
			return NULL;
		if (access(path, F_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}

/*** The list ***/

/* The next word of a comment's line, or NULL. */
static const char *text_of_comment(const char *line)
{
	if (*line != '#')
		return NULL;
	line += strspn(line, "# ");
	return line;
}

/* Cut at the end of the first sentence: a full stop or a colon that ends a word. Returns whether
 * there was one. */
static bool cut_sentence(char *text)
{
	for (char *at = text; *at != '\0'; at++)
		if ((*at == '.' || *at == ':') && (at[1] == ' ' || at[1] == '\0')) {
			*at = '\0';
			return true;
		}
	return false;
}

static char *read_summary(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[512], text[SUMMARY_MAX] = "";
	bool is_whole = false;

	while (file != NULL && !is_whole && fgets(line, sizeof line, file) != NULL) {
		const char *words;
		size_t used = strlen(text);

		line[strcspn(line, "\r\n")] = '\0';
		words = text_of_comment(line);
		if (words == NULL || *words == '\0')
			break;
		(void)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? " " : "", words);
		is_whole = cut_sentence(text);
	}
	if (file != NULL)
		(void)fclose(file);
	return strdup(text);
}

static void entry_fini(struct profiles_entry *entry)
{
	free(entry->name);
	free(entry->path);
	free(entry->summary);
}

static struct profiles_entry *find_entry(const struct profiles_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->entry[i].name, name) == 0)
			return &list->entry[i];
	return NULL;
}

/* Takes what is in entry. */
static int put_entry(struct profiles_list *list, struct profiles_entry *entry)
{
	struct profiles_entry *old, *grown;

	if (entry->name == NULL || entry->path == NULL || entry->summary == NULL) {
		entry_fini(entry);
		return -ENOMEM;
	}
	old = find_entry(list, entry->name);
	if (old != NULL) {
		entry_fini(old);
		*old = *entry;
		return 0;
	}
	grown = reallocarray(list->entry, list->n + 1, sizeof *grown);
	if (grown == NULL) {
		entry_fini(entry);
		return -ENOMEM;
	}
	list->entry = grown;
	grown[list->n++] = *entry;
	return 0;
}

static int list_file(struct profiles_list *list, const char *dir, const char *file)
{
	struct profiles_entry entry = { 0 };

	if (asprintf(&entry.path, "%s/%s", dir, file) < 0)
		return -ENOMEM;
	entry.name = strndup(file, strlen(file) - (sizeof suffix - 1));
	entry.summary = read_summary(entry.path);
	return put_entry(list, &entry);
}

static int list_dir(struct profiles_list *list, const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *file;
	int rc = 0;

	/* One thread reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (dir != NULL && rc == 0 && (file = readdir(dir)) != NULL)
		if (file->d_name[0] != '.' && text_ends_in(file->d_name, suffix) &&
		    strlen(file->d_name) <= NAME_MAX_LEN + sizeof suffix)
			rc = list_file(list, path, file->d_name);
	if (dir != NULL)
		closedir(dir);
	return rc;
}

static int compare_entries(const void *left, const void *right)
{
	const struct profiles_entry *a = left, *b = right;

	return strcmp(a->name, b->name);
}

int profiles_list(const struct profiles *profiles, struct profiles_list *list)
{
	int rc = 0;

	*list = (struct profiles_list){ 0 };
	for (size_t i = 0; profiles != NULL && rc == 0 && i < profiles->n; i++)
		rc = list_dir(list, profiles->dir[i]);
	if (rc < 0)
		profiles_list_free(list);
	else if (list->n > 0)
		qsort(list->entry, list->n, sizeof *list->entry, compare_entries);
	return rc;
}

void profiles_list_free(struct profiles_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		entry_fini(&list->entry[i]);
	free(list->entry);
	*list = (struct profiles_list){ 0 };
}

bool profiles_nearest(const struct profiles *profiles, const char *name, char *buf, size_t len)
{
	struct profiles_list list;
	const char **words = NULL, *nearest = NULL;

	if (profiles_list(profiles, &list) < 0)
		return false;
	words = calloc(list.n + 1, sizeof *words);
	for (size_t i = 0; words != NULL && i < list.n; i++)
		words[i] = list.entry[i].name;
	if (words != NULL)
		nearest = text_nearest(name, words);
	if (nearest != NULL)
		(void)text_copy(buf, len, nearest);
	free(words);
	profiles_list_free(&list);
	return nearest != NULL;
}
