/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_about.h"
#include "trace_csv.h"
#include "trace_open.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { WATCH_ROWS = 1 << 16 };

struct import {
	struct nl_trace *trace;
	struct nl_trace_input *input;
	struct nl_trace_file file;
	struct nl_trace_sink *sink;
	uint64_t rows;
	uint64_t worker;
	unsigned arm_count;
	unsigned arm; /* of the row before */
	char arms[NL_TRACE_ARMS_MAX][NL_ARM_NAME_MAX + 1];
};

static int wrap_row(const struct import *import, int rc, struct np_error *err)
{
	return np_error_wrap(err, rc, "%s: row %" PRIu64 " (line %" PRIu64 ")", import->trace->path,
	                     import->rows, import->rows + 2);
}

/* ---- the first line ---- */

static int no_trace(const struct import *import, const struct nl_trace_line *line,
                    struct np_error *err)
{
	size_t header = sizeof(NL_CSV_HEADER) - 1;
	bool is_prefix =
		line->bytes <= header && memcmp(line->text, NL_CSV_HEADER, line->bytes) == 0;

	if (line->bytes > 0 && !line->has_end && is_prefix)
		return np_error_set(err, EBADMSG, "%s: it ends within its first line",
		                    import->trace->path);
	return np_error_set(err, EBADMSG,
	                    "%s: no trace: neither numalat's own form (.nlt) nor a CSV that begins "
	                    "with the line " NL_CSV_HEADER,
	                    import->trace->path);
}

static int read_header(struct import *import, struct np_error *err)
{
	struct nl_trace *trace = import->trace;
	struct nl_trace_line line = { 0 };
	int rc = nl_trace_input_line(import->input, &line, err);

	if (rc < 0 && nl_trace_input_is_gzip(import->input))
		return np_error_wrap(err, rc, "%s", trace->path);
	if (rc == 0)
		return np_error_set(err, EBADMSG, "%s: it is empty, and no trace", trace->path);
	if (rc < 0 || !nl_csv_is_header(line.text, line.bytes, &trace->has_arms))
		return no_trace(import, &line, err);
	if (!line.has_end)
		return nl_trace_cut_short(trace, err, "the file ends early, at its first line");
	return 0;
}

/* ---- rows ---- */

static bool is_arm(const struct import *import, unsigned arm, const struct nl_csv_row *row)
{
	const char *name = import->arms[arm];

	return memcmp(name, row->arm, row->arm_bytes) == 0 && name[row->arm_bytes] == '\0';
}

/* Finds the arm; one that was not seen before is added. */
static int find_arm(struct import *import, const struct nl_csv_row *row, uint8_t *ret,
                    struct np_error *err)
{
	unsigned arm = import->arm;

	if (arm >= import->arm_count || !is_arm(import, arm, row))
		for (arm = 0; arm < import->arm_count && !is_arm(import, arm, row);)
			arm++;
	if (arm == NL_TRACE_ARMS_MAX)
		return np_error_set(err, EBADMSG, "arm: more than %d different names",
		                    NL_TRACE_ARMS_MAX);
	if (arm == import->arm_count) {
		memcpy(import->arms[arm], row->arm, row->arm_bytes);
		import->arms[arm][row->arm_bytes] = '\0';
		import->arm_count++;
	}
	import->arm = arm;
	*ret = (uint8_t)arm;
	return 0;
}

static int check_place(struct import *import, const struct nl_csv_row *row, struct np_error *err)
{
	if (import->rows == 0)
		import->worker = row->worker;
	if (row->worker != import->worker)
		return np_error_set(err, EBADMSG,
		                    "is of worker %" PRIu64
		                    ", but a trace of numalat holds one connection: split it by "
		                    "worker, each as by awk -F, 'NR == 1 || $1 == %" PRIu64 "'",
		                    row->worker, row->worker);
	if (row->sample != import->rows)
		return np_error_set(err, EBADMSG, "has the sample number %" PRIu64, row->sample);
	if (import->rows >= NL_TRACE_ROWS_MAX)
		return np_error_set(err, EBADMSG, "a trace has no more than %" PRIu64 " rows",
		                    NL_TRACE_ROWS_MAX);
	return 0;
}

/*
 * The last line, without its end: is it a row all the same? A number that lost its last digits is
 * told by its order of magnitude, a name by being a new one.
 */
static bool is_whole(const struct import *import, const struct nl_trace_line *line)
{
	struct nl_csv_row row;

	if (nl_csv_parse(line->text, line->bytes, import->trace->has_arms, &row, NULL) < 0 ||
	    row.row.total_ns < row.row.payload_ns)
		return false;
	if (!row.arm)
		return true;
	for (unsigned arm = 0; arm < import->arm_count; arm++)
		if (is_arm(import, arm, &row))
			return true;
	return false;
}

static int add_line(struct import *import, const struct nl_trace_line *line, struct np_error *err)
{
	struct nl_csv_row row;
	int rc;

	if (line->bytes == 0)
		return wrap_row(import, np_error_set(err, EBADMSG, "an empty line"), err);
	rc = nl_csv_parse(line->text, line->bytes, import->trace->has_arms, &row, err);
	if (rc == 0)
		rc = check_place(import, &row, err);
	if (rc == 0 && row.arm)
		rc = find_arm(import, &row, &row.row.arm, err);
	if (rc < 0)
		return wrap_row(import, rc, err);
	rc = nl_trace_sink_add(import->sink, &row.row, err);
	import->rows++;
	return rc;
}

/* What is read is what there is; the rest never came. */
static int read_rows(struct import *import, const struct nl_trace_watch *watch,
                     struct np_error *err)
{
	struct nl_trace *trace = import->trace;
	struct nl_trace_line line;
	int rc;

	while ((rc = nl_trace_input_line(import->input, &line, err)) > 0) {
		if (!line.has_end &&
		    (nl_trace_input_is_cut(import->input) || !is_whole(import, &line)))
			return nl_trace_cut_short(trace, err,
			                          "the file ends early, within row %" PRIu64
			                          " (line %" PRIu64 ")",
			                          import->rows, import->rows + 2);
		rc = add_line(import, &line, err);
		if (rc < 0)
			return rc;
		if (watch && import->rows % WATCH_ROWS == 0)
			watch->progress(watch->data, nl_trace_input_share(import->input));
	}
	if (rc < 0)
		return wrap_row(import, rc, err);
	if (nl_trace_input_is_cut(import->input))
		return nl_trace_cut_short(trace, err,
		                          "the gzip stream ends early, before row %" PRIu64,
		                          import->rows);
	return 0;
}

/* ---- all of it ---- */

/* Whose names and rows are known now. */
static int describe(struct import *import, struct np_error *err)
{
	struct nl_trace *trace = import->trace;
	struct nl_trace_about about = { .arms = { "" }, .arm_count = 1 };

	for (unsigned arm = 0; arm < import->arm_count; arm++)
		about.arms[arm] = import->arms[arm];
	if (import->arm_count > 1)
		about.arm_count = import->arm_count;
	trace->head = nl_trace_about_json(&about);
	if (!trace->head)
		return np_error_sys(err, ENOMEM, "%s", trace->path);
	return nl_trace_about_load(trace->head, &trace->about, err);
}

static int import_rows(struct import *import, const struct nl_trace_watch *watch,
                       struct np_error *err)
{
	struct nl_trace *trace = import->trace;
	int rc = nl_trace_file_create_unnamed(&import->file, err);

	if (rc < 0)
		return rc;
	trace->fd = import->file.fd;
	import->file.owns_fd = false;
	import->sink = nl_trace_sink_create(&import->file, trace->has_arms);
	if (!import->sink)
		return np_error_sys(err, ENOMEM, "%s", trace->path);
	rc = read_rows(import, watch, err);
	if (rc == 0)
		rc = nl_trace_sink_flush(import->sink, err);
	if (rc == 0)
		rc = describe(import, err);
	return rc < 0 ? rc : nl_trace_index_rows(trace, import->file.bytes, err);
}

int nl_trace_import(struct nl_trace *trace, struct nl_trace_input *input,
                    const struct nl_trace_watch *watch, struct np_error *err)
{
	struct import import = { .trace = trace, .input = input };
	int rc;

	trace->form = nl_trace_input_is_gzip(input) ? NL_TRACE_CSV_GZIP : NL_TRACE_CSV;
	trace->end.is_complete = true;
	rc = read_header(&import, err);
	if (rc == 0)
		rc = import_rows(&import, watch, err);
	nl_trace_sink_free(import.sink);
	nl_trace_file_abandon(&import.file);
	return rc;
}
