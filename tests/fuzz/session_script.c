/* SPDX-License-Identifier: BSD-3-Clause */
#include "session_script.h"

#include <stdio.h>
#include <string.h>

enum { VALUE_STEP = 40, PIECE_MAX = 256 * VALUE_STEP + 256, KEYS = 8 };

static const char *const memcache_requests[] = {
	"get k0\r\n",
	"get k0 k1 k2 k3\r\n",
	"gets k1 k1 nothing\r\n",
	"gat 0 k2 k3\r\n",
	"gats 100 k0\r\n",
	"set k0 5 0 3\r\nabc\r\n",
	"set k1 0 0 0\r\n\r\n",
	"set k2 0 -1 4\r\nlate\r\n",
	"set k3 0 100 2 noreply\r\n12\r\n",
	"set k4 0 0 2\r\nlonger than told\r\n",
	"set k5 0 0 999999999\r\n",
	"add k0 0 0 1\r\nx\r\n",
	"replace k0 1 0 1\r\ny\r\n",
	"append k0 0 0 5\r\nafter\r\n",
	"prepend k0 0 0 6 noreply\r\nbefore\r\n",
	"append k1 0 0 4000\r\n",
	"cas k0 0 0 1 1\r\nz\r\n",
	"incr k3 18446744073709551615\r\n",
	"decr k3 100\r\n",
	"incr k0 1 noreply\r\n",
	"delete k0\r\n",
	"delete k1 0 noreply\r\n",
	"touch k3 1000\r\n",
	"flush_all\r\n",
	"flush_all 1000\r\n",
	"flush_all 0 noreply\r\n",
	"version\r\n",
	"verbosity 1\r\n",
	"mn\r\n",
	"mg k0 v t f s k c O1234 q\r\n",
	"mg k1 v N30 R20 h l\r\n",
	"mg nothing v E77 N10\r\n",
	"mg azA= b k v\r\n",
	"ms k0 4 T100 F7 c b\r\nabcd\r\n",
	"ms k0 2 MA I C1 q\r\nxx\r\n",
	"ms k1 S100\r\n",
	"md k0 I T10 x\r\n",
	"md k0 q C9\r\n",
	"ma k3 N0 J13 D5 v t c\r\n",
	"ma k3 MD q\r\n",
	"me k0\r\n",
	"stats\r\n",
	"stats settings\r\n",
	"stats placement\r\n",
	"stats conns\r\n",
	"stats reset\r\n",
	"cache_memlimit 64\r\n",
	"place a=far b=local k=node:0\r\n",
	"place none\r\n",
	"shutdown\r\n",
	"set x 0 0 9\r\nuser pass\r\n",
	"quit\r\n",
	"\r\n",
	"get ",
	"nonsense\r\n",
};

static const char *const http_requests[] = {
	"GET /k0 HTTP/1.1\r\nHost: a\r\n\r\n",
	"HEAD /k1 HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /k2 HTTP/1.0\r\n\r\n",
	"GET /k2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	"GET /k3 HTTP/1.1\r\nHost: a\r\nRange: bytes=1-5\r\n\r\n",
	"GET /k3 HTTP/1.1\r\nHost: a\r\nRange: bytes=-9\r\nIf-Range: \"1\"\r\n\r\n",
	"GET /k4 HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"1\", W/\"2\"\r\n\r\n",
	"GET /k%34?x#y HTTP/1.1\r\nHost: a\r\n\r\n",
	"PUT /k0 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
	"PUT /k1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Type: text/html\r\n\r\n",
	"PUT /k2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
	"PUT /k3 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nwait",
	"PUT /k4 HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n",
	"PUT /k5 HTTP/1.1\r\nHost: a\r\nIf-Match: \"3\"\r\nContent-Length: 1\r\n\r\nx",
	"PUT /k5 HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\nContent-Length: 1\r\n\r\nx",
	"5\r\nhello\r\n",
	"a;name=value\r\n0123456789\r\n",
	"fff\r\n",
	"0\r\n\r\n",
	"0\r\nTrailer: x\r\n\r\n",
	"DELETE /k0 HTTP/1.1\r\nHost: a\r\n\r\n",
	"DELETE /k1 HTTP/1.1\r\nHost: a\r\nIf-Match: *\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
	"POST /k0 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nxxxxx",
	"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET http://a/k0 HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /../k0 HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /k0 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
	"GET /k0 HTTP/1.1\r\n\r\n",
	"GET /k0 HTTP/2.0\r\nHost: a\r\n\r\n",
	"GET /k0\r\n\r\n",
	"Host: a\r\n",
	"\r\n",
	"X-Long: ",
	"GET /k0 HTTP/1.1\n\n",
	"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
	"HEAD /metrics HTTP/1.0\r\n\r\n",
};

struct stream {
	char *bytes;
	size_t len;
};

static void add(struct stream *stream, const char *bytes, size_t count)
{
	if (count > SCRIPT_STREAM_MAX - stream->len)
		count = SCRIPT_STREAM_MAX - stream->len;
	memmove(stream->bytes + stream->len, bytes, count);
	stream->len += count;
}

static void add_request(struct stream *stream, enum ns_session_kind kind, unsigned index)
{
	const char *const *table = kind == NS_SESSION_MEMCACHE ? memcache_requests : http_requests;
	size_t count = kind == NS_SESSION_MEMCACHE
	                       ? sizeof(memcache_requests) / sizeof(memcache_requests[0])
	                       : sizeof(http_requests) / sizeof(http_requests[0]);
	const char *text = table[index % count];

	add(stream, text, strlen(text));
}

/* Such that where it stands can be told from what stands there. */
static size_t fill_value(char *to, size_t count, unsigned salt)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (char)('a' + (i + i / 26 + salt) % 26);
	return count;
}

static void add_value(struct stream *stream, enum ns_session_kind kind, unsigned how, unsigned size)
{
	size_t count = (size_t)size * VALUE_STEP;
	unsigned key = how % KEYS;
	char text[PIECE_MAX];
	int len;

	if (kind == NS_SESSION_MEMCACHE)
		len = snprintf(text, sizeof(text), "%s k%u %u 0 %zu%s\r\n",
		               how & 8 ? "append" : "set", key, size, count,
		               how & 16 ? " noreply" : "");
	else if (how & 8)
		len = snprintf(text, sizeof(text),
		               "PUT /k%u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		               "%zx\r\n",
		               key, count);
	else
		len = snprintf(text, sizeof(text),
		               "PUT /k%u HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", key,
		               count);
	add(stream, text, (size_t)len);
	add(stream, text, fill_value(text, count, how));
	if (kind == NS_SESSION_MEMCACHE)
		add(stream, "\r\n", 2);
	else if (how & 8)
		add(stream, "\r\n0\r\n\r\n", 7);
}

static void repeat(struct stream *stream, unsigned times, size_t back)
{
	char text[UINT8_MAX];

	if (back > stream->len)
		back = stream->len;
	memcpy(text, stream->bytes + stream->len - back, back);
	while (times-- > 0)
		add(stream, text, back);
}

size_t script_expand(enum ns_session_kind kind, const uint8_t *script, size_t size,
                     char ret[SCRIPT_STREAM_MAX])
{
	struct stream stream = { .bytes = ret };

	for (size_t i = 0; i < size; i++) {
		unsigned byte = script[i];
		unsigned next = i + 1 < size ? script[i + 1] : 0;

		if (byte < 0x80) {
			add(&stream, (const char *)&script[i], 1);
			continue;
		}
		if (byte < 0xc0) {
			add_request(&stream, kind, byte & 0x3f);
			continue;
		}
		i++;
		if (byte < 0xe0)
			add_value(&stream, kind, byte & 0x1f, next);
		else if (byte < 0xff)
			repeat(&stream, (byte & 0x1f) + 1, next);
		else
			add(&stream, &(char){ (char)next }, 1);
	}
	return stream.len;
}
