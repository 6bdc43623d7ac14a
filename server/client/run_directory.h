/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A directory of four cases, as goblin-store's experiment leaves it: 01-normal-memcache, 02-normal-http,
 * 03-perverse-memcache, 04-perverse-http, each with its trace. Normal is memory of the serving node,
 * perverse that of the farthest one.
 */
#ifndef NL_RUN_DIRECTORY_H
#define NL_RUN_DIRECTORY_H

#include <numaprobe/error.h>
#include <stdbool.h>
#include <stddef.h>

enum { NL_RUN_PROTOCOLS = 2 }; /* memcache, http */

struct nl_run_pair {
	const char *protocol; /* "memcache", "http" */
	char *local;          /* path of the normal case's trace; NULL = there is none */
	char *remote;         /* of the perverse one's */
};

struct nl_run_directory {
	struct nl_run_pair pairs[NL_RUN_PROTOCOLS]; /* memcache first */
};

/*
 * Finds the traces: samples.nlt of a case, else samples.csv, else samples.csv.gz. The caller ends *ret
 * with nl_run_directory_release().
 *
 *   -ENOENT   no protocol has both cases; err names what is lacking
 *   -ENOMEM
 *   other     of stat(2)
 */
int nl_run_directory_find(const char *path, struct nl_run_directory *ret, struct np_error *err);
void nl_run_directory_release(struct nl_run_directory *directory);

static inline bool nl_run_pair_is_whole(const struct nl_run_pair *pair)
{
	return pair->local && pair->remote;
}

/* The folder of a pair's case, "03-perverse-memcache". */
const char *nl_run_case_name(const struct nl_run_pair *pair, bool is_remote);

#endif
