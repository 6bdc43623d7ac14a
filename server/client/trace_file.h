/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file that a trace is written into: a new one that takes its name at the end, stdout, or one
 * without a name.
 */
#ifndef NL_TRACE_FILE_H
#define NL_TRACE_FILE_H

#include <numaprobe/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct nl_trace_file {
	int fd;          /* -1 = none */
	char *path;      /* for messages, and the name it will take */
	char *temporary; /* its name until then; NULL = it is written under its own, or has none */
	bool owns_fd;
	uint64_t bytes; /* written so far */
};

/*
 * A new file beside @path, with the rights that a file made by open(2) would have; a link is
 * followed. "-" is stdout. What is no regular file, a pipe or a device, is written itself. Nothing is
 * sought in it.
 *
 *   -EACCES, -EISDIR, -ENOENT ...  of open(2), mkostemp(3)
 */
int nl_trace_file_create(const char *path, struct nl_trace_file *ret, struct np_error *err);

/* One without a name, in $TMPDIR or /var/tmp; it goes when it is closed, however we end. */
int nl_trace_file_create_unnamed(struct nl_trace_file *ret, struct np_error *err);

/* All of it. @parts are changed. */
int nl_trace_file_write_parts(struct nl_trace_file *file, struct iovec *parts, int count,
                              struct np_error *err);
int nl_trace_file_write(struct nl_trace_file *file, const void *bytes, size_t size,
                        struct np_error *err);

/* Gives it its name, and releases it; when that fails the file is removed. */
int nl_trace_file_finish(struct nl_trace_file *file, struct np_error *err);

/* Removes it and releases what it holds; a second time does nothing. */
void nl_trace_file_abandon(struct nl_trace_file *file);

#endif
