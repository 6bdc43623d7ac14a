/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing behind: a chunk is filled while the one before it goes to the disk. After an error what is given is
 * thrown away.
 */
#include "io_parts.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BEHIND = 2 };

struct slot {
	struct ns_io_op op;
	struct ns_tail_write *write;
	bool is_under_way;
};

struct ns_tail_write {
	struct ns_tail_io *io;
	struct ns_tail *tail;
	uint32_t number;
	struct ns_tail_waiter waiter;
	struct ns_buffer_wait buffer_wait;
	uint64_t left; /* bytes that are to come */
	uint32_t unit; /* the first of the chunk that is filled */
	struct ns_tail_run run;
	char *buffer; /* that is filled; NULL: none */
	size_t filled;
	struct slot slots[BEHIND];
	unsigned under_way;
	int rc;
	bool is_waiting;
	bool has_ended;
};

static void free_write(struct ns_tail_write *write)
{
	ns_tail_release(write->io->tails, write->number);
	free(write);
}

static void wake(struct ns_tail_write *write)
{
	if (!write->is_waiting)
		return;
	write->is_waiting = false;
	write->waiter.wake(write->waiter.arg);
}

static void done(struct ns_io_op *op)
{
	struct slot *slot = (struct slot *)(void *)((char *)op - offsetof(struct slot, op));
	struct ns_tail_write *write = slot->write;
	struct ns_tail_io *io = write->io;
	char *buffer = op->bytes;

	slot->is_under_way = false;
	write->under_way--;
	io->under_way--;
	ns_pool_count(write->tail->pool, true, op->count, op->rc);
	if (op->rc < 0 && write->rc == 0)
		write->rc = op->rc == -ENOSPC ? -ENOSPC : -EIO;
	if (!write->has_ended)
		wake(write); /* who may end it */
	else if (write->under_way == 0)
		free_write(write);
	ns_buffer_give(io, buffer);
}

static struct slot *unused_slot(struct ns_tail_write *write)
{
	for (unsigned i = 0; i < BEHIND; i++) {
		if (!write->slots[i].is_under_way)
			return &write->slots[i];
	}
	return NULL;
}

static void send(struct ns_tail_write *write)
{
	struct slot *slot = unused_slot(write);

	ns_tail_seal(write->tail, write->unit, write->run.units, write->buffer);
	*slot = (struct slot){
		.write = write,
		.is_under_way = true,
		.op = {
			.is_write = true,
			.fd = write->tail->pool->fd,
			.bytes = write->buffer,
			.count = write->run.bytes,
			.offset = write->run.offset,
			.done = done,
		},
	};
	write->unit += write->run.units;
	write->buffer = NULL;
	write->under_way++;
	ns_io_submit(write->io, &slot->op);
}

static void buffer_is_ready(struct ns_buffer_wait *wait, char *buffer)
{
	struct ns_tail_write *write =
		(struct ns_tail_write *)(void *)((char *)wait -
	                                         offsetof(struct ns_tail_write, buffer_wait));

	write->buffer = buffer;
	wake(write);
}

struct ns_tail_write *ns_tail_write_begin(struct ns_tail_io *io, uint32_t tail, uint64_t count,
                                          struct ns_tail_waiter waiter)
{
	struct ns_tail_write *write = calloc(1, sizeof(*write));

	if (!write)
		return NULL;
	write->io = io;
	write->number = tail;
	write->tail = ns_tail_hold(io->tails, tail);
	write->waiter = waiter;
	write->left = count;
	/* Less would put into the rest of a unit what an earlier one has left in the buffer. */
	if (count != write->tail->bytes)
		write->rc = -EINVAL;
	write->buffer_wait.ready = buffer_is_ready;
	return write;
}

/* A buffer to fill, and how much of the tail goes there. */
static bool has_chunk(struct ns_tail_write *write)
{
	if (write->run.units > 0 && write->buffer)
		return true;
	if (!write->buffer) {
		if (!unused_slot(write))
			return false;
		write->buffer = ns_buffer_take(write->io, &write->buffer_wait);
	}
	if (!write->buffer)
		return false;
	write->run = ns_tail_run_at(write->tail, write->unit, NS_CHUNK_UNITS);
	write->filled = 0;
	return true;
}

static void give_back(struct ns_tail_write *write)
{
	char *buffer = write->buffer;

	ns_buffer_wait_end(write->io, &write->buffer_wait);
	write->buffer = NULL;
	write->run = (struct ns_tail_run){ 0 };
	if (buffer)
		ns_buffer_give(write->io, buffer);
}

bool ns_tail_write_pause(struct ns_tail_write *write)
{
	if (write->buffer && write->run.units > 0 && write->filled > 0)
		return false;
	if (write->buffer)
		give_back(write);
	return true;
}

size_t ns_tail_write_room(struct ns_tail_write *write, char **ret)
{
	uint64_t room;

	if (write->left == 0)
		return 0;
	if (write->rc < 0) {
		give_back(write);
		*ret = write->io->scrap;
		room = NS_TAIL_UNIT_BYTES;
	} else if (has_chunk(write)) {
		*ret = write->buffer + write->filled;
		room = write->run.bytes - write->filled;
	} else {
		write->is_waiting = true;
		return 0;
	}
	return (size_t)(room < write->left ? room : write->left);
}

void ns_tail_write_filled(struct ns_tail_write *write, size_t count)
{
	write->left -= count;
	/* Put into a buffer before the error came: it goes nowhere. */
	if (write->rc < 0)
		return;
	write->filled += count;
	if (write->filled < write->run.bytes && write->left > 0)
		return;
	send(write);
	write->run = (struct ns_tail_run){ 0 };
}

int ns_tail_write_result(struct ns_tail_write *write)
{
	if (write->rc < 0)
		return write->rc;
	if (write->left == 0 && write->under_way == 0)
		return 0;
	write->is_waiting = true;
	return -EINPROGRESS;
}

void ns_tail_write_end(struct ns_tail_write *write)
{
	if (!write)
		return;
	write->has_ended = true;
	give_back(write);
	if (write->under_way == 0)
		free_write(write);
}

/* ---- for who may wait ---- */

static int write_run(struct ns_tail *tail, struct ns_tail_run run, char *buffer)
{
	struct ns_io_op op = { .bytes = buffer, .count = run.bytes, .offset = run.offset };
	ssize_t result;
	int rc;

	do {
		result = pwrite(tail->pool->fd, buffer + op.got, op.count - op.got,
		                (off_t)(op.offset + op.got));
		if (result < 0)
			result = -errno;
	} while (!ns_io_op_take(&op, result));
	ns_pool_count(tail->pool, true, op.count, op.rc);
	rc = op.rc < 0 && op.rc != -ENOSPC ? -EIO : op.rc;
	return rc;
}

int ns_tail_write_now(struct ns_tails *tails, uint32_t tail, const char *bytes, uint64_t count)
{
	struct ns_tail *held = ns_tail_hold(tails, tail);
	char *buffer = aligned_alloc(NS_BUFFER_ALIGNMENT, NS_TAIL_CHUNK_BYTES);
	int rc = buffer ? 0 : -ENOMEM;

	if (count != held->bytes)
		rc = -EINVAL;
	for (uint32_t unit = 0; rc == 0 && unit < held->count;) {
		struct ns_tail_run run = ns_tail_run_at(held, unit, NS_CHUNK_UNITS);
		uint64_t done_bytes = (uint64_t)unit * NS_TAIL_UNIT_BYTES;
		uint64_t part = run.bytes < count - done_bytes ? run.bytes : count - done_bytes;

		memcpy(buffer, bytes + done_bytes, (size_t)part);
		ns_tail_seal(held, unit, run.units, buffer);
		rc = write_run(held, run, buffer);
		unit += run.units;
	}
	free(buffer);
	ns_tail_release(tails, tail);
	return rc;
}
