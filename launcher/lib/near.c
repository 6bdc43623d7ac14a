/* SPDX-License-Identifier: BSD-3-Clause */
#include "near.h"

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
 * A CPU with the keys that order the CPUs of a tier: node by node, cache by cache, core by core,
 * so that a few cores stand together and share what can be shared.
 */
struct seat {
	unsigned node;
	unsigned cache; /* lowest CPU of its L3 */
	unsigned core;  /* lowest CPU of its core */
	unsigned cpu;
};

static int compare_seats(const void *a, const void *b)
{
	const struct seat *left = a;
	const struct seat *right = b;

	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	if (left->cache != right->cache)
		return left->cache < right->cache ? -1 : 1;
	if (left->core != right->core)
		return left->core < right->core ? -1 : 1;
	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

static unsigned first_sharer(const struct np_topology *topology, enum np_level level, unsigned cpu)
{
	const struct np_group *group = np_topology_group_of(topology, level, cpu);

	return group ? np_bitmap_next(&group->cpus, 0) : cpu;
}

static unsigned node_of(const struct np_topology *topology, const struct np_bitmap *nodes,
                        unsigned cpu)
{
	np_bitmap_for_each (node, nodes)
		if (np_bitmap_has(&np_topology_node(topology, node)->cpus, cpu))
			return node;
	return NP_BITMAP_END;
}

/* The tier's CPUs in the order in which they are taken; *ret is the caller's to free. */
static size_t seat_cpus(const struct np_topology *topology, const struct np_tier *tier,
                        struct seat **ret)
{
	size_t count = np_bitmap_count(&tier->cpus);
	struct seat *seats = calloc(count, sizeof(*seats));
	size_t i = 0;

	*ret = seats;
	if (!seats)
		return 0;
	np_bitmap_for_each (cpu, &tier->cpus)
		seats[i++] = (struct seat){
			.node = node_of(topology, &tier->nodes, cpu),
			/* Without an L3 in the description no CPU shares one with another. */
			.cache = first_sharer(topology, NP_LEVEL_L3, cpu),
			.core = first_sharer(topology, NP_LEVEL_CORE, cpu),
			.cpu = cpu,
		};
	qsort(seats, count, sizeof(*seats), compare_seats);
	return count;
}

/* Takes up to @want cores (0 = every CPU) of the tier into @pick. */
static int take_cores(const struct np_topology *topology, const struct np_tier *tier, unsigned want,
                      bool smt, struct nr_pick *pick)
{
	struct seat *seats;
	size_t count = seat_cpus(topology, tier, &seats);
	unsigned core = NP_BITMAP_END;
	int rc = seats ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && rc == 0; i++) {
		bool is_sibling = seats[i].core == core;

		if (want && !is_sibling && pick->core_count == want)
			break;
		pick->core_count += !is_sibling;
		core = seats[i].core;
		if (!is_sibling || !want || smt)
			rc = np_bitmap_add(&pick->cpus, seats[i].cpu);
	}
	free(seats);
	return rc;
}

/* Begins a pick in the room made by nr_plan_near(). */
static struct nr_pick *add_pick(struct nr_plan *plan, const struct np_tier *tier)
{
	struct nr_pick *pick = &plan->picks[plan->pick_count++];

	*pick = (struct nr_pick){
		.tier = tier->tier,
		.has_distance = tier->has_distance,
		.distance = tier->distance,
	};
	return pick;
}

static int refuse_spill(const struct nr_plan *plan, const struct nr_pick *pick,
                        struct np_error *err)
{
	char cpus[BRIEF_SIZE];

	return np_error_set(err, EXDEV,
	                    "%s: tier %u has %u of the %u cores asked for (%s), and --strict "
	                    "does not go on into the next tier",
	                    plan->near->name, pick->tier, pick->core_count, plan->wanted_count,
	                    np_cpulist_named("CPU", &pick->cpus, cpus, sizeof(cpus)));
}

static int take_tiers(const struct np_topology *topology, const struct nr_request *request,
                      const struct np_rank *rank, size_t first, struct nr_plan *plan,
                      struct np_error *err)
{
	unsigned left = request->count;

	for (size_t i = first; i < rank->tier_count; i++) {
		struct nr_pick *pick = add_pick(plan, &rank->tiers[i]);

		if (take_cores(topology, &rank->tiers[i], left, request->smt, pick) < 0 ||
		    np_bitmap_or(&plan->cpus, &pick->cpus) < 0)
			/* The picks are the plan's, which its maker ends. */
			return no_memory(err); // NOLINT(clang-analyzer-unix.Malloc)
		if (request->count == 0 || pick->core_count == left)
			return 0;
		if (request->strict)
			return refuse_spill(plan, pick, err);
		if (i == first)
			plan->spilled_from_cores = pick->core_count;
		left -= pick->core_count;
	}
	return np_error_set(err, ERANGE, "%s: %u cores asked for, %u can be used%s",
	                    plan->near->name, request->count, request->count - left,
	                    first > 0 ? " from that tier on" : "");
}

static int warn_spill(struct nr_plan *plan)
{
	const struct nr_pick *first = &plan->picks[0];
	char cpus[BRIEF_SIZE];

	if (plan->spilled_from_cores == 0)
		return 0;
	for (size_t i = 1; i < plan->pick_count; i++) {
		const struct nr_pick *pick = &plan->picks[i];
		char distance[32] = "unknown";

		if (pick->has_distance)
			snprintf(distance, sizeof(distance), "%u", pick->distance);
		if (nr_plan_warn(
			    plan,
			    "%s: spilled from tier %u to tier %u for %u of the %u cores asked for: %s at "
			    "distance %s",
			    plan->near->name, first->tier, pick->tier, pick->core_count,
			    plan->wanted_count,
			    np_cpulist_named("CPU", &pick->cpus, cpus, sizeof(cpus)), distance) < 0)
			return -ENOMEM;
	}
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

int nr_plan_near(const struct np_topology *topology, const struct nr_request *request,
                 struct nr_plan *plan, struct np_error *err)
{
	const struct np_device *device;
	size_t first = request->tier ? request->tier - 1 : 0;
	struct np_rank rank = { 0 };
	int rc;

	if (np_topology_device_count(topology) == 0)
		return np_error_set(err, EINVAL, "near: the topology was loaded without a device");
	device = np_topology_device(topology, 0);
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
	if (rc == 0 && warn_spill(plan) < 0)
		rc = no_memory(err);
	np_rank_release(&rank);
	return rc;
}
