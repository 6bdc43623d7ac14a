/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces: a row for each request. Three forms: our own binary one (docs/trace-format.md; .nlt), and
 * goblin-bench's CSV, plain or gzip. Rows stand in the order of sending; all times are nanoseconds.
 *
 * Reading is by column and streams: a few chunks are in memory, whatever the trace's length. A CSV is
 * read once, into an unnamed temporary file of our own form in $TMPDIR (/var/tmp).
 */
#ifndef NL_TRACE_H
#define NL_TRACE_H

#include <jansson.h>
#include <numaprobe/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NL_TRACE_ROWS_MAX (UINT64_C(1) << 31)
enum { NL_TRACE_ARMS_MAX = 64, NL_ARM_NAME_MAX = 63 };

struct nl_row {
	uint64_t start_ns;    /* CLOCK_MONOTONIC_RAW just before sending */
	uint64_t response_ns; /* since then, to the first byte of the reply */
	uint64_t payload_ns;  /* to the first byte of the value */
	uint64_t total_ns;    /* to the last byte */
	uint32_t key;
	uint8_t arm; /* place in the list of arms; 0 where there is one */
};

/* What a trace says of itself. Text is owned by the trace. */
struct nl_trace_about {
	const char *protocol;                /* "memcache", "http"; NULL = not told */
	const char *arms[NL_TRACE_ARMS_MAX]; /* names; a single one has the name "" */
	unsigned arm_count;                  /* >= 1 */
	const char *
		order; /* of arms within a block: "random", "abba", "fixed"; NULL = one arm, or not told */
	uint32_t block;   /* requests of an arm before the next arm's turn; 0 = not told */
	uint64_t keys;    /* 0 = not told */
	uint64_t planned; /* requests of each arm that were to be made; 0 = not told */
	int64_t began_ns; /* since 1970; 0 = not told */
	/*
	 * All that the run told besides (docs/schema/trace-1.json): server, seed, sizes, where the client
	 * ran, noise before and after. NULL for CSV. An object.
	 */
	const json_t *details;
};

/* How it ended. */
struct nl_trace_end {
	uint64_t rows;
	bool is_complete;
	const char *why; /* it is not complete: one sentence; NULL */
};

/* ---- writing ---- */

enum nl_trace_form { NL_TRACE_NLT, NL_TRACE_CSV, NL_TRACE_CSV_GZIP };

/* By the name's end: .nlt, .csv, .csv.gz; -EINVAL for others. */
int nl_trace_form_of(const char *path, enum nl_trace_form *ret, struct np_error *err);

struct nl_trace_writer; /* opaque */

/*
 * Begins a trace in a new file beside @path, which takes its name when all is written: an older file
 * of that name is replaced then and not before. "-" is stdout. CSV has goblin-bench's columns, and an
 * tenth, "arm" (the name), where there are several arms. The caller ends *ret with nl_trace_writer_finish()
 * or nl_trace_writer_abandon(). @about is copied.
 */
int nl_trace_writer_create(const char *path, enum nl_trace_form form,
                           const struct nl_trace_about *about, struct nl_trace_writer **ret,
                           struct np_error *err);

int nl_trace_writer_add(struct nl_trace_writer *writer, const struct nl_row *row,
                        struct np_error *err);

/*
 * Ends the file, with @end.rows set by the writer itself. @outcome, an object or NULL, is what is known at the
 * end only. Frees the writer, whatever happens.
 */
int nl_trace_writer_finish(struct nl_trace_writer *writer, const struct nl_trace_end *end,
                           const json_t *outcome, struct np_error *err);

/* Removes what was written. Accepts NULL. */
void nl_trace_writer_abandon(struct nl_trace_writer *writer);

/* ---- reading ---- */

struct nl_trace; /* opaque; for one thread */

/*
 * Opens a trace of any form, told by its content. Lengths and checksums are checked as they are read.
 * A file that ends early, as of a run that was killed, is opened as far as it goes, not complete.
 * The caller ends *ret with nl_trace_close().
 *
 *   -EBADMSG  it is no trace, or damaged; err tells the row or the offset
 *   other     of open(2), read(2)
 */
int nl_trace_open(const char *path, struct nl_trace **ret, struct np_error *err);
void nl_trace_close(struct nl_trace *trace); /* accepts NULL */

const char *nl_trace_path(const struct nl_trace *trace);
enum nl_trace_form nl_trace_form(const struct nl_trace *trace);
const struct nl_trace_about *nl_trace_about(const struct nl_trace *trace);
const struct nl_trace_end *nl_trace_end(const struct nl_trace *trace);
const json_t *nl_trace_outcome(const struct nl_trace *trace); /* NULL = none */

/* How many rows an arm has. */
uint64_t nl_trace_arm_rows(const struct nl_trace *trace, unsigned arm);

enum nl_column { NL_START, NL_RESPONSE, NL_PAYLOAD, NL_TOTAL, NL_KEY, NL_ARM, NL_COLUMN_COUNT };

#define NL_ALL_ARMS UINT32_MAX

/* A place in one column of a trace, among the rows of one arm. The trace must outlive it. */
struct nl_cursor; /* opaque */
int nl_cursor_create(struct nl_trace *trace, enum nl_column column, unsigned arm,
                     struct nl_cursor **ret, struct np_error *err);
void nl_cursor_free(struct nl_cursor *cursor); /* accepts NULL */

/*
 * The next values, as many as there are but at most @count. Returns how many; 0 at the end.
 * -EBADMSG: damaged; err tells where
 */
ssize_t nl_cursor_read(struct nl_cursor *cursor, uint64_t *values, size_t count,
                       struct np_error *err);

/*
 * Reads all of it once and sees that it is a trace of a serial run: starts that do not go back, no
 * request sent before the one before was answered, response <= payload <= total, keys below their
 * number. @ret_key_hashes, with room for arm_count, becomes each arm's hash of its keys (sequence.h).
 *
 *   -EBADMSG  err tells the first row that is not so (rows count from 0)
 */
int nl_trace_check(struct nl_trace *trace, uint64_t *ret_key_hashes, struct np_error *err);

/* Reads rows one after the other, all columns; for convert. 1 = a row, 0 = the end. */
struct nl_row_reader; /* opaque */
int nl_row_reader_create(struct nl_trace *trace, unsigned arm, struct nl_row_reader **ret,
                         struct np_error *err);
void nl_row_reader_free(struct nl_row_reader *reader);
int nl_row_reader_next(struct nl_row_reader *reader, struct nl_row *ret, struct np_error *err);

#endif
