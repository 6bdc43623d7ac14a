/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numarun/plan.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* 255 is the firmware's word for a node that cannot be reached (ACPI, SLIT). */
enum { BRIEF_SIZE = 96, UNREACHABLE = 255 };

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "plan");
}

void nr_request_release(struct nr_request *request)
{
	np_bitmap_release(&request->cpus);
	np_bitmap_release(&request->nodes);
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

static int NP_PRINTF(2, 3) warn(struct nr_plan *plan, const char *fmt, ...)
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

/* ---- near a device ---- */

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

/* Begins a pick in the room made by plan_near(). */
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
		if (warn(plan,
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
	snprintf(text, sizeof(text), "no CPU of its %s can be used; the nearest is %s",
	         np_cpulist_named("node", &locality->nodes, nodes, sizeof(nodes)), nearest);
	if (request->strict)
		return np_error_set(err, EXDEV, "%s: %s, and --strict takes no other",
		                    plan->near->name, text);
	return warn(plan, "%s: %s", plan->near->name, text) < 0 ? no_memory(err) : 0;
}

static int plan_near(const struct np_topology *topology, const struct nr_request *request,
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

/* ---- CPUs ---- */

/* The scheduler moves nothing between isolated CPUs: all threads stay on the first. */
static int warn_isolated(const struct np_topology *topology, struct nr_plan *plan)
{
	struct np_bitmap isolated = { 0 };
	char list[BRIEF_SIZE];
	int rc = np_bitmap_copy(&isolated, &plan->cpus);

	np_bitmap_and(&isolated, np_topology_cpus(topology, NP_CPUS_ISOLATED));
	if (rc == 0 && !np_bitmap_is_empty(&isolated) && np_bitmap_count(&plan->cpus) > 1)
		rc = warn(plan,
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
		rc = plan_near(topology, request, plan, err);
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
		    distance >= UNREACHABLE)
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
	if (request->far)
		return plan_far(topology, plan, err);
	plan->policy.mode = request->policy.mode;
	plan->policy.balancing = request->policy.balancing;
	plan->policy_may_shrink = request->policy_may_shrink && !request->strict;
	/* Near means memory too; an inherited policy could say otherwise. */
	if (request->cpu_choice == NR_CPUS_NEAR && request->policy.mode == NR_POLICY_KEEP) {
		plan->policy.mode = NR_POLICY_LOCAL;
		plan->policy_is_implied = !request->strict;
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
