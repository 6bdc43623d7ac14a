/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file that is read once from its beginning, line by line; what is gzip is unpacked on the way.
 */
#ifndef NL_TRACE_INPUT_H
#define NL_TRACE_INPUT_H

#include <numaprobe/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl_trace_input; /* opaque */

/* No line of a CSV that is a trace is so long. */
enum { NL_TRACE_LINE_MAX = 1024 };

/*
 * Opens it and reads its beginning. The caller ends *ret with nl_trace_input_close().
 *
 *   -EISDIR, -ENOENT, -EACCES ...  of open(2), read(2)
 */
int nl_trace_input_open(const char *path, struct nl_trace_input **ret, struct np_error *err);
void nl_trace_input_close(struct nl_trace_input *input); /* accepts NULL */

/* The beginning, as it is in the file; as many bytes as the caller asks for or the file has. */
const unsigned char *nl_trace_input_peek(const struct nl_trace_input *input, size_t *ret_bytes);

bool nl_trace_input_is_gzip(const struct nl_trace_input *input);

/* Whether one can seek in it; then *ret_fd is its descriptor, which is the caller's from now on. */
bool nl_trace_input_take_file(struct nl_trace_input *input, int *ret_fd);

/* The share that is read, 0..1; 0 where the length is not known. */
double nl_trace_input_share(const struct nl_trace_input *input);

struct nl_trace_line {
	const char *text; /* without its end, CR LF or LF, behind which it is */
	size_t bytes;
	bool has_end; /* false: the file's last line has none; a LF is behind it all the same */
};

/*
 * The next line; 1 = there is one, 0 = the end. *ret is valid until the next call.
 *
 *   -EBADMSG  a line of more than NL_TRACE_LINE_MAX bytes, a damaged gzip stream; err has no
 *             name in it
 *   other     of read(2)
 */
int nl_trace_input_line(struct nl_trace_input *input, struct nl_trace_line *ret,
                        struct np_error *err);

/* Whether the gzip stream ended early. Known when all lines are read. */
bool nl_trace_input_is_cut(const struct nl_trace_input *input);

/* All bytes, as they are in the file, from the beginning; 0 = the end. After a peek only. */
int nl_trace_input_raw(struct nl_trace_input *input, const unsigned char **ret, size_t *ret_bytes,
                       struct np_error *err);

#endif
