/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replies of servers. The first byte of the input tells the protocol and the verb, the second where the
 * rest, the reply, is cut: what is read of it must not depend on how it comes.
 */
#include "fuzz.h"

#include "../../server/client/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEY "k"

enum { OBJECT = 5, SENT_MAX = 32768 };

static const int parse_codes[] = { EPROTO, 0 };
static const int get_codes[] = { ENOENT, EBADMSG, EPROTO, EPIPE, EREMOTEIO, 0 };

/* Parses a copy of just that size, so that a step beyond it is found. */
static int parse(enum nl_protocol protocol, enum nl_verb verb, const char *bytes, size_t size,
                 struct nl_reply *ret)
{
	struct np_error err = { 0 };
	char *copy = malloc(size > 0 ? size : 1);
	int rc;

	if (!copy)
		abort();
	if (size > 0)
		memcpy(copy, bytes, size);
	rc = nl_reply_parse(protocol, verb, KEY, copy, size, ret, &err);
	fuzz_check(rc, &err, parse_codes);
	free(copy);
	return rc;
}

static bool is_same(const struct nl_reply *a, const struct nl_reply *b)
{
	return a->kind == b->kind && a->head_bytes == b->head_bytes &&
	       a->body_bytes == b->body_bytes && a->tail_bytes == b->tail_bytes &&
	       a->closes == b->closes && strcmp(a->text, b->text) == 0;
}

/* What a part says holds for the whole. */
static void check_cut(enum nl_protocol protocol, enum nl_verb verb, const char *bytes, size_t size,
                      size_t cut)
{
	struct nl_reply whole = { 0 };
	struct nl_reply part = { 0 };
	int whole_rc = parse(protocol, verb, bytes, size, &whole);
	int part_rc = parse(protocol, verb, bytes, cut, &part);

	if (part_rc < 0 && whole_rc != part_rc)
		fuzz_fail("a part is refused that the whole has", part.text);
	if (part_rc == 0 && part.kind != NL_REPLY_MORE && (whole_rc < 0 || !is_same(&part, &whole)))
		fuzz_fail("a part is read differently from the whole", part.text);
	if (whole_rc == 0 && whole.kind != NL_REPLY_MORE &&
	    (whole.head_bytes > size || whole.head_bytes > NL_HEAD_MAX))
		fuzz_fail("a head longer than what there is", whole.text);
}

/* The same reply out of a socket, which then ends. */
static void check_exchange(enum nl_protocol protocol, const char *bytes, size_t size)
{
	static char host[] = "fuzz";
	const struct nl_server server = { .host = host };
	struct nl_connection connection = {
		.server = &server,
		.protocol = protocol,
		.deadline_ms = 10000,
	};
	char buffer[NL_HEAD_MAX + OBJECT];
	const struct nl_get get = {
		.key = KEY,
		.request = "?",
		.request_bytes = 1,
		.object_bytes = OBJECT,
		.buffer = buffer,
	};
	struct np_error err = { 0 };
	struct nl_timing timing;
	const char *value = NULL;
	int fds[2];
	int rc;

	size = size < SENT_MAX ? size : SENT_MAX;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
	    send(fds[1], bytes, size, MSG_DONTWAIT) != (ssize_t)size ||
	    shutdown(fds[1], SHUT_WR) < 0)
		abort();
	connection.fd = fds[0];
	rc = nl_exchange_get(&connection, &get, &timing, &value, &err);
	fuzz_check(rc, &err, get_codes);
	if (rc == 0 && (value < buffer || value + OBJECT > buffer + sizeof(buffer) ||
	                !memmem(bytes, size, value, OBJECT)))
		fuzz_fail("not the value that came", "");
	if (rc < 0 && rc != -ENOENT && connection.fd >= 0)
		fuzz_fail("the connection is still open", err.text);
	nl_connection_close(&connection);
	close(fds[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum nl_protocol protocol;
	enum nl_verb verb;
	const char *bytes;

	if (size < 2)
		return 0;
	protocol = data[0] & 1 ? NL_HTTP : NL_MEMCACHE;
	verb = data[0] & 2 ? NL_SET : NL_GET;
	bytes = (const char *)data + 2;
	size -= 2;
	check_cut(protocol, verb, bytes, size, size > 0 ? data[1] * size / 255 : 0);
	if (verb == NL_GET && size > 0)
		check_exchange(protocol, bytes, size);
	return 0;
}
