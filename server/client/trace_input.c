/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
	BUFFER_BYTES = 1 << 18,
	PEEK_BYTES = 8,
	GZIP_WINDOW = 15 + 16, /* gzip, and nothing else */
};

struct nl_trace_input {
	int fd;
	uint64_t size; /* 0 = not known */
	uint64_t read; /* bytes of the file */
	/* As it is in the file; the rest of it is still to be used. */
	size_t raw_begin;
	size_t raw_end;
	bool raw_ended;
	/* Text; the rest of it is still to be returned. */
	size_t begin;
	size_t end;
	bool has_ended; /* no more text comes */
	bool is_gzip;
	bool in_member; /* of a gzip stream, which may have several */
	bool is_cut;
	z_stream stream;
	unsigned char raw[BUFFER_BYTES];
	char text[BUFFER_BYTES + 1]; /* one more for the end of a line that has none */
};

/* Reads on, when all before is used. 0 = the end. */
static ssize_t fill_raw(struct nl_trace_input *input)
{
	ssize_t got = 0;

	if (input->raw_begin == input->raw_end)
		input->raw_begin = input->raw_end = 0;
	while (!input->raw_ended) {
		got = read(input->fd, input->raw + input->raw_end, BUFFER_BYTES - input->raw_end);
		if (got >= 0 || errno != EINTR)
			break;
	}
	if (got < 0)
		return -errno;
	input->raw_ended |= got == 0;
	input->raw_end += (size_t)got;
	input->read += (uint64_t)got;
	return got;
}

static int open_file(struct nl_trace_input *input, const char *path, struct np_error *err)
{
	struct stat status;
	ssize_t got = 1;

	input->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (input->fd < 0 || fstat(input->fd, &status) < 0)
		return np_error_sys(err, errno, "%s", path);
	if (S_ISDIR(status.st_mode))
		return np_error_sys(err, EISDIR, "%s", path);
	if (S_ISREG(status.st_mode))
		input->size = (uint64_t)status.st_size;
	while (got > 0 && input->raw_end < PEEK_BYTES)
		got = fill_raw(input);
	return got < 0 ? np_error_sys(err, (int)-got, "%s", path) : 0;
}

int nl_trace_input_open(const char *path, struct nl_trace_input **ret, struct np_error *err)
{
	struct nl_trace_input *input = malloc(sizeof(*input));
	int rc;

	if (!input)
		return np_error_sys(err, ENOMEM, "%s", path);
	memset(input, 0, offsetof(struct nl_trace_input, raw));
	rc = open_file(input, path, err);
	if (rc == 0 && input->raw_end >= 2 && input->raw[0] == 0x1f && input->raw[1] == 0x8b) {
		if (inflateInit2(&input->stream, GZIP_WINDOW) != Z_OK)
			rc = np_error_sys(err, ENOMEM, "%s", path);
		else
			input->is_gzip = input->in_member = true;
	}
	if (rc < 0) {
		nl_trace_input_close(input);
		return rc;
	}
	*ret = input;
	return 0;
}

void nl_trace_input_close(struct nl_trace_input *input)
{
	if (!input)
		return;
	if (input->is_gzip)
		inflateEnd(&input->stream);
	if (input->fd >= 0)
		close(input->fd);
	free(input);
}

const unsigned char *nl_trace_input_peek(const struct nl_trace_input *input, size_t *ret_bytes)
{
	*ret_bytes = input->raw_end;
	return input->raw;
}

bool nl_trace_input_is_gzip(const struct nl_trace_input *input)
{
	return input->is_gzip;
}

bool nl_trace_input_is_cut(const struct nl_trace_input *input)
{
	return input->is_cut;
}

bool nl_trace_input_take_file(struct nl_trace_input *input, int *ret_fd)
{
	struct stat status;

	if (fstat(input->fd, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	*ret_fd = input->fd;
	input->fd = -1;
	return true;
}

double nl_trace_input_share(const struct nl_trace_input *input)
{
	return input->size > 0 ? (double)input->read / (double)input->size : 0;
}

int nl_trace_input_raw(struct nl_trace_input *input, const unsigned char **ret, size_t *ret_bytes,
                       struct np_error *err)
{
	ssize_t got = 0;

	if (input->raw_begin == input->raw_end)
		got = fill_raw(input);
	if (got < 0)
		return np_error_sys(err, (int)-got, "read");
	*ret = input->raw + input->raw_begin;
	*ret_bytes = input->raw_end - input->raw_begin;
	input->raw_begin = input->raw_end;
	return *ret_bytes > 0;
}

/* ---- text ---- */

/* Another stream may follow the one that has ended; nothing else may. */
static int begin_member(struct nl_trace_input *input, struct np_error *err)
{
	if (input->raw[input->raw_begin] != 0x1f || inflateReset(&input->stream) != Z_OK)
		return np_error_set(err, EBADMSG, "something stands behind the gzip stream's end");
	input->in_member = true;
	return 0;
}

static int inflate_some(struct nl_trace_input *input, struct np_error *err)
{
	z_stream *stream = &input->stream;
	int rc = input->in_member ? 0 : begin_member(input, err);

	if (rc < 0)
		return rc;
	stream->next_in = input->raw + input->raw_begin;
	stream->avail_in = (unsigned)(input->raw_end - input->raw_begin);
	stream->next_out = (unsigned char *)input->text + input->end;
	stream->avail_out = (unsigned)(BUFFER_BYTES - input->end);
	rc = inflate(stream, Z_NO_FLUSH);
	input->raw_begin = input->raw_end - stream->avail_in;
	input->end = BUFFER_BYTES - stream->avail_out;
	if (rc == Z_STREAM_END)
		input->in_member = false;
	else if (rc != Z_OK && rc != Z_BUF_ERROR)
		return np_error_set(err, EBADMSG, "the gzip stream is damaged: %s",
		                    stream->msg ? stream->msg : "no memory");
	return 0;
}

static void copy_some(struct nl_trace_input *input)
{
	size_t room = BUFFER_BYTES - input->end;
	size_t there = input->raw_end - input->raw_begin;
	size_t count = there < room ? there : room;

	memcpy(input->text + input->end, input->raw + input->raw_begin, count);
	input->raw_begin += count;
	input->end += count;
}

/* More text behind what is there, which moves to the front; or the end of all. */
static int fill_text(struct nl_trace_input *input, struct np_error *err)
{
	size_t rest = input->end - input->begin;
	int rc = 0;

	memmove(input->text, input->text + input->begin, rest);
	input->begin = 0;
	input->end = rest;
	while (rc == 0 && input->end == rest) {
		/* Unpacked text may wait within zlib, but then so does input. */
		if (input->raw_begin == input->raw_end) {
			ssize_t got = fill_raw(input);

			if (got < 0)
				return np_error_sys(err, (int)-got, "read");
			if (got == 0) {
				input->has_ended = true;
				input->is_cut = input->in_member;
				break;
			}
		}
		if (input->is_gzip)
			rc = inflate_some(input, err);
		else
			copy_some(input);
	}
	return rc;
}

int nl_trace_input_line(struct nl_trace_input *input, struct nl_trace_line *ret,
                        struct np_error *err)
{
	char *text = input->text + input->begin;
	char *end = memchr(text, '\n', input->end - input->begin);

	while (!end && !input->has_ended && input->end - input->begin <= NL_TRACE_LINE_MAX) {
		int rc = fill_text(input, err);

		if (rc < 0)
			return rc;
		text = input->text + input->begin;
		end = memchr(text, '\n', input->end - input->begin);
	}
	ret->has_end = end != NULL;
	if (!end && input->end == input->begin)
		return 0;
	if (!end) {
		end = input->text + input->end;
		*end = '\n';
	}
	ret->text = text;
	ret->bytes = (size_t)(end - text);
	if (ret->bytes > NL_TRACE_LINE_MAX)
		return np_error_set(err, EBADMSG, "a line of more than %d bytes",
		                    NL_TRACE_LINE_MAX);
	input->begin += ret->bytes + (ret->has_end ? 1 : 0);
	if (ret->bytes > 0 && ret->has_end && text[ret->bytes - 1] == '\r')
		ret->bytes--;
	return 1;
}
