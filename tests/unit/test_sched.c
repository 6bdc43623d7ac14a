/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <numarun/sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *text;
	const char *printed; /* NULL = refused */
	int policy;
	unsigned priority;
} texts[] = {
	{ "other", "other", SCHED_OTHER, 0 },
	{ "batch", "batch", SCHED_BATCH, 0 },
	{ "idle", "idle", SCHED_IDLE, 0 },
	{ "fifo", "fifo:1", SCHED_FIFO, 1 },
	{ "fifo:1", "fifo:1", SCHED_FIFO, 1 },
	{ "fifo:99", "fifo:99", SCHED_FIFO, 99 },
	{ "rr:10", "rr:10", SCHED_RR, 10 },
	{ "rr:010", NULL, 0, 0 },
	{ "rr:0", NULL, 0, 0 },
	{ "rr:100", NULL, 0, 0 },
	{ "rr:-1", NULL, 0, 0 },
	{ "rr:", NULL, 0, 0 },
	{ "rr:1x", NULL, 0, 0 },
	{ "rr: 1", NULL, 0, 0 },
	{ "rr:4294967297", NULL, 0, 0 },
	{ "other:1", NULL, 0, 0 },
	{ "idle:", NULL, 0, 0 },
	{ "FIFO", NULL, 0, 0 },
	{ "fif", NULL, 0, 0 },
	{ "", NULL, 0, 0 },
	{ ":1", NULL, 0, 0 },
	{ "\x1b[31m", NULL, 0, 0 },
};

static void policies_are_read_and_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct nr_sched sched = { .priority = 4711 };
		struct np_error err = { 0 };
		int rc = nr_sched_parse(texts[i].text, &sched, &err);
		char *printed;

		check_case("'%s'", texts[i].text);
		if (!texts[i].printed) {
			assert_fails(rc, -EINVAL, &err, "fifo:PRIORITY");
			assert_number(sched.priority, 4711);
			continue;
		}
		assert_np_ok(rc, &err);
		assert_true(sched.set);
		assert_number(sched.policy, texts[i].policy);
		assert_number(sched.priority, texts[i].priority);
		printed = nr_sched_print(&sched);
		assert_text(printed, texts[i].printed);
		free(printed);
	}
}

static void what_is_not_set_is_inherited(void **state)
{
	struct nr_sched none = { 0 };
	struct np_error err = { 0 };
	char *printed = nr_sched_print(&none);

	(void)state;
	assert_text(printed, "inherited");
	assert_np_ok(nr_sched_set(&none, &err), &err);
	free(printed);
}

/* ---- checking ---- */

static const struct {
	const char *name;
	struct nr_sched sched;
	const char *cpus; /* two cores of two CPUs: 0,2 and 1,3 */
	bool forced;
	const char *runtime; /* NULL = no such file */
	int code;
	size_t warning_count;
	const char *part; /* of the error, or of the last warning */
} checks[] = {
	{ "none", { 0 }, "0", false, "950000\n", 0, 0, NULL },
	{ "an ordinary one", { true, SCHED_BATCH, 0 }, "0", false, "950000\n", 0, 0, NULL },
	{ "two cores",
	  { true, SCHED_FIFO, 10 },
	  "0-1",
	  false,
	  "950000\n",
	  0,
	  1,
	  "fifo: a thread that spins is stopped for up to 50 ms in each 1000 ms" },
	{ "no throttling",
	  { true, SCHED_RR, 10 },
	  "0-1",
	  false,
	  "-1\n",
	  0,
	  1,
	  "rr: nothing holds it back" },
	{ "throttling that does nothing",
	  { true, SCHED_RR, 1 },
	  "0-1",
	  false,
	  "1000000\n",
	  0,
	  0,
	  NULL },
	{ "a kernel that does not tell", { true, SCHED_RR, 1 }, "0-1", false, NULL, 0, 0, NULL },
	{ "just below the interrupts", { true, SCHED_RR, 49 }, "0-1", false, NULL, 0, 0, NULL },
	{ "as high as the interrupts",
	  { true, SCHED_RR, 50 },
	  "0-1",
	  false,
	  NULL,
	  -EPERM,
	  0,
	  "rr:50 is above the kernel's threads that serve interrupts" },
	{ "high and forced", { true, SCHED_RR, 99 }, "0-1", true, NULL, 0, 1, "rr:99 is above" },
	{ "one CPU",
	  { true, SCHED_FIFO, 1 },
	  "3",
	  false,
	  NULL,
	  -EPERM,
	  0,
	  "fifo with CPU 3 alone: the program's helper threads inherit both, and never run while "
	  "another of them spins" },
	{ "one CPU in turns",
	  { true, SCHED_RR, 1 },
	  "3",
	  false,
	  NULL,
	  -EPERM,
	  0,
	  "wait for whole time slices" },
	{ "one CPU and forced", { true, SCHED_FIFO, 1 }, "3", true, NULL, 0, 1, "CPU 3 alone" },
	{ "one core",
	  { true, SCHED_FIFO, 1 },
	  "1,3",
	  false,
	  NULL,
	  0,
	  1,
	  "fifo: CPUs 1,3 are one core" },
	{ "everything, forced",
	  { true, SCHED_FIFO, 99 },
	  "3",
	  true,
	  "950000\n",
	  0,
	  3,
	  "is stopped for up to" },
	{ "garbage",
	  { true, SCHED_FIFO, 1 },
	  "0-1",
	  false,
	  "lots\n",
	  -EINVAL,
	  0,
	  "/proc/sys/kernel/sched_rt_runtime_us: 'lots'" },
};

static void what_starves_others_is_refused(void **state)
{
	static const struct host_shape shape = {
		.node_count = 2,
		.cores_per_node = 1,
		.threads_per_core = 2,
	};
	const struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	host_write(host, "proc/sys/kernel/sched_rt_period_us", "1000000\n");
	topology = host_load(host, NP_TOPOLOGY_GROUPS, NULL);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct nr_plan plan = { .cpus = set_of(checks[i].cpus) };
		struct np_error err = { 0 };
		int rc;

		check_case("%s", checks[i].name);
		host_remove(host, "proc/sys/kernel/sched_rt_runtime_us");
		if (checks[i].runtime)
			host_write(host, "proc/sys/kernel/sched_rt_runtime_us", checks[i].runtime);
		rc = nr_sched_check(host->dir, topology, &checks[i].sched, checks[i].forced, &plan,
		                    &err);
		if (checks[i].code < 0)
			assert_fails(rc, checks[i].code, &err, checks[i].part);
		else
			assert_np_ok(rc, &err);
		assert_number(plan.warning_count, checks[i].warning_count);
		if (plan.warning_count > 0)
			assert_has(plan.warnings[plan.warning_count - 1], checks[i].part);
		nr_plan_release(&plan);
	}
	np_topology_free(topology);
}

/* ---- setting ---- */

struct outcome {
	int rc;
	int policy; /* afterwards */
	struct np_error err;
};

/* Sets it in a child; without privilege where that is asked for. */
static struct outcome set_in_child(const struct nr_sched *sched, bool privileged)
{
	struct rlimit none = { 0, 0 };
	struct outcome outcome = { 0 };
	int ends[2];
	pid_t pid;

	assert_number(pipe(ends), 0);
	pid = fork_child();
	if (pid == 0) {
		/* Whoever is not root has none to drop. */
		if (!privileged &&
		    (setrlimit(RLIMIT_RTPRIO, &none) < 0 || (geteuid() == 0 && setuid(65534) < 0)))
			_exit(1);
		outcome.rc = nr_sched_set(sched, &outcome.err);
		outcome.policy = sched_getscheduler(0);
		_exit(write(ends[1], &outcome, sizeof(outcome)) == sizeof(outcome) ? 0 : 1);
	}
	close(ends[1]);
	if (read(ends[0], &outcome, sizeof(outcome)) != sizeof(outcome))
		fail_msg("the child did not answer");
	close(ends[0]);
	assert_number(waitpid(pid, NULL, 0), pid);
	return outcome;
}

static void a_policy_is_set_and_read_back(void **state)
{
	static const struct nr_sched batch = { .set = true, .policy = SCHED_BATCH };
	struct outcome outcome = set_in_child(&batch, true);

	(void)state;
	assert_np_ok(outcome.rc, &outcome.err);
	assert_number(outcome.policy, SCHED_BATCH);
}

static void a_real_time_policy_is_set_where_that_is_permitted(void **state)
{
	static const struct nr_sched fifo = { .set = true, .policy = SCHED_FIFO, .priority = 3 };
	struct outcome outcome = set_in_child(&fifo, true);

	(void)state;
	if (outcome.rc == -EPERM) {
		print_message("skipped: %s\n", outcome.err.text);
		skip();
	}
	assert_np_ok(outcome.rc, &outcome.err);
	assert_number(outcome.policy, SCHED_FIFO);
}

static void a_refusal_says_what_would_permit_it(void **state)
{
	static const struct nr_sched fifo = { .set = true, .policy = SCHED_FIFO, .priority = 3 };
	struct outcome outcome = set_in_child(&fifo, false);

	(void)state;
	assert_fails(outcome.rc, -EPERM, &outcome.err, "scheduling policy fifo:3: not permitted");
	assert_has(outcome.err.text, "CAP_SYS_NICE");
	assert_has(outcome.err.text, "RLIMIT_RTPRIO (ulimit -r) of 3, which is 0");
	assert_has(outcome.err.text, "RT_GROUP_SCHED");
	assert_number(outcome.policy, SCHED_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policies_are_read_and_printed),
		cmocka_unit_test(what_is_not_set_is_inherited),
		host_test(what_starves_others_is_refused),
		cmocka_unit_test(a_policy_is_set_and_read_back),
		cmocka_unit_test(a_real_time_policy_is_set_where_that_is_permitted),
		cmocka_unit_test(a_refusal_says_what_would_permit_it),
	};

	return cmocka_run_group_tests_name("sched", tests, NULL, NULL);
}
