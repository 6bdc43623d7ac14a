/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * If-Match, If-None-Match and If-Range (RFC 9110, 13). An object's tag is its cas in hexadecimal,
 * in quotes: it changes with every store, so it is a strong one. Pure.
 */
#ifndef NS_HTTP_CONDITION_H
#define NS_HTTP_CONDITION_H

#include "http_parse.h"

enum { NS_HTTP_TAG_SIZE = 20 };

/* "\"1f\"" into @buf; returns how long it is. */
size_t ns_http_tag(uint64_t cas, char buf[NS_HTTP_TAG_SIZE]);

enum ns_http_condition {
	NS_HTTP_GO,
	NS_HTTP_UNCHANGED, /* GET and HEAD: 304 */
	NS_HTTP_FAILED     /* 412 */
};

/* @cas of the object that is there; 0 = there is none. */
enum ns_http_condition ns_http_condition(const struct ns_http_head *head, uint64_t cas);

bool ns_http_list_is_star(const struct ns_http_list *list);

/* Whether Range counts: there is no If-Range, or it is this object's tag. */
bool ns_http_range_counts(const struct ns_http_head *head, uint64_t cas);

#endif
