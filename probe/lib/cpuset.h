/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cpuset cgroup that a process is in, of either version of cgroups (cgroups(7),
 * Documentation/admin-guide/cgroup-v2.rst, section Cpuset).
 */
#ifndef NP_CPUSET_H
#define NP_CPUSET_H

#include "../base/sysroot.h"

/*
 * Adds the CPUs and the memory nodes of its cpuset to the two sets; a set that stays empty is not
 * told. @process is what proc/ has for it, "self" or a PID.
 *
 *   -errno of the file that could not be read, -EINVAL where one does not parse
 */
int np_cpuset_read(const struct np_sysroot *root, const char *process, struct np_bitmap *ret_cpus,
                   struct np_bitmap *ret_nodes, struct np_error *err);

#endif
