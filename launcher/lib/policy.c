/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory policies by their system calls alone: see docs/decisions/policy-syscalls.md for why not
 * through libnuma's wrappers.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <numaprobe/cpulist.h>
#include <numarun/policy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Headers before Linux 6.9 lack the value; the kernel's answer decides whether it exists. */
#define MODE_WEIGHTED_INTERLEAVE 6

/* The kernel refuses masks of more than a page (mm/mempolicy.c, get_nodes()). */
enum { FIRST_MASK_BITS = 1024, MASK_BITS_MAX = 32768, BRIEF_SIZE = 128 };

static const struct {
	const char *name;
	int mode; /* for set_mempolicy(2) */
} modes[NR_POLICY_MODE_COUNT] = {
	[NR_POLICY_KEEP] = { "inherited", -1 },
	[NR_POLICY_DEFAULT] = { "default", MPOL_DEFAULT },
	[NR_POLICY_LOCAL] = { "local", MPOL_LOCAL },
	[NR_POLICY_PREFERRED] = { "preferred", MPOL_PREFERRED },
	[NR_POLICY_PREFERRED_MANY] = { "preferred-many", MPOL_PREFERRED_MANY },
	[NR_POLICY_BIND] = { "bind", MPOL_BIND },
	[NR_POLICY_INTERLEAVE] = { "interleave", MPOL_INTERLEAVE },
	[NR_POLICY_WEIGHTED] = { "weighted-interleave", MODE_WEIGHTED_INTERLEAVE },
};

const char *nr_policy_mode_name(enum nr_policy_mode mode)
{
	return modes[mode].name;
}

char *nr_policy_print(const struct nr_policy *policy)
{
	char *nodes = np_cpulist_print(&policy->nodes);
	char *text = NULL;
	int len;

	if (!nodes)
		return NULL;
	len = asprintf(&text, "%s%s%s%s", modes[policy->mode].name, *nodes ? ":" : "", nodes,
	               policy->balancing ? " (balancing)" : "");
	free(nodes);
	return len < 0 ? NULL : text;
}

void nr_policy_release(struct nr_policy *policy)
{
	np_bitmap_release(&policy->nodes);
	*policy = (struct nr_policy){ 0 };
}

/* @call is what was refused, "set_mempolicy(2)". */
static int explain_refusal(int code, const char *call, const struct nr_policy *policy,
                           const char *nodes, struct np_error *err)
{
	const char *mode = modes[policy->mode].name;

	if (code == EPERM)
		return np_error_set(
			err, EPERM,
			"memory policy %s: a seccomp filter refuses %s, as containers have it: "
			"allow it in their profile, or be root in them and run them with --cap-add "
			"SYS_NICE",
			mode, call);
	if (code == ENOSYS)
		return np_error_set(err, ENOSYS,
		                    "memory policy %s: this kernel was built without NUMA support",
		                    mode);
	if (code == EINVAL && policy->mode == NR_POLICY_WEIGHTED)
		return np_error_set(err, EINVAL,
		                    "memory policy %s: this kernel does not have it (Linux 6.9 "
		                    "does), or nodes %s cannot be used",
		                    mode, nodes);
	if (code == EINVAL && policy->mode == NR_POLICY_PREFERRED_MANY)
		return np_error_set(err, EINVAL,
		                    "memory policy %s: this kernel does not have it (Linux 5.15 "
		                    "does), or nodes %s cannot be used",
		                    mode, nodes);
	if (code == EINVAL && policy->balancing)
		return np_error_set(err, EINVAL,
		                    "memory policy %s with NUMA balancing: this kernel does not "
		                    "have it (Linux 5.12 does), or nodes %s cannot be used",
		                    mode, nodes);
	if (code == EINVAL && *nodes)
		return np_error_set(err, EINVAL,
		                    "memory policy %s: none of the nodes %s can be used, they are "
		                    "outside Mems_allowed of the cpuset",
		                    mode, nodes);
	return np_error_sys(err, code, "memory policy %s for nodes %s", mode,
	                    *nodes ? nodes : "(none)");
}

/* One more than there are: the kernel takes one off (mm/mempolicy.c, get_nodes()). */
static unsigned long mask_bits(const struct np_bitmap *nodes)
{
	unsigned last = np_bitmap_last(nodes);

	return last == NP_BITMAP_END ? 0 : (unsigned long)last + 2;
}

/* The system call alone, which is all that a child after fork() may do. */
static int set_mode(const struct nr_policy *policy)
{
	unsigned long bits = mask_bits(&policy->nodes);
	int mode = modes[policy->mode].mode | (policy->balancing ? MPOL_F_NUMA_BALANCING : 0);

	if (policy->mode == NR_POLICY_KEEP ||
	    syscall(SYS_set_mempolicy, mode, bits ? policy->nodes.words : NULL, bits) == 0)
		return 0;
	return -errno;
}

static int explain_failure(int rc, const struct nr_policy *policy, struct np_error *err)
{
	char nodes[BRIEF_SIZE];

	if (rc == 0)
		return 0;
	return explain_refusal(-rc, "set_mempolicy(2)", policy,
	                       np_cpulist_brief(&policy->nodes, nodes, sizeof(nodes)), err);
}

int nr_policy_set(const struct nr_policy *policy, struct np_error *err)
{
	return explain_failure(set_mode(policy), policy, err);
}

/*
 * The answer comes through a pipe, as the status of a child can be lost: to a caller that ignores
 * SIGCHLD, or to its loop that reaps every child. No answer at all: a filter killed the child.
 */
static int read_answer(int fd, int *ret)
{
	ssize_t n;

	do
		n = read(fd, ret, sizeof(*ret));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n != sizeof(*ret))
		*ret = -EPERM;
	return 0;
}

int nr_policy_probe(const struct nr_policy *policy, struct np_error *err)
{
	int ends[2];
	int answer = 0;
	pid_t pid;
	int rc;

	if (policy->mode == NR_POLICY_KEEP)
		return 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return np_error_sys(err, errno, "memory policy: pipe to try it out");
	pid = fork();
	if (pid == 0) {
		answer = set_mode(policy);
		_exit(write(ends[1], &answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
	}
	rc = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (rc == 0)
		rc = read_answer(ends[0], &answer);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (rc < 0)
		return np_error_sys(err, -rc, "memory policy: child to try it out");
	return explain_failure(answer, policy, err);
}

int nr_policy_set_at(void *address, size_t bytes, const struct nr_policy *policy, bool strict,
                     struct np_error *err)
{
	char nodes[BRIEF_SIZE];
	int code;
	unsigned long bits = mask_bits(&policy->nodes);

	if (policy->mode == NR_POLICY_KEEP)
		return 0;
	if (syscall(SYS_mbind, address, bytes, modes[policy->mode].mode,
	            bits ? policy->nodes.words : NULL, bits, strict ? MPOL_MF_STRICT : 0U) == 0)
		return 0;
	code = errno;
	np_cpulist_brief(&policy->nodes, nodes, sizeof(nodes));
	if (code == EIO)
		return np_error_set(err, EIO,
		                    "memory policy %s: pages that are there already lie outside "
		                    "%s %s",
		                    modes[policy->mode].name,
		                    np_bitmap_count(&policy->nodes) == 1 ? "node" : "nodes",
		                    *nodes ? nodes : "(none)");
	return explain_refusal(code, "mbind(2)", policy, nodes, err);
}

static int find_mode(int mode, enum nr_policy_mode *ret)
{
	for (size_t i = NR_POLICY_DEFAULT; i < NR_POLICY_MODE_COUNT; i++) {
		if (modes[i].mode == mode) {
			*ret = (enum nr_policy_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

/*
 * Asks with a mask that grows until it holds all of the kernel's nodes; about the page at @address,
 * or about the thread when that is NULL.
 */
static int get_mask(const void *address, int *ret_mode, struct np_bitmap *ret_nodes)
{
	unsigned long flags = address ? MPOL_F_ADDR : 0UL;

	for (unsigned bits = FIRST_MASK_BITS; bits <= MASK_BITS_MAX; bits *= 2) {
		np_bitmap_release(ret_nodes);
		/* The range makes the room; the kernel overwrites all of it. */
		if (np_bitmap_add_range(ret_nodes, 0, bits - 1) < 0)
			return -ENOMEM;
		if (syscall(SYS_get_mempolicy, ret_mode, ret_nodes->words, (unsigned long)bits,
		            address, flags) == 0)
			return 0;
		if (errno != EINVAL)
			return -errno;
	}
	return -EINVAL;
}

static int read_policy(const void *address, struct nr_policy *ret, struct np_error *err)
{
	struct nr_policy policy = { 0 };
	int mode = 0;
	int rc = get_mask(address, &mode, &policy.nodes);

	if (rc < 0) {
		np_bitmap_release(&policy.nodes);
		return np_error_sys(err, -rc, "read back the memory policy");
	}
	policy.balancing = mode & MPOL_F_NUMA_BALANCING;
	mode &= ~(MPOL_F_NUMA_BALANCING | MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES);
	/* Removable once Linux >= 5.14: before, local was a preferred policy without nodes. */
	if (mode == MPOL_PREFERRED && np_bitmap_is_empty(&policy.nodes))
		mode = MPOL_LOCAL;
	if (find_mode(mode, &policy.mode) < 0) {
		np_bitmap_release(&policy.nodes);
		return np_error_set(err, EINVAL, "read back the memory policy: mode %d is unknown",
		                    mode);
	}
	*ret = policy;
	return 0;
}

int nr_policy_get(struct nr_policy *ret, struct np_error *err)
{
	return read_policy(NULL, ret, err);
}

int nr_policy_get_at(const void *address, struct nr_policy *ret, struct np_error *err)
{
	return read_policy(address, ret, err);
}
