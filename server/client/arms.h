/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arms of a run, which are compared: each a key prefix at a server. "local=l-,far=f-" are two
 * prefixes at one server, "a=x-@h:7001,b=x-@h:7002" two servers.
 */
#ifndef NL_ARMS_H
#define NL_ARMS_H

#include "target.h"
#include "trace.h"

/* Text is owned. A zero-initialised struct has none. */
struct nl_arms {
	unsigned count;
	struct nl_arm {
		char *name; /* "" for the only one, where none was named */
		char *prefix;
		struct nl_server server;
	} arms[NL_TRACE_ARMS_MAX];
};

/*
 * Adds to *ret the arms of @text, "NAME=PREFIX[@SERVER],...": the server is what follows the last
 * '@', and @target's where there is none. @target is checked. What was added before a failure stays:
 * the caller ends *ret with nl_arms_release() in any case.
 *
 *   -EINVAL  err tells which arm and why: a name that is no name or is there already, a prefix that
 *            cannot stand in a key, an arm that asks for the same objects as another, too many
 *   -ENOMEM
 */
int nl_arms_parse(const char *text, const struct nl_target *target, struct nl_arms *ret,
                  struct np_error *err);

/* The one arm without a name: @target's own prefix and server. -ENOMEM */
int nl_arms_set_single(const struct nl_target *target, struct nl_arms *ret, struct np_error *err);

void nl_arms_release(struct nl_arms *arms);

/* Do two arms ask the same server? */
bool nl_server_equal(const struct nl_server *a, const struct nl_server *b);

#endif
