/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The key of a path: the path itself with its first "/", so that `set /a/b` over memcache and
 * GET /a/b speak of the same object. %XX is decoded, once: /a%2Fb is /a/b. The query, from "?" on, is
 * no part of it; a "?" of the key is written %3F.
 */
#ifndef NS_HTTP_KEY_H
#define NS_HTTP_KEY_H

#include "../store/store.h"
#include "http_parse.h"

/*
 * 0, or -EPROTO with
 *
 *   400  % without two hexadecimal digits; a blank or a control byte, which no key has; "." or ".."
 *        between slashes, which clients and proxies take out on the way
 *   414  longer than NS_KEY_MAX
 */
int ns_http_key(struct ns_http_text path, char key[NS_KEY_MAX], size_t *ret_len,
                struct ns_http_fault *ret_fault);

#endif
