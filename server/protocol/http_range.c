/* SPDX-License-Identifier: BSD-3-Clause */
#include "http_range.h"

#include <string.h>
#include <strings.h>

/* Takes digits off *rest; false when there are none. What is too large is as large as can be. */
static bool next_number(struct ns_http_text *rest, uint64_t *ret)
{
	uint64_t number = 0;
	size_t len = 0;

	for (; len < rest->len && rest->text[len] >= '0' && rest->text[len] <= '9'; len++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (unsigned)(rest->text[len] - '0'), &number))
			number = UINT64_MAX;
	}
	rest->text += len;
	rest->len -= len;
	*ret = number;
	return len > 0;
}

/* "-N", the last N bytes. */
static enum ns_http_part read_suffix(struct ns_http_text spec, uint64_t bytes, uint64_t *ret_first,
                                     uint64_t *ret_count)
{
	uint64_t count;

	spec.text++;
	spec.len--;
	if (!next_number(&spec, &count) || spec.len > 0)
		return NS_HTTP_WHOLE;
	if (count == 0)
		return NS_HTTP_BEYOND;
	/* It could be had, but Content-Range has no words for it. */
	if (bytes == 0)
		return NS_HTTP_WHOLE;
	if (count > bytes)
		count = bytes;
	*ret_first = bytes - count;
	*ret_count = count;
	return NS_HTTP_PART;
}

static enum ns_http_part read_spec(struct ns_http_text spec, uint64_t bytes, uint64_t *ret_first,
                                   uint64_t *ret_count)
{
	uint64_t first;
	uint64_t last = UINT64_MAX;

	if (spec.text[0] == '-')
		return read_suffix(spec, bytes, ret_first, ret_count);
	if (!next_number(&spec, &first) || spec.len == 0 || spec.text[0] != '-')
		return NS_HTTP_WHOLE;
	spec.text++;
	spec.len--;
	if (spec.len > 0 && (!next_number(&spec, &last) || spec.len > 0 || last < first))
		return NS_HTTP_WHOLE;
	if (first >= bytes)
		return NS_HTTP_BEYOND;
	*ret_first = first;
	*ret_count = (last < bytes ? last + 1 : bytes) - first;
	return NS_HTTP_PART;
}

enum ns_http_part ns_http_range(struct ns_http_text range, uint64_t bytes, uint64_t *ret_first,
                                uint64_t *ret_count)
{
	struct ns_http_text only = { 0 };
	struct ns_http_text spec;

	if (range.len < 6 || strncasecmp(range.text, "bytes=", 6) != 0)
		return NS_HTTP_WHOLE;
	range.text += 6;
	range.len -= 6;
	while (ns_http_next(&range, &spec)) {
		/* A server may send all of it then: it is spared to send some many times. */
		if (spec.len > 0 && only.len > 0)
			return NS_HTTP_WHOLE;
		if (spec.len > 0)
			only = spec;
	}
	return only.len > 0 ? read_spec(only, bytes, ret_first, ret_count) : NS_HTTP_WHOLE;
}
