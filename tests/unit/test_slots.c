/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slot registry as one process sees it; test_slots_shared.c has the others. Every test has a
 * folder of its own.
 */
#include "../../launcher/lib/process.h"
#include "../../launcher/lib/record.h"
#include "../../launcher/lib/registry.h"
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process number that the kernel gives to nobody (PID_MAX_LIMIT is 4194304). */
#define NOBODY_PID "2000000000"

struct bench {
	struct host *host; /* its folder is the registry's */
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
	assert_np_ok(nr_registry_open(bench->host->dir, true, &bench->registry, &err), &err);
	*state = bench;
	return 0;
}

static int end(void **state)
{
	struct bench *bench = *state;
	void *host = bench->host;

	nr_registry_close(&bench->registry);
	nr_registry_close(&bench->registry);
	host_destroy(&host);
	free(bench);
	return 0;
}

#define slots_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

static struct nr_claim take(struct nr_registry *registry, const char *list, const char *program)
{
	struct np_bitmap cpus = set_of(list);
	struct nr_claim claim;
	struct np_error err = { 0 };

	assert_np_ok(nr_claim_take(registry, &cpus, program, &claim, &err), &err);
	np_bitmap_release(&cpus);
	return claim;
}

static void assert_refused(struct nr_registry *registry, const char *list, int code,
                           const char *part)
{
	struct np_bitmap cpus = set_of(list);
	struct nr_claim claim = { .fd = -2 };
	struct np_error err = { 0 };

	assert_fails(nr_claim_take(registry, &cpus, "late", &claim, &err), code, &err, part);
	assert_number(claim.fd, -2); /* untouched */
	np_bitmap_release(&cpus);
}

static void assert_held(const struct nr_registry *registry, const char *list)
{
	struct np_bitmap held = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(nr_registry_held(registry, &held, &err), &err);
	assert_set(&held, list);
	np_bitmap_release(&held);
}

static struct nr_holders holders_of(const struct nr_registry *registry)
{
	struct nr_holders holders = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(nr_registry_holders(registry, &holders, &err), &err);
	return holders;
}

static void lock(struct nr_registry *registry)
{
	struct np_error err = { 0 };

	assert_np_ok(nr_registry_lock(registry, &err), &err);
}

/* How many files the folder has whose names begin so. */
static unsigned count_files(const struct bench *bench, const char *prefix)
{
	DIR *dir = opendir(bench->host->dir);
	const struct dirent *entry;
	unsigned count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	closedir(dir);
	return count;
}

/* ---- taking and giving up ---- */

static void a_claim_is_held_until_it_is_released(void **state)
{
	struct bench *bench = *state;
	struct nr_claim claim = take(&bench->registry, "4-5,9", "memcached");

	assert_held(&bench->registry, "4-5,9");
	assert_false(bench->registry.is_locked);
	assert_number(count_files(bench, "run-"), 1);

	nr_claim_release(&claim);
	nr_claim_release(&claim);

	assert_held(&bench->registry, "");
	assert_number(count_files(bench, "run-"), 0);
	assert_number(count_files(bench, ".new-"), 0);
}

static void a_holder_is_told_with_all_that_is_known(void **state)
{
	struct bench *bench = *state;
	struct nr_claim second = take(&bench->registry, "8", "a\nb");
	struct nr_claim first = take(&bench->registry, "0-3", "memcached");
	struct nr_holders holders = holders_of(&bench->registry);
	const struct nr_holder *holder = &holders.list[0];

	assert_number(holders.count, 2);
	assert_set(&holders.cpus, "0-3,8");
	assert_set(&holder->cpus, "0-3");
	assert_text(holder->program, "memcached");
	assert_text(holders.list[1].program, "a\\x0ab");
	assert_number(holder->pid, getpid());
	assert_number(holder->uid, geteuid());
	assert_number(holder->program_pid, 0);
	assert_true(holder->started_s > 0);
	assert_true(holder->is_alive && holder->is_locked && !holder->program_is_alive);
	assert_number(holders.note_count, 0);

	nr_holders_release(&holders);
	nr_claim_release(&first);
	nr_claim_release(&second);
}

static void what_is_held_is_refused_with_the_holders_name(void **state)
{
	struct bench *bench = *state;
	struct nr_claim claim = take(&bench->registry, "4-6", "memcached");
	struct nr_claim other = take(&bench->registry, "7", "nginx");
	char text[128];

	snprintf(text, sizeof(text),
	         "CPUs 5-6 are held by numarun PID %d (memcached), user %u, since 2", (int)getpid(),
	         geteuid());
	assert_refused(&bench->registry, "0,5-6", -EBUSY, text);
	assert_refused(&bench->registry, "4", -EBUSY, "CPU 4 is held by");
	assert_refused(&bench->registry, "6-7", -EBUSY, "; and others by 1 more");
	assert_held(&bench->registry, "4-7"); /* and not 0: all or nothing */
	assert_number(count_files(bench, "run-"), 2);

	nr_claim_release(&claim);
	nr_claim_release(&other);
	claim = take(&bench->registry, "0,5-6", "late");
	nr_claim_release(&claim);
}

static void no_cpus_are_no_claim(void **state)
{
	struct bench *bench = *state;

	assert_refused(&bench->registry, "", -EINVAL, "no CPUs to take");
}

static void a_claim_under_the_callers_lock_leaves_it_locked(void **state)
{
	struct bench *bench = *state;
	struct nr_claim claim;

	lock(&bench->registry);
	assert_held(&bench->registry, "");
	claim = take(&bench->registry, "1", "x");
	assert_true(bench->registry.is_locked);
	nr_registry_unlock(&bench->registry);
	nr_registry_unlock(&bench->registry);

	nr_claim_release(&claim);
}

static void long_lists_are_held(void **state)
{
	struct bench *bench = *state;
	struct np_bitmap odd = { 0 };
	struct np_bitmap held = { 0 };
	struct np_error err = { 0 };
	struct nr_claim claims[3];
	struct nr_holders holders;

	for (unsigned cpu = 1; cpu <= 8191; cpu += 2)
		assert_number(np_bitmap_add(&odd, cpu), 0);
	assert_np_ok(nr_claim_take(&bench->registry, &odd, "odd", &claims[0], &err), &err);
	claims[1] = take(&bench->registry, "0,8190,32767", "ends");
	claims[2] = take(&bench->registry, "8192-9000", "behind");

	assert_refused(&bench->registry, "8191", -EBUSY, "CPU 8191 is held by");
	assert_refused(&bench->registry, "0-32767", -EBUSY, "; and others by 2 more");
	assert_np_ok(nr_registry_held(&bench->registry, &held, &err), &err);
	assert_true(np_bitmap_is_subset(&odd, &held));
	assert_number(np_bitmap_count(&held), 4096 + 3 + 809);
	holders = holders_of(&bench->registry);
	assert_number(holders.count, 3);
	assert_number(holders.note_count, 0);
	assert_true(np_bitmap_equal(&holders.list[1].cpus, &odd));

	nr_holders_release(&holders);
	np_bitmap_release(&held);
	np_bitmap_release(&odd);
	for (size_t i = 0; i < 3; i++)
		nr_claim_release(&claims[i]);
}

static void the_longest_list_of_all_fits_into_a_record(void **state)
{
	struct bench *bench = *state;
	struct np_bitmap odd = { 0 };
	struct nr_holder record = { .pid = 1, .start_ticks = 1 };
	struct nr_holder back = { 0 };
	struct np_error err = { 0 };

	for (unsigned cpu = 1; cpu <= NP_BITMAP_INDEX_MAX; cpu += 2)
		assert_number(np_bitmap_add(&odd, cpu), 0);
	record.cpus = odd;
	assert_np_ok(nr_record_create(bench->registry.dir_fd, &record, &err), &err);
	assert_np_ok(nr_record_read(bench->registry.dir_fd, record.record, &back, &err), &err);
	assert_true(np_bitmap_equal(&back.cpus, &odd));

	np_bitmap_release(&back.cpus);
	np_bitmap_release(&odd);
}

static void the_program_is_put_into_the_record(void **state)
{
	struct bench *bench = *state;
	struct nr_claim claim = take(&bench->registry, "2", "sleep");
	struct nr_holders holders;
	struct np_error err = { 0 };

	assert_np_ok(nr_claim_note_program(&claim, getppid(), &err), &err);
	assert_fails(nr_claim_note_program(&claim, 2000000000, &err), -ESRCH, &err,
	             "process 2000000000: no such process");

	holders = holders_of(&bench->registry);
	assert_number(holders.count, 1);
	assert_number(holders.list[0].program_pid, getppid());
	assert_true(holders.list[0].program_is_alive);
	assert_number(count_files(bench, "run-"), 1);
	assert_number(count_files(bench, ".new-"), 0);

	nr_holders_release(&holders);
	nr_claim_release(&claim);
}

static void a_claim_that_is_forgotten_leaves_its_record(void **state)
{
	struct bench *bench = *state;
	struct nr_claim claim = take(&bench->registry, "2", "x");

	nr_claim_forget(&claim);
	nr_claim_forget(&claim);

	assert_number(count_files(bench, "run-"), 1);
	assert_held(&bench->registry, "2"); /* this process lives */
}

/* ---- what is damaged ---- */

struct damage {
	const char *name;
	const char *text; /* of a file; NULL: see the test */
	const char *note;
};

#define HEAD "numarun-record 1\n"
#define PIDS "pid 1\nstart 2\nprogram-pid 0\nprogram-start 0\nstarted 5\n"
#define PROGRAM "program x\n"
#define GOOD HEAD PIDS "cpus 0-3\n" PROGRAM

static const struct damage damages[] = {
	{ "run-1-2-0", "", "it has no line 'numarun-record'" },
	{ "run-1-2-0", "garbage\n", "it begins with 'garbage', not with 'numarun-record'" },
	{ "run-1-2-0", "\x1b[2J\xff\n", "it begins with '\\x1b[2J\\xff'" },
	{ "run-1-2-0", "numarun-record 2\n" PIDS "cpus 0\n" PROGRAM,
	  "numarun-record '2' is not a number up to 1" },
	{ "run-1-2-0", HEAD PIDS PROGRAM, "it has no line 'cpus'" },
	{ "run-1-2-0", HEAD PIDS "cpus \n" PROGRAM, "it names no CPU" },
	{ "run-1-2-0", HEAD PIDS "cpus\n" PROGRAM, "it names no CPU" },
	{ "run-1-2-0", HEAD PIDS "cpus 0-99999\n" PROGRAM, "99999" },
	{ "run-1-2-0", HEAD PIDS "cpus 3-1\n" PROGRAM, "3-1" },
	{ "run-1-2-0", HEAD PIDS "cpus all\n" PROGRAM, "all" },
	{ "run-1-2-0", HEAD PIDS "cpus 0\ncpus 1\n" PROGRAM, "it has two lines 'cpus'" },
	{ "run-1-2-0",
	  HEAD "pid -1\nstart 2\nprogram-pid 0\nprogram-start 0\nstarted 5\ncpus 0\n" PROGRAM,
	  "pid '-1' is not a number up to 2147483647" },
	{ "run-1-2-0",
	  HEAD
	  "pid 4294967297\nstart 2\nprogram-pid 0\nprogram-start 0\nstarted 5\ncpus 0\n" PROGRAM,
	  "pid '4294967297'" },
	{ "run-1-2-0",
	  HEAD "pid 1\nstart 2\nprogram-pid 0\nprogram-start 0\nstarted "
	       "99999999999999999999\ncpus 0\n" PROGRAM,
	  "started '99999999999999999999'" },
	{ "run-1-3-0", GOOD, "it is that of process 1, started at 2, not that of its name" },
	{ "run-0", GOOD, "its name is not run-PID-START-N" },
	{ "run-", GOOD, "its name is not run-PID-START-N" },
	{ "run-1-2-0-", GOOD, "its name is not run-PID-START-N" },
	{ "run-1-2-99999", GOOD, "its name is not run-PID-START-N" },
	{ "run-\x1b[31m", GOOD, "run-\\x1b[31m: its name is not" },
};

/* One note with that in it, and nothing else is wrong: CPUs 0-3 can be taken and given back. */
static void assert_passed_over(struct bench *bench, const char *part)
{
	struct nr_holders holders;
	struct nr_claim claim;

	lock(&bench->registry);
	holders = holders_of(&bench->registry);
	nr_registry_unlock(&bench->registry);
	assert_number(holders.count, 0);
	assert_number(holders.note_count, 1);
	assert_has(holders.notes[0], part);
	assert_true(is_printable_line(holders.notes[0]));
	nr_holders_release(&holders);
	claim = take(&bench->registry, "0-3", "x");
	assert_held(&bench->registry, "0-3");
	nr_claim_release(&claim);
}

static void damaged_records_are_noted_and_passed_over(void **state)
{
	struct bench *bench = *state;

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		check_case("%zu: %s", i, damages[i].note);
		host_write(bench->host, damages[i].name, damages[i].text);
		assert_passed_over(bench, damages[i].note);
		host_remove(bench->host, damages[i].name);
	}
}

static void what_is_no_file_is_noted_and_passed_over(void **state)
{
	struct bench *bench = *state;
	size_t size = NR_RECORD_BYTES_MAX + 1;
	char *huge = malloc(size);

	assert_non_null(huge);
	memset(huge, '\n', size);
	memcpy(huge, HEAD, strlen(HEAD));

	host_mkdir(bench->host, "run-1-2-0");
	assert_passed_over(bench, "it is no plain file");
	host_fifo(bench->host, "run-1-2-0");
	assert_passed_over(bench, "it is no plain file");
	host_link(bench->host, "run-1-2-0", "/etc/passwd");
	assert_passed_over(bench, "it is a symbolic link");
	host_link(bench->host, "run-1-2-0", "run-1-2-0");
	assert_passed_over(bench, "it is a symbolic link");
	host_write_bytes(bench->host, "run-1-2-0", huge, size);
	assert_passed_over(bench, "it is longer than 131072 bytes");
	host_write_bytes(bench->host, "run-1-2-0", GOOD "\0", sizeof(GOOD));
	assert_passed_over(bench, "it has NUL bytes in it");
	free(huge);
}

/* Bytes changed at random: a lawful answer whatever they are. */
static void no_record_crashes_the_reader(void **state)
{
	struct bench *bench = *state;
	unsigned seed = 1;

	for (unsigned round = 0; round < 3000; round++) {
		char text[] = GOOD;
		struct nr_holder holder = { 0 };
		struct np_error err = { 0 };
		int rc;

		for (unsigned i = 0; i < 1 + round % 4; i++)
			text[(size_t)rand_r(&seed) % (sizeof(text) - 1)] = (char)rand_r(&seed);
		host_write_bytes(bench->host, "run-1-2-0", text,
		                 (size_t)rand_r(&seed) % sizeof(text));
		rc = nr_record_read(bench->registry.dir_fd, "run-1-2-0", &holder, &err);
		if (rc < 0)
			assert_fails(rc, -EINVAL, &err, "");
		else
			assert_true(holder.pid == 1 && !np_bitmap_is_empty(&holder.cpus));
		np_bitmap_release(&holder.cpus);
	}
}

static void a_flood_of_records_is_read_in_part(void **state)
{
	struct bench *bench = *state;
	struct nr_holders holders;
	char name[64];

	for (unsigned i = 0; i < NR_REGISTRY_RECORDS_MAX + 10; i++) {
		snprintf(name, sizeof(name), "run-%u", i);
		host_write(bench->host, name, "x");
	}
	holders = holders_of(&bench->registry);
	assert_number(holders.note_count, NR_REGISTRY_NOTES_MAX);
	assert_number(holders.count, 0);
	nr_holders_release(&holders);
	for (unsigned i = 0; i < NR_REGISTRY_RECORDS_MAX + 10; i++) {
		snprintf(name, sizeof(name), "run-%u", i);
		host_remove(bench->host, name);
	}
}

static void the_dead_hold_nothing_and_are_cleared_away_under_the_lock(void **state)
{
	struct bench *bench = *state;
	struct nr_holders holders;

	host_write(bench->host, "run-" NOBODY_PID "-7-0",
	           HEAD "pid " NOBODY_PID "\nstart 7\nprogram-pid " NOBODY_PID
	                "\nprogram-start 9\nstarted 5\ncpus 0-3\nprogram x\n");
	/* The number lives, but it is another process by now. */
	host_write(bench->host, "run-1-99999999-0",
	           HEAD "pid 1\nstart 99999999\nprogram-pid 0\nprogram-start 0\nstarted 5\n"
	                "cpus 4\nprogram x\n");
	host_write(bench->host, ".new-" NOBODY_PID "-7-0", "half a rec");

	assert_held(&bench->registry, "");
	assert_number(count_files(bench, "run-"), 2);
	lock(&bench->registry);
	holders = holders_of(&bench->registry);
	assert_number(holders.count, 0);
	assert_number(holders.note_count, 0);
	assert_number(count_files(bench, "run-"), 0);
	assert_number(count_files(bench, ".new-"), 0);
	nr_holders_release(&holders);
}

static void a_living_record_holds_without_its_locks(void **state)
{
	struct bench *bench = *state;
	struct nr_claim claim = take(&bench->registry, "4-5", "memcached");
	struct nr_holders holders;

	host_remove(bench->host, "slots");
	assert_refused(&bench->registry, "5-6", -EBUSY, "CPU 5 is held by numarun PID");
	holders = holders_of(&bench->registry);
	assert_number(holders.count, 1);
	assert_false(holders.list[0].is_locked);
	assert_true(holders.list[0].is_alive);
	assert_number(count_files(bench, "slots"), 1); /* made anew */

	nr_holders_release(&holders);
	nr_claim_release(&claim);
	assert_held(&bench->registry, "");
	claim = take(&bench->registry, "5-6", "late");
	nr_claim_release(&claim);
}

static void a_file_of_slots_cut_short_or_overwritten_loses_no_lock(void **state)
{
	struct bench *bench = *state;
	struct nr_claim claim = take(&bench->registry, "4-5", "memcached");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/slots", bench->host->dir);
	assert_number(truncate(path, 0), 0);
	assert_refused(&bench->registry, "5", -EBUSY, "CPU 5 is held by numarun PID");
	assert_number(truncate(path, 100000), 0);
	assert_refused(&bench->registry, "5", -EBUSY, "CPU 5 is held by numarun PID");
	nr_claim_release(&claim);
	assert_held(&bench->registry, "");
}

static void locks_without_a_record_are_held_by_somebody(void **state)
{
	struct bench *bench = *state;
	struct nr_claim claim = take(&bench->registry, "4-5,7", "memcached");
	struct nr_holders holders;

	host_remove(bench->host, claim.self.record);
	assert_refused(&bench->registry, "5-7", -EBUSY,
	               "CPUs 5,7 are held by a process that left no record");
	holders = holders_of(&bench->registry);
	assert_number(holders.count, 1);
	assert_set(&holders.list[0].cpus, "4-5,7");
	assert_text(holders.list[0].record, "");
	assert_true(holders.list[0].is_locked && !holders.list[0].is_alive);

	nr_holders_release(&holders);
	nr_claim_release(&claim);
	assert_held(&bench->registry, "");
}

static void a_folder_that_all_can_clear_is_noted(void **state)
{
	struct bench *bench = *state;
	struct nr_holders holders;

	assert_number(chmod(bench->host->dir, 0777), 0);
	holders = holders_of(&bench->registry);
	assert_number(holders.note_count, 1);
	assert_has(holders.notes[0], "all users can remove the records of others: chmod +t");
	nr_holders_release(&holders);
}

/* Opening fails so; nothing hangs and nothing is changed. */
static void assert_no_registry(const struct bench *bench, int code, const char *part)
{
	struct nr_registry registry = { .dir_fd = -2 };
	struct np_error err = { 0 };

	assert_fails(nr_registry_open(bench->host->dir, true, &registry, &err), code, &err, part);
	assert_number(registry.dir_fd, -2);
}

static void slots_that_are_no_plain_file_are_refused(void **state)
{
	struct bench *bench = *state;
	char from[PATH_MAX];
	char to[PATH_MAX];

	host_mkdir(bench->host, "slots");
	assert_no_registry(bench, -EINVAL, "/slots: it is a folder: remove it");
	host_link(bench->host, "slots", "elsewhere");
	assert_no_registry(bench, -EINVAL, "/slots: it is a symbolic link: remove it");
	host_fifo(bench->host, "slots");
	assert_no_registry(bench, -EINVAL, "/slots: it is no plain file: remove it");
	host_write(bench->host, "precious", "data\n");
	host_remove(bench->host, "slots");
	snprintf(from, sizeof(from), "%s/precious", bench->host->dir);
	snprintf(to, sizeof(to), "%s/slots", bench->host->dir);
	assert_number(link(from, to), 0);
	assert_no_registry(bench, -EINVAL, "/slots: it has a second name: remove it");
}

static void slots_that_are_damaged_while_open_are_told_at_the_next_lock(void **state)
{
	struct bench *bench = *state;
	struct np_error err = { 0 };

	host_mkdir(bench->host, "slots");
	assert_fails(nr_registry_lock(&bench->registry, &err), -EINVAL, &err, "it is a folder");
	host_remove(bench->host, "slots");
	lock(&bench->registry);
}

/* ---- opening ---- */

static void a_folder_that_is_not_there_is_named(void **state)
{
	struct nr_registry registry;
	struct np_error err = { 0 };

	(void)state;
	assert_fails(nr_registry_open("/nowhere/at/all", true, &registry, &err), -ENOENT, &err,
	             "slot registry /nowhere/at/all: No such file or directory");
	assert_fails(nr_registry_open("/dev/null", true, &registry, &err), -ENOTDIR, &err,
	             "slot registry /dev/null: Not a directory");
}

static void who_only_looks_makes_nothing(void **state)
{
	struct bench *bench = *state;
	struct nr_registry registry;
	struct np_error err = { 0 };

	host_mkdir(bench->host, "new");
	host_remove(bench->host, "slots");
	assert_fails(nr_registry_open(bench->host->dir, false, &registry, &err), -ENOENT, &err,
	             "/slots: No such file");
	assert_number(count_files(bench, "slots"), 0);
}

/* The two places within the bench's folder; either may be NULL. */
static int open_default(const struct bench *bench, const char *shared, const char *runtime_dir,
                        bool may_create, struct nr_registry *ret, struct np_error *err)
{
	char first[PATH_MAX];
	char second[PATH_MAX];
	struct nr_registry_places places = { .shared = first };

	snprintf(first, sizeof(first), "%s/%s", bench->host->dir, shared);
	snprintf(second, sizeof(second), "%s/%s", bench->host->dir, runtime_dir ? runtime_dir : "");
	if (runtime_dir)
		places.runtime_dir = second;
	return nr_registry_open_default(&places, may_create, ret, err);
}

static mode_t mode_of(const struct bench *bench, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", bench->host->dir, name);
	assert_number(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void root_makes_the_shared_folder_for_all(void **state)
{
	struct bench *bench = *state;
	struct nr_registry registry;
	struct np_error err = { 0 };
	mode_t mask;

	if (geteuid() != 0) {
		print_message("skipped: only root makes the shared folder\n");
		skip();
	}
	mask = umask(077);
	assert_np_ok(open_default(bench, "shared", NULL, true, &registry, &err), &err);
	umask(mask);
	assert_false(registry.is_private);
	assert_number(mode_of(bench, "shared"), 01777);
	assert_number(mode_of(bench, "shared/slots"), 0666);
	nr_registry_close(&registry);
}

static void a_shared_folder_that_is_there_is_taken(void **state)
{
	struct bench *bench = *state;
	struct nr_registry registry;
	struct np_error err = { 0 };

	host_mkdir(bench->host, "shared");
	host_mkdir(bench->host, "user");
	assert_np_ok(open_default(bench, "shared", "user", true, &registry, &err), &err);
	assert_false(registry.is_private);
	assert_has(registry.path, "/shared");
	nr_registry_close(&registry);
}

static void without_a_shared_folder_it_is_the_users_own(void **state)
{
	struct bench *bench = *state;
	struct nr_registry registry;
	struct np_error err = { 0 };
	struct nr_claim claim;

	host_mkdir(bench->host, "user");
	assert_fails(open_default(bench, "no/shared", "user", false, &registry, &err), -ENOENT,
	             &err, "there is no slot registry yet: nobody holds CPUs");
	assert_np_ok(open_default(bench, "no/shared", "user", true, &registry, &err), &err);
	assert_true(registry.is_private);
	assert_has(registry.path, "/user/numarun");
	assert_number(mode_of(bench, "user/numarun"), 0700);
	claim = take(&registry, "3", "x");
	nr_claim_release(&claim);
	nr_registry_close(&registry);
	/* And again, now that it is there. */
	assert_np_ok(open_default(bench, "no/shared", "user", false, &registry, &err), &err);
	nr_registry_close(&registry);
}

static void without_any_place_both_are_named_with_the_remedy(void **state)
{
	struct bench *bench = *state;
	struct nr_registry registry;
	struct np_error err = { 0 };

	assert_fails(open_default(bench, "no/shared", NULL, true, &registry, &err), -ENOENT, &err,
	             "/no/shared: No such file or directory; XDG_RUNTIME_DIR is not set: let root "
	             "do mkdir -m 1777 /");
	assert_fails(open_default(bench, "no/shared", "none", true, &registry, &err), -ENOENT, &err,
	             "/none/numarun: No such file or directory: let root do mkdir -m 1777 /");
	/* A link in either place is not followed. */
	host_link(bench->host, "shared", "user");
	host_mkdir(bench->host, "user");
	assert_fails(open_default(bench, "shared", NULL, true, &registry, &err), -ENOTDIR, &err,
	             "/shared: Not a directory");
}

/* ---- the lock ---- */

static void who_waits_in_vain_is_told_for_whom(void **state)
{
	struct bench *bench = *state;
	struct nr_registry second;
	struct np_error err = { 0 };
	char text[64];

	assert_np_ok(nr_registry_open(bench->host->dir, true, &second, &err), &err);
	assert_number(second.lock_timeout_ms, 10000);
	second.lock_timeout_ms = 20;
	lock(&bench->registry);
	snprintf(text, sizeof(text), "has been locked for 0.02 s by PID %d: let that go on",
	         (int)getpid());
	assert_fails(nr_registry_lock(&second, &err), -ETIMEDOUT, &err, text);
	assert_refused(&second, "1", -ETIMEDOUT, text);
	assert_false(second.is_locked);

	host_write(bench->host, "other", "");
	assert_number(ftruncate(bench->registry.slots_fd, 0), 0);
	assert_fails(nr_registry_lock(&second, &err), -ETIMEDOUT, &err,
	             "by a process that left no name");

	nr_registry_unlock(&bench->registry);
	assert_np_ok(nr_registry_lock(&second, &err), &err);
	nr_registry_close(&second); /* and the lock with it */
	lock(&bench->registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		slots_test(a_claim_is_held_until_it_is_released),
		slots_test(a_holder_is_told_with_all_that_is_known),
		slots_test(what_is_held_is_refused_with_the_holders_name),
		slots_test(no_cpus_are_no_claim),
		slots_test(a_claim_under_the_callers_lock_leaves_it_locked),
		slots_test(long_lists_are_held),
		slots_test(the_longest_list_of_all_fits_into_a_record),
		slots_test(the_program_is_put_into_the_record),
		slots_test(a_claim_that_is_forgotten_leaves_its_record),
		slots_test(damaged_records_are_noted_and_passed_over),
		slots_test(what_is_no_file_is_noted_and_passed_over),
		slots_test(no_record_crashes_the_reader),
		slots_test(a_flood_of_records_is_read_in_part),
		slots_test(the_dead_hold_nothing_and_are_cleared_away_under_the_lock),
		slots_test(a_living_record_holds_without_its_locks),
		slots_test(a_file_of_slots_cut_short_or_overwritten_loses_no_lock),
		slots_test(locks_without_a_record_are_held_by_somebody),
		slots_test(a_folder_that_all_can_clear_is_noted),
		slots_test(slots_that_are_no_plain_file_are_refused),
		slots_test(slots_that_are_damaged_while_open_are_told_at_the_next_lock),
		slots_test(a_folder_that_is_not_there_is_named),
		slots_test(who_only_looks_makes_nothing),
		slots_test(root_makes_the_shared_folder_for_all),
		slots_test(a_shared_folder_that_is_there_is_taken),
		slots_test(without_a_shared_folder_it_is_the_users_own),
		slots_test(without_any_place_both_are_named_with_the_remedy),
		slots_test(who_waits_in_vain_is_told_for_whom),
	};

	return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
