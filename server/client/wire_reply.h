/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What reading the two protocols' replies shares; for wire*.c.
 */
#ifndef NL_WIRE_REPLY_H
#define NL_WIRE_REPLY_H

#include "wire.h"

#define NL_LENGTH_MAX ((uint64_t)INT64_MAX) /* of a value, as it is told */

/* nl_reply_parse() of one protocol. @size <= NL_HEAD_MAX; *ret is zero, and stays NL_REPLY_MORE. */
int nl_reply_parse_memcache(enum nl_verb verb, const char *key, const char *bytes, size_t size,
                            struct nl_reply *ret, struct np_error *err);
int nl_reply_parse_http(enum nl_verb verb, const char *bytes, size_t size, struct nl_reply *ret,
                        struct np_error *err);

/* np_error_quote() of bytes that have a length, and may have NULs. @room >= 8. */
const char *nl_reply_quote(const char *bytes, size_t size, char *buf, size_t room);

/* Digits and nothing else, of a number up to @max. */
bool nl_digits_parse(const char *text, size_t size, uint64_t max, uint64_t *ret);

#endif
