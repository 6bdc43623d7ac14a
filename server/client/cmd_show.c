/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numalat show: what traces are, and the percentiles of their arms.
 */
#include "cmd.h"
#include "conditions.h"
#include "report.h"
#include "report_words.h"

#include "../../probe/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPT_ARM = 0x200, TEXT_SIZE = 256, LABEL_WIDTH = 10 };

/* Fewer rows have no percentiles worth the name, and no order. */
enum { ROWS_LEAST = 2 };

struct show_args {
	struct nl_common *common;
	const char *arm; /* --arm; NULL = all */
	char **paths;    /* points into argv */
	size_t path_count;
};

static const struct argp_option options[] = {
	{ "arm", OPT_ARM, "NAME", 0, "this arm alone", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct show_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->common;
		return 0;
	case OPT_ARM:
		args->arm = arg;
		return 0;
	case ARGP_KEY_ARGS:
		args->paths = state->argv + state->next;
		args->path_count = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		return -np_error_set(&args->common->err, EINVAL,
		                     "show: which trace? numalat run -o FILE makes one");
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, &args->common->err);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "TRACE...",
	.doc = "Says what each trace is, and tells the percentiles of its arms and whether they stayed "
	       "as they began.\v"
	       "A trace of a run that was cut short is shown as far as it goes. Exit status: 0 all are "
	       "complete, 1 one is not, or is none, 2 wrong usage.",
	.children = (const struct argp_child[]){ { &nl_common_argp, 0, NULL, 0 }, { 0 } },
};

static const struct nl_analysis_options analysis_options = {
	.blocks = 96,
	.repetitions = 20000,
	.seed = UINT64_C(0x9e3779b97f4a7c15),
	.level = 0.95,
};

/* A trace with what was found out about it. */
struct shown {
	struct nl_trace *trace;
	struct nl_conditions conditions;
	unsigned arms[NL_TRACE_ARMS_MAX]; /* those that are shown and have rows enough */
	struct nl_description descriptions[NL_TRACE_ARMS_MAX];
	size_t count;
};

static void shown_release(struct shown *shown)
{
	for (size_t i = 0; i < shown->count; i++)
		nl_description_release(&shown->descriptions[i]);
	nl_trace_close(shown->trace);
}

static bool is_wanted(const struct show_args *args, const struct nl_trace_about *about,
                      unsigned arm)
{
	return !args->arm || strcmp(args->arm, about->arms[arm]) == 0;
}

static int check_arm(const struct show_args *args, const struct nl_trace *trace,
                     struct np_error *err)
{
	const struct nl_trace_about *about = nl_trace_about(trace);
	char names[TEXT_SIZE] = "";
	char quoted[TEXT_SIZE];

	for (unsigned arm = 0; arm < about->arm_count; arm++) {
		size_t used = strlen(names);

		if (is_wanted(args, about, arm))
			return 0;
		snprintf(names + used, sizeof(names) - used, "%s%s", used > 0 ? ", " : "",
		         about->arms[arm]);
	}
	if (about->arm_count == 1)
		return np_error_set(err, ENOENT, "--arm: '%s': %s has one arm only, without a name",
		                    np_error_quote(args->arm, quoted, sizeof(quoted)),
		                    nl_trace_path(trace));
	return np_error_set(err, ENOENT, "--arm: '%s' is no arm of %s; there are: %s",
	                    np_error_quote(args->arm, quoted, sizeof(quoted)), nl_trace_path(trace),
	                    names);
}

static int describe(const struct show_args *args, struct shown *shown, struct np_error *err)
{
	const struct nl_trace_about *about = nl_trace_about(shown->trace);
	int rc = check_arm(args, shown->trace, err);

	nl_conditions_read(shown->trace, &shown->conditions);
	for (unsigned arm = 0; arm < about->arm_count && rc == 0; arm++) {
		const struct nl_input input = { .trace = shown->trace,
			                        .arm = arm,
			                        .label = about->arms[arm] };

		if (!is_wanted(args, about, arm) ||
		    nl_trace_arm_rows(shown->trace, arm) < ROWS_LEAST)
			continue;
		rc = nl_describe(&input, &analysis_options, &shown->descriptions[shown->count],
		                 err);
		if (rc == 0)
			shown->arms[shown->count++] = arm;
	}
	return rc;
}

static int look(const struct show_args *args, const char *path, struct shown *ret,
                struct np_error *err)
{
	int rc;

	*ret = (struct shown){ 0 };
	rc = nl_trace_open(path, &ret->trace, err);
	if (rc < 0)
		return rc;
	rc = describe(args, ret, err);
	if (rc < 0)
		shown_release(ret);
	return rc;
}

/* ---- text ---- */

static const char *form_name(enum nl_trace_form form)
{
	static const char *const names[] = {
		[NL_TRACE_NLT] = "nlt",
		[NL_TRACE_CSV] = "csv",
		[NL_TRACE_CSV_GZIP] = "csv.gz",
	};

	return names[form];
}

static void print_label(const char *label)
{
	printf("%-*s", LABEL_WIDTH, label);
}

/* @text of a trace, safe for a terminal; "unknown" for NULL. */
static const char *told(const char *text, char buf[TEXT_SIZE])
{
	return text ? np_error_quote(text, buf, TEXT_SIZE) : "unknown";
}

static void print_arms(const struct nl_trace *trace)
{
	const struct nl_trace_about *about = nl_trace_about(trace);
	char text[TEXT_SIZE];

	if (about->arm_count == 1)
		return;
	print_label("arms");
	for (unsigned arm = 0; arm < about->arm_count; arm++)
		printf("%s%s (%" PRIu64 ")", arm > 0 ? ", " : "",
		       np_error_quote(about->arms[arm], text, sizeof(text)),
		       nl_trace_arm_rows(trace, arm));
	printf("; order %s", told(about->order, text));
	if (about->block > 0)
		printf(", blocks of %" PRIu32, about->block);
	putchar('\n');
}

static void print_rows(const struct nl_trace *trace)
{
	const struct nl_trace_about *about = nl_trace_about(trace);
	const struct nl_trace_end *end = nl_trace_end(trace);
	char why[TEXT_SIZE];

	print_label("rows");
	printf("%" PRIu64, end->rows);
	if (about->planned > 0)
		printf(" of %" PRIu64 " planned", about->planned * about->arm_count);
	if (end->is_complete)
		puts(", complete");
	else
		printf(", NOT COMPLETE: %s\n", told(end->why, why));
}

/* "2026-07-14T10:46:00Z" */
static const char *time_text(int64_t ns, char buf[TEXT_SIZE])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm utc;

	if (!gmtime_r(&seconds, &utc) || strftime(buf, TEXT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		snprintf(buf, TEXT_SIZE, "unknown");
	return buf;
}

static void print_noise(const struct nl_noise_told *noise)
{
	char texts[3][NL_TIME_TEXT_SIZE];

	if (!noise->is_known)
		return;
	print_label("noise");
	printf("%" PRIu64 " interruptions in %s, up to %s; wakes up to %s late (p99)\n",
	       noise->gaps, nl_elapsed_text(noise->duration_ns, texts[0]),
	       nl_latency_text((double)noise->gap_max_ns, texts[1]),
	       nl_latency_text((double)noise->late_p99_ns, texts[2]));
}

static void print_client(const struct nl_conditions *conditions)
{
	static const char *const pinned[] = { "", ", not pinned", ", pinned" };
	static const char *const locked[] = { "", ", samples not locked in memory",
		                              ", samples locked in memory" };

	if (!conditions->has_cpu && conditions->is_pinned == NL_NOT_TOLD &&
	    conditions->is_locked == NL_NOT_TOLD)
		return;
	print_label("client");
	if (conditions->has_cpu)
		printf("on CPU %" PRIu64, conditions->cpu);
	else
		fputs("CPU unknown", stdout);
	printf("%s%s\n", pinned[conditions->is_pinned], locked[conditions->is_locked]);
}

/* Where each arm's requests went, as far as the trace tells. */
static void print_servers(const struct nl_trace_about *about)
{
	const json_t *arms = json_object_get(about->details, "arms");
	char text[TEXT_SIZE];

	for (size_t i = 0; i < json_array_size(arms) && i < about->arm_count; i++) {
		const json_t *arm = json_array_get(arms, i);
		const char *server = json_string_value(json_object_get(arm, "server"));
		const char *prefix = json_string_value(json_object_get(arm, "prefix"));

		if (!server)
			continue;
		print_label("server");
		fputs(told(server, text), stdout);
		if (prefix)
			printf(", keys %s...", told(prefix, text));
		if (about->arm_count > 1)
			printf(" (%s)", told(about->arms[i], text));
		putchar('\n');
	}
}

static void print_about(const struct shown *shown)
{
	const struct nl_trace_about *about = nl_trace_about(shown->trace);
	char text[TEXT_SIZE];

	print_label("trace");
	puts(told(nl_trace_path(shown->trace), text));
	print_label("form");
	printf("%s, protocol ", form_name(nl_trace_form(shown->trace)));
	puts(told(about->protocol, text));
	print_arms(shown->trace);
	print_rows(shown->trace);
	if (about->keys > 0) {
		print_label("keys");
		printf("%" PRIu64 "\n", about->keys);
	}
	if (about->began_ns != 0) {
		print_label("began");
		puts(time_text(about->began_ns, text));
	}
	print_servers(about);
	print_client(&shown->conditions);
	print_noise(&shown->conditions.noise);
}

static int print_text(const struct shown *shown)
{
	print_about(shown);
	putchar('\n');
	if (shown->count == 0) {
		puts("Too few rows for percentiles.");
		return ferror(stdout) ? -EIO : 0;
	}
	return nl_description_text(shown->descriptions, shown->count, stdout);
}

/* ---- JSON ---- */

/* A copy, as what belongs to a trace ends with it. */
static json_t *copy_json(const json_t *value)
{
	return value ? json_deep_copy(value) : json_null();
}

static json_t *arms_json(const struct shown *shown)
{
	const struct nl_trace_about *about = nl_trace_about(shown->trace);
	json_t *array = json_array();

	for (size_t i = 0; i < shown->count; i++) {
		json_t *object = nl_description_json(&shown->descriptions[i]);

		np_json_set_member(
			&object, "arm",
			np_json_text(about->arm_count > 1 ? about->arms[shown->arms[i]] : NULL));
		np_json_append(&array, object);
	}
	return array;
}

static json_t *trace_json(const struct shown *shown)
{
	const struct nl_trace_about *about = nl_trace_about(shown->trace);
	const struct nl_trace_end *end = nl_trace_end(shown->trace);
	json_t *object = json_object();
	json_t *names = json_array();

	for (unsigned arm = 0; about->arm_count > 1 && arm < about->arm_count; arm++)
		np_json_append(&names, np_json_text(about->arms[arm]));
	np_json_set_member(&object, "path", np_json_text(nl_trace_path(shown->trace)));
	np_json_set_member(&object, "form", json_string(form_name(nl_trace_form(shown->trace))));
	np_json_set_member(&object, "protocol", np_json_text(about->protocol));
	np_json_set_member(&object, "arm_names", names);
	np_json_set_member(&object, "order", np_json_text(about->order));
	np_json_set_member(&object, "block", np_json_number(about->block > 0, about->block));
	np_json_set_member(&object, "keys", np_json_number(about->keys > 0, about->keys));
	np_json_set_member(&object, "planned_per_arm",
	                   np_json_number(about->planned > 0, about->planned));
	np_json_set_member(&object, "rows", np_json_number(true, end->rows));
	np_json_set_member(&object, "complete", json_boolean(end->is_complete));
	np_json_set_member(&object, "why_not_complete",
	                   np_json_text(end->is_complete ? NULL : end->why));
	np_json_set_member(&object, "began_time_ns",
	                   about->began_ns != 0 ? json_integer(about->began_ns) : json_null());
	np_json_set_member(&object, "client", nl_conditions_json(&shown->conditions));
	np_json_set_member(&object, "details", copy_json(about->details));
	np_json_set_member(&object, "outcome", copy_json(nl_trace_outcome(shown->trace)));
	np_json_set_member(&object, "arms", arms_json(shown));
	return object;
}

static json_t *document(json_t *traces)
{
	json_t *object = json_object();

	np_json_set_member(&object, "schema", json_string("numakit/show/1"));
	np_json_set_member(&object, "level", json_real(analysis_options.level));
	np_json_set_member(&object, "traces", traces);
	return object;
}

/* Adds to the exit status that of one trace. A trace that cannot be read does not hide the others. */
static int show(const struct show_args *args, size_t i, json_t **traces, int status)
{
	struct np_error err = { 0 };
	struct shown *shown = malloc(sizeof(*shown));
	int rc = 0;

	if (!shown || look(args, args->paths[i], shown, &err) < 0) {
		if (!shown)
			np_error_sys(&err, ENOMEM, "show");
		free(shown);
		return nl_cmd_fail(&err, NP_EXIT_NO);
	}
	if (!nl_trace_end(shown->trace)->is_complete)
		status = NP_EXIT_NO;
	if (args->common->json) {
		np_json_append(traces, trace_json(shown));
	} else {
		if (i > 0)
			putchar('\n');
		rc = print_text(shown);
	}
	shown_release(shown);
	free(shown);
	return rc < 0 ? nl_cmd_written(rc) : status;
}

int nl_cmd_show(struct nl_common *common, int argc, char **argv)
{
	struct show_args args = { .common = common };
	int status = NP_EXIT_OK;
	json_t *traces;
	int written;

	if (np_cli_parse(&argp, argc, argv, 0, &args, &common->err) < 0)
		return nl_cmd_fail(&common->err, NP_EXIT_USAGE);
	traces = json_array();
	for (size_t i = 0; i < args.path_count && !ferror(stdout); i++)
		status = show(&args, i, &traces, status);
	if (common->json)
		written = nl_cmd_written(np_json_write(document(traces), stdout));
	else
		written = nl_cmd_written(0);
	if (!common->json)
		json_decref(traces);
	return written != NP_EXIT_OK ? written : status;
}
