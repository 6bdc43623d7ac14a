/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our own form of traces: what is written is read again, whatever the values, and a file takes its
 * name whole or not at all.
 */
#include "traces.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct nl_row *make_rows(size_t count)
{
	struct nl_row *rows = calloc(count + 1, sizeof(*rows));

	assert_non_null(rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = plain_row(i);
	return rows;
}

static void round_trip(void **state, const struct nl_trace_about *about, const struct nl_row *rows,
                       size_t count)
{
	const char *path = path_of(state, "a.nlt");
	struct nl_trace *trace;

	write_trace(path, NL_TRACE_NLT, about, rows, count);
	trace = open_trace(path);
	assert_number(nl_trace_form(trace), NL_TRACE_NLT);
	assert_text(nl_trace_path(trace), path);
	assert_true(nl_trace_end(trace)->is_complete);
	assert_null(nl_trace_end(trace)->why);
	assert_trace(trace, rows, count);
	nl_trace_close(trace);
}

static void any_number_of_rows_is_read_as_it_was_written(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 65535, 65536, 65537, 131072, 131073, 200000 };
	struct nl_row *rows = make_rows(200000);

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		check_case("%zu rows", counts[i]);
		round_trip(state, &one_arm, rows, counts[i]);
	}
	free(rows);
}

static void long_values_are_kept_in_every_column(void **state)
{
	static const uint64_t values[] = { 0,
		                           1,
		                           UINT32_MAX - 1,
		                           UINT32_MAX,
		                           UINT64_C(1) << 32,
		                           (UINT64_C(1) << 63) + 5,
		                           UINT64_MAX };
	enum { COUNT = sizeof(values) / sizeof(values[0]) };
	struct nl_row *rows = make_rows((size_t)COUNT * COUNT * COUNT);
	size_t count = 0;

	for (size_t i = 0; i < COUNT; i++)
		for (size_t j = 0; j < COUNT; j++)
			for (size_t k = 0; k < COUNT; k++)
				rows[count++] = (struct nl_row){
					.start_ns = values[k],
					.response_ns = values[i],
					.payload_ns = values[j],
					.total_ns = values[(i + j + k) % COUNT],
					.key = (uint32_t)values[(i + k) % 4],
				};
	round_trip(state, &one_arm, rows, count);
	free(rows);
}

static void a_chunk_may_be_long_values_alone(void **state)
{
	enum { COUNT = 65536 + 3 };
	struct nl_row *rows = make_rows(COUNT);

	for (size_t i = 0; i < COUNT; i++)
		rows[i] = (struct nl_row){ UINT64_MAX - i * 3,       UINT64_MAX - i, UINT64_MAX - 1,
			                   (uint64_t)UINT32_MAX + i, UINT32_MAX,     0 };
	round_trip(state, &one_arm, rows, COUNT);
	free(rows);
}

static void rows_are_found_by_their_arm(void **state)
{
	enum { COUNT = 150000 };
	struct nl_row *rows = make_rows(COUNT);
	uint64_t counts[3] = { 0 };
	struct nl_trace *trace;

	for (size_t i = 0; i < COUNT; i++) {
		/* The last arm is in the second chunk only. */
		rows[i].arm = (uint8_t)(i * 2654435761u >> 7 & 1);
		if (i >= 70000 && i < 70010)
			rows[i].arm = 2;
		counts[rows[i].arm]++;
	}
	round_trip(state, &three_arms, rows, COUNT);
	trace = open_trace(path_of(state, "a.nlt"));
	for (unsigned arm = 0; arm < 3; arm++)
		assert_number(nl_trace_arm_rows(trace, arm), counts[arm]);
	assert_number(nl_trace_arm_rows(trace, 3), 0);
	nl_trace_close(trace);
	free(rows);
}

static void what_the_run_told_is_read_again(void **state)
{
	const char *path = path_of(state, "a.nlt");
	struct nl_trace_about about = three_arms;
	struct nl_trace_end end = { .is_complete = false,
		                    .why = "the server ended the connection" };
	json_t *details = json_pack("{s:s, s:[i, i]}", "server", "10.77.77.1", "sizes", 1, 2);
	json_t *outcome = json_pack("{s:f}", "noise_ns", 0.1);
	const struct nl_trace_about *told;
	struct nl_trace_writer *writer;
	struct np_error err = { 0 };
	struct nl_trace *trace;

	about.details = details;
	assert_np_ok(nl_trace_writer_create(path, NL_TRACE_NLT, &about, &writer, &err), &err);
	assert_np_ok(nl_trace_writer_finish(writer, &end, outcome, &err), &err);
	trace = open_trace(path);
	told = nl_trace_about(trace);
	assert_text(told->protocol, "http");
	assert_number(told->arm_count, 3);
	assert_text(told->arms[2], "middle");
	assert_text(told->order, "abba");
	assert_number(told->block, 2000);
	assert_number(told->keys, 16000);
	assert_number(told->planned, 5);
	assert_number(told->began_ns, three_arms.began_ns);
	assert_true(json_equal(told->details, details));
	assert_true(json_equal(nl_trace_outcome(trace), outcome));
	assert_false(nl_trace_end(trace)->is_complete);
	assert_text(nl_trace_end(trace)->why, "the server ended the connection");
	nl_trace_close(trace);
	json_decref(details);
	json_decref(outcome);
}

static void what_was_not_told_is_unknown(void **state)
{
	struct nl_row row = plain_row(0);
	const struct nl_trace_about *told;
	struct nl_trace *trace;

	write_trace(path_of(state, "a.nlt"), NL_TRACE_NLT, &one_arm, &row, 1);
	trace = open_trace(path_of(state, "a.nlt"));
	told = nl_trace_about(trace);
	assert_null(told->protocol);
	assert_number(told->arm_count, 1);
	assert_text(told->arms[0], "");
	assert_null(told->order);
	assert_null(told->details);
	assert_number(told->block + told->keys + told->planned, 0);
	assert_number(told->began_ns, 0);
	assert_null(nl_trace_outcome(trace));
	nl_trace_close(trace);
}

static void what_cannot_be_a_trace_is_not_begun(void **state)
{
	char long_name[NL_ARM_NAME_MAX + 2];
	json_t *array = json_array();
	const struct {
		const char *name;
		struct nl_trace_about about;
		const char *part;
	} cases[] = {
		{ "no arm", { .arm_count = 0 }, "arms: there are 0" },
		{ "too many", { .arms = { "" }, .arm_count = 65 }, "arms: there are 65" },
		{ "a nameless one of two",
		  { .arms = { "a", "" }, .arm_count = 2 },
		  "'' is no name" },
		{ "two of one name",
		  { .arms = { "a", "b", "a" }, .arm_count = 3 },
		  "the name 'a'" },
		{ "a comma", { .arms = { "a,b" }, .arm_count = 1 }, "'a,b' is no name" },
		{ "a quote", { .arms = { "a\"" }, .arm_count = 1 }, "is no name" },
		{ "a newline", { .arms = { "a\nb" }, .arm_count = 1 }, "'a\\x0ab' is no name" },
		{ "no UTF-8", { .arms = { "\xff" }, .arm_count = 1 }, "'\\xff' is no name" },
		{ "a long name", { .arms = { long_name }, .arm_count = 1 }, "is no name" },
		{ "no object", { .arms = { "" }, .arm_count = 1, .details = array }, "details" },
		{ "before 1970", { .arms = { "" }, .arm_count = 1, .began_ns = -1 }, "began_ns" },
	};

	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nl_trace_writer *writer = NULL;
		struct np_error err = { 0 };

		check_case("%s", cases[i].name);
		assert_fails(nl_trace_writer_create(path_of(state, "a.nlt"), NL_TRACE_NLT,
		                                    &cases[i].about, &writer, &err),
		             -EINVAL, &err, cases[i].part);
		assert_int_equal(access(path_of(state, "a.nlt"), F_OK), -1);
	}
	json_decref(array);
}

static void a_row_of_an_arm_that_there_is_not_is_refused(void **state)
{
	struct nl_row row = plain_row(0);
	struct nl_trace_writer *writer;
	struct np_error err = { 0 };

	row.arm = 1;
	assert_np_ok(nl_trace_writer_create(path_of(state, "a.nlt"), NL_TRACE_NLT, &one_arm,
	                                    &writer, &err),
	             &err);
	assert_fails(nl_trace_writer_add(writer, &row, &err), -EINVAL, &err, "row 0: arm 1 of 1");
	nl_trace_writer_abandon(writer);
}

static void the_names_end_tells_the_form(void **state)
{
	static const struct {
		const char *path;
		int form; /* -1 = none */
	} cases[] = {
		{ "a.nlt", NL_TRACE_NLT },
		{ "./x.y/a.csv", NL_TRACE_CSV },
		{ "a.csv.gz", NL_TRACE_CSV_GZIP },
		{ "a.gz", -1 },
		{ "a.NLT", -1 },
		{ "nlt", -1 },
		{ "-", -1 },
		{ "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct np_error err = { 0 };
		enum nl_trace_form form;
		int rc = nl_trace_form_of(cases[i].path, &form, &err);

		check_case("'%s'", cases[i].path);
		if (cases[i].form < 0)
			assert_fails(rc, -EINVAL, &err, "must end in .nlt, .csv or .csv.gz");
		else
			assert_number(rc == 0 ? (int)form : rc, cases[i].form);
	}
}

/* ---- the file ---- */

static unsigned files_in(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static void an_older_file_stays_until_the_new_one_is_whole(void **state)
{
	const struct host *host = *state;
	struct nl_row rows[2] = { plain_row(0), plain_row(1) };
	struct nl_trace_writer *writer;
	struct np_error err = { 0 };
	struct nl_trace *trace;

	write_trace(path_of(state, "a.nlt"), NL_TRACE_NLT, &one_arm, rows, 1);
	assert_np_ok(nl_trace_writer_create(path_of(state, "a.nlt"), NL_TRACE_NLT, &one_arm,
	                                    &writer, &err),
	             &err);
	assert_np_ok(nl_trace_writer_add(writer, &rows[1], &err), &err);
	trace = open_trace(path_of(state, "a.nlt"));
	assert_trace(trace, rows, 1);
	nl_trace_close(trace);

	nl_trace_writer_abandon(writer);
	assert_number(files_in(host->dir), 1);
	trace = open_trace(path_of(state, "a.nlt"));
	assert_trace(trace, rows, 1);

	write_trace(path_of(state, "a.nlt"), NL_TRACE_NLT, &one_arm, rows, 2);
	assert_number(files_in(host->dir), 1);
	/* One that is open is not pulled away. */
	assert_trace(trace, rows, 1);
	nl_trace_close(trace);
	trace = open_trace(path_of(state, "a.nlt"));
	assert_trace(trace, rows, 2);
	nl_trace_close(trace);
}

static void a_file_has_the_rights_that_the_umask_leaves(void **state)
{
	mode_t mask = umask(027);
	struct stat status;

	write_trace(path_of(state, "a.nlt"), NL_TRACE_NLT, &one_arm, NULL, 0);
	umask(mask);
	assert_int_equal(stat(path_of(state, "a.nlt"), &status), 0);
	assert_number(status.st_mode & 07777, 0640);
}

static void a_link_is_followed(void **state)
{
	struct nl_trace *trace;
	struct stat status;

	write_trace(path_of(state, "a.nlt"), NL_TRACE_NLT, &one_arm, NULL, 0);
	assert_int_equal(symlink("a.nlt", path_of(state, "b.nlt")), 0);
	write_trace(path_of(state, "b.nlt"), NL_TRACE_CSV, &one_arm, NULL, 0);
	assert_int_equal(lstat(path_of(state, "b.nlt"), &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	trace = open_trace(path_of(state, "a.nlt"));
	assert_number(nl_trace_form(trace), NL_TRACE_CSV);
	nl_trace_close(trace);
}

static void what_cannot_be_written_is_told_in_one_line(void **state)
{
	struct nl_trace_writer *writer = NULL;
	struct nl_row row = plain_row(0);
	struct np_error err = { 0 };

	assert_fails(nl_trace_writer_create(path_of(state, "missing/a.nlt"), NL_TRACE_NLT, &one_arm,
	                                    &writer, &err),
	             -ENOENT, &err, "missing/a.nlt: make a file in its folder: No such file");
	assert_fails(
		nl_trace_writer_create(path_of(state, ""), NL_TRACE_NLT, &one_arm, &writer, &err),
		-EISDIR, &err, "Is a directory");
	assert_np_ok(nl_trace_writer_create("/dev/full", NL_TRACE_CSV, &one_arm, &writer, &err),
	             &err);
	assert_np_ok(nl_trace_writer_add(writer, &row, &err), &err);
	assert_fails(nl_trace_writer_finish(writer, &whole, NULL, &err), -ENOSPC, &err,
	             "/dev/full: No space left on device");
	assert_int_equal(access("/dev/full", F_OK), 0);
}

/* In a child, as a limit on the size of files is a process's; 0 = it was told. */
static int write_beyond_a_limit(const char *path, enum nl_trace_form form)
{
	struct rlimit limit = { 100000, 100000 };
	struct nl_trace_writer *writer;
	struct np_error err = { 0 };
	int rc;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	rc = nl_trace_writer_create(path, form, &one_arm, &writer, &err);
	for (uint64_t i = 0; rc == 0 && i < 200000; i++) {
		struct nl_row row = plain_row(i);

		rc = nl_trace_writer_add(writer, &row, &err);
	}
	if (rc != -EFBIG || !strstr(err.text, "File too large") || !is_printable_line(err.text))
		return 1;
	nl_trace_writer_abandon(writer);
	return 0;
}

static void a_full_disk_leaves_the_old_file(void **state)
{
	static const enum nl_trace_form forms[] = { NL_TRACE_NLT, NL_TRACE_CSV, NL_TRACE_CSV_GZIP };
	const struct host *host = *state;
	struct nl_row row = plain_row(0);

	for (size_t i = 0; i < 3; i++) {
		const char *path = path_of(state, "a.nlt");
		struct nl_trace *trace;
		pid_t child;
		int status;

		write_trace(path, NL_TRACE_NLT, &one_arm, &row, 1);
		child = fork_child();
		if (child == 0)
			_exit(write_beyond_a_limit(path, forms[i]));
		assert_int_equal(waitpid(child, &status, 0), child);
		check_case("form %d", (int)forms[i]);
		assert_number(status, 0);
		assert_number(files_in(host->dir), 1);
		trace = open_trace(path);
		assert_trace(trace, &row, 1);
		nl_trace_close(trace);
	}
}

static void a_pipe_is_written_and_read_without_seeking(void **state)
{
	enum { COUNT = 100000 };
	const char *path = path_of(state, "pipe.nlt");
	struct nl_row *rows = make_rows(COUNT);
	struct nl_trace *trace;
	pid_t child;
	int status;

	assert_int_equal(mkfifo(path, 0600), 0);
	child = fork_child();
	if (child == 0) {
		struct nl_trace_writer *writer;
		int rc = nl_trace_writer_create(path, NL_TRACE_NLT, &one_arm, &writer, NULL);

		for (size_t i = 0; rc == 0 && i < COUNT; i++)
			rc = nl_trace_writer_add(writer, &rows[i], NULL);
		_exit(rc == 0 && nl_trace_writer_finish(writer, &whole, NULL, NULL) == 0 ? 0 : 1);
	}
	trace = open_trace(path);
	assert_true(nl_trace_end(trace)->is_complete);
	assert_trace(trace, rows, COUNT);
	nl_trace_close(trace);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_number(status, 0);
	free(rows);
}

static void what_cannot_be_opened_is_told(void **state)
{
	struct np_error err = { 0 };
	struct nl_trace *trace = NULL;

	assert_fails(nl_trace_open(path_of(state, "none.nlt"), &trace, &err), -ENOENT, &err,
	             "none.nlt: No such file");
	assert_fails(nl_trace_open(path_of(state, ""), &trace, &err), -EISDIR, &err,
	             "Is a directory");
	nl_trace_close(NULL);
	nl_cursor_free(NULL);
	nl_row_reader_free(NULL);
	nl_trace_writer_abandon(NULL);
}

static void there_is_no_cursor_of_an_arm_that_there_is_not(void **state)
{
	struct np_error err = { 0 };
	struct nl_cursor *cursor = NULL;
	struct nl_row_reader *reader = NULL;
	struct nl_trace *trace;

	write_trace(path_of(state, "a.nlt"), NL_TRACE_NLT, &three_arms, NULL, 0);
	trace = open_trace(path_of(state, "a.nlt"));
	assert_fails(nl_cursor_create(trace, NL_KEY, 3, &cursor, &err), -EINVAL, &err, "no arm 3");
	assert_fails(nl_row_reader_create(trace, 3, &reader, &err), -EINVAL, &err, "no arm 3");
	nl_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(any_number_of_rows_is_read_as_it_was_written),
		host_test(long_values_are_kept_in_every_column),
		host_test(a_chunk_may_be_long_values_alone),
		host_test(rows_are_found_by_their_arm),
		host_test(what_the_run_told_is_read_again),
		host_test(what_was_not_told_is_unknown),
		host_test(what_cannot_be_a_trace_is_not_begun),
		host_test(a_row_of_an_arm_that_there_is_not_is_refused),
		host_test(the_names_end_tells_the_form),
		host_test(an_older_file_stays_until_the_new_one_is_whole),
		host_test(a_file_has_the_rights_that_the_umask_leaves),
		host_test(a_link_is_followed),
		host_test(what_cannot_be_written_is_told_in_one_line),
		host_test(a_full_disk_leaves_the_old_file),
		host_test(a_pipe_is_written_and_read_without_seeking),
		host_test(what_cannot_be_opened_is_told),
		host_test(there_is_no_cursor_of_an_arm_that_there_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
