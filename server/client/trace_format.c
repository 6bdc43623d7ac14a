/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_format.h"

#include <errno.h>
#include <inttypes.h>
#include <xxhash.h>

/* The first byte is no text; the line ends are there to be damaged by who takes the file for text. */
const unsigned char nl_trace_head_magic[] = { 0x89, 'N', 'L', 'T', '\r', '\n', 0x1a, '\n' };
const unsigned char nl_trace_chunk_magic[] = { 'N', 'L', 'T', 'R', 'O', 'W', 'S', '\n' };
const unsigned char nl_trace_end_magic[] = { 'N', 'L', 'T', ' ', 'E', 'N', 'D', '\n' };

const char *const nl_trace_column_names[NL_COLUMN_COUNT] = {
	[NL_START] = "start", [NL_RESPONSE] = "response", [NL_PAYLOAD] = "payload",
	[NL_TOTAL] = "total", [NL_KEY] = "key",           [NL_ARM] = "arm",
};

/* Places of the fields; each header ends with the checksum of what is before it. */
enum {
	HEAD_VERSION = 8,
	HEAD_JSON_BYTES = 12,
	HEAD_JSON_CHECKSUM = 16,
	HEAD_CHECKSUM = 24,

	CHUNK_FIRST_ROW = 8,
	CHUNK_ROWS = 16,
	CHUNK_ESCAPES = 20,
	CHUNK_START = 24,
	CHUNK_COLUMN_BYTES = 32,
	CHUNK_ESCAPES_BYTES = 56,
	CHUNK_RESERVED = 60,
	CHUNK_COLUMN_CHECKSUMS = 64,
	CHUNK_ESCAPES_CHECKSUM = 112,
	CHUNK_CHECKSUM = 120,

	END_ROWS = 8,
	END_JSON_BYTES = 16,
	END_RESERVED = 20,
	END_JSON_CHECKSUM = 24,
	END_CHECKSUM = 32,
};

uint64_t nl_trace_checksum(const void *bytes, size_t size)
{
	return XXH3_64bits(bytes, size);
}

size_t nl_trace_column_bytes(enum nl_column column, uint32_t rows, bool has_arms)
{
	if (column == NL_ARM)
		return has_arms ? rows : 0;
	return (size_t)rows * sizeof(uint32_t);
}

size_t nl_trace_column_offset(enum nl_column column, uint32_t rows, bool has_arms)
{
	size_t offset = NL_TRACE_CHUNK_BYTES;

	for (unsigned before = 0; before < (unsigned)column; before++)
		offset += nl_trace_column_bytes((enum nl_column)before, rows, has_arms);
	return offset;
}

size_t nl_trace_chunk_size(const struct nl_trace_chunk *chunk, bool has_arms)
{
	return nl_trace_column_offset(NL_COLUMN_COUNT, chunk->rows, has_arms) +
	       (size_t)chunk->escapes * NL_TRACE_ESCAPE_BYTES;
}

static void seal(unsigned char *header, size_t checksum_at)
{
	nl_put_u64(header + checksum_at, nl_trace_checksum(header, checksum_at));
}

static int check_seal(const unsigned char *header, size_t checksum_at, const char *what,
                      struct np_error *err)
{
	if (nl_get_u64(header + checksum_at) == nl_trace_checksum(header, checksum_at))
		return 0;
	return np_error_set(err, EBADMSG, "%s is damaged: its checksum is wrong", what);
}

/* ---- the head ---- */

void nl_trace_head_encode(const struct nl_trace_text *json, unsigned char *ret)
{
	memcpy(ret, nl_trace_head_magic, NL_TRACE_MAGIC_BYTES);
	nl_put_u32(ret + HEAD_VERSION, NL_TRACE_VERSION);
	nl_put_u32(ret + HEAD_JSON_BYTES, json->bytes);
	nl_put_u64(ret + HEAD_JSON_CHECKSUM, json->checksum);
	seal(ret, HEAD_CHECKSUM);
}

static int check_text(const struct nl_trace_text *text, const char *what, struct np_error *err)
{
	if (text->bytes >= 1 && text->bytes <= NL_TRACE_JSON_MAX)
		return 0;
	return np_error_set(err, EBADMSG, "%s has a text of %" PRIu32 " bytes, not of 1..%d", what,
	                    text->bytes, NL_TRACE_JSON_MAX);
}

int nl_trace_head_decode(const unsigned char *bytes, struct nl_trace_text *ret,
                         struct np_error *err)
{
	struct nl_trace_text text = {
		.bytes = nl_get_u32(bytes + HEAD_JSON_BYTES),
		.checksum = nl_get_u64(bytes + HEAD_JSON_CHECKSUM),
	};
	uint32_t version = nl_get_u32(bytes + HEAD_VERSION);
	int rc;

	/* Before the checksum, which may stand elsewhere in another version. */
	if (version != NL_TRACE_VERSION)
		return np_error_set(
			err, EBADMSG,
			"it is of version %" PRIu32 ", which only a newer numalat reads", version);
	rc = check_seal(bytes, HEAD_CHECKSUM, "its head", err);
	if (rc == 0)
		rc = check_text(&text, "its head", err);
	if (rc == 0)
		*ret = text;
	return rc;
}

/* ---- a chunk ---- */

void nl_trace_chunk_encode(const struct nl_trace_chunk *chunk, bool has_arms, unsigned char *ret)
{
	memcpy(ret, nl_trace_chunk_magic, NL_TRACE_MAGIC_BYTES);
	nl_put_u64(ret + CHUNK_FIRST_ROW, chunk->first_row);
	nl_put_u32(ret + CHUNK_ROWS, chunk->rows);
	nl_put_u32(ret + CHUNK_ESCAPES, chunk->escapes);
	nl_put_u64(ret + CHUNK_START, chunk->start_ns);
	for (size_t i = 0; i < NL_COLUMN_COUNT; i++) {
		size_t bytes = nl_trace_column_bytes((enum nl_column)i, chunk->rows, has_arms);

		nl_put_u32(ret + CHUNK_COLUMN_BYTES + 4 * i, (uint32_t)bytes);
		nl_put_u64(ret + CHUNK_COLUMN_CHECKSUMS + 8 * i, chunk->checksums[i]);
	}
	nl_put_u32(ret + CHUNK_ESCAPES_BYTES, chunk->escapes * NL_TRACE_ESCAPE_BYTES);
	nl_put_u32(ret + CHUNK_RESERVED, 0);
	nl_put_u64(ret + CHUNK_ESCAPES_CHECKSUM, chunk->escapes_checksum);
	seal(ret, CHUNK_CHECKSUM);
}

/* The lengths follow from the rows; that they are told too is for other readers. */
static int check_lengths(const unsigned char *bytes, const struct nl_trace_chunk *chunk,
                         bool has_arms, struct np_error *err)
{
	for (size_t i = 0; i < NL_COLUMN_COUNT; i++) {
		uint32_t told = nl_get_u32(bytes + CHUNK_COLUMN_BYTES + 4 * i);
		size_t wanted = nl_trace_column_bytes((enum nl_column)i, chunk->rows, has_arms);

		if (told != wanted)
			return np_error_set(err, EBADMSG,
			                    "its column '%s' has %" PRIu32 " bytes, not %zu",
			                    nl_trace_column_names[i], told, wanted);
	}
	if (nl_get_u32(bytes + CHUNK_ESCAPES_BYTES) != chunk->escapes * NL_TRACE_ESCAPE_BYTES)
		return np_error_set(err, EBADMSG, "its %" PRIu32 " escapes have %" PRIu32 " bytes",
		                    chunk->escapes, nl_get_u32(bytes + CHUNK_ESCAPES_BYTES));
	return 0;
}

int nl_trace_chunk_decode(const unsigned char *bytes, bool has_arms, struct nl_trace_chunk *ret,
                          struct np_error *err)
{
	struct nl_trace_chunk chunk = {
		.first_row = nl_get_u64(bytes + CHUNK_FIRST_ROW),
		.rows = nl_get_u32(bytes + CHUNK_ROWS),
		.escapes = nl_get_u32(bytes + CHUNK_ESCAPES),
		.start_ns = nl_get_u64(bytes + CHUNK_START),
		.escapes_checksum = nl_get_u64(bytes + CHUNK_ESCAPES_CHECKSUM),
	};
	int rc = check_seal(bytes, CHUNK_CHECKSUM, "its header", err);

	if (rc < 0)
		return rc;
	if (chunk.rows < 1 || chunk.rows > NL_TRACE_CHUNK_ROWS)
		return np_error_set(err, EBADMSG, "it has %" PRIu32 " rows, not 1..%d", chunk.rows,
		                    NL_TRACE_CHUNK_ROWS);
	if (chunk.escapes > chunk.rows * NL_TRACE_WIDE_COLUMNS)
		return np_error_set(err, EBADMSG, "it has %" PRIu32 " escapes for %" PRIu32 " rows",
		                    chunk.escapes, chunk.rows);
	rc = check_lengths(bytes, &chunk, has_arms, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < NL_COLUMN_COUNT; i++)
		chunk.checksums[i] = nl_get_u64(bytes + CHUNK_COLUMN_CHECKSUMS + 8 * i);
	*ret = chunk;
	return 0;
}

/* ---- the end ---- */

void nl_trace_end_encode(uint64_t rows, const struct nl_trace_text *json, unsigned char *ret)
{
	memcpy(ret, nl_trace_end_magic, NL_TRACE_MAGIC_BYTES);
	nl_put_u64(ret + END_ROWS, rows);
	nl_put_u32(ret + END_JSON_BYTES, json->bytes);
	nl_put_u32(ret + END_RESERVED, 0);
	nl_put_u64(ret + END_JSON_CHECKSUM, json->checksum);
	seal(ret, END_CHECKSUM);
}

int nl_trace_end_decode(const unsigned char *bytes, uint64_t *ret_rows, struct nl_trace_text *ret,
                        struct np_error *err)
{
	struct nl_trace_text text = {
		.bytes = nl_get_u32(bytes + END_JSON_BYTES),
		.checksum = nl_get_u64(bytes + END_JSON_CHECKSUM),
	};
	int rc = check_seal(bytes, END_CHECKSUM, "its end", err);

	if (rc == 0)
		rc = check_text(&text, "its end", err);
	if (rc < 0)
		return rc;
	*ret_rows = nl_get_u64(bytes + END_ROWS);
	*ret = text;
	return 0;
}
