/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which CPUs and nodes a process may use: the kernel's word in proc/self/status (the affinity mask
 * is always inside the cpuset), and the cpuset cgroup itself, to tell the two reasons apart.
 */
#include "topology_data.h"

#include <numaprobe/cpulist.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The list behind "<field>:" in a status file; found false when there is no such line. */
static int parse_status_list(const char *text, const char *field, struct np_bitmap *ret,
                             bool *ret_found, struct np_error *err)
{
	const char *line = strstr(text, field);
	char *value;
	int rc;

	*ret_found = line != NULL;
	if (!line)
		return 0;
	line += strlen(field);
	value = strndup(line, strcspn(line, "\n"));
	if (!value)
		return np_error_sys(err, ENOMEM, "%s", field);
	rc = np_cpulist_parse(value, ret, err);
	if (rc < 0)
		np_error_wrap(err, rc, "proc/self/status: %s", field);
	free(value);
	return rc;
}

/* Fills the two sets from the status file; what it does not tell stays empty and "not found". */
static int read_status(const struct np_sysroot *root, struct np_topology *topology,
                       bool *ret_has_cpus, bool *ret_has_nodes, struct np_error *err)
{
	char *text;
	int rc = np_sysroot_read_optional(root, "proc/thread-self/status", &text, err);

	*ret_has_cpus = false;
	*ret_has_nodes = false;
	if (rc == 0 && !text)
		rc = np_sysroot_read_optional(root, "proc/self/status", &text, err);
	if (rc < 0 || !text)
		return rc;
	rc = parse_status_list(text, "Cpus_allowed_list:", &topology->cpus[NP_CPUS_ALLOWED],
	                       ret_has_cpus, err);
	if (rc == 0)
		rc = parse_status_list(text,
		                       "Mems_allowed_list:", &topology->nodes[NP_NODES_ALLOWED],
		                       ret_has_nodes, err);
	free(text);
	return rc;
}

/* A new string "<mount point><cgroup path>/<file>" without its leading slash. */
static char *join_path(const char *mount, size_t mount_len, const char *cgroup, size_t cgroup_len,
                       const char *file)
{
	char *path;

	while (mount_len > 0 && *mount == '/') {
		mount++;
		mount_len--;
	}
	if (asprintf(&path, "%.*s%.*s/%s", (int)mount_len, mount, (int)cgroup_len, cgroup, file) <
	    0)
		return NULL;
	return path;
}

/* A mount of the cgroup kind wanted: its mount point in *ret and the length; false when not. */
static bool parse_mount(const char *line, bool v2, const char **ret_point, size_t *ret_len)
{
	const char *point = strchr(line, ' ');
	const char *type = point ? strchr(point + 1, ' ') : NULL;
	const char *options = type ? strchr(type + 1, ' ') : NULL;
	const char *end = line + strcspn(line, "\n");
	const char *cpuset;

	if (!options || options >= end)
		return false;
	point++;
	*ret_point = point;
	*ret_len = (size_t)(type - point);
	type++;
	if (v2)
		return strncmp(type, "cgroup2 ", 8) == 0;
	cpuset = strstr(options, "cpuset");
	return strncmp(type, "cgroup ", 7) == 0 && cpuset && cpuset < end;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : NULL;
}

/* Adds the list in @file of the cgroup at @path in the hierarchy (v2 or the cpuset one of v1). */
static int read_cgroup_list(const struct np_sysroot *root, const char *mounts, bool v2,
                            const char *path, const char *file, struct np_bitmap *ret)
{
	size_t path_len = strcspn(path, "\n");
	size_t point_len;
	const char *point;
	int rc = -ENOENT;

	/* "/" is the root cgroup, and "/.." a container's view from inside its namespace. */
	if (path_len == 1)
		path_len = 0;
	for (const char *line = mounts; line && rc == -ENOENT; line = next_line(line)) {
		char *joined;

		if (!parse_mount(line, v2, &point, &point_len))
			continue;
		joined = join_path(point, point_len, path, path_len, file);
		if (!joined)
			return -ENOMEM;
		rc = np_sysroot_read_list(root, joined, ret, NULL);
		free(joined);
	}
	return rc;
}

/* Finds our cgroup in proc/self/cgroup: "0::/path" (v2) or "4:cpuset:/path" (v1). */
static const char *find_cgroup(const char *text, bool *ret_v2)
{
	const char *v2_path = NULL;

	for (const char *line = text; line; line = next_line(line)) {
		const char *controllers = strchr(line, ':');
		const char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		if (path == controllers + 1)
			v2_path = path + 1;
		else if (strstr(controllers, "cpuset") && strstr(controllers, "cpuset") < path) {
			*ret_v2 = false;
			return path + 1;
		}
	}
	*ret_v2 = true;
	return v2_path;
}

/*
 * The cpuset cgroup's CPUs and nodes; either may stay empty. A cgroup that cannot be found or read
 * is no error: it only tells one reason from another.
 */
static void read_cpuset(const struct np_sysroot *root, struct np_bitmap *ret_cpus,
                        struct np_bitmap *ret_nodes)
{
	char *mounts = NULL;
	char *cgroup = NULL;
	const char *path = NULL;
	bool v2 = true;

	if (np_sysroot_read(root, "proc/mounts", &mounts, NULL) < 0)
		return;
	if (np_sysroot_read(root, "proc/self/cgroup", &cgroup, NULL) >= 0)
		path = find_cgroup(cgroup, &v2);
	else if (np_sysroot_read(root, "proc/self/cpuset", &cgroup, NULL) >= 0)
		path = cgroup;

	if (path && v2) {
		read_cgroup_list(root, mounts, true, path, "cpuset.cpus.effective", ret_cpus);
		read_cgroup_list(root, mounts, true, path, "cpuset.mems.effective", ret_nodes);
	}
	if (path && np_bitmap_is_empty(ret_cpus)) {
		read_cgroup_list(root, mounts, false, path, "cpuset.cpus", ret_cpus);
		read_cgroup_list(root, mounts, false, path, "cpuset.mems", ret_nodes);
	}
	free(cgroup);
	free(mounts);
}

int np_sysfs_read_allowed(const struct np_sysroot *root, struct np_topology *topology,
                          struct np_error *err)
{
	const struct np_bitmap *online = &topology->cpus[NP_CPUS_ONLINE];
	struct np_bitmap *allowed = &topology->cpus[NP_CPUS_ALLOWED];
	struct np_bitmap *cpuset = &topology->cpus[NP_CPUS_CPUSET];
	struct np_bitmap *nodes = &topology->nodes[NP_NODES_ALLOWED];
	struct np_bitmap cpuset_nodes = { 0 };
	bool has_cpus;
	bool has_nodes;
	int rc = read_status(root, topology, &has_cpus, &has_nodes, err);

	if (rc < 0)
		return rc;
	/* Where everything is allowed there is no reason to look for. */
	if (!has_cpus || !np_bitmap_is_subset(online, allowed))
		read_cpuset(root, cpuset, &cpuset_nodes);
	np_bitmap_and(cpuset, online);

	if (np_bitmap_is_empty(cpuset))
		rc = np_bitmap_copy(cpuset, online);
	if (rc == 0 && !has_cpus)
		rc = np_bitmap_copy(allowed, cpuset);
	if (rc == 0 && !has_nodes)
		rc = np_bitmap_copy(nodes, np_bitmap_is_empty(&cpuset_nodes)
		                                   ? &topology->nodes[NP_NODES_ONLINE]
		                                   : &cpuset_nodes);
	np_bitmap_release(&cpuset_nodes);
	return rc < 0 ? np_error_sys(err, ENOMEM, "allowed CPUs") : 0;
}
