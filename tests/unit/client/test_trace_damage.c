/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of our own form that are cut or damaged, at every byte: an error, or what was written, or
 * less of it and not complete; and files that are in order by their checksums, and nonsense.
 */
#include "traces.h"

#include "../../../server/client/trace_format.h"

#include <unistd.h>

enum { ROWS = 3 };

static void make_rows(struct nl_row *rows)
{
	for (size_t i = 0; i < ROWS; i++) {
		rows[i] = plain_row(i);
		rows[i].arm = (uint8_t)i;
	}
	rows[1].total_ns = UINT64_C(5000000000);
	rows[2].start_ns += UINT64_C(6000000000);
}

/* Reads all that the file at @path claims to have. Returns whether all of it was right. */
static bool reads_right(struct nl_trace *trace, const struct nl_row *rows)
{
	uint64_t count = nl_trace_end(trace)->rows;
	bool is_right = true;

	assert_true(count <= ROWS);
	for (unsigned column = 0; column < NL_COLUMN_COUNT; column++) {
		struct nl_cursor *cursor = NULL;
		struct np_error err = { 0 };
		uint64_t values[ROWS + 1];
		ssize_t got;

		assert_np_ok(nl_cursor_create(trace, column, NL_ALL_ARMS, &cursor, &err), &err);
		got = nl_cursor_read(cursor, values, ROWS + 1, &err);
		if (got < 0) {
			assert_fails((int)got, -EBADMSG, &err, ": rows 0-2 (at offset ");
			is_right = false;
		}
		for (ssize_t i = 0; i < got; i++)
			assert_true(values[i] == value_of(&rows[i], column));
		assert_true(got < 0 || (uint64_t)got == count);
		nl_cursor_free(cursor);
	}
	return is_right;
}

/* Returns whether it is found out, by an error or by not being complete. */
static bool is_noticed(const char *path, const struct nl_row *rows)
{
	struct np_error err = { 0 };
	struct nl_trace *trace = NULL;
	bool is_noticed;
	int rc = nl_trace_open(path, &trace, &err);

	if (rc < 0) {
		assert_fails(rc, -EBADMSG, &err, path);
		return true;
	}
	is_noticed = !reads_right(trace, rows) || !nl_trace_end(trace)->is_complete;
	if (!nl_trace_end(trace)->is_complete)
		assert_has(nl_trace_end(trace)->why, "the file ends early, at offset ");
	nl_trace_close(trace);
	return is_noticed;
}

static void a_file_that_is_cut_anywhere_is_noticed(void **state)
{
	const char *path = path_of(state, "a.nlt");
	const char *cut = path_of(state, "cut.nlt");
	struct nl_row rows[ROWS];
	unsigned char *bytes;
	size_t size;

	make_rows(rows);
	write_trace(path, NL_TRACE_NLT, &three_arms, rows, ROWS);
	bytes = read_file(path, &size);
	for (size_t left = 0; left < size; left++) {
		check_case("%zu of %zu bytes", left, size);
		write_file(cut, bytes, left);
		assert_true(is_noticed(cut, rows));
	}
	assert_false(is_noticed(path, rows));
	free(bytes);
}

static void a_byte_that_changed_is_noticed(void **state)
{
	static const unsigned char masks[] = { 0x01, 0x80, 0xff };
	const char *path = path_of(state, "a.nlt");
	const char *damaged = path_of(state, "damaged.nlt");
	struct nl_row rows[ROWS];
	unsigned char *bytes;
	size_t size;

	make_rows(rows);
	write_trace(path, NL_TRACE_NLT, &three_arms, rows, ROWS);
	bytes = read_file(path, &size);
	for (size_t i = 0; i < size; i++) {
		for (size_t mask = 0; mask < sizeof(masks); mask++) {
			check_case("byte %zu of %zu, by %#x", i, size, masks[mask]);
			bytes[i] ^= masks[mask];
			write_file(damaged, bytes, size);
			assert_true(is_noticed(damaged, rows));
			bytes[i] ^= masks[mask];
		}
	}
	free(bytes);
}

static void whole_chunks_before_a_cut_are_kept(void **state)
{
	enum { COUNT = 2 * NL_TRACE_CHUNK_ROWS + 10 };
	const char *path = path_of(state, "a.nlt");
	struct nl_row *rows = calloc(COUNT, sizeof(*rows));
	struct nl_trace *trace;
	unsigned char *bytes;
	size_t size;

	assert_non_null(rows);
	for (size_t i = 0; i < COUNT; i++)
		rows[i] = plain_row(i);
	write_trace(path, NL_TRACE_NLT, &one_arm, rows, COUNT);
	bytes = read_file(path, &size);
	assert_int_equal(truncate(path, (off_t)size - 200), 0);
	trace = open_trace(path);
	assert_false(nl_trace_end(trace)->is_complete);
	assert_has(nl_trace_end(trace)->why, "behind row 131072 of an unknown number");
	assert_trace(trace, rows, COUNT - 10);
	nl_trace_close(trace);
	free(bytes);
	free(rows);
}

/* Rows before the damage are read, and the message tells where it is. */
static void damage_is_told_where_it_is(void **state)
{
	enum { COUNT = NL_TRACE_CHUNK_ROWS + 1000 };
	const char *path = path_of(state, "a.nlt");
	static uint64_t values[NL_TRACE_CHUNK_ROWS];
	struct nl_row *rows = calloc(COUNT, sizeof(*rows));
	uint64_t hash;
	struct nl_cursor *cursor = NULL;
	struct np_error err = { 0 };
	struct nl_trace *trace;
	unsigned char *bytes;
	size_t size;

	assert_non_null(rows);
	for (size_t i = 0; i < COUNT; i++)
		rows[i] = plain_row(i);
	write_trace(path, NL_TRACE_NLT, &one_arm, rows, COUNT);
	bytes = read_file(path, &size);
	bytes[size - 1000 * 20 / 2] ^= 1;
	write_file(path, bytes, size);
	trace = open_trace(path);
	assert_np_ok(nl_cursor_create(trace, NL_PAYLOAD, NL_ALL_ARMS, &cursor, &err), &err);
	assert_number(nl_cursor_read(cursor, values, NL_TRACE_CHUNK_ROWS, &err),
	              NL_TRACE_CHUNK_ROWS);
	assert_fails((int)nl_cursor_read(cursor, values, 1, &err), -EBADMSG, &err,
	             "a.nlt: rows 65536-66535 (at offset ");
	assert_has(err.text, "): 'payload' is damaged: its checksum is wrong");
	nl_cursor_free(cursor);
	/* Another column is as it was. */
	assert_column(trace, NL_TOTAL, NL_ALL_ARMS, 1000, rows, COUNT);
	assert_fails(nl_trace_check(trace, &hash, &err), -EBADMSG, &err, "'payload' is damaged");
	nl_trace_close(trace);
	free(bytes);
	free(rows);
}

/* ---- in order by its checksums, and nonsense ---- */

static const char good_json[] = "{\"schema\":\"numakit/trace/1\",\"arms\":[\"\"]}";
static const char good_end[] = "{\"complete\":true}";

struct forged {
	unsigned char bytes[4096];
	size_t size;
};

static void put(struct forged *file, const void *bytes, size_t size)
{
	assert_true(file->size + size <= sizeof(file->bytes));
	memcpy(file->bytes + file->size, bytes, size);
	file->size += size;
}

static struct nl_trace_text text_of(const char *json)
{
	return (struct nl_trace_text){ (uint32_t)strlen(json),
		                       nl_trace_checksum(json, strlen(json)) };
}

static void put_head(struct forged *file, const char *json)
{
	struct nl_trace_text text = text_of(json);
	unsigned char head[NL_TRACE_HEAD_BYTES];

	nl_trace_head_encode(&text, head);
	put(file, head, sizeof(head));
	put(file, json, strlen(json));
}

static void put_end(struct forged *file, uint64_t rows, const char *json)
{
	struct nl_trace_text text = text_of(json);
	unsigned char end[NL_TRACE_END_BYTES];

	nl_trace_end_encode(rows, &text, end);
	put(file, end, sizeof(end));
	put(file, json, strlen(json));
}

/* One row and two escapes at most, each value in the column @values; list: column, row, value. */
static void put_chunk(struct forged *file, uint64_t first_row, const uint32_t values[5],
                      const uint32_t *list, uint32_t escapes)
{
	struct nl_trace_chunk chunk = { .first_row = first_row, .rows = 1, .escapes = escapes };
	unsigned char header[NL_TRACE_CHUNK_BYTES];
	unsigned char entries[64];

	for (size_t i = 0; i < escapes; i++) {
		nl_put_u32(entries + 16 * i, list[3 * i]);
		nl_put_u32(entries + 16 * i + 4, list[3 * i + 1]);
		nl_put_u64(entries + 16 * i + 8, (uint64_t)list[3 * i + 2] << 16);
	}
	for (unsigned i = 0; i < 5; i++)
		chunk.checksums[i] = nl_trace_checksum(&values[i], 4);
	chunk.checksums[NL_ARM] = nl_trace_checksum("", 0);
	chunk.escapes_checksum = nl_trace_checksum(entries, 16 * (size_t)escapes);
	nl_trace_chunk_encode(&chunk, false, header);
	put(file, header, sizeof(header));
	put(file, values, 20);
	put(file, entries, 16 * (size_t)escapes);
}

static void heads_and_ends_that_are_nonsense_are_refused(void **state)
{
	static const struct {
		const char *head;
		const char *end;
		uint64_t rows;
		const char *part;
	} cases[] = {
		{ "{", good_end, 0, "no JSON" },
		{ "[]", good_end, 0, "schema" },
		{ "7", good_end, 0, "no JSON" },
		{ "{\"schema\":\"numakit/trace/2\",\"arms\":[\"\"]}", good_end, 0, "schema" },
		{ "{\"schema\":\"numakit/trace/1\"}", good_end, 0, "arms: no list" },
		{ "{\"schema\":\"numakit/trace/1\",\"arms\":[]}", good_end, 0, "arms: no list" },
		{ "{\"schema\":\"numakit/trace/1\",\"arms\":[1]}", good_end, 0, "arms: one is no" },
		{ "{\"schema\":\"numakit/trace/1\",\"arms\":[\"a\",\"a\"]}", good_end, 0,
		  "arms: two have the name 'a'" },
		{ "{\"schema\":\"numakit/trace/1\",\"arms\":[\"a\",\"\"]}", good_end, 0,
		  "no name" },
		{ "{\"schema\":\"numakit/trace/1\",\"arms\":[\"\"],\"arms\":[\"\"]}", good_end, 0,
		  "no JSON: duplicate" },
		{ "{\"schema\":\"numakit/trace/1\",\"arms\":[\"\"],\"keys\":-1}", good_end, 0,
		  "keys: neither a number" },
		{ "{\"schema\":\"numakit/trace/1\",\"arms\":[\"\"],\"block\":4294967296}", good_end,
		  0, "block: neither a number" },
		{ "{\"schema\":\"numakit/trace/1\",\"arms\":[\"\"],\"order\":7}", good_end, 0,
		  "order: neither a text" },
		{ "{\"schema\":\"numakit/trace/1\",\"arms\":[\"\"],\"details\":[]}", good_end, 0,
		  "details: neither an object" },
		{ good_json, "{}", 0, "complete: neither" },
		{ good_json, "{\"complete\":true,\"why\":1}", 0, "why: neither" },
		{ good_json, "{\"complete\":true,\"outcome\":1}", 0, "outcome: neither" },
		{ good_json, "{", 0, "no JSON" },
		{ good_json, good_end, 1, "the end tells of 1 rows, but there are 0" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct forged file = { .size = 0 };

		check_case("%s %s", cases[i].head, cases[i].end);
		put_head(&file, cases[i].head);
		put_end(&file, cases[i].rows, cases[i].end);
		write_file(path_of(state, "a.nlt"), file.bytes, file.size);
		assert_no_trace(path_of(state, "a.nlt"), cases[i].part);
	}
}

static void keys_that_we_do_not_know_are_passed_over(void **state)
{
	struct forged file = { .size = 0 };
	struct nl_trace *trace;

	put_head(&file, "{\"schema\":\"numakit/trace/1\",\"arms\":[\"\"],\"new\":{\"a\":[1]}}");
	put_end(&file, 0, "{\"complete\":false,\"new\":1}");
	write_file(path_of(state, "a.nlt"), file.bytes, file.size);
	trace = open_trace(path_of(state, "a.nlt"));
	assert_number(nl_trace_end(trace)->rows, 0);
	assert_text(nl_trace_end(trace)->why, "it does not tell why");
	nl_trace_close(trace);
}

static void a_newer_version_is_told_as_such(void **state)
{
	struct forged file = { .size = 0 };

	put_head(&file, good_json);
	file.bytes[8] = 2;
	write_file(path_of(state, "a.nlt"), file.bytes, file.size);
	assert_no_trace(path_of(state, "a.nlt"), "version 2, which only a newer numalat reads");
}

static void what_stands_behind_the_end_is_refused(void **state)
{
	struct forged file = { .size = 0 };

	put_head(&file, good_json);
	put_end(&file, 0, good_end);
	put(&file, "", 1);
	write_file(path_of(state, "a.nlt"), file.bytes, file.size);
	assert_no_trace(path_of(state, "a.nlt"), "something stands behind the trace's end");
}

static void lengths_that_lie_are_refused(void **state)
{
	static const struct {
		size_t offset; /* in the chunk's header */
		uint32_t value;
		const char *part;
	} cases[] = {
		{ 8, 1, "a chunk that begins with row 1, not 0" },
		{ 16, 0, "it has 0 rows, not 1..65536" },
		{ 16, 65537, "it has 65537 rows" },
		{ 16, UINT32_MAX, "it has 4294967295 rows" },
		{ 16, 2, "its column 'start' has 4 bytes, not 8" },
		{ 20, 6, "it has 6 escapes for 1 rows" },
		{ 20, UINT32_MAX, "escapes for 1 rows" },
		{ 20, 1, "its 1 escapes have 0 bytes" },
		{ 32, 8, "its column 'start' has 8 bytes, not 4" },
		{ 52, 1, "its column 'arm' has 1 bytes, not 0" },
	};
	static const uint32_t values[5] = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct forged file = { .size = 0 };
		unsigned char *header;

		check_case("%u at %zu", cases[i].value, cases[i].offset);
		put_head(&file, good_json);
		header = file.bytes + file.size;
		put_chunk(&file, 0, values, NULL, 0);
		put_end(&file, 1, good_end);
		nl_put_u32(header + cases[i].offset, cases[i].value);
		nl_put_u64(header + 120, nl_trace_checksum(header, 120));
		write_file(path_of(state, "a.nlt"), file.bytes, file.size);
		assert_no_trace(path_of(state, "a.nlt"), cases[i].part);
	}
}

static void a_text_that_is_longer_than_the_file_is_not_made_room_for(void **state)
{
	struct nl_trace_text text = { 1 << 20, 0 };
	unsigned char head[NL_TRACE_HEAD_BYTES];

	nl_trace_head_encode(&text, head);
	write_file(path_of(state, "a.nlt"), head, sizeof(head));
	assert_no_trace(path_of(state, "a.nlt"), "it ends within its head");
	text.bytes = (1 << 20) + 1;
	nl_trace_head_encode(&text, head);
	write_file(path_of(state, "a.nlt"), head, sizeof(head));
	assert_no_trace(path_of(state, "a.nlt"), "its head has a text of 1048577 bytes");
	text.bytes = 0;
	nl_trace_head_encode(&text, head);
	write_file(path_of(state, "a.nlt"), head, sizeof(head));
	assert_no_trace(path_of(state, "a.nlt"), "its head has a text of 0 bytes");
}

static const struct {
	const char *name;
	uint32_t values[5];
	uint32_t list[6];
	uint32_t escapes;
	enum nl_column column;
	const char *part; /* NULL = fine */
} escape_cases[] = {
	{ "one", { 0, 0, 0, UINT32_MAX, 0 }, { 3, 0, 1 << 20 }, 1, NL_TOTAL, NULL },
	{ "none", { 0, 0, 0, UINT32_MAX, 0 }, { 0 }, 0, NL_TOTAL, "is not among the escapes" },
	{ "of another column",
	  { 0, 0, UINT32_MAX, UINT32_MAX, 0 },
	  { 3, 0, 1 << 20 },
	  1,
	  NL_PAYLOAD,
	  "is not among the escapes" },
	{ "needless", { 0 }, { 3, 0, 1 << 20 }, 1, NL_TOTAL, "for a value that needs none" },
	{ "short", { 0, 0, 0, UINT32_MAX, 0 }, { 3, 0, 1 }, 1, NL_TOTAL, "a value that needs" },
	{ "twice",
	  { 0, 0, 0, UINT32_MAX, 0 },
	  { 3, 0, 1 << 20, 3, 0, 1 << 20 },
	  2,
	  NL_TOTAL,
	  "not in order" },
	{ "backwards",
	  { 0, 0, UINT32_MAX, UINT32_MAX, 0 },
	  { 3, 0, 1 << 20, 2, 0, 1 << 20 },
	  2,
	  NL_TOTAL,
	  "not in order" },
	{ "no such column", { 0 }, { 5, 0, 1 << 20 }, 1, NL_TOTAL, "a place that is not" },
	{ "no such row",
	  { 0, 0, 0, UINT32_MAX, 0 },
	  { 3, 1, 1 << 20 },
	  1,
	  NL_TOTAL,
	  "a place that is not" },
	{ "a long key",
	  { 0, 0, 0, 0, UINT32_MAX },
	  { 4, 0, 1 << 20 },
	  1,
	  NL_KEY,
	  "a key of more than 32 bits" },
};

static void escapes_that_do_not_fit_the_columns_are_refused(void **state)
{
	for (size_t i = 0; i < sizeof(escape_cases) / sizeof(escape_cases[0]); i++) {
		struct forged file = { .size = 0 };
		struct nl_cursor *cursor = NULL;
		struct np_error err = { 0 };
		struct nl_trace *trace;
		uint64_t value;
		ssize_t got;

		check_case("%s", escape_cases[i].name);
		put_head(&file, good_json);
		put_chunk(&file, 0, escape_cases[i].values, escape_cases[i].list,
		          escape_cases[i].escapes);
		put_end(&file, 1, good_end);
		write_file(path_of(state, "a.nlt"), file.bytes, file.size);
		trace = open_trace(path_of(state, "a.nlt"));
		assert_np_ok(nl_cursor_create(trace, escape_cases[i].column, 0, &cursor, &err),
		             &err);
		got = nl_cursor_read(cursor, &value, 1, &err);
		if (escape_cases[i].part)
			assert_fails((int)got, -EBADMSG, &err, escape_cases[i].part);
		else
			assert_true(got == 1 && value == UINT64_C(1) << 36);
		nl_cursor_free(cursor);
		nl_trace_close(trace);
	}
}

static void a_row_of_an_arm_that_there_is_not_is_noticed(void **state)
{
	const char *path = path_of(state, "a.nlt");
	struct nl_row rows[ROWS];
	unsigned char *bytes;
	unsigned char *header;
	unsigned char *arms;
	size_t size;

	make_rows(rows);
	write_trace(path, NL_TRACE_NLT, &three_arms, rows, ROWS);
	bytes = read_file(path, &size);
	header = memmem(bytes, size, nl_trace_chunk_magic, NL_TRACE_MAGIC_BYTES);
	assert_non_null(header);
	arms = header + nl_trace_column_offset(NL_ARM, ROWS, true);
	arms[0] = 200;
	nl_put_u64(header + 104, nl_trace_checksum(arms, ROWS));
	nl_put_u64(header + 120, nl_trace_checksum(header, 120));
	write_file(path, bytes, size);
	assert_no_trace(path, "a row is of arm 200, but there are 3");
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(a_file_that_is_cut_anywhere_is_noticed),
		host_test(a_byte_that_changed_is_noticed),
		host_test(whole_chunks_before_a_cut_are_kept),
		host_test(damage_is_told_where_it_is),
		host_test(heads_and_ends_that_are_nonsense_are_refused),
		host_test(keys_that_we_do_not_know_are_passed_over),
		host_test(a_newer_version_is_told_as_such),
		host_test(what_stands_behind_the_end_is_refused),
		host_test(lengths_that_lie_are_refused),
		host_test(a_text_that_is_longer_than_the_file_is_not_made_room_for),
		host_test(escapes_that_do_not_fit_the_columns_are_refused),
		host_test(a_row_of_an_arm_that_there_is_not_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
