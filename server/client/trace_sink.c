/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_chunk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct nl_trace_sink {
	struct nl_trace_file *file;
	bool has_arms;
	uint64_t flushed; /* rows in the file */
	uint64_t start_ns;
	uint64_t last_start_ns;
	uint32_t rows; /* in here */
	uint32_t escapes;
	/* As they stand in the file: little-endian. */
	uint32_t columns[NL_TRACE_WIDE_COLUMNS][NL_TRACE_CHUNK_ROWS];
	uint8_t arms[NL_TRACE_CHUNK_ROWS];
	unsigned char list[NL_TRACE_CHUNK_ROWS * NL_TRACE_WIDE_COLUMNS * NL_TRACE_ESCAPE_BYTES];
};

struct nl_trace_sink *nl_trace_sink_create(struct nl_trace_file *file, bool has_arms)
{
	/* What is never touched, as most of the list of escapes, is never there. */
	struct nl_trace_sink *sink = malloc(sizeof(*sink));

	if (!sink)
		return NULL;
	sink->file = file;
	sink->has_arms = has_arms;
	sink->flushed = 0;
	sink->rows = 0;
	sink->escapes = 0;
	return sink;
}

void nl_trace_sink_free(struct nl_trace_sink *sink)
{
	free(sink);
}

static uint32_t escape(struct nl_trace_sink *sink, enum nl_column column, uint64_t value)
{
	unsigned char *entry = sink->list + (size_t)sink->escapes * NL_TRACE_ESCAPE_BYTES;

	nl_put_u32(entry, column);
	nl_put_u32(entry + 4, sink->rows);
	nl_put_u64(entry + 8, value);
	sink->escapes++;
	return NL_TRACE_ESCAPED;
}

static inline void put(struct nl_trace_sink *sink, enum nl_column column, uint64_t value)
{
	sink->columns[column][sink->rows] =
		value < NL_TRACE_ESCAPED ? htole32((uint32_t)value) : escape(sink, column, value);
}

int nl_trace_sink_add(struct nl_trace_sink *sink, const struct nl_row *row, struct np_error *err)
{
	if (sink->rows == NL_TRACE_CHUNK_ROWS) {
		int rc = nl_trace_sink_flush(sink, err);

		if (rc < 0)
			return rc;
	}
	if (sink->rows == 0) {
		sink->start_ns = row->start_ns;
		sink->last_start_ns = row->start_ns;
	}
	/* A start that goes back makes a difference modulo 2^64, which is as good. */
	put(sink, NL_START, row->start_ns - sink->last_start_ns);
	put(sink, NL_RESPONSE, row->response_ns);
	put(sink, NL_PAYLOAD, row->payload_ns);
	put(sink, NL_TOTAL, row->total_ns);
	put(sink, NL_KEY, row->key);
	sink->arms[sink->rows] = row->arm;
	sink->last_start_ns = row->start_ns;
	sink->rows++;
	return 0;
}

int nl_trace_sink_flush(struct nl_trace_sink *sink, struct np_error *err)
{
	unsigned char header[NL_TRACE_CHUNK_BYTES];
	struct iovec parts[NL_COLUMN_COUNT + 2] = { { header, sizeof(header) } };
	size_t list_bytes = (size_t)sink->escapes * NL_TRACE_ESCAPE_BYTES;
	struct nl_trace_chunk chunk = {
		.first_row = sink->flushed,
		.start_ns = sink->start_ns,
		.rows = sink->rows,
		.escapes = sink->escapes,
		.escapes_checksum = nl_trace_checksum(sink->list, list_bytes),
	};
	int rc;

	if (sink->rows == 0)
		return 0;
	for (unsigned i = 0; i < NL_COLUMN_COUNT; i++) {
		void *bytes = i == NL_ARM ? (void *)sink->arms : (void *)sink->columns[i];
		size_t size = nl_trace_column_bytes((enum nl_column)i, sink->rows, sink->has_arms);

		chunk.checksums[i] = nl_trace_checksum(bytes, size);
		parts[i + 1] = (struct iovec){ bytes, size };
	}
	parts[NL_COLUMN_COUNT + 1] = (struct iovec){ sink->list, list_bytes };
	nl_trace_chunk_encode(&chunk, sink->has_arms, header);
	rc = nl_trace_file_write_parts(sink->file, parts, NL_COLUMN_COUNT + 2, err);
	if (rc < 0)
		return rc;
	sink->flushed += sink->rows;
	sink->rows = 0;
	sink->escapes = 0;
	return 0;
}
