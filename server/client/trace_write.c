/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_about.h"
#include "trace_chunk.h"
#include "trace_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct nl_trace_writer {
	struct nl_trace_file file;
	unsigned arm_count;
	uint64_t rows;
	/* One of the two. */
	struct nl_trace_sink *sink;
	struct nl_csv_writer *csv;
};

int nl_trace_form_of(const char *path, enum nl_trace_form *ret, struct np_error *err)
{
	static const struct {
		const char *end;
		enum nl_trace_form form;
	} forms[] = {
		{ ".nlt", NL_TRACE_NLT },
		{ ".csv", NL_TRACE_CSV },
		{ ".csv.gz", NL_TRACE_CSV_GZIP },
	};
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t end = strlen(forms[i].end);

		if (length >= end && strcmp(path + length - end, forms[i].end) == 0) {
			*ret = forms[i].form;
			return 0;
		}
	}
	return np_error_set(err, EINVAL,
	                    "%s: its name must end in .nlt, .csv or .csv.gz, to tell the form",
	                    path);
}

static void release(struct nl_trace_writer *writer)
{
	nl_trace_sink_free(writer->sink);
	nl_csv_writer_free(writer->csv);
	free(writer);
}

void nl_trace_writer_abandon(struct nl_trace_writer *writer)
{
	if (!writer)
		return;
	nl_trace_file_abandon(&writer->file);
	release(writer);
}

/* The text of a head or an end, which the caller frees. Takes the reference. */
static int print_json(json_t *object, const char *path, char **ret, struct nl_trace_text *ret_text,
                      struct np_error *err)
{
	/* 15 digits: what any double holds of a decimal, so that 0.1 is written as 0.1. */
	char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
	size_t bytes = text ? strlen(text) : 0;

	json_decref(object);
	if (!text)
		return np_error_sys(err, ENOMEM, "%s", path);
	if (bytes > NL_TRACE_JSON_MAX) {
		free(text);
		return np_error_set(err, E2BIG,
		                    "%s: what it tells of itself takes %zu bytes, more than %d",
		                    path, bytes, NL_TRACE_JSON_MAX);
	}
	*ret_text = (struct nl_trace_text){ (uint32_t)bytes, nl_trace_checksum(text, bytes) };
	*ret = text;
	return 0;
}

static int write_with_text(struct nl_trace_file *file, struct iovec header, char *text,
                           uint32_t bytes, struct np_error *err)
{
	struct iovec parts[] = { header, { text, bytes } };
	int rc = nl_trace_file_write_parts(file, parts, 2, err);

	free(text);
	return rc;
}

static int begin_nlt(struct nl_trace_writer *writer, const struct nl_trace_about *about,
                     struct np_error *err)
{
	unsigned char head[NL_TRACE_HEAD_BYTES];
	struct nl_trace_text text;
	char *json;
	int rc;

	writer->sink = nl_trace_sink_create(&writer->file, about->arm_count > 1);
	if (!writer->sink)
		return np_error_sys(err, ENOMEM, "%s", writer->file.path);
	rc = print_json(nl_trace_about_json(about), writer->file.path, &json, &text, err);
	if (rc < 0)
		return rc;
	nl_trace_head_encode(&text, head);
	return write_with_text(&writer->file, (struct iovec){ head, sizeof(head) }, json,
	                       text.bytes, err);
}

int nl_trace_writer_create(const char *path, enum nl_trace_form form,
                           const struct nl_trace_about *about, struct nl_trace_writer **ret,
                           struct np_error *err)
{
	struct nl_trace_writer *writer;
	int rc = nl_trace_about_check(about, err);

	if (rc < 0)
		return np_error_wrap(err, rc, "%s", path);
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return np_error_sys(err, ENOMEM, "%s", path);
	writer->arm_count = about->arm_count;
	rc = nl_trace_file_create(path, &writer->file, err);
	if (rc < 0) {
		free(writer);
		return rc;
	}
	if (form == NL_TRACE_NLT)
		rc = begin_nlt(writer, about, err);
	else
		rc = nl_csv_writer_create(&writer->file, form == NL_TRACE_CSV_GZIP, about,
		                          &writer->csv, err);
	if (rc < 0) {
		nl_trace_writer_abandon(writer);
		return rc;
	}
	*ret = writer;
	return 0;
}

int nl_trace_writer_add(struct nl_trace_writer *writer, const struct nl_row *row,
                        struct np_error *err)
{
	int rc;

	if (row->arm >= writer->arm_count)
		return np_error_set(err, EINVAL, "%s: row %" PRIu64 ": arm %u of %u",
		                    writer->file.path, writer->rows, row->arm, writer->arm_count);
	if (writer->rows >= NL_TRACE_ROWS_MAX)
		return np_error_set(err, EFBIG, "%s: a trace has room for %" PRIu64 " rows",
		                    writer->file.path, NL_TRACE_ROWS_MAX);
	rc = writer->sink ? nl_trace_sink_add(writer->sink, row, err)
	                  : nl_csv_writer_add(writer->csv, row, err);
	if (rc == 0)
		writer->rows++;
	return rc;
}

static int end_nlt(struct nl_trace_writer *writer, const struct nl_trace_end *end,
                   const json_t *outcome, struct np_error *err)
{
	unsigned char bytes[NL_TRACE_END_BYTES];
	struct nl_trace_text text;
	char *json;
	int rc = nl_trace_sink_flush(writer->sink, err);

	if (rc < 0)
		return rc;
	rc = print_json(nl_trace_end_json(end, outcome), writer->file.path, &json, &text, err);
	if (rc < 0)
		return rc;
	nl_trace_end_encode(writer->rows, &text, bytes);
	return write_with_text(&writer->file, (struct iovec){ bytes, sizeof(bytes) }, json,
	                       text.bytes, err);
}

int nl_trace_writer_finish(struct nl_trace_writer *writer, const struct nl_trace_end *end,
                           const json_t *outcome, struct np_error *err)
{
	int rc = writer->sink ? end_nlt(writer, end, outcome, err)
	                      : nl_csv_writer_finish(writer->csv, err);

	if (rc < 0)
		nl_trace_file_abandon(&writer->file);
	else
		rc = nl_trace_file_finish(&writer->file, err);
	release(writer);
	return rc;
}
