/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans over several roles near a host's first device: no core is given twice, whoever holds what.
 */
#include "properties.h"

#include <errno.h>
#include <numaprobe/rank.h>
#include <numarun/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN "command = true\n"

enum { TEXT_SIZE = 1024, CORES_MAX = 24 };

/* CPUs that others hold, where there are so many. */
static const char *const held_lists[] = { "", "0", "1-2,5,8", "0-6,81-83,96-99" };

/* The CPUs of the cores that @cpus touches; with caches of their L3 caches. */
static struct np_bitmap widen(const struct np_topology *topology, enum np_level level,
                              const struct np_bitmap *cpus)
{
	struct np_bitmap wide = { 0 };

	np_bitmap_for_each (cpu, cpus) {
		const struct np_group *group = np_topology_group_of(topology, level, cpu);

		assert_number(group ? np_bitmap_or(&wide, &group->cpus) : np_bitmap_add(&wide, cpu),
		              0);
	}
	return wide;
}

static bool touches(const struct np_topology *topology, enum np_level level,
                    const struct np_bitmap *a, const struct np_bitmap *b)
{
	struct np_bitmap wide = widen(topology, level, a);
	bool both = np_bitmap_intersects(&wide, b);

	np_bitmap_release(&wide);
	return both;
}

static bool is_shared(const struct nr_role *role)
{
	return !role->near && !role->count;
}

static bool names(const struct nr_role *role, size_t other)
{
	for (size_t i = 0; i < role->avoid_count; i++)
		if (role->avoid[i] == other)
			return true;
	return false;
}

static void check_pair(const struct np_topology *topology, const struct nr_roles *roles,
                       const struct nr_placed *one, const struct nr_placed *other)
{
	const struct nr_role *a = &roles->roles[one->role];
	const struct nr_role *b = &roles->roles[other->role];

	if (!is_shared(a) || !is_shared(b))
		assert_false(touches(topology, NP_LEVEL_CORE, &one->plan.cpus, &other->plan.cpus));
	if (names(a, other->role) || names(b, one->role))
		assert_false(touches(topology, NP_LEVEL_L3, &one->plan.cpus, &other->plan.cpus));
}

static void check_service(const struct np_topology *topology, const struct nr_roles *roles,
                          const struct np_bitmap *held, const struct nr_service *service)
{
	for (size_t i = 0; i < service->count; i++) {
		const struct np_bitmap *cpus = &service->placed[i].plan.cpus;

		assert_false(np_bitmap_is_empty(cpus));
		assert_true(np_bitmap_is_subset(cpus, np_topology_cpus(topology, NP_CPUS_USABLE)));
		assert_false(touches(topology, NP_LEVEL_CORE, cpus, held));
		for (size_t k = 0; k < i; k++)
			check_pair(topology, roles, &service->placed[k], &service->placed[i]);
	}
}

static void assert_same(const struct nr_service *a, const struct nr_service *b)
{
	assert_number(a->count, b->count);
	for (size_t i = 0; i < a->count; i++)
		assert_true(np_bitmap_equal(&a->placed[i].plan.cpus, &b->placed[i].plan.cpus));
}

/* NEAR stands for the key with the device. */
static const char *const services[] = {
	"[role a]\nNEAR\ncount=1\n" RUN "[role b]\nNEAR\ntier=1\ncount=2\ninstances=2\n" RUN
	"[role c]\n" RUN,
	"[role a]\nNEAR\ncount=2\navoid=b\n" RUN "[role b]\nNEAR\ncount=3\n" RUN
	"[role c]\ncount=1\navoid=a\n" RUN "[role d]\n" RUN,
	"[role a]\nNEAR\n" RUN "[role b]\nNEAR\n" RUN "[role c]\ncount=5\nsmt=yes\n" RUN,
	"[role a]\ncount=1\ninstances=7\n" RUN "[role b]\navoid=a\n" RUN,
	"[role a]\nNEAR\ntier=2\ncount=3\n" RUN "[role b]\nNEAR\navoid=a\n" RUN,
};

static struct nr_roles read_service(const char *pattern, const char *device)
{
	struct nr_roles roles = { 0 };
	struct np_error err = { 0 };
	char text[TEXT_SIZE] = "";
	size_t used = 0;

	while (*pattern) {
		const char *next = strstr(pattern, "NEAR");
		size_t length = next ? (size_t)(next - pattern) : strlen(pattern);

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%.*s%s%s", (int)length,
		                         pattern, next ? "near=" : "", next ? device : "");
		assert_true(used < sizeof(text));
		pattern += length + (next ? strlen("NEAR") : 0);
	}
	assert_np_ok(nr_roles_parse(text, used, "f.ini", &roles, &err), &err);
	return roles;
}

/* A plan that is made is lawful, and the same each time; else cores or tiers are too few. */
static void check_roles(const struct np_topology *topology, const struct nr_roles *roles,
                        const struct np_bitmap *held)
{
	struct nr_service service = { 0 };
	struct nr_service again = { 0 };
	struct np_error err = { 0 };
	int rc = nr_service_plan(topology, roles, held, &service, &err);

	if (rc < 0) {
		assert_true(rc == -ERANGE || rc == -EBUSY);
		assert_true(is_printable_line(err.text));
	} else {
		check_service(topology, roles, held, &service);
		assert_np_ok(nr_service_plan(topology, roles, held, &again, &err), &err);
		assert_same(&service, &again);
	}
	nr_service_release(&service);
	nr_service_release(&again);
}

/* How many L3 caches the set has a part of; CPUs without one count as one each. */
static unsigned count_caches(const struct np_topology *topology, const struct np_bitmap *cpus)
{
	struct np_bitmap seen = { 0 };
	unsigned count = 0;

	np_bitmap_for_each (cpu, cpus) {
		const struct np_group *cache = np_topology_group_of(topology, NP_LEVEL_L3, cpu);

		if (np_bitmap_has(&seen, cpu))
			continue;
		count++;
		assert_number(cache ? np_bitmap_or(&seen, &cache->cpus) : np_bitmap_add(&seen, cpu),
		              0);
	}
	np_bitmap_release(&seen);
	return count;
}

/* Free cores of the best tier one after another, by their lowest CPU. */
static struct np_bitmap take_in_order(const struct np_topology *topology,
                                      const struct np_bitmap *tier, const struct np_bitmap *avoid,
                                      unsigned count)
{
	struct np_bitmap taken = { 0 };
	struct np_bitmap gone = widen(topology, NP_LEVEL_CORE, avoid);

	np_bitmap_for_each (cpu, tier) {
		const struct np_group *core = np_topology_group_of(topology, NP_LEVEL_CORE, cpu);

		if (np_bitmap_count(&taken) == count || np_bitmap_has(&gone, cpu))
			continue;
		assert_number(np_bitmap_add(&taken, cpu), 0);
		assert_number(core ? np_bitmap_or(&gone, &core->cpus) : np_bitmap_add(&gone, cpu),
		              0);
	}
	np_bitmap_release(&gone);
	return taken;
}

/* Whatever others have, no plan of one tier begins more caches than the plain order does. */
static void check_caches(const char *name, const struct np_topology *topology, const char *avoid)
{
	struct np_rank rank = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(
		np_rank_cpus(topology, &np_topology_device(topology, 0)->locality, &rank, &err),
		&err);
	for (unsigned count = 1; rank.tier_count > 0 && count < CORES_MAX; count++) {
		struct nr_request request = { .cpu_choice = NR_CPUS_NEAR,
			                      .count = count,
			                      .strict = true,
			                      .avoid = set_of(avoid) };
		struct np_bitmap plain =
			take_in_order(topology, &rank.tiers[0].cpus, &request.avoid, count);
		struct nr_plan plan = { 0 };

		check_case("%s, %u cores, without %s", name, count, avoid);
		if (nr_plan_make(topology, &request, &plan, NULL) == 0) {
			assert_number(np_bitmap_count(&plain), count);
			assert_true(count_caches(topology, &plan.cpus) <=
			            count_caches(topology, &plain));
		}
		nr_plan_release(&plan);
		np_bitmap_release(&plain);
		nr_request_release(&request);
	}
	np_rank_release(&rank);
}

void check_services(const char *name, const struct np_topology *topology)
{
	const char *device = np_topology_device(topology, 0)->name;

	for (size_t i = 0; i < sizeof(held_lists) / sizeof(held_lists[0]); i++) {
		struct np_bitmap held = set_of(held_lists[i]);

		for (size_t k = 0; k < sizeof(services) / sizeof(services[0]); k++) {
			struct nr_roles roles = read_service(services[k], device);

			check_case("%s: near %s, held %s, service %zu", name, device, held_lists[i],
			           k);
			check_roles(topology, &roles, &held);
			nr_roles_release(&roles);
		}
		check_caches(name, topology, held_lists[i]);
		np_bitmap_release(&held);
	}
}
