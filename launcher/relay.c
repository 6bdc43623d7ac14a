/* SPDX-License-Identifier: BSD-3-Clause */
#include "relay.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A pipe that poll(2) calls writable takes this much without blocking (pipe(7), PIPE_BUF). */
enum { WRITE_MAX = 4096, LABEL_MAX = 128 };

bool nr_source_wants(const struct nr_source *source)
{
	return source->fd >= 0 &&
	       NR_RELAY_SINK_SIZE - source->sink->len > NR_RELAY_LINE_MAX + LABEL_MAX + 4;
}

static void put(struct nr_sink *sink, const char *text, size_t len)
{
	if (sink->is_broken || len > sizeof(sink->buf) - sink->len)
		return;
	memcpy(sink->buf + sink->len, text, len);
	sink->len += len;
}

static void put_line(const struct nr_source *source, const char *line, size_t len)
{
	put(source->sink, source->label, strnlen(source->label, LABEL_MAX));
	put(source->sink, ": ", 2);
	put(source->sink, line, len);
	put(source->sink, "\n", 1);
}

/* Hands on the lines in the buffer, as far as the sink has room. */
static void split(struct nr_source *source)
{
	size_t done = 0;

	while (nr_source_wants(source)) {
		const char *begin = source->buf + done;
		size_t left = source->len - done;
		const char *end = memchr(begin, '\n', left);

		if (end) {
			put_line(source, begin, (size_t)(end - begin));
			done += (size_t)(end - begin) + 1;
		} else if (left == sizeof(source->buf)) {
			put_line(source, begin, left);
			done += left;
		} else {
			break;
		}
	}
	memmove(source->buf, source->buf + done, source->len - done);
	source->len -= done;
}

void nr_source_read(struct nr_source *source)
{
	ssize_t len;

	split(source);
	if (!nr_source_wants(source) || source->len == sizeof(source->buf))
		return;
	len = read(source->fd, source->buf + source->len, sizeof(source->buf) - source->len);
	if (len > 0) {
		source->len += (size_t)len;
		split(source);
	} else if (len == 0 || (errno != EAGAIN && errno != EINTR)) {
		nr_source_end(source);
	}
}

void nr_source_drain(struct nr_source *source)
{
	size_t before;

	while (source->fd >= 0) {
		nr_sink_flush(source->sink);
		before = source->sink->len;
		nr_source_read(source);
		/* Nothing came: whoever still has the other end does not write. */
		if (source->sink->len == before)
			break;
	}
	nr_source_end(source);
}

void nr_source_end(struct nr_source *source)
{
	if (source->fd < 0)
		return;
	split(source);
	if (source->len > 0)
		put_line(source, source->buf, source->len);
	source->len = 0;
	close(source->fd);
	source->fd = -1;
}

static bool is_writable(const struct nr_sink *sink, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = sink->fd, .events = POLLOUT };

	return poll(&poll_fd, 1, timeout_ms) == 1;
}

static void flush(struct nr_sink *sink, int timeout_ms)
{
	while (sink->len > 0 && !sink->is_broken && is_writable(sink, timeout_ms)) {
		size_t want = sink->len < WRITE_MAX ? sink->len : WRITE_MAX;
		ssize_t len = write(sink->fd, sink->buf, want);

		if (len < 0 && (errno == EINTR || errno == EAGAIN))
			return;
		if (len < 0) {
			sink->is_broken = true;
			len = (ssize_t)sink->len;
		}
		sink->len -= (size_t)len;
		memmove(sink->buf, sink->buf + len, sink->len);
	}
}

void nr_sink_flush(struct nr_sink *sink)
{
	flush(sink, 0);
}

void nr_sink_drain(struct nr_sink *sink, int timeout_ms)
{
	flush(sink, timeout_ms);
}
