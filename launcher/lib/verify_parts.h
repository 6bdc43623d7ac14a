/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the verification share: its state, and the events.
 */
#ifndef NR_VERIFY_PARTS_H
#define NR_VERIFY_PARTS_H

#include "cause.h"
#include "tasks.h"

#include <numarun/verify.h>

enum {
	NR_VERIFY_MASK_WORDS = (NP_BITMAP_INDEX_MAX + 1) / 64,
	/* Longer than any policy but one of hundreds of scattered nodes. */
	NR_VERIFY_POLICY_SIZE = 256,
};

struct nr_verify_state {
	struct np_sysroot root;
	struct nr_task_list family;
	struct nr_task_list thread_ids; /* of the process being looked at */
	unsigned long last_pid;         /* the host's newest when all threads had been asked */
	unsigned long round_pid;        /* the same when this round of turns began */
	struct nr_turn turn;
	size_t thread_room;
	size_t event_room;
	pid_t adopter; /* 0 = none */
	const char *mark;
	char good_policy
		[NR_VERIFY_POLICY_SIZE]; /* the kernel's words for what was asked, once seen */

	/* What the process being looked at could have; looked up when first needed. */
	pid_t available_of;
	struct nr_available available;

	uint64_t mask[NR_VERIFY_MASK_WORDS];
};

/* Append an event; one that finds no memory is counted as dropped. */
void nr_event_add_cpus(struct nr_verification *v, enum nr_change change,
                       const struct nr_thread *thread, const struct np_bitmap *kernel);
void nr_event_add_policy(struct nr_verification *v, enum nr_change change,
                         const struct nr_thread *thread, const char *kernel);
void nr_event_add_pages(struct nr_verification *v, enum nr_change change);

#endif
