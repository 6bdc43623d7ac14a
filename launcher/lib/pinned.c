/* SPDX-License-Identifier: BSD-3-Clause */
#include "pinned.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALLOWED "\nCpus_allowed_list:"

void nr_pinned_free(struct nr_pinned *pinned, size_t count)
{
	for (size_t i = 0; i < count; i++)
		np_bitmap_release(&pinned[i].cpus);
	free(pinned);
}

/*
 * The CPUs of one thread that count as pinned, in *ret: empty when it is not, is gone, or does not
 * tell. -ENOMEM.
 */
static int read_pinned(const struct np_sysroot *root, const char *path,
                       const struct nr_pinned_query *query, struct np_bitmap *ret)
{
	struct np_bitmap own = { 0 };
	char *text;
	char *list;
	int rc = np_sysroot_read(root, path, &text, NULL);

	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	rc = 0;
	/* The line begins behind a newline, which no name in the first line can hold unescaped. */
	list = strstr(text, ALLOWED);
	if (list) {
		list += strlen(ALLOWED);
		list[strcspn(list, "\n")] = '\0';
		rc = np_cpulist_parse(list, ret, NULL);
	}
	free(text);
	/* The masks of untouched threads hold CPUs that may come online one day. */
	np_bitmap_and(ret, query->online);
	if (rc == 0)
		rc = np_bitmap_copy(&own, query->inherited);
	np_bitmap_and(&own, query->online);
	if (rc < 0 || np_bitmap_equal(ret, query->online) || np_bitmap_equal(ret, &own) ||
	    !np_bitmap_intersects(ret, query->wanted))
		np_bitmap_release(ret);
	np_bitmap_release(&own);
	return rc == -ENOMEM ? rc : 0;
}

static int add_thread(const struct np_sysroot *root, const char *path,
                      const struct nr_pinned_query *query, struct nr_pinned *process)
{
	struct np_bitmap cpus = { 0 };
	int rc = read_pinned(root, path, query, &cpus);

	if (rc == 0 && !np_bitmap_is_empty(&cpus)) {
		rc = np_bitmap_or(&process->cpus, &cpus);
		process->thread_count++;
	}
	np_bitmap_release(&cpus);
	return rc;
}

/* All threads: servers pin each worker by itself, and leave the first one where it was. */
static int add_threads(const struct np_sysroot *root, const struct nr_pinned_query *query,
                       struct nr_pinned *process)
{
	char path[96];
	char **tids;
	int count;
	int rc = 0;

	snprintf(path, sizeof(path), "proc/%d/task", (int)process->pid);
	count = np_sysroot_list(root, path, &tids, NULL);
	if (count < 0)
		return count == -ENOMEM ? count : 0;
	for (int i = 0; i < count && i < NR_PINNED_THREADS_MAX && rc == 0; i++) {
		snprintf(path, sizeof(path), "proc/%d/task/%.20s/status", (int)process->pid,
		         tids[i]);
		rc = add_thread(root, path, query, process);
	}
	free(tids);
	return rc;
}

/* Is it one to report? Its name is filled in then. */
static bool is_foreign(const struct np_sysroot *root, struct nr_pinned *process)
{
	struct nr_process stat;

	if (process->thread_count == 0 || nr_process_read(root, process->pid, &stat, NULL) < 0 ||
	    nr_process_is_kernel_thread(&stat) || nr_process_is_zombie(&stat))
		return false;
	memcpy(process->name, stat.name, sizeof(process->name));
	return true;
}

/* What was found so far; the room doubles. */
struct found {
	struct nr_pinned *list;
	size_t count;
	size_t room;
};

static int add_process(struct found *found, const struct nr_pinned *process)
{
	if (found->count == found->room) {
		size_t room = found->room ? 2 * found->room : 16;
		struct nr_pinned *grown = realloc(found->list, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		found->list = grown;
		found->room = room;
	}
	found->list[found->count++] = *process;
	return 0;
}

static int look_at(const struct np_sysroot *root, const struct nr_pinned_query *query, pid_t pid,
                   struct found *found)
{
	struct nr_pinned process = { .pid = pid };
	int rc = add_threads(root, query, &process);

	if (rc == 0 && is_foreign(root, &process)) {
		rc = add_process(found, &process);
		if (rc == 0)
			return 0;
	}
	np_bitmap_release(&process.cpus);
	return rc;
}

/* The number of a folder of /proc that is a process's, or 0. */
static pid_t parse_pid(const char *name)
{
	char *end;
	long pid = strtol(name, &end, 10);

	return *end == '\0' && end != name && pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

static int compare_pids(const void *a, const void *b)
{
	const struct nr_pinned *left = a;
	const struct nr_pinned *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

int nr_pinned_find(const struct np_sysroot *root, const struct nr_pinned_query *query,
                   struct nr_pinned **ret, size_t *ret_count, struct np_error *err)
{
	struct found found = { 0 };
	char **names;
	int count = np_sysroot_list(root, "proc", &names, err);
	int rc = 0;

	if (count < 0)
		return count;
	for (int i = 0; i < count && rc == 0; i++) {
		pid_t pid = parse_pid(names[i]);

		if (pid && pid != query->self)
			rc = look_at(root, query, pid, &found);
	}
	free(names);
	if (rc < 0) {
		nr_pinned_free(found.list, found.count);
		return np_error_sys(err, -rc, "look for processes pinned onto the CPUs");
	}
	if (found.count > 1)
		qsort(found.list, found.count, sizeof(*found.list), compare_pids);
	*ret = found.list;
	*ret_count = found.count;
	return 0;
}
