/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of cores, on hosts of one node whose caches each case makes up.
 */
#include "host.h"

#include "../../launcher/lib/cores.h"

#include <errno.h>
#include <numarun/plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHES_MAX = 4 };

static const char *const eth0[] = { "eth0", NULL };

/* Loads a host of one node of @cores cores, with these L3 caches; "" ends them. */
static struct np_topology *load(const struct host *host, unsigned cores, unsigned threads,
                                const char *const caches[CACHES_MAX])
{
	const struct host_shape shape = {
		.node_count = 1,
		.cores_per_node = cores,
		.threads_per_core = threads,
		.nics = { { "eth0", "0000:81:00.0", 0, NULL } },
	};

	host_build(host, &shape);
	for (size_t i = 0; i < CACHES_MAX && caches[i]; i++) {
		struct np_bitmap cpus = set_of(caches[i]);

		np_bitmap_for_each (cpu, &cpus)
			host_write_cpu(host, cpu, "cache/index3/shared_cpu_list", caches[i]);
		np_bitmap_release(&cpus);
	}
	return host_load(host, NP_TOPOLOGY_GROUPS, eth0);
}

static const struct {
	const char *name;
	const char *caches[CACHES_MAX];
	const char *avoid;
	unsigned want;
	const char *cpus; /* of 8 cores of one CPU */
} cases[] = {
	{ "one whole cache", { "0-3", "4-7" }, "", 4, "0-3" },
	{ "the first of equals", { "0-3", "4-7" }, "", 2, "0-1" },
	{ "one and a part", { "0-3", "4-7" }, "", 5, "0-4" },
	{ "what is begun is filled first", { "0-3", "4-7" }, "4-5", 2, "6-7" },
	{ "what is begun has too few", { "0-3", "4-7" }, "4-5", 3, "0-2" },
	{ "the smallest that has enough", { "0-3", "4-5", "6-7" }, "", 2, "4-5" },
	{ "the smallest that has enough, in part", { "0-3", "4-6", "7" }, "", 2, "4-5" },
	{ "the largest, then what fits the rest", { "0-1", "2-3", "4-7" }, "", 5, "0,4-7" },
	{ "the largest, then the smallest that fits", { "0-1", "2-6", "7" }, "", 6, "2-7" },
	{ "the largest ones, then the rest", { "0-2", "3-5", "6-7" }, "", 8, "0-7" },
	{ "more than there are", { "0-3", "4-7" }, "0-5", 4, "6-7" },
	{ "nothing is left", { "0-3", "4-7" }, "0-7", 1, "" },
	{ "all", { "0-3", "4-7" }, "", 0, "0-7" },
	{ "all that are left", { "0-3", "4-7" }, "1,5-6", 0, "0,2-4,7" },
	{ "caches whose CPUs alternate", { "0,2,4,6", "1,3,5,7" }, "0", 3, "2,4,6" },
};

static void caches_are_kept_whole_where_possible(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct np_topology *topology = load(*state, 8, 1, cases[i].caches);
		struct np_bitmap avoid = set_of(cases[i].avoid);
		struct np_bitmap cpus = { 0 };
		const struct nr_core_choice choice = {
			.cpus = np_topology_cpus(topology, NP_CPUS_USABLE),
			.nodes = np_topology_nodes(topology, NP_NODES_WITH_CPUS),
			.avoid = &avoid,
			.want = cases[i].want,
		};
		int taken;

		check_case("%s", cases[i].name);
		taken = nr_cores_take(topology, &choice, &cpus);
		assert_set(&cpus, cases[i].cpus);
		assert_number(taken, np_bitmap_count(&cpus));
		np_bitmap_release(&cpus);
		np_bitmap_release(&avoid);
		np_topology_free(topology);
	}
}

/* Cores 0-3 have CPUs 0,4 1,5 2,6 3,7. */
static void a_core_is_taken_or_free_as_a_whole(void **state)
{
	static const char *const caches[CACHES_MAX] = { "0-1,4-5", "2-3,6-7" };
	struct np_topology *topology = load(*state, 4, 2, caches);
	struct np_bitmap avoid = set_of("4");
	struct np_bitmap cpus = { 0 };
	struct nr_core_choice choice = {
		.cpus = np_topology_cpus(topology, NP_CPUS_USABLE),
		.nodes = np_topology_nodes(topology, NP_NODES_WITH_CPUS),
		.avoid = &avoid,
		.want = 1,
	};

	assert_number(nr_cores_take(topology, &choice, &cpus), 1);
	assert_set(&cpus, "1");
	np_bitmap_release(&cpus);
	choice.smt = true;
	assert_number(nr_cores_take(topology, &choice, &cpus), 1);
	assert_set(&cpus, "1,5");
	np_bitmap_release(&cpus);
	choice.want = 0;
	choice.smt = false;
	assert_number(nr_cores_take(topology, &choice, &cpus), 3);
	assert_set(&cpus, "1-3,5-7");
	np_bitmap_release(&cpus);
	np_bitmap_release(&avoid);
	np_topology_free(topology);
}

static void without_caches_siblings_are_still_one_core(void **state)
{
	static const char *const none[CACHES_MAX] = { NULL };
	struct host *host = *state;
	struct np_topology *topology = load(host, 4, 2, none);
	struct nr_request request = { .cpu_choice = NR_CPUS_NEAR, .count = 4 };
	struct np_bitmap cpus = set_of("1");
	struct np_bitmap near = { 0 };
	struct nr_plan plan = { 0 };
	struct np_error err = { 0 };

	np_topology_free(topology);
	for (unsigned cpu = 0; cpu < 8; cpu++) {
		char path[128];

		snprintf(path, sizeof(path), CPU_DIR "/cpu%u/cache", cpu);
		host_remove(host, path);
	}
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	assert_number(np_topology_group_count(topology, NP_LEVEL_L3), 0);
	assert_np_ok(nr_plan_make(topology, &request, &plan, &err), &err);
	assert_set(&plan.cpus, "0-3");
	nr_plan_release(&plan);
	/* No L3 is told: the whole node is near. */
	assert_number(nr_cores_add_neighbours(topology, &cpus, &near), 0);
	assert_set(&near, "0-7");
	np_bitmap_release(&near);
	np_bitmap_release(&cpus);
	np_topology_free(topology);
}

static void neighbours_share_a_cache(void **state)
{
	static const char *const caches[CACHES_MAX] = { "0-1", "2-4", "5-7" };
	struct np_topology *topology = load(*state, 8, 1, caches);
	struct np_bitmap cpus = set_of("1,7");
	struct np_bitmap near = { 0 };

	assert_number(nr_cores_add_neighbours(topology, &cpus, &near), 0);
	assert_set(&near, "0-1,5-7");
	np_bitmap_release(&near);
	np_bitmap_release(&cpus);
	np_topology_free(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(caches_are_kept_whole_where_possible),
		host_test(a_core_is_taken_or_free_as_a_whole),
		host_test(without_caches_siblings_are_still_one_core),
		host_test(neighbours_share_a_cache),
	};

	return cmocka_run_group_tests_name("cores", tests, NULL, NULL);
}
