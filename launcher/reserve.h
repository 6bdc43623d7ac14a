/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cores held for one run alone: what others hold is found out, and what the plan takes is claimed,
 * in one step of the registry.
 */
#ifndef NR_RESERVE_H
#define NR_RESERVE_H

#include "args.h"

#include <numarun/slots.h>

struct nr_reservation {
	bool is_wanted; /* --exclusive */
	bool is_open;
	bool has_claim;
	struct nr_registry registry;
	struct nr_claim claim;
	struct np_bitmap held; /* by others */
};

/* Opens and locks the registry, and reads what is held; does nothing without --exclusive. */
int nr_reserve_begin(const struct nr_args *args, struct nr_reservation *ret, struct np_error *err);

/*
 * Claims the whole cores of @cpus for a run of @program and names foreign processes that are pinned
 * there; unlocks the registry. With --dry-run and --export it claims nothing.
 */
int nr_reserve_take(const struct nr_args *args, const struct np_topology *topology,
                    const struct np_bitmap *cpus, const char *program,
                    struct nr_reservation *reservation, struct np_error *err);

/* Gives all back; twice ok. */
void nr_reserve_end(struct nr_reservation *reservation);

/* numarun --slots: the table of holders. The exit status. */
int nr_reserve_list(const struct nr_args *args);

#endif
