/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From what a user asks to what the kernel will be told. Pure: the topology and the request alone
 * decide, nothing is read and nothing is changed.
 */
#ifndef NUMARUN_PLAN_H
#define NUMARUN_PLAN_H

#include <numaprobe/rank.h>
#include <numaprobe/topology.h>
#include <numarun/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

enum nr_cpu_choice {
	NR_CPUS_KEEP,  /* leave the inherited affinity alone */
	NR_CPUS_LIST,  /* these CPUs (numactl -C) */
	NR_CPUS_NODES, /* the CPUs of these nodes (numactl -N) */
	NR_CPUS_NEAR,  /* those nearest to a device */
};

/* What to do where a seccomp filter refuses to set a memory policy, as in most containers. */
enum nr_fallback {
	NR_FALLBACK_UNSET,    /* FAIL for a policy that was asked for, WARN for one that was not */
	NR_FALLBACK_FAIL,     /* run nothing */
	NR_FALLBACK_WARN,     /* keep the inherited policy, and say so */
	NR_FALLBACK_CPU_ONLY, /* keep the inherited policy */
};

/* What the user asks for. Zero-initialised asks for nothing. Borrows its strings. */
struct nr_request {
	enum nr_cpu_choice cpu_choice;
	struct np_bitmap cpus;  /* for LIST */
	struct np_bitmap nodes; /* for NODES */

	/* For NEAR. */
	size_t device;  /* the topology's, by its place */
	unsigned tier;  /* the tier to begin with; 0 = the best */
	unsigned count; /* cores; 0 = all CPUs of that tier */
	/*
	 * CPUs that others have. A core with one of them is taken as a whole, and a tier without a
	 * free core is passed over.
	 */
	struct np_bitmap avoid;
	bool smt;    /* every CPU of each core that is counted, not one */
	bool strict; /* do not go on into the next tier */

	struct nr_policy policy;
	bool policy_may_shrink; /* its nodes were taken outside Mems_allowed too (numactl -a) */
	enum nr_fallback fallback;
	bool far; /* bind memory to the farthest node instead of policy */
};

void nr_request_release(struct nr_request *request);

/* CPUs taken from one tier. */
struct nr_pick {
	unsigned tier;
	bool has_distance;
	unsigned distance;
	unsigned core_count; /* a CPU of which no core is told counts as one */
	struct np_bitmap cpus;
};

struct nr_plan {
	bool binds_cpus;
	/*
	 * The kernel may lawfully keep fewer CPUs: numactl -N takes what the cpuset leaves of a
	 * node. Otherwise the read-back must be equal.
	 */
	bool may_shrink;
	struct np_bitmap cpus;  /* to bind to; with binds_cpus false those inherited */
	struct np_bitmap nodes; /* of these CPUs */
	struct nr_policy policy;
	enum nr_fallback fallback; /* never UNSET */
	bool policy_may_shrink;    /* the kernel may lawfully keep fewer of the policy's nodes */
	bool has_far_distance;
	unsigned far_distance; /* from the CPUs' nodes to the far node */

	const struct np_device *near; /* the topology's, NULL without NEAR */
	struct nr_pick *picks;        /* for NEAR, nearest first, none of them empty */
	size_t pick_count;
	unsigned wanted_count;       /* the request's count */
	unsigned first_tier;         /* the tier asked for */
	bool spilled;                /* that tier had too few cores: there are others' too */
	unsigned spilled_from_cores; /* how many it had; 0 also when it did not spill */

	char **warnings; /* sentences for the user */
	size_t warning_count;
};

/*
 * Fills *ret, which the caller ends with nr_plan_release(). It borrows from @topology.
 *
 *   -EINVAL  a CPU or node that does not exist or cannot be used, and why
 *   -ERANGE  a tier that does not exist, or more cores asked for than there are, or than
 *            others left
 *   -EXDEV   strict, and the tier has too few cores
 *   -ENODATA the device's node is unknown
 *   -ENOMEM
 */
int nr_plan_make(const struct np_topology *topology, const struct nr_request *request,
                 struct nr_plan *ret, struct np_error *err);
void nr_plan_release(struct nr_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
