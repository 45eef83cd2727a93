/*
 * weblogic_agent.c - what WebLogic's SNMP agent serves about its servers, for snmpd's pass_persist:
 *
 *	pass_persist .1.3.6.1.4.1.140.625 /path/weblogic_agent /path/values
 *
 * Each line of values is "NAME FREE SIZE PERCENT [STATE]", a row of jvmRuntimeTable, and with a
 * state one of serverRuntimeTable; "-": the row has no such object. Sizes are Counter64, negative
 * ones INTEGER. The file is read anew for every request.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX  256
#define INDEX_LEN 33 /* a length and 32 hexadecimal digits, as WebLogic writes them */
#define TABLE_LEN 10
#define NAME_LEN  (TABLE_LEN + 1 + INDEX_LEN)

static const unsigned long table[TABLE_LEN] = { 1, 3, 6, 1, 4, 1, 140, 625, 0, 1 };

struct row {
	char name[64], free[32], size[32], percent[32], state[32];
	unsigned long index[INDEX_LEN];
};

static const struct column {
	unsigned long table, number;
	size_t field; /* offset of its text in struct row */
	const char *prefix;
} columns[] = {
	{ 340, 5, offsetof(struct row, name), "com.bea:Type=JVMRuntime,Name=" },
	{ 340, 15, offsetof(struct row, name), "" },
	{ 340, 20, offsetof(struct row, name), "ServerRuntime:" },
	{ 340, 25, offsetof(struct row, free), NULL },
	{ 340, 30, offsetof(struct row, size), NULL },
	{ 340, 52, offsetof(struct row, percent), NULL },
	{ 360, 15, offsetof(struct row, name), "" },
	{ 360, 60, offsetof(struct row, state), "" },
};
#define N_COLUMNS (sizeof columns / sizeof *columns)

static int compare_rows(const void *a, const void *b)
{
	const struct row *row_a = a, *row_b = b;

	for (size_t i = 0; i < INDEX_LEN; i++)
		if (row_a->index[i] != row_b->index[i])
			return row_a->index[i] < row_b->index[i] ? -1 : 1;
	return 0;
}

/* WebLogic hashes the object's name; any hash will do. */
static void fill_index(struct row *row)
{
	uint64_t hash[2] = { 0xcbf29ce484222325u, 0x84222325cbf29ce4u };
	char text[INDEX_LEN];

	for (const char *p = row->name; *p != '\0'; p++)
		for (int i = 0; i < 2; i++)
			hash[i] = (hash[i] ^ (unsigned char)*p) * 0x100000001b3u;
	snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, hash[0], hash[1]);
	row->index[0] = INDEX_LEN - 1;
	for (size_t i = 1; i < INDEX_LEN; i++)
		row->index[i] = (unsigned char)text[i - 1];
}

static size_t read_rows(const char *path, struct row *row)
{
	FILE *file = fopen(path, "r");
	char line[256];
	size_t n = 0;

	if (file == NULL)
		return 0;
	while (n < ROWS_MAX && fgets(line, sizeof line, file) != NULL) {
		snprintf(row[n].state, sizeof row[n].state, "-");
		if (sscanf(line, "%63s %31s %31s %31s %31s", row[n].name, row[n].free, row[n].size,
			   row[n].percent, row[n].state) < 4)
			continue;
		fill_index(&row[n++]);
	}
	fclose(file);
	qsort(row, n, sizeof *row, compare_rows);
	return n;
}

static size_t read_name(const char *text, unsigned long *name)
{
	size_t n = 0;
	char *end;

	while (n < NAME_LEN + 1 && *text == '.' && isdigit((unsigned char)text[1])) {
		name[n++] = strtoul(text + 1, &end, 10);
		text = end;
	}
	return n;
}

static int compare_names(const unsigned long *a, size_t n_a, const unsigned long *b, size_t n_b)
{
	for (size_t i = 0; i < n_a && i < n_b; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return n_a < n_b ? -1 : n_a > n_b;
}

static void answer(const unsigned long *name, const struct column *column, const char *text)
{
	for (size_t i = 0; i < NAME_LEN; i++)
		printf(".%lu", name[i]);
	if (column->prefix != NULL)
		printf("\nstring\n%s%s\n", column->prefix, text);
	else
		printf("\n%s\n%s\n",
		       text[0] == '-' || column->number == 52 ? "integer" : "counter64", text);
}

/* Columns and rows are in the order of their names: the first one that fits is the answer. */
static void serve(const char *path, const char *asked_text, int is_next)
{
	static struct row row[ROWS_MAX];
	const size_t n = read_rows(path, row);
	unsigned long asked[NAME_LEN + 1], name[NAME_LEN];
	const size_t n_asked = read_name(asked_text, asked);

	memcpy(name, table, sizeof table);
	for (size_t c = 0; c < N_COLUMNS; c++)
		for (size_t r = 0; r < n; r++) {
			const char *text = (const char *)&row[r] + columns[c].field;
			int order;

			name[TABLE_LEN - 2] = columns[c].table;
			name[TABLE_LEN] = columns[c].number;
			memcpy(name + TABLE_LEN + 1, row[r].index, sizeof row[r].index);
			order = compare_names(name, NAME_LEN, asked, n_asked);
			if ((is_next ? order > 0 : order == 0) && strcmp(text, "-") != 0 &&
			    (columns[c].table == 340 || strcmp(row[r].state, "-") != 0)) {
				answer(name, &columns[c], text);
				return;
			}
		}
	puts("NONE");
}

int main(int argc, char **argv)
{
	char line[1024], name[1024];

	if (argc != 2) {
		fprintf(stderr, "usage: weblogic_agent VALUES\n");
		return 2;
	}
	while (fgets(line, sizeof line, stdin) != NULL) {
		line[strcspn(line, "\r\n")] = '\0';
		if (strcmp(line, "PING") == 0) {
			puts("PONG");
		} else if (strcmp(line, "get") == 0 || strcmp(line, "getnext") == 0) {
			if (fgets(name, sizeof name, stdin) == NULL)
				break;
			serve(argv[1], name, line[3] != '\0');
		} else if (strcmp(line, "set") == 0) {
			if (fgets(name, sizeof name, stdin) == NULL ||
			    fgets(name, sizeof name, stdin) == NULL)
				break;
			puts("not-writable");
		} else {
			break;
		}
		fflush(stdout);
	}
	return 0;
}
