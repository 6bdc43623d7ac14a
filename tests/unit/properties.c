/* SPDX-License-Identifier: BSD-3-Clause */
#include "properties.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numaprobe/rank.h>
#include <numarun/plan.h>
#include <stdlib.h>
#include <string.h>

#define CPUS(topology, which) np_topology_cpus((topology), NP_CPUS_##which)
#define NODES(topology, which) np_topology_nodes((topology), NP_NODES_##which)

enum { PLANS_MAX = 6 };

struct np_topology *load_host(const char *name, const char *root, const char *xml, unsigned scope,
                              const char *const devices[])
{
	struct np_topology_source source = {
		.root = root,
		.hwloc_xml = xml,
		.scope = scope,
		.devices = devices,
	};
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };

	while (devices && devices[source.device_count])
		source.device_count++;
	check_case("%s", name);
	assert_np_ok(np_topology_load(&source, &topology, &err), &err);
	return topology;
}

static void assert_part(const struct np_bitmap *part, const struct np_bitmap *whole,
                        const char *what)
{
	char *list;

	if (np_bitmap_is_subset(part, whole))
		return;
	list = np_cpulist_print(part);
	print_error("%s: %s are not all of them\n", what, list);
	free(list);
	assert_true(np_bitmap_is_subset(part, whole));
}

static void check_sets(const char *name, const struct np_topology *topology)
{
	struct np_bitmap usable = { 0 };

	check_case("%s", name);
	assert_part(CPUS(topology, ALLOWED), CPUS(topology, ONLINE), "allowed CPUs are online");
	assert_part(CPUS(topology, CPUSET), CPUS(topology, ONLINE), "the cpuset is online");
	assert_part(CPUS(topology, WITHOUT_NODE), CPUS(topology, ONLINE), "homeless are online");
	assert_false(np_bitmap_intersects(CPUS(topology, OFFLINE), CPUS(topology, ONLINE)));
	assert_part(NODES(topology, WITH_CPUS), NODES(topology, ONLINE), "nodes are online");
	assert_part(NODES(topology, WITH_MEMORY), NODES(topology, ONLINE), "nodes are online");
	assert_part(NODES(topology, ALLOWED), NODES(topology, WITH_MEMORY), "they have memory");

	assert_number(np_bitmap_copy(&usable, CPUS(topology, ALLOWED)), 0);
	np_bitmap_and_not(&usable, CPUS(topology, ISOLATED));
	assert_true(np_bitmap_equal(&usable, CPUS(topology, USABLE)));
	np_bitmap_release(&usable);

	np_bitmap_for_each (node, NODES(topology, ONLINE)) {
		const struct np_bitmap *cpus = &np_topology_node(topology, node)->cpus;

		assert_part(cpus, CPUS(topology, ONLINE), "a node's CPUs are online");
		assert_false(np_bitmap_intersects(cpus, CPUS(topology, WITHOUT_NODE)));
	}
	for (size_t i = 0; i < np_topology_note_count(topology); i++)
		assert_true(is_printable_line(np_topology_note(topology, i)));
}

static void check_groups(const char *name, const struct np_topology *topology)
{
	check_case("%s", name);
	for (unsigned level = 0; level < NP_LEVEL_COUNT; level++) {
		for (size_t i = 0; i < np_topology_group_count(topology, level); i++) {
			const struct np_group *group = np_topology_group(topology, level, i);

			assert_false(np_bitmap_is_empty(&group->cpus));
			assert_part(&group->cpus, CPUS(topology, ONLINE), "a group is online");
		}
		np_bitmap_for_each (cpu, CPUS(topology, ONLINE)) {
			const struct np_group *group = np_topology_group_of(topology, level, cpu);

			assert_true(!group || np_bitmap_has(&group->cpus, cpu));
		}
	}
}

/* Adds @part to @all, which must not have any of it. */
static void add_disjoint(struct np_bitmap *all, const struct np_bitmap *part)
{
	assert_false(np_bitmap_intersects(all, part));
	assert_number(np_bitmap_or(all, part), 0);
}

/* Every CPU there is stands in one tier or has one reason to be in none. */
static void check_partition(const struct np_topology *topology, const struct np_rank *rank)
{
	struct np_bitmap ranked = { 0 };
	struct np_bitmap all = { 0 };
	struct np_bitmap known = { 0 };

	for (size_t i = 0; i < rank->tier_count; i++) {
		assert_number(rank->tiers[i].tier, i + 1);
		assert_false(np_bitmap_is_empty(&rank->tiers[i].cpus));
		add_disjoint(&ranked, &rank->tiers[i].cpus);
	}
	assert_true(np_bitmap_equal(&ranked, CPUS(topology, USABLE)));

	assert_number(np_bitmap_or(&all, &ranked), 0);
	for (size_t i = 0; i < NP_EXCLUSION_COUNT; i++)
		add_disjoint(&all, &rank->excluded[i]);
	assert_number(np_bitmap_copy(&known, CPUS(topology, ONLINE)), 0);
	assert_number(np_bitmap_or(&known, CPUS(topology, OFFLINE)), 0);
	assert_true(np_bitmap_equal(&all, &known));
	np_bitmap_release(&ranked);
	np_bitmap_release(&all);
	np_bitmap_release(&known);
}

/* Distances ascend, and what has none is behind; before all the CPUs that share a cache with it. */
static void check_order(const struct np_rank *rank, bool has_cache)
{
	for (size_t i = 1; i < rank->tier_count; i++) {
		const struct np_tier *before = &rank->tiers[i - 1];
		const struct np_tier *tier = &rank->tiers[i];

		if (i == 1 && has_cache)
			continue;
		assert_true(before->has_distance || !tier->has_distance);
		if (before->has_distance && tier->has_distance)
			assert_true(before->distance < tier->distance);
	}
}

static void check_same_rank(const struct np_rank *a, const struct np_rank *b)
{
	assert_number(a->tier_count, b->tier_count);
	for (size_t i = 0; i < a->tier_count; i++) {
		assert_true(np_bitmap_equal(&a->tiers[i].cpus, &b->tiers[i].cpus));
		assert_true(np_bitmap_equal(&a->tiers[i].nodes, &b->tiers[i].nodes));
		assert_number(a->tiers[i].has_distance, b->tiers[i].has_distance);
		assert_number(a->tiers[i].distance, b->tiers[i].distance);
	}
	for (size_t i = 0; i < NP_EXCLUSION_COUNT; i++)
		assert_true(np_bitmap_equal(&a->excluded[i], &b->excluded[i]));
}

/* Ranks on the host as loaded twice: equal hosts must give equal answers. */
static void check_rank(const struct np_topology *topology, const struct np_topology *again,
                       const struct np_locality *locality)
{
	struct np_rank first = { 0 };
	struct np_rank second = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(np_rank_cpus(topology, locality, &first, &err), &err);
	assert_np_ok(np_rank_cpus(again, locality, &second, &err), &err);
	check_partition(topology, &first);
	check_order(&first, !np_bitmap_is_empty(&locality->cpus));
	check_same_rank(&first, &second);
	np_rank_release(&first);
	np_rank_release(&second);
}

static void check_nodes(const char *name, const struct np_topology *topology,
                        const struct np_topology *again)
{
	np_bitmap_for_each (node, NODES(topology, ONLINE)) {
		struct np_locality locality = { .evidence = NP_EVIDENCE_OVERRIDE,
			                        .other_evidence = NP_EVIDENCE_UNKNOWN };

		check_case("%s: node %u", name, node);
		assert_number(np_bitmap_add(&locality.nodes, node), 0);
		check_rank(topology, again, &locality);
		np_locality_release(&locality);
	}
}

/* How many cores the set touches; CPUs without a core are their own. */
static unsigned count_cores(const struct np_topology *topology, const struct np_bitmap *cpus)
{
	unsigned count = 0;

	np_bitmap_for_each (cpu, cpus) {
		const struct np_group *core = np_topology_group_of(topology, NP_LEVEL_CORE, cpu);
		unsigned first = core ? np_bitmap_next(&core->cpus, 0) : cpu;

		/* Counted at the first of its CPUs that is in the set. */
		while (core && first < cpu &&
		       !(np_bitmap_has(cpus, first) && np_bitmap_has(&core->cpus, first)))
			first++;
		count += !core || first == cpu;
	}
	return count;
}

/* Plans @count cores near the topology's first device. */
static void check_plan(const struct np_topology *topology, unsigned count, unsigned cores)
{
	struct nr_request request = { .cpu_choice = NR_CPUS_NEAR, .count = count };
	struct nr_plan plan = { 0 };
	struct np_error err = { 0 };
	int rc = nr_plan_make(topology, &request, &plan, &err);

	if (count > cores || np_bitmap_is_empty(CPUS(topology, USABLE))) {
		assert_fails(rc, -ERANGE, &err, "can be used");
		return;
	}
	assert_np_ok(rc, &err);
	assert_false(np_bitmap_is_empty(&plan.cpus));
	assert_part(&plan.cpus, CPUS(topology, USABLE), "planned CPUs are usable");
	for (size_t i = 0; i < plan.warning_count; i++)
		assert_true(is_printable_line(plan.warnings[i]));
	if (count > 0) {
		assert_number(np_bitmap_count(&plan.cpus), count);
		assert_number(count_cores(topology, &plan.cpus), count);
	}
	nr_plan_release(&plan);
}

static void check_plans(const char *name, const struct np_topology *topology)
{
	unsigned cores = count_cores(topology, CPUS(topology, USABLE));

	for (unsigned i = 0; i <= PLANS_MAX; i++) {
		unsigned count = i < PLANS_MAX ? i : cores;

		check_case("%s: %s, %u cores", name, np_topology_device(topology, 0)->name, count);
		check_plan(topology, count, cores);
	}
}

/* Asked for by their names the devices are where they are among all, and can be planned near. */
static void check_named(const char *name, const char *root, const char *xml,
                        const struct np_topology *topology)
{
	size_t count = np_topology_device_count(topology);
	const char **devices = calloc(count + 1, sizeof(*devices));
	struct np_topology *named;

	assert_non_null(devices);
	for (size_t i = 0; i < count; i++)
		devices[i] = np_topology_device(topology, i)->name;
	named = load_host(name, root, xml, NP_TOPOLOGY_GROUPS, devices);
	assert_number(np_topology_device_count(named), count);
	for (size_t i = 0; i < count; i++)
		assert_true(np_bitmap_equal(&np_topology_device(named, i)->locality.nodes,
		                            &np_topology_device(topology, i)->locality.nodes));
	if (count > 0 && !np_bitmap_is_empty(&np_topology_device(named, 0)->locality.nodes)) {
		check_plans(name, named);
		check_services(name, named);
	}
	np_topology_free(named);
	free(devices);
}

static void check_devices(const char *name, const struct np_topology *topology,
                          const struct np_topology *again)
{
	for (size_t i = 0; i < np_topology_device_count(topology); i++) {
		const struct np_device *device = np_topology_device(topology, i);

		check_case("%s: %s", name, device->name);
		if (np_bitmap_is_empty(&device->locality.nodes)) {
			assert_number(device->locality.evidence, NP_EVIDENCE_UNKNOWN);
			continue;
		}
		assert_part(&device->locality.nodes, NODES(topology, ONLINE), "its nodes exist");
		check_rank(topology, again, &device->locality);
	}
}

void check_host(const char *name, const char *root, const char *xml)
{
	struct np_topology *topology = load_host(name, root, xml, NP_TOPOLOGY_ALL, NULL);
	struct np_topology *again = load_host(name, root, xml, NP_TOPOLOGY_ALL, NULL);

	check_sets(name, topology);
	check_groups(name, topology);
	check_nodes(name, topology, again);
	check_devices(name, topology, again);
	check_named(name, root, xml, topology);
	np_topology_free(topology);
	np_topology_free(again);
}
