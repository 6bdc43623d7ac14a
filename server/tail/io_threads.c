/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a ring is refused, as by containers: a few threads that wait for the disk in its stead. */
#include "io_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { THREADS = 4 };

struct list {
	struct ns_io_op *first;
	struct ns_io_op *last;
};

struct threads {
	struct ns_engine engine;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t work;
	struct list to_do;
	struct list done;
	bool is_over;
	pthread_t ids[THREADS];
	unsigned count;
};

static struct threads *of(struct ns_engine *engine)
{
	return (struct threads *)engine;
}

static void add(struct list *list, struct ns_io_op *op)
{
	op->next = NULL;
	if (list->first)
		list->last->next = op;
	else
		list->first = op;
	list->last = op;
}

static struct ns_io_op *take(struct list *list)
{
	struct ns_io_op *op = list->first;

	if (op)
		list->first = op->next;
	return op;
}

static void do_op(struct ns_io_op *op)
{
	ssize_t result;

	do {
		char *bytes = op->bytes + op->got;
		size_t count = op->count - op->got;
		off_t offset = (off_t)(op->offset + op->got);

		result = op->is_write ? pwrite(op->fd, bytes, count, offset)
		                      : pread(op->fd, bytes, count, offset);
		if (result < 0)
			result = -errno;
	} while (!ns_io_op_take(op, result));
}

static void *work(void *arg)
{
	struct threads *threads = arg;
	struct ns_io_op *op;

	pthread_mutex_lock(&threads->lock);
	for (;;) {
		while (!(op = take(&threads->to_do)) && !threads->is_over)
			pthread_cond_wait(&threads->work, &threads->lock);
		if (!op)
			break;
		pthread_mutex_unlock(&threads->lock);
		do_op(op);
		pthread_mutex_lock(&threads->lock);
		add(&threads->done, op);
		ns_engine_poke(&threads->engine);
	}
	pthread_mutex_unlock(&threads->lock);
	return NULL;
}

static void submit(struct ns_engine *engine, struct ns_io_op *op)
{
	struct threads *threads = of(engine);

	pthread_mutex_lock(&threads->lock);
	add(&threads->to_do, op);
	pthread_cond_signal(&threads->work);
	pthread_mutex_unlock(&threads->lock);
}

static void reap(struct ns_engine *engine)
{
	struct threads *threads = of(engine);
	struct list done;
	struct ns_io_op *op;

	pthread_mutex_lock(&threads->lock);
	done = threads->done;
	threads->done = (struct list){ 0 };
	pthread_mutex_unlock(&threads->lock);
	while ((op = take(&done)) != NULL)
		op->done(op);
}

static void end(struct ns_engine *engine)
{
	struct threads *threads = of(engine);

	pthread_mutex_lock(&threads->lock);
	threads->is_over = true;
	pthread_cond_broadcast(&threads->work);
	pthread_mutex_unlock(&threads->lock);
	for (unsigned i = 0; i < threads->count; i++)
		pthread_join(threads->ids[i], NULL);
	pthread_cond_destroy(&threads->work);
	pthread_mutex_destroy(&threads->lock);
	close(threads->engine.event_fd);
	free(threads);
}

static const struct ns_engine_calls calls = { .submit = submit, .reap = reap, .free = end };

/* Signals are for others. */
static int start(struct threads *threads)
{
	sigset_t all;
	sigset_t before;
	int rc = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (threads->count < THREADS && rc == 0) {
		rc = -pthread_create(&threads->ids[threads->count], NULL, work, threads);
		threads->count += rc == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return threads->count > 0 ? 0 : rc;
}

int ns_engine_create_threads(struct ns_engine **ret, struct np_error *err)
{
	struct threads *threads = calloc(1, sizeof(*threads));
	int rc;

	if (!threads)
		return np_error_sys(err, ENOMEM, "threads for storage");
	threads->engine.calls = &calls;
	threads->engine.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (threads->engine.event_fd < 0) {
		rc = np_error_sys(err, errno, "threads for storage: eventfd");
		free(threads);
		return rc;
	}
	pthread_mutex_init(&threads->lock, NULL);
	pthread_cond_init(&threads->work, NULL);
	rc = start(threads);
	if (rc < 0) {
		np_error_sys(err, -rc, "threads for storage");
		end(&threads->engine);
		return rc;
	}
	*ret = &threads->engine;
	return 0;
}
