/* SPDX-License-Identifier: BSD-3-Clause */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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
