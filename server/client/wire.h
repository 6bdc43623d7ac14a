/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two protocols as a client speaks them: requests as bytes, and replies out of bytes. Pure, no
 * input or output; replies come from anybody, so every length is checked.
 */
#ifndef NL_WIRE_H
#define NL_WIRE_H

#include "target.h"

/* Bytes of a reply's head; a longer one is refused. */
#define NL_HEAD_MAX 16384u

enum nl_verb { NL_GET, NL_SET };

/*
 * GET, or the head of SET (HTTP: PUT), behind which the @bytes of the value follow and then
 * nl_request_tail(). @host is told in HTTP's Host field. @ret has room for NL_REQUEST_MAX bytes.
 * Returns the length.
 */
size_t nl_request_format(enum nl_protocol protocol, enum nl_verb verb, const char *host,
                         const char *key, uint64_t bytes, char *ret);

/* What follows a value that is stored: "\r\n" or "". */
const char *nl_request_tail(enum nl_protocol protocol);

enum nl_reply_kind {
	NL_REPLY_MORE,    /* the head is not complete */
	NL_REPLY_VALUE,   /* to GET: it is there */
	NL_REPLY_MISS,    /* to GET: END, 404 */
	NL_REPLY_STORED,  /* to SET: STORED, 200, 201, 204 */
	NL_REPLY_REFUSED, /* ERROR, SERVER_ERROR ..., another status; text says which */
};

enum { NL_REPLY_TEXT_SIZE = 96 };

struct nl_reply {
	enum nl_reply_kind kind;
	size_t head_bytes;   /* up to and with the end of the head */
	uint64_t body_bytes; /* behind it: the value, or the page of an HTTP error */
	size_t tail_bytes;   /* behind that: memcache's "\r\nEND\r\n" after a value, else 0 */
	bool closes;         /* the server ends the connection after this reply */
	char text[NL_REPLY_TEXT_SIZE]; /* the first line as it is, quoted */
};

/*
 * Reads the head of a reply from the beginning of @bytes.
 *
 *   -EPROTO  it is no reply to that verb: another key, chunked, no length, longer than NL_HEAD_MAX …
 */
int nl_reply_parse(enum nl_protocol protocol, enum nl_verb verb, const char *key, const char *bytes,
                   size_t size, struct nl_reply *ret, struct np_error *err);

#endif
