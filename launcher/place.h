/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Applies a plan to this process and tells the user where the kernel lawfully kept less.
 */
#ifndef NR_PLACE_H
#define NR_PLACE_H

#include <numarun/apply.h>

/*
 * As nr_apply(); besides, the plan follows what the kernel kept. @label stands before what is told,
 * NULL = nothing. With @explains the kernel's word is told too. The caller releases *ret.
 */
int nr_place(struct nr_plan *plan, const struct np_topology *topology, const char *label,
             bool explains, struct nr_applied *ret, struct np_error *err);

#endif
