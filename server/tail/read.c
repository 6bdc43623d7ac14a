/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading ahead: two chunks, which are handed out in their order once both the kernel and the checksums say that
 * they are there. Whole units are read, also where less is wanted of them.
 */
#include "io_parts.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AHEAD = 2 };

struct slot {
	struct ns_io_op op;
	struct ns_tail_read *read;
	char *buffer;
	uint32_t unit; /* its first */
	uint32_t units;
	bool is_done;
};

struct ns_tail_read {
	struct ns_tail_io *io;
	struct ns_tail *tail;
	uint32_t number;
	struct ns_tail_waiter waiter;
	struct ns_buffer_wait buffer_wait;
	uint64_t at;   /* of the tail: the next byte that is handed out */
	uint64_t end;  /* behind the last one */
	uint32_t unit; /* the next one to be read */
	struct slot slots[AHEAD];
	unsigned first; /* slot that is handed out of */
	unsigned used;  /* slots that have a buffer, from the first on */
	unsigned under_way;
	int rc;
	bool is_waiting;
	bool has_ended;
};

static void free_read(struct ns_tail_read *read)
{
	ns_tail_release(read->io->tails, read->number);
	free(read);
}

static bool is_all_asked(const struct ns_tail_read *read)
{
	return (uint64_t)read->unit * NS_TAIL_UNIT_BYTES >= read->end;
}

static void done(struct ns_io_op *op)
{
	struct slot *slot = (struct slot *)(void *)((char *)op - offsetof(struct slot, op));
	struct ns_tail_read *read = slot->read;
	int rc = ns_tail_check(read->tail, slot->unit, slot->units, slot->buffer, op->rc);

	slot->is_done = true;
	read->under_way--;
	read->io->under_way--;
	if (read->rc == 0)
		read->rc = rc;
	if (read->has_ended) {
		ns_buffer_give(read->io, slot->buffer);
		if (read->under_way == 0)
			free_read(read);
		return;
	}
	if (read->is_waiting && (read->rc < 0 || read->slots[read->first].is_done)) {
		read->is_waiting = false;
		read->waiter.wake(read->waiter.arg);
	}
}

/* As many units as may be in one piece in the buffer. */
static void ask(struct ns_tail_read *read, char *buffer)
{
	struct slot *slot = &read->slots[(read->first + read->used) % AHEAD];
	uint32_t last = (uint32_t)((read->end - 1) / NS_TAIL_UNIT_BYTES);
	uint32_t most = last - read->unit + 1;
	struct ns_tail_run run = ns_tail_run_at(read->tail, read->unit,
	                                        most < NS_CHUNK_UNITS ? most : NS_CHUNK_UNITS);

	*slot = (struct slot){
		.read = read,
		.buffer = buffer,
		.unit = read->unit,
		.units = run.units,
		.op = {
			.fd = read->tail->pool->fd,
			.bytes = buffer,
			.count = run.bytes,
			.offset = run.offset,
			.done = done,
		},
	};
	read->unit += run.units;
	read->used++;
	read->under_way++;
	ns_io_submit(read->io, &slot->op);
}

/* One chunk has to wait for its buffer; a second one is read only if there is one to spare. */
static void go_ahead(struct ns_tail_read *read)
{
	while (read->used < AHEAD && !is_all_asked(read) && read->rc == 0) {
		char *buffer =
			ns_buffer_take(read->io, read->used == 0 ? &read->buffer_wait : NULL);

		if (!buffer)
			return;
		ask(read, buffer);
	}
}

static void buffer_is_ready(struct ns_buffer_wait *wait, char *buffer)
{
	struct ns_tail_read *read =
		(struct ns_tail_read *)(void *)((char *)wait -
	                                        offsetof(struct ns_tail_read, buffer_wait));

	ask(read, buffer);
	go_ahead(read);
}

struct ns_tail_read *ns_tail_read_begin(struct ns_tail_io *io, uint32_t tail, uint64_t offset,
                                        uint64_t count, struct ns_tail_waiter waiter)
{
	struct ns_tail_read *read = calloc(1, sizeof(*read));

	if (!read)
		return NULL;
	read->io = io;
	read->number = tail;
	read->tail = ns_tail_hold(io->tails, tail);
	read->waiter = waiter;
	read->buffer_wait.ready = buffer_is_ready;
	if (offset > read->tail->bytes)
		offset = read->tail->bytes;
	if (count > read->tail->bytes - offset)
		count = read->tail->bytes - offset;
	read->at = offset;
	read->end = offset + count;
	read->unit = (uint32_t)(offset / NS_TAIL_UNIT_BYTES);
	go_ahead(read);
	return read;
}

ssize_t ns_tail_read_next(struct ns_tail_read *read, const char **ret)
{
	const struct slot *slot = &read->slots[read->first];
	uint64_t begin;
	uint64_t end;

	if (read->at == read->end)
		return 0;
	/* What came before the fault is whole, but its other part will not come. */
	if (read->rc < 0)
		return read->rc;
	if (read->used == 0 || !slot->is_done) {
		read->is_waiting = true;
		return 0;
	}
	begin = (uint64_t)slot->unit * NS_TAIL_UNIT_BYTES;
	end = begin + (uint64_t)slot->units * NS_TAIL_UNIT_BYTES;
	*ret = slot->buffer + (read->at - begin);
	return (ssize_t)((end < read->end ? end : read->end) - read->at);
}

void ns_tail_read_used(struct ns_tail_read *read, size_t count)
{
	struct slot *slot = &read->slots[read->first];
	uint64_t end = ((uint64_t)slot->unit + slot->units) * NS_TAIL_UNIT_BYTES;
	char *buffer = slot->buffer;

	read->at += count;
	if (read->at < end && read->at < read->end)
		return;
	read->first = (read->first + 1) % AHEAD;
	read->used--;
	ns_buffer_give(read->io, buffer);
	go_ahead(read);
}

void ns_tail_read_end(struct ns_tail_read *read)
{
	struct ns_tail_io *io;

	if (!read)
		return;
	io = read->io;
	read->has_ended = true;
	ns_buffer_wait_end(io, &read->buffer_wait);
	for (unsigned i = 0; i < read->used; i++) {
		struct slot *slot = &read->slots[(read->first + i) % AHEAD];

		/* The others' when they are done. */
		if (slot->is_done)
			ns_buffer_give(io, slot->buffer);
	}
	if (read->under_way == 0)
		free_read(read);
}

/* ---- for who may wait ---- */

/* One run of units into @buffer, checked. */
static int read_run(struct ns_tail *tail, uint32_t unit, struct ns_tail_run run, char *buffer)
{
	struct ns_io_op op = { .bytes = buffer, .count = run.bytes, .offset = run.offset };
	ssize_t result;

	do {
		result = pread(tail->pool->fd, buffer + op.got, op.count - op.got,
		               (off_t)(op.offset + op.got));
		if (result < 0)
			result = -errno;
	} while (!ns_io_op_take(&op, result));
	return ns_tail_check(tail, unit, run.units, buffer, op.rc);
}

static int read_all(struct ns_tail *tail, uint64_t offset, char *to, size_t count, char *buffer)
{
	while (count > 0) {
		uint32_t unit = (uint32_t)(offset / NS_TAIL_UNIT_BYTES);
		uint64_t skipped = offset % NS_TAIL_UNIT_BYTES;
		uint64_t wanted = (skipped + count + NS_TAIL_UNIT_BYTES - 1) / NS_TAIL_UNIT_BYTES;
		struct ns_tail_run run = ns_tail_run_at(
			tail, unit, wanted < NS_CHUNK_UNITS ? (uint32_t)wanted : NS_CHUNK_UNITS);
		size_t part = (size_t)(run.bytes - skipped);
		int rc = read_run(tail, unit, run, buffer);

		if (rc < 0)
			return rc;
		if (part > count)
			part = count;
		memcpy(to, buffer + skipped, part);
		to += part;
		offset += part;
		count -= part;
	}
	return 0;
}

int ns_tail_read_now(struct ns_tails *tails, uint32_t tail, uint64_t offset, char *to, size_t count)
{
	struct ns_tail *held = ns_tail_hold(tails, tail);
	char *buffer = aligned_alloc(NS_BUFFER_ALIGNMENT, NS_TAIL_CHUNK_BYTES);
	int rc = -EINVAL;

	if (!buffer)
		rc = -ENOMEM;
	else if (offset <= held->bytes && count <= held->bytes - offset)
		rc = read_all(held, offset, to, count, buffer);
	free(buffer);
	ns_tail_release(tails, tail);
	return rc;
}
