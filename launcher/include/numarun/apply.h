/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out a plan in the calling thread, and proves it.
 *
 * The kernel drops CPUs and nodes that cannot be used without a word (sched_setaffinity(2), NOTES;
 * set_mempolicy(2)), so everything is read back and compared.
 */
#ifndef NUMARUN_APPLY_H
#define NUMARUN_APPLY_H

#include <numarun/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the kernel says after applying; the caller releases it with nr_applied_release(). */
struct nr_applied {
	struct np_bitmap cpus;
	struct nr_policy policy; /* KEEP when none was set */
	int policy_refused;      /* why it was not set, with a fallback: EPERM or ENOSYS; else 0 */

	struct np_bitmap before_cpus;   /* what was so before */
	struct nr_policy before_policy; /* KEEP where none was set, or it could not be read */
};

/*
 * Affinity first, then the memory policy, so that what is allocated on the way already lies right;
 * then both are read back. On failure what was so before is put back.
 *
 *   -EXDEV  the kernel kept something else than what was asked; err says what
 *   other   of sched_setaffinity(2), or as nr_policy_set()
 */
int nr_apply(const struct nr_plan *plan, struct nr_applied *ret, struct np_error *err);
void nr_applied_release(struct nr_applied *applied);

/* Puts back what was so before, for a thread that applied a plan only for its children to come. */
void nr_apply_undo(const struct nr_plan *plan, const struct nr_applied *applied);

/* The calling thread's affinity mask, of whatever size, added to *ret. */
int nr_affinity_get(struct np_bitmap *ret, struct np_error *err);

/* Sets it. -EINVAL: none of these CPUs can be used. */
int nr_affinity_set(const struct np_bitmap *cpus, struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
