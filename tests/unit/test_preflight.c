/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <numarun/preflight.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* Four nodes of 2 cores; node 2's neighbour is node 3. */
static const unsigned distances[] = {
	10, 12, 32, 32, /**/
	12, 10, 32, 32, /**/
	32, 32, 10, 12, /**/
	32, 32, 12, 10,
};

static const struct host_shape shape = {
	.node_count = 4,
	.cores_per_node = 2,
	.distances = distances,
};

/* A node of 256 MiB, of which @free and @cache MiB can be had. */
static void write_memory(const struct host *host, unsigned node, unsigned free_mib,
                         unsigned cache_mib)
{
	char text[512];

	snprintf(text, sizeof(text),
	         "Node %u MemTotal:       262144 kB\nNode %u MemFree:        %u kB\n"
	         "Node %u Active(file):   %u kB\nNode %u Inactive(file): 0 kB\n"
	         "Node %u SReclaimable:   0 kB\nNode %u HugePages_Total:     0\n",
	         node, node, free_mib * 1024, node, cache_mib * 1024, node, node, node);
	host_write_node(host, node, "meminfo", text);
}

static void write_number(const struct host *host, const char *path, unsigned number)
{
	char text[32];

	snprintf(text, sizeof(text), "%u\n", number);
	host_write(host, path, text);
}

static void write_pool(const struct host *host, const char *folder, unsigned page_kb,
                       unsigned total, unsigned available)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/hugepages-%ukB/nr_hugepages", folder, page_kb);
	write_number(host, path, total);
	snprintf(path, sizeof(path), "%s/hugepages-%ukB/free_hugepages", folder, page_kb);
	write_number(host, path, available);
}

/* Pools of 2 MiB pages: 16 on node 0, 3 on node 2, none elsewhere; the host knows 1 GiB too. */
static void write_pools(const struct host *host)
{
	static const unsigned counts[] = { 16, 0, 3, 0 };

	for (unsigned node = 0; node < 4; node++) {
		char folder[64];

		snprintf(folder, sizeof(folder), NODE_DIR "/node%u/hugepages", node);
		write_pool(host, folder, 2048, counts[node], counts[node]);
		write_pool(host, folder, 1048576, 0, 0);
	}
	write_pool(host, "sys/kernel/mm/hugepages", 2048, 19, 19);
	write_pool(host, "sys/kernel/mm/hugepages", 1048576, 0, 0);
	host_write(host, "proc/meminfo", "MemTotal: 1048576 kB\nHugepagesize:       2048 kB\n");
}

/* Node 0 has 230 MiB, node 1 200 + 20 of cache, node 2 120, node 3 40. */
static void build(const struct host *host)
{
	host_build(host, &shape);
	write_memory(host, 0, 230, 0);
	write_memory(host, 1, 200, 20);
	write_memory(host, 2, 120, 0);
	write_memory(host, 3, 40, 0);
	write_pools(host);
}

/* A plan on node 2's CPUs with that policy; the caller releases it. */
static struct nr_plan plan_with(enum nr_policy_mode mode, const char *nodes)
{
	return (struct nr_plan){
		.binds_cpus = true,
		.cpus = set_of("4-5"),
		.nodes = set_of("2"),
		.policy = { .mode = mode, .nodes = set_of(nodes) },
	};
}

struct answer {
	int code; /* 0 = it may run */
	const char *part[2];
	size_t warning_count;
};

/* The preflight answers so; its warnings, or its error, have these parts. */
static void check_answer_on(const struct host *host, const struct np_topology *topology,
                            const struct nr_need *need, struct nr_plan *plan,
                            const struct answer *wanted)
{
	struct np_error err = { 0 };
	int rc = nr_preflight(host->dir, topology, need, plan, &err);

	if (wanted->code < 0)
		assert_fails(rc, wanted->code, &err, wanted->part[0]);
	else
		assert_np_ok(rc, &err);
	assert_number(plan->warning_count, wanted->warning_count);
	for (size_t i = 0; i < 2 && wanted->part[i]; i++)
		assert_has(wanted->code < 0 ? err.text : plan->warnings[0], wanted->part[i]);
	for (size_t i = 0; i < plan->warning_count; i++)
		assert_true(is_printable_line(plan->warnings[i]));
}

static void check_answer(const struct host *host, const struct nr_need *need, struct nr_plan *plan,
                         const struct answer *wanted)
{
	struct np_topology *topology = host_load(host, 0, NULL);

	check_answer_on(host, topology, need, plan, wanted);
	np_topology_free(topology);
}

/* ---- sizes ---- */

static const struct {
	const char *text;
	uint64_t bytes; /* 0 = refused */
} sizes[] = {
	{ "1", 1 },
	{ "4096", 4096 },
	{ "512B", 512 },
	{ "1k", 1024 },
	{ "512M", 512 * MIB },
	{ "512MB", 512 * MIB },
	{ "512MiB", 512 * MIB },
	{ "3G", 3 * GIB },
	{ "2T", 2048 * GIB },
	{ "16777215T", UINT64_C(16777215) << 40 },
	{ "16777216T", 0 },
	{ "18446744073709551615", UINT64_MAX },
	{ "18446744073709551616", 0 },
	{ "0", 0 },
	{ "0G", 0 },
	{ "", 0 },
	{ "G", 0 },
	{ "-1", 0 },
	{ "+1", 0 },
	{ " 1", 0 },
	{ "1 G", 0 },
	{ "1.5G", 0 },
	{ "1Gi", 0 },
	{ "1iB", 0 },
	{ "1X", 0 },
	{ "1GG", 0 },
	{ "1G\n", 0 },
	{ "0x10", 0 },
};

static void sizes_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct np_error err = { 0 };
		uint64_t bytes = 4711;
		int rc = nr_need_parse_size(sizes[i].text, &bytes, &err);

		check_case("'%s'", sizes[i].text);
		if (sizes[i].bytes > 0) {
			assert_np_ok(rc, &err);
			assert_true(bytes == sizes[i].bytes);
		} else {
			assert_fails(rc, -EINVAL, &err, "size");
			assert_number(bytes, 4711);
		}
	}
}

static const struct {
	const char *text;
	uint64_t count; /* 0 = refused */
	uint64_t bytes;
} pages[] = {
	{ "8", 8, 0 },
	{ "4:1G", 4, GIB },
	{ "512:2M", 512, 2 * MIB },
	{ "1:2048K", 1, 2 * MIB },
	{ "0", 0, 0 },
	{ "", 0, 0 },
	{ ":1G", 0, 0 },
	{ "8:", 0, 0 },
	{ "8:0", 0, 0 },
	{ "8:x", 0, 0 },
	{ "8x", 0, 0 },
	{ "-8", 0, 0 },
	{ "8:1G:2", 0, 0 },
	{ "99999999999999999999", 0, 0 },
};

static void numbers_of_huge_pages_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		struct np_error err = { 0 };
		struct nr_need need = { .huge_count = 4711, .memory_bytes = 1 };
		int rc = nr_need_parse_huge(pages[i].text, &need, &err);

		check_case("'%s'", pages[i].text);
		if (pages[i].count > 0) {
			assert_np_ok(rc, &err);
			assert_number(need.huge_count, pages[i].count);
			assert_true(need.huge_bytes == pages[i].bytes);
		} else {
			assert_fails(rc, -EINVAL, &err, "'");
			assert_number(need.huge_count, 4711);
		}
		assert_number(need.memory_bytes, 1);
	}
}

/* ---- memory ---- */

static const struct {
	const char *name;
	enum nr_policy_mode mode;
	const char *nodes;
	unsigned mib;
	struct answer answer;
} memory_cases[] = {
	{ "it fits", NR_POLICY_BIND, "2", 120, { 0 } },
	{ "more than is free",
	  NR_POLICY_BIND,
	  "2",
	  121,
	  { -EXDEV,
	    { "node 2 has 120 MiB free of 256 MiB, 121 MiB are asked for and --membind allows no "
	      "other: --preferred 2 uses it first and goes on elsewhere" },
	    0 } },
	{ "more than there is",
	  NR_POLICY_BIND,
	  "2",
	  400,
	  { -EXDEV,
	    { "node 2 has 256 MiB, 400 MiB are asked for and --membind allows no other: "
	      "--preferred 2 uses it first" },
	    0 } },
	{ "page cache counts as free", NR_POLICY_BIND, "1", 220, { 0 } },
	{ "several nodes",
	  NR_POLICY_BIND,
	  "2-3",
	  200,
	  { -EXDEV,
	    { "nodes 2-3 have 160 MiB free of 512 MiB, 200 MiB are asked for",
	      "--preferred-many 2-3 uses them first" },
	    0 } },
	{ "all nodes",
	  NR_POLICY_BIND,
	  "0-3",
	  2048,
	  { -EXDEV,
	    { "nodes 0-3 have 1 GiB, 2 GiB are asked for and no other node may be used" },
	    0 } },
	{ "a preferred node", NR_POLICY_PREFERRED, "2", 120, { 0 } },
	{ "a preferred node that is too small",
	  NR_POLICY_PREFERRED,
	  "2",
	  150,
	  { 0,
	    { "memory preferred:2: node 2 has 120 MiB free of 256 MiB, 150 MiB are asked for: 30 "
	      "MiB come from node 3 (distance 12)" },
	    1 } },
	{ "the rest from several nodes",
	  NR_POLICY_PREFERRED_MANY,
	  "2",
	  400,
	  { 0,
	    { "280 MiB come from node 3 (distance 12), node 0 (distance 32), node 1 (distance 32)" },
	    1 } },
	{ "the rest from nowhere",
	  NR_POLICY_LOCAL,
	  "",
	  700,
	  { 0, { "memory local: node 2 has 120 MiB free", "and 90 MiB of it from nowhere" }, 1 } },
	{ "inherited",
	  NR_POLICY_KEEP,
	  "",
	  130,
	  { 0, { "memory inherited: node 2 has", "10 MiB come from node 3" }, 1 } },
	{ "more than the host has",
	  NR_POLICY_LOCAL,
	  "",
	  1025,
	  { -EXDEV, { "nodes 0-3 have 1 GiB, 1.0 GiB are asked for" }, 0 } },
	{ "interleaved", NR_POLICY_INTERLEAVE, "0-3", 160, { 0 } },
	{ "interleaved, one node too small",
	  NR_POLICY_INTERLEAVE,
	  "0-3",
	  400,
	  { 0,
	    { "interleave: node 3 has 40 MiB free of 256 MiB, its share of 400 MiB is 100 MiB: the "
	      "rest comes from other nodes" },
	    1 } },
	{ "interleaved, several too small",
	  NR_POLICY_INTERLEAVE,
	  "1-3",
	  700,
	  { 0, { "interleave: node 1 has 220 MiB free", "(nodes 2-3 lack too)" }, 1 } },
	{ "weighted", NR_POLICY_WEIGHTED, "0,3", 200, { 0 } },
	{ "weighted, too much for the heavy one",
	  NR_POLICY_WEIGHTED,
	  "0,3",
	  300,
	  { 0, { "weighted-interleave: node 0 has 230 MiB free", "of 300 MiB is 270 MiB" }, 1 } },
};

static void memory_is_compared_with_the_nodes(void **state)
{
	const struct host *host = *state;

	build(host);
	host_write(host, "sys/kernel/mm/mempolicy/weighted_interleave/node0", "9\n");
	for (size_t i = 0; i < sizeof(memory_cases) / sizeof(memory_cases[0]); i++) {
		struct nr_plan plan = plan_with(memory_cases[i].mode, memory_cases[i].nodes);
		struct nr_need need = { .memory_bytes = memory_cases[i].mib * MIB };

		check_case("%s", memory_cases[i].name);
		check_answer(host, &need, &plan, &memory_cases[i].answer);
		nr_plan_release(&plan);
	}
}

static void far_memory_is_told_by_its_option(void **state)
{
	static const struct answer answer = { -EXDEV, { "--far allows no other" }, 0 };
	const struct host *host = *state;
	struct nr_plan plan = plan_with(NR_POLICY_BIND, "3");
	struct nr_need need = { .memory_bytes = 100 * MIB };

	build(host);
	plan.has_far_distance = true;
	check_answer(host, &need, &plan, &answer);
	nr_plan_release(&plan);
}

static void nodes_outside_the_cpuset_hold_nothing(void **state)
{
	static const struct answer answer = { -EXDEV, { "node 2 has 120 MiB free" }, 0 };
	const struct host *host = *state;
	struct nr_plan plan = plan_with(NR_POLICY_BIND, "0,2");
	struct nr_need need = { .memory_bytes = 200 * MIB };

	build(host);
	host_write(host, "proc/self/status", "Cpus_allowed_list:\t0-7\nMems_allowed_list:\t2-3\n");
	check_answer(host, &need, &plan, &answer);
	nr_plan_release(&plan);
}

static void a_node_that_tells_nothing_is_not_taken_for_empty(void **state)
{
	static const struct answer answer = { 0,
		                              { "node 1: the host does not tell the memory" },
		                              1 };
	const struct host *host = *state;
	struct nr_plan plan = plan_with(NR_POLICY_BIND, "1");
	struct nr_need need = { .memory_bytes = 200 * MIB };

	build(host);
	host_remove(host, NODE_DIR "/node1/meminfo");
	check_answer(host, &need, &plan, &answer);
	nr_plan_release(&plan);
}

static void a_need_of_nothing_reads_nothing(void **state)
{
	static const struct answer answer = { 0 };
	const struct host *host = *state;
	struct nr_plan plan = plan_with(NR_POLICY_BIND, "2");
	struct nr_need need = { 0 };
	struct np_topology *topology;

	build(host);
	topology = host_load(host, 0, NULL);
	host_write(host, NODE_DIR "/node2/meminfo", "garbage\n");
	host_write(host, "proc/meminfo", "garbage\n");
	host_write(host, "proc/self/cgroup", "garbage\n");
	check_answer_on(host, topology, &need, &plan, &answer);
	np_topology_free(topology);
	nr_plan_release(&plan);
}

/* ---- cgroups ---- */

static const struct {
	const char *name;
	const char *membership;
	const char *files[4][2]; /* path below sys/fs/cgroup, text */
	struct answer answer;
} cgroup_cases[] = {
	{ "no limit", "0::/a/b\n", { { "a/b/memory.max", "max\n" } }, { 0 } },
	{ "no such file", "0::/a/b\n", { { NULL, NULL } }, { 0 } },
	{ "a limit",
	  "0::/a/b\n",
	  { { "a/b/memory.max", "52428800\n" } },
	  { -EXDEV,
	    { "this cgroup may have 50 MiB (",
	      "/sys/fs/cgroup/a/b/memory.max), 100 MiB are asked for" },
	    0 } },
	{ "a limit higher up",
	  "0::/a/b\n",
	  { { "a/b/memory.max", "max\n" }, { "a/memory.max", "52428800\n" } },
	  { -EXDEV, { "this cgroup may have 50 MiB (", "/sys/fs/cgroup/a/memory.max)" }, 0 } },
	{ "a limit that is partly used",
	  "0::/a/b\n",
	  { { "a/memory.max", "115343360\n" }, { "a/memory.current", "20971520\n" } },
	  { 0, { "110 MiB (", "/sys/fs/cgroup/a/memory.max), of which 90 MiB are left now" }, 1 } },
	{ "a limit that is used by page cache",
	  "0::/a/b\n",
	  { { "a/memory.max", "115343360\n" },
	    { "a/memory.current", "20971520\n" },
	    { "a/memory.stat", "anon 1\nactive_file 10485760\ninactive_file 5242880\n" } },
	  { 0 } },
	{ "version 1",
	  "4:cpu,memory:/a/b\n0::/\n",
	  { { "mem/a/b/memory.limit_in_bytes", "9223372036854771712\n" },
	    { "mem/a/memory.limit_in_bytes", "52428800\n" } },
	  { -EXDEV,
	    { "this cgroup may have 50 MiB (", "/sys/fs/cgroup/mem/a/memory.limit_in_bytes)" },
	    0 } },
	{ "version 1, seen from a container",
	  "4:memory:/docker/0123\n",
	  { { "mem/memory.limit_in_bytes", "52428800\n" } },
	  { -EXDEV, { "/sys/fs/cgroup/mem/memory.limit_in_bytes)" }, 0 } },
	{ "outside the namespace", "0::/../../x\n", { { NULL, NULL } }, { 0 } },
	{ "garbage in a limit",
	  "0::/a/b\n",
	  { { "a/memory.max", "lots\n" } },
	  { -EINVAL, { "/sys/fs/cgroup/a/memory.max: 'lots'" }, 0 } },
	{ "garbage in the membership",
	  "hello\n",
	  { { NULL, NULL } },
	  { -EINVAL, { "/proc/self/cgroup: 'hello'" }, 0 } },
	{ "2 MiB pages",
	  "0::/a/b\n",
	  { { "a/hugetlb.2MB.max", "4194304\n" }, { "a/hugetlb.2MB.current", "2097152\n" } },
	  { -EXDEV,
	    { "this cgroup may have 4 MiB (",
	      "/sys/fs/cgroup/a/hugetlb.2MB.max), of which 2 MiB are left, 4 MiB are asked for" },
	    0 } },
	{ "2 MiB pages, reserved",
	  "0::/a/b\n",
	  { { "a/hugetlb.2MB.rsvd.max", "2097152\n" } },
	  { -EXDEV,
	    { "may have 2 MiB (", "/sys/fs/cgroup/a/hugetlb.2MB.rsvd.max), 4 MiB are asked for" },
	    0 } },
	{ "2 MiB pages in version 1",
	  "5:hugetlb:/a/b\n",
	  { { "huge/a/hugetlb.2MB.limit_in_bytes", "2097152\n" } },
	  { -EXDEV, { "sys/fs/cgroup/huge/a/hugetlb.2MB.limit_in_bytes" }, 0 } },
	{ "pages of another size", "0::/a/b\n", { { "a/hugetlb.1GB.max", "0\n" } }, { 0 } },
};

static void the_limits_of_all_cgroups_above_count(void **state)
{
	const struct host *host = *state;
	struct np_topology *topology;

	build(host);
	topology = host_load(host, 0, NULL);
	host_write(host, "proc/mounts",
	           "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
	           "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n"
	           "cgroup /sys/fs/cgroup/mem cgroup rw,cpu,memory 0 0\n"
	           "cgroup /sys/fs/cgroup/huge cgroup rw,hugetlb 0 0\n");
	for (size_t i = 0; i < sizeof(cgroup_cases) / sizeof(cgroup_cases[0]); i++) {
		struct nr_plan plan = plan_with(NR_POLICY_PREFERRED, "0");
		struct nr_need need = { .memory_bytes = 100 * MIB, .huge_count = 2 };

		check_case("%s", cgroup_cases[i].name);
		host_remove(host, "sys/fs/cgroup");
		host_write(host, "proc/self/cgroup", cgroup_cases[i].membership);
		for (size_t f = 0; f < 4 && cgroup_cases[i].files[f][0]; f++) {
			char path[PATH_MAX];

			snprintf(path, sizeof(path), "sys/fs/cgroup/%s",
			         cgroup_cases[i].files[f][0]);
			host_write(host, path, cgroup_cases[i].files[f][1]);
		}
		check_answer_on(host, topology, &need, &plan, &cgroup_cases[i].answer);
		nr_plan_release(&plan);
	}
	np_topology_free(topology);
}

/* ---- huge pages ---- */

static const struct {
	const char *name;
	enum nr_policy_mode mode;
	const char *nodes;
	struct nr_need need;
	struct answer answer;
} huge_cases[] = {
	{ "they are there", NR_POLICY_BIND, "2", { .huge_count = 3 }, { 0 } },
	{ "by their size", NR_POLICY_BIND, "2", { .huge_count = 3, .huge_bytes = 2 * MIB }, { 0 } },
	{ "too few on the node, enough on the host",
	  NR_POLICY_BIND,
	  "2",
	  { .huge_count = 8 },
	  { -EXDEV,
	    { "node 2 has 3 free huge pages of 2048 kB, 8 are asked for and --membind allows no "
	      "other; nodes 0-1,3 have 16 (the host's total looks fine)",
	      "as root, echo 8 > "
	      "/sys/devices/system/node/node2/hugepages/hugepages-2048kB/nr_hugepages" },
	    0 } },
	{ "too few everywhere",
	  NR_POLICY_BIND,
	  "2",
	  { .huge_count = 30 },
	  { -EXDEV, { "nodes 0-1,3 have 16: as root, echo 30 >" }, 0 } },
	{ "none of that size",
	  NR_POLICY_BIND,
	  "2",
	  { .huge_count = 1, .huge_bytes = GIB },
	  { -EXDEV, { "node 2 has 0 free huge pages of 1048576 kB, 1 is asked for" }, 0 } },
	{ "a size that the host does not have",
	  NR_POLICY_BIND,
	  "2",
	  { .huge_count = 1, .huge_bytes = 16 * MIB },
	  { -EINVAL, { "no huge pages of 16384 kB; it has 2048 kB, 1048576 kB" }, 0 } },
	{ "preferred, the rest from elsewhere",
	  NR_POLICY_PREFERRED,
	  "2",
	  { .huge_count = 4 },
	  { 0,
	    { "memory preferred:2: node 2 has 3 free huge pages of 2048 kB, 4 are asked for: 1 "
	      "comes from node 0 (distance 32)" },
	    1 } },
	{ "local, more than the host has",
	  NR_POLICY_LOCAL,
	  "",
	  { .huge_count = 20 },
	  { -EXDEV,
	    { "the nodes that may be used have 19 free huge pages of 2048 kB, 20 are asked for",
	      "echo 20 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages" },
	    0 } },
	{ "interleaved",
	  NR_POLICY_INTERLEAVE,
	  "0,2",
	  { .huge_count = 8 },
	  { 0,
	    { "interleave: node 2 has 3 free huge pages of 2048 kB, its share of 8 is 4" },
	    1 } },
};

static void huge_pages_are_compared_with_the_nodes(void **state)
{
	const struct host *host = *state;

	build(host);
	for (size_t i = 0; i < sizeof(huge_cases) / sizeof(huge_cases[0]); i++) {
		struct nr_plan plan = plan_with(huge_cases[i].mode, huge_cases[i].nodes);

		check_case("%s", huge_cases[i].name);
		check_answer(host, &huge_cases[i].need, &plan, &huge_cases[i].answer);
		nr_plan_release(&plan);
	}
}

static void pages_promised_to_others_are_not_free(void **state)
{
	static const struct answer answer = { -EXDEV, { "17 more are promised to others" }, 0 };
	const struct host *host = *state;
	struct nr_plan plan = plan_with(NR_POLICY_BIND, "2");
	struct nr_need need = { .huge_count = 3 };

	build(host);
	host_write(host, "sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "17\n");
	check_answer(host, &need, &plan, &answer);
	nr_plan_release(&plan);
}

static void pages_that_the_kernel_may_make_are_hoped_for(void **state)
{
	static const struct answer answer = {
		0, { "3 free huge pages of 2048 kB, 8 are asked for: the rest only if" }, 1
	};
	const struct host *host = *state;
	struct nr_plan plan = plan_with(NR_POLICY_BIND, "2");
	struct nr_need need = { .huge_count = 8 };

	build(host);
	host_write(host, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages", "9\n");
	host_write(host, "sys/kernel/mm/hugepages/hugepages-2048kB/surplus_hugepages", "4\n");
	check_answer(host, &need, &plan, &answer);
	nr_plan_release(&plan);
}

static void a_kernel_without_huge_pages_is_told(void **state)
{
	static const struct answer answer = { -EINVAL, { "this kernel has no huge pages" }, 0 };
	const struct host *host = *state;
	struct nr_plan plan = plan_with(NR_POLICY_BIND, "2");
	struct nr_need need = { .huge_count = 8 };

	build(host);
	host_remove(host, "sys/kernel/mm/hugepages");
	host_write(host, "proc/meminfo", "MemTotal: 1 kB\n");
	check_answer(host, &need, &plan, &answer);
	nr_plan_release(&plan);
}

/* ---- damage ---- */

static const char *const read_files[] = {
	NODE_DIR "/node2/meminfo",
	NODE_DIR "/node2/hugepages/hugepages-2048kB/free_hugepages",
	NODE_DIR "/node2/hugepages/hugepages-2048kB/nr_hugepages",
	"sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
	"sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages",
	"sys/kernel/mm/mempolicy/weighted_interleave/node2",
	"sys/fs/cgroup/a/memory.max",
	"sys/fs/cgroup/a/memory.current",
	"sys/fs/cgroup/a/memory.stat",
	"sys/fs/cgroup/a/hugetlb.2MB.max",
	"proc/meminfo",
	"proc/mounts",
	"proc/self/cgroup",
};

static const char *const damages[] = {
	"",
	"\n",
	"-1\n",
	"x\n",
	"1x\n",
	"99999999999999999999999\n",
	"18446744073709551615\n",
	"Node 2 MemTotal: x kB\nNode 2 MemFree: 1 kB\n",
	"Node 2 MemTotal: 99999999999999999999 kB\n",
	"Node 2 MemTotal: 18446744073709551615 kB\nNode 2 MemFree: 18446744073709551615 kB\n",
	"Node 2 MemFree: 1 kB\n",
	"Hugepagesize: -2 kB\n",
	"Hugepagesize: 18446744073709551615 kB\n",
	"active_file x\n",
	"0::\n",
	"0::/\x1b[31m\n",
	"::::\n",
	"a b c d\n",
};

/* A file may be anything: the answer is lawful, and an error for garbage names the file. */
static void damaged_files_are_named(void **state)
{
	const struct host *host = *state;
	struct np_topology *topology;

	build(host);
	topology = host_load(host, 0, NULL);
	for (size_t f = 0; f < sizeof(read_files) / sizeof(read_files[0]); f++) {
		/* The one before is whole again. */
		host_remove(host, "sys");
		build(host);
		host_write(host, "proc/mounts", "none /sys/fs/cgroup cgroup2 rw 0 0\n");
		host_write(host, "proc/self/cgroup", "0::/a\n");
		host_write(host, "sys/fs/cgroup/a/memory.max", "1073741824\n");
		host_write(host, "sys/fs/cgroup/a/memory.current", "1024\n");
		for (size_t d = 0; d < sizeof(damages) / sizeof(damages[0]); d++) {
			struct nr_plan plan = plan_with(NR_POLICY_WEIGHTED, "0,2");
			struct nr_need need = { .memory_bytes = 50 * MIB, .huge_count = 2 };
			struct np_error err = { 0 };
			int rc;

			check_case("%s: '%s'", read_files[f], damages[d]);
			host_write(host, read_files[f], damages[d]);
			rc = nr_preflight(host->dir, topology, &need, &plan, &err);
			if (rc != 0 && rc != -EXDEV)
				assert_fails(rc, -EINVAL, &err,
				             err.text[0] == 't' ? "this host has no huge pages"
				                                : read_files[f]);
			nr_plan_release(&plan);
		}
	}
	np_topology_free(topology);
}

static void every_fixture_host_gives_a_lawful_answer(void **state)
{
	static const enum nr_policy_mode modes[] = { NR_POLICY_KEEP, NR_POLICY_BIND,
		                                     NR_POLICY_INTERLEAVE, NR_POLICY_PREFERRED };
	const char *source = getenv("NUMAKIT_SOURCE");
	char pattern[PATH_MAX];
	glob_t found;

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s/tests/fixtures/hosts/*/sys",
	         source && *source ? source : NUMAKIT_SOURCE_DIR);
	if (glob(pattern, 0, NULL, &found) != 0) {
		print_message("skipped: nothing matches %s\n", pattern);
		skip();
	}
	for (size_t i = 0; i < found.gl_pathc * 4; i++) {
		char *root = found.gl_pathv[i / 4];
		struct np_topology_source from = { .root = root };
		struct np_topology *topology = NULL;
		struct nr_need need = { .memory_bytes = GIB << (i % 4), .huge_count = 1 };
		struct nr_plan plan = { .policy = { .mode = modes[i % 4], .nodes = set_of("0") } };
		struct np_error err = { 0 };
		int rc;

		if (i % 4 == 0)
			*strrchr(root, '/') = '\0';
		check_case("%s", root);
		assert_np_ok(np_topology_load(&from, &topology, &err), &err);
		rc = nr_preflight(root, topology, &need, &plan, &err);
		if (rc != 0)
			assert_fails(rc, rc == -EXDEV ? -EXDEV : -EINVAL, &err, "");
		np_topology_free(topology);
		nr_plan_release(&plan);
	}
	globfree(&found);
}

/* ---- this host ---- */

static void this_host_has_room_for_a_byte_and_not_for_an_exbibyte(void **state)
{
	struct np_topology_source from = { 0 };
	struct np_topology *topology = NULL;
	struct nr_need need = { .memory_bytes = 1 };
	struct nr_plan plan = { .policy = { .mode = NR_POLICY_BIND } };
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(np_topology_load(&from, &topology, &err), &err);
	assert_number(
		np_bitmap_copy(&plan.policy.nodes, np_topology_nodes(topology, NP_NODES_ALLOWED)),
		0);
	assert_np_ok(nr_preflight(NULL, topology, &need, &plan, &err), &err);
	need.memory_bytes = UINT64_C(1) << 60;
	assert_fails(nr_preflight(NULL, topology, &need, &plan, &err), -EXDEV, &err, "1 EiB");
	nr_plan_release(&plan);
	np_topology_free(topology);
}

/* ---- trying a policy out ---- */

static void probing_leaves_the_own_policy(void **state)
{
	struct nr_policy local = { .mode = NR_POLICY_LOCAL };
	struct nr_policy absent = { .mode = NR_POLICY_BIND, .nodes = set_of("900") };
	struct nr_policy standard = { .mode = NR_POLICY_DEFAULT };
	struct nr_policy now = { 0 };
	struct np_error err = { 0 };
	void (*old)(int) = signal(SIGCHLD, SIG_IGN);

	(void)state;
	if (nr_policy_set(&standard, &err) < 0) {
		print_message("skipped: %s\n", err.text);
		skip();
	}
	assert_np_ok(nr_policy_probe(&local, &err), &err);
	assert_fails(nr_policy_probe(&absent, &err), -EINVAL, &err, "900");
	assert_np_ok(nr_policy_get(&now, &err), &err);
	assert_text(nr_policy_mode_name(now.mode), "default");
	signal(SIGCHLD, old);
	nr_policy_release(&absent);
	nr_policy_release(&now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_read),
		cmocka_unit_test(numbers_of_huge_pages_are_read),
		host_test(memory_is_compared_with_the_nodes),
		host_test(far_memory_is_told_by_its_option),
		host_test(nodes_outside_the_cpuset_hold_nothing),
		host_test(a_node_that_tells_nothing_is_not_taken_for_empty),
		host_test(a_need_of_nothing_reads_nothing),
		host_test(the_limits_of_all_cgroups_above_count),
		host_test(huge_pages_are_compared_with_the_nodes),
		host_test(pages_promised_to_others_are_not_free),
		host_test(pages_that_the_kernel_may_make_are_hoped_for),
		host_test(a_kernel_without_huge_pages_is_told),
		host_test(damaged_files_are_named),
		cmocka_unit_test(every_fixture_host_gives_a_lawful_answer),
		cmocka_unit_test(this_host_has_room_for_a_byte_and_not_for_an_exbibyte),
		cmocka_unit_test(probing_leaves_the_own_policy),
	};

	return cmocka_run_group_tests_name("preflight", tests, NULL, NULL);
}
