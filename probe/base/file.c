/* SPDX-License-Identifier: BSD-3-Clause */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Up to @size bytes; fewer at the file's end only. */
static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got = read(fd, buf + used, size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

ssize_t np_file_read(const char *what, const char *path, size_t most, char **ret,
                     struct np_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text;
	ssize_t got;

	if (fd < 0)
		return np_error_sys(err, errno, "%s %s", what, path);
	text = malloc(most + 1);
	got = text ? read_all(fd, text, most + 1) : -ENOMEM;
	close(fd);
	if (got < 0) {
		free(text);
		return np_error_sys(err, (int)-got, "%s %s", what, path);
	}
	*ret = text;
	return got;
}

int np_file_temporary(const char *path, char **ret_name, struct np_error *err)
{
	mode_t mask = umask(0);
	char *name;
	int fd;

	umask(mask);
	if (asprintf(&name, "%s.XXXXXX", path) < 0)
		return np_error_sys(err, ENOMEM, "%s", path);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0) {
		fd = np_error_sys(err, errno, "%s: make a file in its folder", path);
		free(name);
		return fd;
	}
	fchmod(fd, 0666 & ~mask);
	*ret_name = name;
	return fd;
}

/* Takes the descriptor. */
static int put_all(int fd, np_file_put *put, const void *data)
{
	FILE *out = fdopen(fd, "w");
	int rc;

	if (!out) {
		close(fd);
		return -ENOMEM;
	}
	rc = put(out, data);
	if (rc == 0 && ferror(out))
		rc = -EIO;
	if (fclose(out) == EOF && rc == 0)
		rc = -errno;
	return rc;
}

int np_file_replace(const char *path, np_file_put *put, const void *data, struct np_error *err)
{
	char *name;
	int fd = np_file_temporary(path, &name, err);
	int rc;

	if (fd < 0)
		return fd;
	rc = put_all(fd, put, data);
	if (rc == 0 && rename(name, path) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(name);
		np_error_sys(err, -rc, "%s", path);
	}
	free(name);
	return rc;
}
