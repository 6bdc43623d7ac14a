/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One plan over all roles: what each role gets, and what is refused. What must hold on every host is
 * in properties_service.c.
 */
#include "host.h"
#include "properties.h"

#include <errno.h>
#include <limits.h>
#include <numaprobe/cpulist.h>
#include <numarun/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN "command = true\n"

enum { TEXT_SIZE = 2048 };

/*
 * Two packages of two nodes of two cores of two CPUs: node 0 has CPUs 0-1,8-9, node 1 2-3,10-11,
 * node 2 4-5,12-13, node 3 6-7,14-15; each has an L3. eth0 is on node 2, eth1 on node 0, eth2
 * nobody knows where.
 */
static const unsigned distances[] = {
	10, 12, 32, 32, /**/
	12, 10, 32, 32, /**/
	32, 32, 10, 12, /**/
	32, 32, 12, 10,
};

static const struct host_shape shape = {
	.node_count = 4,
	.cores_per_node = 2,
	.threads_per_core = 2,
	.distances = distances,
	.nics = { { "eth0", "0000:81:00.0", 2, NULL },
	          { "eth1", "0000:01:00.0", 0, NULL },
	          { "eth2", "0000:82:00.0", -1, NULL } },
};

static struct nr_roles parse(const char *text)
{
	struct nr_roles roles = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(nr_roles_parse(text, strlen(text), "f.ini", &roles, &err), &err);
	return roles;
}

/* Loads the host, which may have been changed, with the roles' devices. */
static struct np_topology *load(const char *root, const char *xml, const struct nr_roles *roles)
{
	const char **devices = NULL;
	struct np_error err = { 0 };
	struct np_topology *topology;

	assert_true(nr_roles_devices(roles, &devices, &err) >= 0);
	topology = load_host("host", root, xml, NP_TOPOLOGY_GROUPS, devices);
	free(devices);
	return topology;
}

/* "a 0-1, b.1 2": each placed one with its CPUs, in the order of starting. */
static void print_placed(const struct nr_roles *roles, const struct nr_service *service, char *buf,
                         size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < service->count; i++) {
		const struct nr_placed *placed = &service->placed[i];
		const struct nr_role *role = &roles->roles[placed->role];
		char *cpus = np_cpulist_print(&placed->plan.cpus);

		assert_non_null(cpus);
		used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
		                         role->name);
		if (role->instances > 1)
			used += (size_t)snprintf(buf + used, size - used, ".%u", placed->instance);
		used += (size_t)snprintf(buf + used, size - used, " %s", cpus);
		assert_true(used < size);
		assert_number(placed->plan.binds_cpus, true);
		free(cpus);
	}
}

static const struct {
	const char *name;
	const char *roles;
	const char *held;
	const char *placed;
} cases[] = {
	{ "one role, near", "[role a]\nnear=eth0\ncount=1\n" RUN, "", "a 4" },
	{ "all CPUs of the cores", "[role a]\nnear=eth0\ncount=1\nsmt=yes\n" RUN, "", "a 4,12" },
	{ "two near one card",
	  "[role a]\nnear=eth0\ncount=1\n" RUN "[role b]\nnear=eth0\ncount=1\n" RUN, "",
	  "a 4, b 5" },
	{ "two near two cards",
	  "[role a]\nnear=eth0\ncount=1\n" RUN "[role b]\nnear=eth1\ncount=1\n" RUN, "",
	  "a 4, b 0" },
	{ "a spill into the next tier",
	  "[role a]\nnear=eth0\ncount=1\n" RUN "[role b]\nnear=eth0\ncount=2\n" RUN, "",
	  "a 4, b 5-6" },
	{ "the tier that is begun with goes before the file's order",
	  "[role a]\nnear=eth0\ntier=2\ncount=3\n" RUN "[role b]\nnear=eth0\ncount=3\n" RUN, "",
	  "a 0-1,7, b 4-6" },
	{ "a count goes before none",
	  "[role a]\nnear=eth0\n" RUN "[role b]\nnear=eth0\ncount=1\n" RUN, "", "a 5,13, b 4" },
	{ "no cores of the tier are left", "[role a]\nnear=eth0\n" RUN "[role b]\nnear=eth0\n" RUN,
	  "", "a 4-5,12-13, b 6-7,14-15" },
	{ "instances have cores of their own", "[role a]\nnear=eth0\ncount=1\ninstances=3\n" RUN,
	  "", "a.0 4, a.1 5, a.2 6" },
	{ "a count without a device is kept in one cache",
	  "[role a]\ncount=2\n" RUN "[role b]\nnear=eth1\ncount=1\n" RUN, "", "a 2-3, b 0" },
	{ "what is begun is filled first",
	  "[role a]\ncount=1\n" RUN "[role b]\nnear=eth0\ncount=1\n" RUN, "", "a 5, b 4" },
	{ "neither device nor count: what is left, shared",
	  "[role a]\n" RUN "[role b]\nnear=eth0\n" RUN "[role c]\ninstances=2\n" RUN, "0",
	  "a 1-3,6-7,9-11,14-15, b 4-5,12-13, c.0 1-3,6-7,9-11,14-15, c.1 1-3,6-7,9-11,14-15" },
	{ "cores that others hold", "[role a]\nnear=eth0\ncount=2\n" RUN, "12", "a 5-6" },
	{ "the order of starting",
	  "[role a]\nnear=eth0\ncount=1\nafter=b\n" RUN "[role b]\nnear=eth0\ncount=1\n" RUN, "",
	  "b 5, a 4" },
	{ "avoid one that chose before",
	  "[role a]\nnear=eth0\ncount=1\n" RUN "[role b]\nnear=eth0\ncount=1\navoid=a\n" RUN, "",
	  "a 4, b 6" },
	{ "avoid one that chooses later",
	  "[role a]\nnear=eth0\ncount=1\navoid=b\n" RUN "[role b]\nnear=eth0\ncount=1\n" RUN, "",
	  "a 4, b 6" },
	{ "avoid one that shares what is left",
	  "[role a]\nnear=eth0\ncount=1\navoid=b\n" RUN "[role b]\n" RUN, "",
	  "a 4, b 0-3,6-11,14-15" },
	{ "avoid all instances",
	  "[role a]\ncount=1\navoid=b\n" RUN "[role b]\nnear=eth0\ncount=1\ninstances=3\n" RUN, "",
	  "a 0, b.0 4, b.1 5, b.2 6" },
	{ "avoid only whom it names",
	  "[role a]\nnear=eth0\ncount=1\n" RUN "[role b]\nnear=eth0\ncount=1\navoid=a\n" RUN
	  "[role c]\nnear=eth0\ncount=1\n" RUN,
	  "", "a 4, b 6, c 5" },
};

static void roles_are_placed_together(void **state)
{
	struct host *host = *state;

	host_build(host, &shape);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct np_bitmap held = set_of(cases[i].held);
		struct nr_roles roles = parse(cases[i].roles);
		struct np_topology *topology = load(host->dir, NULL, &roles);
		struct nr_service service = { 0 };
		struct np_error err = { 0 };
		char placed[TEXT_SIZE];

		check_case("%s", cases[i].name);
		assert_np_ok(nr_service_plan(topology, &roles, &held, &service, &err), &err);
		print_placed(&roles, &service, placed, sizeof(placed));
		assert_text(placed, cases[i].placed);
		nr_service_release(&service);
		nr_service_release(&service);
		np_topology_free(topology);
		nr_roles_release(&roles);
		np_bitmap_release(&held);
	}
}

static const struct {
	const char *role; /* keys of [role a] */
	const char *policy;
} memories[] = {
	{ "near=eth0\n", "local" },
	{ "near=eth0\nmem=local\n", "local" },
	{ "count=1\n", "inherited" },
	{ "", "inherited" },
	{ "near=eth0\nmem=1\n", "bind:1" },
	{ "near=eth0\nmem=bind:0-1\n", "bind:0-1" },
	{ "mem=!0\n", "bind:1-3" },
	{ "mem=preferred:2\n", "preferred:2" },
	{ "mem=preferred-many:all\n", "preferred-many:0-3" },
	{ "mem=interleave:+0-1\n", "interleave:0-1" },
	{ "mem=weighted-interleave:0,2\n", "weighted-interleave:0,2" },
	{ "near=eth0\nfar=yes\n", "bind:0" },
	{ "near=eth0\nfar=no\n", "local" },
};

static void memory_follows_the_role(void **state)
{
	struct host *host = *state;

	host_build(host, &shape);
	for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
		struct nr_service service = { 0 };
		struct np_error err = { 0 };
		struct np_topology *topology;
		struct nr_roles roles;
		char text[TEXT_SIZE];
		char *policy;

		snprintf(text, sizeof(text), "[role a]\n%s" RUN, memories[i].role);
		check_case("%s", text);
		roles = parse(text);
		topology = load(host->dir, NULL, &roles);
		assert_np_ok(nr_service_plan(topology, &roles, NULL, &service, &err), &err);
		policy = nr_policy_print(&service.placed[0].plan.policy);
		assert_text(policy, memories[i].policy);
		free(policy);
		nr_service_release(&service);
		np_topology_free(topology);
		nr_roles_release(&roles);
	}
}

static const struct {
	const char *roles;
	const char *held;
	int code;
	const char *why;
} refused[] = {
	{ "[role a]\ncount=4\n" RUN "[role b]\nnear=eth0\ncount=3\ninstances=2\n" RUN
	  "[role c]\n" RUN,
	  "", -ERANGE, "the roles ask for 10 cores (a 4, b 2 x 3), 8 can be used" },
	{ "[role a]\ncount=8\n" RUN, "9", -ERANGE,
	  "the roles ask for 8 cores (a 8), 7 can be used; others hold the rest" },
	{ "[role a]\ncount=9\n" RUN, "", -ERANGE,
	  "the roles ask for 9 cores (a 9), 8 can be used" },
	{ "[role a]\nnear=eth0\n" RUN "[role b]\ncount=7\n" RUN, "", -ERANGE,
	  "role b: 7 cores asked for, 6 can be used (others have the rest); of 8 cores that can be "
	  "used the roles took: a 2, b 0 of 7" },
	{ "[role a]\nnear=eth0\ntier=3\ncount=5\n" RUN, "", -ERANGE,
	  "role a: eth0: 5 cores asked for, 4 can be used from that tier on" },
	{ "[role a]\nnear=eth0\ntier=2\ncount=4\n" RUN "[role b]\nnear=eth0\ntier=3\ncount=3\n" RUN,
	  "", -ERANGE,
	  "role b: eth0: 3 cores asked for, 2 can be used from that tier on (others have the "
	  "rest); of 8 cores that can be used the roles took: a 4 of 4, b 0 of 3" },
	{ "[role a]\nnear=eth0\ntier=4\n" RUN, "", -ERANGE,
	  "role a: eth0: no tier 4, the last one is 3" },
	{ "[role a]\nnear=eth2\n" RUN, "", -ENODATA, "role a: eth2: its NUMA node is unknown" },
	{ "[role a]\n" RUN "[role b]\ncount=8\n" RUN, "", -ERANGE,
	  "role a: no core is left; of 8 cores that can be used the roles took: b 8 of 8" },
	{ "[role a]\n" RUN, "0-7", -ERANGE, "role a: no core is left" },
	{ "[role a]\ncount=5\navoid=b\n" RUN "[role b]\nnear=eth0\ntier=2\ncount=3\n" RUN, "",
	  -EBUSY,
	  "role a: 5 cores asked for, 4 can be used (others have the rest); 'avoid' lets it share "
	  "no L3 cache with b, and without that it would fit" },
	{ "[role a]\nnear=eth0\ncount=5\n" RUN "[role b]\ncount=3\navoid=a\n" RUN, "", -EBUSY,
	  "role b: 3 cores asked for, 2 can be used" },
	{ "[role a]\navoid=b\n" RUN "[role b]\n" RUN, "", -EBUSY,
	  "role b: no core is left; 'avoid' lets it share no L3 cache with a" },
	{ "[role a]\nmem=4\n" RUN, "", -EINVAL, "role a: mem: node 4 does not exist" },
	{ "[role a]\nmem=bind:0,\n" RUN, "", -EINVAL, "role a: mem: " },
	{ "[role a]\nmem=preferred:0-1\n" RUN, "", -EINVAL,
	  "role a: mem: 'preferred:0-1': preferred takes one node" },
};

static void what_cannot_be_placed_is_refused_with_the_reason(void **state)
{
	struct host *host = *state;

	host_build(host, &shape);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct np_bitmap held = set_of(refused[i].held);
		struct nr_roles roles = parse(refused[i].roles);
		struct np_topology *topology = load(host->dir, NULL, &roles);
		struct nr_service service = { .count = 4711 };
		struct np_error err = { 0 };

		check_case("%s", refused[i].roles);
		assert_fails(nr_service_plan(topology, &roles, &held, &service, &err),
		             refused[i].code, &err, refused[i].why);
		assert_number(service.count, 4711);
		assert_number(nr_service_plan(topology, &roles, &held, &service, NULL),
		              refused[i].code);
		np_topology_free(topology);
		nr_roles_release(&roles);
		np_bitmap_release(&held);
	}
}

static void a_topology_without_the_devices_is_refused(void **state)
{
	struct host *host = *state;
	struct nr_roles roles = parse("[role a]\nnear=eth0\n" RUN);
	struct nr_service service = { 0 };
	struct np_error err = { 0 };
	struct np_topology *topology;

	host_build(host, &shape);
	topology = host_load(host, NP_TOPOLOGY_GROUPS, NULL);
	assert_fails(nr_service_plan(topology, &roles, NULL, &service, &err), -EINVAL, &err,
	             "loaded without the roles' devices");
	np_topology_free(topology);
	nr_roles_release(&roles);
}

/* Where no L3 is told a node stands for it. */
static void without_caches_avoid_keeps_to_another_node(void **state)
{
	struct host *host = *state;
	struct nr_roles roles = parse("[role a]\nnear=eth0\ncount=1\n" RUN
	                              "[role b]\nnear=eth0\ncount=1\navoid=a\n" RUN);
	struct nr_service service = { 0 };
	struct np_error err = { 0 };
	struct np_topology *topology;
	char placed[TEXT_SIZE];

	host_build(host, &shape);
	for (unsigned cpu = 0; cpu < 16; cpu++) {
		char path[128];

		snprintf(path, sizeof(path), CPU_DIR "/cpu%u/cache", cpu);
		host_remove(host, path);
	}
	topology = load(host->dir, NULL, &roles);
	assert_np_ok(nr_service_plan(topology, &roles, NULL, &service, &err), &err);
	print_placed(&roles, &service, placed, sizeof(placed));
	assert_text(placed, "a 4, b 6");
	nr_service_release(&service);
	np_topology_free(topology);
	nr_roles_release(&roles);
}

static void a_spill_is_warned_of_in_the_roles_plan(void **state)
{
	struct host *host = *state;
	struct nr_roles roles =
		parse("[role a]\nnear=eth0\ncount=2\n" RUN "[role b]\nnear=eth0\ncount=1\n" RUN);
	struct np_topology *topology;
	struct nr_service service = { 0 };
	struct np_error err = { 0 };

	host_build(host, &shape);
	topology = load(host->dir, NULL, &roles);
	assert_np_ok(nr_service_plan(topology, &roles, NULL, &service, &err), &err);
	assert_number(service.placed[0].plan.warning_count, 0);
	assert_number(service.placed[1].plan.warning_count, 1);
	assert_has(service.placed[1].plan.warnings[0], "eth0: spilled from tier 1 to tier 2");
	nr_service_release(&service);
	np_topology_free(topology);
	nr_roles_release(&roles);
}

/* What examples/roles/ejfat.ini says of the host that its names are from. */
static void the_example_is_placed_as_it_says(void **state)
{
	const char *source = getenv("NUMAKIT_SOURCE");
	struct nr_roles roles = { 0 };
	struct nr_service service = { 0 };
	struct np_error err = { 0 };
	struct np_topology *topology;
	char placed[TEXT_SIZE];
	char path[PATH_MAX];

	(void)state;
	if (!source || !*source)
		source = NUMAKIT_SOURCE_DIR;
	snprintf(path, sizeof(path), "%s/examples/roles/ejfat.ini", source);
	assert_np_ok(nr_roles_load(path, &roles, &err), &err);
	snprintf(path, sizeof(path), "%s/tests/fixtures/hosts/ejfat-2", source);
	topology = load(path, NULL, &roles);
	assert_np_ok(nr_service_plan(topology, &roles, NULL, &service, &err), &err);
	print_placed(&roles, &service, placed, sizeof(placed));
	assert_text(placed, "receiver 80-87, sender.0 88-89, sender.1 90-91, "
	                    "monitor 0-79,92-127");
	nr_service_release(&service);
	np_topology_free(topology);
	nr_roles_release(&roles);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(roles_are_placed_together),
		host_test(memory_follows_the_role),
		host_test(what_cannot_be_placed_is_refused_with_the_reason),
		host_test(a_topology_without_the_devices_is_refused),
		host_test(without_caches_avoid_keeps_to_another_node),
		host_test(a_spill_is_warned_of_in_the_roles_plan),
		cmocka_unit_test(the_example_is_placed_as_it_says),
	};

	return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
