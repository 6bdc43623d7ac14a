/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_open.h"

#include <errno.h>
#include <stdlib.h>

struct nl_cursor {
	const struct nl_trace *trace;
	enum nl_column column;
	unsigned arm;
	struct nl_trace_source *source;
	size_t chunk; /* the next one */
	/* Of the chunk before that. */
	uint32_t next;
	uint32_t count;
	uint64_t values[NL_TRACE_CHUNK_ROWS];
	uint8_t arms[NL_TRACE_CHUNK_ROWS];
};

int nl_cursor_create(struct nl_trace *trace, enum nl_column column, unsigned arm,
                     struct nl_cursor **ret, struct np_error *err)
{
	struct nl_cursor *cursor;

	if (arm != NL_ALL_ARMS && arm >= trace->about.arm_count)
		return np_error_set(err, EINVAL, "%s: there is no arm %u", trace->path, arm);
	cursor = malloc(sizeof(*cursor));
	if (!cursor)
		return np_error_sys(err, ENOMEM, "%s", trace->path);
	cursor->trace = trace;
	cursor->column = column;
	/* All rows are of the one arm. */
	cursor->arm = trace->about.arm_count > 1 ? arm : NL_ALL_ARMS;
	cursor->chunk = 0;
	cursor->next = 0;
	cursor->count = 0;
	cursor->source = nl_trace_source_create(trace->fd, trace->path, trace->has_arms);
	if (!cursor->source) {
		free(cursor);
		return np_error_sys(err, ENOMEM, "%s", trace->path);
	}
	*ret = cursor;
	return 0;
}

void nl_cursor_free(struct nl_cursor *cursor)
{
	if (!cursor)
		return;
	nl_trace_source_free(cursor->source);
	free(cursor);
}

/* Keeps the values of one arm. Writes them all, and moves on where the arm is right: no branch. */
static uint32_t keep_arm(uint64_t *values, const uint8_t *arms, uint32_t count, unsigned arm)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		values[kept] = values[i];
		kept += arms[i] == arm;
	}
	return kept;
}

static int load_chunk(struct nl_cursor *cursor, struct np_error *err)
{
	const struct nl_trace_chunk *chunk = &cursor->trace->chunks[cursor->chunk];
	uint32_t count = chunk->rows;
	int rc = nl_trace_source_read(cursor->source, chunk, cursor->column, cursor->values, err);

	if (rc == 0 && cursor->arm != NL_ALL_ARMS) {
		rc = nl_trace_source_read_arms(cursor->source, chunk, cursor->arms, err);
		if (rc == 0)
			count = keep_arm(cursor->values, cursor->arms, count, cursor->arm);
	}
	if (rc < 0)
		return rc;
	cursor->chunk++;
	cursor->next = 0;
	cursor->count = count;
	return 0;
}

ssize_t nl_cursor_read(struct nl_cursor *cursor, uint64_t *values, size_t count,
                       struct np_error *err)
{
	size_t got = 0;

	while (got < count) {
		size_t there = cursor->count - cursor->next;
		size_t taken = there < count - got ? there : count - got;
		int rc;

		memcpy(values + got, cursor->values + cursor->next, taken * sizeof(*values));
		cursor->next += (uint32_t)taken;
		got += taken;
		if (cursor->next < cursor->count || got == count)
			continue;
		if (cursor->chunk == cursor->trace->chunk_count)
			break;
		rc = load_chunk(cursor, err);
		if (rc < 0)
			return rc;
	}
	return (ssize_t)got;
}
