/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One program: from the request to a plan, what must be so before it starts, and its run; as this
 * very process, or under a parent that stays.
 */
#ifndef NR_RUN_H
#define NR_RUN_H

#include "args.h"

/* Returns the exit status; everything that went wrong has been told. */
int nr_run_program(const struct nr_args *args, const struct np_topology *topology);

#endif
