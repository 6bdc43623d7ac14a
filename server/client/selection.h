/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which arms of which traces are compared: of what a command line names (two traces, one trace with
 * several arms, or a run directory), the pairs, opened.
 */
#ifndef NL_SELECTION_H
#define NL_SELECTION_H

#include "analysis.h"
#include "run_directory.h"

/* What is asked for; text is borrowed. */
struct nl_selection_args {
	const char *paths[2];  /* the second may be NULL */
	const char *arms[2];   /* names; both NULL = those that there are */
	const char *labels[2]; /* both NULL = A and B, the arms' names, or local and remote */
	/* Told before each file is opened, which takes minutes for a long CSV. May be NULL. */
	void (*opening)(const char *path);
};

struct nl_pair {
	const char *protocol; /* that its folders tell; NULL */
	int rc;               /* below 0: of a run directory, its traces could not be opened */
	struct np_error err;  /* why */
	struct nl_input a;
	struct nl_input b; /* the trace may be a's */
};

struct nl_selection {
	struct nl_pair pairs[NL_RUN_PROTOCOLS];
	size_t count;
	bool is_run_directory;
	struct nl_run_directory directory; /* where it is one */
};

/*
 * The caller ends *ret with nl_selection_close(); *args must outlive it. A pair of a run directory whose
 * traces are bad, or of another protocol than their folders tell, is no error here, but has rc.
 *
 *   -EINVAL   a trace with one arm and nothing to compare it with; arms that there are not, or more
 *             than two and none named
 *   -EBADMSG  of nl_trace_open()
 *   other     of nl_run_directory_find(), nl_trace_open()
 */
int nl_selection_open(const struct nl_selection_args *args, struct nl_selection *ret,
                      struct np_error *err);
void nl_selection_close(struct nl_selection *selection);

#endif
