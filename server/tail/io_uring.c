/* SPDX-License-Identifier: BSD-3-Clause */
#include "io_parts.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct uring {
	struct ns_engine engine;
	struct io_uring ring;
};

static struct uring *of(struct ns_engine *engine)
{
	return (struct uring *)engine;
}

/* What the kernel does not take now, for lack of memory, stays in the ring: the next reap tries again. */
static void flush(struct uring *uring)
{
	int rc;

	do
		rc = io_uring_submit(&uring->ring);
	while (rc == -EINTR);
	if (io_uring_sq_ready(&uring->ring) > 0)
		ns_engine_poke(&uring->engine);
}

static void submit(struct ns_engine *engine, struct ns_io_op *op)
{
	struct uring *uring = of(engine);
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
	unsigned count = (unsigned)(op->count - op->got);

	assert(sqe); /* each op has a buffer, and there is a place in the ring for each of them */
	if (op->is_write)
		io_uring_prep_write(sqe, op->fd, op->bytes + op->got, count, op->offset + op->got);
	else
		io_uring_prep_read(sqe, op->fd, op->bytes + op->got, count, op->offset + op->got);
	io_uring_sqe_set_data(sqe, op);
	flush(uring);
}

static void reap(struct ns_engine *engine)
{
	struct uring *uring = of(engine);
	struct io_uring_cqe *cqe;

	if (io_uring_sq_ready(&uring->ring) > 0)
		flush(uring);
	while (io_uring_peek_cqe(&uring->ring, &cqe) == 0) {
		struct ns_io_op *op = io_uring_cqe_get_data(cqe);
		ssize_t result = cqe->res;

		io_uring_cqe_seen(&uring->ring, cqe);
		if (ns_io_op_take(op, result))
			op->done(op);
		else
			submit(engine, op);
	}
}

static void end(struct ns_engine *engine)
{
	struct uring *uring = of(engine);

	io_uring_queue_exit(&uring->ring);
	close(uring->engine.event_fd);
	free(uring);
}

static const struct ns_engine_calls calls = { .submit = submit, .reap = reap, .free = end };

static int make_ring(struct uring *uring, unsigned depth)
{
	int rc = io_uring_queue_init(depth, &uring->ring, 0);

	if (rc < 0)
		return rc;
	/* Linux 5.6 has both this and plain reads; the rings before it can only be asked for readv. */
	if (uring->ring.features & IORING_FEAT_RW_CUR_POS)
		rc = io_uring_register_eventfd(&uring->ring, uring->engine.event_fd);
	else
		rc = -ENOSYS;
	if (rc < 0)
		io_uring_queue_exit(&uring->ring);
	return rc;
}

int ns_engine_create_uring(unsigned depth, struct ns_engine **ret, struct np_error *err)
{
	struct uring *uring = calloc(1, sizeof(*uring));
	int rc;

	if (!uring)
		return np_error_sys(err, ENOMEM, "io_uring");
	uring->engine.calls = &calls;
	uring->engine.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (uring->engine.event_fd < 0) {
		rc = np_error_sys(err, errno, "io_uring: eventfd");
		free(uring);
		return rc;
	}
	rc = make_ring(uring, depth);
	if (rc < 0) {
		rc = np_error_sys(err, -rc, "io_uring");
		close(uring->engine.event_fd);
		free(uring);
		return rc;
	}
	*ret = &uring->engine;
	return 0;
}
