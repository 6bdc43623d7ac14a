/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numalat convert: the same trace in another form.
 */
#include "cmd.h"
#include "trace.h"
#include "trace_open.h"

#include "../../probe/base/clock.h"
#include "../../probe/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPT_ARM = 0x200, OPT_FORCE, OPT_TO };

enum { LOOK_ROWS = 1 << 16 }; /* how often time and signals are looked at */

#define PROGRESS_NS UINT64_C(500000000)

struct convert_args {
	struct nl_common *common;
	const char *from;
	const char *to;
	const char *arm; /* NULL = all */
	const char *form_name;
	enum nl_trace_form form;
	bool is_forced;
};

struct progress {
	bool is_shown;
	const char *what;
	uint64_t told_ns; /* when */
	bool was_told;
};

struct conversion {
	const struct convert_args *args;
	struct nl_trace *trace;
	unsigned arm;  /* or NL_ALL_ARMS */
	uint64_t rows; /* to be written */
	struct nl_row_reader *reader;
	struct nl_trace_writer *writer;
	const volatile sig_atomic_t *stop;
	struct progress progress;
};

static const struct argp_option options[] = {
	{ "arm", OPT_ARM, "NAME", 0, "the rows of one arm alone", 0 },
	{ "to", OPT_TO, "FORM", 0, "nlt, csv or csv.gz, when the name of TO does not end so", 0 },
	{ "force", OPT_FORCE, NULL, 0, "replace TO if it is there", 0 },
	{ 0 },
};

static error_t take_argument(struct convert_args *args, char *arg)
{
	if (!args->from)
		args->from = arg;
	else if (!args->to)
		args->to = arg;
	else
		return -np_error_set(&args->common->err, EINVAL,
		                     "convert: '%s': it takes two arguments, FROM and TO", arg);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct convert_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->common;
		return 0;
	case OPT_ARM:
		args->arm = arg;
		return 0;
	case OPT_TO:
		args->form_name = arg;
		return 0;
	case OPT_FORCE:
		args->is_forced = true;
		return 0;
	case ARGP_KEY_ARG:
		return take_argument(args, arg);
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
	.args_doc = "FROM TO",
	.doc = "Writes the trace FROM, of any form, into a new file TO: numalat's own form (.nlt), "
	       "or goblin-bench's CSV, plain (.csv) or packed (.csv.gz).\v"
	       "TO may be -, for standard output, with --to. A CSV holds the rows alone: what the "
	       "run told besides, and whether it is complete, is in .nlt only.",
	.children = (const struct argp_child[]){ { &nl_common_argp, 0, NULL, 0 }, { 0 } },
};

/* ---- the command line ---- */

static int choose_form(struct convert_args *args, struct np_error *err)
{
	static const char *const names[] = {
		[NL_TRACE_NLT] = "nlt",
		[NL_TRACE_CSV] = "csv",
		[NL_TRACE_CSV_GZIP] = "csv.gz",
	};
	int rc;

	for (unsigned form = 0; args->form_name && form < sizeof(names) / sizeof(names[0]); form++)
		if (strcmp(args->form_name, names[form]) == 0) {
			args->form = (enum nl_trace_form)form;
			return 0;
		}
	if (args->form_name)
		return np_error_set(err, EINVAL, "--to: '%s' is not nlt, csv or csv.gz",
		                    args->form_name);
	if (strcmp(args->to, "-") == 0)
		return np_error_set(err, EINVAL,
		                    "convert: -: in which form? --to nlt, csv or csv.gz");
	rc = nl_trace_form_of(args->to, &args->form, err);
	return rc < 0 ? np_error_wrap(err, rc, "convert") : 0;
}

static int check_args(struct convert_args *args)
{
	struct np_error *err = &args->common->err;

	if (args->common->json)
		return np_error_set(err, EINVAL, "convert: --json: there is nothing to print");
	if (!args->to)
		return np_error_set(err, EINVAL, "convert: which traces? convert FROM TO");
	return choose_form(args, err);
}

/* A trace is not replaced by a slip of the hand. */
static int check_target(const struct convert_args *args, struct np_error *err)
{
	struct stat status;

	if (args->is_forced || strcmp(args->to, "-") == 0 || stat(args->to, &status) < 0 ||
	    !S_ISREG(status.st_mode))
		return 0;
	return np_error_set(err, EEXIST, "%s: it is there already; --force replaces it", args->to);
}

/* ---- what is seen while it runs ---- */

static void show_progress(void *data, double share)
{
	struct progress *progress = data;
	uint64_t now = np_now_ns();

	if (!progress->is_shown || now - progress->told_ns < PROGRESS_NS)
		return;
	progress->told_ns = now;
	progress->was_told = true;
	fprintf(stderr, "\r%s: %.0f %%\033[K", progress->what, 100 * share);
}

static void clear_progress(struct progress *progress)
{
	if (progress->was_told)
		fputs("\r\033[K", stderr);
	progress->was_told = false;
}

/* ---- converting ---- */

static int find_arm(struct conversion *conversion, struct np_error *err)
{
	const struct nl_trace_about *about = nl_trace_about(conversion->trace);
	const char *wanted = conversion->args->arm;
	char names[256] = "";

	conversion->arm = NL_ALL_ARMS;
	conversion->rows = nl_trace_end(conversion->trace)->rows;
	if (!wanted)
		return 0;
	for (unsigned arm = 0; arm < about->arm_count; arm++) {
		size_t used = strlen(names);

		if (strcmp(about->arms[arm], wanted) == 0) {
			conversion->arm = arm;
			conversion->rows = nl_trace_arm_rows(conversion->trace, arm);
			return 0;
		}
		snprintf(names + used, sizeof(names) - used, "%s%s", arm ? ", " : "",
		         about->arms[arm]);
	}
	if (about->arm_count == 1)
		return np_error_set(err, ENOENT, "%s: --arm: it has a single arm, '%s'",
		                    conversion->args->from, about->arms[0]);
	return np_error_set(err, ENOENT, "%s: --arm: there is no '%s', but: %s",
	                    conversion->args->from, wanted, names);
}

/* The arm that was taken out of a run is told among the details. */
static json_t *arm_details(const struct nl_trace_about *about, const char *arm)
{
	json_t *details = about->details ? json_deep_copy(about->details) : json_object();

	np_json_set_member(&details, "arm", np_json_text(arm));
	return details;
}

static int open_writer(struct conversion *conversion, struct np_error *err)
{
	const struct convert_args *args = conversion->args;
	struct nl_trace_about about = *nl_trace_about(conversion->trace);
	json_t *details = NULL;
	int rc;

	if (conversion->arm != NL_ALL_ARMS) {
		details = arm_details(&about, args->arm);
		if (!details)
			return np_error_sys(err, ENOMEM, "convert");
		about.arms[0] = "";
		about.arm_count = 1;
		about.order = NULL;
		about.block = 0;
		about.details = details;
	}
	rc = nl_trace_writer_create(args->to, args->form, &about, &conversion->writer, err);
	json_decref(details);
	return rc;
}

static int open_all(struct conversion *conversion, struct np_error *err)
{
	const struct convert_args *args = conversion->args;
	struct nl_trace_watch watch = { show_progress, &conversion->progress };
	int rc = check_target(args, err);

	conversion->progress.what = "reading";
	if (rc == 0)
		rc = nl_trace_open_watched(args->from, &watch, &conversion->trace, err);
	if (rc == 0)
		rc = find_arm(conversion, err);
	if (rc == 0)
		rc = nl_row_reader_create(conversion->trace, conversion->arm, &conversion->reader,
		                          err);
	if (rc < 0)
		return rc;
	/* From here on there is something to remove. */
	conversion->stop = nl_cmd_stop_on_signal();
	return open_writer(conversion, err);
}

static int copy_rows(struct conversion *conversion, struct np_error *err)
{
	struct nl_row row;
	uint64_t rows = 0;
	int rc;

	while ((rc = nl_row_reader_next(conversion->reader, &row, err)) > 0) {
		if (conversion->arm != NL_ALL_ARMS)
			row.arm = 0;
		rc = nl_trace_writer_add(conversion->writer, &row, err);
		if (rc < 0)
			return rc;
		if (++rows % LOOK_ROWS != 0)
			continue;
		if (*conversion->stop)
			return np_error_set(err, EINTR, "%s: not written: stopped by SIG%s",
			                    conversion->args->to, sigabbrev_np(*conversion->stop));
		show_progress(&conversion->progress, (double)rows / (double)conversion->rows);
	}
	return rc;
}

static int convert(struct conversion *conversion, struct np_error *err)
{
	struct nl_trace_writer *writer;
	int rc = open_all(conversion, err);

	if (rc < 0)
		return rc;
	conversion->progress.what = "writing";
	rc = copy_rows(conversion, err);
	if (rc < 0)
		return rc;
	writer = conversion->writer;
	conversion->writer = NULL;
	return nl_trace_writer_finish(writer, nl_trace_end(conversion->trace),
	                              nl_trace_outcome(conversion->trace), err);
}

/* What is left to say once TO is written. */
static int tell_end(const struct conversion *conversion)
{
	const struct nl_trace_end *end = nl_trace_end(conversion->trace);
	const struct convert_args *args = conversion->args;
	bool is_stdout = strcmp(args->to, "-") == 0;
	struct np_error err = { 0 };
	struct stat status;

	if (!end->is_complete) {
		np_error_set(&err, ENODATA,
		             "%s: not complete: %s; %" PRIu64 " rows were converted%s", args->from,
		             end->why, conversion->rows,
		             args->form == NL_TRACE_NLT ? "" : ", and a CSV cannot tell");
		return nl_cmd_fail(&err, NP_EXIT_NO);
	}
	if (conversion->progress.is_shown && !is_stdout && stat(args->to, &status) == 0)
		fprintf(stderr, "%" PRIu64 " rows, %" PRIu64 " bytes in %s\n", conversion->rows,
		        (uint64_t)status.st_size, args->to);
	return NP_EXIT_OK;
}

int nl_cmd_convert(struct nl_common *common, int argc, char **argv)
{
	struct convert_args args = { .common = common };
	struct conversion conversion = {
		.args = &args,
		.progress = { .is_shown = isatty(STDERR_FILENO), .told_ns = np_now_ns() },
	};
	int rc;

	if (np_cli_parse(&argp, argc, argv, 0, &args, &common->err) < 0 || check_args(&args) < 0)
		return nl_cmd_fail(&common->err, NP_EXIT_USAGE);
	rc = convert(&conversion, &common->err);
	clear_progress(&conversion.progress);
	rc = rc < 0 ? nl_cmd_fail(&common->err, NP_EXIT_NO) : tell_end(&conversion);
	nl_trace_writer_abandon(conversion.writer);
	nl_row_reader_free(conversion.reader);
	nl_trace_close(conversion.trace);
	return rc;
}
