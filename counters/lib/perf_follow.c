/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is done about CPUs and PMUs that come and go. Drivers of boxes move their events to another
 * CPU of the die when the owner goes offline (perf_pmu_migrate_context()), which needs no help; a
 * driver that does not, and a die without CPUs, leave events behind that count no more. Those are
 * closed and opened again where the box has a CPU.
 */
#include "perf.h"
#include "perf_sys.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#define TOPOLOGY_FILE "sys/devices/system/cpu/cpu%u/topology/%s"

enum { NR, ENABLED, RUNNING, COUNTS, PATH_SIZE = 128 };

/* ---- which CPU ---- */

/* The kernel writes -1 where it does not know. */
static unsigned read_place(const struct nc_perf *perf, unsigned cpu, const char *file,
                           unsigned unknown)
{
	char path[PATH_SIZE];
	long value;

	snprintf(path, sizeof(path), TOPOLOGY_FILE, cpu, file);
	if (np_sysroot_read_long(&perf->root, path, 0, INT_MAX, &value, NULL) < 0)
		return unknown;
	return (unsigned)value;
}

static bool is_home(const struct nc_perf *perf, const struct nc_perf_group *group, unsigned cpu)
{
	return nc_perf_is_online(perf, cpu) &&
	       read_place(perf, cpu, "physical_package_id", UINT_MAX) == group->socket &&
	       read_place(perf, cpu, "die_id", 0) == group->die;
}

/* The first CPU of a set that is online and of the group's die; NP_BITMAP_END when none is. */
static unsigned find_home(const struct nc_perf *perf, const struct nc_perf_group *group,
                          const struct np_bitmap *cpus)
{
	unsigned cpu = np_bitmap_next(cpus, 0);

	while (cpu != NP_BITMAP_END && !is_home(perf, group, cpu))
		cpu = np_bitmap_next(cpus, cpu + 1);
	return cpu;
}

/* Where a group is to be opened. The kernel takes any CPU of a box's die for the owner. */
static unsigned choose_cpu(const struct nc_perf *perf, const struct nc_perf_group *group)
{
	unsigned cpu;

	if (group->pmu->pmu->is_core)
		return nc_perf_is_online(perf, group->cpu) ? group->cpu : NP_BITMAP_END;
	cpu = find_home(perf, group, &group->pmu->cpus);
	return cpu != NP_BITMAP_END ? cpu : find_home(perf, group, &perf->online);
}

/* ---- moved or stopped ---- */

static void place(struct nc_perf *perf, struct nc_perf_group *group)
{
	bool is_online = nc_perf_is_online(perf, group->cpu);
	unsigned owner = NP_BITMAP_END;

	if (is_online && (group->pmu->pmu->is_core || np_bitmap_has(&group->pmu->cpus, group->cpu)))
		return;
	if (!group->pmu->pmu->is_core)
		owner = find_home(perf, group, &group->pmu->cpus);
	if (owner != NP_BITMAP_END) {
		/* Whether the driver really moved it is seen by its time going on. */
		nc_perf_note_change(perf, group, NC_PERF_MIGRATED, group->cpu, owner);
		group->cpu = owner;
		group->once = NC_NOTE_MOVED;
	} else if (!is_online) {
		nc_perf_stop(perf, group);
	}
}

void nc_perf_place(struct nc_perf *perf)
{
	for (size_t i = 0; i < perf->group_count; i++) {
		if (perf->groups[i].fd >= 0)
			place(perf, &perf->groups[i]);
	}
}

/*
 * The last words of a counter, read by itself: it keeps them, though its group may have been taken
 * apart. A member of a group that is whole would speak for its leader instead.
 */
static void read_last(struct nc_perf *perf, struct nc_perf_group *group,
                      struct nc_perf_member *member)
{
	ssize_t n = nc_perf_sys_read(member->fd, perf->buffer, perf->buffer_bytes);
	uint64_t raw;

	if (n < (ssize_t)((COUNTS + 1) * sizeof(*perf->buffer)))
		return;
	if (member == group->members) {
		uint64_t enabled_ns = group->base_enabled_ns + perf->buffer[ENABLED];
		uint64_t running_ns = group->base_running_ns + perf->buffer[RUNNING];

		if (enabled_ns >= group->enabled_ns && running_ns >= group->running_ns) {
			group->enabled_ns = enabled_ns;
			group->running_ns = running_ns;
		}
	} else if (perf->buffer[NR] != 1) {
		return;
	}
	raw = member->base + perf->buffer[COUNTS];
	if (raw >= member->raw)
		member->raw = raw;
}

void nc_perf_stop(struct nc_perf *perf, struct nc_perf_group *group)
{
	for (size_t i = 0; i < group->count; i++)
		read_last(perf, group, &group->members[i]);
	nc_perf_group_close(group);
	perf->has_stopped = true;
}

/* ---- opened again ---- */

static void wait_for_cpu(struct nc_perf *perf, struct nc_perf_group *group)
{
	bool is_core = group->pmu->pmu->is_core;

	perf->has_waiting = true;
	if (!group->is_waiting)
		nc_perf_note_change(perf, group, is_core ? NC_PERF_PARKED : NC_PERF_OFFLINE,
		                    group->cpu, 0);
	group->is_waiting = true;
	group->state = is_core ? NC_NOTE_NONE : NC_NOTE_OFFLINE;
}

/* What a group that is open again has to tell. */
static void resume(struct nc_perf *perf, struct nc_perf_group *group, unsigned from)
{
	enum nc_perf_change change = NC_PERF_BACK;

	if (group->state == NC_NOTE_GONE)
		change = NC_PERF_RETURNED;
	else if (group->state == NC_NOTE_NONE && !group->is_waiting)
		change = NC_PERF_REOPENED;
	nc_perf_note_change(perf, group, change, from, group->cpu);

	/* Of one that was unknown nothing was counted up to now. */
	group->once = change == NC_PERF_REOPENED ? NC_NOTE_MOVED : group->state;
	group->state = NC_NOTE_NONE;
	group->is_waiting = false;
}

static void open_again(struct nc_perf *perf, struct nc_perf_group *group)
{
	unsigned from = group->cpu;
	unsigned cpu = choose_cpu(perf, group);
	int rc;

	if (cpu == NP_BITMAP_END) {
		wait_for_cpu(perf, group);
		return;
	}
	rc = nc_perf_group_open(group, perf->counters, cpu);
	if (rc < 0) {
		perf->has_waiting = true;
		if (group->state != NC_NOTE_FAILED)
			nc_perf_note_change(perf, group, NC_PERF_UNOPENED, cpu, (unsigned)-rc);
		group->state = NC_NOTE_FAILED;
		return;
	}
	resume(perf, group, from);
}

void nc_perf_follow(struct nc_perf *perf, uint64_t now_ns)
{
	perf->has_waiting = false;
	perf->retry_ns = now_ns;
	for (size_t i = 0; i < perf->pmu_count; i++) {
		if (perf->pmus[i].is_gone)
			nc_perf_watch_return(perf, &perf->pmus[i]);
	}
	for (size_t i = 0; i < perf->group_count; i++) {
		struct nc_perf_group *group = &perf->groups[i];

		if (group->pmu->is_gone)
			perf->has_waiting = true;
		else if (group->fd < 0)
			open_again(perf, group);
	}
	perf->has_stopped = false;
}
