/* SPDX-License-Identifier: BSD-3-Clause */
#include <numarun/sched.h>

#include "../../probe/base/sysroot.h"
#include "near.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <numaprobe/cpulist.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { QUOTE_SIZE = 64, BRIEF_SIZE = 96, PRIORITY_MAX = 99, US_PER_MS = 1000 };

static const struct {
	const char *name;
	int policy;
	bool is_realtime;
} policies[] = {
	{ "other", SCHED_OTHER, false }, { "batch", SCHED_BATCH, false },
	{ "idle", SCHED_IDLE, false },   { "fifo", SCHED_FIFO, true },
	{ "rr", SCHED_RR, true },
};

enum { POLICY_COUNT = sizeof(policies) / sizeof(policies[0]) };

static int refuse_text(const char *text, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	return np_error_set(err, EINVAL,
	                    "'%s' is not a scheduling policy: other, batch, idle, fifo:PRIORITY or "
	                    "rr:PRIORITY, with PRIORITY in 1..99",
	                    np_error_quote(text, quoted, sizeof(quoted)));
}

/* One or two digits; more are out of range whatever they are. */
static bool parse_priority(const char *text, unsigned *ret)
{
	size_t len = strspn(text, "0123456789");

	if (len == 0 || len > 2 || text[len] != '\0')
		return false;
	*ret = (unsigned)strtoul(text, NULL, 10);
	return *ret >= 1;
}

int nr_sched_parse(const char *text, struct nr_sched *ret, struct np_error *err)
{
	size_t len = strcspn(text, ":");

	for (size_t i = 0; i < POLICY_COUNT; i++) {
		struct nr_sched sched = { .set = true, .policy = policies[i].policy };

		if (strlen(policies[i].name) != len || strncmp(policies[i].name, text, len) != 0)
			continue;
		if (policies[i].is_realtime)
			sched.priority = 1;
		if (text[len] == ':' &&
		    (!policies[i].is_realtime || !parse_priority(text + len + 1, &sched.priority)))
			return refuse_text(text, err);
		*ret = sched;
		return 0;
	}
	return refuse_text(text, err);
}

const char *nr_sched_name(const struct nr_sched *sched)
{
	for (size_t i = 0; i < POLICY_COUNT && sched->set; i++)
		if (policies[i].policy == sched->policy)
			return policies[i].name;
	return sched->set ? "unknown" : "inherited";
}

static bool is_realtime(const struct nr_sched *sched)
{
	return sched->set && (sched->policy == SCHED_FIFO || sched->policy == SCHED_RR);
}

char *nr_sched_print(const struct nr_sched *sched)
{
	char *text;

	if (!is_realtime(sched))
		return strdup(nr_sched_name(sched));
	return asprintf(&text, "%s:%u", nr_sched_name(sched), sched->priority) < 0 ? NULL : text;
}

/* ---- checking ---- */

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "scheduling policy");
}

/* Refuses, or only warns when it is forced. */
static int object(struct nr_plan *plan, bool forced, const char *text, struct np_error *err)
{
	if (!forced)
		return np_error_set(err, EPERM, "%s", text);
	return nr_plan_warn(plan, "%s", text) < 0 ? no_memory(err) : 0;
}

static int check_priority(const struct nr_sched *sched, bool forced, struct nr_plan *plan,
                          struct np_error *err)
{
	char text[4 * BRIEF_SIZE];

	if (sched->priority < NR_SCHED_IRQ_PRIORITY)
		return 0;
	snprintf(text, sizeof(text),
	         "%s:%u is above the kernel's threads that serve interrupts (priority %u): a "
	         "program that spins then starves its own network card; below %u is safer",
	         nr_sched_name(sched), sched->priority, NR_SCHED_IRQ_PRIORITY,
	         NR_SCHED_IRQ_PRIORITY);
	return object(plan, forced, text, err);
}

/* All CPUs of the plan are on one core, as far as the topology tells cores. */
static bool is_one_core(const struct np_topology *topology, const struct np_bitmap *cpus)
{
	const struct np_group *core =
		np_topology_group_of(topology, NP_LEVEL_CORE, np_bitmap_next(cpus, 0));

	return core && np_bitmap_is_subset(cpus, &core->cpus);
}

static int check_cores(const struct np_topology *topology, const struct nr_sched *sched,
                       bool forced, struct nr_plan *plan, struct np_error *err)
{
	bool is_fifo = sched->policy == SCHED_FIFO;
	char text[4 * BRIEF_SIZE];
	char cpus[BRIEF_SIZE];

	if (np_bitmap_is_empty(&plan->cpus))
		return 0;
	np_cpulist_named("CPU", &plan->cpus, cpus, sizeof(cpus));
	if (np_bitmap_count(&plan->cpus) == 1) {
		snprintf(text, sizeof(text),
		         "%s with %s alone: the program's helper threads inherit both, and %s "
		         "while another of them spins; give it two cores or more",
		         nr_sched_name(sched), cpus,
		         is_fifo ? "never run" : "wait for whole time slices");
		return object(plan, forced, text, err);
	}
	if (is_one_core(topology, &plan->cpus) &&
	    nr_plan_warn(plan,
	                 "%s: %s are one core: a thread that spins on one slows the other down",
	                 nr_sched_name(sched), cpus) < 0)
		return no_memory(err);
	return 0;
}

/* Reads one of the two settings; false in *ret_found where the kernel does not have it. */
static int read_setting(const struct np_sysroot *root, const char *path, bool *ret_found, long *ret,
                        struct np_error *err)
{
	int rc;

	*ret_found = np_sysroot_has(root, path);
	if (!*ret_found)
		return 0;
	rc = np_sysroot_read_long(root, path, -1, INT_MAX, ret, err);
	/* Whoever may not read it may still set a policy. */
	if (rc == -EACCES || rc == -EPERM || rc == -ENOENT) {
		*ret_found = false;
		return 0;
	}
	return rc;
}

/* The kernel keeps a part of each period for all others (sched-rt-group.rst). */
static int warn_throttling(const struct np_sysroot *root, const struct nr_sched *sched,
                           struct nr_plan *plan, struct np_error *err)
{
	bool has_runtime = false;
	bool has_period = false;
	long runtime_us = 0;
	long period_us = 0;
	int rc = read_setting(root, "proc/sys/kernel/sched_rt_runtime_us", &has_runtime,
	                      &runtime_us, err);

	if (rc == 0)
		rc = read_setting(root, "proc/sys/kernel/sched_rt_period_us", &has_period,
		                  &period_us, err);
	if (rc < 0 || !has_runtime || !has_period)
		return rc;
	if (runtime_us < 0)
		rc = nr_plan_warn(plan,
		                  "%s: nothing holds it back (%s/proc/sys/kernel/"
		                  "sched_rt_runtime_us is -1): a thread that spins blocks its CPU "
		                  "for everything else",
		                  nr_sched_name(sched), root->path);
	else if (runtime_us < period_us)
		rc = nr_plan_warn(plan,
		                  "%s: a thread that spins is stopped for up to %ld ms in each %ld "
		                  "ms while others wait (%s/proc/sys/kernel/sched_rt_runtime_us is "
		                  "%ld)",
		                  nr_sched_name(sched), (period_us - runtime_us) / US_PER_MS,
		                  period_us / US_PER_MS, root->path, runtime_us);
	return rc < 0 ? no_memory(err) : 0;
}

int nr_sched_check(const char *root, const struct np_topology *topology,
                   const struct nr_sched *sched, bool forced, struct nr_plan *plan,
                   struct np_error *err)
{
	struct np_sysroot opened;
	int rc;

	if (!is_realtime(sched))
		return 0;
	rc = check_priority(sched, forced, plan, err);
	if (rc == 0)
		rc = check_cores(topology, sched, forced, plan, err);
	if (rc == 0)
		rc = np_sysroot_open(root, &opened, err);
	if (rc < 0)
		return rc;
	rc = warn_throttling(&opened, sched, plan, err);
	np_sysroot_close(&opened);
	return rc;
}

/* ---- setting ---- */

static int explain_refusal(const struct nr_sched *sched, struct np_error *err)
{
	struct rlimit limit = { 0 };

	if (!is_realtime(sched))
		return np_error_set(
			err, EPERM,
			"scheduling policy %s: not permitted: it needs CAP_SYS_NICE, or "
			"RLIMIT_NICE (ulimit -e) where the inherited policy is idle",
			nr_sched_name(sched));
	if (getrlimit(RLIMIT_RTPRIO, &limit) == 0 && limit.rlim_cur < sched->priority)
		return np_error_set(
			err, EPERM,
			"scheduling policy %s:%u: not permitted: it needs CAP_SYS_NICE "
			"(containers: --cap-add SYS_NICE), or RLIMIT_RTPRIO (ulimit -r) "
			"of %u, which is %llu; or the cgroup has no real-time share "
			"(cpu.rt_runtime_us of kernels with RT_GROUP_SCHED)",
			nr_sched_name(sched), sched->priority, sched->priority,
			(unsigned long long)limit.rlim_cur);
	return np_error_set(err, EPERM,
	                    "scheduling policy %s:%u: not permitted though RLIMIT_RTPRIO allows "
	                    "it: the cgroup has no real-time share (cpu.rt_runtime_us of kernels "
	                    "with RT_GROUP_SCHED), or a seccomp filter refuses it",
	                    nr_sched_name(sched), sched->priority);
}

int nr_sched_set(const struct nr_sched *sched, struct np_error *err)
{
	struct sched_param param = { .sched_priority = (int)sched->priority };
	struct sched_param before = { 0 };
	struct sched_param after = { 0 };
	int policy_before;
	int policy_after;

	if (!sched->set)
		return 0;
	policy_before = sched_getscheduler(0);
	if (policy_before < 0 || sched_getparam(0, &before) < 0)
		return np_error_sys(err, errno, "read the scheduling policy");
	if (sched_setscheduler(0, sched->policy, &param) < 0) {
		int code = errno;

		if (code == EPERM)
			return explain_refusal(sched, err);
		return np_error_sys(err, code, "scheduling policy %s:%u", nr_sched_name(sched),
		                    sched->priority);
	}
	policy_after = sched_getscheduler(0);
	if (policy_after >= 0 && sched_getparam(0, &after) == 0 &&
	    (policy_after & ~SCHED_RESET_ON_FORK) == sched->policy &&
	    after.sched_priority == param.sched_priority)
		return 0;
	sched_setscheduler(0, policy_before, &before);
	return np_error_set(
		err, EXDEV, "scheduling policy %s:%u: the kernel has policy %d at priority %d",
		nr_sched_name(sched), sched->priority, policy_after, after.sched_priority);
}
