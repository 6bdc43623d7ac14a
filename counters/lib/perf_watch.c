/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of sysfs that tell of CPUs and PMUs that come and go. They are kept open: pread(2) makes
 * the kernel write the text anew, and gives ENODEV when the PMU was unregistered, also when another
 * one has its name by now (fs/kernfs/file.c).
 */
#include "perf.h"
#include "perf_sys.h"

#include <errno.h>
#include <limits.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONLINE_FILE "sys/devices/system/cpu/online"
#define PMU_DIR "sys/bus/event_source/devices"

/* sysfs writes no longer text than a page (fs/sysfs/file.c). */
enum { TEXT_SIZE_MAX = 4096, PATH_SIZE = 320 };

/* ---- one file ---- */

/* Takes its present text. *ret_changed is false when it is that of before. 0 or -errno. */
static int look(struct nc_watch *watch, bool *ret_changed)
{
	char text[TEXT_SIZE_MAX];
	ssize_t n = nc_perf_sys_look(watch->fd, text, TEXT_SIZE_MAX);
	char *copy;

	*ret_changed = false;
	if (n < 0)
		return (int)n;
	if (watch->text && (size_t)n == watch->size && memcmp(text, watch->text, watch->size) == 0)
		return 0;
	copy = malloc((size_t)n + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, (size_t)n);
	copy[n] = '\0';
	free(watch->text);
	watch->text = copy;
	watch->size = (size_t)n;
	*ret_changed = true;
	return 0;
}

static void stop_looking(struct nc_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	free(watch->text);
	*watch = (struct nc_watch){ .fd = -1 };
}

/* Looks, and puts what is a new list of CPUs into *set, which otherwise stays. */
static int look_for_list(struct nc_watch *watch, struct np_bitmap *set, bool *ret_changed)
{
	struct np_bitmap now = { 0 };
	int rc = look(watch, ret_changed);

	if (rc < 0 || !*ret_changed)
		return rc;
	if (np_cpulist_parse(watch->text, &now, NULL) < 0) {
		*ret_changed = false;
		return 0;
	}
	np_bitmap_release(set);
	*set = now;
	return 0;
}

/* ---- all of them ---- */

static void name_file(const struct nc_perf_pmu *pmu, char path[PATH_SIZE])
{
	snprintf(path, PATH_SIZE, PMU_DIR "/%s/%s", pmu->pmu->name,
	         pmu->pmu->is_core ? "type" : "cpumask");
}

static int look_at_pmu(struct nc_perf_pmu *pmu, bool *ret_changed)
{
	if (pmu->pmu->is_core)
		return look(&pmu->file, ret_changed);
	return look_for_list(&pmu->file, &pmu->cpus, ret_changed);
}

/* A file that is not there is not watched. */
static int open_watch(const struct np_sysroot *root, const char *path, struct nc_watch *watch,
                      struct np_error *err)
{
	struct np_error why;
	int rc = np_sysroot_open_file(root, path, &watch->fd, &why);

	if (rc < 0 && rc != -ENOENT && err)
		*err = why;
	return rc == -ENOENT ? 0 : rc;
}

int nc_perf_watch_begin(struct nc_perf *perf, struct np_error *err)
{
	char path[PATH_SIZE];
	bool changed;
	int rc = open_watch(&perf->root, ONLINE_FILE, &perf->online_file, err);

	if (rc < 0)
		return rc;
	if (perf->online_file.fd >= 0)
		look_for_list(&perf->online_file, &perf->online, &changed);
	for (size_t i = 0; i < perf->pmu_count; i++) {
		struct nc_perf_pmu *pmu = &perf->pmus[i];

		name_file(pmu, path);
		rc = open_watch(&perf->root, path, &pmu->file, err);
		if (rc < 0)
			return rc;
		if (pmu->file.fd >= 0)
			look_at_pmu(pmu, &changed);
	}
	return 0;
}

void nc_perf_watch_end(struct nc_perf *perf)
{
	stop_looking(&perf->online_file);
	np_bitmap_release(&perf->online);
	for (size_t i = 0; i < perf->pmu_count; i++) {
		stop_looking(&perf->pmus[i].file);
		np_bitmap_release(&perf->pmus[i].cpus);
	}
}

bool nc_perf_is_online(const struct nc_perf *perf, unsigned cpu)
{
	return np_bitmap_is_empty(&perf->online) || np_bitmap_has(&perf->online, cpu);
}

/* Puts a group's files aside, never to be touched before the end. */
static void leave(struct nc_perf *perf, struct nc_perf_group *group)
{
	int *left = realloc(perf->left, (perf->left_count + group->count) * sizeof(*left));

	/* Without memory they are forgotten, and the kernel closes them when the program ends. */
	if (left)
		perf->left = left;
	for (size_t i = 0; i < group->count; i++) {
		if (left)
			left[perf->left_count++] = group->members[i].fd;
		group->members[i].fd = -1;
	}
	group->fd = -1;
}

static void lose(struct nc_perf *perf, struct nc_perf_pmu *pmu)
{
	stop_looking(&pmu->file);
	pmu->is_gone = true;
	perf->has_waiting = true;
	for (size_t i = 0; i < perf->group_count; i++) {
		struct nc_perf_group *group = &perf->groups[i];

		if (group->pmu != pmu)
			continue;
		if (group->fd >= 0)
			leave(perf, group);
		group->state = NC_NOTE_GONE;
		group->once = NC_NOTE_NONE;
		nc_perf_note_change(perf, group, NC_PERF_GONE, 0, 0);
	}
}

void nc_perf_watch(struct nc_perf *perf)
{
	bool changed;

	if (perf->online_file.fd >= 0) {
		look_for_list(&perf->online_file, &perf->online, &changed);
		perf->has_moved = perf->has_moved || changed;
	}
	for (size_t i = 0; i < perf->pmu_count; i++) {
		struct nc_perf_pmu *pmu = &perf->pmus[i];

		if (pmu->file.fd < 0)
			continue;
		if (look_at_pmu(pmu, &changed) == -ENODEV)
			lose(perf, pmu);
		else
			perf->has_moved = perf->has_moved || changed;
	}
}

void nc_perf_watch_return(struct nc_perf *perf, struct nc_perf_pmu *pmu)
{
	char path[PATH_SIZE];
	long type;
	bool changed;

	snprintf(path, sizeof(path), PMU_DIR "/%s/type", pmu->pmu->name);
	if (np_sysroot_read_long(&perf->root, path, 0, INT_MAX, &type, NULL) < 0)
		return;
	name_file(pmu, path);
	if (open_watch(&perf->root, path, &pmu->file, NULL) < 0 || pmu->file.fd < 0)
		return;
	if (look_at_pmu(pmu, &changed) < 0) {
		stop_looking(&pmu->file);
		return;
	}
	pmu->type = (uint32_t)type;
	pmu->is_gone = false;
}
