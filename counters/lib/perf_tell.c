/* SPDX-License-Identifier: BSD-3-Clause */
/* What happened, in sentences: one for all boxes that it happened to. */
#include "perf.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_SIZE = 128 };

void nc_perf_note_change(struct nc_perf *perf, struct nc_perf_group *group,
                         enum nc_perf_change change, unsigned from, unsigned to)
{
	group->change = change;
	group->from = from;
	group->to = to;
	perf->has_changes = true;
}

/* Is the socket a part of what happened? A PMU goes on all of them. */
static bool is_of_socket(const struct nc_perf_group *group)
{
	return group->change != NC_PERF_GONE && group->change != NC_PERF_PARKED;
}

static bool is_same(const struct nc_perf_group *a, const struct nc_perf_group *b)
{
	return a->change == b->change && a->from == b->from && a->to == b->to &&
	       (!is_of_socket(a) || a->socket == b->socket);
}

/* "uncore_imc_0 and 3 more of socket 1". Forgets the others' change. */
static void label_all(struct nc_perf *perf, size_t first, char label[LABEL_SIZE])
{
	const struct nc_perf_group *group = &perf->groups[first];
	const struct nc_perf_pmu *last = group->pmu;
	char socket[32] = "";
	char more[32] = "";
	size_t others = 0;

	for (size_t i = first + 1; i < perf->group_count; i++) {
		if (!is_same(group, &perf->groups[i]))
			continue;
		if (perf->groups[i].pmu != last)
			others++;
		last = perf->groups[i].pmu;
		perf->groups[i].change = NC_PERF_SAME;
	}
	if (others > 0)
		snprintf(more, sizeof(more), " and %zu more", others);
	if (is_of_socket(group))
		snprintf(socket, sizeof(socket), " of socket %u", group->socket);
	snprintf(label, LABEL_SIZE, "%.64s%s%s", group->pmu->pmu->name, more, socket);
}

static const char *describe_error(unsigned code)
{
	const char *text = strerrordesc_np((int)code);

	return text ? text : "unknown error";
}

static void tell(struct nc_log *log, const struct nc_perf_group *group, const char *label)
{
	switch (group->change) {
	case NC_PERF_MIGRATED:
		nc_log_add(log, "%s moved from CPU %u to CPU %u", label, group->from, group->to);
		break;
	case NC_PERF_REOPENED:
		nc_log_add(log, "%s stopped counting on CPU %u: opened again on CPU %u", label,
		           group->from, group->to);
		break;
	case NC_PERF_OFFLINE:
		nc_log_add(log,
		           "%s: CPU %u went offline, and no other of its die is online: "
		           "unknown until one is",
		           label, group->from);
		break;
	case NC_PERF_PARKED:
		nc_log_add(log, "%s: CPU %u went offline: counts nothing until it is back", label,
		           group->from);
		break;
	case NC_PERF_BACK:
		nc_log_add(log, "%s counts again, on CPU %u", label, group->to);
		break;
	case NC_PERF_GONE:
		nc_log_add(log, "%s: the PMU was unregistered: unknown until it is back", label);
		break;
	case NC_PERF_RETURNED:
		nc_log_add(log, "%s: the PMU is registered again: counted on CPU %u", label,
		           group->to);
		break;
	case NC_PERF_UNREADABLE:
		nc_log_add(log, "%s: reading the counters of CPU %u failed: %s", label, group->from,
		           describe_error(group->to));
		break;
	case NC_PERF_READABLE:
		nc_log_add(log, "%s: the counters of CPU %u can be read again", label, group->from);
		break;
	case NC_PERF_UNOPENED:
		nc_log_add(log, "%s: opening the counters again on CPU %u failed: %s", label,
		           group->from, describe_error(group->to));
		break;
	case NC_PERF_SPLIT:
		nc_log_add(log,
		           "%s: its events do not fit into its counters at once, of which others "
		           "may hold some: they take turns",
		           label);
		break;
	case NC_PERF_SAME:
		break;
	}
}

void nc_perf_tell(struct nc_perf *perf)
{
	char label[LABEL_SIZE];

	for (size_t i = 0; i < perf->group_count; i++) {
		struct nc_perf_group *group = &perf->groups[i];

		if (group->change == NC_PERF_SAME)
			continue;
		label_all(perf, i, label);
		tell(perf->log, group, label);
		group->change = NC_PERF_SAME;
	}
	perf->has_changes = false;
}
