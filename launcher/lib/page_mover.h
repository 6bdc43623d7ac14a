/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One window of nr_move_pages(): a stretch of a mapping. The pages in memory are found (pagemap),
 * the kernel is asked on which node each is, those elsewhere are moved, and the kernel is asked
 * again: only that counts, as the status that move_pages(2) leaves is not set at all for pages that
 * it gave up on (mm/migrate.c, do_pages_move()).
 */
#ifndef NR_PAGE_MOVER_H
#define NR_PAGE_MOVER_H

#include "../../probe/base/sysroot.h"

#include <numarun/move.h>
#include <stdint.h>

enum { NR_MOVER_WINDOW_PAGES = 2048 };

/* What a pass found that could not be moved. */
struct nr_mover_left {
	uint64_t shared;
	uint64_t busy;
	uint64_t failed;
};

struct nr_mover {
	const struct np_sysroot *root;
	const struct nr_page_request *request;
	pid_t tid;             /* a thread of the process that has its memory */
	int pagemap;           /* -1: cannot be read, all pages may be in memory */
	struct np_bitmap open; /* the targets that have room */
	uint64_t *given;       /* bytes meant for each target, by node */
	uint64_t block;        /* the last one that was given a target, and that target */
	unsigned block_target;
	uint64_t chunk_bytes;
	uint64_t done_bytes;
	uint64_t total_bytes;
	bool first_pass;
	struct nr_mover_left left;
	struct nr_page_moves *moves;
	/* The window: */
	uint64_t page_bytes;
	size_t count;
	void *addresses[NR_MOVER_WINDOW_PAGES];
	int before[NR_MOVER_WINDOW_PAGES]; /* node, or negative errno for no page */
	int now[NR_MOVER_WINDOW_PAGES];
	int status[NR_MOVER_WINDOW_PAGES]; /* of the last attempt to move it */
	/* One call: */
	void *call_addresses[NR_MOVER_WINDOW_PAGES];
	int call_nodes[NR_MOVER_WINDOW_PAGES];
	int call_status[NR_MOVER_WINDOW_PAGES];
	size_t call_index[NR_MOVER_WINDOW_PAGES];
	uint64_t pagemap_entries[NR_MOVER_WINDOW_PAGES];
};

/*
 * How much one move_pages(2) is asked for. While it runs, threads that touch one of its pages wait,
 * so it shall last about NR_MOVE_AIM_NS; the least amount is there because each call has a price of
 * its own (it drains every CPU's page lists), which smaller calls would not lower.
 */
#define NR_MOVE_AIM_NS 10000000u
#define NR_MOVE_CHUNK_FIRST (512u << 10)
#define NR_MOVE_CHUNK_MIN (128u << 10)
#define NR_MOVE_CHUNK_MAX (8u << 20)

/* The size for the next call, after one of @chunk_bytes that took @took_ns. Pure. */
uint64_t nr_move_next_chunk(uint64_t chunk_bytes, uint64_t took_ns);

/*
 * Moves what lies in [start, end), at most a window, and counts it. Returns 1 to stop, with the
 * reason in moves->end, or as nr_move_pages(); what was moved before a failure is counted too.
 */
int nr_mover_walk_window(struct nr_mover *mover, uint64_t start, uint64_t end,
                         struct np_error *err);

/*
 * Where, from @at on, the first page in memory is, @end when there is none: a mapping of terabytes
 * may hold a few of them, and window by window it would cost minutes. Before Linux 6.7 it does.
 */
uint64_t nr_mover_skip_hole(const struct nr_mover *mover, uint64_t at, uint64_t end);

/* Says what a move_pages(2) that failed with @code means, as nr_move_pages(). */
int nr_mover_explain(const struct nr_mover *mover, int code, struct np_error *err);
/* -EPERM: a filter, or whose process it is and what moving it needs. */
int nr_mover_refuse(const struct nr_mover *mover, struct np_error *err);

#endif
