/* SPDX-License-Identifier: BSD-3-Clause */
#include "selection.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { NAMES_SIZE = 256 };

static int open_trace(const struct nl_selection_args *args, const char *path, struct nl_trace **ret,
                      struct np_error *err)
{
	if (args->opening)
		args->opening(path);
	return nl_trace_open(path, ret, err);
}

static const char *label_of(const struct nl_selection_args *args, unsigned i, const char *usual)
{
	return args->labels[i] ? args->labels[i] : usual;
}

/* The names of a trace's arms as "a, b, c", with "..." where they do not fit. */
static const char *arm_names(const struct nl_trace_about *about, char names[NAMES_SIZE])
{
	size_t used = 0;

	names[0] = '\0';
	for (unsigned i = 0; i < about->arm_count; i++) {
		const char *separator = i > 0 ? ", " : "";
		size_t need = strlen(separator) + strlen(about->arms[i]);

		if (used + need + sizeof(", ...") > NAMES_SIZE) {
			memcpy(names + used, ", ...", sizeof(", ..."));
			break;
		}
		stpcpy(stpcpy(names + used, separator), about->arms[i]);
		used += need;
	}
	return names;
}

/* A trace of one arm without a name has that one, whatever is asked for. */
static int find_arm(const struct nl_trace *trace, const char *name, unsigned *ret,
                    struct np_error *err)
{
	const struct nl_trace_about *about = nl_trace_about(trace);
	char names[NAMES_SIZE];

	*ret = 0;
	if (about->arm_count == 1 && about->arms[0][0] == '\0')
		return 0;
	for (unsigned i = 0; i < about->arm_count; i++) {
		if (strcmp(about->arms[i], name) == 0) {
			*ret = i;
			return 0;
		}
	}
	return np_error_set(err, EINVAL, "%s: --arms: there is no arm '%s'; there are: %s",
	                    nl_trace_path(trace), name, arm_names(about, names));
}

/* Which arm of a trace that stands for one side. */
static int choose_arm(const struct nl_trace *trace, const char *name, unsigned *ret,
                      struct np_error *err)
{
	const struct nl_trace_about *about = nl_trace_about(trace);
	char names[NAMES_SIZE];

	*ret = 0;
	if (name)
		return find_arm(trace, name, ret, err);
	if (about->arm_count > 1)
		return np_error_set(err, EINVAL,
		                    "%s has %u arms: --arms NAME,NAME tells which of each trace; "
		                    "there are: %s",
		                    nl_trace_path(trace), about->arm_count,
		                    arm_names(about, names));
	return 0;
}

/* The two arms of one trace. */
static int choose_two(const struct nl_selection_args *args, struct nl_pair *pair,
                      struct np_error *err)
{
	const struct nl_trace *trace = pair->a.trace;
	const struct nl_trace_about *about = nl_trace_about(trace);
	char names[NAMES_SIZE];
	int rc;

	if (about->arm_count == 1)
		return np_error_set(err, EINVAL,
		                    "%s has one arm, and nothing to compare it with: numalat show "
		                    "describes it",
		                    nl_trace_path(trace));
	if (!args->arms[0] && about->arm_count > 2)
		return np_error_set(err, EINVAL,
		                    "%s has %u arms: --arms NAME,NAME tells which two; there are: "
		                    "%s",
		                    nl_trace_path(trace), about->arm_count,
		                    arm_names(about, names));
	pair->b.arm = 1;
	if (args->arms[0]) {
		rc = find_arm(trace, args->arms[0], &pair->a.arm, err);
		if (rc == 0)
			rc = find_arm(trace, args->arms[1], &pair->b.arm, err);
		if (rc < 0)
			return rc;
		if (pair->a.arm == pair->b.arm)
			return np_error_set(err, EINVAL, "%s: --arms: '%s' twice",
			                    nl_trace_path(trace), args->arms[0]);
	}
	pair->a.label = label_of(args, 0, about->arms[pair->a.arm]);
	pair->b.label = label_of(args, 1, about->arms[pair->b.arm]);
	return 0;
}

static int open_one(const struct nl_selection_args *args, struct nl_selection *selection,
                    struct np_error *err)
{
	struct nl_pair *pair = &selection->pairs[0];
	int rc = open_trace(args, args->paths[0], &pair->a.trace, err);

	selection->count = 1;
	if (rc < 0)
		return rc;
	pair->b.trace = pair->a.trace;
	return choose_two(args, pair, err);
}

/* Two arms of one file are of one run. A pipe is read once. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat status[2];

	return stat(a, &status[0]) == 0 && stat(b, &status[1]) == 0 && S_ISREG(status[0].st_mode) &&
	       status[0].st_dev == status[1].st_dev && status[0].st_ino == status[1].st_ino;
}

static int open_two(const struct nl_selection_args *args, struct nl_selection *selection,
                    struct np_error *err)
{
	struct nl_pair *pair = &selection->pairs[0];
	int rc = open_trace(args, args->paths[0], &pair->a.trace, err);

	selection->count = 1;
	if (rc == 0 && args->arms[0] && is_same_file(args->paths[0], args->paths[1])) {
		pair->b.trace = pair->a.trace;
		return choose_two(args, pair, err);
	}
	if (rc == 0)
		rc = open_trace(args, args->paths[1], &pair->b.trace, err);
	if (rc == 0)
		rc = choose_arm(pair->a.trace, args->arms[0], &pair->a.arm, err);
	if (rc == 0)
		rc = choose_arm(pair->b.trace, args->arms[1], &pair->b.arm, err);
	pair->a.label = label_of(args, 0, "A");
	pair->b.label = label_of(args, 1, "B");
	return rc;
}

/* ---- run directories ---- */

static int open_case(const struct nl_selection_args *args, const char *path, const char *protocol,
                     struct nl_input *input, struct np_error *err)
{
	const struct nl_trace_about *about;
	int rc = open_trace(args, path, &input->trace, err);

	if (rc < 0)
		return rc;
	about = nl_trace_about(input->trace);
	if (about->protocol && strcmp(about->protocol, protocol) != 0)
		return np_error_set(err, EBADMSG, "%s: a trace of %s where one of %s should be",
		                    path, about->protocol, protocol);
	if (about->arm_count > 1)
		return np_error_set(err, EBADMSG, "%s: %u arms, where a case of a run has one",
		                    path, about->arm_count);
	return 0;
}

static int open_cases(const struct nl_selection_args *args, struct nl_selection *selection,
                      struct np_error *err)
{
	int rc;

	if (args->arms[0])
		return np_error_set(err, EINVAL,
		                    "%s: --arms: the cases of a run directory have one arm each",
		                    args->paths[0]);
	rc = nl_run_directory_find(args->paths[0], &selection->directory, err);
	selection->is_run_directory = true;
	for (unsigned i = 0; i < NL_RUN_PROTOCOLS && rc == 0; i++) {
		const struct nl_run_pair *cases = &selection->directory.pairs[i];
		struct nl_pair *pair = &selection->pairs[selection->count];

		if (!nl_run_pair_is_whole(cases))
			continue;
		selection->count++;
		pair->protocol = cases->protocol;
		pair->a.label = label_of(args, 0, "local");
		pair->b.label = label_of(args, 1, "remote");
		pair->rc = open_case(args, cases->local, cases->protocol, &pair->a, &pair->err);
		if (pair->rc == 0)
			pair->rc = open_case(args, cases->remote, cases->protocol, &pair->b,
			                     &pair->err);
	}
	return rc;
}

int nl_selection_open(const struct nl_selection_args *args, struct nl_selection *ret,
                      struct np_error *err)
{
	struct nl_selection selection = { 0 };
	struct stat status;
	int rc;

	if (args->paths[1])
		rc = open_two(args, &selection, err);
	else if (stat(args->paths[0], &status) < 0)
		rc = np_error_sys(err, errno, "%s", args->paths[0]);
	else if (S_ISDIR(status.st_mode))
		rc = open_cases(args, &selection, err);
	else
		rc = open_one(args, &selection, err);
	if (rc < 0)
		nl_selection_close(&selection);
	else
		*ret = selection;
	return rc;
}

void nl_selection_close(struct nl_selection *selection)
{
	for (size_t i = 0; i < selection->count; i++) {
		struct nl_pair *pair = &selection->pairs[i];

		if (pair->b.trace != pair->a.trace)
			nl_trace_close(pair->b.trace);
		nl_trace_close(pair->a.trace);
	}
	nl_run_directory_release(&selection->directory);
	*selection = (struct nl_selection){ 0 };
}
