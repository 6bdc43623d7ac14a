/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces that a test makes, in a temporary folder of its own. All of it fails the test that calls it. */
#ifndef MADE_TRACE_H
#define MADE_TRACE_H

#include "host.h"

#include "../../../server/client/analysis.h"

#include <stdio.h>
#include <stdlib.h>

enum { MADE_PATH_SIZE = 512 };

/* What a test begins with; the rest of *about is as it says. */
static const struct nl_trace_about made_one_arm = { .arms = { "" }, .arm_count = 1 };

static inline void made_write(const char *path, const struct nl_trace_about *about,
                              const struct nl_row *rows, size_t count, const char *why)
{
	const struct nl_trace_end end = { .is_complete = !why, .why = why };
	struct nl_trace_writer *writer;
	struct np_error err = { 0 };

	assert_np_ok(nl_trace_writer_create(path, NL_TRACE_NLT, about, &writer, &err), &err);
	for (size_t i = 0; i < count; i++)
		assert_np_ok(nl_trace_writer_add(writer, &rows[i], &err), &err);
	assert_np_ok(nl_trace_writer_finish(writer, &end, NULL, &err), &err);
}

static inline struct nl_trace *made_open(const char *path)
{
	struct nl_trace *trace = NULL;
	struct np_error err = { 0 };

	assert_np_ok(nl_trace_open(path, &trace, &err), &err);
	return trace;
}

/* Writes rows into @directory/@name and opens them; the caller closes it. */
static inline struct nl_trace *made_trace(const char *directory, const char *name,
                                          const struct nl_trace_about *about,
                                          const struct nl_row *rows, size_t count)
{
	char path[MADE_PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	made_write(path, about, rows, count, NULL);
	return made_open(path);
}

/* Rows of a serial run from these totals: response and payload are a half and three quarters of it. */
static inline struct nl_row *made_rows(const uint64_t *totals, size_t count, uint64_t start_ns)
{
	struct nl_row *rows = calloc(count, sizeof(*rows));

	assert_non_null(rows);
	for (size_t i = 0; i < count; i++) {
		rows[i] = (struct nl_row){ .start_ns = start_ns,
			                   .response_ns = totals[i] / 2,
			                   .payload_ns = totals[i] / 2 + totals[i] / 4,
			                   .total_ns = totals[i],
			                   .key = (uint32_t)(i % 7) };
		start_ns += totals[i] + 1;
	}
	return rows;
}

#endif
