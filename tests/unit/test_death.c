/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <numarun/death.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct host_shape shape = { .node_count = 4, .cores_per_node = 2 };

#define GROUP "sys/fs/cgroup/a/b"
#define HOST_POOL "sys/kernel/mm/hugepages/hugepages-2048kB"
#define POOL "hugepages/hugepages-2048kB"

/* Nodes of 256 MiB with 240 free, and 2 MiB pages: 5 of 5 free on node 0, none of 16 on node 2. */
static void build(const struct host *host)
{
	host_build(host, &shape);
	for (unsigned node = 0; node < 4; node++) {
		char text[128];

		snprintf(text, sizeof(text),
		         "Node %u MemTotal: 262144 kB\nNode %u MemFree: 245760 kB\n", node, node);
		host_write_node(host, node, "meminfo", text);
		host_write_node(host, node, POOL "/nr_hugepages",
		                node == 0   ? "5\n"
		                : node == 2 ? "16\n"
		                            : "0\n");
		host_write_node(host, node, POOL "/free_hugepages", node == 0 ? "5\n" : "0\n");
	}
	host_write(host, HOST_POOL "/nr_hugepages", "21\n");
	host_write(host, HOST_POOL "/free_hugepages", "5\n");
	host_write(host, "proc/vmstat", "nr_free_pages 1\noom_kill 7\n");
}

/* The cgroup /a/b of version 2, in which a limit stands at /a. */
static void build_group(const struct host *host)
{
	host_write(host, "proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	host_write(host, "proc/self/cgroup", "0::/a/b\n");
	host_write(host, GROUP "/memory.max", "max\n");
	host_write(host, GROUP "/memory.events", "low 0\nmax 0\noom 0\noom_kill 2\n");
	host_write(host, "sys/fs/cgroup/a/memory.max", "52428800\n");
	host_write(host, "sys/fs/cgroup/a/memory.events", "low 0\nmax 1\noom 1\noom_kill 2\n");
	host_write(host, GROUP "/hugetlb.2MB.events", "max 3\n");
}

/* The status of a child that ended by @signal_number. */
static int status_of(int signal_number)
{
	return signal_number;
}

/* What happens between the two readings. */
typedef void happen_fn(const struct host *host);

/* The explanation, or NULL; the caller frees it. */
static char *explain(const struct host *host, const struct nr_policy *policy, int status,
                     happen_fn *happen)
{
	struct nr_plan plan = { .policy = *policy };
	struct np_topology *topology = host_load(host, 0, NULL);
	struct nr_vitals *before = NULL;
	struct np_error err = { 0 };
	char *text = NULL;

	assert_np_ok(nr_vitals_load(host->dir, topology, 0, &before, &err), &err);
	np_topology_free(topology);
	if (happen)
		happen(host);
	assert_np_ok(nr_death_explain(host->dir, before, &plan, status, &text, &err), &err);
	nr_vitals_free(before);
	if (text)
		assert_true(is_printable_line(text));
	return text;
}

static void kill_on_the_host(const struct host *host)
{
	host_write(host, "proc/vmstat", "oom_kill 8\n");
}

static void kill_in_the_group(const struct host *host)
{
	kill_on_the_host(host);
	host_write(host, GROUP "/memory.events", "low 0\nmax 0\noom 0\noom_kill 3\n");
	host_write(host, "sys/fs/cgroup/a/memory.events", "low 0\nmax 1\noom 1\noom_kill 3\n");
}

static void kill_at_the_limit(const struct host *host)
{
	kill_in_the_group(host);
	host_write(host, "sys/fs/cgroup/a/memory.events", "low 0\nmax 9\noom 2\noom_kill 3\n");
}

static void reach_huge_limit(const struct host *host)
{
	host_write(host, GROUP "/hugetlb.2MB.events", "max 5\n");
}

static void fill_node_2(const struct host *host)
{
	host_write_node(host, 2, POOL "/free_hugepages", "3\n");
}

static void lose_the_files(const struct host *host)
{
	host_remove(host, "proc");
	host_remove(host, "sys");
}

static const struct {
	const char *name;
	int signal_number;
	enum nr_policy_mode mode;
	const char *nodes;
	bool in_group;
	happen_fn *happen;
	const char *part[3]; /* of the explanation; none = there is none */
} deaths[] = {
	{ "a normal end", 0, NR_POLICY_BIND, "2", true, kill_at_the_limit, { NULL } },
	{ "another signal", SIGTERM, NR_POLICY_BIND, "2", true, kill_at_the_limit, { NULL } },
	{ "somebody's kill -9", SIGKILL, NR_POLICY_BIND, "2", true, NULL, { NULL } },
	{ "the host's memory, bound",
	  SIGKILL,
	  NR_POLICY_BIND,
	  "2",
	  false,
	  kill_on_the_host,
	  { "killed by SIGKILL, probably by the kernel for lack of memory (oom_kill of ",
	    "/proc/vmstat rose by 1): bind:2 allows node 2 only, which had 240 MiB free of 256 MiB at "
	    "the start, while nodes 0-1,3 have 720 MiB free",
	    ": --preferred 2 goes on there" } },
	{ "the host's memory, bound to several",
	  SIGKILL,
	  NR_POLICY_BIND,
	  "0-2",
	  false,
	  kill_on_the_host,
	  { "bind:0-2 allows nodes 0-2 only", "while node 3 has 240 MiB free",
	    "--preferred-many 0-2 goes on there" } },
	{ "the host's memory, bound to all of it",
	  SIGKILL,
	  NR_POLICY_BIND,
	  "0-3",
	  false,
	  kill_on_the_host,
	  { "bind:0-3 allows nodes 0-3 only, which had 960 MiB free of 1 GiB at the start",
	    NULL } },
	{ "the host's memory",
	  SIGKILL,
	  NR_POLICY_LOCAL,
	  "",
	  false,
	  kill_on_the_host,
	  { "nodes 0-3 had 960 MiB free of 1 GiB at the start", NULL } },
	{ "somebody else's death on the host",
	  SIGKILL,
	  NR_POLICY_BIND,
	  "2",
	  true,
	  kill_on_the_host,
	  { NULL } },
	{ "the node's memory, in a cgroup",
	  SIGKILL,
	  NR_POLICY_BIND,
	  "2",
	  true,
	  kill_in_the_group,
	  { "/sys/fs/cgroup/a/b/memory.events rose by 1", "bind:2 allows node 2 only", NULL } },
	{ "the limit of a cgroup above",
	  SIGKILL,
	  NR_POLICY_BIND,
	  "2",
	  true,
	  kill_at_the_limit,
	  { "the cgroup reached its limit, ", "/sys/fs/cgroup/a/memory.max is 50 MiB", NULL } },
	{ "no huge page left",
	  SIGBUS,
	  NR_POLICY_BIND,
	  "2",
	  false,
	  NULL,
	  { "killed by SIGBUS: node 2 has no free huge page of 2048 kB (0 of 16; nodes 0-1,3 have "
	    "5), and one more that is touched there ends so; else a file was cut short",
	    NULL } },
	{ "huge pages that were given back since",
	  SIGBUS,
	  NR_POLICY_BIND,
	  "2",
	  false,
	  fill_node_2,
	  { "node 2 has no free huge page", NULL } },
	{ "huge pages elsewhere do not matter to a policy that goes on",
	  SIGBUS,
	  NR_POLICY_PREFERRED,
	  "2",
	  false,
	  NULL,
	  { "killed by SIGBUS: a file was cut short under its mapping, or a tmpfs had no room left",
	    NULL } },
	{ "huge pages of the node that has them",
	  SIGBUS,
	  NR_POLICY_BIND,
	  "0",
	  false,
	  NULL,
	  { "killed by SIGBUS: a file was cut short", NULL } },
	{ "the cgroup's limit of huge pages",
	  SIGBUS,
	  NR_POLICY_LOCAL,
	  "",
	  true,
	  reach_huge_limit,
	  { "killed by SIGBUS, probably for its cgroup's limit of huge pages",
	    "/sys/fs/cgroup/a/b/hugetlb.2MB.max was reached 2 times", NULL } },
	{ "a filter", SIGSYS, NR_POLICY_LOCAL, "", false, NULL, { "a seccomp filter", NULL } },
	{ "nothing to read any more",
	  SIGKILL,
	  NR_POLICY_BIND,
	  "2",
	  true,
	  lose_the_files,
	  { NULL } },
};

static void deaths_are_explained_as_far_as_the_counters_tell(void **state)
{
	const struct host *host = *state;

	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
		struct nr_policy policy = { .mode = deaths[i].mode,
			                    .nodes = set_of(deaths[i].nodes) };
		char *text;

		check_case("%s", deaths[i].name);
		host_remove(host, "proc");
		host_remove(host, "sys/fs");
		build(host);
		if (deaths[i].in_group)
			build_group(host);
		text = explain(host, &policy, status_of(deaths[i].signal_number), deaths[i].happen);
		if (!deaths[i].part[0])
			assert_text(text, NULL);
		for (size_t p = 0; p < 3 && deaths[i].part[p]; p++)
			assert_has(text, deaths[i].part[p]);
		free(text);
		nr_policy_release(&policy);
	}
}

static void reach_v1_limit(const struct host *host)
{
	host_write(host, "sys/fs/cgroup/mem/a/memory.oom_control",
	           "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	host_write(host, "sys/fs/cgroup/mem/a/memory.failcnt", "12\n");
}

static void version_1_counts_otherwise(void **state)
{
	static const struct nr_policy local = { .mode = NR_POLICY_LOCAL };
	const struct host *host = *state;
	char *text;

	build(host);
	host_write(host, "proc/mounts", "cgroup /sys/fs/cgroup/mem cgroup rw,memory 0 0\n");
	host_write(host, "proc/self/cgroup", "4:memory:/a\n0::/\n");
	host_write(host, "sys/fs/cgroup/mem/a/memory.oom_control",
	           "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
	host_write(host, "sys/fs/cgroup/mem/a/memory.failcnt", "0\n");
	host_write(host, "sys/fs/cgroup/mem/a/memory.limit_in_bytes", "52428800\n");
	text = explain(host, &local, SIGKILL, reach_v1_limit);
	assert_has(text, "memory.oom_control rose by 1");
	assert_has(text, "sys/fs/cgroup/mem/a/memory.limit_in_bytes is 50 MiB");
	free(text);
}

static const char *const read_files[] = {
	"proc/vmstat",
	"proc/mounts",
	"proc/self/cgroup",
	NODE_DIR "/node2/meminfo",
	NODE_DIR "/node2/" POOL "/free_hugepages",
	GROUP "/memory.events",
	"sys/fs/cgroup/a/memory.events",
	GROUP "/hugetlb.2MB.events",
};

static const char *const damages[] = {
	"",
	"\n",
	"x\n",
	"oom_kill\n",
	"oom_kill -1\n",
	"oom_kill 1x\n",
	"oom x\noom_kill 99999999999999999999\n",
	"max x\n",
	"Node 2 MemTotal: kB\n",
	"0:\n",
};

/* Whatever the files hold, before or after: an answer, or an error that names the file. */
static void damaged_files_are_named(void **state)
{
	static const struct nr_policy local = { .mode = NR_POLICY_LOCAL };
	const struct host *host = *state;
	struct nr_plan plan = { .policy = local };
	struct np_topology *topology;

	build(host);
	topology = host_load(host, 0, NULL);
	for (size_t f = 0; f < sizeof(read_files) / sizeof(read_files[0]); f++) {
		struct nr_vitals *before = NULL;
		struct np_error err = { 0 };

		/* The one before is whole again. */
		build(host);
		build_group(host);
		assert_np_ok(nr_vitals_load(host->dir, topology, 0, &before, &err), &err);
		for (size_t d = 0; d < sizeof(damages) / sizeof(damages[0]); d++) {
			struct nr_vitals *damaged = NULL;
			char *text = NULL;
			int rc;

			check_case("%s: '%s'", read_files[f], damages[d]);
			host_write(host, read_files[f], damages[d]);
			rc = nr_vitals_load(host->dir, topology, 0, &damaged, &err);
			if (rc < 0)
				assert_fails(rc, -EINVAL, &err, read_files[f]);
			rc = nr_death_explain(host->dir, before, &plan, SIGKILL, &text, &err);
			if (rc < 0)
				assert_fails(rc, -EINVAL, &err, read_files[f]);
			free(text);
			nr_vitals_free(damaged);
		}
		nr_vitals_free(before);
	}
	np_topology_free(topology);
}

/* ---- this host ---- */

static void die_of_a_cut_file(void)
{
	FILE *file = tmpfile();
	char *page;

	if (!file || ftruncate(fileno(file), 4096) < 0)
		_exit(1);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
	if (page == MAP_FAILED || ftruncate(fileno(file), 0) < 0)
		_exit(1);
	_exit(*(volatile char *)page);
}

static void a_real_death_is_explained(void **state)
{
	struct np_topology_source from = { 0 };
	struct nr_plan plan = { .policy = { .mode = NR_POLICY_LOCAL } };
	struct np_topology *topology = NULL;
	struct nr_vitals *before = NULL;
	struct np_error err = { 0 };
	char *text = NULL;
	int status = 0;
	pid_t pid;

	(void)state;
	assert_np_ok(np_topology_load(&from, &topology, &err), &err);
	assert_np_ok(nr_vitals_load(NULL, topology, getpid(), &before, &err), &err);
	pid = fork_child();
	if (pid == 0)
		die_of_a_cut_file();
	assert_number(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_number(WTERMSIG(status), SIGBUS);
	assert_np_ok(nr_death_explain(NULL, before, &plan, status, &text, &err), &err);
	assert_has(text, "killed by SIGBUS");
	assert_has(text, "a file was cut short under its mapping");
	free(text);
	nr_vitals_free(before);
	np_topology_free(topology);
}

static void a_process_that_is_gone_has_no_vitals(void **state)
{
	struct np_topology_source from = { 0 };
	struct np_topology *topology = NULL;
	struct nr_vitals *vitals = NULL;
	struct np_error err = { 0 };
	pid_t pid = fork_child();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_number(waitpid(pid, NULL, 0), pid);
	assert_np_ok(np_topology_load(&from, &topology, &err), &err);
	assert_fails(nr_vitals_load(NULL, topology, pid, &vitals, &err), -ESRCH, &err, "no such");
	assert_null(vitals);
	nr_vitals_free(vitals);
	np_topology_free(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(deaths_are_explained_as_far_as_the_counters_tell),
		host_test(version_1_counts_otherwise),
		host_test(damaged_files_are_named),
		cmocka_unit_test(a_real_death_is_explained),
		cmocka_unit_test(a_process_that_is_gone_has_no_vitals),
	};

	return cmocka_run_group_tests_name("death", tests, NULL, NULL);
}
