/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether it pays to poll before sleeping. Where peers answer at once it does. Where they are slow, or need the very
 * CPU that polling keeps from them, it is in vain: each such time doubles what must come soon by itself before it is
 * tried again, and as many successes halve that. Pure.
 */
#ifndef NS_POLL_H
#define NS_POLL_H

#include <stdbool.h>

enum { NS_POLL_DOUBT_MAX = 10 };

/* Zero-initialised it has seen nothing, and does not pay. */
struct ns_poll {
	unsigned doubt;  /* 2^doubt in time, one after the other, are needed */
	unsigned soon;   /* that came in time while asleep, since the last one that did not */
	unsigned caught; /* by polling, since doubt changed */
};

static inline bool ns_poll_pays(const struct ns_poll *poll)
{
	return poll->soon >> poll->doubt > 0;
}

/* It slept; what woke it came soon enough that polling would have caught it. */
static inline void ns_poll_slept(struct ns_poll *poll, bool was_soon)
{
	if (!was_soon)
		poll->soon = 0;
	else if (poll->soon < 1U << NS_POLL_DOUBT_MAX)
		poll->soon++;
}

/* It polled, and something came, or it was in vain. */
static inline void ns_poll_ended(struct ns_poll *poll, bool has_caught)
{
	if (!has_caught) {
		poll->soon = 0;
		poll->caught = 0;
		if (poll->doubt < NS_POLL_DOUBT_MAX)
			poll->doubt++;
		return;
	}
	if (poll->doubt == 0)
		return;
	poll->caught++;
	if (poll->caught >> poll->doubt > 0) {
		poll->caught = 0;
		poll->doubt--;
	}
}

#endif
