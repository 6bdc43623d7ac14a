/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_chunk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct nl_trace_source {
	int fd;
	const char *path;
	bool has_arms;
	uint64_t escapes_offset; /* of the chunk whose escapes are here; UINT64_MAX = of none */
	struct nl_trace_escape *escapes;
	uint32_t raw[NL_TRACE_CHUNK_ROWS];
};

struct nl_trace_source *nl_trace_source_create(int fd, const char *path, bool has_arms)
{
	struct nl_trace_source *source = malloc(sizeof(*source));

	if (!source)
		return NULL;
	source->fd = fd;
	source->path = path;
	source->has_arms = has_arms;
	source->escapes_offset = UINT64_MAX;
	source->escapes = NULL;
	return source;
}

void nl_trace_source_free(struct nl_trace_source *source)
{
	if (!source)
		return;
	free(source->escapes);
	free(source);
}

ssize_t nl_trace_pread(int fd, void *bytes, size_t size, uint64_t offset)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got = pread(fd, (char *)bytes + used, size - used, (off_t)(offset + used));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

static int damaged(const struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                   const char *what, struct np_error *err)
{
	return np_error_set(err, EBADMSG,
	                    "%s: rows %" PRIu64 "-%" PRIu64 " (at offset %" PRIu64 "): %s",
	                    source->path, chunk->first_row, chunk->first_row + chunk->rows - 1,
	                    chunk->offset, what);
}

/* A part of a chunk, as it was written. @what names it. */
static int read_part(const struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                     enum nl_column column, struct iovec part, struct np_error *err)
{
	bool is_list = column == NL_COLUMN_COUNT;
	uint64_t wanted = is_list ? chunk->escapes_checksum : chunk->checksums[column];
	const char *name = is_list ? "escapes" : nl_trace_column_names[column];
	size_t offset = nl_trace_column_offset(column, chunk->rows, source->has_arms);
	ssize_t got =
		nl_trace_pread(source->fd, part.iov_base, part.iov_len, chunk->offset + offset);
	char what[96];

	if (got < 0)
		return np_error_sys(err, (int)-got, "%s", source->path);
	if ((size_t)got < part.iov_len)
		return damaged(source, chunk, "the file has become shorter", err);
	if (nl_trace_checksum(part.iov_base, part.iov_len) == wanted)
		return 0;
	snprintf(what, sizeof(what), "'%s' is damaged: its checksum is wrong", name);
	return damaged(source, chunk, what, err);
}

/* ---- escapes ---- */

/* They ascend by row, and within a row by column, so that no place is there twice. */
static int check_escapes(const struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                         struct np_error *err)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < chunk->escapes; i++) {
		const struct nl_trace_escape *escape = &source->escapes[i];
		uint64_t place = (uint64_t)escape->row * NL_TRACE_WIDE_COLUMNS + escape->column;

		if (escape->row >= chunk->rows || escape->column >= NL_TRACE_WIDE_COLUMNS)
			return damaged(source, chunk, "an escape is for a place that is not there",
			               err);
		if (place < next)
			return damaged(source, chunk, "the escapes are not in order", err);
		if (escape->value < NL_TRACE_ESCAPED)
			return damaged(source, chunk, "an escape has a value that needs none", err);
		next = place + 1;
	}
	return 0;
}

/* Once for each chunk, whichever columns are read of it. */
static int load_escapes(struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                        struct np_error *err)
{
	size_t bytes = (size_t)chunk->escapes * NL_TRACE_ESCAPE_BYTES;
	struct nl_trace_escape *escapes;
	int rc;

	if (source->escapes_offset == chunk->offset)
		return 0;
	/* That the file is as long as that was seen when it was opened. */
	escapes = realloc(source->escapes, bytes);
	if (!escapes)
		return np_error_sys(err, ENOMEM, "%s", source->path);
	source->escapes = escapes;
	source->escapes_offset = UINT64_MAX;
	rc = read_part(source, chunk, NL_COLUMN_COUNT, (struct iovec){ escapes, bytes }, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < chunk->escapes; i++) {
		const unsigned char *entry = (const unsigned char *)&escapes[i];
		struct nl_trace_escape escape = { nl_get_u32(entry), nl_get_u32(entry + 4),
			                          nl_get_u64(entry + 8) };

		escapes[i] = escape;
	}
	rc = check_escapes(source, chunk, err);
	if (rc == 0)
		source->escapes_offset = chunk->offset;
	return rc;
}

/* Puts the long values where the column says that there are some. */
static int put_escapes(struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                       enum nl_column column, uint64_t *values, struct np_error *err)
{
	uint32_t marks = 0;
	uint32_t put = 0;
	int rc = chunk->escapes > 0 ? load_escapes(source, chunk, err) : 0;

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < chunk->rows; i++)
		marks += values[i] == NL_TRACE_ESCAPED;
	for (uint32_t i = 0; i < chunk->escapes; i++) {
		const struct nl_trace_escape *escape = &source->escapes[i];

		if (escape->column != (uint32_t)column)
			continue;
		if (values[escape->row] != NL_TRACE_ESCAPED)
			return damaged(source, chunk, "an escape is for a value that needs none",
			               err);
		values[escape->row] = escape->value;
		put++;
	}
	if (put != marks)
		return damaged(source, chunk, "a long value is not among the escapes", err);
	return 0;
}

/* ---- columns ---- */

/* Whether some are escaped. */
static bool widen(const uint32_t *raw, uint64_t *values, uint32_t count)
{
	uint32_t escaped = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t value = le32toh(raw[i]);

		values[i] = value;
		escaped |= value == NL_TRACE_ESCAPED;
	}
	return escaped;
}

static void add_up(uint64_t start, uint64_t *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		start += values[i];
		values[i] = start;
	}
}

static int check_keys(const struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                      const uint64_t *values, struct np_error *err)
{
	for (uint32_t i = 0; i < chunk->rows; i++)
		if (values[i] > UINT32_MAX)
			return damaged(source, chunk, "a key of more than 32 bits", err);
	return 0;
}

static int read_wide(struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                     enum nl_column column, uint64_t *values, struct np_error *err)
{
	struct iovec part = { source->raw, (size_t)chunk->rows * sizeof(*source->raw) };
	int rc = read_part(source, chunk, column, part, err);

	if (rc < 0)
		return rc;
	if (widen(source->raw, values, chunk->rows) || chunk->escapes > 0) {
		rc = put_escapes(source, chunk, column, values, err);
		if (rc == 0 && column == NL_KEY)
			rc = check_keys(source, chunk, values, err);
	}
	if (rc == 0 && column == NL_START)
		add_up(chunk->start_ns, values, chunk->rows);
	return rc;
}

int nl_trace_source_read_arms(struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                              uint8_t *arms, struct np_error *err)
{
	if (source->has_arms)
		return read_part(source, chunk, NL_ARM, (struct iovec){ arms, chunk->rows }, err);
	memset(arms, 0, chunk->rows);
	return 0;
}

int nl_trace_source_read(struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                         enum nl_column column, uint64_t *values, struct np_error *err)
{
	uint8_t *arms = (uint8_t *)source->raw;
	int rc;

	if (column != NL_ARM)
		return read_wide(source, chunk, column, values, err);
	rc = nl_trace_source_read_arms(source, chunk, arms, err);
	for (uint32_t i = 0; rc == 0 && i < chunk->rows; i++)
		values[i] = arms[i];
	return rc;
}
