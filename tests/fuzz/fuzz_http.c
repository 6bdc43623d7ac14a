/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The head of an HTTP request, its path and its ranges, and the chunked body behind it: whole and
 * byte by byte they must come to the same.
 */
#include "fuzz.h"

#include "../../server/protocol/http_chunk.h"
#include "../../server/protocol/http_condition.h"
#include "../../server/protocol/http_key.h"
#include "../../server/protocol/http_parse.h"
#include "../../server/protocol/http_range.h"
#include "../../server/protocol/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct outcome {
	int rc;
	struct ns_http_head head;
	struct ns_http_fault fault;
};

/* In blocks of just their size, so that reading over the end is found. */
static struct outcome parse_in_pieces(const uint8_t *data, size_t size, size_t piece)
{
	struct ns_http_progress progress = { 0 };
	struct outcome outcome = { .rc = -EAGAIN };
	size_t count = 0;

	while (count < size && outcome.rc == -EAGAIN) {
		char *copy;

		count = size - count < piece ? size : count + piece;
		copy = malloc(count);
		if (!copy)
			abort();
		memcpy(copy, data, count);
		outcome.rc = ns_http_parse(copy, count, &progress, &outcome.head, &outcome.fault);
		free(copy);
	}
	return outcome;
}

static void check_slice(struct ns_http_text text, const char *bytes, size_t count)
{
	static const char slash[] = "/";

	if (!text.text || (text.len == 1 && text.text[0] == slash[0]))
		return;
	if (text.text < bytes || text.len > count || (size_t)(text.text - bytes) > count - text.len)
		fuzz_fail("a text that is not in the bytes", "");
}

static void check_list(const struct ns_http_list *list, const char *bytes, size_t count)
{
	if (list->count > NS_HTTP_LINES_MAX)
		fuzz_fail("a list that is too long", "");
	for (unsigned i = 0; i < list->count; i++)
		check_slice(list->lines[i], bytes, count);
}

static void check_key(struct ns_http_text path)
{
	struct ns_http_fault fault;
	char key[NS_KEY_MAX];
	size_t len = 0;

	if (ns_http_key(path, key, &len, &fault) < 0) {
		if (fault.status != 400 && fault.status != 414)
			fuzz_fail("a status that is not in the contract", fault.why);
		return;
	}
	if (len == 0 || len > NS_KEY_MAX || key[0] != '/')
		fuzz_fail("a key that is none", "");
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)key[i] <= ' ' || key[i] == 0x7f)
			fuzz_fail("a blank or a control byte in a key", "");
	}
}

static void check_range(struct ns_http_text range, uint64_t bytes)
{
	uint64_t first = 0;
	uint64_t count = 0;

	if (ns_http_range(range, bytes, &first, &count) == NS_HTTP_PART &&
	    (count == 0 || first >= bytes || count > bytes - first))
		fuzz_fail("a range that is not in the object", "");
}

static void check_head(const struct ns_http_head *head, const char *bytes, size_t count)
{
	static const uint64_t sizes[] = { 0, 1, 10, UINT64_MAX };

	check_slice(head->path, bytes, count);
	check_slice(head->range, bytes, count);
	check_slice(head->if_range, bytes, count);
	check_slice(head->content_type, bytes, count);
	check_list(&head->if_match, bytes, count);
	check_list(&head->if_none_match, bytes, count);
	if (head->is_chunked && head->has_length)
		fuzz_fail("two ways to tell where the body ends", "");
	if (head->path.len > 0 && head->path.text[0] == '/')
		check_key(head->path);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_range(head->range, sizes[i]);
	if (ns_http_condition(head, 0) == NS_HTTP_UNCHANGED)
		fuzz_fail("an object unchanged that is not there", "");
	ns_http_condition(head, 1);
	ns_http_range_counts(head, 1);
}

static void check_same(const struct outcome *a, const struct outcome *b)
{
	if (a->rc != b->rc)
		fuzz_fail("in pieces the head is something else", "");
	if (a->rc == -EPROTO &&
	    (a->fault.status != b->fault.status || strcmp(a->fault.why, b->fault.why) != 0))
		fuzz_fail("in pieces the head is wrong for another reason", a->fault.why);
}

struct body {
	enum ns_chunk_step end;
	size_t used;
	size_t data_bytes;
	uint64_t sum; /* of the data */
};

static struct body decode(const uint8_t *data, size_t size, size_t piece)
{
	struct ns_chunks chunks = { 0 };
	struct body body = { .end = NS_CHUNK_MORE };

	while (body.used < size && body.end != NS_CHUNK_END && body.end != NS_CHUNK_BAD) {
		size_t left = size - body.used;
		struct ns_http_text part = { 0 };
		size_t used;

		if (left > piece)
			left = piece;
		body.end =
			ns_chunks_take(&chunks, (const char *)data + body.used, left, &used, &part);
		if (used == 0 || used > left || part.len > used)
			fuzz_fail("more or less than there was", "");
		body.used += used;
		body.data_bytes += part.len;
		for (size_t i = 0; i < part.len; i++)
			body.sum = body.sum * 31 + (unsigned char)part.text[i];
		if (body.end == NS_CHUNK_DATA)
			body.end = NS_CHUNK_MORE;
	}
	return body;
}

static void check_body(const uint8_t *data, size_t size)
{
	struct body whole = decode(data, size, size);
	struct body bytes = decode(data, size, 1);

	if (whole.end != bytes.end || whole.used != bytes.used ||
	    whole.data_bytes != bytes.data_bytes || whole.sum != bytes.sum)
		fuzz_fail("in pieces the body is something else", "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ns_http_progress progress = { 0 };
	struct outcome whole = { .rc = -EAGAIN };
	struct outcome pieces = parse_in_pieces(data, size, size > 4096 ? 997 : 1);

	if (size > 0)
		whole.rc = ns_http_parse((const char *)data, size, &progress, &whole.head,
		                         &whole.fault);
	check_same(&whole, &pieces);
	if (whole.rc > 0) {
		check_head(&whole.head, (const char *)data, (size_t)whole.rc);
		check_body(data + whole.rc, size - (size_t)whole.rc);
	}
	check_body(data, size);
	return 0;
}
