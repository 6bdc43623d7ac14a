/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that promotes. */
#ifndef NS_PROMOTE_THREAD_H
#define NS_PROMOTE_THREAD_H

#include "store.h"

struct ns_promotion; /* opaque */

struct ns_promotion_setup {
	struct ns_store *store;
	const struct ns_config *config;
	unsigned node;                /* where the server works */
	const struct np_bitmap *cpus; /* where it may run */
	int stop_fd;                  /* readable once it is to stop */
};

/*
 * Starts it, nicer than the workers; *ret is NULL when there is nothing to promote: one arena alone, or
 * promotion is off. ns_promotion_end() waits for it to have seen that it is to stop, and accepts NULL.
 *
 *   -ENOMEM, -EAGAIN
 *   -EINVAL, -EPERM  the CPUs are refused
 */
int ns_promotion_start(const struct ns_promotion_setup *setup, struct ns_promotion **ret,
                       struct np_error *err);
void ns_promotion_end(struct ns_promotion *promotion);

#endif
