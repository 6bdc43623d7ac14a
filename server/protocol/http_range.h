/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The field Range (RFC 9110, 14.2): which bytes of an object are asked for. Pure.
 */
#ifndef NS_HTTP_RANGE_H
#define NS_HTTP_RANGE_H

#include "http_parse.h"

enum ns_http_part {
	NS_HTTP_WHOLE, /* the answer is 200: no range, not ours to understand, or several of them */
	NS_HTTP_PART,  /* 206 */
	NS_HTTP_BEYOND /* 416: it begins behind the end */
};

/* Of an object of @bytes; *ret_first and *ret_count > 0 are set with NS_HTTP_PART alone. */
enum ns_http_part ns_http_range(struct ns_http_text range, uint64_t bytes, uint64_t *ret_first,
                                uint64_t *ret_count);

#endif
