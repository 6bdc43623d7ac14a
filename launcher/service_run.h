/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numarun --roles: several programs, placed by one plan and run under one parent.
 */
#ifndef NR_SERVICE_RUN_H
#define NR_SERVICE_RUN_H

#include "args.h"

/* Returns the exit status; everything that went wrong has been told. */
int nr_run_service(const struct nr_args *args);

#endif
