/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cgroup that a process is in, of either version, and those above it: a limit of any of them
 * counts (cgroups(7), Documentation/admin-guide/cgroup-v2.rst).
 */
#ifndef NR_CGROUP_H
#define NR_CGROUP_H

#include "../../probe/base/sysroot.h"

#include <sys/types.h>

struct nr_cgroup {
	char *dir; /* below the root, "sys/fs/cgroup/a/b"; NULL = the controller is not used */
	size_t mount_len; /* of dir, the part that is the mount point */
	bool v2;
};

/* The longest way up that is looked at; the kernel's own default is deeper than any real tree. */
enum { NR_CGROUP_DEPTH_MAX = 64 };

/*
 * Finds the cgroup of @pid (0 = the caller) for @controller ("memory", "hugetlb"): of version 1
 * where that has it, else of version 2. The caller ends *ret with nr_cgroup_release().
 *
 *   -EINVAL  proc/PID/cgroup or proc/mounts is not what the kernel writes
 *   -ESRCH   no such process
 *   -ENOMEM
 */
int nr_cgroup_find(const struct np_sysroot *root, pid_t pid, const char *controller,
                   struct nr_cgroup *ret, struct np_error *err);
void nr_cgroup_release(struct nr_cgroup *group);

/* Goes to the parent; false, and no change, at the mount point. */
bool nr_cgroup_ascend(struct nr_cgroup *group);

/* "dir/file" in a new string, NULL when memory runs out. */
char *nr_cgroup_path(const struct nr_cgroup *group, const char *file);

/* Which files hold a limit and what is used of it. */
struct nr_limit_files {
	const char *limit;
	const char *used;
	const char *stat; /* with lines of what is used but can be had back; NULL = none */
	const char *stat_keys[3];
};

/* A limit, with the file that sets it; path NULL = none. */
struct nr_limit {
	char *path;
	uint64_t limit_bytes;
	uint64_t room_bytes; /* of it, what is not used */
};

/*
 * The smallest limit on the way up from @group, and the one that leaves the least room: often the
 * same. The caller frees both paths.
 *
 *   -EINVAL  a file that is garbage
 *   -ENOMEM
 */
int nr_cgroup_limits(const struct np_sysroot *root, const struct nr_cgroup *group,
                     const struct nr_limit_files *files, struct nr_limit *ret_smallest,
                     struct nr_limit *ret_fullest, struct np_error *err);

#endif
