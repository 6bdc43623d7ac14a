/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout of our own form of traces, as docs/trace-format.md tells it: a head, chunks of rows,
 * an end. Pure: bytes in, numbers out. What is decoded came from a file, and nothing of it is
 * believed.
 */
#ifndef NL_TRACE_FORMAT_H
#define NL_TRACE_FORMAT_H

#include "trace.h"

#include <endian.h>
#include <string.h>

enum {
	NL_TRACE_VERSION = 1,
	NL_TRACE_MAGIC_BYTES = 8,
	NL_TRACE_HEAD_BYTES = 32,
	NL_TRACE_CHUNK_BYTES = 128, /* of its header */
	NL_TRACE_END_BYTES = 40,
	NL_TRACE_CHUNK_ROWS = 65536,
	NL_TRACE_JSON_MAX = 1 << 20,
	NL_TRACE_ESCAPE_BYTES = 16,
	NL_TRACE_WIDE_COLUMNS = NL_ARM, /* of 32 bits; they stand first */
};

/* Stands in a column for a value that does not fit; the value is in the chunk's list of escapes. */
#define NL_TRACE_ESCAPED UINT32_MAX

extern const unsigned char nl_trace_head_magic[NL_TRACE_MAGIC_BYTES];
extern const unsigned char nl_trace_chunk_magic[NL_TRACE_MAGIC_BYTES];
extern const unsigned char nl_trace_end_magic[NL_TRACE_MAGIC_BYTES];

/* "start", "response" ... for messages. */
extern const char *const nl_trace_column_names[NL_COLUMN_COUNT];

static inline void nl_put_u32(unsigned char *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static inline void nl_put_u64(unsigned char *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static inline uint32_t nl_get_u32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static inline uint64_t nl_get_u64(const unsigned char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

/* XXH3-64, seed 0. */
uint64_t nl_trace_checksum(const void *bytes, size_t size);

/* A text that stands behind a head or an end. */
struct nl_trace_text {
	uint32_t bytes;
	uint64_t checksum;
};

struct nl_trace_chunk {
	uint64_t offset; /* of its header in the file; not part of the header */
	uint64_t first_row;
	uint64_t start_ns; /* of its first row */
	uint32_t rows;     /* 1..NL_TRACE_CHUNK_ROWS */
	uint32_t escapes;  /* <= rows * NL_TRACE_WIDE_COLUMNS */
	uint64_t checksums[NL_COLUMN_COUNT];
	uint64_t escapes_checksum;
};

void nl_trace_head_encode(const struct nl_trace_text *json, unsigned char *ret);
void nl_trace_chunk_encode(const struct nl_trace_chunk *chunk, bool has_arms, unsigned char *ret);
void nl_trace_end_encode(uint64_t rows, const struct nl_trace_text *json, unsigned char *ret);

/*
 * The other way, with checksums and limits checked; the magic is the caller's to look at. -EBADMSG,
 * with a sentence that lacks the file's name. What they are told fits in a file is not looked at.
 */
int nl_trace_head_decode(const unsigned char *bytes, struct nl_trace_text *ret,
                         struct np_error *err);
int nl_trace_chunk_decode(const unsigned char *bytes, bool has_arms, struct nl_trace_chunk *ret,
                          struct np_error *err);
int nl_trace_end_decode(const unsigned char *bytes, uint64_t *ret_rows, struct nl_trace_text *ret,
                        struct np_error *err);

/* Bytes of a column of that many rows. */
size_t nl_trace_column_bytes(enum nl_column column, uint32_t rows, bool has_arms);

/* Where a column begins, from the chunk's beginning; that of NL_COLUMN_COUNT is the escapes'. */
size_t nl_trace_column_offset(enum nl_column column, uint32_t rows, bool has_arms);

/* All of a chunk, its header included. */
size_t nl_trace_chunk_size(const struct nl_trace_chunk *chunk, bool has_arms);

#endif
