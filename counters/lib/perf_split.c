/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel schedules a group as a whole or not at all. Where somebody else holds some of a box's
 * counters for good, or a driver has fewer than it lets groups have, a group of ours would never
 * run; its members, one by one, take turns. What is lost is that they are of one instant.
 */
#include "perf.h"
#include "perf_sys.h"

#include <time.h>

/* Two turns, as perf_event_mux_interval_ms is 4 ms for most PMUs. */
#define TURN_NS UINT64_C(8000000)

/* Readings in a row in which a group never ran, before it is split. */
enum { BUSY_READINGS = 2 };

#define NS_PER_S UINT64_C(1000000000)

enum { NR, ENABLED, RUNNING };

/* Opens a part of a group that is closed. The times and counts go on. */
static void open_part(struct nc_perf *perf, struct nc_perf_group *part)
{
	int rc = nc_perf_group_open(part, perf->counters, part->cpu);

	if (rc == 0)
		return;
	perf->has_waiting = true;
	part->state = NC_NOTE_FAILED;
	nc_perf_note_change(perf, part, NC_PERF_UNOPENED, part->cpu, (unsigned)-rc);
}

static void split(struct nc_perf *perf, struct nc_perf_group *group)
{
	size_t count = group->count;

	nc_perf_group_close(group);
	group->count = 1;
	group->busy_readings = 0;
	nc_perf_note_change(perf, group, NC_PERF_SPLIT, group->cpu, 0);
	open_part(perf, group);
	for (size_t i = 1; i < count; i++) {
		struct nc_perf_group *part = &perf->groups[perf->group_count++];

		*part = *group;
		part->fd = -1;
		part->members = group->members + i;
		part->change = NC_PERF_SAME;
		open_part(perf, part);
	}
}

/* In which each group of the same box, ours at least, must have had its turn. */
static uint64_t find_patience_ns(const struct nc_perf *perf, const struct nc_perf_group *group)
{
	uint64_t turns = 2;

	for (size_t i = 0; i < perf->group_count; i++)
		turns += perf->groups[i].pmu == group->pmu && perf->groups[i].cpu == group->cpu;
	return turns * TURN_NS;
}

void nc_perf_split_busy(struct nc_perf *perf)
{
	size_t count = perf->group_count;

	for (size_t i = 0; i < count; i++) {
		struct nc_perf_group *group = &perf->groups[i];

		if (group->fd >= 0 && group->count > 1 && group->busy_readings >= BUSY_READINGS &&
		    group->enabled_ns - group->ran_enabled_ns >= find_patience_ns(perf, group))
			split(perf, group);
	}
	perf->has_busy = false;
}

void nc_perf_count_busy(struct nc_perf *perf, struct nc_perf_group *group, bool has_run)
{
	if (has_run || group->count == 1) {
		group->busy_readings = 0;
		group->ran_enabled_ns = group->enabled_ns;
		return;
	}
	group->busy_readings++;
	perf->has_busy |= group->busy_readings >= BUSY_READINGS;
}

static bool has_run(const struct nc_perf *perf, const struct nc_perf_group *group)
{
	ssize_t n = nc_perf_sys_read(group->fd, perf->buffer, perf->buffer_bytes);

	return n < (ssize_t)((RUNNING + 1) * sizeof(*perf->buffer)) || perf->buffer[RUNNING] > 0;
}

void nc_perf_settle(struct nc_perf *perf)
{
	size_t count = perf->group_count;
	uint64_t patience_ns = 0;

	for (size_t i = 0; i < count; i++) {
		const struct nc_perf_group *group = &perf->groups[i];

		if (group->count > 1 && !has_run(perf, group) &&
		    find_patience_ns(perf, group) > patience_ns)
			patience_ns = find_patience_ns(perf, group);
	}
	if (patience_ns == 0)
		return;
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(patience_ns / NS_PER_S),
	                              .tv_nsec = (long)(patience_ns % NS_PER_S) },
	          NULL);
	for (size_t i = 0; i < count; i++) {
		struct nc_perf_group *group = &perf->groups[i];

		if (group->count > 1 && !has_run(perf, group))
			split(perf, group);
	}
	if (perf->has_changes)
		nc_perf_tell(perf);
}
