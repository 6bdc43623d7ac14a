/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace that is open, for what reads it; and opening it while somebody watches.
 */
#ifndef NL_TRACE_OPEN_H
#define NL_TRACE_OPEN_H

#include "trace_chunk.h"
#include "trace_input.h"

struct nl_trace {
	char *path;
	enum nl_trace_form form;
	int fd; /* of our form, whatever was opened */
	struct nl_trace_about about;
	struct nl_trace_end end;
	const json_t *outcome;
	json_t *head;  /* what @about points into */
	json_t *tail;  /* what @end and @outcome point into; NULL */
	char *why;     /* end.why, where that is ours */
	bool has_arms; /* there is a column of them */
	struct nl_trace_chunk *chunks;
	size_t chunk_count;
	uint64_t arm_rows[NL_TRACE_ARMS_MAX];
};

/* How far it is, 0..1, now and then while a CSV is read. */
struct nl_trace_watch {
	void (*progress)(void *data, double share);
	void *data;
};

/* nl_trace_open(); @watch may be NULL. */
int nl_trace_open_watched(const char *path, const struct nl_trace_watch *watch,
                          struct nl_trace **ret, struct np_error *err);

/*
 * Finds the chunks in trace->fd, a file of our form, and what it tells of itself. On failure the
 * caller closes the trace.
 */
int nl_trace_index(struct nl_trace *trace, struct np_error *err);

/* The same of a file of @size bytes that has chunks alone. */
int nl_trace_index_rows(struct nl_trace *trace, uint64_t size, struct np_error *err);

/* Turns the CSV into a file of our form, which becomes trace->fd. On failure as above. */
int nl_trace_import(struct nl_trace *trace, struct nl_trace_input *input,
                    const struct nl_trace_watch *watch, struct np_error *err);

/* A trace that ends before its end: marks it so, printf style. -ENOMEM */
int nl_trace_cut_short(struct nl_trace *trace, struct np_error *err, const char *fmt, ...)
	NP_PRINTF(3, 4);

#endif
