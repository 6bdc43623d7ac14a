/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that are opened with perf_event_open(2): the parts of this backend. Opening stands in
 * perf_open.c, the reading of an interval in perf_read.c, CPUs and PMUs that come and go in
 * perf_watch.c (what changed?) and perf_follow.c (what is to be done about it), groups that do not
 * fit into a box in perf_split.c.
 */
#ifndef NC_PERF_H
#define NC_PERF_H

#include "../../probe/base/sysroot.h"
#include "backend.h"

/* A file of sysfs that is kept open, and what it said last. */
struct nc_watch {
	int fd; /* -1 = there is none, and nothing is known to change */
	char *text;
	size_t size;
};

struct nc_perf_pmu {
	const struct nc_pmu *pmu;
	uint32_t type; /* a new one after the PMU was registered again */
	/* Its cpumask; its type file, where it counts by CPU. Tells when the PMU goes, too. */
	struct nc_watch file;
	struct np_bitmap cpus; /* the mask now; empty where it counts by CPU */
	bool is_gone;
};

/* What happened to a group and is not told yet. */
enum nc_perf_change {
	NC_PERF_SAME,
	NC_PERF_MIGRATED,
	NC_PERF_REOPENED,
	NC_PERF_OFFLINE,
	NC_PERF_PARKED,
	NC_PERF_BACK,
	NC_PERF_GONE,
	NC_PERF_RETURNED,
	NC_PERF_UNREADABLE,
	NC_PERF_READABLE,
	NC_PERF_UNOPENED,
	NC_PERF_SPLIT
};

struct nc_perf_member {
	size_t counter; /* in the list that was given */
	int fd;
	uint64_t base; /* what was counted by files that are closed */
	uint64_t raw;  /* as last read, with the base */
};

/* Counters that are read by one read(2), at one instant. */
struct nc_perf_group {
	struct nc_perf_pmu *pmu;
	struct nc_perf_member *members;
	size_t count;
	int fd; /* of the first member, which leads; -1 = not open */
	unsigned socket, die;
	unsigned cpu; /* whose it is now */

	uint64_t base_enabled_ns, base_running_ns;
	uint64_t enabled_ns, running_ns; /* as last read, with the base */
	uint64_t told_enabled_ns;        /* as last handed out */

	enum nc_note state;      /* NONE, OFFLINE, GONE or FAILED */
	enum nc_note once;       /* for the next reading alone; NONE = @state */
	unsigned busy_readings;  /* in a row, in which it never ran */
	uint64_t ran_enabled_ns; /* @enabled_ns when it was last seen to run */
	bool is_waiting;         /* for a CPU of its die, or for its own, to be online */

	enum nc_perf_change change;
	unsigned from, to; /* CPUs; of UNREADABLE and UNOPENED, @to is the errno */
};

struct nc_perf {
	struct nc_backend backend; /* the first */
	struct np_sysroot root;
	const struct nc_host *host;
	const struct nc_counters *counters;
	struct nc_log *log;

	struct nc_perf_member *members; /* of all groups, one after another */
	size_t member_count;
	struct nc_perf_group *groups;
	size_t group_count;
	struct nc_perf_pmu *pmus;
	size_t pmu_count;

	int *codes; /* for each counter the errno of the open that refused it; 0 = it is in a group */

	struct nc_watch online_file;
	struct np_bitmap online; /* empty = the root does not tell */

	uint64_t *buffer; /* for one read(2) of the largest group */
	size_t buffer_bytes;

	uint64_t read_ns;  /* when the groups were last read */
	uint64_t retry_ns; /* when those that wait were last tried */
	bool has_moved;    /* a mask or the online CPUs changed since the last look */
	bool has_stopped;  /* a group stopped since then */
	bool has_waiting;  /* a group is not open */
	bool has_busy;     /* a group is to be split */
	bool has_changes;  /* a group has a @change to tell */

	/*
	 * Files of PMUs that were unregistered. Before Linux 6.15 the kernel frees what read(2) and
	 * close(2) of them use, so they are left alone until the end.
	 */
	int *left;
	size_t left_count;
};

/* ---- perf_open.c ---- */

/* nc_perf_open() over any root, "/" being NULL; @host serves the explanation of errors alone. */
int nc_perf_open_root(const char *root, const struct nc_host *host,
                      const struct nc_counters *counters, struct nc_log *log,
                      struct nc_backend **ret, struct np_error *err);

/* Opens a group that is closed, on that CPU; the counts go on from what they are. 0 or -errno. */
int nc_perf_group_open(struct nc_perf_group *group, const struct nc_counters *counters,
                       unsigned cpu);

/* Closes its files. */
void nc_perf_group_close(struct nc_perf_group *group);

/* ---- perf_read.c ---- */

int nc_perf_read(struct nc_backend *backend, uint64_t now_ns, struct nc_reading *readings,
                 struct np_error *err);
void nc_perf_close(struct nc_backend *backend);

/* ---- perf_watch.c ---- */

/* Opens the files to be watched and takes their first text. -ENOMEM, or -EINVAL for a wrong one. */
int nc_perf_watch_begin(struct nc_perf *perf, struct np_error *err);
void nc_perf_watch_end(struct nc_perf *perf);

/* Looks for changes, and marks the groups of PMUs that went; the others' CPUs are not touched. */
void nc_perf_watch(struct nc_perf *perf);

/* A PMU that went and is there again is taken up. */
void nc_perf_watch_return(struct nc_perf *perf, struct nc_perf_pmu *pmu);

bool nc_perf_is_online(const struct nc_perf *perf, unsigned cpu);

/* ---- perf_follow.c ---- */

/* After a change of masks or CPUs: which groups were moved by their driver, and which stopped. */
void nc_perf_place(struct nc_perf *perf);

/* A group does not count any more: takes its last words and closes it. */
void nc_perf_stop(struct nc_perf *perf, struct nc_perf_group *group);

/* Opens again what can be opened. */
void nc_perf_follow(struct nc_perf *perf, uint64_t now_ns);

/* ---- perf_split.c ---- */

/* After all are enabled: groups that never run, as they do not fit, are split. */
void nc_perf_settle(struct nc_perf *perf);

/* After each reading of a group: whether it ran since the one before. */
void nc_perf_count_busy(struct nc_perf *perf, struct nc_perf_group *group, bool has_run);

/* Splits those that did not run for some readings. */
void nc_perf_split_busy(struct nc_perf *perf);

/* ---- perf_tell.c ---- */

void nc_perf_note_change(struct nc_perf *perf, struct nc_perf_group *group,
                         enum nc_perf_change change, unsigned from, unsigned to);

/* One sentence for all groups to which the same happened. */
void nc_perf_tell(struct nc_perf *perf);

#endif
