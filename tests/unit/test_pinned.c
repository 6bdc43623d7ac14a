/* SPDX-License-Identifier: BSD-3-Clause */
#include "../../launcher/lib/pinned.h"

#include "host.h"

#include <errno.h>
#include <limits.h>
#include <numarun/apply.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SELF = 999 };

/* A thread as /proc shows it; the first of a process has the process's number. */
struct thread {
	unsigned pid;
	unsigned tid;
	const char *allowed; /* NULL: no such line */
	const char *comm;    /* of the process, in its stat */
	unsigned long flags;
};

static void write_thread(const struct host *host, const struct thread *thread)
{
	char path[PATH_MAX];
	char text[512];

	snprintf(path, sizeof(path), "proc/%u/task/%u/status", thread->pid, thread->tid);
	snprintf(text, sizeof(text), "Name:\tx\nCpus_allowed:\tff\n%s%s%sMems_allowed:\t1\n",
	         thread->allowed ? "Cpus_allowed_list:\t" : "",
	         thread->allowed ? thread->allowed : "", thread->allowed ? "\n" : "");
	host_write(host, path, text);
	if (thread->pid != thread->tid)
		return;
	snprintf(path, sizeof(path), "proc/%u/stat", thread->pid);
	snprintf(
		text, sizeof(text),
		"%u (%s) S 1 1 1 0 -1 %lu 1 2 3 4 5 6 7 8 20 0 3 0 4711 0 0 18446744073709551615\n",
		thread->pid, thread->comm, thread->flags);
	host_write(host, path, text);
}

struct query {
	struct np_bitmap wanted;
	struct np_bitmap online;
	struct np_bitmap inherited;
};

static size_t find(const struct np_sysroot *root, const char *wanted, const char *online,
                   const char *inherited, struct nr_pinned **ret)
{
	struct query sets = { set_of(wanted), set_of(online), set_of(inherited) };
	struct nr_pinned_query query = { &sets.wanted, &sets.online, &sets.inherited, SELF };
	struct np_error err = { 0 };
	size_t count = 0;

	assert_np_ok(nr_pinned_find(root, &query, ret, &count, &err), &err);
	np_bitmap_release(&sets.wanted);
	np_bitmap_release(&sets.online);
	np_bitmap_release(&sets.inherited);
	return count;
}

static const struct thread threads[] = {
	{ 1000, 1000, "4-5", "memcached", 0x400000 },
	{ 20, 20, "0-7", "free", 0x400000 },        /* not pinned */
	{ 21, 21, "0-3", "elsewhere", 0x400000 },   /* not there */
	{ 22, 22, "4-31", "not yet", 0x400000 },    /* 8-31 are not online */
	{ 23, 23, "0-31", "widest", 0x400000 },     /* all that are online */
	{ 24, 24, "4", "ksoftirqd/4", 0x4208040 },  /* the kernel's own */
	{ 25, 25, "4-6", "with us", 0x400000 },     /* the caller's set */
	{ SELF, SELF, "4", "numarun", 0x400000 },   /* the caller */
	{ 26, 26, "damaged", "damaged", 0x400000 }, /* no list */
	{ 27, 27, NULL, "silent", 0x400000 },       /* no such line */
	{ 28, 28, "5", "a) S (b\x1b c", 0x400000 }, /* any name */
	{ 300, 300, "0-7", "a server", 0x400000 },  /* its workers are */
	{ 300, 301, "4", "a server", 0x400000 },
	{ 300, 302, "5", "a server", 0x400000 },
	{ 300, 303, "1", "a server", 0x400000 },
	{ 300, 304, "4-6", "a server", 0x400000 },
};

static void only_what_was_pinned_there_is_found(void **state)
{
	const struct host *host = *state;
	struct nr_pinned *pinned = NULL;
	size_t count;

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		write_thread(host, &threads[i]);
	host_write(host, "proc/meminfo", "MemTotal: 1 kB\n");
	host_write(host, "proc/12x/stat", "");
	host_write(host, "proc/99999999999999999999/stat", "");
	count = find(&host->root, "4-5", "0-7", "4-6", &pinned);

	assert_number(count, 4);
	assert_number(pinned[0].pid, 22);
	assert_text(pinned[0].name, "not yet");
	assert_set(&pinned[0].cpus, "4-7");
	assert_number(pinned[1].pid, 28);
	assert_text(pinned[1].name, "a) S (b\\x1b c");
	assert_number(pinned[2].pid, 300);
	assert_set(&pinned[2].cpus, "4-5");
	assert_number(pinned[2].thread_count, 2);
	assert_number(pinned[3].pid, 1000);
	assert_text(pinned[3].name, "memcached");
	assert_set(&pinned[3].cpus, "4-5");
	assert_number(pinned[3].thread_count, 1);
	nr_pinned_free(pinned, count);
}

static void what_ended_meanwhile_is_passed_over(void **state)
{
	const struct host *host = *state;
	struct nr_pinned *pinned = NULL;

	host_mkdir(host, "proc/50");
	host_mkdir(host, "proc/51/task/51");
	write_thread(host, &(struct thread){ 52, 52, "4", "x", 0 });
	host_remove(host, "proc/52/stat");
	write_thread(host, &(struct thread){ 53, 53, "4", "x", 0 });
	host_write(host, "proc/53/stat", "53 (no end");
	/* A zombie: it runs on no CPU any more. */
	write_thread(host, &(struct thread){ 54, 54, "4", "x", 0 });
	host_write(host, "proc/54/stat",
	           "54 (x) Z 1 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 4711 0 0 0\n");
	assert_number(find(&host->root, "4-5", "0-7", "0-7", &pinned), 0);
	nr_pinned_free(pinned, 0);
}

static void without_proc_it_fails(void **state)
{
	const struct host *host = *state;
	struct query sets = { 0 };
	struct nr_pinned_query query = { &sets.wanted, &sets.online, &sets.inherited, SELF };
	struct nr_pinned *pinned = NULL;
	struct np_error err = { 0 };
	size_t count = 7;

	assert_fails(nr_pinned_find(&host->root, &query, &pinned, &count, &err), -ENOENT, &err,
	             "/proc: No such file");
	assert_number(count, 7);
}

/* A child that is bound to one CPU, on this host. */
static pid_t start_bound(unsigned cpu)
{
	struct np_bitmap one = { 0 };
	pid_t pid = fork_child();

	if (pid != 0)
		return pid;
	if (np_bitmap_add(&one, cpu) < 0 || nr_affinity_set(&one, NULL) < 0)
		_exit(1);
	for (;;)
		pause();
}

static void a_real_process_is_found(void **state)
{
	struct np_sysroot root;
	struct np_bitmap inherited = { 0 };
	struct np_bitmap online = { 0 };
	struct np_error err = { 0 };
	struct nr_pinned_query query = { &online, &online, &inherited, getpid() };
	const struct nr_pinned *found = NULL;
	struct nr_pinned *pinned = NULL;
	size_t count = 0;
	unsigned cpu;
	pid_t child;

	(void)state;
	assert_np_ok(np_sysroot_open(NULL, &root, &err), &err);
	assert_np_ok(np_sysroot_read_list(&root, "sys/devices/system/cpu/online", &online, &err),
	             &err);
	assert_np_ok(nr_affinity_get(&inherited, &err), &err);
	if (np_bitmap_count(&inherited) < 2) {
		print_message("skipped: only one CPU here\n");
		skip();
	}
	cpu = np_bitmap_last(&inherited);
	child = start_bound(cpu);
	/* Until it has bound itself. */
	for (int i = 0; i < 10000 && !found; i++) {
		nr_pinned_free(pinned, count);
		count = 0;
		assert_np_ok(nr_pinned_find(&root, &query, &pinned, &count, &err), &err);
		for (size_t p = 0; p < count; p++)
			if (pinned[p].pid == child)
				found = &pinned[p];
	}
	assert_non_null(found);
	assert_number(np_bitmap_count(&found->cpus), 1);
	assert_true(np_bitmap_has(&found->cpus, cpu));
	assert_text(found->name, "test_pinned");

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	nr_pinned_free(pinned, count);
	np_bitmap_release(&inherited);
	np_bitmap_release(&online);
	np_sysroot_close(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(only_what_was_pinned_there_is_found),
		host_test(what_ended_meanwhile_is_passed_over),
		host_test(without_proc_it_fails),
		cmocka_unit_test(a_real_process_is_found),
	};

	return cmocka_run_group_tests_name("pinned", tests, NULL, NULL);
}
