/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Under a seccomp filter that refuses memory policies, as containers have it; each in a child, as a
 * filter cannot be taken off again.
 */
#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <numaprobe/cpulist.h>
#include <numarun/apply.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What came of it in the child. */
struct outcome {
	bool is_filtered; /* the filter could be set */
	int rc;
	struct np_error err;
};

typedef int act_fn(struct np_error *err);

/* Makes both system calls fail with @code from now on. */
static bool refuse_policies(int code)
{
	struct sock_filter code_of_filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_mempolicy, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_get_mempolicy, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code),
	};
	struct sock_fprog filter = {
		.len = sizeof(code_of_filter) / sizeof(code_of_filter[0]),
		.filter = code_of_filter,
	};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* Runs @act under the filter; skips the test where filters cannot be set. */
static struct outcome under_filter(int code, act_fn *act)
{
	struct outcome outcome = { 0 };
	int ends[2];
	int status = 0;
	pid_t pid;

	assert_number(pipe(ends), 0);
	pid = fork_child();
	if (pid == 0) {
		outcome.is_filtered = refuse_policies(code);
		if (outcome.is_filtered)
			outcome.rc = act(&outcome.err);
		_exit(write(ends[1], &outcome, sizeof(outcome)) == sizeof(outcome) ? 0 : 1);
	}
	close(ends[1]);
	assert_number(read(ends[0], &outcome, sizeof(outcome)), sizeof(outcome));
	close(ends[0]);
	assert_number(waitpid(pid, &status, 0), pid);
	assert_number(status, 0);
	if (!outcome.is_filtered) {
		print_message("skipped: no seccomp filter can be set here\n");
		skip();
	}
	return outcome;
}

static int set_bind(struct np_error *err)
{
	struct nr_policy policy = { .mode = NR_POLICY_BIND, .nodes = set_of("0") };
	int rc = nr_policy_set(&policy, err);

	nr_policy_release(&policy);
	return rc;
}

static int set_weighted(struct np_error *err)
{
	struct nr_policy policy = { .mode = NR_POLICY_WEIGHTED, .nodes = set_of("0-1") };
	int rc = nr_policy_set(&policy, err);

	nr_policy_release(&policy);
	return rc;
}

static int set_many(struct np_error *err)
{
	struct nr_policy policy = { .mode = NR_POLICY_PREFERRED_MANY, .nodes = set_of("0-1") };
	int rc = nr_policy_set(&policy, err);

	nr_policy_release(&policy);
	return rc;
}

static int set_balancing(struct np_error *err)
{
	struct nr_policy policy = { .mode = NR_POLICY_BIND,
		                    .balancing = true,
		                    .nodes = set_of("0") };
	int rc = nr_policy_set(&policy, err);

	nr_policy_release(&policy);
	return rc;
}

static int try_out(struct np_error *err)
{
	struct nr_policy policy = { .mode = NR_POLICY_BIND, .nodes = set_of("0") };
	int rc = nr_policy_probe(&policy, err);

	nr_policy_release(&policy);
	return rc;
}

static int read_back(struct np_error *err)
{
	struct nr_policy policy = { 0 };
	int rc = nr_policy_get(&policy, err);

	nr_policy_release(&policy);
	return rc;
}

static const struct {
	const char *name;
	int code; /* of the kernel or the filter */
	act_fn *act;
	const char *part;
	const char *remedy;
} refusals[] = {
	{ "a container's filter", EPERM, set_bind, "seccomp", "SYS_NICE" },
	{ "a kernel without NUMA", ENOSYS, set_bind, "without NUMA support", "bind" },
	{ "no such mode", EINVAL, set_weighted, "Linux 6.9", "0-1" },
	{ "no such mode", EINVAL, set_many, "Linux 5.15", "0-1" },
	{ "no such flag", EINVAL, set_balancing, "Linux 5.12", "balancing" },
	{ "anything else", EIO, set_bind, "bind", "Input/output error" },
	{ "trying it out", EPERM, try_out, "seccomp", "SYS_NICE" },
	{ "reading back", EPERM, read_back, "read back the memory policy", "not permitted" },
};

static void a_refusal_is_explained(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct outcome outcome = under_filter(refusals[i].code, refusals[i].act);

		check_case("%s: %s", refusals[i].name, strerrorname_np(refusals[i].code));
		assert_fails(outcome.rc, -refusals[i].code, &outcome.err, refusals[i].part);
		assert_has(outcome.err.text, refusals[i].remedy);
	}
}

/* Binds to the last CPU, with a policy or without. */
static int apply(enum nr_policy_mode mode, struct np_error *err)
{
	struct nr_plan plan = { .binds_cpus = true, .policy = { .mode = mode } };
	struct nr_applied applied = { 0 };
	struct np_bitmap inherited = { 0 };
	struct np_bitmap now = { 0 };
	int rc = nr_affinity_get(&inherited, err);

	if (rc == 0)
		rc = np_bitmap_add(&plan.cpus, np_bitmap_last(&inherited));
	if (rc == 0)
		rc = nr_apply(&plan, &applied, err);
	if (nr_affinity_get(&now, NULL) == 0 &&
	    !np_bitmap_equal(&now, rc == 0 ? &plan.cpus : &inherited))
		rc = np_error_set(err, EPROTO,
		                  "the affinity is neither the plan's nor the old one");
	nr_applied_release(&applied);
	np_bitmap_release(&plan.cpus);
	np_bitmap_release(&inherited);
	np_bitmap_release(&now);
	return rc;
}

static int bind_cpus_alone(struct np_error *err)
{
	return apply(NR_POLICY_KEEP, err);
}

static int bind_cpus_and_memory(struct np_error *err)
{
	return apply(NR_POLICY_LOCAL, err);
}

static void without_a_policy_no_policy_is_needed(void **state)
{
	struct outcome outcome = under_filter(EPERM, bind_cpus_alone);

	(void)state;
	assert_np_ok(outcome.rc, &outcome.err);
}

static void a_refused_policy_leaves_the_old_affinity(void **state)
{
	struct outcome outcome = under_filter(EPERM, bind_cpus_and_memory);

	(void)state;
	assert_fails(outcome.rc, -EPERM, &outcome.err, "seccomp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_is_explained),
		cmocka_unit_test(without_a_policy_no_policy_is_needed),
		cmocka_unit_test(a_refused_policy_leaves_the_old_affinity),
	};

	return cmocka_run_group_tests_name("refused", tests, NULL, NULL);
}
