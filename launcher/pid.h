/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numarun --pid: moves a process that runs already.
 */
#ifndef NR_PID_H
#define NR_PID_H

#include "args.h"

/* Returns the exit status; everything has been told. */
int nr_run_pid(const struct nr_args *args, const struct np_topology *topology);

#endif
