/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of CPUs and nodes in numactl's notation (numactl(8)):
 *
 *   0,2-3   OS indexes
 *   all     all that may be used
 *   +0-1    relative: the first and second of those that may be used
 *   !0      all but these; !+0 too. For CPUs, as in numactl, all of the cpuset, even those outside
 *           the inherited affinity
 *
 * Numbers are plain decimal: 010 and 0x10 are refused, as numactl reads them as 8 and 16.
 */
#ifndef NUMARUN_SET_H
#define NUMARUN_SET_H

#include <numaprobe/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Parses CPUs into *ret. With @all, "may be used" is every online CPU, else those that the process
 * inherited.
 *
 *   -EINVAL  not a set, empty, or a CPU in it cannot be used; err says which, why and what helps
 *   -ENOMEM
 */
int nr_set_parse_cpus(const char *text, const struct np_topology *topology, bool all,
                      struct np_bitmap *ret, struct np_error *err);

/* Nodes to run on (numactl -N): those with CPUs in the cpuset may be used, even without memory. */
int nr_set_parse_cpu_nodes(const char *text, const struct np_topology *topology,
                           struct np_bitmap *ret, struct np_error *err);

/*
 * Nodes to allocate from: those with memory inside the process's Mems_allowed; with @all also
 * those outside.
 */
int nr_set_parse_memory_nodes(const char *text, const struct np_topology *topology, bool all,
                              struct np_bitmap *ret, struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
