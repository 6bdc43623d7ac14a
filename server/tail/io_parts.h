/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes of files that are under way, and the staging buffers that they go through. Two engines do
 * them: a ring of the kernel's, and threads of ours. All of it belongs to one thread.
 */
#ifndef NS_IO_PARTS_H
#define NS_IO_PARTS_H

#include "tails_parts.h"

/* One read or write of whole units; its owner's until it is done, except while it is under way. */
struct ns_io_op {
	struct ns_io_op *next; /* the engine's */
	bool is_write;
	int fd;
	char *bytes;
	size_t count;
	uint64_t offset;
	size_t got; /* so far */
	int rc;     /* once done: 0; -EIO, -ENOSPC ... */
	void (*done)(struct ns_io_op *op);
};

/*
 * So many of its bytes went, or -errno. Whether that was all of it: if not, it is to be done again for the rest
 * of it (op->got on). What ends early, as a file that was cut short, is -EIO.
 */
bool ns_io_op_take(struct ns_io_op *op, ssize_t result);

struct ns_engine; /* of either kind */

struct ns_engine_calls {
	/* Takes the op over until done() is called out of reap(). It may be done (failed) at once. */
	void (*submit)(struct ns_engine *engine, struct ns_io_op *op);
	void (*reap)(struct ns_engine *engine);
	void (*free)(struct ns_engine *engine); /* nothing is under way */
};

/* What both begin with. */
struct ns_engine {
	const struct ns_engine_calls *calls;
	int event_fd; /* readable when something is done */
};
void ns_engine_poke(const struct ns_engine *engine); /* there is something to reap */

/* @depth: how many ops there are at most. -ENOSYS, -EPERM, -ENOMEM ... */
int ns_engine_create_uring(unsigned depth, struct ns_engine **ret, struct np_error *err);
int ns_engine_create_threads(struct ns_engine **ret, struct np_error *err);

/* Who found no buffer gets one, once, in the order in which they asked: out of ns_tail_io_reap(). */
struct ns_buffer_wait {
	struct ns_buffer_wait *next;
	bool is_queued;
	void (*ready)(struct ns_buffer_wait *wait, char *buffer);
};

struct ns_tail_io {
	struct ns_tails *tails;
	enum ns_tail_engine kind;
	struct ns_engine *engine;
	unsigned under_way;
	char *buffers; /* one mapping */
	size_t buffer_count;
	char **unused; /* of buffers */
	size_t unused_count;
	struct ns_buffer_wait *first; /* who waits for one, in their order */
	struct ns_buffer_wait *last;
	bool is_reaping;
	char *scrap; /* what is thrown away goes here: NS_TAIL_UNIT_BYTES */
};

/* NS_TAIL_CHUNK_BYTES of it, aligned; NULL: none, and @wait, unless it is NULL, waits for one. */
char *ns_buffer_take(struct ns_tail_io *io, struct ns_buffer_wait *wait);
void ns_buffer_give(struct ns_tail_io *io, char *buffer);
void ns_buffer_wait_end(struct ns_tail_io *io, struct ns_buffer_wait *wait);

void ns_io_submit(struct ns_tail_io *io, struct ns_io_op *op);

#endif
