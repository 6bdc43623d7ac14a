/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_reply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { HOST_SIZE = 300 };

/* As the Host field has it: addresses with colons in brackets, and something for a unix socket. */
static const char *host_field(const char *host, char buf[HOST_SIZE])
{
	const char *colon = strchr(host, ':');

	if (strchr(host, '/') || strncmp(host, "unix:", 5) == 0)
		return "localhost";
	if (*host == '[' || !colon || !strchr(colon + 1, ':'))
		return host;
	snprintf(buf, HOST_SIZE, "[%s]", host);
	return buf;
}

static int format_http(enum nl_verb verb, const char *host, const char *key, uint64_t bytes,
                       char *ret)
{
	static const char common[] = "HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: numalat\r\n";
	char buf[HOST_SIZE];
	int used;

	host = host_field(host, buf);
	used = snprintf(ret, NL_REQUEST_MAX, "%s %.*s ", verb == NL_GET ? "GET" : "PUT", NL_KEY_MAX,
	                key);
	used += snprintf(ret + used, NL_REQUEST_MAX - (size_t)used, common, HOST_SIZE, host);
	if (verb == NL_SET)
		used += snprintf(ret + used, NL_REQUEST_MAX - (size_t)used,
		                 "Content-Length: %" PRIu64 "\r\n", bytes);
	return used + snprintf(ret + used, NL_REQUEST_MAX - (size_t)used, "\r\n");
}

size_t nl_request_format(enum nl_protocol protocol, enum nl_verb verb, const char *host,
                         const char *key, uint64_t bytes, char *ret)
{
	int used;

	if (protocol == NL_HTTP)
		used = format_http(verb, host, key, bytes, ret);
	else if (verb == NL_GET)
		used = snprintf(ret, NL_REQUEST_MAX, "get %.*s\r\n", NL_KEY_MAX, key);
	else
		used = snprintf(ret, NL_REQUEST_MAX, "set %.*s 0 0 %" PRIu64 "\r\n", NL_KEY_MAX,
		                key, bytes);
	return (size_t)used;
}

const char *nl_request_tail(enum nl_protocol protocol)
{
	return protocol == NL_HTTP ? "" : "\r\n";
}

// NOLINTNEXTLINE(readability-function-size): which request, its reply, and what is read of it
int nl_reply_parse(enum nl_protocol protocol, enum nl_verb verb, const char *key, const char *bytes,
                   size_t size, struct nl_reply *ret, struct np_error *err)
{
	struct nl_reply reply = { 0 };
	size_t searched = size < NL_HEAD_MAX ? size : NL_HEAD_MAX;
	int rc = protocol == NL_HTTP
	                 ? nl_reply_parse_http(verb, bytes, searched, &reply, err)
	                 : nl_reply_parse_memcache(verb, key, bytes, searched, &reply, err);

	if (rc < 0)
		return rc;
	if (reply.kind == NL_REPLY_MORE && searched == NL_HEAD_MAX)
		return np_error_set(
			err, EPROTO, "the reply's head has no end within %u bytes: '%s'",
			NL_HEAD_MAX,
			nl_reply_quote(bytes, searched, reply.text, sizeof(reply.text)));
	*ret = reply;
	return 0;
}

const char *nl_reply_quote(const char *bytes, size_t size, char *buf, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)bytes[i];
		bool is_plain = c >= ' ' && c <= '~';

		/* Each leaves room for the dots and the end. */
		if (used + (is_plain ? 1 : 4) + 4 > room) {
			memcpy(buf + used, "...", 3);
			used += 3;
			break;
		}
		if (is_plain)
			buf[used++] = (char)c;
		else
			used += (size_t)snprintf(buf + used, room - used, "\\x%02x", c);
	}
	buf[used] = '\0';
	return buf;
}

bool nl_digits_parse(const char *text, size_t size, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (size == 0)
		return false;
	for (size_t i = 0; i < size; i++) {
		uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';

		if (digit > 9 || value > (max - digit) / 10)
			return false;
		value = 10 * value + digit;
	}
	*ret = value;
	return true;
}
