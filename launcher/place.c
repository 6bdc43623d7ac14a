/* SPDX-License-Identifier: BSD-3-Clause */
#include "place.h"

#include "show.h"
#include "tell.h"

#include <errno.h>
#include <numaprobe/cpulist.h>

enum { BRIEF_SIZE = 128 };

/* The plan follows what the kernel lawfully kept of the CPUs, and their nodes with them. */
static int follow_cpus(struct nr_plan *plan, const struct np_topology *topology, const char *label,
                       const struct np_bitmap *kept)
{
	char planned[BRIEF_SIZE];
	char left[BRIEF_SIZE];

	if (!plan->binds_cpus || np_bitmap_equal(kept, &plan->cpus))
		return 0;
	nr_tell(label, "the kernel kept %s of %s, the others are outside the cpuset",
	        np_cpulist_named("CPU", kept, left, sizeof(left)),
	        np_cpulist_brief(&plan->cpus, planned, sizeof(planned)));
	np_bitmap_release(&plan->nodes);
	if (np_bitmap_copy(&plan->cpus, kept) < 0)
		return -ENOMEM;
	return np_topology_nodes_of_cpus(topology, kept, &plan->nodes);
}

static int follow_policy(struct nr_plan *plan, const char *label, const struct nr_applied *applied)
{
	char planned[BRIEF_SIZE];
	char left[BRIEF_SIZE];

	if (applied->policy_refused)
		nr_policy_release(&plan->policy); /* the inherited one stays: KEEP */
	/* Without NUMA in the kernel (ENOSYS) there is nothing to lose. */
	if (applied->policy_refused == EPERM && plan->fallback == NR_FALLBACK_WARN)
		nr_tell(label, "a seccomp filter refuses memory policies, as containers have it: "
		               "the inherited one stays");
	if (applied->policy.mode == NR_POLICY_KEEP ||
	    np_bitmap_equal(&applied->policy.nodes, &plan->policy.nodes))
		return 0;
	nr_tell(label, "the kernel kept %s of %s for memory, the others are outside Mems_allowed",
	        np_cpulist_named("node", &applied->policy.nodes, left, sizeof(left)),
	        np_cpulist_brief(&plan->policy.nodes, planned, sizeof(planned)));
	return np_bitmap_copy(&plan->policy.nodes, &applied->policy.nodes);
}

/* Where the kernel lawfully kept less than was planned, the plan follows it and the user is told. */
static int follow_kernel(struct nr_plan *plan, const struct np_topology *topology,
                         const char *label, const struct nr_applied *applied)
{
	int rc = follow_cpus(plan, topology, label, &applied->cpus);

	return rc < 0 ? rc : follow_policy(plan, label, applied);
}

int nr_place(struct nr_plan *plan, const struct np_topology *topology, const char *label,
             bool explains, struct nr_applied *ret, struct np_error *err)
{
	int rc = nr_apply(plan, ret, err);

	if (rc < 0)
		return rc;
	if (follow_kernel(plan, topology, label, ret) < 0) {
		nr_apply_undo(plan, ret);
		nr_applied_release(ret);
		return np_error_sys(err, ENOMEM, "plan");
	}
	if (explains)
		nr_show_applied(ret, stderr);
	return 0;
}
