/* SPDX-License-Identifier: BSD-3-Clause */
#include "affinity.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numarun/apply.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BRIEF_SIZE = 96 };

void nr_applied_release(struct nr_applied *applied)
{
	np_bitmap_release(&applied->cpus);
	nr_policy_release(&applied->policy);
	np_bitmap_release(&applied->before_cpus);
	nr_policy_release(&applied->before_policy);
}

int nr_affinity_get(struct np_bitmap *ret, struct np_error *err)
{
	int rc = nr_affinity_read(0, ret);

	return rc < 0 ? np_error_sys(err, -rc, "read back the CPU affinity") : 0;
}

int nr_affinity_set(const struct np_bitmap *cpus, struct np_error *err)
{
	char list[BRIEF_SIZE];
	int rc = nr_affinity_write(0, cpus);

	if (rc == 0)
		return 0;
	np_cpulist_named("CPU", cpus, list, sizeof(list));
	if (rc == -EINVAL)
		return np_error_set(
			err, EINVAL,
			"bind to %s: none can be used, they are offline or outside the cpuset",
			list);
	return np_error_sys(err, -rc, "bind to %s", list);
}

static int apply_cpus(const struct nr_plan *plan, struct np_bitmap *ret, struct np_error *err)
{
	char wanted[BRIEF_SIZE];
	char kept[BRIEF_SIZE];
	int rc = plan->binds_cpus ? nr_affinity_set(&plan->cpus, err) : 0;

	if (rc == 0)
		rc = nr_affinity_get(ret, err);
	if (rc < 0 || !plan->binds_cpus || np_bitmap_equal(ret, &plan->cpus))
		return rc;
	if (plan->may_shrink && np_bitmap_is_subset(ret, &plan->cpus))
		return 0;
	return np_error_set(err, EXDEV,
	                    "bind to %s: the kernel kept %s, the others are offline or outside "
	                    "the cpuset",
	                    np_cpulist_named("CPU", &plan->cpus, wanted, sizeof(wanted)),
	                    np_cpulist_brief(ret, kept, sizeof(kept)));
}

static bool policy_is_kept(const struct nr_plan *plan, const struct nr_policy *kept)
{
	const struct nr_policy *policy = &plan->policy;

	if (kept->mode != policy->mode || kept->balancing != policy->balancing)
		return false;
	if (np_bitmap_equal(&kept->nodes, &policy->nodes))
		return true;
	return plan->policy_may_shrink && !np_bitmap_is_empty(&kept->nodes) &&
	       np_bitmap_is_subset(&kept->nodes, &policy->nodes);
}

static int verify_policy(const struct nr_plan *plan, struct nr_policy *ret, struct np_error *err)
{
	char *wanted;
	char *kept;
	int rc = nr_policy_get(ret, err);

	if (rc < 0 || policy_is_kept(plan, ret))
		return rc;
	wanted = nr_policy_print(&plan->policy);
	kept = nr_policy_print(ret);
	np_error_set(err, EXDEV, "memory policy %s: the kernel kept %s", wanted ? wanted : "?",
	             kept ? kept : "?");
	free(wanted);
	free(kept);
	return -EXDEV;
}

/* The policy stays KEEP where none was set: reading the inherited one may be refused too. */
static int apply_policy(const struct nr_plan *plan, struct nr_applied *ret, struct np_error *err)
{
	struct np_error why = { 0 };
	int rc = nr_policy_set(&plan->policy, &why);

	if (plan->policy.mode == NR_POLICY_KEEP)
		return 0;
	if ((rc == -EPERM || rc == -ENOSYS) &&
	    (plan->fallback == NR_FALLBACK_WARN || plan->fallback == NR_FALLBACK_CPU_ONLY)) {
		ret->policy_refused = -rc;
		return 0;
	}
	if (rc == 0)
		return verify_policy(plan, &ret->policy, err);
	if (err)
		*err = why;
	return rc;
}

void nr_apply_undo(const struct nr_plan *plan, const struct nr_applied *applied)
{
	if (plan->binds_cpus)
		nr_affinity_set(&applied->before_cpus, NULL);
	nr_policy_set(&applied->before_policy, NULL);
}

int nr_apply(const struct nr_plan *plan, struct nr_applied *ret, struct np_error *err)
{
	struct nr_applied applied = { 0 };
	int rc = nr_affinity_get(&applied.before_cpus, err);

	if (rc == 0 && plan->policy.mode != NR_POLICY_KEEP)
		nr_policy_get(&applied.before_policy, NULL);
	if (rc == 0)
		rc = apply_cpus(plan, &applied.cpus, err);
	if (rc == 0)
		rc = apply_policy(plan, &applied, err);
	if (rc < 0) {
		nr_apply_undo(plan, &applied);
		nr_applied_release(&applied);
		return rc;
	}
	*ret = applied;
	return 0;
}
