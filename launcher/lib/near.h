/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of a plan that chooses CPUs by their nearness to a device. Pure, as all of the plan.
 */
#ifndef NR_NEAR_H
#define NR_NEAR_H

#include <numarun/plan.h>

/*
 * Fills plan->cpus, ->near and ->picks for a request of NR_CPUS_NEAR; what it fills is the plan's
 * also when it fails. Errors as nr_plan_make().
 */
int nr_plan_near(const struct np_topology *topology, const struct nr_request *request,
                 struct nr_plan *plan, struct np_error *err);

/* Adds a sentence for the user, printf style. -ENOMEM. */
int nr_plan_warn(struct nr_plan *plan, const char *fmt, ...) NP_PRINTF(2, 3);

#endif
