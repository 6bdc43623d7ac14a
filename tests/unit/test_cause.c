/* SPDX-License-Identifier: BSD-3-Clause */
#include "../../launcher/lib/cause.h"

#include "host.h"

#include <stddef.h>

/* CPUs 0-7 in two nodes. */
static const struct host_shape shape = { .node_count = 2, .cores_per_node = 4 };

/* One file; NULL path = none. */
struct content {
	const char *path;
	const char *text;
};

#define V2                                                                                         \
	{                                                                                          \
		"proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"                           \
	}
#define ONLINE CPU_DIR "/online"
#define CPUS "sys/fs/cgroup/box/cpuset.cpus.effective"
#define MEMS "sys/fs/cgroup/box/cpuset.mems.effective"
#define BOX                                                                                        \
	{                                                                                          \
		"proc/7/cgroup", "0::/box\n"                                                       \
	}

static const struct {
	const char *name;
	struct content files[4];
	const char *available; /* of CPUs 2-3 */
	enum nr_cause cause;
	const char *detail;
} cpu_cases[] = {
	{ "all is there: its own doing", { { 0 } }, "2-3", NR_CAUSE_OWN, "" },
	{ "a CPU went offline",
	  { { ONLINE, "0-2,4-7\n" } },
	  "2",
	  NR_CAUSE_OFFLINE,
	  "CPU 3 went offline" },
	{ "all of them did",
	  { { ONLINE, "0-1,4-7\n" } },
	  "",
	  NR_CAUSE_OFFLINE,
	  "CPUs 2-3 went offline" },
	{ "other CPUs went offline", { { ONLINE, "0-6\n" } }, "2-3", NR_CAUSE_OWN, "" },
	{ "the cpuset shrank",
	  { V2, BOX, { CPUS, "3-5\n" } },
	  "3",
	  NR_CAUSE_CPUSET,
	  "the cpuset is now CPUs 3-5" },
	{ "the cpuset is elsewhere",
	  { V2, BOX, { CPUS, "4-5\n" } },
	  "",
	  NR_CAUSE_CPUSET,
	  "the cpuset is now CPUs 4-5" },
	{ "the cpuset shrank and still holds them",
	  { V2, BOX, { CPUS, "2-5\n" } },
	  "2-3",
	  NR_CAUSE_OWN,
	  "" },
	{ "an offline CPU is not in the cpuset either",
	  { V2, BOX, { CPUS, "0-2,4-7\n" }, { ONLINE, "0-2,4-7\n" } },
	  "2",
	  NR_CAUSE_OFFLINE,
	  "CPU 3 went offline" },
	{ "both at once: what was taken from the cpuset is said",
	  { V2, BOX, { CPUS, "4-7\n" }, { ONLINE, "0-2,4-7\n" } },
	  "",
	  NR_CAUSE_CPUSET,
	  "the cpuset is now CPUs 4-7" },
	{ "a damaged list is no cause", { V2, BOX, { CPUS, "x\n" } }, "2-3", NR_CAUSE_OWN, "" },
};

static void a_cause_is_sought_online_and_in_the_cpuset(void **state)
{
	const struct host *host = *state;
	struct np_bitmap asked = set_of("2-3");

	for (size_t i = 0; i < sizeof(cpu_cases) / sizeof(cpu_cases[0]); i++) {
		struct nr_available available = { 0 };

		check_case("%s", cpu_cases[i].name);
		host_remove(host, "proc");
		host_remove(host, "sys");
		host_build(host, &shape);
		for (size_t k = 0; k < 4 && cpu_cases[i].files[k].path; k++)
			host_write(host, cpu_cases[i].files[k].path, cpu_cases[i].files[k].text);
		assert_number(nr_cause_of_cpus(&host->root, 7, &asked, &available), 0);
		assert_set(&available.cpus, cpu_cases[i].available);
		assert_text(available.detail, cpu_cases[i].detail);
		assert_number(available.cause, cpu_cases[i].cause);
		np_bitmap_release(&available.cpus);
	}
	np_bitmap_release(&asked);
}

static const struct {
	const char *mems; /* of the cpuset; NULL = none is told */
	enum nr_cause cause;
	const char *detail;
} policy_cases[] = {
	{ NULL, NR_CAUSE_OWN, "" },
	{ "0-1\n", NR_CAUSE_OWN, "" },
	{ "0\n", NR_CAUSE_CPUSET, "the cpuset's memory is now node 0" },
	{ "x\n", NR_CAUSE_OWN, "" },
};

static void a_lost_policy_may_be_the_cpusets_doing(void **state)
{
	const struct host *host = *state;
	struct np_bitmap asked = set_of("1");

	host_build(host, &shape);
	host_write(host, "proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	host_write(host, "proc/7/cgroup", "0::/box\n");
	for (size_t i = 0; i < sizeof(policy_cases) / sizeof(policy_cases[0]); i++) {
		struct nr_available available = { 0 };

		check_case("%s", policy_cases[i].mems ? policy_cases[i].mems : "untold");
		if (policy_cases[i].mems)
			host_write(host, MEMS, policy_cases[i].mems);
		nr_cause_of_policy(&host->root, 7, &asked, &available);
		assert_number(available.cause, policy_cases[i].cause);
		assert_text(available.detail, policy_cases[i].detail);
	}
	np_bitmap_release(&asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(a_cause_is_sought_online_and_in_the_cpuset),
		host_test(a_lost_policy_may_be_the_cpusets_doing),
	};

	return cmocka_run_group_tests_name("cause", tests, NULL, NULL);
}
