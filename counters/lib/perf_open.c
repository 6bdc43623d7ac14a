/* SPDX-License-Identifier: BSD-3-Clause */
#include "../../probe/base/clock.h"
#include "perf.h"
#include "perf_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* What one read(2) of a group gives before its counts: their number and the two times. */
enum { HEAD_WORDS = 3 };

/* For sysfs files that are opened for a moment later on, and for what the program opens itself. */
enum { SPARE_FILES = 16 };

static const struct nc_backend_ops ops = { .read = nc_perf_read, .close = nc_perf_close };

/* ---- how many files ---- */

/* How many more files fit below @limit; counts no further than @wanted. */
static rlim_t count_free(rlim_t limit, rlim_t wanted)
{
	rlim_t found = 0;

	for (rlim_t fd = 0; fd < limit && fd < INT32_MAX && found < wanted; fd++) {
		if (fcntl((int)fd, F_GETFD) < 0)
			found++;
	}
	return found;
}

/* Raises the soft limit on files where that is needed and the hard one suffices. */
static int make_room(size_t counter_count, size_t pmu_count, struct np_error *err)
{
	rlim_t wanted = counter_count + pmu_count + 1 + SPARE_FILES;
	struct rlimit limit;
	rlim_t found;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return np_error_sys(err, errno, "getrlimit");
	found = count_free(limit.rlim_cur, wanted);
	if (found >= wanted)
		return 0;
	/* By no more than is needed: a program that we run inherits it. */
	if (limit.rlim_max - limit.rlim_cur >= wanted - found) {
		struct rlimit raised = { limit.rlim_cur + wanted - found, limit.rlim_max };

		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			return 0;
	}
	return np_error_set(err, EMFILE,
	                    "%zu counters take %llu files, and %llu more can be opened: "
	                    "RLIMIT_NOFILE is %llu, at most %llu; needs %llu (ulimit -n)",
	                    counter_count, (unsigned long long)wanted, (unsigned long long)found,
	                    (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max,
	                    (unsigned long long)(limit.rlim_cur + wanted - found));
}

/* ---- refusals ---- */

/* Whoever is refused for one of these is refused everywhere. */
static bool is_final(int code)
{
	return code == EACCES || code == EPERM || code == ENOSYS || code == EMFILE ||
	       code == ENFILE || code == ENOMEM;
}

/* The few codes that nc_session_open() promises. */
static int public_code(int code)
{
	switch (code) {
	case EACCES:
	case EPERM:
	case ENOSYS: /* a filter of system calls, as containers have it */
		return EACCES;
	case EMFILE:
	case ENFILE:
		return EMFILE;
	case EBUSY:
	case ENOMEM:
		return code;
	default:
		return ENODATA;
	}
}

static int fail_refused(const struct nc_perf *perf, size_t index, int code, struct np_error *err)
{
	char reason[512] = "";
	char remedy[256] = "";

	nc_perf_explain(perf->host, code, &perf->counters->items[index], reason, remedy);
	return np_error_set(err, public_code(code), "%s%s%s", reason, *remedy ? "; " : "", remedy);
}

/* Some counters cannot be had, and others can: one sentence for each reason. */
static void tell_refused(struct nc_perf *perf)
{
	const struct nc_counter *items = perf->counters->items;
	size_t count = perf->counters->count;

	for (size_t i = 0; i < count; i++) {
		char reason[512] = "";
		char remedy[256] = "";
		size_t same = 0;
		bool is_first = true;

		for (size_t j = 0; j < count; j++) {
			if (perf->codes[j] != perf->codes[i])
				continue;
			is_first = is_first && j >= i;
			same++;
		}
		if (perf->codes[i] == 0 || !is_first)
			continue;
		nc_perf_explain(perf->host, perf->codes[i], &items[i], reason, remedy);
		nc_log_add(perf->log,
		           "%zu of %zu counters cannot be opened, the first is %s of %s on CPU %u: "
		           "%s%s%s",
		           same, count, items[i].name, items[i].box, items[i].cpu, reason,
		           *remedy ? "; " : "", remedy);
	}
}

/* ---- groups ---- */

static int open_counter(const struct nc_counter *counter, uint32_t type, unsigned cpu, int leader)
{
	union nc_perf_attr attr;

	nc_perf_attr_fill(&counter->code, type, leader < 0, &attr);
	return nc_perf_sys_open(&attr, cpu, leader);
}

static struct nc_perf_pmu *find_pmu(struct nc_perf *perf, const struct nc_pmu *pmu)
{
	size_t i = 0;

	while (i < perf->pmu_count && perf->pmus[i].pmu != pmu)
		i++;
	return &perf->pmus[i];
}

static struct nc_perf_group *begin_group(struct nc_perf *perf, const struct nc_counter *counter,
                                         int fd)
{
	struct nc_perf_group *group = &perf->groups[perf->group_count++];

	*group = (struct nc_perf_group){
		.pmu = find_pmu(perf, counter->pmu),
		.members = &perf->members[perf->member_count],
		.fd = fd,
		.socket = counter->socket,
		.die = counter->die,
		.cpu = counter->cpu,
	};
	return group;
}

static bool is_together(const struct nc_counter *a, const struct nc_counter *b)
{
	return a->group == b->group && a->pmu == b->pmu && a->cpu == b->cpu;
}

/*
 * Opens them all, still stopped. Where a driver refuses a further counter in a group (EINVAL, more
 * than the box has), that one leads a group of its own, and the two take turns.
 */
static int open_all(struct nc_perf *perf, struct np_error *err)
{
	const struct nc_counter *items = perf->counters->items;
	struct nc_perf_group *group = NULL;

	for (size_t i = 0; i < perf->counters->count; i++) {
		int fd;

		if (i > 0 && !is_together(&items[i - 1], &items[i]))
			group = NULL;
		fd = open_counter(&items[i], items[i].code.type, items[i].cpu,
		                  group ? group->fd : -1);
		if (fd == -EINVAL && group) {
			group = NULL;
			fd = open_counter(&items[i], items[i].code.type, items[i].cpu, -1);
		}
		if (fd < 0 && is_final(-fd))
			return fail_refused(perf, i, -fd, err);
		if (fd < 0) {
			perf->codes[i] = -fd;
			continue;
		}
		if (!group)
			group = begin_group(perf, &items[i], fd);
		perf->members[perf->member_count++] =
			(struct nc_perf_member){ .counter = i, .fd = fd };
		group->count++;
	}
	if (perf->group_count == 0)
		return fail_refused(perf, 0, perf->codes[0], err);
	tell_refused(perf);
	return 0;
}

int nc_perf_group_open(struct nc_perf_group *group, const struct nc_counters *counters,
                       unsigned cpu)
{
	int rc;

	for (size_t i = 0; i < group->count; i++) {
		struct nc_perf_member *member = &group->members[i];
		int fd = open_counter(&counters->items[member->counter], group->pmu->type, cpu,
		                      group->fd);

		if (fd < 0) {
			nc_perf_group_close(group);
			return fd;
		}
		if (i == 0)
			group->fd = fd;
		member->fd = fd;
		member->base = member->raw;
	}
	group->base_enabled_ns = group->enabled_ns;
	group->base_running_ns = group->running_ns;
	rc = nc_perf_sys_enable(group->fd);
	if (rc < 0)
		nc_perf_group_close(group);
	else
		group->cpu = cpu;
	return rc;
}

void nc_perf_group_close(struct nc_perf_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		if (group->members[i].fd >= 0)
			close(group->members[i].fd);
		group->members[i].fd = -1;
	}
	group->fd = -1;
}

static int enable_all(struct nc_perf *perf, struct np_error *err)
{
	for (size_t i = 0; i < perf->group_count; i++) {
		int rc = nc_perf_sys_enable(perf->groups[i].fd);

		if (rc < 0)
			return fail_refused(perf, perf->groups[i].members[0].counter, -rc, err);
	}
	return 0;
}

/* ---- the backend ---- */

static int collect_pmus(struct nc_perf *perf)
{
	const struct nc_counters *counters = perf->counters;

	perf->pmus = calloc(counters->count, sizeof(*perf->pmus));
	for (size_t i = 0; perf->pmus && i < counters->count; i++) {
		struct nc_perf_pmu *pmu = find_pmu(perf, counters->items[i].pmu);

		if (pmu->pmu)
			continue;
		*pmu = (struct nc_perf_pmu){
			.pmu = counters->items[i].pmu,
			.type = counters->items[i].code.type,
			.file = { .fd = -1 },
		};
		perf->pmu_count++;
	}
	return perf->pmus ? 0 : -ENOMEM;
}

static int take_memory(struct nc_perf *perf)
{
	size_t count = perf->counters->count;

	perf->groups = calloc(count, sizeof(*perf->groups));
	perf->members = calloc(count, sizeof(*perf->members));
	perf->codes = calloc(count, sizeof(*perf->codes));
	perf->buffer_bytes = (HEAD_WORDS + count) * sizeof(*perf->buffer);
	perf->buffer = malloc(perf->buffer_bytes);
	if (!perf->groups || !perf->members || !perf->codes || !perf->buffer)
		return -ENOMEM;
	return collect_pmus(perf);
}

int nc_perf_open_root(const char *root, const struct nc_host *host,
                      const struct nc_counters *counters, struct nc_log *log,
                      struct nc_backend **ret, struct np_error *err)
{
	struct nc_perf *perf;
	int rc;

	if (counters->count == 0)
		return np_error_set(err, ENODATA, "no counters to open");
	perf = malloc(sizeof(*perf));
	if (!perf)
		return np_error_sys(err, ENOMEM, "opening counters");
	*perf = (struct nc_perf){
		.backend = { &ops },
		.root = { .fd = -1 },
		.host = host,
		.counters = counters,
		.log = log,
		.online_file = { .fd = -1 },
	};
	rc = take_memory(perf);
	if (rc < 0)
		np_error_sys(err, ENOMEM, "opening %zu counters", counters->count);
	if (rc == 0)
		rc = make_room(counters->count, perf->pmu_count, err);
	if (rc == 0)
		rc = np_sysroot_open(root, &perf->root, err);
	if (rc == 0)
		rc = nc_perf_watch_begin(perf, err);
	if (rc == 0)
		rc = open_all(perf, err);
	if (rc == 0)
		rc = enable_all(perf, err);
	if (rc < 0) {
		nc_perf_close(&perf->backend);
		return rc;
	}
	nc_perf_settle(perf);
	perf->read_ns = np_now_ns();
	*ret = &perf->backend;
	return 0;
}

int nc_perf_open(const struct nc_host *host, const struct nc_counters *counters, struct nc_log *log,
                 struct nc_backend **ret, struct np_error *err)
{
	return nc_perf_open_root(nc_host_root(host), host, counters, log, ret, err);
}
