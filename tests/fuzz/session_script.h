/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fuzzer's bytes become a long and mostly sensible stream of requests: what a mutation changes is a
 * command, a length, or how often something is said, more often than a letter.
 *
 *   0x00..0x7f      itself
 *   0x80..0xbf      a request of the dialect's table
 *   0xc0..0xdf N    a value of N * VALUE_STEP bytes is stored under one of a few keys
 *   0xe0..0xfe N    the last N bytes once more, 1 to 31 times
 *   0xff X          X itself
 */
#ifndef SESSION_SCRIPT_H
#define SESSION_SCRIPT_H

#include "../../server/protocol/session.h"

#include <stddef.h>
#include <stdint.h>

enum { SCRIPT_STREAM_MAX = 65536 };

/* The stream's length, at most SCRIPT_STREAM_MAX. */
size_t script_expand(enum ns_session_kind kind, const uint8_t *script, size_t size,
                     char ret[SCRIPT_STREAM_MAX]);

#endif
