/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis_design.h"
#include "analysis_side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 8192 };

/*
 * The raw clock is not slewed, the wall clock is, and is set now and then; and a trace's wall time may
 * be that of the beginning of its warm-up. Two traces of one boot agree on the difference of the
 * clocks within this.
 */
#define SAME_BOOT_NS (INT64_C(1200) * 1000000000)

struct extent_reader {
	const struct nl_input *input;
	struct nl_cursor *starts;
	struct nl_cursor *totals;
	uint64_t *values; /* 2 * CHUNK */
	uint64_t rows;
};

/* As many of both columns as there are, at most CHUNK. */
static ssize_t read_chunk(const struct extent_reader *reader, struct np_error *err)
{
	ssize_t count = nl_cursor_read(reader->starts, reader->values, CHUNK, err);
	size_t done = 0;

	while (count > 0 && done < (size_t)count) {
		ssize_t got = nl_cursor_read(reader->totals, reader->values + CHUNK + done,
		                             (size_t)count - done, err);

		if (got < 0)
			return got;
		if (got == 0)
			return np_error_set(err, EBADMSG, "%s: a column ends before the others",
			                    reader->input->label);
		done += (size_t)got;
	}
	return count;
}

/* Hostile numbers do not wrap around. */
static uint64_t end_of(uint64_t start, uint64_t total)
{
	return total > UINT64_MAX - start ? UINT64_MAX : start + total;
}

static int walk(const struct extent_reader *reader, struct nl_extent *extent, struct np_error *err)
{
	unsigned block = 0;
	uint64_t edge = 0;
	uint64_t row = 0;
	ssize_t count;

	while ((count = read_chunk(reader, err)) > 0) {
		const uint64_t *starts = reader->values;
		const uint64_t *totals = reader->values + CHUNK;
		uint64_t end = row + (uint64_t)count;

		if (row == 0)
			extent->start_ns = starts[0];
		while (block < extent->block_count && edge < end) {
			extent->block_starts[block++] = starts[edge - row];
			edge = nl_block_edge(reader->rows, extent->block_count, block);
		}
		if (row < reader->rows && reader->rows <= end)
			extent->compared_ns = end_of(starts[reader->rows - 1 - row],
			                             totals[reader->rows - 1 - row]);
		extent->end_ns = end_of(starts[count - 1], totals[count - 1]);
		row = end;
	}
	return (int)count;
}

int nl_extent_read(const struct nl_input *input, uint64_t rows, unsigned block_count,
                   struct nl_extent *ret, struct np_error *err)
{
	struct nl_extent extent = {
		.block_starts = calloc(block_count, sizeof(*extent.block_starts)),
		.block_count = block_count,
	};
	struct extent_reader reader = {
		.input = input,
		.values = calloc((size_t)2 * CHUNK, sizeof(*reader.values)),
		.rows = rows,
	};
	int rc = extent.block_starts && reader.values ? 0 : nl_analysis_no_memory(err);

	if (rc == 0)
		rc = nl_cursor_create(input->trace, NL_START, input->arm, &reader.starts, err);
	if (rc == 0)
		rc = nl_cursor_create(input->trace, NL_TOTAL, input->arm, &reader.totals, err);
	if (rc == 0)
		rc = walk(&reader, &extent, err);
	nl_cursor_free(reader.starts);
	nl_cursor_free(reader.totals);
	free(reader.values);
	if (rc < 0)
		nl_extent_release(&extent);
	else
		*ret = extent;
	return rc;
}

void nl_extent_release(struct nl_extent *extent)
{
	free(extent->block_starts);
	extent->block_starts = NULL;
}

int nl_extent_copy_starts(const struct nl_extent *extent, struct nl_side *side)
{
	side->block_starts = calloc(extent->block_count, sizeof(*side->block_starts));
	if (!side->block_starts)
		return -ENOMEM;
	memcpy(side->block_starts, extent->block_starts,
	       extent->block_count * sizeof(*side->block_starts));
	return 0;
}

/* ---- the design ---- */

/* Wide enough for any clock and any difference of two. */
struct span {
	__int128 start;
	__int128 end;
};

/* Which clock the two can be compared by, if any. */
enum common_clock { CLOCK_OF_BOOT, CLOCK_OF_WALL, CLOCK_NONE };

static enum common_clock clock_of(const struct nl_comparison *comparison, const struct nl_extent *a,
                                  const struct nl_extent *b)
{
	int64_t a_began = nl_trace_about(comparison->a.trace)->began_ns;
	int64_t b_began = nl_trace_about(comparison->b.trace)->began_ns;
	__int128 apart;

	if (a_began == 0 || b_began == 0)
		return CLOCK_NONE;
	apart = ((__int128)a_began - a->start_ns) - ((__int128)b_began - b->start_ns);
	return apart >= -SAME_BOOT_NS && apart <= SAME_BOOT_NS ? CLOCK_OF_BOOT : CLOCK_OF_WALL;
}

static struct span span_of(const struct nl_input *input, const struct nl_extent *extent,
                           enum common_clock clock)
{
	__int128 start = clock == CLOCK_OF_WALL ? nl_trace_about(input->trace)->began_ns
	                                        : (__int128)extent->start_ns;

	return (struct span){ start, start + extent->end_ns - extent->start_ns };
}

/*
 * Without wall times two boots, or two hosts, cannot be told from one: spans of the raw clock that lie
 * apart are taken as they stand, as in goblin-bench's traces, whose runs follow each other; spans that
 * overlap would be two clients at the same time, or clocks that began anew, and nothing tells which.
 */
void nl_design_tell(const struct nl_extent *a, const struct nl_extent *b,
                    struct nl_comparison *comparison)
{
	bool is_one_run = comparison->a.trace == comparison->b.trace;
	enum common_clock clock = is_one_run ? CLOCK_OF_BOOT : clock_of(comparison, a, b);
	struct span first;
	struct span second;

	comparison->a_first = false;
	comparison->gap_ns = 0;
	comparison->turns = 0;
	first = span_of(&comparison->a, a, clock);
	second = span_of(&comparison->b, b, clock);
	if (first.end <= second.start || second.end <= first.start) {
		comparison->design = NL_DESIGN_APART;
		comparison->a_first = first.end <= second.start;
		comparison->gap_ns = (uint64_t)(comparison->a_first ? second.start - first.end
		                                                    : first.start - second.end);
		return;
	}
	comparison->design = NL_DESIGN_OVERLAPPING;
	if (is_one_run)
		comparison->design = NL_DESIGN_INTERLEAVED;
	else if (clock == CLOCK_NONE)
		comparison->design = NL_DESIGN_UNKNOWN;
}

/* ---- turns ---- */

/* The starts of one arm, one after the other. */
struct starts {
	struct nl_cursor *cursor;
	uint64_t values[CHUNK];
	size_t at;
	size_t count; /* 0 = there are no more */
};

static int fill_starts(struct starts *starts, struct np_error *err)
{
	ssize_t got = nl_cursor_read(starts->cursor, starts->values, CHUNK, err);

	starts->at = 0;
	starts->count = got > 0 ? (size_t)got : 0;
	return got < 0 ? (int)got : 0;
}

static int pass_start(struct starts *starts, struct np_error *err)
{
	return ++starts->at < starts->count ? 0 : fill_starts(starts, err);
}

/* Rows of one run do not overlap, so their starts tell the order of both arms' rows. */
static int merge_turns(struct starts both[2], uint64_t *turns, struct np_error *err)
{
	unsigned before = 2; /* neither */
	int rc = 0;

	*turns = 0;
	while (rc == 0 && (both[0].count > 0 || both[1].count > 0)) {
		unsigned arm = both[0].count == 0 ||
		               (both[1].count > 0 &&
		                both[1].values[both[1].at] < both[0].values[both[0].at]);

		*turns += arm != before;
		before = arm;
		rc = pass_start(&both[arm], err);
	}
	return rc;
}

int nl_design_count_turns(struct nl_comparison *comparison, struct np_error *err)
{
	const struct nl_input *inputs[2] = { &comparison->a, &comparison->b };
	struct starts *both = calloc(2, sizeof(*both));
	int rc = both ? 0 : nl_analysis_no_memory(err);

	for (unsigned i = 0; i < 2 && rc == 0; i++) {
		rc = nl_cursor_create(inputs[i]->trace, NL_START, inputs[i]->arm, &both[i].cursor,
		                      err);
		if (rc == 0)
			rc = fill_starts(&both[i], err);
	}
	if (rc == 0)
		rc = merge_turns(both, &comparison->turns, err);
	for (unsigned i = 0; both && i < 2; i++)
		nl_cursor_free(both[i].cursor);
	free(both);
	return rc;
}
