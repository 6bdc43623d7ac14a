/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes on what several programs print, line by line, each line with its program's label before
 * it. Never blocks: a program whose lines nobody takes has to wait, we do not.
 */
#ifndef NR_RELAY_H
#define NR_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* A longer line is passed on in pieces. A sink has room for a few. */
enum { NR_RELAY_LINE_MAX = 4096, NR_RELAY_SINK_SIZE = 16384 };

/* Where lines go: standard output or error. */
struct nr_sink {
	int fd;
	bool is_broken; /* nobody reads it any more */
	char buf[NR_RELAY_SINK_SIZE];
	size_t len;
};

/* What one program writes into a pipe. */
struct nr_source {
	int fd; /* our end of the pipe, non-blocking; -1 = it has ended */
	const char *label;
	struct nr_sink *sink;
	char buf[NR_RELAY_LINE_MAX];
	size_t len;
};

/* Whether the source can be read now, that is, its sink has room. */
bool nr_source_wants(const struct nr_source *source);

/* Reads what there is and hands whole lines to the sink; closes the pipe at its end. */
void nr_source_read(struct nr_source *source);

/* Closes it; what was begun of a line goes out. */
void nr_source_end(struct nr_source *source);

/*
 * At the end of its program: reads what is still in the pipe as far as the sink can be emptied
 * meanwhile, and closes it.
 */
void nr_source_drain(struct nr_source *source);

/* Writes what can be written without waiting. */
void nr_sink_flush(struct nr_sink *sink);

/* The same, waiting for at most @timeout_ms: at the end. */
void nr_sink_drain(struct nr_sink *sink, int timeout_ms);

#endif
