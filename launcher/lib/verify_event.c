/* SPDX-License-Identifier: BSD-3-Clause */
#include "../../probe/base/clock.h"
#include "verify_parts.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

const char *nr_item_name(enum nr_item item)
{
	static const char *const names[] = {
		[NR_ITEM_CPUS] = "cpus",
		[NR_ITEM_POLICY] = "policy",
		[NR_ITEM_PAGES] = "pages",
	};

	return names[item];
}

const char *nr_change_name(enum nr_change change)
{
	static const char *const names[] = {
		[NR_CHANGE_LOST] = "lost",
		[NR_CHANGE_NARROWED] = "narrowed",
		[NR_CHANGE_BACK] = "back",
		[NR_CHANGE_REPINNED] = "repinned",
	};

	return names[change];
}

const char *nr_cause_name(enum nr_cause cause)
{
	static const char *const names[] = {
		[NR_CAUSE_NONE] = "none",
		[NR_CAUSE_OFFLINE] = "offline",
		[NR_CAUSE_CPUSET] = "cpuset",
		[NR_CAUSE_OWN] = "own",
	};

	return names[cause];
}

/* ---- events ---- */

/* Room for one more event: the array grows, and when it is full forgets its older half. */
static int make_room(struct nr_verification *v)
{
	struct nr_verify_state *state = v->state;
	size_t room = state->event_room ? 2 * state->event_room : 16;
	struct nr_event *grown;

	if (v->event_count < state->event_room)
		return 0;
	if (v->event_count == NR_EVENTS_MAX) {
		size_t kept = NR_EVENTS_MAX / 2;

		memmove(v->events, v->events + v->event_count - kept, kept * sizeof(*v->events));
		v->events_dropped += v->event_count - kept;
		v->event_count = kept;
		return 0;
	}
	room = room < NR_EVENTS_MAX ? room : NR_EVENTS_MAX;
	grown = realloc(v->events, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	v->events = grown;
	state->event_room = room;
	return 0;
}

/*
 * A process has the name of the one that started it until it runs a program of its own, which may be after it
 * was first seen.
 */
static void name_now(const struct nr_verification *v, const struct nr_thread *thread, char *buf,
                     unsigned size)
{
	nr_tasks_name(&v->state->root, thread->thread, buf, size);
	if (strcmp(buf, "?") == 0) /* it has ended */
		snprintf(buf, size, "%s", thread->name);
}

/* A new event, to be completed; NULL when memory ran out. */
static struct nr_event *add_event(struct nr_verification *v, enum nr_change change,
                                  enum nr_item item, const struct nr_thread *thread)
{
	struct nr_event *event;

	v->was_lost = v->was_lost || change == NR_CHANGE_LOST;
	if (make_room(v) < 0) {
		v->events_dropped++;
		return NULL;
	}
	event = &v->events[v->event_count++];
	*event = (struct nr_event){
		.change = change,
		.item = item,
		.time_ns = np_time_ns(),
		.after_ns = np_now_ns() - v->begin_ns,
	};
	if (thread) {
		event->thread = thread->thread;
		name_now(v, thread, event->name, sizeof(event->name));
	}
	return event;
}

static void set_cause(struct nr_event *event, const struct nr_available *available)
{
	event->cause = available->cause;
	memcpy(event->detail, available->detail, sizeof(event->detail));
}

void nr_event_add_cpus(struct nr_verification *v, enum nr_change change,
                       const struct nr_thread *thread, const struct np_bitmap *kernel)
{
	struct nr_event *event = add_event(v, change, NR_ITEM_CPUS, thread);

	if (!event)
		return;
	np_cpulist_brief(&v->cpus, event->asked, sizeof(event->asked));
	np_cpulist_brief(kernel, event->kernel, sizeof(event->kernel));
	if (change == NR_CHANGE_LOST || change == NR_CHANGE_NARROWED)
		set_cause(event, &v->state->available);
}

void nr_event_add_policy(struct nr_verification *v, enum nr_change change,
                         const struct nr_thread *thread, const char *kernel)
{
	struct nr_event *event = add_event(v, change, NR_ITEM_POLICY, thread);
	struct nr_available available = { 0 };
	char *asked = nr_policy_print(&v->policy);

	if (event) {
		np_error_quote(asked ? asked : "?", event->asked, sizeof(event->asked));
		np_error_quote(kernel, event->kernel, sizeof(event->kernel));
	}
	if (event && change == NR_CHANGE_LOST) {
		nr_cause_of_policy(&v->state->root, thread->process, &v->policy.nodes, &available);
		set_cause(event, &available);
	}
	free(asked);
}

void nr_event_add_pages(struct nr_verification *v, enum nr_change change)
{
	struct nr_event *event = add_event(v, change, NR_ITEM_PAGES, NULL);

	if (!event)
		return;
	np_cpulist_brief(&v->policy.nodes, event->asked, sizeof(event->asked));
	snprintf(event->kernel, sizeof(event->kernel), "%llu of %llu KiB on other nodes",
	         (unsigned long long)v->pages.outside_bytes >> 10,
	         (unsigned long long)v->pages.judged_bytes >> 10);
}
