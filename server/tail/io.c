/* SPDX-License-Identifier: BSD-3-Clause */
#include "io_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- buffers ---- */

char *ns_buffer_take(struct ns_tail_io *io, struct ns_buffer_wait *wait)
{
	/* Not before those who wait. */
	if (!io->first && io->unused_count > 0)
		return io->unused[--io->unused_count];
	if (!wait || wait->is_queued)
		return NULL;
	wait->is_queued = true;
	wait->next = NULL;
	if (io->first)
		io->last->next = wait;
	else
		io->first = wait;
	io->last = wait;
	return NULL;
}

void ns_buffer_wait_end(struct ns_tail_io *io, struct ns_buffer_wait *wait)
{
	struct ns_buffer_wait **link = &io->first;
	struct ns_buffer_wait *before = NULL;

	if (!wait->is_queued)
		return;
	while (*link != wait) {
		before = *link;
		link = &before->next;
	}
	*link = wait->next;
	if (io->last == wait)
		io->last = before;
	wait->is_queued = false;
}

void ns_buffer_give(struct ns_tail_io *io, char *buffer)
{
	io->unused[io->unused_count++] = buffer;
	if (io->first && !io->is_reaping)
		ns_engine_poke(io->engine);
}

/* Whoever is called may give, take and end. */
static void serve_waiters(struct ns_tail_io *io)
{
	while (io->first && io->unused_count > 0) {
		struct ns_buffer_wait *wait = io->first;

		ns_buffer_wait_end(io, wait);
		wait->ready(wait, io->unused[--io->unused_count]);
	}
}

static int make_buffers(struct ns_tail_io *io, unsigned count)
{
	size_t bytes = (size_t)count * NS_TAIL_CHUNK_BYTES + NS_TAIL_UNIT_BYTES;

	io->unused = calloc(count, sizeof(*io->unused));
	if (!io->unused)
		return -ENOMEM;
	io->buffers = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (io->buffers == MAP_FAILED) {
		io->buffers = NULL;
		return -ENOMEM;
	}
	io->buffer_count = count;
	for (unsigned i = count; i-- > 0;)
		io->unused[io->unused_count++] = io->buffers + (size_t)i * NS_TAIL_CHUNK_BYTES;
	io->scrap = io->buffers + (size_t)count * NS_TAIL_CHUNK_BYTES;
	return 0;
}

/* ---- the engine ---- */

void ns_engine_poke(const struct ns_engine *engine)
{
	const uint64_t one = 1;

	(void)!write(engine->event_fd, &one, sizeof(one));
}

static int make_engine(struct ns_tail_io *io, enum ns_tail_engine engine, unsigned depth,
                       struct np_error *err)
{
	int rc = -ENOSYS;

	if (engine != NS_ENGINE_THREADS) {
		io->kind = NS_ENGINE_URING;
		rc = ns_engine_create_uring(depth, &io->engine, err);
		if (rc == 0 || engine == NS_ENGINE_URING)
			return rc;
	}
	io->kind = NS_ENGINE_THREADS;
	return ns_engine_create_threads(&io->engine, err);
}

int ns_tail_io_create(struct ns_tails *tails, enum ns_tail_engine engine, unsigned buffers,
                      struct ns_tail_io **ret, struct np_error *err)
{
	struct ns_tail_io *io = calloc(1, sizeof(*io));
	int rc;

	if (!io)
		return np_error_sys(err, ENOMEM, "staging buffers");
	if (buffers == 0) {
		free(io);
		return np_error_set(err, EINVAL, "reading and writing takes a staging buffer");
	}
	io->tails = tails;
	rc = make_buffers(io, buffers);
	if (rc < 0)
		np_error_sys(err, -rc, "%u staging buffers", buffers);
	else
		rc = make_engine(io, engine, buffers, err);
	if (rc < 0)
		ns_tail_io_free(io);
	else
		*ret = io;
	return rc;
}

void ns_tail_io_free(struct ns_tail_io *io)
{
	if (!io)
		return;
	while (io->under_way > 0) {
		struct pollfd event = { .fd = io->engine->event_fd, .events = POLLIN };

		(void)poll(&event, 1, 100);
		ns_tail_io_reap(io);
	}
	if (io->engine)
		io->engine->calls->free(io->engine);
	if (io->buffers)
		munmap(io->buffers, io->buffer_count * NS_TAIL_CHUNK_BYTES + NS_TAIL_UNIT_BYTES);
	free(io->unused);
	free(io);
}

enum ns_tail_engine ns_tail_io_engine(const struct ns_tail_io *io)
{
	return io->kind;
}

int ns_tail_io_fd(const struct ns_tail_io *io)
{
	return io->engine->event_fd;
}

void ns_tail_io_reap(struct ns_tail_io *io)
{
	uint64_t events;

	(void)!read(io->engine->event_fd, &events, sizeof(events));
	io->is_reaping = true;
	io->engine->calls->reap(io->engine);
	serve_waiters(io);
	io->is_reaping = false;
}

bool ns_tail_io_is_wanted(const struct ns_tail_io *io)
{
	return io->first != NULL;
}

bool ns_tail_io_is_busy(const struct ns_tail_io *io)
{
	return io->under_way > 0 || io->first;
}

void ns_io_submit(struct ns_tail_io *io, struct ns_io_op *op)
{
	op->got = 0;
	op->rc = 0;
	io->under_way++;
	io->engine->calls->submit(io->engine, op);
}

bool ns_io_op_take(struct ns_io_op *op, ssize_t result)
{
	if (result == -EINTR || result == -EAGAIN)
		return false;
	if (result < 0) {
		op->rc = result == -EDQUOT || result == -EFBIG ? -ENOSPC : (int)result;
		return true;
	}
	if (result == 0) {
		op->rc = -EIO;
		return true;
	}
	if (op->got + (size_t)result >= op->count) {
		op->got = op->count;
		return true;
	}
	/* O_DIRECT could not go on from the middle of a block: what it holds is done once more. */
	result -= result % NS_BUFFER_ALIGNMENT;
	op->got += (size_t)result;
	op->rc = result > 0 ? 0 : -EIO;
	return result == 0;
}
