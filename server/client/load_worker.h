/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread of a load: its connections, when it sends what on which, and what it counts.
 */
#ifndef NL_LOAD_WORKER_H
#define NL_LOAD_WORKER_H

#include "load_connection.h"
#include "load_result.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdalign.h>
#include <stdatomic.h>

/* What all threads of a load know. */
struct nl_load_shared {
	const struct nl_load_plan *plan;
	sem_t ready; /* each thread posts it, whatever came of its preparations, */
	sem_t go;    /* and waits for this one, which is posted once the times below are set */
	uint64_t start_ns; /* the warm-up's, CLOCK_MONOTONIC as all times here */
	uint64_t begin_ns; /* what is sent from then on counts */
	uint64_t end_ns;   /* nothing is sent from then on; UINT64_MAX = until so many requests */
	atomic_bool stops; /* at once: a thread failed, or a signal came */
	int done_fd;       /* an eventfd: gains 1 by each thread that has ended */
};

/* Written by the thread, read by others at any time. */
struct nl_load_live {
	_Atomic uint64_t replies;
	_Atomic uint64_t bytes;
	_Atomic uint64_t latency_ns; /* of all replies together */
	_Atomic uint64_t behind_ns;  /* open loop: for how long the next request has been due */
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): cache lines of their own, on purpose
struct nl_load_worker {
	alignas(64) struct nl_load_live live;
	alignas(64) struct nl_load_shared *shared;
	unsigned index;
	pthread_t thread;

	struct nl_load_io io;
	struct nl_load_connection *connections;
	unsigned connection_count;
	char *held; /* NL_HEAD_MAX bytes of each connection */

	struct np_rng rng;
	struct nl_schedule schedule;           /* open loop */
	struct nl_load_connection *idle_first; /* open loop: longest idle first */
	struct nl_load_connection *idle_last;

	uint64_t quota;   /* of counted requests; UINT64_MAX = none */
	uint64_t counted; /* that were sent */
	unsigned outstanding;
	uint64_t now_ns;           /* the last look at the clock */
	uint64_t last_event_ns;    /* when the last replies came */
	uint64_t next_look_ns;     /* for a stop */
	uint64_t next_deadline_ns; /* for requests that take too long */
	bool stops;
	bool lacks_pwait2; /* the kernel: before 5.11 */

	struct nl_load_tally tally;
	uint64_t failed_ns; /* 0 = it did not */
	struct np_error err;
};

/*
 * A thread's function, whose argument is a struct nl_load_worker with shared and index set. Everything
 * that it needs is made by the thread itself, once it is on its CPU, so that its memory is there.
 */
void *nl_load_worker_run(void *worker_data);

/* After the thread has been joined. */
void nl_load_worker_release(struct nl_load_worker *worker);

#endif
