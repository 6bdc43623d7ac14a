/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deadlines of connections. All in one list are equally long, so that the list is in order by itself and setting one
 * costs a few pointers. A worker has one list for each kind of waiting.
 */
#ifndef NS_TIMERS_H
#define NS_TIMERS_H

#include <stdint.h>

struct ns_deadline {
	struct ns_deadline *next; /* NULL in no list */
	struct ns_deadline *previous;
	int64_t at_ns; /* CLOCK_MONOTONIC */
};

struct ns_deadlines {
	struct ns_deadline ends; /* of the ring */
	int64_t after_ns;        /* 0 = never */
};

void ns_deadlines_init(struct ns_deadlines *list, int64_t after_ns);

/* Into that list, from whatever list it is in. */
void ns_deadline_set(struct ns_deadlines *list, struct ns_deadline *deadline, int64_t now_ns);
void ns_deadline_clear(struct ns_deadline *deadline);

/* When the first one is due; INT64_MAX: never. */
int64_t ns_deadlines_first_ns(const struct ns_deadlines *list);
/* The first one, if it is due; NULL: none is. */
struct ns_deadline *ns_deadlines_due(const struct ns_deadlines *list, int64_t now_ns);

#endif
