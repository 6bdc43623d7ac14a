/* SPDX-License-Identifier: BSD-3-Clause */
#include "timers.h"

#include <stddef.h>

void ns_deadlines_init(struct ns_deadlines *list, int64_t after_ns)
{
	list->ends.next = &list->ends;
	list->ends.previous = &list->ends;
	list->after_ns = after_ns;
}

void ns_deadline_clear(struct ns_deadline *deadline)
{
	if (!deadline->next)
		return;
	deadline->previous->next = deadline->next;
	deadline->next->previous = deadline->previous;
	deadline->next = NULL;
}

void ns_deadline_set(struct ns_deadlines *list, struct ns_deadline *deadline, int64_t now_ns)
{
	ns_deadline_clear(deadline);
	if (list->after_ns == 0)
		return;
	deadline->at_ns = now_ns + list->after_ns;
	deadline->next = &list->ends;
	deadline->previous = list->ends.previous;
	deadline->previous->next = deadline;
	list->ends.previous = deadline;
}

int64_t ns_deadlines_first_ns(const struct ns_deadlines *list)
{
	return list->ends.next == &list->ends ? INT64_MAX : list->ends.next->at_ns;
}

struct ns_deadline *ns_deadlines_due(const struct ns_deadlines *list, int64_t now_ns)
{
	return ns_deadlines_first_ns(list) <= now_ns ? list->ends.next : NULL;
}
