/* SPDX-License-Identifier: BSD-3-Clause */
/* numastore's command line: its own options, and memcached's with memcached's meaning. */
#ifndef NS_OPTIONS_H
#define NS_OPTIONS_H

#include <numastore/server.h>

enum { NS_PLACES_MAX = 256, NS_POOLS_MAX = 16 };

struct ns_options {
	struct ns_config config;
	const char *user;
	const char *prepare_pool; /* only makes that directory a pool */
	const char *pools[NS_POOLS_MAX];
	bool has_head;  /* --ram-head was given */
	bool has_block; /* --block */
	bool is_dry_run;
	struct ns_place_rule rules[NS_PLACES_MAX];
	char *prefixes[NS_PLACES_MAX]; /* owned */
	char *listen;                  /* all of -l, owned */
	struct np_error err;
};

/* Fills *ret, which refers to @argv's strings and to itself; the caller ends it with ns_options_release(). -EINVAL */
int ns_options_parse(int argc, char **argv, struct ns_options *ret);
void ns_options_release(struct ns_options *options);

#endif
