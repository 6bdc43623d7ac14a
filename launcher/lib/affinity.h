/* SPDX-License-Identifier: BSD-3-Clause */
/* sched_setaffinity(2) and sched_getaffinity(2) for masks of whatever size. */
#ifndef NR_AFFINITY_H
#define NR_AFFINITY_H

#include <numaprobe/bitmap.h>
#include <sys/types.h>

/* The mask of thread @tid, 0 = the calling one, added to *ret.  -errno of the call, -ENOMEM */
int nr_affinity_read(pid_t tid, struct np_bitmap *ret);

/* Sets it.  -errno of the call */
int nr_affinity_write(pid_t tid, const struct np_bitmap *cpus);

#endif
