/* ctl_common.c - arguments, errors and questions of all commands. */
#include "ctl.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "err.h"

void ctl_help(const struct ctl *ctl)
{
	const struct ctl_command *command = ctl->command;

	(void)printf("usage: callrouterctl %s%s%s\n\n%s.\n%s%s\n"
		     "  --run-dir DIR   callrouterd's run directory (" CTL_RUN_DIR ")\n"
		     "  --help          this text\n",
		     command->name, command->arguments[0] != '\0' ? " " : "", command->arguments,
		     command->summary, command->help[0] != '\0' ? "\n" : "", command->help);
}

/* Every line of a sentence (a list of mistakes has several) cleaned. */
CR_PRINTF(1, 0) static void say(const char *fmt, va_list args)
{
	char text[1024], clean[1024];
	char *line = text, *end;

	(void)vsnprintf(text, sizeof text, fmt, args);
	(void)fprintf(stderr, "callrouterctl: ");
	do {
		end = strchr(line, '\n');
		if (end != NULL)
			*end = '\0';
		(void)fprintf(stderr, "%s\n", ctl_clean(clean, sizeof clean, line));
		line = end != NULL ? end + 1 : NULL;
	} while (line != NULL && *line != '\0');
}

int ctl_fail(int status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	return status;
}

int ctl_usage(const struct ctl *ctl, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	(void)fprintf(stderr, "usage: callrouterctl %s %s\n", ctl->command->name,
		      ctl->command->arguments);
	return CTL_USAGE;
}

/* -c goes with --config, for the commands that have it. */
static const char *letters_of(const struct option *options)
{
	for (; options->name != NULL; options++)
		if (strcmp(options->name, "config") == 0)
			return "hc:";
	return "h";
}

int ctl_option(struct ctl *ctl, int argc, char **argv, const struct option *options)
{
	for (;;) {
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): this program has one thread. */
		const int code = getopt_long(argc, argv, letters_of(options), options, NULL);

		switch (code) {
		case CTL_OPTION_RUN_DIR:
			ctl->run_dir = optarg;
			ctl->has_run_dir = true;
			break;
		case CTL_OPTION_JSON:
			ctl->is_json = true;
			break;
		case 'h':
		case CTL_OPTION_HELP:
			ctl_help(ctl);
			return CTL_DONE;
		case '?':
			(void)fprintf(stderr, "callrouterctl %s --help shows what there is\n",
				      ctl->command->name);
			return CTL_WRONG;
		default:
			return code;
		}
	}
}

int ctl_count(const struct ctl *ctl, int argc, int least, int most)
{
	const int n = argc - optind;

	if (n >= least && n <= most)
		return CTL_ARGUMENTS;
	(void)ctl_usage(ctl, n < least ? "%s: an argument is missing" : "%s: too many arguments",
			ctl->command->name);
	return CTL_WRONG;
}

int ctl_arguments(struct ctl *ctl, int argc, char **argv, int least, int most)
{
	static const struct option options[] = { CTL_COMMON_OPTIONS, CTL_JSON_OPTION, { 0 } };
	const int code = ctl_option(ctl, argc, argv, options);

	return code == CTL_ARGUMENTS ? ctl_count(ctl, argc, least, most) : code;
}

int ctl_leave(int code)
{
	return code == CTL_DONE ? CTL_GOOD : CTL_USAGE;
}

/* Texts of plugins and agents may hold what steers a terminal. */
static void tidy(json_t *value)
{
	char clean[1024];
	const char *name;
	json_t *member;

	for (size_t i = 0; i < json_array_size(value); i++)
		tidy(json_array_get(value, i));
	json_object_foreach(value, name, member)
	{
		tidy(member);
	}
	if (json_is_string(value))
		(void)json_string_set(value,
				      ctl_clean(clean, sizeof clean, json_string_value(value)));
}

int ctl_ask(const struct ctl *ctl, json_t *request, int timeout_ms, json_t **answer)
{
	struct err err = { 0 };

	*answer = control_ask(ctl->run_dir, request, timeout_ms, &err);
	if (*answer == NULL) {
		/* A list of mistakes may be longer than an error can be. */
		const bool is_cut = strlen(err.text) == sizeof err.text - 1;

		return ctl_fail(err.code == -ECONNREFUSED ? CTL_USAGE : CTL_REFUSED, "%s%s",
				err.text,
				is_cut ? "...\nit goes on: callrouterd's log has all of it" : "");
	}
	if (!ctl->is_json)
		tidy(*answer);
	return CTL_GOOD;
}

int ctl_print_json(const json_t *document, FILE *out)
{
	/* 15 digits: what a double holds of a number that was written in decimal. */
	if (json_dumpf(document, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) < 0)
		return ctl_fail(CTL_REFUSED, "the document could not be written");
	(void)fputc('\n', out);
	return CTL_GOOD;
}

const char *ctl_text(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text != NULL ? text : "-";
}

double ctl_number(const json_t *object, const char *member)
{
	const json_t *value = json_object_get(object, member);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

long long ctl_count_of(const json_t *object, const char *member)
{
	return (long long)json_integer_value(json_object_get(object, member));
}
