/* SPDX-License-Identifier: BSD-3-Clause */
#include "cgroup.h"

#include "fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 64, FIELDS_MAX = 3 };

/* A part of a text. */
struct span {
	const char *start; /* NULL = not found */
	size_t len;
};

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

/* Is @word one of the comma-separated words of the span? */
static bool has_word(struct span list, const char *word)
{
	const char *end = list.start + list.len;
	const char *at = list.start;

	while (at < end) {
		size_t len = strcspn(at, ",: \n");

		if (len == strlen(word) && strncmp(at, word, len) == 0)
			return true;
		at += len + 1;
	}
	return false;
}

/* The parts of one line, split at @separator; the last one takes the rest. False: too few. */
static bool split(const char *line, char separator, struct span *parts, size_t count)
{
	const char *end = line + strcspn(line, "\n");

	for (size_t i = 0; i < count; i++) {
		const char *stop =
			i + 1 < count ? memchr(line, separator, (size_t)(end - line)) : end;

		if (!stop)
			return false;
		parts[i] = (struct span){ .start = line, .len = (size_t)(stop - line) };
		line = stop < end ? stop + 1 : end;
	}
	return true;
}

/*
 * The path in proc/PID/cgroup: "4:memory:/path" (v1), else "0::/path" (v2). False: no line of the
 * text is one.
 */
static bool find_path(const char *text, const char *controller, struct span *ret, bool *ret_v2)
{
	bool is_lawful = *text == '\0';

	for (const char *line = text; *line; line = next_line(line)) {
		struct span parts[3];

		if (!split(line, ':', parts, 3) || *parts[2].start != '/')
			continue;
		is_lawful = true;
		if (parts[1].len > 0 && has_word(parts[1], controller)) {
			*ret = parts[2];
			*ret_v2 = false;
			return true;
		}
		if (parts[1].len == 0) {
			*ret = parts[2];
			*ret_v2 = true;
		}
	}
	return is_lawful;
}

/* The mount point of that hierarchy in proc/mounts. False: no line of the text is one. */
static bool find_mount(const char *text, const char *controller, bool v2, struct span *ret)
{
	bool is_lawful = *text == '\0';

	for (const char *line = text; *line && !ret->start; line = next_line(line)) {
		struct span parts[5]; /* device, mount point, type, options, the rest */
		const struct span *type = &parts[2];

		if (!split(line, ' ', parts, 5))
			continue;
		is_lawful = true;
		if (v2 && type->len == 7 && strncmp(type->start, "cgroup2", 7) == 0)
			*ret = parts[1];
		if (!v2 && type->len == 6 && strncmp(type->start, "cgroup", 6) == 0 &&
		    has_word(parts[3], controller))
			*ret = parts[1];
	}
	return is_lawful;
}

static int refuse_file(const struct np_sysroot *root, const char *path, const char *text,
                       struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	return np_error_set(err, EINVAL, "%s/%s: '%s' is not what the kernel writes there",
	                    root->path, path, np_error_quote(text, quoted, sizeof(quoted)));
}

static int join(struct span mount, struct span path, struct nr_cgroup *ret, struct np_error *err)
{
	while (mount.len > 0 && *mount.start == '/') {
		mount.start++;
		mount.len--;
	}
	/* What a container sees of a group outside its namespace: nothing of it can be read. */
	if (path.len >= 3 && strncmp(path.start, "/..", 3) == 0)
		path.len = 0;
	while (path.len > 0 && path.start[path.len - 1] == '/')
		path.len--;
	if (asprintf(&ret->dir, "%.*s%.*s", (int)mount.len, mount.start, (int)path.len,
	             path.start) < 0) {
		ret->dir = NULL;
		return np_error_sys(err, ENOMEM, "cgroup");
	}
	ret->mount_len = mount.len;
	return 0;
}

static int read_membership(const struct np_sysroot *root, pid_t pid, char *path, size_t size,
                           char **ret, struct np_error *err)
{
	int rc;

	if (pid > 0)
		snprintf(path, size, "proc/%d/cgroup", (int)pid);
	else
		snprintf(path, size, "proc/self/cgroup");
	rc = np_sysroot_read_optional(root, path, ret, err);
	if (rc == 0 && !*ret && pid > 0)
		return np_error_set(err, ESRCH, "%s/%s: no such process", root->path, path);
	return rc < 0 ? rc : 0;
}

int nr_cgroup_find(const struct np_sysroot *root, pid_t pid, const char *controller,
                   struct nr_cgroup *ret, struct np_error *err)
{
	struct nr_cgroup found = { 0 };
	struct span path = { 0 };
	struct span mount = { 0 };
	char name[32];
	char *groups = NULL;
	char *mounts = NULL;
	int rc = read_membership(root, pid, name, sizeof(name), &groups, err);

	if (rc == 0 && groups && !find_path(groups, controller, &path, &found.v2))
		rc = refuse_file(root, name, groups, err);
	if (rc == 0 && path.start)
		rc = np_sysroot_read_optional(root, "proc/mounts", &mounts, err);
	if (rc >= 0 && mounts && !find_mount(mounts, controller, found.v2, &mount))
		rc = refuse_file(root, "proc/mounts", mounts, err);
	if (rc >= 0 && mount.start)
		rc = join(mount, path, &found, err);
	free(groups);
	free(mounts);
	if (rc < 0)
		return rc;
	*ret = found;
	return 0;
}

void nr_cgroup_release(struct nr_cgroup *group)
{
	free(group->dir);
	*group = (struct nr_cgroup){ 0 };
}

bool nr_cgroup_ascend(struct nr_cgroup *group)
{
	char *slash = group->dir ? strrchr(group->dir, '/') : NULL;

	if (!slash || (size_t)(slash - group->dir) < group->mount_len)
		return false;
	*slash = '\0';
	return true;
}

char *nr_cgroup_path(const struct nr_cgroup *group, const char *file)
{
	char *path;

	return asprintf(&path, "%s/%s", group->dir, file) < 0 ? NULL : path;
}

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "cgroup");
}

/* What of the group's use is page cache and the like, which the kernel gives back when asked. */
static int read_reclaimable(const struct np_sysroot *root, const struct nr_cgroup *group,
                            const struct nr_limit_files *files, uint64_t *ret, struct np_error *err)
{
	struct nr_field fields[FIELDS_MAX] = { 0 };
	size_t count = 0;
	char *path;
	int rc;

	*ret = 0;
	if (!files->stat)
		return 0;
	path = nr_cgroup_path(group, files->stat);
	if (!path)
		return no_memory(err);
	while (count < FIELDS_MAX && files->stat_keys[count]) {
		fields[count].key = files->stat_keys[count];
		count++;
	}
	rc = nr_fields_read(root, path, fields, count, err);
	free(path);
	for (size_t i = 0; i < count && rc == 0; i++)
		*ret += fields[i].found ? fields[i].value : 0;
	return rc;
}

/* The limit of one group; its path stays NULL when it has none. */
static int read_limit(const struct np_sysroot *root, const struct nr_cgroup *group,
                      const struct nr_limit_files *files, struct nr_limit *ret,
                      struct np_error *err)
{
	char *path = nr_cgroup_path(group, files->limit);
	char *used_path = nr_cgroup_path(group, files->used);
	uint64_t reclaimable = 0;
	uint64_t used = 0;
	bool found = false;
	bool found_used = false;
	int rc = path && used_path ? 0 : no_memory(err);

	if (rc == 0)
		rc = nr_number_read(root, path, &found, &ret->limit_bytes, err);
	if (rc == 0 && found && ret->limit_bytes != UINT64_MAX)
		rc = nr_number_read(root, used_path, &found_used, &used, err);
	if (rc == 0 && found_used)
		rc = read_reclaimable(root, group, files, &reclaimable, err);
	free(used_path);
	if (rc < 0 || !found || ret->limit_bytes == UINT64_MAX) {
		free(path);
		return rc;
	}
	used = found_used && used > reclaimable ? used - reclaimable : 0;
	ret->room_bytes = used < ret->limit_bytes ? ret->limit_bytes - used : 0;
	ret->path = path;
	return 0;
}

static int keep(const struct nr_limit *limit, struct nr_limit *kept)
{
	char *path = strdup(limit->path);

	if (!path)
		return -ENOMEM;
	free(kept->path);
	*kept = *limit;
	kept->path = path;
	return 0;
}

int nr_cgroup_limits(const struct np_sysroot *root, const struct nr_cgroup *group,
                     const struct nr_limit_files *files, struct nr_limit *ret_smallest,
                     struct nr_limit *ret_fullest, struct np_error *err)
{
	struct nr_cgroup at = *group;
	struct nr_limit smallest = { 0 };
	struct nr_limit fullest = { 0 };
	unsigned depth = 0;
	int rc = 0;

	at.dir = group->dir ? strdup(group->dir) : NULL;
	if (group->dir && !at.dir)
		return no_memory(err);
	while (at.dir && rc == 0) {
		struct nr_limit limit = { 0 };

		rc = read_limit(root, &at, files, &limit, err);
		if (rc == 0 && limit.path &&
		    (!smallest.path || limit.limit_bytes < smallest.limit_bytes))
			rc = keep(&limit, &smallest) < 0 ? no_memory(err) : 0;
		if (rc == 0 && limit.path &&
		    (!fullest.path || limit.room_bytes < fullest.room_bytes))
			rc = keep(&limit, &fullest) < 0 ? no_memory(err) : 0;
		free(limit.path);
		if (++depth == NR_CGROUP_DEPTH_MAX || !nr_cgroup_ascend(&at))
			break;
	}
	free(at.dir);
	if (rc < 0) {
		free(smallest.path);
		free(fullest.path);
		return rc;
	}
	*ret_smallest = smallest;
	*ret_fullest = fullest;
	return 0;
}
