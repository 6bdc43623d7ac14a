/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real children on this host, told through a pipe to undo what they were given.
 */
#include "check.h"
#include "server/own_mounts.h"

#include <dirent.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <numarun/apply.h>
#include <numarun/verify.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOUCHED_BYTES = 8 << 20 };

/* A child that carries out orders, one letter each, and answers each with one. */
struct subject {
	pid_t pid;
	int order;
	int answer;
};

static void *wait_for_ever(void *data)
{
	(void)data;
	for (;;)
		pause();
	return NULL;
}

static void start_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
		_exit(1);
}

static void touch_memory(void)
{
	volatile char *memory = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE,
	                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < TOUCHED_BYTES; i += 4096)
		memory[i] = 1;
}

static void pin_to(unsigned first, unsigned last)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned cpu = first; cpu <= last; cpu++)
		CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void obey(char order)
{
	switch (order) {
	case 't':
		start_thread();
		break;
	case 'm':
		touch_memory();
		break;
	case '0':
		pin_to(0, 0);
		break;
	case 'w':
		pin_to(0, 1);
		break;
	case 'd':
		syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL);
		break;
	case 'f':
		if (fork() == 0)
			wait_for_ever(NULL);
		break;
	default:
		_exit(0);
	}
}

static struct subject start(const struct nr_plan *plan)
{
	struct nr_applied applied = { 0 };
	struct np_error err = { 0 };
	struct subject subject;
	int orders[2];
	int answers[2];
	char order;

	assert_int_equal(pipe(orders), 0);
	assert_int_equal(pipe(answers), 0);
	assert_np_ok(nr_apply(plan, &applied, &err), &err);
	subject = (struct subject){ .pid = fork_child(), .order = orders[1], .answer = answers[0] };
	if (subject.pid == 0) {
		close(orders[1]);
		close(answers[0]);
		setpgid(0, 0);
		while (read(orders[0], &order, 1) == 1) {
			obey(order);
			if (write(answers[1], &order, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	setpgid(subject.pid, subject.pid);
	nr_apply_undo(plan, &applied);
	nr_applied_release(&applied);
	close(orders[0]);
	close(answers[1]);
	return subject;
}

static void tell(const struct subject *subject, char order)
{
	char answer = 0;

	assert_int_equal(write(subject->order, &order, 1), 1);
	assert_int_equal(read(subject->answer, &answer, 1), 1);
}

static void stop(struct subject *subject)
{
	kill(-subject->pid, SIGKILL);
	waitpid(subject->pid, NULL, 0);
	close(subject->order);
	close(subject->answer);
}

/* As /proc shows them: a sanitizer has threads of its own in each process. */
static size_t threads_of(pid_t process)
{
	char path[64];
	size_t count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	dir = opendir(path);
	assert_non_null(dir);
	for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* A plan for these CPUs, and this policy; node 0 is everybody's. */
static struct nr_plan plan_of(const char *cpus, enum nr_policy_mode mode)
{
	struct nr_plan plan = { .binds_cpus = true, .cpus = set_of(cpus), .policy.mode = mode };

	if (mode == NR_POLICY_BIND)
		plan.policy.nodes = set_of("0");
	return plan;
}

static void skip_without_two_cpus(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) >= 2)
		return;
	print_message("skipped: one CPU alone has no other to go to\n");
	skip();
}

static void look(struct nr_verification *v, unsigned flags)
{
	struct np_error err = { 0 };

	assert_np_ok(nr_verify_check(v, flags, &err), &err);
}

/* Starts a subject with that plan, and to look at it. */
static void watch(const struct nr_plan *plan, struct subject *ret, struct nr_verification *ret_v)
{
	struct np_error err = { 0 };

	*ret = start(plan);
	*ret_v = (struct nr_verification){ 0 };
	assert_np_ok(nr_verify_begin(plan, ret->pid, ret_v, &err), &err);
}

static void unwatch(struct nr_plan *plan, struct subject *subject, struct nr_verification *v)
{
	nr_verify_end(v);
	stop(subject);
	nr_plan_release(plan);
}

/* A sanitizer's own thread may come while it is looked at. */
static void look_at_all_threads(struct nr_verification *v, pid_t process, unsigned flags)
{
	unsigned tries = 0;

	do
		look(v, flags);
	while (v->thread_count != threads_of(process) && tries++ < 1000);
	assert_number(v->thread_count, threads_of(process));
}

static void a_program_that_stays_is_verified(void **state)
{
	struct nr_plan plan = plan_of("0", NR_POLICY_BIND);
	struct subject subject;
	struct nr_verification v;

	(void)state;
	watch(&plan, &subject, &v);
	tell(&subject, 't');
	tell(&subject, 't');
	tell(&subject, 'm');
	look_at_all_threads(&v, subject.pid, NR_VERIFY_PAGES | NR_VERIFY_ALL);
	assert_true(v.thread_count >= 3);
	assert_number(v.event_count, 0);
	assert_true(nr_verify_is_ok(&v));
	assert_true(v.has_pages);
	assert_true(v.pages.judged_bytes >= TOUCHED_BYTES);
	assert_true(v.pages.node_count >= 1 && v.pages.node_bytes[0] >= TOUCHED_BYTES);
	assert_number(v.pages.outside_bytes, 0);
	for (size_t i = 0; i < v.thread_count; i++)
		assert_true(v.threads[i].policy_is_known);
	unwatch(&plan, &subject, &v);
}

static void a_thread_that_leaves_its_cpus_is_named_once_and_when_it_is_back(void **state)
{
	struct nr_plan plan = plan_of("0", NR_POLICY_KEEP);
	struct subject subject;
	struct nr_verification v;

	(void)state;
	skip_without_two_cpus();
	watch(&plan, &subject, &v);
	look(&v, NR_VERIFY_ALL);
	tell(&subject, 'w');
	look(&v, NR_VERIFY_ALL);
	look(&v, NR_VERIFY_ALL);

	assert_number(v.event_count, 1);
	assert_number(v.events[0].change, NR_CHANGE_LOST);
	assert_number(v.events[0].item, NR_ITEM_CPUS);
	assert_number(v.events[0].cause, NR_CAUSE_OWN);
	assert_number(v.events[0].thread, subject.pid);
	assert_text(v.events[0].asked, "0");
	assert_text(v.events[0].kernel, "0-1");
	assert_false(nr_verify_is_ok(&v));

	tell(&subject, '0');
	look(&v, NR_VERIFY_ALL);
	assert_number(v.event_count, 2);
	assert_number(v.events[1].change, NR_CHANGE_BACK);
	assert_true(nr_verify_is_ok(&v));
	assert_true(v.was_lost);
	unwatch(&plan, &subject, &v);
}

static void a_thread_that_left_is_pinned_again(void **state)
{
	struct nr_plan plan = plan_of("0", NR_POLICY_KEEP);
	struct subject subject;
	struct nr_verification v;
	cpu_set_t set;

	(void)state;
	skip_without_two_cpus();
	watch(&plan, &subject, &v);
	tell(&subject, 'w');
	look(&v, NR_VERIFY_REPIN | NR_VERIFY_ALL);

	assert_number(v.event_count, 2);
	assert_number(v.events[0].change, NR_CHANGE_LOST);
	assert_number(v.events[1].change, NR_CHANGE_REPINNED);
	assert_text(v.events[1].kernel, "0");
	assert_true(nr_verify_is_ok(&v));
	assert_int_equal(sched_getaffinity(subject.pid, sizeof(set), &set), 0);
	assert_number(CPU_COUNT(&set), 1);
	unwatch(&plan, &subject, &v);
}

static void a_thread_that_keeps_to_some_of_its_cpus_breaks_nothing(void **state)
{
	struct nr_plan plan = plan_of("0-1", NR_POLICY_KEEP);
	struct subject subject;
	struct nr_verification v;

	(void)state;
	skip_without_two_cpus();
	watch(&plan, &subject, &v);
	tell(&subject, '0');
	look(&v, NR_VERIFY_REPIN | NR_VERIFY_ALL);
	look(&v, NR_VERIFY_REPIN | NR_VERIFY_ALL);

	assert_number(v.event_count, 1);
	assert_number(v.events[0].change, NR_CHANGE_NARROWED);
	assert_true(nr_verify_is_ok(&v));
	assert_false(v.was_lost);
	unwatch(&plan, &subject, &v);
}

/* A list of CPUs of ours in the place of the kernel's of those that are online, for this process alone. */
static void say_online(const char *cpus)
{
	char path[] = "/tmp/online-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_number(write(fd, cpus, strlen(cpus)), strlen(cpus));
	close(fd);
	if (mount(path, "/sys/devices/system/cpu/online", NULL, MS_BIND, NULL) < 0)
		fail_msg("mounting %s: %s", path, strerror(errno));
	unlink(path);
}

/* The kernel takes a CPU out of masks before it says that it is offline. */
static void a_cpu_that_is_said_to_be_offline_only_later_is_told_then(void **state)
{
	struct nr_plan plan = plan_of("0-1", NR_POLICY_KEEP);
	struct subject subject;
	struct nr_verification v;

	(void)state;
	skip_without_two_cpus();
	own_mounts_or_skip();
	watch(&plan, &subject, &v);
	tell(&subject, '0');
	look(&v, NR_VERIFY_ALL);
	assert_number(v.event_count, 1);
	assert_number(v.events[0].change, NR_CHANGE_NARROWED);
	say_online("0\n");
	look(&v, NR_VERIFY_ALL);
	look(&v, NR_VERIFY_ALL);
	assert_number(v.event_count, 2);
	assert_number(v.events[1].change, NR_CHANGE_LOST);
	assert_number(v.events[1].cause, NR_CAUSE_OFFLINE);
	assert_text(v.events[1].detail, "CPU 1 went offline");
	assert_false(nr_verify_is_ok(&v));
	unwatch(&plan, &subject, &v);
}

static void a_program_that_sets_another_policy_is_named(void **state)
{
	struct nr_plan plan = plan_of("0", NR_POLICY_BIND);
	struct subject subject;
	struct nr_verification v;

	(void)state;
	watch(&plan, &subject, &v);
	look(&v, NR_VERIFY_ALL);
	tell(&subject, 'd');
	look(&v, NR_VERIFY_ALL);
	look(&v, NR_VERIFY_ALL);

	assert_number(v.event_count, 1);
	assert_number(v.events[0].item, NR_ITEM_POLICY);
	assert_number(v.events[0].cause, NR_CAUSE_OWN);
	assert_text(v.events[0].asked, "bind:0");
	assert_text(v.events[0].kernel, "default");
	assert_false(nr_verify_is_ok(&v));
	unwatch(&plan, &subject, &v);
}

static void what_the_program_started_is_looked_at_too(void **state)
{
	struct nr_plan plan = plan_of("0", NR_POLICY_BIND);
	struct subject subject;
	struct nr_verification v;
	size_t alone_count;

	(void)state;
	watch(&plan, &subject, &v);
	look_at_all_threads(&v, subject.pid, NR_VERIFY_ALL);
	alone_count = v.thread_count;
	tell(&subject, 'f');
	look(&v, NR_VERIFY_PAGES | NR_VERIFY_ALL);
	if (v.process_count > 1) /* else a kernel without CONFIG_PROC_CHILDREN */
		assert_true(v.thread_count > alone_count);
	assert_true(nr_verify_is_ok(&v));
	unwatch(&plan, &subject, &v);
}

static void a_program_that_ended_leaves_what_was_seen(void **state)
{
	struct nr_plan plan = plan_of("0", NR_POLICY_BIND);
	struct subject subject;
	struct nr_verification v;
	size_t seen_count;
	struct np_error err = { 0 };
	siginfo_t info;

	(void)state;
	watch(&plan, &subject, &v);
	tell(&subject, 't');
	look(&v, NR_VERIFY_PAGES | NR_VERIFY_ALL);
	seen_count = v.thread_count;
	assert_true(seen_count >= 2);
	kill(subject.pid, SIGKILL);
	/* Not reaped: a zombie, which /proc still shows. */
	assert_int_equal(waitid(P_PID, (id_t)subject.pid, &info, WEXITED | WNOWAIT), 0);
	assert_fails(nr_verify_check(&v, NR_VERIFY_PAGES, &err), -ESRCH, &err, "has ended");
	assert_number(v.thread_count, seen_count);
	assert_number(v.check_count, 1);
	waitpid(subject.pid, NULL, 0);
	assert_fails(nr_verify_check(&v, 0, &err), -ESRCH, &err, "has ended");
	assert_number(v.thread_count, seen_count);
	assert_true(v.pages.judged_bytes > 0);
	unwatch(&plan, &subject, &v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_stays_is_verified),
		cmocka_unit_test(a_thread_that_leaves_its_cpus_is_named_once_and_when_it_is_back),
		cmocka_unit_test(a_thread_that_left_is_pinned_again),
		cmocka_unit_test(a_thread_that_keeps_to_some_of_its_cpus_breaks_nothing),
		cmocka_unit_test(a_program_that_sets_another_policy_is_named),
		cmocka_unit_test(what_the_program_started_is_looked_at_too),
		cmocka_unit_test(a_program_that_ended_leaves_what_was_seen),
		/* The last one, as its mounts stay. */
		cmocka_unit_test(a_cpu_that_is_said_to_be_offline_only_later_is_told_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
