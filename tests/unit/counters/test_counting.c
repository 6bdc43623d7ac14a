/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numarun --counters: when samples are taken, and what becomes of them. The kernel's software events
 * stand for the counters of memory and links, which not every machine has.
 */
#include "../../../launcher/counting.h"

#include <numacount/host.h>
#include <numacount/session.h>
#include <numacount/tally.h>

#include "host.h"
#include "software.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { PATH_SIZE = 512, TEXT_SIZE = 16384 };

static const char table[] = "[family software]\n"
			    "title = software events\n"
			    "cpu = GenuineIntel 255/255\n"
			    "counters = 64\n"
			    "source = include/uapi/linux/perf_event.h\n"
			    "[event cpu_clock]\n"
			    "class = memory_read\n"
			    "pmu = software\n"
			    "terms = config=0x0\n"
			    "units = 1/1\n"
			    "source = include/uapi/linux/perf_event.h\n";

static const char *in_dir(const struct host *dir, const char *name, char path[PATH_SIZE])
{
	snprintf(path, PATH_SIZE, "%s/%s", dir->dir, name);
	return path;
}

static unsigned count_lines(const char *path)
{
	FILE *in = fopen(path, "re");
	unsigned lines = 0;
	int c;

	assert_non_null(in);
	while ((c = getc(in)) != EOF)
		lines += c == '\n';
	fclose(in);
	return lines;
}

/* What nr_counting_begin() opens, but of software events. @file NULL = a summary. */
static void open_counting(const struct host *dir, const char *file, struct nr_counting *c)
{
	const struct nc_session_options options = { 0 };
	const struct nc_peaks_source peak = { 0 };
	char events[PATH_SIZE];
	const struct nc_host_source from = { .events_file = in_dir(dir, "software.ini", events),
		                             .family = "software" };
	struct np_error err;

	need_counting();
	host_write(dir, "software.ini", table);
	*c = (struct nr_counting){ 0 };
	assert_np_ok(nc_host_load(&from, &c->host, &err), &err);
	assert_np_ok(nc_session_open(c->host, &options, &c->session, &err), &err);
	assert_np_ok(nc_peaks_create(c->host, nc_session_series(c->session),
	                             nc_session_series_count(c->session), &peak, &c->peaks, &err),
	             &err);
	assert_np_ok(nc_tally_create(nc_session_series(c->session),
	                             nc_session_series_count(c->session), &c->tally, &err),
	             &err);
	if (!file)
		return;
	nc_rows_describe(c->host, c->session, c->peaks, 1000, &c->about);
	assert_np_ok(nc_rows_open(file, NC_ROWS_CSV, &c->about, &c->rows, &err), &err);
}

/* ---- opening ---- */

static void without_the_option_nothing_is_opened(void **state)
{
	const struct nr_args args = { 0 };
	struct nr_counting counting;
	struct np_error err;

	(void)state;
	assert_np_ok(nr_counting_begin(&args, &counting, &err), &err);

	assert_null(counting.host);
	assert_true(nr_counting_tick(&counting, 1) == UINT64_MAX);
	nr_counting_conclude(&counting);
	nr_counting_end(&counting);
}

static void a_file_that_tells_no_format_is_refused_before_anything_is_opened(void **state)
{
	static const char *const names[] = { "out.txt", "out", "", "csv", "out.csv.gz", "a.csv/b" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct nr_args args = { .counts = true, .counters_file = names[i] };
		struct nr_counting counting;
		struct np_error err;

		check_case("%s", names[i]);
		assert_fails(nr_counting_begin(&args, &counting, &err), -EINVAL, &err,
		             "its end must tell the format: .csv, or .jsonl");
		assert_has(err.text, "--counters: ");
		assert_null(counting.host);
		nr_counting_end(&counting);
	}
}

/* ---- counting ---- */

static void a_sample_is_taken_when_it_is_due_and_at_the_end(void **state)
{
	const struct host *dir = *state;
	const uint64_t start_ns = 5 * NS_PER_S;
	struct nr_counting counting;
	char file[PATH_SIZE];
	unsigned rows;

	open_counting(dir, in_dir(dir, "out.csv", file), &counting);
	rows = (unsigned)nc_session_series_count(counting.session);

	assert_true(nr_counting_tick(&counting, start_ns) == start_ns + NS_PER_S);
	assert_true(nr_counting_tick(&counting, start_ns + NS_PER_S - 1) == start_ns + NS_PER_S);
	assert_number(count_lines(file), 1);
	assert_true(nr_counting_tick(&counting, start_ns + NS_PER_S) == start_ns + 2 * NS_PER_S);
	assert_number(count_lines(file), 1 + rows);
	/* Late by two and a half: one sample, and in step again. */
	assert_true(nr_counting_tick(&counting, start_ns + NS_PER_S * 9 / 2) ==
	            start_ns + 5 * NS_PER_S);
	assert_number(count_lines(file), 1 + 2 * rows);
	nr_counting_conclude(&counting);
	assert_number(count_lines(file), 1 + 3 * rows);
	assert_false(counting.has_failed);
	nr_counting_end(&counting);
}

/* Standard error, diverted into a pipe, which RLIMIT_FSIZE does not hold for. */
struct diverted {
	int before;
	int reader;
};

static struct diverted divert(void)
{
	int ends[2];
	struct diverted diverted = { .before = dup(STDERR_FILENO) };

	assert_true(diverted.before >= 0);
	assert_number(pipe(ends), 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	close(ends[1]);
	diverted.reader = ends[0];
	return diverted;
}

/* What was said meanwhile. */
static void restore(const struct diverted *diverted, char text[TEXT_SIZE])
{
	ssize_t got;
	size_t size = 0;

	fflush(stderr);
	assert_true(dup2(diverted->before, STDERR_FILENO) >= 0);
	close(diverted->before);
	while ((got = read(diverted->reader, text + size, TEXT_SIZE - 1 - size)) > 0)
		size += (size_t)got;
	close(diverted->reader);
	text[size] = '\0';
}

static void without_a_file_the_summary_is_told_at_the_end(void **state)
{
	const struct host *dir = *state;
	struct nr_counting counting;
	struct diverted diverted;
	char text[TEXT_SIZE];

	open_counting(dir, NULL, &counting);
	diverted = divert();
	nr_counting_tick(&counting, 1);
	pass_time_ns(NS_PER_S / 20);
	nr_counting_conclude(&counting);
	restore(&diverted, text);
	nr_counting_end(&counting);

	assert_has(text, "numarun: counted on the whole machine: 0.");
	assert_has(text, "(software events)");
	assert_has(text, "MEM-READ");
}

static void a_file_that_cannot_take_more_is_told_of_once_and_counting_ends(void **state)
{
	const struct host *dir = *state;
	struct nr_counting counting;
	struct rlimit before_limit;
	struct rlimit limit;
	struct stat head;
	char file[PATH_SIZE];
	struct diverted diverted;
	char text[TEXT_SIZE];

	open_counting(dir, in_dir(dir, "out.csv", file), &counting);
	assert_number(stat(file, &head), 0);
	diverted = divert();
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before_limit);
	limit = before_limit;
	limit.rlim_cur = (rlim_t)head.st_size;
	setrlimit(RLIMIT_FSIZE, &limit);
	nr_counting_tick(&counting, 1);
	nr_counting_tick(&counting, 1 + NS_PER_S);
	setrlimit(RLIMIT_FSIZE, &before_limit);
	signal(SIGXFSZ, SIG_DFL);

	assert_true(counting.has_failed);
	assert_true(nr_counting_tick(&counting, 1 + 2 * NS_PER_S) == UINT64_MAX);
	nr_counting_conclude(&counting);
	restore(&diverted, text);
	nr_counting_end(&counting);
	assert_has(text, "--counters: ");
	assert_has(text, "out.csv: File too large\n");
	assert_null(strchr(strchr(text, '\n') + 1, '\n'));
	assert_number(count_lines(file), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_option_nothing_is_opened),
		cmocka_unit_test(a_file_that_tells_no_format_is_refused_before_anything_is_opened),
		host_test(a_sample_is_taken_when_it_is_due_and_at_the_end),
		host_test(without_a_file_the_summary_is_told_at_the_end),
		host_test(a_file_that_cannot_take_more_is_told_of_once_and_counting_ends),
	};

	return cmocka_run_group_tests_name("counting", tests, NULL, NULL);
}
