/* SPDX-License-Identifier: BSD-3-Clause */
#include "near.h"

#include "cores.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numaprobe/rank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BRIEF_SIZE = 96 };

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "plan");
}

/*
 * Takes up to @want cores (0 = every CPU) of the tier into @pick; none that has a CPU in @taken,
 * which others have or, where odd firmware has a core in two tiers, this plan has. -ENOMEM.
 */
static int take_cores(const struct np_topology *topology, const struct np_tier *tier,
                      const struct np_bitmap *taken, unsigned want, bool smt, struct nr_pick *pick)
{
	const struct nr_core_choice choice = {
		.cpus = &tier->cpus,
		.nodes = &tier->nodes,
		.avoid = taken,
		.want = want,
		.smt = smt,
	};
	int count = nr_cores_take(topology, &choice, &pick->cpus);

	if (count >= 0)
		pick->core_count = (unsigned)count;
	return count;
}

/* Adds a pick of the tier in the room made by nr_plan_near(); NULL when memory runs out. */
static struct nr_pick *add_pick(const struct np_topology *topology, const struct np_tier *tier,
                                const struct nr_request *request, unsigned want,
                                struct nr_plan *plan)
{
	struct nr_pick *pick = &plan->picks[plan->pick_count++];
	struct np_bitmap taken = { 0 };
	int rc = np_bitmap_copy(&taken, &request->avoid);

	*pick = (struct nr_pick){
		.tier = tier->tier,
		.has_distance = tier->has_distance,
		.distance = tier->distance,
	};
	if (rc == 0)
		rc = np_bitmap_or(&taken, &plan->cpus);
	if (rc == 0)
		rc = take_cores(topology, tier, &taken, want, request->smt, pick);
	if (rc >= 0)
		rc = np_bitmap_or(&plan->cpus, &pick->cpus);
	np_bitmap_release(&taken);
	return rc < 0 ? NULL : pick;
}

static int refuse_spill(const struct nr_plan *plan, const struct nr_pick *pick,
                        struct np_error *err)
{
	char cpus[BRIEF_SIZE];

	if (pick->core_count == 0)
		return np_error_set(err, EXDEV,
		                    "%s: others have all cores of tier %u, and --strict does not "
		                    "go on into the next one",
		                    plan->near->name, pick->tier);
	return np_error_set(err, EXDEV,
	                    "%s: tier %u has %u of the %u cores asked for (%s), and --strict "
	                    "does not go on into the next tier",
	                    plan->near->name, pick->tier, pick->core_count, plan->wanted_count,
	                    np_cpulist_named("CPU", &pick->cpus, cpus, sizeof(cpus)));
}

static int refuse_count(const struct nr_plan *plan, const struct nr_request *request, unsigned left,
                        struct np_error *err)
{
	const char *from = request->tier > 1 ? " from that tier on" : "";
	const char *others = np_bitmap_is_empty(&request->avoid) ? "" : " (others have the rest)";

	if (request->count == 0)
		return np_error_set(err, ERANGE, "%s: no core can be used%s%s", plan->near->name,
		                    from, others);
	return np_error_set(err, ERANGE, "%s: %u cores asked for, %u can be used%s%s",
	                    plan->near->name, request->count, request->count - left, from, others);
}

static int take_tiers(const struct np_topology *topology, const struct nr_request *request,
                      const struct np_rank *rank, size_t first, struct nr_plan *plan,
                      struct np_error *err)
{
	unsigned left = request->count;

	plan->first_tier = rank->tiers[first].tier;
	for (size_t i = first; i < rank->tier_count; i++) {
		struct nr_pick *pick = add_pick(topology, &rank->tiers[i], request, left, plan);
		unsigned cores;

		/* The picks are the plan's, which its maker ends. */
		if (!pick)
			return no_memory(err); // NOLINT(clang-analyzer-unix.Malloc)
		cores = pick->core_count;
		if (cores > 0 && (left == 0 || cores == left))
			return 0;
		if (request->strict)
			return refuse_spill(plan, pick, err);
		if (i == first)
			plan->spilled_from_cores = cores;
		plan->spilled = true;
		/* Of an empty pick there is nothing to release. */
		plan->pick_count -= cores == 0;
		left -= cores;
	}
	return refuse_count(plan, request, left, err);
}

/* One tier into which a plan spilled. */
static int warn_pick(struct nr_plan *plan, const struct nr_pick *pick)
{
	char distance[32] = "unknown";
	char cpus[BRIEF_SIZE];

	if (pick->has_distance)
		snprintf(distance, sizeof(distance), "%u", pick->distance);
	np_cpulist_named("CPU", &pick->cpus, cpus, sizeof(cpus));
	if (plan->wanted_count == 0)
		return nr_plan_warn(plan,
		                    "%s: spilled from tier %u, whose cores others have, to tier "
		                    "%u: %s at distance %s",
		                    plan->near->name, plan->first_tier, pick->tier, cpus, distance);
	return nr_plan_warn(plan,
	                    "%s: spilled from tier %u to tier %u for %u of the %u cores asked "
	                    "for: %s at distance %s",
	                    plan->near->name, plan->first_tier, pick->tier, pick->core_count,
	                    plan->wanted_count, cpus, distance);
}

static int warn_spill(struct nr_plan *plan)
{
	for (size_t i = 0; i < plan->pick_count; i++)
		if (plan->picks[i].tier != plan->first_tier && warn_pick(plan, &plan->picks[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* The device's own node may have no CPU that can be used: the best tier is then not local. */
static int check_local(const struct np_rank *rank, const struct nr_request *request,
                       struct nr_plan *plan, struct np_error *err)
{
	const struct np_locality *locality = &plan->near->locality;
	const struct np_tier *best = &rank->tiers[0];
	char nodes[BRIEF_SIZE];
	char nearest[BRIEF_SIZE];
	char text[3 * BRIEF_SIZE];

	if (request->tier > 1 || np_bitmap_intersects(&best->nodes, &locality->nodes))
		return 0;
	if (np_bitmap_is_empty(&best->nodes))
		np_cpulist_named("CPU", &best->cpus, nearest, sizeof(nearest));
	else
		np_cpulist_named("node", &best->nodes, nearest, sizeof(nearest));
	snprintf(text, sizeof(text), "no CPU of its %s can be used; the nearest %s %s",
	         np_cpulist_named("node", &locality->nodes, nodes, sizeof(nodes)),
	         strchr(nearest, 's') ? "are" : "is", nearest);
	if (request->strict)
		return np_error_set(err, EXDEV, "%s: %s, and --strict takes no other",
		                    plan->near->name, text);
	return nr_plan_warn(plan, "%s: %s", plan->near->name, text) < 0 ? no_memory(err) : 0;
}

/* Whichever CPUs are taken, packets of some of its cards come from another node. */
static int warn_span(struct nr_plan *plan)
{
	const struct np_locality *locality = &plan->near->locality;
	char nodes[BRIEF_SIZE];

	if (!locality->spans_nodes)
		return 0;
	return nr_plan_warn(plan,
	                    "%s: spans %s: no CPU is near to all of its cards; name one of them to "
	                    "be near to that one",
	                    plan->near->name,
	                    np_cpulist_named("node", &locality->nodes, nodes, sizeof(nodes)));
}

int nr_plan_near(const struct np_topology *topology, const struct nr_request *request,
                 struct nr_plan *plan, struct np_error *err)
{
	const struct np_device *device;
	size_t first = request->tier ? request->tier - 1 : 0;
	struct np_rank rank = { 0 };
	int rc;

	if (request->device >= np_topology_device_count(topology))
		return np_error_set(err, EINVAL, "near: the topology was loaded without a device");
	device = np_topology_device(topology, request->device);
	rc = np_rank_cpus(topology, &device->locality, &rank, err);
	plan->near = device;
	plan->wanted_count = request->count;
	if (rc == -ENODATA)
		return np_error_set(
			err, ENODATA,
			"%s: its NUMA node is unknown, the firmware tells none: name it "
			"with --near-node NODE",
			device->name);
	if (rc < 0)
		return np_error_wrap(err, rc, "%s", device->name);
	if (rank.tier_count == 0)
		rc = np_error_set(err, ERANGE, "%s: no CPU can be used", device->name);
	else if (first >= rank.tier_count)
		rc = np_error_set(err, ERANGE, "%s: no tier %u, the last one is %zu", device->name,
		                  request->tier, rank.tier_count);
	else
		rc = check_local(&rank, request, plan, err);
	plan->picks = calloc(rank.tier_count + 1, sizeof(*plan->picks));
	if (rc == 0 && !plan->picks)
		rc = no_memory(err);
	if (rc == 0)
		rc = take_tiers(topology, request, &rank, first, plan, err);
	if (rc == 0 && (warn_spill(plan) < 0 || warn_span(plan) < 0))
		rc = no_memory(err);
	np_rank_release(&rank);
	return rc;
}
