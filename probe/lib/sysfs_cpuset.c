/* SPDX-License-Identifier: BSD-3-Clause */
#include "cpuset.h"

#include "topology_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 64 };

/* What a cgroup is sought by: its path below the mount points of its hierarchy. */
struct cgroup {
	const char *path; /* into the text of proc/self/cgroup; ends at a newline */
	bool v2;
};

const char *np_next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : NULL;
}

/* Finds our cgroup in proc/self/cgroup: "0::/path" (v2) or "4:cpuset:/path" (v1). */
static struct cgroup find_cgroup(const char *text)
{
	struct cgroup found = { .v2 = true };

	for (const char *line = text; line; line = np_next_line(line)) {
		const char *end = line + strcspn(line, "\n");
		const char *controllers = strchr(line, ':');
		const char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		const char *cpuset;

		if (!path || path >= end)
			continue;
		if (path == controllers + 1)
			found.path = path + 1;
		cpuset = strstr(controllers, "cpuset");
		if (cpuset && cpuset < path)
			return (struct cgroup){ .path = path + 1, .v2 = false };
	}
	return found;
}

/* A mount point, in the text of proc/mounts. */
struct mount {
	const char *point;
	size_t len;
};

/* The mount point in a line of proc/mounts, when it is of the hierarchy sought. */
static bool parse_mount(const char *line, bool v2, struct mount *ret)
{
	const char *end = line + strcspn(line, "\n");
	const char *point = strchr(line, ' ');
	const char *type = point ? strchr(point + 1, ' ') : NULL;
	const char *options = type ? strchr(type + 1, ' ') : NULL;
	const char *cpuset;

	if (!options || options >= end)
		return false;
	point++;
	*ret = (struct mount){ .point = point, .len = (size_t)(type - point) };
	type++;
	if (v2)
		return strncmp(type, "cgroup2 ", 8) == 0;
	cpuset = strstr(options, "cpuset");
	return strncmp(type, "cgroup ", 7) == 0 && cpuset && cpuset < end;
}

/*
 * The list in @file of the cgroup, added to *ret. A group whose parent did not hand the controller
 * on has no such file, and what its nearest ancestor has counts for it. 0 when nothing is found.
 */
static int read_up(const struct np_sysroot *root, struct mount mount, const struct cgroup *cgroup,
                   const char *file, struct np_bitmap *ret, struct np_error *err)
{
	size_t path_len = strcspn(cgroup->path, "\n");
	bool found = false;
	int rc = 0;

	while (mount.len > 0 && *mount.point == '/') {
		mount.point++;
		mount.len--;
	}
	/* "/" is the root cgroup, and "/.." what a container sees of a group outside its namespace.
	 */
	while (rc == 0 && !found) {
		char *path;

		while (path_len > 0 && cgroup->path[path_len - 1] == '/')
			path_len--;
		if (asprintf(&path, "%.*s%.*s/%s", (int)mount.len, mount.point, (int)path_len,
		             cgroup->path, file) < 0)
			return np_error_sys(err, ENOMEM, "cpuset");
		rc = np_sysroot_read_list_optional(root, path, ret, &found, err);
		free(path);
		if (path_len == 0)
			break;
		while (path_len > 0 && cgroup->path[path_len - 1] != '/')
			path_len--;
	}
	return rc;
}

static int read_list(const struct np_sysroot *root, const char *mounts, const struct cgroup *cgroup,
                     const char *file, struct np_bitmap *ret, struct np_error *err)
{
	int rc = 0;

	for (const char *line = mounts; line && rc == 0; line = np_next_line(line)) {
		struct mount mount;

		if (parse_mount(line, cgroup->v2, &mount) && np_bitmap_is_empty(ret))
			rc = read_up(root, mount, cgroup, file, ret, err);
	}
	return rc;
}

static int read_both(const struct np_sysroot *root, const char *mounts, const struct cgroup *cgroup,
                     struct np_bitmap *ret_cpus, struct np_bitmap *ret_nodes, struct np_error *err)
{
	int rc = read_list(root, mounts, cgroup,
	                   cgroup->v2 ? "cpuset.cpus.effective" : "cpuset.cpus", ret_cpus, err);

	if (rc < 0)
		return rc;
	return read_list(root, mounts, cgroup, cgroup->v2 ? "cpuset.mems.effective" : "cpuset.mems",
	                 ret_nodes, err);
}

/*
 * Refuses a file of lines in which no line is one: at least @count of @separator in it. An empty
 * file says that there is nothing, and is believed.
 */
static int check_lines(const struct np_sysroot *root, const char *path, const char *text,
                       char separator, unsigned count, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	for (const char *line = text; line && *text; line = np_next_line(line)) {
		const char *end = line + strcspn(line, "\n");
		unsigned found = 0;

		for (const char *c = line; c < end; c++)
			found += *c == separator;
		if (found >= count)
			return 0;
	}
	if (!*text)
		return 0;
	return np_error_set(err, EINVAL, "%s/%s: '%s' is not what the kernel writes there",
	                    root->path, path, np_error_quote(text, quoted, sizeof(quoted)));
}

/* The text of proc/PROCESS/NAME, checked to have lines of at least @count of @separator. */
static int read_lines(const struct np_sysroot *root, const char *process, const char *name,
                      unsigned separators, char **ret, struct np_error *err)
{
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "proc/%s/%s", process, name);
	rc = np_sysroot_read_optional(root, path, ret, err);
	if (rc >= 0 && *ret && separators > 0)
		rc = check_lines(root, path, *ret, ':', separators, err);
	return rc;
}

int np_cpuset_read(const struct np_sysroot *root, const char *process, struct np_bitmap *ret_cpus,
                   struct np_bitmap *ret_nodes, struct np_error *err)
{
	struct cgroup cgroup = { 0 };
	char *mounts = NULL;
	char *text = NULL;
	int rc = np_sysroot_read_optional(root, "proc/mounts", &mounts, err);

	if (rc >= 0 && mounts)
		rc = check_lines(root, "proc/mounts", mounts, ' ', 3, err);
	if (rc >= 0 && mounts)
		rc = read_lines(root, process, "cgroup", 2, &text, err);
	if (text) {
		cgroup = find_cgroup(text);
	} else if (rc >= 0 && mounts) {
		/* The same path without the hierarchy's number; captures by other tools have it. */
		rc = read_lines(root, process, "cpuset", 0, &text, err);
		cgroup = (struct cgroup){ .path = text, .v2 = true };
	}
	if (rc >= 0 && cgroup.path)
		rc = read_both(root, mounts, &cgroup, ret_cpus, ret_nodes, err);
	if (rc >= 0 && cgroup.path && cgroup.v2 && np_bitmap_is_empty(ret_cpus)) {
		cgroup.v2 = false;
		rc = read_both(root, mounts, &cgroup, ret_cpus, ret_nodes, err);
	}
	free(text);
	free(mounts);
	return rc < 0 ? rc : 0;
}
