/* SPDX-License-Identifier: BSD-3-Clause */
#include "steer.h"

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct inbox {
	alignas(64) pthread_mutex_t lock;
	struct ns_handed handed[NS_HANDED_MAX]; /* a ring */
	size_t first;
	size_t count;
	bool has_ended;
	unsigned cpu;
	int fd;
};

struct queue {
	unsigned napi_id;
	unsigned worker;
};

struct ns_steering {
	pthread_mutex_t lock; /* of queues */
	struct queue queues[NS_QUEUES_MAX];
	size_t queue_count;
	unsigned next; /* worker, for a queue whose CPU has none */
	unsigned worker_count;
	struct inbox inboxes[];
};

struct ns_steering *ns_steering_create(const unsigned *cpus, unsigned workers)
{
	size_t bytes = sizeof(struct ns_steering) + workers * sizeof(struct inbox);
	struct ns_steering *steering = aligned_alloc(alignof(struct inbox), bytes);

	if (!steering)
		return NULL;
	*steering = (struct ns_steering){ .worker_count = 0 };
	pthread_mutex_init(&steering->lock, NULL);
	for (unsigned i = 0; i < workers; i++) {
		struct inbox *inbox = &steering->inboxes[i];

		*inbox = (struct inbox){ .cpu = cpus[i] };
		inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (inbox->fd < 0) {
			ns_steering_free(steering);
			return NULL;
		}
		pthread_mutex_init(&inbox->lock, NULL);
		steering->worker_count++;
	}
	return steering;
}

void ns_steering_free(struct ns_steering *steering)
{
	struct ns_handed handed;

	if (!steering)
		return;
	for (unsigned i = 0; i < steering->worker_count; i++) {
		while (ns_steering_take(steering, i, &handed))
			close(handed.fd);
		close(steering->inboxes[i].fd);
		pthread_mutex_destroy(&steering->inboxes[i].lock);
	}
	pthread_mutex_destroy(&steering->lock);
	free(steering);
}

/* ---- whose it is ---- */

static unsigned choose(struct ns_steering *steering, unsigned cpu)
{
	for (unsigned i = 0; i < steering->worker_count; i++) {
		if (steering->inboxes[i].cpu == cpu)
			return i;
	}
	if (steering->next >= steering->worker_count)
		steering->next = 0;
	return steering->next++;
}

unsigned ns_steering_worker(struct ns_steering *steering, unsigned napi_id, unsigned cpu,
                            unsigned own)
{
	unsigned worker = own;
	size_t i;

	if (napi_id == 0)
		return own;
	pthread_mutex_lock(&steering->lock);
	for (i = 0; i < steering->queue_count && steering->queues[i].napi_id != napi_id; i++)
		;
	if (i < steering->queue_count) {
		worker = steering->queues[i].worker;
	} else if (i < NS_QUEUES_MAX) {
		worker = choose(steering, cpu);
		steering->queues[i] = (struct queue){ .napi_id = napi_id, .worker = worker };
		steering->queue_count++;
	}
	pthread_mutex_unlock(&steering->lock);
	return worker;
}

/* A number below 0 is none; so is one that the socket does not have. */
static unsigned option_of(int fd, int option, unsigned otherwise)
{
	int value = -1;
	socklen_t size = sizeof(value);

	if (getsockopt(fd, SOL_SOCKET, option, &value, &size) < 0 || value < 0)
		return otherwise;
	return (unsigned)value;
}

unsigned ns_steering_worker_of(struct ns_steering *steering, int fd, unsigned own, bool *ret_known)
{
	unsigned napi_id = option_of(fd, SO_INCOMING_NAPI_ID, 0);

	*ret_known = napi_id != 0;
	if (napi_id == 0)
		return own;
	return ns_steering_worker(steering, napi_id, option_of(fd, SO_INCOMING_CPU, UINT32_MAX),
	                          own);
}

/* ---- handing over ---- */

int ns_steering_give(struct ns_steering *steering, unsigned worker, struct ns_handed handed)
{
	struct inbox *inbox = &steering->inboxes[worker];
	const uint64_t one = 1;
	int rc = 0;

	pthread_mutex_lock(&inbox->lock);
	if (inbox->has_ended)
		rc = -EPIPE;
	else if (inbox->count == NS_HANDED_MAX)
		rc = -ENOSPC;
	else
		inbox->handed[(inbox->first + inbox->count++) % NS_HANDED_MAX] = handed;
	pthread_mutex_unlock(&inbox->lock);
	if (rc == 0)
		(void)!write(inbox->fd, &one, sizeof(one));
	return rc;
}

int ns_steering_fd(const struct ns_steering *steering, unsigned worker)
{
	return steering->inboxes[worker].fd;
}

bool ns_steering_take(struct ns_steering *steering, unsigned worker, struct ns_handed *ret)
{
	struct inbox *inbox = &steering->inboxes[worker];
	bool is_there;

	pthread_mutex_lock(&inbox->lock);
	is_there = inbox->count > 0;
	if (is_there) {
		*ret = inbox->handed[inbox->first];
		inbox->first = (inbox->first + 1) % NS_HANDED_MAX;
		inbox->count--;
	}
	pthread_mutex_unlock(&inbox->lock);
	return is_there;
}

void ns_steering_end(struct ns_steering *steering, unsigned worker)
{
	struct inbox *inbox = &steering->inboxes[worker];

	pthread_mutex_lock(&inbox->lock);
	inbox->has_ended = true;
	pthread_mutex_unlock(&inbox->lock);
}
