/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_file.h"

#include "../../probe/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void release(struct nl_trace_file *file)
{
	if (file->owns_fd && file->fd >= 0)
		close(file->fd);
	free(file->temporary);
	free(file->path);
	*file = (struct nl_trace_file){ .fd = -1 };
}

void nl_trace_file_abandon(struct nl_trace_file *file)
{
	if (file->temporary)
		unlink(file->temporary);
	release(file);
}

static int open_beside(struct nl_trace_file *file, struct np_error *err)
{
	char *temporary = NULL;
	int fd = np_file_temporary(file->path, &temporary, err);

	if (fd < 0)
		return fd;
	file->fd = fd;
	file->temporary = temporary;
	file->owns_fd = true;
	return 0;
}

/* A link is followed now, so that it is not the link that is replaced. */
static char *real_path(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : strdup(path);
}

static int open_path(struct nl_trace_file *file, struct np_error *err)
{
	struct stat status;

	if (stat(file->path, &status) < 0)
		return open_beside(file, err);
	if (S_ISDIR(status.st_mode))
		return np_error_sys(err, EISDIR, "%s", file->path);
	if (S_ISREG(status.st_mode)) {
		if (access(file->path, W_OK) < 0)
			return np_error_sys(err, errno, "%s: replace it", file->path);
		return open_beside(file, err);
	}
	file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
	file->owns_fd = true;
	return file->fd < 0 ? np_error_sys(err, errno, "%s", file->path) : 0;
}

int nl_trace_file_create(const char *path, struct nl_trace_file *ret, struct np_error *err)
{
	bool is_stdout = strcmp(path, "-") == 0;
	struct nl_trace_file file = {
		.fd = is_stdout ? STDOUT_FILENO : -1,
		.path = is_stdout ? strdup("standard output") : real_path(path),
	};
	int rc = 0;

	if (!file.path)
		return np_error_sys(err, ENOMEM, "%s", path);
	if (!is_stdout)
		rc = open_path(&file, err);
	if (rc < 0) {
		release(&file);
		return rc;
	}
	*ret = file;
	return 0;
}

/* Where O_TMPFILE is not known: a name that is gone at once. */
static int open_unlinked(const char *folder)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/numalat-XXXXXX", folder) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

int nl_trace_file_create_unnamed(struct nl_trace_file *ret, struct np_error *err)
{
	const char *folder = getenv("TMPDIR");
	struct nl_trace_file file = { .owns_fd = true };

	if (!folder || !*folder)
		folder = "/var/tmp";
	file.fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file.fd < 0)
		file.fd = open_unlinked(folder);
	if (file.fd < 0)
		return np_error_sys(err, errno, "a temporary file in %s (TMPDIR tells another)",
		                    folder);
	if (asprintf(&file.path, "a temporary file in %s (TMPDIR tells another)", folder) < 0) {
		close(file.fd);
		return np_error_sys(err, ENOMEM, "a temporary file");
	}
	*ret = file;
	return 0;
}

/* Leaves out what is written. */
static void advance(struct iovec **parts, int *count, size_t written)
{
	while (*count > 0 && written >= (*parts)->iov_len) {
		written -= (*parts)->iov_len;
		++*parts;
		--*count;
	}
	if (*count > 0) {
		(*parts)->iov_base = (char *)(*parts)->iov_base + written;
		(*parts)->iov_len -= written;
	}
}

int nl_trace_file_write_parts(struct nl_trace_file *file, struct iovec *parts, int count,
                              struct np_error *err)
{
	advance(&parts, &count, 0);
	while (count > 0) {
		ssize_t written = writev(file->fd, parts, count);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return np_error_sys(err, errno, "%s", file->path);
		file->bytes += (uint64_t)written;
		advance(&parts, &count, (size_t)written);
	}
	return 0;
}

int nl_trace_file_write(struct nl_trace_file *file, const void *bytes, size_t size,
                        struct np_error *err)
{
	struct iovec part = { .iov_len = size };

	/* It is only read; struct iovec serves readv(2) too. */
	memcpy(&part.iov_base, &bytes, sizeof(bytes));
	return nl_trace_file_write_parts(file, &part, 1, err);
}

int nl_trace_file_finish(struct nl_trace_file *file, struct np_error *err)
{
	int rc = 0;

	/* Some file systems tell only now that there was no room. */
	if (file->owns_fd) {
		rc = close(file->fd) < 0 ? -errno : 0;
		file->fd = -1;
	}
	if (rc == 0 && file->temporary && rename(file->temporary, file->path) < 0)
		rc = -errno;
	if (rc < 0) {
		np_error_sys(err, -rc, "%s", file->path);
		nl_trace_file_abandon(file);
		return rc;
	}
	release(file);
	return 0;
}
