/* SPDX-License-Identifier: BSD-3-Clause */
#include "promote_thread.h"

#include "promote.h"

#include <errno.h>
#include <numarun/apply.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/*
 * A worker that wakes goes first. Not SCHED_IDLE, as who is stopped with a bucket's lock has to go on soon.
 */
enum { NICE = 10 };

struct ns_promotion {
	struct ns_promoter *promoter;
	int stop_fd;
	pthread_t id;
};

/* Returns whether it is time to stop. */
static bool wait_for_stop(struct ns_promotion *promotion, int64_t sleep_ns)
{
	const struct timespec timeout = { .tv_sec = sleep_ns / 1000000000,
		                          .tv_nsec = sleep_ns % 1000000000 };
	struct pollfd stop = { .fd = promotion->stop_fd, .events = POLLIN };
	int found;

	if (sleep_ns > 0)
		ns_promoter_go(promotion->promoter);
	found = ppoll(&stop, 1, &timeout, NULL);
	if (sleep_ns > 0)
		ns_promoter_come(promotion->promoter);
	return found > 0;
}

static void *work(void *arg)
{
	struct ns_promotion *promotion = arg;

	/* Either is for looks and manners: it works without. */
	(void)pthread_setname_np(pthread_self(), "ns-promotion");
	(void)!nice(NICE); /* Linux: of this thread */
	ns_promoter_come(promotion->promoter);
	while (!wait_for_stop(promotion, ns_promoter_turn(promotion->promoter)))
		;
	return NULL;
}

/* A thread begins with the CPUs of who creates it. */
static int create_there(struct ns_promotion *promotion, const struct np_bitmap *cpus,
                        struct np_error *err)
{
	struct np_bitmap before = { 0 };
	int rc = nr_affinity_get(&before, err);

	if (rc == 0)
		rc = nr_affinity_set(cpus, err);
	if (rc == 0) {
		rc = -pthread_create(&promotion->id, NULL, work, promotion);
		if (rc < 0)
			np_error_sys(err, -rc, "thread of promotion");
	}
	if (!np_bitmap_is_empty(&before))
		(void)nr_affinity_set(&before, NULL);
	np_bitmap_release(&before);
	return rc;
}

int ns_promotion_start(const struct ns_promotion_setup *setup, struct ns_promotion **ret,
                       struct np_error *err)
{
	struct ns_promotion *promotion;
	int rc;

	*ret = NULL;
	if (setup->config->no_promotion || ns_store_arena_count(setup->store) < 2)
		return 0;
	promotion = calloc(1, sizeof(*promotion));
	if (promotion == NULL)
		return np_error_set(err, ENOMEM, "no memory for promotion");
	promotion->stop_fd = setup->stop_fd;
	promotion->promoter =
		ns_promoter_create(setup->store, setup->node, setup->config->promotion_rate);
	if (promotion->promoter == NULL) {
		free(promotion);
		return np_error_set(err, ENOMEM, "no memory for promotion");
	}
	/* It is here from its first turn on. */
	ns_promoter_go(promotion->promoter);
	rc = create_there(promotion, setup->cpus, err);
	if (rc == 0) {
		*ret = promotion;
		return 0;
	}
	ns_promoter_free(promotion->promoter);
	free(promotion);
	return rc;
}

void ns_promotion_end(struct ns_promotion *promotion)
{
	if (promotion == NULL)
		return;
	pthread_join(promotion->id, NULL);
	ns_promoter_free(promotion->promoter);
	free(promotion);
}
