/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces to test with: made by the writer in a temporary folder, and compared row by row. For the
 * tests of traces alone, each of which is one program.
 */
#ifndef TRACES_H
#define TRACES_H

#include "host.h"

#include "../../../server/client/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct nl_trace_about one_arm = { .arms = { "" }, .arm_count = 1 };
static const struct nl_trace_about three_arms = {
	.protocol = "http",
	.arms = { "local", "far", "middle" },
	.arm_count = 3,
	.order = "abba",
	.block = 2000,
	.keys = 16000,
	.planned = 5,
	.began_ns = INT64_C(1700000000000000000),
};
static const struct nl_trace_end whole = { .is_complete = true };

/* "NAME" in the folder; the text lives until the next but three. */
static inline const char *path_of(void **state, const char *name)
{
	static char paths[4][512];
	static unsigned next;
	const struct host *host = *state;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", host->dir, name);
	return path;
}

/* Row @i of a serial run with times as they are. */
static inline struct nl_row plain_row(uint64_t i)
{
	return (struct nl_row){
		.start_ns = UINT64_C(86400000000000) + i * 400000,
		.response_ns = 77000 + i % 97,
		.payload_ns = 135000 + i % 89,
		.total_ns = 338000 + i % 83,
		.key = (uint32_t)(i * 2654435761u % 16000),
	};
}

static inline void write_trace(const char *path, enum nl_trace_form form,
                               const struct nl_trace_about *about, const struct nl_row *rows,
                               size_t count)
{
	struct nl_trace_writer *writer;
	struct np_error err = { 0 };

	assert_np_ok(nl_trace_writer_create(path, form, about, &writer, &err), &err);
	for (size_t i = 0; i < count; i++)
		assert_np_ok(nl_trace_writer_add(writer, &rows[i], &err), &err);
	assert_np_ok(nl_trace_writer_finish(writer, &whole, NULL, &err), &err);
}

static inline struct nl_trace *open_trace(const char *path)
{
	struct np_error err = { 0 };
	struct nl_trace *trace = NULL;

	assert_np_ok(nl_trace_open(path, &trace, &err), &err);
	return trace;
}

static inline uint64_t value_of(const struct nl_row *row, enum nl_column column)
{
	switch (column) {
	case NL_START:
		return row->start_ns;
	case NL_RESPONSE:
		return row->response_ns;
	case NL_PAYLOAD:
		return row->payload_ns;
	case NL_TOTAL:
		return row->total_ns;
	case NL_KEY:
		return row->key;
	default:
		return row->arm;
	}
}

/* Reads a column in steps of @step, and compares it with that of those rows that are of the arm. */
static inline void assert_column(struct nl_trace *trace, enum nl_column column, unsigned arm,
                                 size_t step, const struct nl_row *rows, size_t count)
{
	uint64_t *values = malloc(step * sizeof(*values));
	struct nl_cursor *cursor = NULL;
	struct np_error err = { 0 };
	ssize_t got;
	size_t i = 0;

	assert_non_null(values);
	assert_np_ok(nl_cursor_create(trace, column, arm, &cursor, &err), &err);
	while ((got = nl_cursor_read(cursor, values, step, &err)) > 0) {
		for (ssize_t taken = 0; taken < got; i++) {
			assert_true(i < count);
			if (arm != NL_ALL_ARMS && rows[i].arm != arm)
				continue;
			if (values[taken] != value_of(&rows[i], column))
				fail_msg("row %zu, column %d: %llu, wanted %llu", i, (int)column,
				         (unsigned long long)values[taken],
				         (unsigned long long)value_of(&rows[i], column));
			taken++;
		}
	}
	assert_np_ok((int)got, &err);
	for (; i < count; i++)
		assert_true(arm != NL_ALL_ARMS && rows[i].arm != arm);
	nl_cursor_free(cursor);
	free(values);
}

static inline void assert_rows_read(struct nl_trace *trace, const struct nl_row *rows, size_t count)
{
	struct nl_row_reader *reader = NULL;
	struct np_error err = { 0 };
	struct nl_row row;

	assert_np_ok(nl_row_reader_create(trace, NL_ALL_ARMS, &reader, &err), &err);
	for (size_t i = 0; i < count; i++) {
		assert_number(nl_row_reader_next(reader, &row, &err), 1);
		for (unsigned column = 0; column < NL_COLUMN_COUNT; column++)
			assert_true(value_of(&row, column) == value_of(&rows[i], column));
	}
	assert_number(nl_row_reader_next(reader, &row, &err), 0);
	assert_number(nl_row_reader_next(reader, &row, &err), 0);
	nl_row_reader_free(reader);
}

/* The trace has just these rows, whichever way they are read. */
static inline void assert_trace(struct nl_trace *trace, const struct nl_row *rows, size_t count)
{
	unsigned arms = nl_trace_about(trace)->arm_count;

	assert_number(nl_trace_end(trace)->rows, count);
	assert_rows_read(trace, rows, count);
	for (unsigned column = 0; column < NL_COLUMN_COUNT; column++) {
		assert_column(trace, column, NL_ALL_ARMS, 1000, rows, count);
		assert_column(trace, column, NL_ALL_ARMS, 65536, rows, count);
		for (unsigned arm = 0; arm < arms; arm++)
			assert_column(trace, column, arm, 777, rows, count);
	}
}

/* A whole file in a new block. */
static inline unsigned char *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	unsigned char *bytes;
	long size;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	assert_true(size >= 0);
	rewind(file);
	bytes = malloc((size_t)size + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
	fclose(file);
	*ret_size = (size_t)size;
	return bytes;
}

static inline void write_file(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static inline void assert_no_trace(const char *path, const char *part)
{
	struct np_error err = { 0 };
	struct nl_trace *trace = NULL;

	assert_fails(nl_trace_open(path, &trace, &err), -EBADMSG, &err, part);
	assert_null(trace);
}

#endif
