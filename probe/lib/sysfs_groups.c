/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packages, L3 caches and cores from cpuN/topology and cpuN/cache. Each shared list is read once,
 * for the first CPU that it holds, which keeps a host with 500 CPUs in the milliseconds.
 */
#include "topology_data.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_PATH "sys/devices/system/cpu/cpu%u/"

enum { PATH_SIZE = 128, QUOTE_SIZE = 64, L3 = 3 };

/* The list and mask files that may tell a group, best first; newer kernels renamed some. */
struct group_files {
	const char *lists[2];
	const char *mask;
};

static const struct group_files package_files = {
	.lists = { "topology/package_cpus_list", "topology/core_siblings_list" },
	.mask = "topology/core_siblings",
};

static const struct group_files core_files = {
	.lists = { "topology/core_cpus_list", "topology/thread_siblings_list" },
	.mask = "topology/thread_siblings",
};

static int check_holds(const struct np_sysroot *root, const char *path, unsigned cpu,
                       const struct np_bitmap *cpus, struct np_error *err)
{
	char list[QUOTE_SIZE];

	if (np_bitmap_has(cpus, cpu))
		return 0;
	return np_error_set(err, EINVAL, "%s/%s: '%s' does not hold CPU %u itself", root->path,
	                    path, np_cpulist_brief(cpus, list, sizeof(list)), cpu);
}

/*
 * The CPUs that share with @cpu, from the first file that exists; *ret_told is false when none
 * does, and @ret then holds @cpu alone.
 */
static int read_sharers(const struct np_sysroot *root, const struct group_files *files,
                        unsigned cpu, struct np_bitmap *ret, bool *ret_told, struct np_error *err)
{
	char path[PATH_SIZE];
	int rc = 0;

	*ret_told = false;
	for (size_t i = 0; i < 2 && rc == 0 && !*ret_told; i++) {
		snprintf(path, sizeof(path), CPU_PATH "%s", cpu, files->lists[i]);
		rc = np_sysroot_read_list_optional(root, path, ret, ret_told, err);
	}
	if (rc == 0 && !*ret_told) {
		snprintf(path, sizeof(path), CPU_PATH "%s", cpu, files->mask);
		*ret_told = np_sysroot_has(root, path);
		rc = *ret_told ? np_sysroot_read_mask(root, path, ret, err)
		               : np_bitmap_add(ret, cpu);
	}
	return rc < 0 ? rc : check_holds(root, path, cpu, ret, err);
}

/* An id such as physical_package_id; -1 (not told by the firmware) and absence leave it unknown. */
static int read_id(const struct np_sysroot *root, const char *file, unsigned cpu,
                   struct np_group *group, struct np_error *err)
{
	char path[PATH_SIZE];
	long id = -1;
	int rc;

	snprintf(path, sizeof(path), CPU_PATH "%s", cpu, file);
	rc = np_sysroot_has(root, path) ? np_sysroot_read_long(root, path, -1, INT_MAX, &id, err)
	                                : 0;
	if (rc < 0)
		return rc;
	group->has_id = id >= 0;
	group->id = id >= 0 ? (unsigned)id : 0;
	return 0;
}

/* Where no list tells a package's CPUs, those with its id are they. */
static int gather_by_id(const struct np_sysroot *root, const char *id_file, struct np_group *group,
                        const struct np_topology *topology, struct np_error *err)
{
	np_bitmap_for_each (cpu, &topology->cpus[NP_CPUS_ONLINE]) {
		struct np_group other = { 0 };
		int rc = read_id(root, id_file, cpu, &other, err);

		if (rc == 0 && other.has_id && other.id == group->id)
			rc = np_bitmap_add(&group->cpus, cpu);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int add_shared(const struct np_sysroot *root, enum np_level level, unsigned cpu,
                      struct np_topology *topology, struct np_error *err)
{
	bool is_package = level == NP_LEVEL_PACKAGE;
	const char *id_file = is_package ? "topology/physical_package_id" : "topology/core_id";
	struct np_group group = { 0 };
	bool told;
	int rc;

	if (np_topology_group_of(topology, level, cpu))
		return 0;
	rc = read_sharers(root, is_package ? &package_files : &core_files, cpu, &group.cpus, &told,
	                  err);
	if (rc == 0)
		rc = read_id(root, id_file, cpu, &group, err);
	/* A core's id repeats in each package, so it gathers nothing. */
	if (rc == 0 && !told && is_package && group.has_id)
		rc = gather_by_id(root, id_file, &group, topology, err);
	/* A package that neither a list nor an id tells is not known, rather than one of its own.
	 */
	if (rc == 0 && (told || !is_package || group.has_id))
		rc = np_topology_add_group(topology, level, &group, err);
	np_bitmap_release(&group.cpus);
	return rc;
}

/* "16384K" in bytes, or 0 for what it is not. */
static uint64_t parse_cache_size(const char *text)
{
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || value > UINT64_MAX >> 20)
		return 0;
	if (strcmp(end, "K") == 0)
		return value << 10;
	if (strcmp(end, "M") == 0)
		return value << 20;
	return *end == '\0' ? value : 0;
}

static int read_cache_size(const struct np_sysroot *root, unsigned cpu, unsigned index,
                           struct np_group *group, struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	char path[PATH_SIZE];
	char *text;
	int rc;

	snprintf(path, sizeof(path), CPU_PATH "cache/index%u/size", cpu, index);
	rc = np_sysroot_read_optional(root, path, &text, err);
	if (rc < 0 || !text)
		return rc;
	group->size_bytes = parse_cache_size(text);
	rc = 0;
	/* "0K" is what some virtual machines say; it parses, to unknown. */
	if (group->size_bytes == 0 && strcmp(text, "0K") != 0 && strcmp(text, "0") != 0)
		rc = np_error_set(err, EINVAL, "%s/%s: '%s' is not a size like 16384K", root->path,
		                  path, np_error_quote(text, quoted, sizeof(quoted)));
	free(text);
	return rc;
}

static int add_cache(const struct np_sysroot *root, unsigned cpu, unsigned index,
                     struct np_topology *topology, struct np_error *err)
{
	struct np_group group = { 0 };
	char path[PATH_SIZE];
	bool told;
	int rc;

	snprintf(path, sizeof(path), CPU_PATH "cache/index%u/shared_cpu_list", cpu, index);
	rc = np_sysroot_read_list_optional(root, path, &group.cpus, &told, err);
	if (rc == 0 && !told) {
		snprintf(path, sizeof(path), CPU_PATH "cache/index%u/shared_cpu_map", cpu, index);
		told = np_sysroot_has(root, path);
		rc = told ? np_sysroot_read_mask(root, path, &group.cpus, err) : 0;
	}
	/* A cache that nobody says is shared by whom is not known. */
	if (rc == 0 && told)
		rc = check_holds(root, path, cpu, &group.cpus, err);
	if (rc == 0 && told)
		rc = read_cache_size(root, cpu, index, &group, err);
	if (rc == 0 && told)
		rc = np_topology_add_group(topology, NP_LEVEL_L3, &group, err);
	np_bitmap_release(&group.cpus);
	return rc;
}

/* Looks for the L3 among the cache's indexN folders, which a kernel need not number by level. */
static int add_l3(const struct np_sysroot *root, unsigned cpu, struct np_topology *topology,
                  struct np_error *err)
{
	struct np_bitmap indexes = { 0 };
	char path[PATH_SIZE];
	int rc;

	if (np_topology_group_of(topology, NP_LEVEL_L3, cpu))
		return 0;
	snprintf(path, sizeof(path), CPU_PATH "cache", cpu);
	if (!np_sysroot_has(root, path))
		return 0;
	rc = np_sysroot_list_indexes(root, path, "index", &indexes, err);
	/* From the top, as the L3 is the last one nearly everywhere. */
	while (rc == 0 && !np_bitmap_is_empty(&indexes)) {
		unsigned index = np_bitmap_last(&indexes);
		long level = 0;

		np_bitmap_remove(&indexes, index);
		snprintf(path, sizeof(path), CPU_PATH "cache/index%u/level", cpu, index);
		if (np_sysroot_has(root, path))
			rc = np_sysroot_read_long(root, path, 0, 9, &level, err);
		if (rc == 0 && level == L3) {
			rc = add_cache(root, cpu, index, topology, err);
			break;
		}
	}
	np_bitmap_release(&indexes);
	return rc;
}

int np_sysfs_read_groups(const struct np_sysroot *root, struct np_topology *topology,
                         struct np_error *err)
{
	const struct np_bitmap *online = &topology->cpus[NP_CPUS_ONLINE];
	int rc = np_topology_create_groups(topology, err);

	for (unsigned cpu = np_bitmap_next(online, 0); rc == 0 && cpu != NP_BITMAP_END;
	     cpu = np_bitmap_next(online, cpu + 1)) {
		rc = add_shared(root, NP_LEVEL_PACKAGE, cpu, topology, err);
		if (rc == 0)
			rc = add_shared(root, NP_LEVEL_CORE, cpu, topology, err);
		if (rc == 0)
			rc = add_l3(root, cpu, topology, err);
	}
	return rc;
}
