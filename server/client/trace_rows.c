/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_rows.h"

#include <errno.h>
#include <stdlib.h>

int nl_trace_rows_load(struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                       struct nl_trace_rows *ret, struct np_error *err)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < NL_TRACE_WIDE_COLUMNS; i++)
		rc = nl_trace_source_read(source, chunk, (enum nl_column)i, ret->columns[i], err);
	return rc < 0 ? rc : nl_trace_source_read_arms(source, chunk, ret->arms, err);
}

struct nl_row_reader {
	const struct nl_trace *trace;
	unsigned arm;
	struct nl_trace_source *source;
	size_t chunk; /* the next one */
	/* Of the chunk before that. */
	uint32_t next;
	uint32_t count;
	struct nl_trace_rows rows;
};

int nl_row_reader_create(struct nl_trace *trace, unsigned arm, struct nl_row_reader **ret,
                         struct np_error *err)
{
	struct nl_row_reader *reader;

	if (arm != NL_ALL_ARMS && arm >= trace->about.arm_count)
		return np_error_set(err, EINVAL, "%s: there is no arm %u", trace->path, arm);
	reader = malloc(sizeof(*reader));
	if (!reader)
		return np_error_sys(err, ENOMEM, "%s", trace->path);
	reader->trace = trace;
	reader->arm = arm;
	reader->chunk = 0;
	reader->next = 0;
	reader->count = 0;
	reader->source = nl_trace_source_create(trace->fd, trace->path, trace->has_arms);
	if (!reader->source) {
		free(reader);
		return np_error_sys(err, ENOMEM, "%s", trace->path);
	}
	*ret = reader;
	return 0;
}

void nl_row_reader_free(struct nl_row_reader *reader)
{
	if (!reader)
		return;
	nl_trace_source_free(reader->source);
	free(reader);
}

/* 1 = there are rows, 0 = the end. */
static int load_next(struct nl_row_reader *reader, struct np_error *err)
{
	const struct nl_trace_chunk *chunk;
	int rc;

	if (reader->chunk == reader->trace->chunk_count)
		return 0;
	chunk = &reader->trace->chunks[reader->chunk];
	rc = nl_trace_rows_load(reader->source, chunk, &reader->rows, err);
	if (rc < 0)
		return rc;
	reader->chunk++;
	reader->next = 0;
	reader->count = chunk->rows;
	return 1;
}

int nl_row_reader_next(struct nl_row_reader *reader, struct nl_row *ret, struct np_error *err)
{
	const struct nl_trace_rows *rows = &reader->rows;
	uint32_t i;

	do {
		if (reader->next == reader->count) {
			int rc = load_next(reader, err);

			if (rc <= 0)
				return rc;
		}
		i = reader->next++;
	} while (reader->arm != NL_ALL_ARMS && rows->arms[i] != reader->arm);
	*ret = (struct nl_row){
		.start_ns = rows->columns[NL_START][i],
		.response_ns = rows->columns[NL_RESPONSE][i],
		.payload_ns = rows->columns[NL_PAYLOAD][i],
		.total_ns = rows->columns[NL_TOTAL][i],
		.key = (uint32_t)rows->columns[NL_KEY][i],
		.arm = rows->arms[i],
	};
	return 1;
}
