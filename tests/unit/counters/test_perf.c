/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of perf_event_open(2): on this kernel, with software events that stand for boxes; CPUs
 * and PMUs come and go in a made-up sysfs. What this kernel cannot be made to do, it is made to say
 * by the wrapped system calls.
 */
#include "../../../counters/lib/log.h"
#include "../../../counters/lib/perf.h"
#include "host.h"
#include "software.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ONLINE "sys/devices/system/cpu/online"
#define PMU_DIR "sys/bus/event_source/devices/"
#define MS UINT64_C(1000000)

enum { NOBODY = 65534, READINGS_MAX = 8, EVER = 1000 };

/* ---- what the kernel says ---- */

enum reading_fault { HONEST, END_OF_FILE, ERROR, TAKEN_APART, STALLED, CROWDED_OUT };

static struct {
	/* Opens number @first and the @count - 1 after it give @open_code. */
	unsigned first, count;
	int open_code;
	enum reading_fault reading; /* of file @fd, or of all that lead where it is -1 */
	int fd;
	uint64_t stalled_ns; /* what enabled and running stay at; CROWDED_OUT: running of groups */
	const char *gone;    /* the text of the files that give ENODEV, or NULL */
	unsigned opens, reads;
	uint32_t type; /* of the last open */
} says;

int __real_nc_perf_sys_open(union nc_perf_attr *attr, unsigned cpu, int leader);
int __wrap_nc_perf_sys_open(union nc_perf_attr *attr, unsigned cpu, int leader);
ssize_t __real_nc_perf_sys_read(int fd, uint64_t *buf, size_t size);
ssize_t __wrap_nc_perf_sys_read(int fd, uint64_t *buf, size_t size);
ssize_t __real_nc_perf_sys_look(int fd, char *buf, size_t size);
ssize_t __wrap_nc_perf_sys_look(int fd, char *buf, size_t size);

int __wrap_nc_perf_sys_open(union nc_perf_attr *attr, unsigned cpu, int leader)
{
	unsigned number = says.opens++;

	says.type = attr->attr.type;
	if (number >= says.first && number - says.first < says.count)
		return -says.open_code;
	return __real_nc_perf_sys_open(attr, cpu, leader);
}

ssize_t __wrap_nc_perf_sys_read(int fd, uint64_t *buf, size_t size)
{
	ssize_t n = __real_nc_perf_sys_read(fd, buf, size);

	says.reads++;
	if (says.fd >= 0 && says.fd != fd)
		return n;
	switch (says.reading) {
	case END_OF_FILE:
		return 0;
	case ERROR:
		return -EIO;
	case TAKEN_APART:
		buf[0] = 1;
		return 4 * sizeof(*buf);
	case STALLED:
		buf[1] = buf[2] = says.stalled_ns;
		return n;
	case CROWDED_OUT:
		if (buf[0] > 1)
			buf[2] = says.stalled_ns;
		return n;
	case HONEST:
		break;
	}
	return n;
}

ssize_t __wrap_nc_perf_sys_look(int fd, char *buf, size_t size)
{
	ssize_t n = __real_nc_perf_sys_look(fd, buf, size);

	if (says.gone && n == (ssize_t)strlen(says.gone) && memcmp(buf, says.gone, (size_t)n) == 0)
		return -ENODEV;
	return n;
}

/* ---- a backend over software events ---- */

struct bench {
	struct host *host;
	struct nc_host *live; /* for the explanation of errors */
	struct nc_counters counters;
	struct nc_log log;
	struct nc_backend *backend;
	struct nc_reading before[READINGS_MAX], now[READINGS_MAX];
	uint64_t before_ns, now_ns;
};

static const struct nc_pmu box = { .name = "uncore_box_0", .has_cpus = true };
static const struct nc_pmu other_box = { .name = "uncore_box_1", .has_cpus = true };
static const struct nc_pmu core = { .name = "cpu", .is_core = true };

static void begin(struct bench *bench, void **state, const struct nc_counter *items, size_t count)
{
	const struct nc_host_source here = { 0 };
	struct np_error err;

	memset(&says, 0, sizeof(says));
	says.fd = -1;
	need_counting();
	says.opens = 0;
	*bench = (struct bench){ .host = *state, .counters = software_list(items, count) };
	assert_np_ok(nc_host_load(&here, &bench->live, &err), &err);
}

static int open_bench(struct bench *bench, struct np_error *err)
{
	return nc_perf_open_root(bench->host->dir, bench->live, &bench->counters, &bench->log,
	                         &bench->backend, err);
}

static int read_bench(struct bench *bench, struct np_error *err)
{
	memcpy(bench->before, bench->now, sizeof(bench->now));
	bench->before_ns = bench->now_ns;
	bench->now_ns = clock_now();
	return bench->backend->ops->read(bench->backend, bench->now_ns, bench->now, err);
}

/* 20 ms later. */
static void pass(struct bench *bench)
{
	struct np_error err;

	pass_time_ns(20 * MS);
	assert_np_ok(read_bench(bench, &err), &err);
}

static void start(struct bench *bench)
{
	struct np_error err;

	assert_np_ok(open_bench(bench, &err), &err);
	assert_np_ok(read_bench(bench, &err), &err);
	pass(bench);
}

static void end(struct bench *bench)
{
	if (bench->backend)
		bench->backend->ops->close(bench->backend);
	nc_counters_release(&bench->counters);
	nc_host_free(bench->live);
}

static struct nc_perf *perf_of(struct bench *bench)
{
	return (struct nc_perf *)bench->backend;
}

/* One of its sentences has @part in it. */
static void assert_told(const struct bench *bench, const char *part)
{
	char all[NC_LOG_SENTENCES_MAX * NC_LOG_SENTENCE_SIZE] = "";
	size_t used = 0;

	for (size_t i = 0; i < nc_log_count(&bench->log); i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s\n",
		                         nc_log_sentence(&bench->log, i));
	assert_has(all, part);
}

/* It counts, and what it gained is no more than the time that can have passed. */
static void assert_counts(const struct bench *bench, size_t i)
{
	const struct nc_reading *a = &bench->before[i];
	const struct nc_reading *b = &bench->now[i];

	assert_true(b->raw > a->raw);
	assert_true(b->enabled_ns > a->enabled_ns);
	assert_true(b->running_ns - a->running_ns <= b->enabled_ns - a->enabled_ns);
	assert_true(b->raw - a->raw <= clock_now() - bench->before_ns);
}

static void assert_stands(const struct bench *bench, size_t i)
{
	assert_true(bench->now[i].raw == bench->before[i].raw);
	assert_true(bench->now[i].enabled_ns == bench->before[i].enabled_ns);
	assert_true(bench->now[i].running_ns == bench->before[i].running_ns);
}

/* Two CPUs, each a socket of one die, and a box that both have. */
static void write_machine(const struct bench *bench)
{
	host_write(bench->host, ONLINE, "0-1\n");
	host_write(bench->host, PMU_DIR "uncore_box_0/cpumask", "0-1\n");
	host_write(bench->host, PMU_DIR "uncore_box_0/type", "1\n");
	host_write(bench->host, PMU_DIR "uncore_box_1/cpumask", "0,1\n");
	host_write(bench->host, PMU_DIR "uncore_box_1/type", "1\n");
	host_write(bench->host, PMU_DIR "cpu/type", "4\n");
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		host_write_cpu(bench->host, cpu, "topology/physical_package_id",
		               cpu ? "1\n" : "0\n");
		host_write_cpu(bench->host, cpu, "topology/die_id", "0\n");
	}
}

/* The same, with both CPUs in socket 0 and the box owned by the first. */
static void write_one_socket(const struct bench *bench)
{
	write_machine(bench);
	host_write(bench->host, PMU_DIR "uncore_box_0/cpumask", "0\n");
	host_write_cpu(bench->host, 1, "topology/physical_package_id", "0\n");
}

/* The same file says something else from now on, as the kernel's do. */
static void rewrite(const struct bench *bench, const char *path, const char *text)
{
	int fd = openat(bench->host->root.fd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_number(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static unsigned count_files(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* ---- opening ---- */

static void each_group_is_one_read_at_one_instant(void **state)
{
	const struct nc_counter items[] = {
		software_counter(&box, 0, 0, 0), software_counter(&box, 0, 0, 0),
		software_counter(&box, 0, 0, 0), software_counter(&box, 1, 1, 1),
		software_counter(&box, 1, 1, 1),
	};
	struct bench bench;

	begin(&bench, state, items, 5);
	write_machine(&bench);
	start(&bench);
	says.reads = 0;
	pass(&bench);

	assert_number(says.reads, 2);
	for (size_t i = 0; i < 5; i++) {
		assert_number(bench.now[i].note, NC_NOTE_NONE);
		assert_true(bench.now[i].running_ns == bench.now[i].enabled_ns);
		assert_counts(&bench, i);
	}
	assert_true(bench.now[0].enabled_ns == bench.now[2].enabled_ns);
	assert_true(bench.now[0].enabled_ns != bench.now[3].enabled_ns);
	end(&bench);
}

static void a_counter_too_many_leads_a_group_of_its_own(void **state)
{
	const struct nc_counter items[] = {
		software_counter(&box, 0, 0, 0),
		software_counter(&box, 0, 0, 0),
		software_counter(&box, 0, 0, 0),
		software_counter(&box, 0, 0, 0),
	};
	struct bench bench;

	begin(&bench, state, items, 4);
	write_machine(&bench);
	says.first = 2;
	says.count = 1;
	says.open_code = EINVAL;
	start(&bench);
	says.reads = 0;
	pass(&bench);

	assert_number(says.opens, 5);
	assert_number(says.reads, 2);
	assert_number(perf_of(&bench)->group_count, 2);
	for (size_t i = 0; i < 4; i++)
		assert_counts(&bench, i);
	assert_number(nc_log_count(&bench.log), 0);
	end(&bench);
}

/* As where a rival has pinned some of a box's counters. */
static void a_group_that_never_fits_is_split_before_anything_is_counted(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 1, 1, 1) };
	struct bench bench;

	begin(&bench, state, items, 3);
	write_machine(&bench);
	says.reading = CROWDED_OUT;
	start(&bench);

	assert_number(perf_of(&bench)->group_count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_number(bench.now[i].note, NC_NOTE_NONE);
		assert_counts(&bench, i);
	}
	assert_told(&bench, "uncore_box_0 of socket 0: its events do not fit into its counters");
	assert_number(nc_log_count(&bench.log), 1);
	end(&bench);
}

static void a_group_that_runs_no_more_is_split_and_goes_on_without_a_jump(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 0, 0, 0) };
	struct bench bench;
	uint64_t raw;

	begin(&bench, state, items, 2);
	write_machine(&bench);
	start(&bench);
	raw = bench.now[1].raw;
	says.reading = CROWDED_OUT;
	says.stalled_ns = bench.now[0].running_ns;
	pass(&bench);
	assert_number(perf_of(&bench)->group_count, 1);
	assert_true(bench.now[0].running_ns == bench.before[0].running_ns);
	pass(&bench);

	assert_number(perf_of(&bench)->group_count, 2);
	assert_true(bench.now[1].raw >= raw);
	for (unsigned k = 0; k < 2; k++) {
		pass(&bench);
		assert_number(bench.now[1].note, NC_NOTE_NONE);
		assert_counts(&bench, 0);
		assert_counts(&bench, 1);
	}
	assert_told(&bench, "take turns");
	end(&bench);
}

static void what_the_kernel_refuses_has_a_code_and_leaves_nothing_open(void **state)
{
	static const struct {
		int code, wanted;
	} cases[] = {
		{ EACCES, -EACCES },  { EPERM, -EACCES },   { ENOSYS, -EACCES },
		{ EBUSY, -EBUSY },    { EMFILE, -EMFILE },  { ENFILE, -EMFILE },
		{ ENOMEM, -ENOMEM },  { ENODEV, -ENODATA }, { ENOENT, -ENODATA },
		{ EINVAL, -ENODATA },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
			                            software_counter(&box, 1, 1, 1) };
		struct bench bench;
		struct np_error err;
		unsigned files;

		check_case("errno %d", cases[i].code);
		begin(&bench, state, items, 2);
		write_machine(&bench);
		says.count = EVER;
		says.open_code = cases[i].code;
		files = count_files();

		assert_fails(open_bench(&bench, &err), cases[i].wanted, &err, "");
		assert_number(count_files(), files);
		end(&bench);
	}
}

static void a_refusal_in_the_middle_closes_what_was_open(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 1, 1, 1) };
	struct bench bench;
	struct np_error err;
	unsigned files;

	begin(&bench, state, items, 2);
	write_machine(&bench);
	says.first = 1;
	says.count = EVER;
	says.open_code = EACCES;
	files = count_files();

	assert_fails(open_bench(&bench, &err), -EACCES, &err, "");
	assert_number(count_files(), files);
	end(&bench);
}

static void a_box_that_is_not_there_does_not_stop_the_others(void **state)
{
	const struct nc_counter items[] = {
		software_counter(&box, 0, 0, 0),
		software_counter(&box, 0, 0, 0),
		software_counter(&box, 1, 1, 1),
		software_counter(&box, 1, 1, 1),
	};
	struct bench bench;

	begin(&bench, state, items, 4);
	write_machine(&bench);
	says.first = 2;
	says.count = 2;
	says.open_code = ENODEV;
	start(&bench);

	assert_counts(&bench, 0);
	assert_counts(&bench, 1);
	assert_number(bench.now[2].note, NC_NOTE_FAILED);
	assert_number(bench.now[3].note, NC_NOTE_FAILED);
	assert_number(nc_log_count(&bench.log), 1);
	assert_told(&bench, "2 of 4 counters cannot be opened, the first is cpu-clock of "
	                    "uncore_box_0 on CPU 1: ");
	end(&bench);
}

/* In a child, as a hard limit cannot be raised again. 0 = as wanted. */
static int open_with_files(struct bench *bench, rlim_t soft, rlim_t hard, int wanted)
{
	const struct rlimit limit = { .rlim_cur = soft, .rlim_max = hard };
	struct np_error err = { 0 };
	struct rlimit after;

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 2;
	if (open_bench(bench, &err) != wanted)
		return 3;
	if (wanted == -EMFILE && (says.opens > 0 || !strstr(err.text, "RLIMIT_NOFILE is ")))
		return 4;
	if (getrlimit(RLIMIT_NOFILE, &after) < 0)
		return 5;
	if (wanted)
		return after.rlim_cur == soft ? 0 : 6;
	/* By what was lacking, as a program that is run inherits it. */
	return after.rlim_cur > soft && after.rlim_cur < hard ? 0 : 7;
}

static void the_number_of_files_is_known_before_anything_is_opened(void **state)
{
	static const struct {
		rlim_t soft, hard;
		int wanted;
	} cases[] = { { 24, 24, -EMFILE }, { 24, 200, 0 } };
	struct nc_counter items[READINGS_MAX];

	for (size_t i = 0; i < READINGS_MAX; i++)
		items[i] = software_counter(&box, 0, 0, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench bench;
		pid_t child;
		int status;

		check_case("limit %u of %u", (unsigned)cases[i].soft, (unsigned)cases[i].hard);
		begin(&bench, state, items, READINGS_MAX);
		write_machine(&bench);
		child = fork_child();
		if (child == 0)
			_exit(open_with_files(&bench, cases[i].soft, cases[i].hard,
			                      cases[i].wanted));
		assert_number(waitpid(child, &status, 0), child);
		assert_number(status, 0);
		end(&bench);
	}
}

static bool is_paranoid(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = -1;

	if (!file)
		return false;
	if (fscanf(file, "%d", &level) != 1)
		level = -1;
	fclose(file);
	return level > 0;
}

static int open_as_nobody(struct bench *bench)
{
	struct np_error err = { 0 };

	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return 2;
	if (open_bench(bench, &err) != -EACCES)
		return 3;
	return strstr(err.text, "perf_event_paranoid") ? 0 : 4;
}

static void nobody_is_told_of_the_setting(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0) };
	struct bench bench;
	pid_t child;
	int status;

	if (getuid() != 0 || !is_paranoid()) {
		print_message("skipped: needs root and perf_event_paranoid above 0\n");
		skip();
	}
	begin(&bench, state, items, 1);
	write_machine(&bench);
	assert_number(chmod(bench.host->dir, 0755), 0);
	child = fork_child();
	if (child == 0)
		_exit(open_as_nobody(&bench));
	assert_number(waitpid(child, &status, 0), child);
	assert_number(status, 0);
	end(&bench);
}

/* ---- reading ---- */

static void reading_takes_no_memory_and_no_files(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&core, 1, 1, 1) };
	struct bench bench;
	struct np_error err;
	struct mallinfo2 before, after;
	unsigned files;

	begin(&bench, state, items, 2);
	write_machine(&bench);
	start(&bench);
	files = count_files();
	before = mallinfo2();
	for (unsigned i = 0; i < 10000; i++)
		assert_number(read_bench(&bench, &err), 0);
	after = mallinfo2();

	assert_number(after.uordblks, before.uordblks);
	assert_number(count_files(), files);
	assert_number(nc_log_count(&bench.log), 0);
	end(&bench);
}

static void what_cannot_be_read_is_failed_until_it_can(void **state)
{
	static const struct {
		enum reading_fault fault;
		const char *why;
	} cases[] = { { END_OF_FILE, "No data available" }, { ERROR, "Input/output error" } };
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 1, 1, 1) };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench bench;

		check_case("%s", cases[i].why);
		begin(&bench, state, items, 2);
		write_machine(&bench);
		start(&bench);
		says.reading = cases[i].fault;
		says.fd = perf_of(&bench)->groups[1].fd;
		pass(&bench);
		pass(&bench);

		assert_counts(&bench, 0);
		assert_number(bench.now[1].note, NC_NOTE_FAILED);
		assert_stands(&bench, 1);
		assert_told(&bench, "uncore_box_0 of socket 1: reading the counters of CPU 1 "
		                    "failed: ");
		assert_told(&bench, cases[i].why);
		assert_number(nc_log_count(&bench.log), 1);

		says.reading = HONEST;
		pass(&bench);
		assert_number(bench.now[1].note, NC_NOTE_NONE);
		assert_true(bench.now[1].raw > bench.before[1].raw);
		assert_told(&bench, "can be read again");
		end(&bench);
	}
}

/* ---- CPUs ---- */

static void a_driver_that_moves_its_events_needs_no_help(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 0, 0, 0) };
	struct bench bench;

	begin(&bench, state, items, 2);
	write_one_socket(&bench);
	start(&bench);
	rewrite(&bench, ONLINE, "1\n");
	rewrite(&bench, PMU_DIR "uncore_box_0/cpumask", "1\n");
	pass(&bench);

	assert_number(bench.now[0].note, NC_NOTE_MOVED);
	assert_number(bench.now[1].note, NC_NOTE_MOVED);
	assert_counts(&bench, 0);
	assert_number(says.opens, 2);
	assert_told(&bench, "uncore_box_0 of socket 0 moved from CPU 0 to CPU 1");

	pass(&bench);
	assert_number(bench.now[0].note, NC_NOTE_NONE);
	assert_counts(&bench, 0);
	assert_number(nc_log_count(&bench.log), 1);
	end(&bench);
}

static void a_box_that_stood_still_is_opened_again_without_a_jump(void **state)
{
	static const enum reading_fault faults[] = { STALLED, TAKEN_APART };
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 0, 0, 0) };

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct bench bench;

		check_case("fault %d", (int)faults[i]);
		begin(&bench, state, items, 2);
		write_one_socket(&bench);
		start(&bench);
		rewrite(&bench, ONLINE, "1\n");
		rewrite(&bench, PMU_DIR "uncore_box_0/cpumask", "1\n");
		says.reading = faults[i];
		says.stalled_ns = bench.now[0].enabled_ns;
		pass(&bench);
		says.reading = HONEST;

		assert_number(bench.now[0].note, NC_NOTE_MOVED);
		assert_number(says.opens, 4);
		assert_number(perf_of(&bench)->groups[0].cpu, 1);
		assert_told(&bench, "uncore_box_0 of socket 0 stopped counting on CPU 1: opened "
		                    "again on CPU 1");
		for (unsigned k = 0; k < 2; k++) {
			pass(&bench);
			assert_number(bench.now[0].note, NC_NOTE_NONE);
			assert_counts(&bench, 0);
			assert_counts(&bench, 1);
		}
		end(&bench);
	}
}

/* The kernel has taken the leader's group apart, and each counter keeps its own last words. */
static void what_was_counted_before_a_cpu_went_is_kept(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 1, 1, 0) };
	struct bench bench;

	begin(&bench, state, items, 1);
	write_machine(&bench);
	start(&bench);
	rewrite(&bench, ONLINE, "0\n");
	rewrite(&bench, PMU_DIR "uncore_box_0/cpumask", "0\n");
	pass(&bench);

	assert_number(bench.now[0].note, NC_NOTE_OFFLINE);
	assert_counts(&bench, 0);
	end(&bench);
}

static void a_socket_without_cpus_is_offline_until_it_has_one(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 1, 1, 1),
		                            software_counter(&other_box, 1, 1, 2) };
	struct bench bench;

	begin(&bench, state, items, 3);
	write_machine(&bench);
	start(&bench);
	rewrite(&bench, ONLINE, "0\n");
	rewrite(&bench, PMU_DIR "uncore_box_0/cpumask", "0\n");
	rewrite(&bench, PMU_DIR "uncore_box_1/cpumask", "0\n");
	host_remove(bench.host, "sys/devices/system/cpu/cpu1/topology");
	pass(&bench);
	pass(&bench);

	assert_counts(&bench, 0);
	assert_number(bench.now[0].note, NC_NOTE_NONE);
	assert_number(bench.now[1].note, NC_NOTE_OFFLINE);
	assert_number(bench.now[2].note, NC_NOTE_OFFLINE);
	assert_stands(&bench, 1);
	assert_number(nc_log_count(&bench.log), 1);
	assert_told(&bench, "uncore_box_0 and 1 more of socket 1: CPU 1 went offline");

	host_write_cpu(bench.host, 1, "topology/physical_package_id", "1\n");
	rewrite(&bench, ONLINE, "0-1\n");
	rewrite(&bench, PMU_DIR "uncore_box_0/cpumask", "0-1\n");
	pass(&bench);
	assert_number(bench.now[1].note, NC_NOTE_OFFLINE);
	assert_stands(&bench, 1);
	assert_told(&bench, "uncore_box_0 and 1 more of socket 1 counts again, on CPU 1");
	pass(&bench);
	assert_number(bench.now[1].note, NC_NOTE_NONE);
	assert_counts(&bench, 1);
	assert_counts(&bench, 2);
	end(&bench);
}

static void a_core_that_is_offline_counts_nothing_and_that_is_known(void **state)
{
	const struct nc_counter items[] = { software_counter(&core, 1, 1, 0) };
	struct bench bench;

	begin(&bench, state, items, 1);
	write_machine(&bench);
	start(&bench);
	rewrite(&bench, ONLINE, "0\n");
	pass(&bench);
	pass(&bench);

	assert_number(bench.now[0].note, NC_NOTE_NONE);
	assert_true(bench.now[0].raw == bench.before[0].raw);
	assert_true(bench.now[0].enabled_ns - bench.before[0].enabled_ns ==
	            bench.now_ns - bench.before_ns);
	assert_true(bench.now[0].running_ns - bench.before[0].running_ns ==
	            bench.now_ns - bench.before_ns);
	assert_told(&bench, "cpu: CPU 1 went offline: counts nothing until it is back");
	assert_number(nc_log_count(&bench.log), 1);

	rewrite(&bench, ONLINE, "0-1\n");
	pass(&bench);
	pass(&bench);
	assert_number(bench.now[0].note, NC_NOTE_NONE);
	assert_counts(&bench, 0);
	assert_told(&bench, "cpu of socket 1 counts again, on CPU 1");
	end(&bench);
}

static void what_cannot_be_opened_again_is_failed_until_it_can(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0) };
	struct bench bench;

	begin(&bench, state, items, 1);
	write_one_socket(&bench);
	start(&bench);
	says.reading = STALLED;
	says.stalled_ns = bench.now[0].enabled_ns;
	says.first = says.opens;
	says.count = EVER;
	says.open_code = EBUSY;
	pass(&bench);
	says.reading = HONEST;
	pass(&bench);
	assert_number(bench.now[0].note, NC_NOTE_FAILED);
	assert_told(&bench, "uncore_box_0 of socket 0: opening the counters again on CPU 0 failed: "
	                    "Device or resource busy");
	assert_number(nc_log_count(&bench.log), 1);

	says.count = 0;
	/* It is tried again every second. */
	perf_of(&bench)->retry_ns -= NS_PER_S;
	pass(&bench);
	pass(&bench);
	assert_number(bench.now[0].note, NC_NOTE_NONE);
	assert_counts(&bench, 0);
	end(&bench);
}

/* ---- PMUs ---- */

static void a_pmu_that_went_is_left_alone_and_found_again(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 1, 1, 1),
		                            software_counter(&other_box, 0, 0, 2) };
	struct bench bench;
	int fd;

	begin(&bench, state, items, 4);
	write_machine(&bench);
	start(&bench);
	fd = perf_of(&bench)->groups[0].fd;
	says.gone = "0-1\n";
	host_remove(bench.host, PMU_DIR "uncore_box_0");
	says.reads = 0;
	pass(&bench);
	pass(&bench);

	assert_number(says.reads, 2);
	assert_number(bench.now[0].note, NC_NOTE_GONE);
	assert_number(bench.now[2].note, NC_NOTE_GONE);
	assert_number(bench.now[3].note, NC_NOTE_NONE);
	assert_stands(&bench, 0);
	assert_counts(&bench, 3);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	assert_told(&bench, "uncore_box_0: the PMU was unregistered");
	assert_number(nc_log_count(&bench.log), 1);

	says.gone = NULL;
	host_write(bench.host, PMU_DIR "uncore_box_0/cpumask", "0-1\n");
	host_write(bench.host, PMU_DIR "uncore_box_0/type", "1\n");
	perf_of(&bench)->retry_ns -= NS_PER_S;
	pass(&bench);
	assert_number(bench.now[0].note, NC_NOTE_GONE);
	assert_told(&bench, "uncore_box_0 of socket 0: the PMU is registered again: counted on "
	                    "CPU 0");
	pass(&bench);
	assert_number(bench.now[0].note, NC_NOTE_NONE);
	for (size_t i = 0; i < 4; i++)
		assert_counts(&bench, i);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	end(&bench);
	assert_true(fcntl(fd, F_GETFD) < 0);
}

static void a_pmu_that_comes_back_has_another_type(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&other_box, 0, 0, 1) };
	struct bench bench;

	begin(&bench, state, items, 2);
	write_machine(&bench);
	start(&bench);
	says.gone = "0-1\n";
	pass(&bench);
	says.gone = NULL;
	host_write(bench.host, PMU_DIR "uncore_box_0/type", "31337\n");
	perf_of(&bench)->retry_ns -= NS_PER_S;
	pass(&bench);

	assert_number(says.type, 31337);
	assert_number(bench.now[0].note, NC_NOTE_FAILED);
	assert_told(&bench, "failed: No such file or directory");
	end(&bench);
}

static void without_any_pmu_there_is_nothing_to_read(void **state)
{
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 1, 1, 1) };
	struct bench bench;
	struct np_error err;

	begin(&bench, state, items, 2);
	write_machine(&bench);
	start(&bench);
	says.gone = "0-1\n";
	host_remove(bench.host, PMU_DIR "uncore_box_0");

	assert_fails(read_bench(&bench, &err), -ENODATA, &err, "unregistered");
	assert_fails(read_bench(&bench, &err), -ENODATA, &err, "unregistered");
	assert_number(bench.now[0].note, NC_NOTE_GONE);
	end(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(each_group_is_one_read_at_one_instant),
		host_test(a_counter_too_many_leads_a_group_of_its_own),
		host_test(a_group_that_never_fits_is_split_before_anything_is_counted),
		host_test(a_group_that_runs_no_more_is_split_and_goes_on_without_a_jump),
		host_test(what_the_kernel_refuses_has_a_code_and_leaves_nothing_open),
		host_test(a_refusal_in_the_middle_closes_what_was_open),
		host_test(a_box_that_is_not_there_does_not_stop_the_others),
		host_test(the_number_of_files_is_known_before_anything_is_opened),
		host_test(nobody_is_told_of_the_setting),
		host_test(reading_takes_no_memory_and_no_files),
		host_test(what_cannot_be_read_is_failed_until_it_can),
		host_test(a_driver_that_moves_its_events_needs_no_help),
		host_test(a_box_that_stood_still_is_opened_again_without_a_jump),
		host_test(what_was_counted_before_a_cpu_went_is_kept),
		host_test(a_socket_without_cpus_is_offline_until_it_has_one),
		host_test(a_core_that_is_offline_counts_nothing_and_that_is_known),
		host_test(what_cannot_be_opened_again_is_failed_until_it_can),
		host_test(a_pmu_that_went_is_left_alone_and_found_again),
		host_test(a_pmu_that_comes_back_has_another_type),
		host_test(without_any_pmu_there_is_nothing_to_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
