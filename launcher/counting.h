/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --counters: what crosses memory controllers and links while the programs run. A summary at the
 * end, or rows in a file all along.
 */
#ifndef NR_COUNTING_H
#define NR_COUNTING_H

#include "args.h"

#include "../counters/rows.h"

struct nc_host;
struct nc_peaks;
struct nc_session;
struct nc_tally;

struct nr_counting {
	struct nc_host *host; /* NULL = nothing is counted */
	struct nc_session *session;
	struct nc_peaks *peaks;
	struct nc_tally *tally;
	struct nc_rows_about about;
	struct nc_rows *rows; /* NULL = a summary instead */
	uint64_t next_ns;     /* CLOCK_MONOTONIC of the next sample */
	bool has_failed;      /* it was told */
};

/*
 * Opens what the options ask for, before anything is started; nothing without --counters. The
 * caller ends *ret with nr_counting_end(), also on failure. Errors of nc_session_open() and of
 * nc_rows_open().
 */
int nr_counting_begin(const struct nr_args *args, struct nr_counting *ret, struct np_error *err);

/* Takes a sample when one is due. Returns when the next one is; UINT64_MAX = never. */
uint64_t nr_counting_tick(struct nr_counting *counting, uint64_t now_ns);

/* The last sample; then the file ends, or the summary is printed to standard error. */
void nr_counting_conclude(struct nr_counting *counting);

void nr_counting_end(struct nr_counting *counting);

#endif
