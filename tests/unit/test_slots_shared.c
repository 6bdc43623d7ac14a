/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slot registry among several processes and several users: races, kills, inheritance.
 */
#include "../../launcher/lib/process.h"
#include "../../launcher/lib/record.h"
#include "../../launcher/lib/registry.h"
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <numaprobe/cpulist.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RACE_CPUS = 8, RACE_ROUNDS = 50, RACE_CLAIMS_MAX = 20, FIRST_UID = 12345 };

/* What the processes of a test share. */
struct scene {
	char dir[PATH_MAX]; /* the registry */
	_Atomic pid_t owner[RACE_CPUS];
	atomic_uint claims;
	atomic_uint refusals;
	_Atomic pid_t program;
	atomic_bool is_ready;
	atomic_int failed_line; /* of this file, where a child gave up */
	struct np_error err;
};

/* In a child, which must assert nothing: tells where it failed, and gives up. */
#define want(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			give_up(scene, __LINE__);                                                  \
	} while (0)

static void __attribute__((noreturn)) give_up(struct scene *scene, int line)
{
	scene->failed_line = line;
	_exit(1);
}

static void assert_no_failure(const struct scene *scene)
{
	if (scene->failed_line)
		fail_msg("a child gave up at line %d: %s", scene->failed_line, scene->err.text);
}

static void pause_briefly(void)
{
	static const struct timespec brief = { .tv_nsec = 200000 };

	nanosleep(&brief, NULL);
}

/* A child that does not outlive a test that fails. */
static pid_t fork_helper(void)
{
	pid_t parent = getpid();
	pid_t pid = fork_child();

	if (pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent))
		_exit(1);
	return pid;
}

struct bench {
	struct host *host; /* "slots" in it is the registry, open to all users */
	struct scene *scene;
	struct nr_registry registry;
};

static int begin(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	void *host = NULL;
	struct np_error err = { 0 };

	assert_non_null(bench);
	host_create(&host);
	bench->host = host;
	bench->scene = mmap(NULL, sizeof(*bench->scene), PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(bench->scene != MAP_FAILED);
	snprintf(bench->scene->dir, PATH_MAX, "%s/registry", bench->host->dir);
	host_mkdir(bench->host, "registry");
	assert_number(chmod(bench->host->dir, 0755), 0);
	assert_number(chmod(bench->scene->dir, 01777), 0);
	assert_np_ok(nr_registry_open(bench->scene->dir, true, &bench->registry, &err), &err);
	*state = bench;
	return 0;
}

static int end(void **state)
{
	struct bench *bench = *state;
	void *host = bench->host;

	nr_registry_close(&bench->registry);
	/* What a test that failed has left: it is ours to wait for, so the number is still its. */
	if (bench->scene->program && kill(bench->scene->program, SIGKILL) == 0)
		waitpid(bench->scene->program, NULL, 0);
	munmap(bench->scene, sizeof(*bench->scene));
	host_destroy(&host);
	free(bench);
	return 0;
}

#define shared_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

static void assert_held(const struct bench *bench, const char *list)
{
	struct np_bitmap held = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(nr_registry_held(&bench->registry, &held, &err), &err);
	assert_set(&held, list);
	np_bitmap_release(&held);
}

static void assert_refused(struct bench *bench, const char *list, const char *part)
{
	struct np_bitmap cpus = set_of(list);
	struct nr_claim claim;
	struct np_error err = { 0 };

	assert_fails(nr_claim_take(&bench->registry, &cpus, "late", &claim, &err), -EBUSY, &err,
	             part);
	np_bitmap_release(&cpus);
}

static unsigned count_records(const struct bench *bench)
{
	DIR *dir = opendir(bench->scene->dir);
	const struct dirent *entry;
	unsigned count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count += *entry->d_name == 'r' || strncmp(entry->d_name, ".new", 4) == 0;
	closedir(dir);
	return count;
}

/* Nobody holds anything, and nothing is left in the folder. */
static void assert_clean(struct bench *bench)
{
	struct nr_holders holders;
	struct np_error err = { 0 };

	assert_np_ok(nr_registry_lock(&bench->registry, &err), &err);
	assert_np_ok(nr_registry_holders(&bench->registry, &holders, &err), &err);
	nr_registry_unlock(&bench->registry);
	assert_set(&holders.cpus, "");
	assert_number(holders.count, 0);
	assert_number(holders.note_count, 0);
	assert_number(count_records(bench), 0);
	nr_holders_release(&holders);
}

static void reap(pid_t pid)
{
	int status;

	assert_number(waitpid(pid, &status, 0), pid);
}

static void kill_and_reap(pid_t pid)
{
	assert_number(kill(pid, SIGKILL), 0);
	reap(pid);
}

static void end_program(struct bench *bench)
{
	kill_and_reap(bench->scene->program);
	bench->scene->program = 0;
}

/* ---- the race ---- */

/* A process that lost its locks by dying is soon seen to be dead; one that goes on is not. */
static bool is_gone(pid_t pid, const struct np_sysroot *root)
{
	struct nr_process process;

	for (int i = 0; i < 10000; i++) {
		if (nr_process_read(root, pid, &process, NULL) < 0 || process.state == 'Z' ||
		    process.state == 'X')
			return true;
		pause_briefly();
	}
	return false;
}

/* With the CPUs taken: nobody else who lives may be on them, now or while this one is. */
static void use_cpus(struct scene *scene, const struct np_bitmap *cpus,
                     const struct np_sysroot *root)
{
	pid_t self = getpid();

	np_bitmap_for_each (cpu, cpus) {
		pid_t before = atomic_exchange(&scene->owner[cpu], self);

		want(!before || before == self || is_gone(before, root));
	}
	for (int i = 0; i < 20; i++) {
		np_bitmap_for_each (cpu, cpus)
			want(scene->owner[cpu] == self);
		sched_yield();
	}
	np_bitmap_for_each (cpu, cpus)
		scene->owner[cpu] = 0;
}

static void __attribute__((noreturn)) race(struct scene *scene, unsigned seed)
{
	struct np_sysroot root;
	struct nr_registry registry;

	want(np_sysroot_open(NULL, &root, &scene->err) == 0);
	want(nr_registry_open(scene->dir, true, &registry, &scene->err) == 0);
	for (;;) {
		uint64_t word = 1 + (uint64_t)rand_r(&seed) % ((1u << RACE_CPUS) - 1);
		struct np_bitmap cpus = { .words = &word, .word_count = 1 };
		struct nr_claim claim;
		struct np_error err = { 0 };
		int rc = nr_claim_take(&registry, &cpus, "racer", &claim, &err);

		if (rc == -EBUSY) {
			scene->refusals++;
			sched_yield();
			continue;
		}
		scene->err = err;
		want(rc == 0);
		want(seed % 2 || nr_claim_note_program(&claim, getpid(), &scene->err) == 0);
		use_cpus(scene, &cpus, &root);
		nr_claim_release(&claim);
		scene->claims++;
	}
}

static void wait_for_claims(const struct scene *scene, unsigned count)
{
	unsigned goal = scene->claims + count;

	while (scene->claims < goal && !scene->failed_line)
		pause_briefly();
}

static void two_runs_never_share_a_cpu_and_leave_nothing_when_killed(void **state)
{
	struct bench *bench = *state;
	struct scene *scene = bench->scene;
	unsigned seed = 3;

	for (unsigned round = 0; round < RACE_ROUNDS; round++) {
		pid_t racers[2];

		for (unsigned i = 0; i < 2; i++) {
			racers[i] = fork_helper();
			if (racers[i] == 0)
				race(scene, 2 * round + i);
		}
		wait_for_claims(scene, (unsigned)rand_r(&seed) % RACE_CLAIMS_MAX);
		kill(racers[0], SIGKILL);
		wait_for_claims(scene, (unsigned)rand_r(&seed) % RACE_CLAIMS_MAX);
		kill(racers[1], SIGKILL);
		reap(racers[0]);
		reap(racers[1]);
		assert_no_failure(scene);
		assert_clean(bench);
		for (unsigned cpu = 0; cpu < RACE_CPUS; cpu++)
			scene->owner[cpu] = 0;
	}
	print_message("%u claims, %u refusals\n", scene->claims, scene->refusals);
}

/* ---- death ---- */

/* Claims CPUs and waits for its end. */
static void __attribute__((noreturn)) hold(struct scene *scene, const char *list)
{
	struct nr_registry registry;
	struct np_bitmap cpus = { 0 };
	struct nr_claim claim;

	want(np_cpulist_parse(list, &cpus, &scene->err) == 0);
	want(nr_registry_open(scene->dir, true, &registry, &scene->err) == 0);
	want(nr_claim_take(&registry, &cpus, "holder", &claim, &scene->err) == 0);
	/* Once more: a change of user drops it. */
	want(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	scene->is_ready = true;
	for (;;)
		pause();
}

static void wait_until_ready(struct scene *scene)
{
	while (!scene->is_ready && !scene->failed_line)
		pause_briefly();
	scene->is_ready = false;
	assert_no_failure(scene);
}

static void a_killed_run_that_nobody_has_waited_for_holds_nothing(void **state)
{
	struct bench *bench = *state;
	siginfo_t info;
	pid_t holder = fork_helper();

	if (holder == 0)
		hold(bench->scene, "4-5");
	wait_until_ready(bench->scene);
	assert_held(bench, "4-5");
	assert_number(kill(holder, SIGKILL), 0);
	assert_number(waitid(P_PID, (id_t)holder, &info, WEXITED | WNOWAIT), 0);
	assert_held(bench, "");
	assert_clean(bench);
	reap(holder);
}

/* Starts sleep(1) under a claim, with the locks or without, and waits for its own end. */
static void __attribute__((noreturn)) supervise(struct scene *scene, bool inherits)
{
	struct nr_registry registry;
	struct np_bitmap cpus = { 0 };
	struct nr_claim claim;
	pid_t program;

	want(np_bitmap_add_range(&cpus, 4, 5) == 0);
	want(nr_registry_open(scene->dir, true, &registry, &scene->err) == 0);
	want(nr_claim_take(&registry, &cpus, "sleep", &claim, &scene->err) == 0);
	program = fork();
	want(program >= 0);
	if (program == 0) {
		want(!inherits || nr_claim_inherit(&claim) == 0);
		execlp("sleep", "sleep", "100", (char *)NULL);
		give_up(scene, __LINE__);
	}
	want(nr_claim_note_program(&claim, program, &scene->err) == 0);
	scene->program = program;
	scene->is_ready = true;
	for (;;)
		pause();
}

/* Starts all this; returns once sleep runs. */
static pid_t start_supervisor(struct bench *bench, bool inherits)
{
	struct np_sysroot root = nr_registry_root(&bench->registry);
	struct nr_process process = { 0 };
	pid_t supervisor;

	/* So that the program can be waited for when its parent is dead. */
	assert_number(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	supervisor = fork_helper();
	if (supervisor == 0)
		supervise(bench->scene, inherits);
	wait_until_ready(bench->scene);
	while (strcmp(process.name, "sleep") != 0 && !bench->scene->failed_line) {
		nr_process_read(&root, bench->scene->program, &process, NULL);
		pause_briefly();
	}
	assert_no_failure(bench->scene);
	return supervisor;
}

static void a_program_keeps_the_locks_when_its_numarun_is_killed(void **state)
{
	struct bench *bench = *state;
	pid_t supervisor = start_supervisor(bench, true);
	pid_t program = bench->scene->program;
	char text[96];

	snprintf(text, sizeof(text), "CPU 5 is held by numarun PID %d (sleep)", (int)supervisor);
	assert_refused(bench, "5-6", text);
	kill_and_reap(supervisor);
	assert_held(bench, "4-5");
	snprintf(text, sizeof(text), "CPU 5 is held by sleep PID %d, whose numarun has ended, user",
	         (int)program);
	assert_refused(bench, "5-6", text);
	assert_number(count_records(bench), 1);

	host_remove(bench->host, "registry/slots");
	assert_refused(bench, "5-6", text);
	end_program(bench);
	assert_clean(bench);
}

static void a_program_without_record_keeps_the_locks_until_it_ends(void **state)
{
	struct bench *bench = *state;
	pid_t supervisor = start_supervisor(bench, true);
	struct nr_holders holders;
	struct np_error err = { 0 };
	char name[64];

	kill_and_reap(supervisor);
	assert_np_ok(nr_registry_holders(&bench->registry, &holders, &err), &err);
	assert_number(holders.count, 1);
	assert_true(holders.list[0].is_locked && holders.list[0].program_is_alive);
	assert_false(holders.list[0].is_alive);
	snprintf(name, sizeof(name), "registry/%.40s", holders.list[0].record);
	host_remove(bench->host, name);
	nr_holders_release(&holders);
	assert_refused(bench, "5", "CPU 5 is held by a process that left no record");

	end_program(bench);
	assert_clean(bench);
}

static void a_living_program_holds_by_its_record_alone(void **state)
{
	struct bench *bench = *state;
	pid_t supervisor = start_supervisor(bench, false);

	kill_and_reap(supervisor);
	assert_refused(bench, "4", "CPU 4 is held by sleep PID");
	end_program(bench);
	assert_clean(bench);
}

/* A daemon: what was started leaves, and a process of its own goes on with the locks. */
static void what_goes_on_after_the_release_is_told_by_the_record(void **state)
{
	struct bench *bench = *state;
	struct np_bitmap cpus = set_of("4-5");
	pid_t numarun;
	pid_t heir;

	assert_number(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	numarun = fork_helper();
	if (numarun == 0) {
		struct scene *scene = bench->scene;
		struct nr_claim claim;

		want(nr_claim_take(&bench->registry, &cpus, "daemon", &claim, &scene->err) == 0);
		heir = fork();
		if (heir == 0) {
			alarm(100);
			pause();
			_exit(0);
		}
		scene->program = heir;
		nr_claim_release(&claim);
		_exit(0);
	}
	reap(numarun);
	assert_no_failure(bench->scene);
	assert_refused(bench, "5", "(daemon) started and left behind, user");
	assert_number(count_records(bench), 1);
	end_program(bench);
	assert_clean(bench);
	np_bitmap_release(&cpus);
}

/* ---- several users ---- */

/* Runs @act as that user in a child, which gives up where something is wrong. */
static void as_user(struct bench *bench, uid_t uid, void act(struct scene *scene))
{
	struct scene *scene = bench->scene;
	pid_t pid = fork_helper();

	if (pid == 0) {
		want(uid == geteuid() || (setgid(uid) == 0 && setuid(uid) == 0));
		act(scene);
		_exit(0);
	}
	reap(pid);
	assert_no_failure(scene);
}

static void look_inside(struct scene *scene)
{
	scene->is_ready = access(scene->dir, W_OK | X_OK) == 0;
}

static void skip_unless_users(struct bench *bench)
{
	if (geteuid() != 0) {
		print_message("skipped: only root can act as two other users\n");
		skip();
	}
	as_user(bench, FIRST_UID, look_inside);
	if (!bench->scene->is_ready) {
		print_message("skipped: other users cannot enter the temporary folder\n");
		skip();
	}
	bench->scene->is_ready = false;
}

static int take(struct scene *scene, const char *list, struct nr_registry *registry,
                struct nr_claim *claim)
{
	struct np_bitmap cpus = { 0 };
	int rc;

	want(nr_registry_open(scene->dir, true, registry, &scene->err) == 0);
	want(np_cpulist_parse(list, &cpus, &scene->err) == 0);
	rc = nr_claim_take(registry, &cpus, "second", claim, &scene->err);
	np_bitmap_release(&cpus);
	return rc;
}

/* Beside the first user's claim of 0-1: what is taken is refused, the rest can be had. */
static void be_beside(struct scene *scene)
{
	struct nr_registry registry;
	struct nr_claim claim;
	struct nr_holders holders;
	char path[PATH_MAX + NR_RECORD_NAME_SIZE];

	want(take(scene, "1-2", &registry, &claim) == -EBUSY);
	want(strstr(scene->err.text, "CPU 1 is held by numarun PID"));
	want(strstr(scene->err.text, "user 12345"));
	nr_registry_close(&registry);
	want(take(scene, "2-3", &registry, &claim) == 0);
	want(nr_registry_holders(&registry, &holders, &scene->err) == 0);
	want(holders.count == 2 && holders.list[0].uid == FIRST_UID);
	want(holders.list[1].uid == FIRST_UID + 1 && holders.note_count == 0);
	/* The other's record and the slots are not this user's to remove. */
	snprintf(path, sizeof(path), "%s/%s", scene->dir, holders.list[0].record);
	want(unlink(path) < 0 && (errno == EPERM || errno == EACCES));
	want(open(path, O_WRONLY) < 0);
	snprintf(path, sizeof(path), "%s/slots", scene->dir);
	want(unlink(path) < 0 && (errno == EPERM || errno == EACCES));
	nr_holders_release(&holders);
	nr_claim_release(&claim);
	nr_registry_close(&registry);
}

/* After the first user was killed: the record stays, and bars nobody. */
static void come_after(struct scene *scene)
{
	struct nr_registry registry;
	struct nr_claim claim;
	struct nr_holders holders;

	want(take(scene, "1-2", &registry, &claim) == 0);
	want(nr_registry_holders(&registry, &holders, &scene->err) == 0);
	want(holders.count == 1 && holders.list[0].uid == FIRST_UID + 1);
	nr_holders_release(&holders);
	nr_claim_release(&claim);
	nr_registry_close(&registry);
}

static void users_share_a_registry_and_cannot_break_each_others_claims(void **state)
{
	struct bench *bench = *state;
	struct scene *scene = bench->scene;
	pid_t first;

	skip_unless_users(bench);
	/* The first user makes the file, with a umask that would keep others out. */
	nr_registry_close(&bench->registry);
	host_remove(bench->host, "registry/slots");
	first = fork_helper();
	if (first == 0) {
		umask(077);
		want(setgid(FIRST_UID) == 0 && setuid(FIRST_UID) == 0);
		hold(scene, "0-1");
	}
	wait_until_ready(scene);
	as_user(bench, FIRST_UID + 1, be_beside);
	kill_and_reap(first);
	as_user(bench, FIRST_UID + 1, come_after);
	assert_number(count_records(bench), 1);
	assert_np_ok(nr_registry_open(scene->dir, true, &bench->registry, &scene->err),
	             &scene->err);
	assert_clean(bench); /* root may clear away */
}

/* Into a folder, or a file, that others closed. */
static void be_refused_the_record(struct scene *scene)
{
	struct nr_registry registry;
	struct nr_claim claim;
	struct np_bitmap held = { 0 };

	want(take(scene, "1", &registry, &claim) == -EACCES);
	want(strstr(scene->err.text, "make the record: Permission denied"));
	want(nr_registry_held(&registry, &held, &scene->err) == 0);
	want(np_bitmap_is_empty(&held));
	nr_registry_close(&registry);
}

static void be_refused_the_slots(struct scene *scene)
{
	struct nr_registry registry;

	want(nr_registry_open(scene->dir, true, &registry, &scene->err) == -EACCES);
	want(strstr(scene->err.text, "/slots: user 0 made it with mode 0600"));
	want(strstr(scene->err.text, "others cannot lock in it: chmod 0666"));
}

static void be_refused_the_folder(struct scene *scene)
{
	struct nr_registry registry;

	want(nr_registry_open(scene->dir, true, &registry, &scene->err) == -EACCES);
	want(strstr(scene->err.text, "make 'slots' there: Permission denied"));
}

static void what_may_not_be_written_is_told(void **state)
{
	struct bench *bench = *state;
	char slots[PATH_MAX];

	skip_unless_users(bench);
	snprintf(slots, sizeof(slots), "%s/registry/slots", bench->host->dir);
	assert_number(chmod(bench->scene->dir, 0755), 0);
	as_user(bench, FIRST_UID, be_refused_the_record);
	assert_number(chmod(slots, 0600), 0);
	as_user(bench, FIRST_UID, be_refused_the_slots);
	host_remove(bench->host, "registry/slots");
	as_user(bench, FIRST_UID, be_refused_the_folder);
}

/* A folder for all that is not writable: the user's own is taken instead. */
static void fall_back(struct scene *scene)
{
	char own[PATH_MAX + 8];
	struct nr_registry_places places = { .shared = scene->dir, .runtime_dir = own };
	struct nr_registry registry;

	snprintf(own, sizeof(own), "%s/own", scene->dir);
	want(nr_registry_open_default(&places, true, &registry, &scene->err) == 0);
	want(registry.is_private && strstr(registry.path, "/own/numarun"));
	nr_registry_close(&registry);
	places.runtime_dir = NULL;
	want(nr_registry_open_default(&places, true, &registry, &scene->err) == -EACCES);
	want(strstr(scene->err.text, "no place for the slot registry: /"));
	want(strstr(scene->err.text, "registry: Permission denied; XDG_RUNTIME_DIR is not set"));
}

static void a_shared_folder_that_is_closed_is_passed_over(void **state)
{
	struct bench *bench = *state;
	char own[PATH_MAX];

	skip_unless_users(bench);
	snprintf(own, sizeof(own), "%s/registry/own", bench->host->dir);
	host_mkdir(bench->host, "registry/own");
	assert_number(chown(own, FIRST_UID, FIRST_UID), 0);
	assert_number(chmod(bench->scene->dir, 0755), 0);
	as_user(bench, FIRST_UID, fall_back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		shared_test(two_runs_never_share_a_cpu_and_leave_nothing_when_killed),
		shared_test(a_killed_run_that_nobody_has_waited_for_holds_nothing),
		shared_test(a_program_keeps_the_locks_when_its_numarun_is_killed),
		shared_test(a_program_without_record_keeps_the_locks_until_it_ends),
		shared_test(a_living_program_holds_by_its_record_alone),
		shared_test(what_goes_on_after_the_release_is_told_by_the_record),
		shared_test(users_share_a_registry_and_cannot_break_each_others_claims),
		shared_test(what_may_not_be_written_is_told),
		shared_test(a_shared_folder_that_is_closed_is_passed_over),
	};

	return cmocka_run_group_tests_name("slots_shared", tests, NULL, NULL);
}
