/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupts of the card, for as long as a run lasts.
 */
#ifndef NR_STEER_H
#define NR_STEER_H

#include "args.h"

struct nr_steer {
	bool is_applied;
	struct nr_irq_steering steering;
	int moved_count; /* told already */
};

/* Steers for --irq, and tells what is to be told; does nothing without. */
int nr_steer_begin(const struct nr_args *args, const struct np_topology *topology,
                   const struct nr_plan *plan, struct nr_steer *ret, struct np_error *err);

/* Looks whether they are still there, and tells when they are not. */
void nr_steer_check(struct nr_steer *steer);

/* Puts everything back; tells what could not be. */
void nr_steer_end(struct nr_steer *steer);

/* numarun --irq-restore. The exit status. */
int nr_steer_restore_left(const struct nr_args *args);

#endif
