/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_about.h"
#include "trace_open.h"

#include "../../probe/base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Where in the file we are; nothing behind @size is read, and nothing larger is allocated. */
struct place {
	uint64_t size;
	uint64_t offset;
	uint64_t rows;
	bool is_end; /* an end was found, and not the file's end */
};

static int damaged(const struct nl_trace *trace, uint64_t offset, struct np_error *err)
{
	return np_error_wrap(err, -EBADMSG, "%s: at offset %" PRIu64, trace->path, offset);
}

static uint64_t left(const struct place *place)
{
	return place->size - place->offset;
}

/* @size bytes that the file has. */
static int read_bytes(const struct nl_trace *trace, uint64_t offset, void *bytes, size_t size,
                      struct np_error *err)
{
	ssize_t got = nl_trace_pread(trace->fd, bytes, size, offset);

	if (got < 0)
		return np_error_sys(err, (int)-got, "%s", trace->path);
	if ((size_t)got < size)
		return np_error_set(err, EBADMSG, "%s: it has become shorter", trace->path);
	return 0;
}

/* ---- chunks ---- */

static int add_chunk(struct nl_trace *trace, struct place *place, struct nl_trace_chunk *chunk,
                     struct np_error *err)
{
	void *chunks = trace->chunks;

	if (chunk->first_row != place->rows) {
		np_error_set(err, EBADMSG, "a chunk that begins with row %" PRIu64 ", not %" PRIu64,
		             chunk->first_row, place->rows);
		return damaged(trace, place->offset, err);
	}
	if (place->rows + chunk->rows > NL_TRACE_ROWS_MAX) {
		np_error_set(err, EBADMSG, "more than %" PRIu64 " rows", NL_TRACE_ROWS_MAX);
		return damaged(trace, place->offset, err);
	}
	/* Each of them stands for at least as many bytes of the file. */
	if (np_array_grow(&chunks, trace->chunk_count, sizeof(*chunk)) < 0)
		return np_error_sys(err, ENOMEM, "%s", trace->path);
	trace->chunks = chunks;
	chunk->offset = place->offset;
	trace->chunks[trace->chunk_count++] = *chunk;
	place->rows += chunk->rows;
	return 0;
}

/* The chunk here; 1 = there is one, 0 = the file ends within it. */
static int read_chunk(struct nl_trace *trace, struct place *place, struct np_error *err)
{
	unsigned char bytes[NL_TRACE_CHUNK_BYTES];
	struct nl_trace_chunk chunk;
	size_t size;
	int rc;

	if (left(place) < sizeof(bytes))
		return 0;
	rc = read_bytes(trace, place->offset, bytes, sizeof(bytes), err);
	if (rc < 0)
		return rc;
	if (nl_trace_chunk_decode(bytes, trace->has_arms, &chunk, err) < 0) {
		np_error_wrap(err, -EBADMSG, "the chunk of row %" PRIu64, place->rows);
		return damaged(trace, place->offset, err);
	}
	size = nl_trace_chunk_size(&chunk, trace->has_arms);
	if (left(place) < size)
		return 0;
	rc = add_chunk(trace, place, &chunk, err);
	place->offset += size;
	return rc < 0 ? rc : 1;
}

/* All chunks that are whole; what is behind them is an end, or nothing that is whole. */
static int read_chunks(struct nl_trace *trace, struct place *place, struct np_error *err)
{
	unsigned char magic[NL_TRACE_MAGIC_BYTES];
	int rc = 1;

	while (rc > 0) {
		if (left(place) < sizeof(magic))
			return 0;
		rc = read_bytes(trace, place->offset, magic, sizeof(magic), err);
		if (rc < 0)
			return rc;
		if (memcmp(magic, nl_trace_end_magic, sizeof(magic)) == 0) {
			place->is_end = true;
			return 0;
		}
		if (memcmp(magic, nl_trace_chunk_magic, sizeof(magic)) != 0) {
			np_error_set(err, EBADMSG, "neither rows nor the trace's end");
			return damaged(trace, place->offset, err);
		}
		rc = read_chunk(trace, place, err);
	}
	return rc;
}

/* How many rows each arm has: tells, too, that no row is of an arm that there is not. */
static int count_arms(struct nl_trace *trace, struct nl_trace_source *source, struct np_error *err)
{
	uint8_t arms[NL_TRACE_CHUNK_ROWS];
	uint64_t rows[UINT8_MAX + 1] = { 0 };

	for (size_t i = 0; i < trace->chunk_count; i++) {
		const struct nl_trace_chunk *chunk = &trace->chunks[i];
		int rc = nl_trace_source_read_arms(source, chunk, arms, err);

		if (rc < 0)
			return rc;
		for (uint32_t row = 0; row < chunk->rows; row++)
			rows[arms[row]]++;
	}
	for (unsigned arm = trace->about.arm_count; arm <= UINT8_MAX; arm++)
		if (rows[arm] > 0)
			return np_error_set(err, EBADMSG,
			                    "%s: a row is of arm %u, but there are %u", trace->path,
			                    arm, trace->about.arm_count);
	memcpy(trace->arm_rows, rows, sizeof(trace->arm_rows));
	return 0;
}

static int index_arms(struct nl_trace *trace, struct np_error *err)
{
	struct nl_trace_source *source;
	int rc;

	if (!trace->has_arms) {
		trace->arm_rows[0] = trace->end.rows;
		return 0;
	}
	source = nl_trace_source_create(trace->fd, trace->path, true);
	if (!source)
		return np_error_sys(err, ENOMEM, "%s", trace->path);
	rc = count_arms(trace, source, err);
	nl_trace_source_free(source);
	return rc;
}

int nl_trace_index_rows(struct nl_trace *trace, uint64_t size, struct np_error *err)
{
	struct place place = { .size = size };
	int rc = read_chunks(trace, &place, err);

	trace->end.rows = place.rows;
	return rc < 0 ? rc : index_arms(trace, err);
}

/* ---- what it tells ---- */

/* The text at the place, which the file has. */
static int read_json(struct nl_trace *trace, const struct place *place,
                     const struct nl_trace_text *text, json_t **ret, struct np_error *err)
{
	char *bytes = malloc(text->bytes);
	json_error_t why;
	json_t *object;
	int rc;

	if (!bytes)
		return np_error_sys(err, ENOMEM, "%s", trace->path);
	rc = read_bytes(trace, place->offset, bytes, text->bytes, err);
	if (rc == 0 && nl_trace_checksum(bytes, text->bytes) != text->checksum) {
		np_error_set(err, EBADMSG, "the text is damaged: its checksum is wrong");
		rc = damaged(trace, place->offset, err);
	}
	if (rc < 0) {
		free(bytes);
		return rc;
	}
	object = json_loadb(bytes, text->bytes, JSON_REJECT_DUPLICATES, &why);
	free(bytes);
	if (!object) {
		np_error_set(err, EBADMSG, "no JSON: %s", why.text);
		return damaged(trace, place->offset, err);
	}
	*ret = object;
	return 0;
}

static int read_head(struct nl_trace *trace, struct place *place, struct np_error *err)
{
	unsigned char head[NL_TRACE_HEAD_BYTES];
	struct nl_trace_text text;
	int rc;

	if (place->size < sizeof(head))
		return np_error_set(err, EBADMSG, "%s: it ends within its head", trace->path);
	rc = read_bytes(trace, 0, head, sizeof(head), err);
	if (rc < 0)
		return rc;
	if (nl_trace_head_decode(head, &text, err) < 0)
		return np_error_wrap(err, -EBADMSG, "%s", trace->path);
	place->offset = sizeof(head);
	if (left(place) < text.bytes)
		return np_error_set(err, EBADMSG, "%s: it ends within its head", trace->path);
	rc = read_json(trace, place, &text, &trace->head, err);
	if (rc < 0)
		return rc;
	if (nl_trace_about_load(trace->head, &trace->about, err) < 0)
		return damaged(trace, place->offset, err);
	trace->has_arms = trace->about.arm_count > 1;
	place->offset += text.bytes;
	return 0;
}

static int check_end(struct nl_trace *trace, const struct place *place, uint64_t rows,
                     struct np_error *err)
{
	if (rows != place->rows) {
		np_error_set(err, EBADMSG,
		             "the end tells of %" PRIu64 " rows, but there are %" PRIu64, rows,
		             place->rows);
		return damaged(trace, place->offset, err);
	}
	if (nl_trace_end_load(trace->tail, &trace->end, &trace->outcome, err) < 0)
		return damaged(trace, place->offset, err);
	return 0;
}

/* The end here; 1 = there is one, 0 = the file ends within it. */
static int read_end(struct nl_trace *trace, struct place *place, struct np_error *err)
{
	unsigned char bytes[NL_TRACE_END_BYTES];
	struct nl_trace_text text;
	uint64_t rows;
	int rc;

	if (left(place) < sizeof(bytes))
		return 0;
	rc = read_bytes(trace, place->offset, bytes, sizeof(bytes), err);
	if (rc < 0)
		return rc;
	if (nl_trace_end_decode(bytes, &rows, &text, err) < 0)
		return damaged(trace, place->offset, err);
	place->offset += sizeof(bytes);
	if (left(place) < text.bytes)
		return 0;
	rc = read_json(trace, place, &text, &trace->tail, err);
	if (rc == 0)
		rc = check_end(trace, place, rows, err);
	if (rc < 0)
		return rc;
	place->offset += text.bytes;
	if (left(place) == 0)
		return 1;
	np_error_set(err, EBADMSG, "something stands behind the trace's end");
	return damaged(trace, place->offset, err);
}

int nl_trace_index(struct nl_trace *trace, struct np_error *err)
{
	struct place place = { 0 };
	struct stat status;
	int rc;

	if (fstat(trace->fd, &status) < 0)
		return np_error_sys(err, errno, "%s", trace->path);
	place.size = (uint64_t)status.st_size;
	rc = read_head(trace, &place, err);
	if (rc == 0)
		rc = read_chunks(trace, &place, err);
	if (rc < 0)
		return rc;
	trace->end.rows = place.rows;
	rc = place.is_end ? read_end(trace, &place, err) : 0;
	if (rc == 0)
		rc = nl_trace_cut_short(trace, err,
		                        "the file ends early, at offset %" PRIu64
		                        ", behind row %" PRIu64 " of an unknown number",
		                        place.size, place.rows);
	return rc < 0 ? rc : index_arms(trace, err);
}
