/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A directory that was made a pool, with the one file that is used of it. Counters are atomic; the rest
 * is changed under the locks of tails.c.
 */
#ifndef NS_POOL_H
#define NS_POOL_H

#include "tail.h"
#include "units.h"

#include <pthread.h>

enum {
	NS_POOL_GROW_UNITS = 1024,   /* 64 MiB: what its file grows by */
	NS_POOL_UNITS_MAX = 1 << 30, /* 64 TiB */
	NS_POOL_ERRORS_MAX = 8       /* in a row: then nothing new is put there */
};

struct ns_pool {
	char *path;
	int marker_fd; /* locked as long as the pool is open */
	int fd;        /* of the file */
	bool is_direct;
	struct ns_units *units;
	pthread_mutex_t growing; /* held while the file grows */

	/* Atomic. */
	uint64_t reads;
	uint64_t writes;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t errors;
	uint64_t damaged;
	unsigned errors_in_row;
	bool is_retired;
};

/* Errors are those of ns_tails_open(). */
int ns_pool_open(const char *path, struct ns_pool *ret, struct np_error *err);
void ns_pool_close(struct ns_pool *pool);

/*
 * Lets the file be of that many units, more than it has. The space is there, where the filesystem can promise
 * it. With the lock of growing. Faults are counted.
 *
 *   -ENOSPC  the filesystem, a quota or a limit of this process does not give it
 *   -EIO, -ENOMEM
 */
int ns_pool_extend(struct ns_pool *pool, uint32_t units);
/* That the filesystem would still give. */
uint64_t ns_pool_room_bytes(const struct ns_pool *pool);

bool ns_pool_is_retired(const struct ns_pool *pool);
/* How one read or write went: 0 or -errno. */
void ns_pool_count(struct ns_pool *pool, bool is_write, uint64_t bytes, int rc);
/* A read that went well, of which so many units are not what was written. */
void ns_pool_count_damage(struct ns_pool *pool, uint32_t units);

#endif
