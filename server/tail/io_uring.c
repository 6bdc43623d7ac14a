/* SPDX-License-Identifier: BSD-3-Clause */
#include "io_parts.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct uring {
	struct ns_engine engine;
	struct io_uring ring;
	struct ns_io_op *failed; /* to be told of by the next reap */
};

static struct uring *of(struct ns_engine *engine)
{
	return (struct uring *)engine;
}

static void fail(struct uring *uring, struct ns_io_op *op, int rc)
{
	const uint64_t one = 1;

	op->rc = rc;
	op->next = uring->failed;
	uring->failed = op;
	(void)!write(uring->engine.event_fd, &one, sizeof(one));
}

/* There is a place in the ring for each op that can be. */
static void submit(struct ns_engine *engine, struct ns_io_op *op)
{
	struct uring *uring = of(engine);
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
	unsigned count = (unsigned)(op->count - op->got);
	int rc;

	if (!sqe) {
		fail(uring, op, -EIO);
		return;
	}
	if (op->is_write)
		io_uring_prep_write(sqe, op->fd, op->bytes + op->got, count, op->offset + op->got);
	else
		io_uring_prep_read(sqe, op->fd, op->bytes + op->got, count, op->offset + op->got);
	io_uring_sqe_set_data(sqe, op);
	do
		rc = io_uring_submit(&uring->ring);
	while (rc == -EINTR || rc == -EAGAIN || rc == -EBUSY);
}

static void reap_failed(struct uring *uring)
{
	struct ns_io_op *op = uring->failed;
	struct ns_io_op *next;

	uring->failed = NULL;
	for (; op; op = next) {
		next = op->next;
		op->done(op);
	}
}

static void reap(struct ns_engine *engine)
{
	struct uring *uring = of(engine);
	struct io_uring_cqe *cqe;

	reap_failed(uring);
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
	rc = io_uring_queue_init(depth, &uring->ring, 0);
	if (rc == 0) {
		rc = io_uring_register_eventfd(&uring->ring, uring->engine.event_fd);
		if (rc < 0)
			io_uring_queue_exit(&uring->ring);
	}
	if (rc < 0) {
		rc = np_error_sys(err, -rc, "io_uring");
		close(uring->engine.event_fd);
		free(uring);
		return rc;
	}
	*ret = &uring->engine;
	return 0;
}
