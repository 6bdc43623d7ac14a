/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The head of an HTTP/1.x request, bytes to a struct. Pure: no I/O, no allocation, no clock.
 *
 * Strict wherever two programs in a row could disagree on where a request ends (request smuggling):
 * a line ends in CR LF, never in LF alone; no folded lines; no blank before a colon; one Host; one
 * Content-Length, of digits alone; none beside Transfer-Encoding, and none of that in HTTP/1.0.
 */
#ifndef NS_HTTP_PARSE_H
#define NS_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NS_HTTP_FIELDS_MAX = 100, /* lines of a head after the first */
	NS_HTTP_LINES_MAX = 4     /* of one field that is a list */
};

/* Points into the caller's bytes; not terminated. */
struct ns_http_text {
	const char *text; /* NULL = not there */
	size_t len;
};

enum ns_http_method {
	NS_HTTP_GET,
	NS_HTTP_HEAD,
	NS_HTTP_PUT,
	NS_HTTP_DELETE,
	NS_HTTP_OPTIONS,
	NS_HTTP_FOREIGN, /* not for objects: POST, PATCH, TRACE, CONNECT */
	NS_HTTP_UNKNOWN  /* any other word */
};

/* The lines of a field that may come several times. */
struct ns_http_list {
	struct ns_http_text lines[NS_HTTP_LINES_MAX];
	unsigned count;
};

struct ns_http_head {
	enum ns_http_method method;
	unsigned minor;           /* of HTTP/1.minor */
	struct ns_http_text path; /* "/..." as sent, without the query; "*" */
	struct ns_http_list if_match;
	struct ns_http_list if_none_match;
	struct ns_http_text range;
	struct ns_http_text if_range;
	struct ns_http_text content_type;
	struct ns_http_text content_range;
	struct ns_http_text content_encoding;
	uint64_t length; /* Content-Length */
	bool has_length;
	bool is_chunked;
	bool expects_continue; /* Expect: 100-continue */
	bool expects_other;    /* Expect: what else */
	bool wants_close;      /* Connection: close */
	bool wants_alive;      /* Connection: keep-alive */
	bool has_host;
};

/* Why it is no request, and the status to say so with: 400, 414, 431, 501, 505. */
struct ns_http_fault {
	unsigned status;
	const char *why; /* static, a sentence without its stop */
};

/* What of an unfinished head has been looked at; all zero for a new one. */
struct ns_http_progress {
	size_t scanned;
	size_t line; /* length of the first line with its end; 0 = not whole yet */
};

/*
 * Reads the head that begins with the first of the bytes; blank lines before it are the caller's to
 * skip. The answer does not depend on the pieces in which they came.
 *
 *   > 0      bytes of the head, with its blank line; *ret is filled
 *   -EAGAIN  not whole yet; *progress is up to date, call again with more of them
 *   -EPROTO  *ret_fault tells; where the next request begins cannot be known
 */
int ns_http_parse(const char *bytes, size_t count, struct ns_http_progress *progress,
                  struct ns_http_head *ret, struct ns_http_fault *ret_fault);

/* Takes what stands before the next comma off *rest, without blanks around it; false at the end. */
bool ns_http_next(struct ns_http_text *rest, struct ns_http_text *ret);

/* Whether it is @word, in capitals or not. */
bool ns_http_is(struct ns_http_text text, const char *word);

#endif
