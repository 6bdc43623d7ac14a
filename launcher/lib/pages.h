/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the pages of a process lie, and the policy of a thread, from proc/PID/numa_maps.
 */
#ifndef NR_PAGES_H
#define NR_PAGES_H

#include "../../probe/base/sysroot.h"

#include <numarun/verify.h>

/*
 * Adds the pages of @process to *ret, in bytes. What a strict policy (bind) with @asked allows is
 * its nodes; other policies allow all. The caller ends *ret with nr_pages_release().
 *
 *   -ENOENT  the process has ended, or the kernel has no NUMA
 *   -EACCES  it may not be looked into: another user's, or a setuid program
 *   -ENOMEM
 */
int nr_pages_add(const struct np_sysroot *root, pid_t process, const struct nr_policy *asked,
                 struct nr_pages *ret);
void nr_pages_release(struct nr_pages *pages);

/*
 * The policy of one thread as the kernel words it, cut at the end of @buf; the length, or -errno as
 * above. It is taken from the first mapping, the program's own text, which has no policy of its own.
 */
int nr_pages_thread_policy(const struct np_sysroot *root, pid_t process, pid_t thread, char *buf,
                           size_t size);

#endif
