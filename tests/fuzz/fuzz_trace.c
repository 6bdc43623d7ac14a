/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces: our own form, CSV, gzip. The input is a file. In one of our own form the checksums are
 * made right first, as no fuzzer would guess them, unless its last byte is odd. What opens is read
 * whole, and written and read again.
 */
#include "fuzz.h"
#include "tree.h"

#include "../../server/client/trace_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* EBADMSG alone: the file itself can be opened and read. */
static const int codes[] = { EBADMSG, 0 };
/* Of writing a CSV: times that have no sum. */
static const int csv_codes[] = { EBADMSG, ERANGE, 0 };

enum { PATH_SIZE = 512, BATCH = 1000 };

static void join(char *path, const char *name)
{
	snprintf(path, PATH_SIZE, "%s/%s", tree_root(), name);
}

/* ---- checksums ---- */

static void seal(uint8_t *at, size_t checked)
{
	nl_put_u64(at + checked, nl_trace_checksum(at, checked));
}

/* The chunk at @at, of which @left bytes are there: its size, or 0 where it is not whole. */
static size_t seal_chunk(uint8_t *at, size_t left)
{
	size_t used = NL_TRACE_CHUNK_BYTES;

	if (left < NL_TRACE_CHUNK_BYTES)
		return 0;
	for (size_t i = 0; i <= NL_COLUMN_COUNT; i++) {
		size_t bytes = nl_get_u32(at + 32 + 4 * i);

		if (bytes > left - used)
			break;
		nl_put_u64(at + 64 + 8 * i, nl_trace_checksum(at + used, bytes));
		used += bytes;
	}
	seal(at, 120);
	return used;
}

static void seal_end(uint8_t *at, size_t left)
{
	size_t bytes;

	if (left < NL_TRACE_END_BYTES)
		return;
	bytes = nl_get_u32(at + 16);
	if (bytes <= left - NL_TRACE_END_BYTES)
		nl_put_u64(at + 24, nl_trace_checksum(at + NL_TRACE_END_BYTES, bytes));
	seal(at, 32);
}

static void seal_all(uint8_t *data, size_t size)
{
	size_t at = NL_TRACE_HEAD_BYTES;
	size_t bytes;

	if (size < NL_TRACE_HEAD_BYTES || (data[size - 1] & 1) != 0 ||
	    memcmp(data, nl_trace_head_magic, NL_TRACE_MAGIC_BYTES) != 0)
		return;
	bytes = nl_get_u32(data + 12);
	if (bytes > size - at)
		return;
	nl_put_u64(data + 16, nl_trace_checksum(data + at, bytes));
	seal(data, 24);
	at += bytes;
	while (size - at >= NL_TRACE_MAGIC_BYTES &&
	       memcmp(data + at, nl_trace_chunk_magic, NL_TRACE_MAGIC_BYTES) == 0) {
		bytes = seal_chunk(data + at, size - at);
		if (bytes == 0)
			return;
		at += bytes;
	}
	if (size - at >= NL_TRACE_MAGIC_BYTES &&
	    memcmp(data + at, nl_trace_end_magic, NL_TRACE_MAGIC_BYTES) == 0)
		seal_end(data + at, size - at);
}

/* ---- reading ---- */

/* How many values there are; negative when it is damaged. */
static int64_t read_column(struct nl_trace *trace, enum nl_column column, unsigned arm)
{
	struct nl_cursor *cursor;
	struct np_error err = { 0 };
	uint64_t values[BATCH];
	int64_t count = 0;
	ssize_t got;

	if (nl_cursor_create(trace, column, arm, &cursor, &err) < 0)
		fuzz_fail("no cursor", err.text);
	while ((got = nl_cursor_read(cursor, values, BATCH, &err)) > 0)
		count += got;
	fuzz_check((int)got, &err, codes);
	nl_cursor_free(cursor);
	return got < 0 ? got : count;
}

static void read_columns(struct nl_trace *trace)
{
	int64_t rows = (int64_t)nl_trace_end(trace)->rows;
	int64_t sum = 0;

	for (unsigned column = 0; column < NL_COLUMN_COUNT; column++) {
		int64_t count = read_column(trace, (enum nl_column)column, NL_ALL_ARMS);

		if (count >= 0 && count != rows)
			fuzz_fail("not as many values as rows", "");
	}
	/* Of one column only, as each of these takes its time. */
	for (unsigned arm = 0; arm < nl_trace_about(trace)->arm_count; arm++) {
		int64_t count = read_column(trace, NL_TOTAL, arm);

		if (count < 0)
			return;
		if (count != (int64_t)nl_trace_arm_rows(trace, arm))
			fuzz_fail("not as many values as the arm has rows", "");
		sum += count;
	}
	if (sum != rows)
		fuzz_fail("arms that do not add up", "");
}

/* ---- writing ---- */

static bool write_again(struct nl_trace *trace, const char *path, enum nl_trace_form form)
{
	struct nl_trace_writer *writer;
	struct nl_row_reader *reader;
	struct np_error err = { 0 };
	struct nl_row row;
	int rc;

	if (nl_trace_writer_create(path, form, nl_trace_about(trace), &writer, &err) < 0)
		fuzz_fail("what was read cannot be written", err.text);
	if (nl_row_reader_create(trace, NL_ALL_ARMS, &reader, &err) < 0)
		fuzz_fail("no reader", err.text);
	while ((rc = nl_row_reader_next(reader, &row, &err)) > 0) {
		rc = nl_trace_writer_add(writer, &row, &err);
		if (rc < 0)
			break;
	}
	nl_row_reader_free(reader);
	fuzz_check(rc, &err, form == NL_TRACE_NLT ? codes : csv_codes);
	if (rc < 0) {
		nl_trace_writer_abandon(writer);
		return false;
	}
	if (nl_trace_writer_finish(writer, nl_trace_end(trace), nl_trace_outcome(trace), &err) < 0)
		fuzz_fail("what was read cannot be written", err.text);
	return true;
}

static void compare(struct nl_trace *one, struct nl_trace *two)
{
	struct nl_row_reader *readers[2];
	struct np_error err = { 0 };
	struct nl_row a = { 0 };
	struct nl_row b = { 0 };
	int rc;

	if (nl_row_reader_create(one, NL_ALL_ARMS, &readers[0], &err) < 0 ||
	    nl_row_reader_create(two, NL_ALL_ARMS, &readers[1], &err) < 0)
		fuzz_fail("no reader", err.text);
	do {
		rc = nl_row_reader_next(readers[0], &a, &err);
		if (nl_row_reader_next(readers[1], &b, &err) != rc || a.start_ns != b.start_ns ||
		    a.response_ns != b.response_ns || a.payload_ns != b.payload_ns ||
		    a.total_ns != b.total_ns || a.key != b.key)
			fuzz_fail("what was written is not what was read", err.text);
	} while (rc > 0);
	nl_row_reader_free(readers[0]);
	nl_row_reader_free(readers[1]);
}

static void round_trip(struct nl_trace *trace, const char *name, enum nl_trace_form form)
{
	struct np_error err = { 0 };
	struct nl_trace *again;
	char path[PATH_SIZE];

	join(path, name);
	if (!write_again(trace, path, form))
		return;
	if (nl_trace_open(path, &again, &err) < 0)
		fuzz_fail("what was written cannot be read", err.text);
	compare(trace, again);
	nl_trace_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t hashes[NL_TRACE_ARMS_MAX];
	uint8_t *copy = malloc(size + 1);
	struct nl_trace *trace = NULL;
	struct np_error err = { 0 };
	char path[PATH_SIZE];
	int rc;

	if (!copy)
		abort();
	if (size > 0)
		memcpy(copy, data, size);
	seal_all(copy, size);
	tree_put("trace", (const char *)copy, size);
	free(copy);
	join(path, "trace");
	rc = nl_trace_open(path, &trace, &err);
	fuzz_check(rc, &err, codes);
	if (rc < 0)
		return 0;
	if (nl_trace_end(trace)->is_complete != (nl_trace_end(trace)->why == NULL))
		fuzz_fail("not complete, and no reason, or the other way", "");
	read_columns(trace);
	fuzz_check(nl_trace_check(trace, hashes, &err), &err, codes);
	if (size % 2 == 0)
		round_trip(trace, "again.nlt", NL_TRACE_NLT);
	else
		round_trip(trace, "again.csv", NL_TRACE_CSV);
	nl_trace_close(trace);
	return 0;
}
