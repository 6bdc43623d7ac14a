/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NS_PLACEMENT_H
#define NS_PLACEMENT_H

#include "protocol/state.h"

#include <stdio.h>

/* Where the arenas are and what they are made of, as read back from the kernel: a table for people. -errno */
int ns_placement_print(const struct ns_server_state *state, FILE *out);

/* The plan alone, as numakit/store-plan/1: of ns_server_plan(). -errno */
int ns_plan_print(const struct ns_server_state *state, FILE *out);

#endif
