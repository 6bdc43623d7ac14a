/* SPDX-License-Identifier: BSD-3-Clause */
#include "object_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_MODE = 0755, FILE_MODE = 0644 };

static int refuse_prefix(const char *prefix, const char *why, struct np_error *err)
{
	return np_error_set(err, EINVAL, "--directory: prefix '%s': %s", prefix, why);
}

int nl_object_files_check(const char *prefix, struct np_error *err)
{
	const char *at = prefix;

	if (strpbrk(prefix, "%?#"))
		return refuse_prefix(prefix,
		                     "%, ? and # mean something else in a URL than in a "
		                     "file's name",
		                     err);
	while (*at) {
		size_t size = strcspn(at, "/");

		if (at[size] == '/' && size == 2 && strncmp(at, "..", 2) == 0)
			return refuse_prefix(prefix, "it leads out of the folder", err);
		if (at[size] == '/' && size == 1 && *at == '.')
			return refuse_prefix(prefix, "'.' is no name of a folder", err);
		at += size + (at[size] == '/');
	}
	return 0;
}

/* The folder of that name, made if it is not there. */
static int enter(int dir, const char *name)
{
	int fd;

	if (mkdirat(dir, name, FOLDER_MODE) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* From *fd, which is closed, down to the folder in which names with that prefix stand. */
static int descend(int *fd, const char **prefix)
{
	const char *slash;

	while ((slash = strchr(*prefix, '/'))) {
		char name[NL_PREFIX_MAX + 1];
		size_t size = (size_t)(slash - *prefix);
		int next;

		snprintf(name, sizeof(name), "%.*s", (int)size, *prefix);
		*prefix = slash + 1;
		if (size == 0)
			continue;
		next = enter(*fd, name);
		close(*fd);
		*fd = next;
		if (next < 0)
			return next;
	}
	return 0;
}

int nl_object_files_open(const char *directory, const char *prefix, struct nl_object_files *ret,
                         struct np_error *err)
{
	struct nl_object_files files = { .prefix = prefix, .path = directory };
	int rc = nl_object_files_check(prefix, err);

	if (rc < 0)
		return rc;
	files.dir_fd = enter(AT_FDCWD, directory);
	if (files.dir_fd < 0)
		return np_error_sys(err, -files.dir_fd, "%s", directory);
	rc = descend(&files.dir_fd, &files.prefix);
	if (rc < 0)
		return np_error_sys(err, -rc, "%s: folders of '%s'", directory, prefix);
	*ret = files;
	return 0;
}

void nl_object_files_close(struct nl_object_files *files)
{
	if (files->dir_fd >= 0)
		close(files->dir_fd);
	files->dir_fd = -1;
}

static int write_all(int fd, const char *value, uint64_t bytes)
{
	while (bytes > 0) {
		ssize_t count = write(fd, value, (size_t)bytes);

		if (count < 0 && errno != EINTR)
			return -errno;
		if (count > 0) {
			value += count;
			bytes -= (uint64_t)count;
		}
	}
	return 0;
}

int nl_object_files_write(struct nl_object_files *files, uint32_t key, const char *value,
                          uint64_t bytes, struct np_error *err)
{
	int fd;
	int rc;

	nl_key_format(NL_MEMCACHE, files->prefix, key, files->key);
	fd = openat(files->dir_fd, files->key,
	            O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return np_error_sys(err, errno, "%s: file %s", files->path, files->key);
	rc = write_all(fd, value, bytes);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0) {
		unlinkat(files->dir_fd, files->key, 0);
		return np_error_sys(err, -rc, "%s: file %s", files->path, files->key);
	}
	return 0;
}
