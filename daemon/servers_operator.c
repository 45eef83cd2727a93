/* servers_operator.c - operator.json: read strictly once, written with every change. */
#include "servers_operator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "log.h"
#include "statefile.h"
#include "text.h"

#define FILE_VERSION 1
#define WEIGHT_MAX   100

struct servers_operator {
	char *dir; /* NULL: kept nowhere */
	struct servers_wish *wish;
	size_t n; /* sorted by name */
};

/** Where name is, or would be put in. */
static size_t place_of(const struct servers_operator *wishes, const char *name)
{
	size_t low = 0, high = wishes->n;

	while (low < high) {
		const size_t mid = (low + high) / 2;

		if (strcmp(wishes->wish[mid].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/** The wish for a server of this name, or NULL. */
static struct servers_wish *find(const struct servers_operator *wishes, const char *name)
{
	const size_t at = place_of(wishes, name);

	return at < wishes->n && strcmp(wishes->wish[at].name, name) == 0 ? wishes->wish + at
									  : NULL;
}

/** Put wish in, or take the old one out if it wants nothing. Returns 0 or -ENOMEM. */
static int replace(struct servers_operator *wishes, const struct servers_wish *wish)
{
	const bool is_wanted = wish->is_drained || wish->weight_is_set;
	const size_t at = place_of(wishes, wish->name);
	const size_t behind = wishes->n - at;
	struct servers_wish *const known = find(wishes, wish->name);
	struct servers_wish *grown;

	if (known != NULL && is_wanted) {
		*known = *wish;
	} else if (known != NULL) {
		memmove(known, known + 1, (behind - 1) * sizeof *known);
		wishes->n--;
	} else if (is_wanted) {
		grown = reallocarray(wishes->wish, wishes->n + 1, sizeof *grown);
		if (grown == NULL)
			return -ENOMEM;
		wishes->wish = grown;
		memmove(grown + at + 1, grown + at, behind * sizeof *grown);
		grown[at] = *wish;
		wishes->n++;
	}
	return 0;
}

/** One entry: {"drained": true, "weight": 3}, both optional. */
static int read_wish(struct servers_operator *wishes, const char *name, json_t *entry,
		     struct err *err)
{
	struct servers_wish wish = { 0 };
	const char *key;
	json_t *value;

	if (!text_is_name(name) || !json_is_object(entry))
		return err_set(err, -EBADMSG, "entry \"%.80s\" is not a server's", name);
	(void)text_copy(wish.name, sizeof wish.name, name);
	json_object_foreach(entry, key, value)
	{
		if (strcmp(key, "drained") == 0 && json_is_boolean(value)) {
			wish.is_drained = json_is_true(value);
		} else if (strcmp(key, "weight") == 0 && json_is_integer(value) &&
			   json_integer_value(value) >= 0 &&
			   json_integer_value(value) <= WEIGHT_MAX) {
			wish.weight_is_set = true;
			wish.weight = (uint32_t)json_integer_value(value);
		} else {
			return err_set(err, -EBADMSG, "server %s: bad member \"%.80s\"", name, key);
		}
	}
	if (replace(wishes, &wish) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int read_document(struct servers_operator *wishes, json_t *root, struct err *err)
{
	json_t *const servers = json_object_get(root, "servers");
	const char *name;
	json_t *entry;
	int rc;

	if (json_integer_value(json_object_get(root, "version")) != FILE_VERSION)
		return err_set(err, -EBADMSG, "not of version %d", FILE_VERSION);
	if (!json_is_object(servers))
		return err_set(err, -EBADMSG, "no object \"servers\"");
	json_object_foreach(servers, name, entry)
	{
		rc = read_wish(wishes, name, entry, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void load(struct servers_operator *wishes)
{
	json_t *root;
	struct err err = { 0 }, why = { 0 };

	(void)statefile_read(wishes->dir, SERVERS_OPERATOR_FILE, &root, &err);
	if (root != NULL && read_document(wishes, root, &why) < 0) {
		wishes->n = 0; /* half of the operator's wishes would be a surprise */
		(void)statefile_set_aside(wishes->dir, SERVERS_OPERATOR_FILE, why.text, &err);
	}
	json_decref(root);
	if (err.code < 0)
		log_error("drains and weights of the operator forgotten", "error=\"%s\"", err.text);
}

struct servers_operator *servers_operator_new(const char *dir)
{
	struct servers_operator *wishes = calloc(1, sizeof *wishes);

	if (wishes == NULL || dir == NULL)
		return wishes;
	wishes->dir = strdup(dir);
	if (wishes->dir == NULL) {
		free(wishes);
		return NULL;
	}
	load(wishes);
	return wishes;
}

void servers_operator_free(struct servers_operator *wishes)
{
	if (wishes == NULL)
		return;
	free(wishes->dir);
	free(wishes->wish);
	free(wishes);
}

struct servers_wish servers_operator_get(const struct servers_operator *wishes, const char *name)
{
	const struct servers_wish *const known = find(wishes, name);
	struct servers_wish none = { 0 };

	if (known != NULL)
		return *known;
	(void)text_copy(none.name, sizeof none.name, name);
	return none;
}

/** {"version": 1, "servers": {"ms1": {"drained": true}}}, or NULL without memory. */
static json_t *compose(const struct servers_operator *wishes)
{
	json_t *const servers = json_object();
	json_t *const root = json_pack("{s:i, s:o}", "version", FILE_VERSION, "servers", servers);
	bool is_good = root != NULL;

	for (size_t i = 0; is_good && i < wishes->n; i++) {
		const struct servers_wish *wish = wishes->wish + i;
		json_t *const entry = json_object();

		if (wish->is_drained)
			is_good = json_object_set_new(entry, "drained", json_true()) == 0;
		if (wish->weight_is_set)
			is_good &= json_object_set_new(entry, "weight",
						       json_integer(wish->weight)) == 0;
		is_good &= json_object_set_new(servers, wish->name, entry) == 0;
	}
	if (is_good)
		return root;
	json_decref(root);
	return NULL;
}

/** Write all wishes. Returns 0 or < 0 with err. */
static int save(const struct servers_operator *wishes, struct err *err)
{
	json_t *root;
	int rc;

	if (wishes->dir == NULL)
		return 0;
	root = compose(wishes);
	if (root == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	rc = statefile_write(wishes->dir, SERVERS_OPERATOR_FILE, root, err);
	json_decref(root);
	return rc < 0 ? err_prefix(err, "not done, as it would not outlive a restart") : 0;
}

int servers_operator_set(struct servers_operator *wishes, const struct servers_wish *wish,
			 struct err *err)
{
	const struct servers_wish before = servers_operator_get(wishes, wish->name);
	int rc;

	if (replace(wishes, wish) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	rc = save(wishes, err);
	if (rc < 0)
		(void)replace(wishes, &before); /* shrinks, or fits where it was */
	return rc;
}
