/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run of one program and one of roles share: the options for the parent that stays.
 */
#ifndef NR_SUPERVISED_H
#define NR_SUPERVISED_H

#include "counting.h"
#include "reserve.h"
#include "steer.h"
#include "supervise.h"
#include "verify_report.h"

struct nr_supervised {
	const struct nr_args *args;
	struct nr_steer *steer; /* NULL = none */
	struct nr_vitals *vitals;
	struct nr_supervision supervision;
	struct nr_verify_file file;
	struct nr_counting counting;
	size_t written_events; /* of all that ever were, when the file was written */
};

/*
 * Prepares a supervision of @count jobs, which the caller fills, as the options say. Nothing has
 * been started yet. The caller ends *ret with nr_supervised_end(), also on failure.
 */
int nr_supervised_begin(const struct nr_args *args, const struct np_topology *topology,
                        struct nr_reservation *reservation, size_t count, struct nr_supervised *ret,
                        struct np_error *err);

/* Runs the jobs to their end, and reports. */
void nr_supervised_run(struct nr_supervised *r);
void nr_supervised_end(struct nr_supervised *r);

/* Refuses a --sched that would hurt under this plan, unless --force is given. */
int nr_supervised_check_sched(const struct nr_args *args, const struct np_topology *topology,
                              struct nr_plan *plan, struct np_error *err);

#endif
