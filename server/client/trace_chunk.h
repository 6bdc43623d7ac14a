/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chunks of rows in a file of our own form: collecting rows into them, and getting columns out of
 * them again.
 */
#ifndef NL_TRACE_CHUNK_H
#define NL_TRACE_CHUNK_H

#include "trace_file.h"
#include "trace_format.h"

/* A value that does not fit in its column. */
struct nl_trace_escape {
	uint32_t column;
	uint32_t row; /* in the chunk */
	uint64_t value;
};

/* ---- writing ---- */

struct nl_trace_sink; /* opaque: rows in, chunks out */

/* @file must outlive it. NULL: no memory. With @has_arms chunks have the column of arms. */
struct nl_trace_sink *nl_trace_sink_create(struct nl_trace_file *file, bool has_arms);
void nl_trace_sink_free(struct nl_trace_sink *sink); /* accepts NULL; what is not flushed is lost */

/* The caller counts to NL_TRACE_ROWS_MAX. row->arm is not looked at without the column. */
int nl_trace_sink_add(struct nl_trace_sink *sink, const struct nl_row *row, struct np_error *err);

/* Writes what is not written yet. */
int nl_trace_sink_flush(struct nl_trace_sink *sink, struct np_error *err);

/* ---- reading ---- */

struct nl_trace_source; /* opaque: one chunk at a time, from a file that can be sought in */

/* @path is for messages, and must outlive it. NULL: no memory. */
struct nl_trace_source *nl_trace_source_create(int fd, const char *path, bool has_arms);
void nl_trace_source_free(struct nl_trace_source *source); /* accepts NULL */

/*
 * All of one column of a chunk, chunk->rows values; starts are absolute, arms without a column 0.
 * -EBADMSG: damaged; err names rows, offset and column
 */
int nl_trace_source_read(struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                         enum nl_column column, uint64_t *values, struct np_error *err);

/* The column of arms as it is. */
int nl_trace_source_read_arms(struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                              uint8_t *arms, struct np_error *err);

/* Up to @size bytes at @offset; fewer at the file's end only. */
ssize_t nl_trace_pread(int fd, void *bytes, size_t size, uint64_t offset);

#endif
