/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NP_HWLOC_REHEARSE_H
#define NP_HWLOC_REHEARSE_H

#include <hwloc.h>
#include <numaprobe/error.h>

/* Opens and loads an export; -1 when hwloc says no. */
typedef int np_hwloc_open_fn(const char *path, hwloc_topology_t *ret);

/*
 * Tries out in a child process whether @open_export survives @path; what it answers is not the
 * question.
 *
 *   -EINVAL  it does not
 *   -EAGAIN, -ENOMEM  of fork(2)
 */
int np_hwloc_rehearse(const char *path, np_hwloc_open_fn *open_export, struct np_error *err);

#endif
