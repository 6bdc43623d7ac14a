/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A backend that reads files, opened over a made-up root. Its files can vanish while they are open, as
 * kernfs has it and no plain file system: the test is linked with --wrap=pread. READINGS_MAX is the
 * test's own: the most counters that it may have.
 */
#ifndef FILE_BACKEND_H
#define FILE_BACKEND_H

#include "loaded.h"

#include "../../../counters/lib/backend.h"
#include "../../../probe/base/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct opened {
	struct nc_host *host;
	struct nc_counters counters;
	struct nc_backend *backend;
	struct nc_reading readings[READINGS_MAX];
};

static const char *vanished; /* a part of the path; NULL = none */

ssize_t __real_pread(int fd, void *buf, size_t count, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t count, off_t offset);

ssize_t __wrap_pread(int fd, void *buf, size_t count, off_t offset)
{
	char link[64];
	char path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = vanished ? readlink(link, path, sizeof(path) - 1) : 0;
	path[len > 0 ? len : 0] = '\0';
	if (vanished && strstr(path, vanished)) {
		errno = ENODEV;
		return -1;
	}
	return __real_pread(fd, buf, count, offset);
}

typedef int open_backend(const struct nc_host *host, struct nc_counters *ret_counters,
                         struct nc_backend **ret, struct np_error *err);

static inline void open_files(const char *root, open_backend *open, struct opened *ret)
{
	struct np_error err = { 0 };

	memset(ret, 0, sizeof(*ret));
	ret->host = load(root);
	assert_np_ok(open(ret->host, &ret->counters, &ret->backend, &err), &err);
	assert_in_range(ret->counters.count, 1, READINGS_MAX);
}

static inline void close_all(struct opened *opened)
{
	opened->backend->ops->close(opened->backend);
	nc_counters_release(&opened->counters);
	nc_host_free(opened->host);
}

static inline int try_read(struct opened *opened, struct np_error *err)
{
	return opened->backend->ops->read(opened->backend, np_now_ns(), opened->readings, err);
}

static inline void read_all(struct opened *opened)
{
	struct np_error err = { 0 };

	assert_np_ok(try_read(opened, &err), &err);
}

#endif
