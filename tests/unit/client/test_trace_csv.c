/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goblin-bench's CSV: what we write has its columns, what is read is checked, and where a file ends
 * early the whole rows are kept.
 */
#include "traces.h"

#define ZLIB_CONST
#include <zlib.h>

#define HEADER                                                                                     \
	"worker,sample,key_index,query_start_ns,response_first_byte_ns,response_ttfb_ns,"          \
	"payload_first_byte_ns,payload_ttfb_ns,complete_ns"
#define ROW_0 "0,0,7,1000,1077,77,1135,135,338"
#define ROW_1 "0,1,9,2000,2080,80,2140,140,340"

static const struct nl_row two_rows[] = {
	{ 1000, 77, 135, 338, 7, 0 },
	{ 2000, 80, 140, 340, 9, 0 },
};

static const char *write_text(void **state, const char *text)
{
	const char *path = path_of(state, "a.csv");

	write_file(path, text, strlen(text));
	return path;
}

/* Packs the text into a gzip stream; two of them, where @split is within it. Returns the length. */
static size_t pack(const char *text, size_t split, unsigned char *packed, size_t room)
{
	size_t size = strlen(text);
	size_t used = 0;
	size_t from = 0;

	while (from < size) {
		size_t to = from < split && split < size ? split : size;
		z_stream stream = { 0 };

		assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY),
		                 Z_OK);
		stream.next_in = (const unsigned char *)text + from;
		stream.avail_in = (unsigned)(to - from);
		stream.next_out = packed + used;
		stream.avail_out = (unsigned)(room - used);
		assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
		used = room - stream.avail_out;
		deflateEnd(&stream);
		from = to;
	}
	return used;
}

static void assert_reads(const char *path, size_t rows, bool is_complete)
{
	struct nl_trace *trace = open_trace(path);

	assert_trace(trace, two_rows, rows);
	assert_number(nl_trace_end(trace)->is_complete, is_complete);
	assert_number(nl_trace_end(trace)->why == NULL, is_complete);
	nl_trace_close(trace);
}

static void a_row_is_written_as_goblin_bench_writes_it(void **state)
{
	const char *path = path_of(state, "a.csv");
	unsigned char *bytes;
	size_t size;

	write_trace(path, NL_TRACE_CSV, &one_arm, two_rows, 2);
	bytes = read_file(path, &size);
	bytes[size] = '\0';
	assert_string_equal((char *)bytes, HEADER "\n" ROW_0 "\n" ROW_1 "\n");
	free(bytes);
	assert_reads(path, 2, true);
}

static void several_arms_have_a_column(void **state)
{
	struct nl_row rows[] = {
		{ 1000, 77, 135, 338, 7, 1 },
		{ 2000, 80, 140, 340, 9, 0 },
		{ 3000, 80, 140, 340, 9, 1 },
	};
	const char *path = path_of(state, "a.csv");
	const struct nl_trace_about *about;
	struct nl_trace *trace;
	unsigned char *bytes;
	size_t size;

	write_trace(path, NL_TRACE_CSV, &three_arms, rows, 3);
	bytes = read_file(path, &size);
	bytes[size] = '\0';
	assert_string_equal((char *)bytes, HEADER ",arm\n" ROW_0 ",far\n" ROW_1 ",local\n"
	                                          "0,2,9,3000,3080,80,3140,140,340,far\n");
	free(bytes);
	trace = open_trace(path);
	about = nl_trace_about(trace);
	/* By order of appearance; of the third nothing is left. */
	assert_number(about->arm_count, 2);
	assert_text(about->arms[0], "far");
	assert_text(about->arms[1], "local");
	assert_number(nl_trace_arm_rows(trace, 0), 2);
	for (size_t i = 0; i < 3; i++)
		rows[i].arm = !rows[i].arm;
	assert_trace(trace, rows, 3);
	nl_trace_close(trace);
}

static void a_column_of_one_arm_is_one_arm(void **state)
{
	struct nl_trace *trace =
		open_trace(write_text(state, HEADER ",arm\n" ROW_0 ",far\n" ROW_1 ",far\n"));

	assert_number(nl_trace_about(trace)->arm_count, 1);
	assert_text(nl_trace_about(trace)->arms[0], "far");
	assert_trace(trace, two_rows, 2);
	nl_trace_close(trace);
}

static void no_more_arms_than_a_trace_holds(void **state)
{
	for (unsigned arms = NL_TRACE_ARMS_MAX; arms <= NL_TRACE_ARMS_MAX + 1; arms++) {
		FILE *file = fopen(path_of(state, "a.csv"), "w");

		assert_non_null(file);
		fputs(HEADER ",arm\n", file);
		for (unsigned i = 0; i < arms; i++)
			fprintf(file, "0,%u,7,1000,1077,77,1135,135,338,arm%u\n", i, i);
		fclose(file);
		if (arms > NL_TRACE_ARMS_MAX)
			assert_no_trace(path_of(state, "a.csv"),
			                "row 64 (line 66): arm: more than 64");
		else
			nl_trace_close(open_trace(path_of(state, "a.csv")));
	}
}

static void many_rows_come_back_from_each_form(void **state)
{
	enum { COUNT = 140000 };
	static const struct {
		const char *name;
		enum nl_trace_form form;
	} forms[] = { { "a.csv", NL_TRACE_CSV }, { "a.csv.gz", NL_TRACE_CSV_GZIP } };
	struct nl_row *rows = calloc(COUNT, sizeof(*rows));

	assert_non_null(rows);
	for (size_t i = 0; i < COUNT; i++) {
		rows[i] = plain_row(i);
		rows[i].arm = (uint8_t)(i % 3);
	}
	rows[7].total_ns = UINT64_MAX;
	rows[8].start_ns = UINT64_MAX - 135100;
	rows[9].start_ns = 0;
	rows[10].key = UINT32_MAX;
	for (size_t i = 0; i < 2; i++) {
		struct nl_trace *trace;

		check_case("%s", forms[i].name);
		write_trace(path_of(state, forms[i].name), forms[i].form, &three_arms, rows, COUNT);
		trace = open_trace(path_of(state, forms[i].name));
		assert_number(nl_trace_form(trace), forms[i].form);
		assert_trace(trace, rows, COUNT);
		nl_trace_close(trace);
	}
	free(rows);
}

static void times_that_have_no_sum_are_not_written(void **state)
{
	struct nl_row row = { UINT64_MAX - 100, 101, 0, 0, 0, 0 };
	struct nl_trace_writer *writer;
	struct np_error err = { 0 };

	assert_np_ok(nl_trace_writer_create(path_of(state, "a.csv"), NL_TRACE_CSV, &one_arm,
	                                    &writer, &err),
	             &err);
	assert_fails(nl_trace_writer_add(writer, &row, &err), -ERANGE, &err,
	             "a.csv: row 0: its times are too long for a CSV");
	nl_trace_writer_abandon(writer);
}

static void text_of_other_tools_is_read_too(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		size_t rows;
	} cases[] = {
		{ "no rows", HEADER "\n", 0 },
		{ "no newline at the end", HEADER "\n" ROW_0 "\n" ROW_1, 2 },
		{ "CR LF", HEADER "\r\n" ROW_0 "\r\n" ROW_1 "\r\n", 2 },
		{ "another worker alone", HEADER "\n5,0,7,1000,1077,77,1135,135,338\n", 1 },
		{ "zeros in front",
		  HEADER "\n0,000,07,1000,1077,0000000000000000000077,1135,135,338\n", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_case("%s", cases[i].name);
		assert_reads(write_text(state, cases[i].text), cases[i].rows, true);
	}
}

static void what_is_no_trace_is_refused_with_its_row(void **state)
{
	static const struct {
		const char *text;
		const char *part;
	} cases[] = {
		{ "", "it is empty, and no trace" },
		{ "a,b\n1,2\n", "no trace: neither numalat's own form" },
		{ "\n" HEADER "\n", "no trace" },
		{ HEADER ",arms\n", "no trace" },
		{ HEADER ",arm,more\n", "no trace" },
		{ "worker,samp", "it ends within its first line" },
		{ "\x89NLT", "it ends within its head" },
		{ HEADER "\n" ROW_0 "\n\n" ROW_1 "\n", "row 1 (line 3): an empty line" },
		{ HEADER "\n" ROW_0 "\n" ROW_0 "\n", "row 1 (line 3): has the sample number 0" },
		{ HEADER "\n" ROW_1 "\n", "row 0 (line 2): has the sample number 1" },
		{ HEADER "\n" ROW_0 "\n1,0,7,1000,1077,77,1135,135,338\n",
		  "row 1 (line 3): is of worker 1, but a trace of numalat holds one connection: split "
		  "it by worker, each as by awk -F, 'NR == 1 || $1 == 1'" },
		{ HEADER "\n0,0,7,1000,1077,77,1135,135\n", "payload_ttfb_ns: the line ends here" },
		{ HEADER "\n" ROW_0 ",far\n", "complete_ns: the line does not end here" },
		{ HEADER "\n" ROW_0 ",\n", "complete_ns: the line does not end here" },
		{ HEADER ",arm\n" ROW_0 "\n", "complete_ns: the line ends here" },
		{ HEADER ",arm\n" ROW_0 ",\n", "arm: '' is no name" },
		{ HEADER ",arm\n" ROW_0 ",a,b\n", "arm: 'a' is no name" },
		{ HEADER ",arm\n" ROW_0 ",\"a\"\n", "arm: '\"a\"' is no name" },
		{ HEADER ",arm\n" ROW_0 ",a\xff\n", "arm: 'a\\xff' is no name" },
		{ HEADER "\n0,0,7,1000,1078,77,1135,135,338\n",
		  "row 0 (line 2): response_first_byte_ns is not query_start_ns + response_ttfb_ns" },
		{ HEADER "\n0,0,7,1000,1077,77,1134,135,338\n",
		  "payload_first_byte_ns is not query_start_ns + payload_ttfb_ns" },
		{ HEADER "\n0,0,7,18446744073709551615,76,77,1135,135,338\n",
		  "response_first_byte_ns is not" },
		{ HEADER "\n0,0,4294967296,1000,1077,77,1135,135,338\n",
		  "key_index 4294967296 is more than 32 bits" },
		{ HEADER "\n0,0,7,1000,1077,77,1135,135,18446744073709551616\n",
		  "complete_ns: '18446744073709551616' is no whole number of 64 bits" },
		{ HEADER "\n0,0,7,1000,1077,77,1135,135,99999999999999999999999\n",
		  "complete_ns: '999" },
		{ HEADER "\n0,0,-7,1000,1077,77,1135,135,338\n", "key_index: '-7' is no whole" },
		{ HEADER "\n0,0,+7,1000,1077,77,1135,135,338\n", "key_index: '+7' is no whole" },
		{ HEADER "\n0,0, 7,1000,1077,77,1135,135,338\n", "key_index: ' 7' is no whole" },
		{ HEADER "\n0,0,7 ,1000,1077,77,1135,135,338\n", "key_index: '7 ' is no whole" },
		{ HEADER "\n0,0,0x7,1000,1077,77,1135,135,338\n", "key_index: '0x7' is no whole" },
		{ HEADER "\n0,0,7.0,1000,1077,77,1135,135,338\n", "key_index: '7.0' is no whole" },
		{ HEADER "\n0,0,,1000,1077,77,1135,135,338\n", "key_index: '' is no whole" },
		{ HEADER "\n0,0,\x1b[1m,1000,1077,77,1135,135,338\n", "key_index: '\\x1b[1m'" },
		{ HEADER "\n" ROW_0 "\r\r\n", "complete_ns: '338\\x0d' is no whole" },
		{ HEADER "\nnan\n", "worker: 'nan' is no whole number" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_case("%s", cases[i].text);
		assert_no_trace(write_text(state, cases[i].text), cases[i].part);
	}
}

static void bytes_that_are_no_text_are_refused(void **state)
{
	static unsigned char bytes[5000];
	const char *path = path_of(state, "a.csv");
	size_t header = sizeof(HEADER "\n") - 1;

	memset(bytes, 'x', sizeof(bytes));
	write_file(path, bytes, sizeof(bytes));
	assert_no_trace(path, "no trace: neither");
	memset(bytes, 0, sizeof(bytes));
	write_file(path, bytes, sizeof(bytes));
	assert_no_trace(path, "no trace: neither");
	memcpy(bytes, HEADER "\n", header);
	write_file(path, bytes, sizeof(bytes));
	assert_no_trace(path, "row 0 (line 2): a line of more than 1024 bytes");
	bytes[header + 10] = '\n';
	write_file(path, bytes, sizeof(bytes));
	assert_no_trace(path, "row 0 (line 2): worker: '?");
}

/* ---- files that end early ---- */

static void a_text_that_is_cut_keeps_its_whole_rows(void **state)
{
	static const char text[] = HEADER "\n" ROW_0 "\n" ROW_1 "\n";
	const char *path = path_of(state, "a.csv");
	size_t header = sizeof(HEADER) - 1;
	size_t first = header + sizeof("\n" ROW_0) - 1;

	for (size_t left = 1; left < sizeof(text) - 1; left++) {
		struct nl_trace *trace;
		uint64_t rows;

		check_case("%zu of %zu bytes", left, sizeof(text) - 1);
		write_file(path, text, left);
		if (left < header) {
			assert_no_trace(path, "it ends within its first line");
			continue;
		}
		trace = open_trace(path);
		rows = nl_trace_end(trace)->rows;
		assert_trace(trace, two_rows, rows);
		/* Before the newline all of a row is there, and a newline may lack. */
		assert_number(rows, (left >= first) + (left + 1 == sizeof(text) - 1));
		if (left == header)
			assert_text(nl_trace_end(trace)->why,
			            "the file ends early, at its first line");
		else if (left == header + 1 || left == first || left == first + 1 ||
		         left + 1 == sizeof(text) - 1)
			assert_true(nl_trace_end(trace)->is_complete);
		else if (left < first)
			assert_text(nl_trace_end(trace)->why,
			            "the file ends early, within row 0 (line 2)");
		else
			assert_text(nl_trace_end(trace)->why,
			            "the file ends early, within row 1 (line 3)");
		nl_trace_close(trace);
	}
}

static void an_arm_that_is_cut_is_not_a_new_one(void **state)
{
	struct nl_trace *trace =
		open_trace(write_text(state, HEADER ",arm\n" ROW_0 ",far\n" ROW_1 ",fa"));

	assert_number(nl_trace_end(trace)->rows, 1);
	assert_false(nl_trace_end(trace)->is_complete);
	assert_number(nl_trace_about(trace)->arm_count, 1);
	nl_trace_close(trace);
}

static void packed_text_is_told_by_its_content(void **state)
{
	static const char text[] = HEADER "\n" ROW_0 "\n" ROW_1 "\n";
	const char *path = path_of(state, "no_matter.csv");
	unsigned char packed[4096];

	for (size_t split = 0; split < sizeof(text); split += 7) {
		size_t size = pack(text, split, packed, sizeof(packed));

		check_case("a second stream after %zu bytes", split);
		write_file(path, packed, size);
		assert_reads(path, 2, true);
	}
}

static void a_packed_text_that_is_cut_keeps_its_whole_rows(void **state)
{
	static const char text[] = HEADER "\n" ROW_0 "\n" ROW_1 "\n";
	const char *path = path_of(state, "a.csv.gz");
	unsigned char packed[4096];
	size_t size = pack(text, sizeof(HEADER "\n" ROW_0 "\n") - 1, packed, sizeof(packed));
	size_t opened = 0;
	size_t complete = 0;

	for (size_t left = 3; left < size; left++) {
		struct np_error err = { 0 };
		struct nl_trace *trace;

		check_case("%zu of %zu bytes", left, size);
		write_file(path, packed, left);
		if (nl_trace_open(path, &trace, &err) < 0) {
			assert_fails(-err.code, -EBADMSG, &err, "");
			continue;
		}
		opened++;
		complete += nl_trace_end(trace)->is_complete;
		assert_true(nl_trace_end(trace)->rows <= 2);
		assert_trace(trace, two_rows, nl_trace_end(trace)->rows);
		nl_trace_close(trace);
	}
	assert_true(opened > 20);
	/* Just behind the first stream, as a file of one. */
	assert_number(complete, 1);
}

static void a_packed_text_that_is_damaged_is_no_wrong_trace(void **state)
{
	static const char text[] = HEADER "\n" ROW_0 "\n" ROW_1 "\n";
	const char *path = path_of(state, "a.csv.gz");
	unsigned char packed[4096];
	size_t size = pack(text, 0, packed, sizeof(packed));

	for (size_t i = 0; i < size; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			struct np_error err = { 0 };
			struct nl_trace *trace;

			check_case("byte %zu of %zu, bit %u", i, size, bit);
			packed[i] ^= (unsigned char)(1u << bit);
			write_file(path, packed, size);
			packed[i] ^= (unsigned char)(1u << bit);
			if (nl_trace_open(path, &trace, &err) < 0) {
				assert_fails(-err.code, -EBADMSG, &err, "");
				continue;
			}
			assert_trace(trace, two_rows, nl_trace_end(trace)->rows);
			assert_true(nl_trace_end(trace)->rows == 2 ||
			            !nl_trace_end(trace)->is_complete);
			nl_trace_close(trace);
		}
	}
}

static void what_stands_behind_a_packed_text_is_refused(void **state)
{
	static const char text[] = HEADER "\n" ROW_0 "\n" ROW_1 "\n";
	const char *path = path_of(state, "a.csv.gz");
	unsigned char packed[4096];
	size_t size = pack(text, 0, packed, sizeof(packed));

	packed[size] = '\0';
	write_file(path, packed, size + 1);
	assert_no_trace(path, "something stands behind the gzip stream's end");
	packed[size] = 0x1f;
	packed[size + 1] = 0x7f;
	write_file(path, packed, size + 2);
	assert_no_trace(path, "the gzip stream is damaged: incorrect header check");
}

static void a_place_for_the_temporary_file_can_be_told(void **state)
{
	const char *path = write_text(state, HEADER "\n" ROW_0 "\n");
	const char *before = getenv("TMPDIR");
	char *kept = before ? strdup(before) : NULL;
	struct np_error err = { 0 };
	struct nl_trace *trace;

	setenv("TMPDIR", path_of(state, "missing"), 1);
	assert_fails(nl_trace_open(path, &trace, &err), -ENOENT, &err,
	             "missing (TMPDIR tells another): No such file");
	setenv("TMPDIR", path_of(state, ""), 1);
	assert_reads(path, 1, true);
	unsetenv("TMPDIR");
	if (kept)
		setenv("TMPDIR", kept, 1);
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(a_row_is_written_as_goblin_bench_writes_it),
		host_test(several_arms_have_a_column),
		host_test(a_column_of_one_arm_is_one_arm),
		host_test(no_more_arms_than_a_trace_holds),
		host_test(many_rows_come_back_from_each_form),
		host_test(times_that_have_no_sum_are_not_written),
		host_test(text_of_other_tools_is_read_too),
		host_test(what_is_no_trace_is_refused_with_its_row),
		host_test(bytes_that_are_no_text_are_refused),
		host_test(a_text_that_is_cut_keeps_its_whole_rows),
		host_test(an_arm_that_is_cut_is_not_a_new_one),
		host_test(packed_text_is_told_by_its_content),
		host_test(a_packed_text_that_is_cut_keeps_its_whole_rows),
		host_test(a_packed_text_that_is_damaged_is_no_wrong_trace),
		host_test(what_stands_behind_a_packed_text_is_refused),
		host_test(a_place_for_the_temporary_file_can_be_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
