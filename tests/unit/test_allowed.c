/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <string.h>

/* CPUs 0-3 and 4-7. */
static const struct host_shape shape = { .node_count = 2, .cores_per_node = 4 };

#define V2_MOUNTS "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
#define V1_MOUNTS                                                                                  \
	"tmpfs /sys/fs/cgroup tmpfs ro 0 0\n"                                                      \
	"cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"                                      \
	"cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"
#define EFFECTIVE "cpuset.cpus.effective"
#define MEMS_EFFECTIVE "cpuset.mems.effective"

/* One file in a row; NULL path ends them. */
struct content {
	const char *path;
	const char *text;
};

static const struct {
	const char *name;
	struct content files[6];
	const char *allowed;
	const char *cpuset;
	const char *nodes; /* allowed */
} cases[] = {
	{ "nothing is told: all is allowed", { { 0 } }, "0-7", "0-7", "0-1" },
	{ "the status file of today",
	  { { "proc/self/status", "Name:\tcat\nCpus_allowed:\t0f\nCpus_allowed_list:\t0-3\n"
	                          "Mems_allowed:\t1\nMems_allowed_list:\t0\n" } },
	  "0-3",
	  "0-7",
	  "0" },
	{ "the thread's status comes before the process's",
	  { { "proc/thread-self/status", "Cpus_allowed_list:\t1\n" },
	    { "proc/self/status", "Cpus_allowed_list:\t2\n" } },
	  "1",
	  "0-7",
	  "0-1" },
	{ "more is allowed than is online",
	  { { "proc/self/status", "Cpus_allowed_list:\t0-1023\nMems_allowed_list:\t0-63\n" } },
	  "0-7",
	  "0-7",
	  "0-1" },
	{ "v2: the cpuset of our cgroup",
	  { { "proc/mounts", V2_MOUNTS },
	    { "proc/self/cgroup", "0::/job/step\n" },
	    { "sys/fs/cgroup/job/step/" EFFECTIVE, "2-5\n" },
	    { "sys/fs/cgroup/job/step/" MEMS_EFFECTIVE, "1\n" } },
	  "2-5",
	  "2-5",
	  "1" },
	{ "v2: a narrower affinity inside it",
	  { { "proc/self/status", "Cpus_allowed_list:\t2-3\n" },
	    { "proc/mounts", V2_MOUNTS },
	    { "proc/self/cgroup", "0::/job\n" },
	    { "sys/fs/cgroup/job/" EFFECTIVE, "2-5\n" } },
	  "2-3",
	  "2-5",
	  "0-1" },
	{ "v2: the root cgroup",
	  { { "proc/self/status", "Cpus_allowed_list:\t2-3\n" },
	    { "proc/mounts", V2_MOUNTS },
	    { "proc/self/cgroup", "0::/\n" },
	    { "sys/fs/cgroup/" EFFECTIVE, "0-5\n" } },
	  "2-3",
	  "0-5",
	  "0-1" },
	{ "v1: the cpuset hierarchy among others",
	  { { "proc/mounts", V1_MOUNTS },
	    { "proc/self/cgroup", "7:memory:/job\n4:cpuset:/job\n1:name=systemd:/job\n" },
	    { "sys/fs/cgroup/cpuset/job/cpuset.cpus", "4-7\n" },
	    { "sys/fs/cgroup/cpuset/job/cpuset.mems", "1\n" } },
	  "4-7",
	  "4-7",
	  "1" },
	{ "v1: mounted together with another controller",
	  { { "proc/mounts", "cgroup /sys/fs/cgroup/cc cgroup rw,cpuset,cpu 0 0\n" },
	    { "proc/self/cgroup", "4:cpuset,cpu:/job\n" },
	    { "sys/fs/cgroup/cc/job/cpuset.cpus", "4-7\n" } },
	  "4-7",
	  "4-7",
	  "0-1" },
	{ "v1: proc/self/cpuset where there is no proc/self/cgroup",
	  { { "proc/mounts", V1_MOUNTS },
	    { "proc/self/cpuset", "/job\n" },
	    { "sys/fs/cgroup/cpuset/job/cpuset.cpus", "4-7\n" } },
	  "4-7",
	  "4-7",
	  "0-1" },
	{ "both: the cpuset controller is with v1",
	  { { "proc/mounts", "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n" V1_MOUNTS },
	    { "proc/self/cgroup", "4:cpuset:/old\n0::/new\n" },
	    { "sys/fs/cgroup/cpuset/old/cpuset.cpus", "4-7\n" },
	    { "sys/fs/cgroup/unified/new/cgroup.procs", "1\n" } },
	  "4-7",
	  "4-7",
	  "0-1" },
	{ "a cgroup that is not mounted says nothing",
	  { { "proc/mounts", "proc /proc proc rw 0 0\n" }, { "proc/self/cgroup", "0::/job\n" } },
	  "0-7",
	  "0-7",
	  "0-1" },
	{ "a process outside the cgroup namespace",
	  { { "proc/self/status", "Cpus_allowed_list:\t2-3\n" },
	    { "proc/mounts", V2_MOUNTS },
	    { "proc/self/cgroup", "0::/../../other\n" } },
	  "2-3",
	  "0-7",
	  "0-1" },
};

static void what_may_be_used_is_read_where_the_kernel_tells_it(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		void *own = NULL;
		struct np_topology *topology;

		(void)state;
		host_create(&own);
		host_build(own, &shape);
		for (size_t f = 0; f < 6 && cases[i].files[f].path; f++)
			host_write(own, cases[i].files[f].path, cases[i].files[f].text);
		topology = host_load(own, 0, NULL);
		host_destroy(&own);

		check_case("%s", cases[i].name);
		assert_set(np_topology_cpus(topology, NP_CPUS_ALLOWED), cases[i].allowed);
		assert_set(np_topology_cpus(topology, NP_CPUS_CPUSET), cases[i].cpuset);
		assert_set(np_topology_nodes(topology, NP_NODES_ALLOWED), cases[i].nodes);
		np_topology_free(topology);
	}
}

/* As in a service of systemd's whose slice has AllowedCPUs=. */
static void a_cgroup_without_the_controller_has_its_parents_cpuset(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	host_write(host, "proc/self/status", "Cpus_allowed_list:\t2-3\n");
	host_write(host, "proc/mounts", V2_MOUNTS);
	host_write(host, "proc/self/cgroup", "0::/slice/service\n");
	host_write(host, "sys/fs/cgroup/slice/" EFFECTIVE, "2-5\n");
	host_write(host, "sys/fs/cgroup/slice/service/cgroup.procs", "1\n");
	topology = host_load(host, 0, NULL);
	assert_set(np_topology_cpus(topology, NP_CPUS_ALLOWED), "2-3");
	assert_set(np_topology_cpus(topology, NP_CPUS_CPUSET), "2-5");
	np_topology_free(topology);
}

static void nodes_without_memory_are_not_allowed(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	host_write(host, NODE_DIR "/has_memory", "1\n");
	host_write(host, "proc/self/status", "Mems_allowed_list:\t0-1\n");
	topology = host_load(host, 0, NULL);
	assert_set(np_topology_nodes(topology, NP_NODES_ALLOWED), "1");
	np_topology_free(topology);
}

static void a_bad_list_in_the_status_file_is_named(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };

	host_build(host, &shape);
	host_write(host, "proc/self/status",
	           "Cpus_allowed_list:\tbananas\nMems_allowed_list:\t0\n");
	assert_fails(host_load_fails(host, 0, NULL, &err), -EINVAL, &err, "proc/self/status");
	assert_has(err.text, "Cpus_allowed_list: '");
	assert_has(err.text, "bananas'");

	host_write(host, "proc/self/status", "Cpus_allowed_list:\t0\nMems_allowed_list:\t0-\n");
	assert_fails(host_load_fails(host, 0, NULL, &err), -EINVAL, &err, "Mems_allowed_list: '");
}

static void a_status_that_tells_neither_is_damaged(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };

	host_build(host, &shape);
	host_write(host, "proc/self/status", "Name:\tcat\n");
	assert_fails(host_load_fails(host, 0, NULL, &err), -EINVAL, &err,
	             "proc/self/status: 'Name:\\x09cat' has no line Cpus_allowed_list");
}

/* A program can call itself what it likes: its name stands in the same file. */
static void a_field_begins_its_line(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	host_write(host, "proc/self/status",
	           "Name:\tCpus_allowed_list:\t7\nCpus_allowed_list:\t0-3\n");
	topology = host_load(host, 0, NULL);
	assert_set(np_topology_cpus(topology, NP_CPUS_ALLOWED), "0-3");
	np_topology_free(topology);
}

/* Without a status file the cpuset decides alone: ignoring it would place programs wrongly. */
static void a_bad_cpuset_that_decides_is_an_error(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };

	host_build(host, &shape);
	host_write(host, "proc/mounts", V2_MOUNTS);
	host_write(host, "proc/self/cgroup", "0::/job\n");
	host_write(host, "sys/fs/cgroup/job/" EFFECTIVE, "bananas\n");
	assert_fails(host_load_fails(host, 0, NULL, &err), -EINVAL, &err,
	             "sys/fs/cgroup/job/" EFFECTIVE);
	assert_has(err.text, "'bananas");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_used_is_read_where_the_kernel_tells_it),
		host_test(a_cgroup_without_the_controller_has_its_parents_cpuset),
		host_test(nodes_without_memory_are_not_allowed),
		host_test(a_bad_list_in_the_status_file_is_named),
		host_test(a_status_that_tells_neither_is_damaged),
		host_test(a_field_begins_its_line),
		host_test(a_bad_cpuset_that_decides_is_an_error),
	};

	return cmocka_run_group_tests_name("allowed", tests, NULL, NULL);
}
