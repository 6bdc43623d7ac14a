/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include "../../../server/client/samples.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 100000 };

static const struct nl_row rows[] = {
	{ .start_ns = 0 },
	{ .start_ns = 1, .response_ns = 2, .payload_ns = 3, .total_ns = 4, .key = 5, .arm = 6 },
	{ .start_ns = UINT64_MAX,
	  .response_ns = UINT64_C(10000000000),
	  .payload_ns = UINT64_C(20000000000),
	  .total_ns = UINT64_C(30000000000),
	  .key = UINT32_MAX,
	  .arm = NL_TRACE_ARMS_MAX - 1 },
	{ .response_ns = NL_SAMPLE_TIME_MAX,
	  .payload_ns = NL_SAMPLE_TIME_MAX,
	  .total_ns = NL_SAMPLE_TIME_MAX,
	  .key = 0x12345678 },
};

static void assert_row(struct nl_row found, const struct nl_row *wanted)
{
	assert_true(found.start_ns == wanted->start_ns);
	assert_number(found.response_ns, wanted->response_ns);
	assert_number(found.payload_ns, wanted->payload_ns);
	assert_number(found.total_ns, wanted->total_ns);
	assert_number(found.key, wanted->key);
	assert_number(found.arm, wanted->arm);
}

static struct nl_samples create(uint64_t capacity)
{
	struct nl_samples samples;
	struct np_sysroot root;
	struct np_error err = { 0 };
	unsigned node = 0;

	getcpu(NULL, &node);
	assert_np_ok(np_sysroot_open(NULL, &root, &err), &err);
	assert_np_ok(nl_samples_create(&root, capacity, (int)node, &samples, &err), &err);
	np_sysroot_close(&root);
	return samples;
}

static void rows_come_back_as_they_were_kept(void **state)
{
	struct nl_samples samples = create(ROWS);
	size_t count = sizeof(rows) / sizeof(rows[0]);

	(void)state;
	for (size_t i = 0; i < ROWS; i++)
		nl_samples_add(&samples, &rows[i % count]);
	assert_number(samples.count, ROWS);
	for (size_t i = 0; i < ROWS; i++)
		assert_row(nl_samples_get(&samples, i), &rows[i % count]);
	nl_samples_release(&samples);
	nl_samples_release(&samples);
}

static void a_time_beyond_what_fits_is_the_greatest_that_does(void **state)
{
	struct nl_samples samples = create(1);
	struct nl_row row = { .response_ns = 1,
		              .payload_ns = NL_SAMPLE_TIME_MAX + 1,
		              .total_ns = UINT64_MAX,
		              .key = 7,
		              .arm = 3 };

	(void)state;
	nl_samples_add(&samples, &row);
	row.payload_ns = NL_SAMPLE_TIME_MAX;
	row.total_ns = NL_SAMPLE_TIME_MAX;
	assert_row(nl_samples_get(&samples, 0), &row);
	nl_samples_release(&samples);
}

static void keeping_rows_faults_no_page_in(void **state)
{
	struct nl_samples samples = create(ROWS);
	struct rusage before;
	struct rusage after;

	(void)state;
	if (HAS_SANITIZER) {
		nl_samples_release(&samples);
		print_message("skipped: sanitizers fault pages of their own in\n");
		skip();
	}
	getrusage(RUSAGE_THREAD, &before);
	for (size_t i = 0; i < ROWS; i++)
		nl_samples_add(&samples, &rows[1]);
	getrusage(RUSAGE_THREAD, &after);
	/* 782 pages; the stack or a moved page may give a few. */
	assert_in_range(after.ru_minflt - before.ru_minflt, 0, 20);
	nl_samples_release(&samples);
}

static void where_the_pages_are_is_read_back(void **state)
{
	struct nl_samples samples = create(ROWS);
	char *nodes = np_cpulist_print(&samples.nodes);

	(void)state;
	assert_number(samples.bytes % (size_t)sysconf(_SC_PAGESIZE), 0);
	if (samples.looked > 0) {
		assert_number(samples.looked, samples.bytes / (size_t)sysconf(_SC_PAGESIZE));
		assert_text(nodes, nodes && *nodes ? nodes : "a node");
	} else {
		print_message("skipped: the kernel does not tell where pages are\n");
	}
	free(nodes);
	nl_samples_release(&samples);
}

static void too_little_memory_is_told_with_what_is_needed(void **state)
{
	const struct host *host = *state;
	struct nl_samples samples = { 0 };
	struct np_error err = { 0 };

	host_write(
		host, "proc/meminfo",
		"MemTotal:       1000000 kB\nMemFree:        10000 kB\nMemAvailable:   400000 kB\n");
	assert_fails(
		nl_samples_create(&host->root, 17166137, -1, &samples, &err), -ENOMEM, &err,
		"17166137 requests need 550 MB of memory for their rows: 409 MB are available");
	assert_null(samples.rows);
}

static void a_host_that_tells_nothing_of_its_memory_will_do(void **state)
{
	static const char *const texts[] = { NULL, "", "MemFree: 1 kB", "MemAvailable" };
	const struct host *host = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct nl_samples samples;
		struct np_error err = { 0 };

		if (texts[i])
			host_write(host, "proc/meminfo", texts[i]);
		assert_np_ok(nl_samples_create(&host->root, 1, -1, &samples, &err), &err);
		nl_samples_release(&samples);
	}
}

/* What a process without privileges and with few resources has, told by its exit status. */
static int limited(int resource, rlim_t bytes, const char *part)
{
	const struct rlimit limit = { bytes, bytes };
	struct nl_samples samples = { 0 };
	struct np_sysroot root;
	struct np_error err = { 0 };
	bool ok;

	if (np_sysroot_open(NULL, &root, NULL) < 0 || setrlimit((unsigned)resource, &limit) < 0 ||
	    (geteuid() == 0 && setuid(65534) < 0))
		return 2;
	ok = nl_samples_create(&root, 4000000, -1, &samples, &err) == 0;
	if (resource == RLIMIT_MEMLOCK)
		return ok && !samples.is_locked && strstr(samples.unlocked.text, part) ? 0 : 1;
	return !ok && err.code == ENOMEM && strstr(err.text, part) ? 0 : 1;
}

static void limits_are_named(void **state)
{
	static const struct {
		int resource;
		rlim_t bytes;
		const char *part;
	} cases[] = {
		{ RLIMIT_MEMLOCK, 65536, "ulimit -l is 64 KiB; raise it, or give CAP_IPC_LOCK" },
		{ RLIMIT_AS, 100000000,
		  "4000000 requests need 128 MB of memory for their rows: "
		  "ulimit -v is 100 MB" },
	};

	(void)state;
	if (HAS_SANITIZER) {
		print_message("skipped: sanitizers keep limits away from us\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t child = fork_child();
		int status = 0;

		if (child == 0)
			_exit(limited(cases[i].resource, cases[i].bytes, cases[i].part));
		check_case("%s", cases[i].part);
		assert_number(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_number(WEXITSTATUS(status), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_back_as_they_were_kept),
		cmocka_unit_test(a_time_beyond_what_fits_is_the_greatest_that_does),
		cmocka_unit_test(keeping_rows_faults_no_page_in),
		cmocka_unit_test(where_the_pages_are_is_read_back),
		host_test(too_little_memory_is_told_with_what_is_needed),
		host_test(a_host_that_tells_nothing_of_its_memory_will_do),
		cmocka_unit_test(limits_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
