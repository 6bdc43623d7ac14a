/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What numarun prints: plans in words and JSON, and numactl's --show and --hardware.
 */
#ifndef NR_SHOW_H
#define NR_SHOW_H

#include <numarun/apply.h>
#include <numarun/plan.h>
#include <numarun/service.h>
#include <stdio.h>

/* The plan in words, several lines. */
void nr_show_plan(const struct nr_plan *plan, FILE *out);

/* What the kernel said after it was applied, one line. */
void nr_show_applied(const struct nr_applied *applied, FILE *out);

/* The document numakit/plan/1; @command may be NULL. -ENOMEM, or of write(2). */
int nr_show_plan_json(const struct nr_plan *plan, char *const command[], FILE *out);

/* The document numakit/service/1: the plan of each program of a service. Errors as above. */
int nr_show_service_json(const struct nr_roles *roles, const struct nr_service *service, FILE *out);

/* In numactl --show's form, for scripts that read it. -errno when the kernel does not tell. */
int nr_show_policy(const struct np_topology *topology, FILE *out, struct np_error *err);

/* In numactl --hardware's form; with @cpu_ranges in that of its --cpu-compress. */
void nr_show_hardware(const struct np_topology *topology, bool cpu_ranges, FILE *out);

#endif
