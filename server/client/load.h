/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks a server by many connections and threads, in a closed or an open loop, and counts how long
 * replies take. The clock is CLOCK_MONOTONIC, by which epoll's timers run too.
 */
#ifndef NL_LOAD_H
#define NL_LOAD_H

#include "load_result.h"

#include <signal.h>

/* Where it is, by counts since the start. */
struct nl_load_moment {
	uint64_t elapsed_ns; /* since the start of the warm-up */
	bool is_warm_up;
	uint64_t replies;
	uint64_t bytes;
	uint64_t latency_ns; /* of all replies together */
	uint64_t behind_ns; /* open loop: how long the oldest request has been waiting to be sent */
};

/* Called now and then, at least 5 times a second, by the thread that called nl_load_run(). */
typedef void nl_load_watch(void *data, const struct nl_load_moment *moment);

/*
 * Runs until the plan is done, something fails, or *stop is not 0. What was counted until a failure or
 * a stop is a result too, that is not complete. The caller ends *ret with nl_load_result_release().
 *
 *   -EMFILE    fewer files may be open than there are connections
 *   -EXDEV     a thread could not be kept on its CPU
 *   -ENOMEM; of pthread_create(3), and as nl_connection_open(), before anything was sent
 */
int nl_load_run(const struct nl_load_plan *plan, const volatile sig_atomic_t *stop,
                nl_load_watch *watch, void *data, struct nl_load_result *ret, struct np_error *err);

#endif
