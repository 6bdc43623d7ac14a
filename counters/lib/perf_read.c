/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One interval. This is the path that costs: a read(2) for each group, a glance at the files that
 * tell of changes, and nothing else as long as nothing happens.
 */
#include "perf.h"
#include "perf_sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The words of one read(2), PERF_FORMAT_GROUP with both times (perf_event_open(2)). */
enum { NR, ENABLED, RUNNING, COUNTS };

/* Two readings closer than this prove nothing about a clock that stands still. */
#define STALL_NS UINT64_C(1000000)

/* How often those that wait for a CPU or a PMU are tried again. */
#define RETRY_NS UINT64_C(1000000000)

static void take_words(struct nc_perf *perf, struct nc_perf_group *group, const uint64_t *words)
{
	uint64_t before_ns = group->running_ns;

	group->enabled_ns = group->base_enabled_ns + words[ENABLED];
	group->running_ns = group->base_running_ns + words[RUNNING];
	for (size_t i = 0; i < group->count; i++)
		group->members[i].raw = group->members[i].base + words[COUNTS + i];
	nc_perf_count_busy(perf, group, group->running_ns > before_ns);
}

static void set_readable(struct nc_perf *perf, struct nc_perf_group *group, int code)
{
	if (code == 0 && group->state == NC_NOTE_FAILED)
		nc_perf_note_change(perf, group, NC_PERF_READABLE, group->cpu, 0);
	if (code != 0 && group->state != NC_NOTE_FAILED)
		nc_perf_note_change(perf, group, NC_PERF_UNREADABLE, group->cpu, (unsigned)code);
	group->state = code ? NC_NOTE_FAILED : NC_NOTE_NONE;
}

/*
 * A CPU that goes offline takes its events with it, but for those that the driver moves: groups are
 * taken apart, so that a read gives fewer counts, and their time stands still.
 */
static bool stands_still(const struct nc_perf *perf, const struct nc_perf_group *group,
                         uint64_t now_ns)
{
	return group->base_enabled_ns + perf->buffer[ENABLED] == group->enabled_ns &&
	       now_ns - perf->read_ns >= STALL_NS;
}

static void read_group(struct nc_perf *perf, struct nc_perf_group *group, uint64_t now_ns)
{
	ssize_t wanted = (ssize_t)((COUNTS + group->count) * sizeof(*perf->buffer));
	ssize_t n = nc_perf_sys_read(group->fd, perf->buffer, perf->buffer_bytes);

	/* 0 is the end of the file: the kernel has put the event into an error state. */
	if (n <= 0) {
		set_readable(perf, group, n < 0 ? (int)-n : ENODATA);
		return;
	}
	if (n != wanted || perf->buffer[NR] != group->count || stands_still(perf, group, now_ns)) {
		nc_perf_stop(perf, group);
		return;
	}
	set_readable(perf, group, 0);
	take_words(perf, group, perf->buffer);
}

/* An offline CPU runs nothing: what it counts is 0, and known, for as long as it is offline. */
static void pass_time(const struct nc_perf *perf, struct nc_perf_group *group, uint64_t now_ns)
{
	uint64_t until_ns = group->told_enabled_ns + (now_ns - perf->read_ns);
	uint64_t rest_ns = until_ns > group->enabled_ns ? until_ns - group->enabled_ns : 0;

	group->enabled_ns += rest_ns;
	group->running_ns += rest_ns;
}

static void hand_out(const struct nc_perf *perf, struct nc_perf_group *group, uint64_t now_ns,
                     struct nc_reading *readings)
{
	enum nc_note note = group->once ? group->once : group->state;

	if (group->fd < 0 && note == NC_NOTE_NONE)
		pass_time(perf, group, now_ns);
	for (size_t i = 0; i < group->count; i++)
		readings[group->members[i].counter] = (struct nc_reading){
			.raw = group->members[i].raw,
			.enabled_ns = group->enabled_ns,
			.running_ns = group->running_ns,
			.note = note,
		};
	group->told_enabled_ns = group->enabled_ns;
	group->once = NC_NOTE_NONE;
}

static bool is_all_gone(const struct nc_perf *perf)
{
	size_t i = 0;

	while (i < perf->group_count && perf->groups[i].state == NC_NOTE_GONE)
		i++;
	return i == perf->group_count;
}

int nc_perf_read(struct nc_backend *backend, uint64_t now_ns, struct nc_reading *readings,
                 struct np_error *err)
{
	struct nc_perf *perf = (struct nc_perf *)backend;

	nc_perf_watch(perf);
	if (perf->has_moved)
		nc_perf_place(perf);
	for (size_t i = 0; i < perf->group_count; i++) {
		if (perf->groups[i].fd >= 0)
			read_group(perf, &perf->groups[i], now_ns);
	}
	if (perf->has_stopped ||
	    (perf->has_waiting && (perf->has_moved || now_ns - perf->retry_ns >= RETRY_NS)))
		nc_perf_follow(perf, now_ns);
	perf->has_moved = false;

	for (size_t i = 0; i < perf->counters->count; i++) {
		if (perf->codes[i])
			readings[i] = (struct nc_reading){ .note = NC_NOTE_FAILED };
	}
	for (size_t i = 0; i < perf->group_count; i++)
		hand_out(perf, &perf->groups[i], now_ns, readings);
	perf->read_ns = now_ns;
	if (perf->has_busy)
		nc_perf_split_busy(perf);
	if (perf->has_changes)
		nc_perf_tell(perf);
	if (perf->has_waiting && is_all_gone(perf))
		return np_error_set(err, ENODATA,
		                    "%s: the PMU was unregistered, and no other is left to read",
		                    perf->groups[0].pmu->pmu->name);
	return 0;
}

void nc_perf_close(struct nc_backend *backend)
{
	struct nc_perf *perf = (struct nc_perf *)backend;

	for (size_t i = 0; i < perf->member_count; i++) {
		if (perf->members[i].fd >= 0)
			close(perf->members[i].fd);
	}
	for (size_t i = 0; i < perf->left_count; i++)
		close(perf->left[i]);
	nc_perf_watch_end(perf);
	np_sysroot_close(&perf->root);
	free(perf->left);
	free(perf->pmus);
	free(perf->groups);
	free(perf->members);
	free(perf->codes);
	free(perf->buffer);
	free(perf);
}
