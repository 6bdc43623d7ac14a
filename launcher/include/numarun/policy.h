/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's memory policies (set_mempolicy(2),
 * Documentation/admin-guide/mm/numa_memory_policy.rst).
 */
#ifndef NUMARUN_POLICY_H
#define NUMARUN_POLICY_H

#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum nr_policy_mode {
	NR_POLICY_KEEP, /* leave the inherited policy alone */
	NR_POLICY_DEFAULT,
	NR_POLICY_LOCAL,
	NR_POLICY_PREFERRED,      /* one node first (numactl -p) */
	NR_POLICY_PREFERRED_MANY, /* several nodes first; Linux 5.15 */
	NR_POLICY_BIND,
	NR_POLICY_INTERLEAVE,
	NR_POLICY_WEIGHTED, /* by the weights in sysfs mempolicy/weighted_interleave; Linux 6.9 */
	NR_POLICY_MODE_COUNT
};

struct nr_policy {
	enum nr_policy_mode mode;
	bool balancing;         /* MPOL_F_NUMA_BALANCING, with bind only; Linux 5.12 */
	struct np_bitmap nodes; /* empty for KEEP, DEFAULT and LOCAL */
};

/* "bind", "weighted-interleave" …; never NULL. */
const char *nr_policy_mode_name(enum nr_policy_mode mode);

/* "bind:2", "local" in a new string that the caller frees; NULL when memory runs out. */
char *nr_policy_print(const struct nr_policy *policy);

void nr_policy_release(struct nr_policy *policy);

/*
 * Sets the calling thread's policy, which exec() and fork() pass on. KEEP does nothing.
 *
 *   -EPERM    a seccomp filter refuses memory policies, as containers have it; the kernel itself
 *             wants no privilege for this
 *   -EINVAL   this kernel does not know the mode, or none of the nodes can be used
 *   -ENOMEM
 */
int nr_policy_set(const struct nr_policy *policy, struct np_error *err);

/*
 * Would nr_policy_set() work? Tried out in a child process, so that the caller's own policy stays
 * what it is. Errors as there; a filter that kills for the call is -EPERM too.
 *
 *   other  of pipe2(2) and fork(2)
 */
int nr_policy_probe(const struct nr_policy *policy, struct np_error *err);

/* Reads the calling thread's policy into *ret, zeroed by the caller, who releases it. */
int nr_policy_get(struct nr_policy *ret, struct np_error *err);

/*
 * Sets the policy of the mapped pages in @bytes from @address on (mbind(2)), both multiples of the
 * page size. Of shared memory it outlives the mapping, of private memory it does not. KEEP does
 * nothing. With @strict it fails where a page that this process has seen already lies elsewhere,
 * and nothing is changed.
 *
 *   -EIO      strict, and such a page is there
 *   -EFAULT   not all of it is mapped
 *   other     as nr_policy_set()
 */
int nr_policy_set_at(void *address, size_t bytes, const struct nr_policy *policy, bool strict,
                     struct np_error *err);

/*
 * Reads the policy that holds for the page at @address, into *ret as above; DEFAULT where none was
 * set for it.
 */
int nr_policy_get_at(const void *address, struct nr_policy *ret, struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
