/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parent that stays: starts the programs of a run in their order, passes signals and output on,
 * looks at their placement again and again, and ends them in reverse.
 */
#ifndef NR_SUPERVISE_H
#define NR_SUPERVISE_H

#include "job.h"

/* Called at each look at a program and at the end, to check or write what else there is. */
struct nr_supervise_hook {
	void (*looked)(void *data);
	/* Called at each turn of the loop; returns when it wants to be called again (np_now_ns). */
	uint64_t (*tick)(void *data, uint64_t now_ns);
	void *data;
};

struct nr_supervision {
	struct nr_job *jobs; /* in the order of starting */
	size_t count;
	struct nr_job_rules rules;
	struct nr_supervise_hook hook;

	/* The outcome. */
	int status; /* exit status */
	int signal; /* to be raised again after all is put back; 0 = none */

	/* The rest is the module's own. */
	int signal_fd;
	uint64_t next_tick_ns;
	bool is_stopping;
	bool is_lost; /* a placement, with --strict: whatever ends the run, it has failed */
	struct nr_sink output;
	struct nr_sink errors;
};

/*
 * Blocks the signals that a supervisor handles, and remembers the mask for the children; to be
 * called before anything is changed that must be put back.
 */
int nr_supervise_prepare(struct nr_supervision *supervision, struct np_error *err);

/*
 * Runs all jobs to their end; every failure has been told. The caller has filled jobs and
 * rules, and releases the jobs.
 */
void nr_supervise(struct nr_supervision *supervision);

/* Dies of the signal that the run died of, or returns the exit status. */
int nr_supervise_conclude(const struct nr_supervision *supervision);

#endif
