/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choosing cores among CPUs, so that few L3 caches are begun and whole ones stay whole. Pure.
 */
#ifndef NR_CORES_H
#define NR_CORES_H

#include <numaprobe/topology.h>

/* A core is taken or free as a whole; a CPU of which no core is told is one. */
struct nr_core_choice {
	const struct np_bitmap *cpus;  /* those to choose from */
	const struct np_bitmap *nodes; /* those that these CPUs are in */
	const struct np_bitmap *avoid; /* a core with one of these is not free; NULL = all are */
	unsigned want;                 /* cores; 0 = all that are free */
	bool smt;                      /* all CPUs of a core that is counted, not its first */
};

/*
 * Adds to *ret the CPUs of up to @want free cores, and returns how many cores these are.
 *
 * They are taken from the L3 cache with the fewest free cores that has enough of them; where none
 * has, whole from that with the most, and so on with the rest: no choice begins fewer caches. Among
 * equals the first in the order of nodes and then CPUs. Where no L3 is told a node counts as one.
 *
 *   -ENOMEM
 */
int nr_cores_take(const struct np_topology *topology, const struct nr_core_choice *choice,
                  struct np_bitmap *ret);

/*
 * Adds to *ret all CPUs that share an L3 cache with one of @cpus; where none is told, its node; and
 * its core. -ENOMEM.
 */
int nr_cores_add_neighbours(const struct np_topology *topology, const struct np_bitmap *cpus,
                            struct np_bitmap *ret);

#endif
