/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NUMARUN_ENVIRONMENT_H
#define NUMARUN_ENVIRONMENT_H

#include <numarun/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a program finds in its environment when it runs under a plan:
 *
 *   NUMARUN_CPUS   the CPUs it may run on, "20-23"
 *   NUMARUN_NODES  the nodes of these CPUs, "10-11"
 *   NUMARUN_MEM    the memory policy, "bind:2", "local"; "inherited" when none was asked for
 *   NUMARUN_NEAR   the device that the CPUs are near to
 *   NUMARUN_ROLE   @role, unless it is NULL
 *
 * Returns @environment with these and with @extra ("NAME=VALUE", ended by NULL; may be NULL), which
 * replaces what has the same name; and every other NUMARUN_ variable left out, so that a nested run
 * does not show its parent's. One block that the caller ends with one free(); it points into
 * @environment and @extra. NULL when memory runs out.
 */
char **nr_environment_make(const struct nr_plan *plan, const char *role, char *const extra[],
                           char *const environment[]);

#ifdef __cplusplus
}
#endif

#endif
