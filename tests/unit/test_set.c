/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <numarun/set.h>
#include <string.h>

/*
 * CPUs 0-1 | 2-3 | 4-5 | 6-7 | none on nodes 0 to 4. 7 is offline, 6 outside the cpuset, 5 isolated
 * and outside the affinity, 2 outside the affinity alone. Node 3 has no memory, and node 2 is
 * outside Mems_allowed.
 */
static struct np_topology *load(const struct host *host)
{
	static const struct host_shape shape = { .node_count = 5, .cores_per_node = 2 };

	host_build(host, &shape);
	host_write(host, CPU_DIR "/online", "0-6\n");
	host_write(host, CPU_DIR "/present", "0-7\n");
	host_write(host, CPU_DIR "/isolated", "5\n");
	host_write_node(host, 4, "cpulist", "\n");
	host_write(host, NODE_DIR "/has_memory", "0-2,4\n");
	host_write(host, "proc/self/status",
	           "Cpus_allowed_list:\t0-1,3-4\nMems_allowed_list:\t0-1,4\n");
	host_write(host, "proc/self/cgroup", "0::/job\n");
	host_write(host, "proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	host_write(host, "sys/fs/cgroup/job/cpuset.cpus.effective", "0-5\n");
	return host_load(host, 0, NULL);
}

struct good_set {
	const char *text;
	bool all;
	const char *set;
};

struct bad_set {
	const char *text;
	bool all;
	const char *why;
};

static const struct good_set good_cpus[] = {
	{ "0", false, "0" },
	{ "0-1", false, "0-1" },
	{ "4,0", false, "0,4" },
	{ "0,0,0", false, "0" },
	{ "all", false, "0-1,3-4" },
	{ "+0", false, "0" },
	{ "+0-1", false, "0-1" },
	{ "+2", false, "3" }, /* the third of those that may be used */
	{ "+2-3", false, "3-4" },
	{ "+0,+2", false, "0,3" },
	{ "+0,2", false, "0,3" },
	{ "+0-+1", false, "0-1" },
	/* As in numactl what is left can be outside the inherited affinity, but in the cpuset. */
	{ "!0", false, "1-5" },
	{ "!0-1,4", false, "2-3,5" },
	{ "!+0", false, "1-5" },
	{ "!+2-3", false, "0-2,5" },
	{ "!all", false, "2,5" },
	{ "2", true, "2" },
	{ "5-6", true, "5-6" },
	{ "all", true, "0-6" },
	{ "+4", true, "4" },
	{ "!0", true, "1-6" },
};

static const struct bad_set bad_cpus[] = {
	{ "", false, "empty set" },
	{ "+", false, "empty set" },
	{ "!!0", false, "is not a list" },
	{ "x", false, "'x' is not a list" },
	{ "!x", false, "'x' is not a list" },
	{ "+x", false, "is not a list" },
	{ "++0", false, "is not a list" },
	{ "allx", false, "is not a list" },
	{ "all,0", false, "is not a list" },
	{ "+all", false, "is not a list" },
	{ "0,", false, "is not a list" },
	{ "0-", false, "is not a list" },
	{ "1-0", false, "runs backwards" },
	{ "-1", false, "is not a list" },
	{ "0 1", false, "is not a list" },
	{ "0\n1", false, "0\\x0a1" },
	{ "010", false, "in plain decimal" },
	{ "0x1", false, "in plain decimal" },
	{ "99999999999999999999", false, "too large" },
	{ "7", false, "CPU 7 is offline; online are 0-6" },
	{ "7", true, "CPU 7 is offline; online are 0-6" },
	{ "8", false, "CPU 8 does not exist; this host has CPUs 0-6" },
	{ "0,8", false, "CPU 8 does not exist" },
	{ "0-8", true, "CPU 7 is offline" },
	{ "!8", false, "CPU 8 does not exist" },
	{ "6", false, "CPU 6 is outside the cpuset of this cgroup, which holds 0-5" },
	{ "2", false, "CPU 2 is outside the inherited affinity mask (0-1,3-4); --all" },
	{ "5", false, "CPU 5 is isolated (isolcpus) and outside the inherited affinity mask" },
	{ "+4", false, "+4 is beyond the 4 that may be used" },
	{ "+3-4", false, "+4 is beyond the 4 that may be used" },
	{ "+\n9", false, "+" },
	{ "!all", true, "empty set" },
};

static const struct good_set good_cpu_nodes[] = {
	{ "0", false, "0" },  { "1-2", false, "1-2" }, { "all", false, "0-2" },
	{ "+2", false, "2" }, { "!0", false, "1-2" },  { "!+1", false, "0,2" },
};

static const struct bad_set bad_cpu_nodes[] = {
	{ "4", false, "node 4 has no CPUs to run on; nodes with CPUs are 0-3" },
	{ "5", false, "node 5 does not exist; this host has nodes 0-4" },
	{ "0,77", false, "node 77 does not exist" },
	{ "+3", false, "beyond the 3" },
	{ "3", false, "node 3 has no CPU in the cpuset of this cgroup, which holds CPUs 0-5" },
	{ "!all", false, "empty set" },
	{ "", false, "empty set" },
	{ "same", false, "is not a list" },
};

static const struct good_set good_memory_nodes[] = {
	{ "0", false, "0" },      { "0-1,4", false, "0-1,4" }, { "all", false, "0-1,4" },
	{ "+2", false, "4" },     { "!0", false, "1,4" },      { "2", true, "2" },
	{ "all", true, "0-2,4" }, { "!0", true, "1-2,4" },
};

static const struct bad_set bad_memory_nodes[] = {
	{ "2", false, "node 2 is outside Mems_allowed of this process's cpuset (0-1,4)" },
	{ "3", false, "node 3 has no memory to allocate; nodes with memory are 0-2,4" },
	{ "3", true, "node 3 has no memory to allocate" },
	{ "5", false, "node 5 does not exist; this host has nodes 0-4" },
	{ "0-1,5", true, "node 5 does not exist" },
	{ "!5", false, "node 5 does not exist" },
	{ "!all", true, "empty set" },
	{ "0,", false, "is not a list" },
};

/* The parsers differ in their parameters alone. */
typedef int parse_fn(const char *text, const struct np_topology *topology, bool all,
                     struct np_bitmap *ret, struct np_error *err);

static int parse_cpu_nodes(const char *text, const struct np_topology *topology, bool all,
                           struct np_bitmap *ret, struct np_error *err)
{
	(void)all;
	return nr_set_parse_cpu_nodes(text, topology, ret, err);
}

static void check_good(parse_fn *parse, const struct np_topology *topology,
                       const struct good_set *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct np_bitmap set = { 0 };
		struct np_error err = { 0 };

		check_case("'%s'%s", cases[i].text, cases[i].all ? " with --all" : "");
		assert_np_ok(parse(cases[i].text, topology, cases[i].all, &set, &err), &err);
		assert_set(&set, cases[i].set);
		np_bitmap_release(&set);
	}
}

static void check_bad(parse_fn *parse, const struct np_topology *topology,
                      const struct bad_set *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct np_bitmap set = set_of("9");
		struct np_error err = { 0 };

		check_case("'%s'%s", cases[i].text, cases[i].all ? " with --all" : "");
		assert_fails(parse(cases[i].text, topology, cases[i].all, &set, &err), -EINVAL,
		             &err, cases[i].why);
		assert_set(&set, "9");
		np_bitmap_release(&set);
	}
}

#define check_table(check, parse, topology, table)                                                 \
	check((parse), (topology), (table), sizeof(table) / sizeof((table)[0]))

static void cpus_are_read_as_numactl_reads_them(void **state)
{
	struct np_topology *topology = load(*state);

	check_table(check_good, nr_set_parse_cpus, topology, good_cpus);
	np_topology_free(topology);
}

static void cpus_that_cannot_be_used_are_refused_with_the_reason(void **state)
{
	struct np_topology *topology = load(*state);

	check_table(check_bad, nr_set_parse_cpus, topology, bad_cpus);
	np_topology_free(topology);
}

static void nodes_to_run_on_need_cpus(void **state)
{
	struct np_topology *topology = load(*state);

	check_table(check_good, parse_cpu_nodes, topology, good_cpu_nodes);
	check_table(check_bad, parse_cpu_nodes, topology, bad_cpu_nodes);
	np_topology_free(topology);
}

static void nodes_to_allocate_from_need_memory_that_is_allowed(void **state)
{
	struct np_topology *topology = load(*state);

	check_table(check_good, nr_set_parse_memory_nodes, topology, good_memory_nodes);
	check_table(check_bad, nr_set_parse_memory_nodes, topology, bad_memory_nodes);
	np_topology_free(topology);
}

/* numactl: <!> is invalid. It is what "!$EMPTY" becomes, and must not mean everything. */
static const struct bad_set signs[] = {
	{ "!", false, "'!'" },
	{ "!", true, "'!'" },
	{ "!+", false, "'!+'" },
	{ "! ", false, "'! '" },
};

static void a_sign_without_a_set_is_refused(void **state)
{
	struct np_topology *topology = load(*state);

	check_table(check_bad, nr_set_parse_cpus, topology, signs);
	check_table(check_bad, parse_cpu_nodes, topology, signs);
	check_table(check_bad, nr_set_parse_memory_nodes, topology, signs);
	np_topology_free(topology);
}

static void a_set_is_added_to_what_is_there(void **state)
{
	struct np_topology *topology = load(*state);
	struct np_bitmap set = set_of("9");
	struct np_error err = { 0 };

	assert_np_ok(nr_set_parse_cpus("0-1", topology, false, &set, &err), &err);
	assert_set(&set, "0-1,9");
	np_bitmap_release(&set);
	np_topology_free(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(cpus_are_read_as_numactl_reads_them),
		host_test(cpus_that_cannot_be_used_are_refused_with_the_reason),
		host_test(nodes_to_run_on_need_cpus),
		host_test(nodes_to_allocate_from_need_memory_that_is_allowed),
		host_test(a_sign_without_a_set_is_refused),
		host_test(a_set_is_added_to_what_is_there),
	};

	return cmocka_run_group_tests_name("set", tests, NULL, NULL);
}
