/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the two users of hwloc, the loader of exports and the refiner of this host, have in common.
 */
#ifndef NP_HWLOC_LOAD_H
#define NP_HWLOC_LOAD_H

#include <hwloc.h>
#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>

/*
 * A topology that will hold everything: memory-less nodes and what a cpuset excludes, and all
 * devices. The caller loads it and ends it with hwloc_topology_destroy().
 */
int np_hwloc_init(hwloc_topology_t *ret, struct np_error *err);

/*
 * Adds the members of hwloc's bitmap to *ret; an infinite one (nothing is known) adds none.
 *
 *   -ERANGE  a number that no host has
 *   -ENOMEM
 */
int np_hwloc_add_bitmap(struct np_bitmap *ret, hwloc_const_bitmap_t from);

#endif
