/* config_looks.c - which metrics a router looks at, as far as can be told before it runs. */
#include "config_internal.h"

#include <string.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

/* Does a text name this metric as a word of its own? */
static bool is_word_in(const char *text, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
		if ((at == text || strchr(letters, at[-1]) == NULL) &&
		    (at[len] == '\0' || strchr(letters, at[len]) == NULL))
			return true;
	return false;
}

static bool is_named(const struct config_choice *choice, const char *metric)
{
	for (size_t i = 0; i < choice->n_options; i++)
		if (is_word_in(choice->options[i].value, metric))
			return true;
	return false;
}

/* Is it the first thing that an option names? */
static bool is_named_first(const struct config_choice *choice, const char *metric)
{
	const size_t len = strlen(metric);

	for (size_t i = 0; i < choice->n_options; i++) {
		const char *word = strpbrk(choice->options[i].value, letters);

		if (word != NULL && strspn(word, letters) == len && strncmp(word, metric, len) == 0)
			return true;
	}
	return false;
}

/* Is the router told by free text what to look at, as sorted is? Then it wants any metric there
 * is, and looks at those that are named. */
static bool is_told(const struct config_reader *reader, const struct config_choice *choice)
{
	const struct cr_option *table = NULL;
	struct err err = { 0 };

	if (reader->plugins->options(reader->plugins->arg, true, choice->plugin, &table, &err) < 0)
		return false;
	for (size_t i = 0; i < option_count(table); i++)
		if (table[i].type == CR_TEXT)
			return true;
	return false;
}

/* What its plugin says. Returns whether anything is known of it. */
static bool ask_plugin(const struct config_reader *reader, const struct config_choice *choice,
		       const char *const **needs, const char *const **wants)
{
	static const char *const nothing[] = { NULL };
	const struct config_plugins *plugins = reader->plugins;

	*needs = *wants = NULL;
	if (choice->plugin == NULL || plugins == NULL || plugins->metrics == NULL ||
	    plugins->metrics(plugins->arg, choice->plugin, needs, wants) < 0)
		return false;
	*needs = *needs != NULL ? *needs : nothing;
	*wants = *wants != NULL ? *wants : nothing;
	return true;
}

void config_looks_find(const struct config_reader *reader, const struct config_choice *choice,
		       struct config_looks *looks)
{
	const char *const *needs, *const *wants;
	bool takes_named;

	looks->n = 0;
	if (!ask_plugin(reader, choice, &needs, &wants))
		return;
	for (; *needs != NULL && looks->n < CONFIG_LOOKS_MAX; needs++)
		looks->metric[looks->n++] = *needs;
	takes_named = is_told(reader, choice);
	for (; *wants != NULL && looks->n < CONFIG_LOOKS_MAX; wants++)
		if (!takes_named || is_named(choice, *wants))
			looks->metric[looks->n++] = *wants;
}

static bool is_of_heap(const char *metric)
{
	return strncmp(metric, "jvm_heap_", strlen("jvm_heap_")) == 0;
}

void config_ranks_by_find(struct config_reader *reader, struct config_choice *choice)
{
	const char *const *needs, *const *wants;

	if (!ask_plugin(reader, choice, &needs, &wants))
		return;
	for (; choice->ranks_by == NULL && *needs != NULL; needs++)
		if (is_of_heap(*needs))
			choice->ranks_by = config_copy(reader, *needs);
	if (choice->ranks_by != NULL || !is_told(reader, choice))
		return;
	for (; choice->ranks_by == NULL && *wants != NULL; wants++)
		if (is_of_heap(*wants) && is_named_first(choice, *wants))
			choice->ranks_by = config_copy(reader, *wants);
}
