/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows: every cell, known and unknown, in both formats; and the file they go to, which takes them
 * whole, in parts, or not at all.
 */
#include "host.h"

#include "../../../counters/row.h"
#include "../../../counters/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COLUMNS                                                                                    \
	"time_ns,elapsed_ns,interval_ns,socket,node,link,peer,class,name,unit,value,total,"        \
	"bytes_per_s,percent_of_nominal,percent_of_measured,coverage,note,source\n"

static const struct nc_series read_0 = { .what = NC_CLASS_MEMORY_READ,
	                                 .name = "memory_read",
	                                 .has_socket = true };
static const struct nc_series out_1_2 = {
	.what = NC_CLASS_INTERCONNECT_OUT,
	.name = "interconnect_out",
	.has_socket = true,
	.socket = 1,
	.has_link = true,
	.link = 2,
	.has_peer = true,
};
static const struct nc_series clock_1_2 = {
	.what = NC_CLASS_INTERCONNECT_CLOCK,
	.name = "interconnect_clock",
	.has_socket = true,
	.socket = 1,
	.has_link = true,
	.link = 2,
};
static const struct nc_series pages = { .what = NC_CLASS_PAGES_REMOTE,
	                                .name = "pages_remote",
	                                .node = 7 };

static const struct {
	const char *name;
	const struct nc_series *series;
	enum nc_source source;
	uint64_t interval_ns;
	struct nc_value value;
	struct nc_row_limits limits;
	const char *csv; /* behind time and elapsed time */
} rows[] = {
	{ "all of it is known",
	  &out_1_2,
	  NC_SOURCE_UNCORE,
	  500000000,
	  { true, 1000, 3000, 1, 1, NC_NOTE_NONE },
	  { true, true, 16000, 4000 },
	  "500000000,1,,2,0,interconnect_out,,bytes,1000,3000,2000,12.500,50.000,1.000000,,uncore" },
	{ "a link without a peer, and no peaks",
	  &clock_1_2,
	  NC_SOURCE_UNCORE,
	  100000000,
	  { true, 18446744073709551615u, 18446744073709551615u, 1, 1, NC_NOTE_NONE },
	  { 0 },
	  "100000000,1,,2,,interconnect_clock,,clocks,18446744073709551615,18446744073709551615,,,,"
	  "1.000000,,uncore" },
	{ "counted a part of the time",
	  &read_0,
	  NC_SOURCE_UNCORE,
	  1000000000,
	  { true, 64, 128, 0.25, 0.5, NC_NOTE_MULTIPLEXED },
	  { 0 },
	  "1000000000,0,,,,memory_read,,bytes,64,128,64,,,0.250000,multiplexed,uncore" },
	{ "nothing is a number too",
	  &read_0,
	  NC_SOURCE_UNCORE,
	  1000000000,
	  { true, 0, 0, 1, 1, NC_NOTE_NONE },
	  { true, false, 1e10, 0 },
	  "1000000000,0,,,,memory_read,,bytes,0,0,0,0.000,,1.000000,,uncore" },
	{ "unknown now, known before",
	  &out_1_2,
	  NC_SOURCE_UNCORE,
	  100000000,
	  { false, 77, 3000, 0, 0.5, NC_NOTE_GONE },
	  { true, true, 16000, 4000 },
	  "100000000,1,,2,0,interconnect_out,,bytes,,3000,,,,0.000000,gone,uncore" },
	{ "never known",
	  &out_1_2,
	  NC_SOURCE_UNCORE,
	  100000000,
	  { false, 0, 0, 0, 0, NC_NOTE_BUSY },
	  { true, true, 16000, 4000 },
	  "100000000,1,,2,0,interconnect_out,,bytes,,,,,,0.000000,busy,uncore" },
	{ "a node that is of no socket",
	  &pages,
	  NC_SOURCE_NUMASTAT,
	  100000000,
	  { true, 5, 6, 1, 1, NC_NOTE_NONE },
	  { 0 },
	  "100000000,,7,,,pages_remote,,pages,5,6,,,,1.000000,,numastat" },
	{ "no time has passed",
	  &read_0,
	  NC_SOURCE_UNCORE,
	  0,
	  { true, 64, 128, 1, 1, NC_NOTE_NONE },
	  { true, true, 16000, 4000 },
	  "0,0,,,,memory_read,,bytes,64,128,,,,1.000000,,uncore" },
	{ "what is no number is not written",
	  &read_0,
	  NC_SOURCE_UNCORE,
	  1000000000,
	  { true, 64, 128, NAN, 1, NC_NOTE_NONE },
	  { true, true, 0, NAN },
	  "1000000000,0,,,,memory_read,,bytes,64,128,64,,,,,uncore" },
	{ "nearly all and nearly none are neither",
	  &read_0,
	  NC_SOURCE_UNCORE,
	  1,
	  { true, 18446744073709551615u, 1, 0.99999999, 1, NC_NOTE_MULTIPLEXED },
	  { true, true, 1e-300, 1e300 },
	  "1,0,,,,memory_read,,bytes,18446744073709551615,1,,,0.000,0.999999,multiplexed,uncore" },
};

/* The row's text, without the newline; the caller frees it. */
static char *row_text(enum nc_rows_format format, size_t number)
{
	struct nc_sample sample = { 1764519513000000001, 2500000000, rows[number].interval_ns,
		                    &rows[number].value };
	char *fixed = nc_row_fixed(format, rows[number].series, rows[number].source);
	struct nc_row row = {
		.format = format,
		.fixed = fixed,
		.sample = &sample,
		.value = &rows[number].value,
		.is_bytes = strcmp(nc_class_unit(rows[number].series->what), "bytes") == 0,
		.limits = rows[number].limits,
		.source = rows[number].source,
	};
	char *text = malloc(strlen(fixed) + NC_ROW_BYTES_MAX);
	char *end = nc_row_put(text, &row);

	assert_true((size_t)(end - text) < strlen(fixed) + NC_ROW_BYTES_MAX);
	assert_number(end[-1], '\n');
	end[-1] = '\0';
	free(fixed);
	return text;
}

static void a_csv_row_has_a_cell_for_each_column_and_what_is_unknown_is_empty(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = row_text(NC_ROWS_CSV, i);
		char wanted[512];

		check_case("%s", rows[i].name);
		snprintf(wanted, sizeof(wanted), "1764519513000000001,2500000000,%s", rows[i].csv);
		assert_text(text, wanted);
		free(text);
	}
}

/* A cell of CSV and the value of the same name in JSON. */
static void compare(const json_t *value, const char *cell)
{
	char text[64];

	if (*cell == '\0') {
		assert_true(json_is_null(value));
	} else if (json_is_string(value)) {
		assert_text(json_string_value(value), cell);
	} else {
		snprintf(text, sizeof(text), "%.6f", json_real_value(value));
		assert_true(json_is_real(value));
		assert_memory_equal(text, cell, strlen(cell));
	}
}

static void a_json_line_says_the_same_under_the_same_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *csv = row_text(NC_ROWS_CSV, i);
		char *line = row_text(NC_ROWS_JSONL, i);
		char columns[] = COLUMNS;
		char *rest = columns;
		char *cells = csv;
		/* Numbers up to 2^64 are more than the parser's own integers hold. */
		json_t *object = json_loads(line, JSON_DECODE_INT_AS_REAL, NULL);

		check_case("%s: %s", rows[i].name, line);
		assert_non_null(object);
		assert_number(json_object_size(object), 18);
		for (char *name; (name = strsep(&rest, ",\n")) && *name;) {
			const json_t *value = json_object_get(object, name);
			char *cell = strsep(&cells, ",");

			assert_non_null(value);
			assert_non_null(cell);
			if (json_is_real(value) && !strchr(cell, '.'))
				assert_true(*cell && strtod(cell, NULL) == json_real_value(value));
			else
				compare(value, cell);
		}
		json_decref(object);
		free(line);
		free(csv);
	}
}

static const struct {
	const char *name;
	const char *csv;
	const char *json;
} names[] = {
	{ "plain", "plain", "\"plain\"" },
	{ "a, b", "\"a, b\"", "\"a, b\"" },
	{ "say \"so\"", "\"say \"\"so\"\"\"", "\"say \\\"so\\\"\"" },
	{ "two\nlines", "\"two\nlines\"", "\"two\\nlines\"" },
	{ "caf\xc3\xa9", "caf\xc3\xa9", "\"caf\xc3\xa9\"" },
	{ "caf\xe9", "caf\\xe9", "\"caf\\\\xe9\"" },
};

static void the_name_of_a_users_event_is_quoted_as_the_format_wants(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct nc_series series = { .what = NC_CLASS_OTHER, .name = names[i].name };
		char *csv = nc_row_fixed(NC_ROWS_CSV, &series, NC_SOURCE_UNCORE);
		char *json = nc_row_fixed(NC_ROWS_JSONL, &series, NC_SOURCE_UNCORE);
		char wanted[128];

		check_case("%s", names[i].name);
		snprintf(wanted, sizeof(wanted), ",,,,,other,%s,counts", names[i].csv);
		assert_text(csv, wanted);
		snprintf(wanted, sizeof(wanted), "\"name\":%s,", names[i].json);
		assert_has(json, wanted);
		free(json);
		free(csv);
	}
}

static void the_end_of_a_files_name_tells_the_format(void **state)
{
	static const struct {
		const char *file;
		int format; /* -1 = none */
	} files[] = {
		{ "-", NC_ROWS_CSV },
		{ "a.csv", NC_ROWS_CSV },
		{ "a.jsonl", NC_ROWS_JSONL },
		{ "a.b.csv", NC_ROWS_CSV },
		{ "a", -1 },
		{ "csv", -1 },
		{ "a.json", -1 },
		{ "a.csv/b", -1 },
		{ "", -1 },
		{ "a.CSV", -1 },
		{ "a.csv ", -1 },
		{ "\x1b[2J.txt", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		enum nc_rows_format format = NC_ROWS_CSV;
		struct np_error err = { 0 };
		int rc = nc_rows_format_of(files[i].file, &format, &err);

		check_case("%s", files[i].file);
		if (files[i].format < 0)
			assert_fails(rc, -EINVAL, &err, ".csv, or .jsonl");
		else
			assert_np_ok(rc, &err);
		assert_number(format, files[i].format < 0 ? NC_ROWS_CSV : files[i].format);
	}
}

/* ---- the file ---- */

enum { MANY = 2000 };

static struct nc_series many[MANY];
static struct nc_value many_values[MANY];

static struct nc_rows_about about_many(size_t count)
{
	for (unsigned i = 0; i < MANY; i++) {
		many[i] = read_0;
		many[i].socket = i;
		many_values[i] = (struct nc_value){ true, 64, 64, 1, 1, NC_NOTE_NONE };
	}
	return (struct nc_rows_about){ .source = NC_SOURCE_UNCORE,
		                       .series = many,
		                       .series_count = count,
		                       .counter_count = 6,
		                       .interval_ms = 100,
		                       .host = "host-1" };
}

static const struct nc_sample many_sample = { 1, 2, 100000000, many_values };

static void path_in(const struct host *host, const char *name, char path[512])
{
	snprintf(path, 512, "%s/%s", host->dir, name);
}

static char *content(const struct host *host, const char *name)
{
	struct np_error err = { 0 };
	char *text = NULL;

	assert_np_ok(np_sysroot_read(&host->root, name, &text, &err), &err);
	return text;
}

static size_t count_lines(const char *text)
{
	size_t count = 1; /* the newline at the end is not there */

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

static void a_csv_file_has_one_line_of_names_and_then_rows(void **state)
{
	const struct nc_rows_about about = about_many(3);
	struct np_error err = { 0 };
	struct nc_rows *file = NULL;
	char path[512];
	char *text;

	host_write(*state, "out.csv", "what was there before\nand was longer than what comes\n");
	path_in(*state, "out.csv", path);
	assert_np_ok(nc_rows_open(path, NC_ROWS_CSV, &about, &file, &err), &err);
	assert_np_ok(nc_rows_write(file, &many_sample, &err), &err);
	assert_np_ok(nc_rows_write(file, &many_sample, &err), &err);
	assert_np_ok(nc_rows_close(file, &err), &err);

	text = content(*state, "out.csv");
	assert_memory_equal(text, COLUMNS, strlen(COLUMNS));
	assert_number(count_lines(text), 1 + 2 * 3);
	assert_has(text, "\n1,2,100000000,2,,,,memory_read,,bytes,64,64,640,,,1.000000,,uncore");
	free(text);
}

static void the_first_json_line_says_what_was_recorded(void **state)
{
	struct np_bitmap sockets = set_of("0-2");
	struct nc_rows_about about = about_many(3);
	struct np_error err = { 0 };
	struct nc_rows *file = NULL;
	json_t *head;
	char path[512];
	char *text;

	about.sockets = &sockets;
	path_in(*state, "out.jsonl", path);
	assert_np_ok(nc_rows_open(path, NC_ROWS_JSONL, &about, &file, &err), &err);
	assert_np_ok(nc_rows_write(file, &many_sample, &err), &err);
	assert_np_ok(nc_rows_close(file, &err), &err);

	text = content(*state, "out.jsonl");
	assert_number(count_lines(text), 1 + 3);
	text[strcspn(text, "\n")] = '\0';
	head = json_loads(text, 0, NULL);
	assert_text(json_string_value(json_object_get(head, "schema")), "numakit/record/1");
	assert_text(json_string_value(json_object_get(head, "host")), "host-1");
	assert_text(json_string_value(json_object_get(head, "sockets")), "0-2");
	assert_true(json_is_null(json_object_get(head, "family")));
	assert_true(json_is_null(json_object_get(head, "cpu")));
	assert_number(json_integer_value(json_object_get(head, "interval_ns")), 100000000);
	assert_number(json_integer_value(json_object_get(head, "series")), 3);
	assert_number(json_integer_value(json_object_get(head, "counters")), 6);
	json_decref(head);
	free(text);
	np_bitmap_release(&sockets);
}

static void a_session_without_series_makes_a_file_without_rows(void **state)
{
	const struct nc_rows_about about = about_many(0);
	struct np_error err = { 0 };
	struct nc_rows *file = NULL;
	char path[512];
	char *text;

	path_in(*state, "out.csv", path);
	assert_np_ok(nc_rows_open(path, NC_ROWS_CSV, &about, &file, &err), &err);
	assert_np_ok(nc_rows_write(file, &many_sample, &err), &err);
	assert_np_ok(nc_rows_close(file, &err), &err);
	text = content(*state, "out.csv");
	assert_number(count_lines(text), 1);
	free(text);
}

/* Runs rows into standard output, which is @fd for so long. Returns what writing gave. */
static int write_to_stdout(int fd, const struct nc_rows_about *about, unsigned samples,
                           struct np_error *err)
{
	struct nc_rows *file = NULL;
	int kept;
	int rc;

	fflush(stdout);
	kept = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	rc = nc_rows_open("-", NC_ROWS_CSV, about, &file, err);
	while (rc == 0 && samples-- > 0)
		rc = nc_rows_write(file, &many_sample, err);
	nc_rows_close(file, NULL);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	return rc;
}

static void a_samples_rows_are_written_by_one_call(void **state)
{
	const struct nc_rows_about about = about_many(100);
	struct np_error err = { 0 };
	static char packet[1 << 16];
	int ends[2];

	(void)state;
	/* Each write(2) is a packet of its own. */
	assert_number(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	assert_np_ok(write_to_stdout(ends[0], &about, 2, &err), &err);

	assert_number(read(ends[1], packet, sizeof(packet)), strlen(COLUMNS));
	for (unsigned i = 0; i < 2; i++) {
		ssize_t size = read(ends[1], packet, sizeof(packet) - 1);

		assert_true(size > 0);
		packet[size - 1] = '\0';
		assert_number(count_lines(packet), 100);
	}
	assert_number(read(ends[1], packet, sizeof(packet)), -1);
	close(ends[0]);
	close(ends[1]);
}

static void on_signal(int number)
{
	(void)number;
}

/* Signals the writer once the pipe is full, and again and again while it empties it; the exit status
 * says whether all came. */
static void read_slowly(int fd, pid_t writer, size_t lines)
{
	struct timespec pause = { 0, 1000000 };
	static char text[4096];
	size_t found = 0;
	ssize_t size;
	int waiting = 0;

	while (ioctl(fd, FIONREAD, &waiting) == 0 && waiting < 60000)
		nanosleep(&pause, NULL);
	do {
		kill(writer, SIGUSR1);
		size = read(fd, text, sizeof(text));
		for (ssize_t i = 0; i < size; i++)
			found += text[i] == '\n';
	} while (size > 0);
	_exit(found == lines ? 0 : 1);
}

static void rows_are_whole_though_signals_break_the_write(void **state)
{
	const struct nc_rows_about about = about_many(MANY);
	const struct sigaction handler = { .sa_handler = on_signal };
	struct sigaction old;
	struct np_error err = { 0 };
	pid_t writer = getpid();
	pid_t reader;
	int ends[2];
	int status;

	(void)state;
	sigaction(SIGUSR1, &handler, &old);
	assert_number(pipe(ends), 0);
	reader = fork_child();
	if (reader == 0) {
		close(ends[1]);
		read_slowly(ends[0], writer, 1 + 3 * MANY);
	}
	close(ends[0]);
	assert_np_ok(write_to_stdout(ends[1], &about, 3, &err), &err);
	close(ends[1]);
	while (waitpid(reader, &status, 0) < 0)
		assert_number(errno, EINTR);
	assert_true(WIFEXITED(status));
	assert_number(WEXITSTATUS(status), 0);
	sigaction(SIGUSR1, &old, NULL);
}

static void a_full_disk_is_told_and_what_was_written_stays(void **state)
{
	const struct nc_rows_about about = about_many(10);
	const struct rlimit limit = { 4000, RLIM_INFINITY };
	struct np_error err = { 0 };
	struct nc_rows *file = NULL;
	struct rlimit old;
	char path[512];
	char *text;
	int rc = 0;

	assert_fails(nc_rows_open("/dev/full", NC_ROWS_CSV, &about, &file, &err), -ENOSPC, &err,
	             "/dev/full: No space left on device");
	assert_null(file);

	path_in(*state, "out.csv", path);
	assert_np_ok(nc_rows_open(path, NC_ROWS_CSV, &about, &file, &err), &err);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	assert_number(setrlimit(RLIMIT_FSIZE, &limit), 0);
	err = (struct np_error){ 0 };
	for (unsigned i = 0; i < 100 && rc == 0; i++)
		rc = nc_rows_write(file, &many_sample, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_fails(rc, -EFBIG, &err, "out.csv: File too large");
	assert_np_ok(nc_rows_close(file, &err), &err);
	text = content(*state, "out.csv");
	assert_true(strlen(text) >= 3999);
	free(text);
}

static void a_file_that_cannot_be_made_is_named(void **state)
{
	const struct nc_rows_about about = about_many(1);
	struct np_error err = { 0 };
	struct nc_rows *file = NULL;
	char path[512];

	path_in(*state, "missing/out.csv", path);
	assert_fails(nc_rows_open(path, NC_ROWS_CSV, &about, &file, &err), -ENOENT, &err,
	             "missing/out.csv: No such file or directory");
	host_mkdir(*state, "folder.csv");
	path_in(*state, "folder.csv", path);
	err = (struct np_error){ 0 };
	assert_fails(nc_rows_open(path, NC_ROWS_CSV, &about, &file, &err), -EISDIR, &err,
	             "folder.csv: Is a directory");
	assert_null(file);
	assert_number(nc_rows_close(NULL, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_csv_row_has_a_cell_for_each_column_and_what_is_unknown_is_empty),
		cmocka_unit_test(a_json_line_says_the_same_under_the_same_names),
		cmocka_unit_test(the_name_of_a_users_event_is_quoted_as_the_format_wants),
		cmocka_unit_test(the_end_of_a_files_name_tells_the_format),
		host_test(a_csv_file_has_one_line_of_names_and_then_rows),
		host_test(the_first_json_line_says_what_was_recorded),
		host_test(a_session_without_series_makes_a_file_without_rows),
		cmocka_unit_test(a_samples_rows_are_written_by_one_call),
		cmocka_unit_test(rows_are_whole_though_signals_break_the_write),
		host_test(a_full_disk_is_told_and_what_was_written_stays),
		host_test(a_file_that_cannot_be_made_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
