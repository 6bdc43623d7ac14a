/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why a thread is not where it was put.
 */
#ifndef NR_CAUSE_H
#define NR_CAUSE_H

#include "../../probe/base/sysroot.h"

#include <numarun/verify.h>

/* Which of the CPUs that were asked for a process could have now. */
struct nr_available {
	struct np_bitmap cpus; /* asked for, online and in the cpuset */
	enum nr_cause cause;   /* why some are missing; OWN when none are */
	char detail[NR_EVENT_TEXT_SIZE];
};

/* The caller releases ret->cpus. -ENOMEM; what cannot be read is taken for no cause. */
int nr_cause_of_cpus(const struct np_sysroot *root, pid_t process, const struct np_bitmap *asked,
                     struct nr_available *ret);

/* The same for the nodes of a memory policy; only cause and detail are filled. */
void nr_cause_of_policy(const struct np_sysroot *root, pid_t process, const struct np_bitmap *asked,
                        struct nr_available *ret);

#endif
