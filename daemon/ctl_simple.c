/* ctl_simple.c - the commands that change one thing: rollback, adopt, reload, drain, undrain,
 * restore, weight. */
#include "ctl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define WEIGHT_MAX 100

/* What was done: the generation that is in use now, where the daemon names it. */
static void print_done(const json_t *answer, const char *done)
{
	if (json_is_integer(json_object_get(answer, "generation")))
		(void)printf("%s %s (generation %lld) is in use now\n", ctl_text(answer, "plugin"),
			     ctl_text(answer, "version"), ctl_count_of(answer, "generation"));
	else
		(void)printf("%s\n", done);
}

static int change(const struct ctl *ctl, json_t *request, const char *done)
{
	json_t *answer;
	int status = ctl_ask(ctl, request, CTL_CHANGE_MS, &answer);

	if (status != CTL_GOOD)
		return status;
	if (ctl->is_json)
		status = ctl_print_json(answer, stdout);
	else
		print_done(answer, done);
	json_decref(answer);
	return status;
}

/* A command with one argument. done: what to say, with %s for the argument. */
static int change_one(struct ctl *ctl, int argc, char **argv, const char *member, const char *done)
{
	const int code = ctl_arguments(ctl, argc, argv, 1, 1);
	char text[512];

	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	(void)snprintf(text, sizeof text, "%.100s %s", argv[optind], done);
	return change(ctl,
		      json_pack("{s:s,s:s}", "command", ctl->command->name, member, argv[optind]),
		      text);
}

int ctl_rollback(struct ctl *ctl, int argc, char **argv)
{
	return change_one(ctl, argc, argv, "plugin",
			  "is rolled back: callrouterctl plugins shows what decides now");
}

int ctl_drain(struct ctl *ctl, int argc, char **argv)
{
	return change_one(ctl, argc, argv, "server",
			  "is drained: it gets no new calls until callrouterctl undrain");
}

int ctl_undrain(struct ctl *ctl, int argc, char **argv)
{
	return change_one(ctl, argc, argv, "server", "gets calls again");
}

int ctl_restore(struct ctl *ctl, int argc, char **argv)
{
	const int code = ctl_arguments(ctl, argc, argv, 1, 1);
	json_t *answer;
	int status;

	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	status = ctl_ask(ctl, json_pack("{s:s,s:s}", "command", "restore", "server", argv[optind]),
			 CTL_CHANGE_MS, &answer);
	if (status != CTL_GOOD)
		return status;
	if (ctl->is_json)
		status = ctl_print_json(answer, stdout);
	else if (json_is_true(json_object_get(answer, "drained")))
		(void)printf("%s is well (it was %s), but drained: callrouterctl undrain gives it "
			     "calls again\n",
			     ctl_text(answer, "server"), ctl_text(answer, "was"));
	else
		(void)printf("%s gets calls again (it was %s)\n", ctl_text(answer, "server"),
			     ctl_text(answer, "was"));
	json_decref(answer);
	return status;
}

int ctl_reload(struct ctl *ctl, int argc, char **argv)
{
	const int code = ctl_arguments(ctl, argc, argv, 0, 0);
	const json_t *mistakes, *line;
	json_t *answer;
	int status;
	size_t i;

	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	status = ctl_ask(ctl, json_pack("{s:s}", "command", "reload"), CTL_CHANGE_MS, &answer);
	if (status != CTL_GOOD)
		return status;
	mistakes = json_object_get(answer, "mistakes");
	json_array_foreach(mistakes, i, line)
	{
		if (!ctl->is_json)
			(void)fprintf(stderr, "%s\n", json_string_value(line));
	}
	if (ctl->is_json)
		status = ctl_print_json(answer, stdout);
	else if (mistakes == NULL)
		(void)printf("the configuration is read again and in use\n");
	else
		status = ctl_fail(CTL_REFUSED,
				  "the configuration is not applied: the old one stays in use");
	if (status == CTL_GOOD && mistakes != NULL)
		status = CTL_REFUSED;
	json_decref(answer);
	return status;
}

int ctl_weight(struct ctl *ctl, int argc, char **argv)
{
	const int code = ctl_arguments(ctl, argc, argv, 2, 2);
	char text[256];
	int64_t weight;

	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	if (strcmp(argv[optind + 1], "default") == 0) {
		(void)snprintf(text, sizeof text, "%.100s has the configuration's weight again",
			       argv[optind]);
		return change(ctl,
			      json_pack("{s:s,s:s,s:n}", "command", "weight", "server",
					argv[optind], "weight"),
			      text);
	}
	if (text_int(argv[optind + 1], &weight) < 0 || weight < 0 || weight > WEIGHT_MAX)
		return ctl_usage(ctl, "\"%s\" is no weight: 0 .. %d, or default", argv[optind + 1],
				 WEIGHT_MAX);
	(void)snprintf(text, sizeof text, "%.100s has weight %" PRId64 " now%s", argv[optind],
		       weight, weight == 0 ? ": it gets no new calls" : "");
	return change(ctl,
		      json_pack("{s:s,s:s,s:I}", "command", "weight", "server", argv[optind],
				"weight", (json_int_t)weight),
		      text);
}

/* The daemon has another working directory than we have. */
static json_t *absolute_path(const char *file)
{
	char *here, *path = NULL;
	json_t *value = NULL;

	if (file[0] == '/' || (strchr(file, '/') == NULL && access(file, F_OK) < 0))
		return json_string(file);
	here = getcwd(NULL, 0);
	if (here != NULL && asprintf(&path, "%s/%s", here, file) >= 0) {
		value = json_string(path);
		free(path);
	}
	free(here);
	return value;
}

int ctl_adopt(struct ctl *ctl, int argc, char **argv)
{
	static const struct option options[] = {
		CTL_COMMON_OPTIONS, CTL_JSON_OPTION, { "force", no_argument, NULL, 'f' }, { 0 }
	};
	bool is_forced = false;
	json_t *file;
	char text[512];
	int code;

	while ((code = ctl_option(ctl, argc, argv, options)) == 'f')
		is_forced = true;
	if (code == CTL_ARGUMENTS)
		code = ctl_count(ctl, argc, 1, 1);
	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	file = absolute_path(argv[optind]);
	if (file == NULL)
		return ctl_fail(CTL_REFUSED, "the path of %s cannot be told in UTF-8",
				argv[optind]);
	(void)snprintf(text, sizeof text,
		       "%.200s is adopted: callrouterctl plugins shows its generation",
		       argv[optind]);
	return change(
		ctl,
		json_pack("{s:s,s:o,s:b}", "command", "adopt", "file", file, "force", is_forced),
		text);
}
