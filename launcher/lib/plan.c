/* SPDX-License-Identifier: BSD-3-Clause */
#include "near.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numarun/plan.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BRIEF_SIZE = 96 };

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "plan");
}

void nr_request_release(struct nr_request *request)
{
	np_bitmap_release(&request->cpus);
	np_bitmap_release(&request->nodes);
	np_bitmap_release(&request->avoid);
	nr_policy_release(&request->policy);
}

void nr_plan_release(struct nr_plan *plan)
{
	np_bitmap_release(&plan->cpus);
	np_bitmap_release(&plan->nodes);
	nr_policy_release(&plan->policy);
	for (size_t i = 0; i < plan->pick_count; i++)
		np_bitmap_release(&plan->picks[i].cpus);
	free(plan->picks);
	for (size_t i = 0; i < plan->warning_count; i++)
		free(plan->warnings[i]);
	free(plan->warnings);
	*plan = (struct nr_plan){ 0 };
}

int nr_plan_warn(struct nr_plan *plan, const char *fmt, ...)
{
	char **grown = realloc(plan->warnings, (plan->warning_count + 1) * sizeof(char *));
	va_list args;
	int len;

	if (!grown)
		return -ENOMEM;
	plan->warnings = grown;
	va_start(args, fmt);
	len = vasprintf(&grown[plan->warning_count], fmt, args);
	va_end(args);
	if (len < 0)
		return -ENOMEM;
	plan->warning_count++;
	return 0;
}

/* ---- CPUs ---- */

/* The scheduler moves nothing between isolated CPUs: all threads stay on the first. */
static int warn_isolated(const struct np_topology *topology, struct nr_plan *plan)
{
	struct np_bitmap isolated = { 0 };
	char list[BRIEF_SIZE];
	int rc = np_bitmap_copy(&isolated, &plan->cpus);

	np_bitmap_and(&isolated, np_topology_cpus(topology, NP_CPUS_ISOLATED));
	if (rc == 0 && !np_bitmap_is_empty(&isolated) && np_bitmap_count(&plan->cpus) > 1)
		rc = nr_plan_warn(
			plan,
			"isolated: %s: the kernel spreads no threads over them, so a program "
			"with several can end up on one CPU",
			np_cpulist_named("CPU", &isolated, list, sizeof(list)));
	np_bitmap_release(&isolated);
	return rc;
}

static int add_node_cpus(const struct np_topology *topology, const struct np_bitmap *nodes,
                         struct np_bitmap *cpus, struct np_error *err)
{
	np_bitmap_for_each (index, nodes) {
		const struct np_node *node = np_topology_node(topology, index);

		if (!node)
			return np_error_set(err, EINVAL, "node %u does not exist", index);
		if (np_bitmap_or(cpus, &node->cpus) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int plan_cpus(const struct np_topology *topology, const struct nr_request *request,
                     struct nr_plan *plan, struct np_error *err)
{
	int rc = 0;

	plan->binds_cpus = request->cpu_choice != NR_CPUS_KEEP;
	switch (request->cpu_choice) {
	case NR_CPUS_KEEP:
		rc = np_bitmap_copy(&plan->cpus, np_topology_cpus(topology, NP_CPUS_ALLOWED));
		break;
	case NR_CPUS_LIST:
		rc = np_bitmap_copy(&plan->cpus, &request->cpus);
		break;
	case NR_CPUS_NODES:
		plan->may_shrink = !request->strict;
		rc = add_node_cpus(topology, &request->nodes, &plan->cpus, err);
		if (rc == -EINVAL)
			return rc;
		break;
	case NR_CPUS_NEAR:
		rc = nr_plan_near(topology, request, plan, err);
		if (rc < 0)
			return rc;
		break;
	}
	if (rc == 0 && plan->binds_cpus)
		rc = warn_isolated(topology, plan);
	if (rc == 0)
		rc = np_topology_nodes_of_cpus(topology, &plan->cpus, &plan->nodes);
	return rc < 0 ? no_memory(err) : 0;
}

/* ---- memory ---- */

/* From the nearest of @nodes to @to; false when no distance is known. */
static bool nearest_distance(const struct np_topology *topology, const struct np_bitmap *nodes,
                             unsigned to, unsigned *ret)
{
	bool found = false;

	np_bitmap_for_each (from, nodes) {
		unsigned distance;

		if (np_topology_node_distance(topology, from, to, &distance) < 0)
			continue;
		if (!found || distance < *ret)
			*ret = distance;
		found = true;
	}
	return found;
}

/* The node with memory that is farthest from all of the plan's nodes; the lowest among equals. */
static int plan_far(const struct np_topology *topology, struct nr_plan *plan, struct np_error *err)
{
	const struct np_bitmap *with_memory = np_topology_nodes(topology, NP_NODES_ALLOWED);
	unsigned farthest = NP_BITMAP_END;
	char nodes[BRIEF_SIZE];

	np_bitmap_for_each (node, with_memory) {
		unsigned distance = 0;

		if (np_bitmap_has(&plan->nodes, node) ||
		    !nearest_distance(topology, &plan->nodes, node, &distance) ||
		    distance >= NP_DISTANCE_UNREACHABLE)
			continue;
		if (farthest == NP_BITMAP_END || distance > plan->far_distance) {
			farthest = node;
			plan->far_distance = distance;
		}
	}
	if (farthest == NP_BITMAP_END)
		return np_error_set(err, EINVAL,
		                    "--far: no node but the CPUs' own (%s) has memory and a known "
		                    "distance",
		                    np_cpulist_brief(&plan->nodes, nodes, sizeof(nodes)));
	plan->has_far_distance = true;
	plan->policy.mode = NR_POLICY_BIND;
	return np_bitmap_add(&plan->policy.nodes, farthest) < 0 ? no_memory(err) : 0;
}

static int plan_memory(const struct np_topology *topology, const struct nr_request *request,
                       struct nr_plan *plan, struct np_error *err)
{
	plan->fallback = request->fallback ? request->fallback : NR_FALLBACK_FAIL;
	if (request->far)
		return plan_far(topology, plan, err);
	plan->policy.mode = request->policy.mode;
	plan->policy.balancing = request->policy.balancing;
	plan->policy_may_shrink = request->policy_may_shrink && !request->strict;
	/* Near means memory too; an inherited policy could say otherwise. */
	if (request->cpu_choice == NR_CPUS_NEAR && request->policy.mode == NR_POLICY_KEEP) {
		plan->policy.mode = NR_POLICY_LOCAL;
		if (!request->fallback && !request->strict)
			plan->fallback = NR_FALLBACK_WARN;
	}
	if (np_bitmap_copy(&plan->policy.nodes, &request->policy.nodes) < 0)
		return no_memory(err);
	return 0;
}

int nr_plan_make(const struct np_topology *topology, const struct nr_request *request,
                 struct nr_plan *ret, struct np_error *err)
{
	struct nr_plan plan = { 0 };
	int rc = plan_cpus(topology, request, &plan, err);

	if (rc == 0)
		rc = plan_memory(topology, request, &plan, err);
	if (rc < 0) {
		nr_plan_release(&plan);
		return rc;
	}
	*ret = plan;
	return 0;
}
