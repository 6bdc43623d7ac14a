/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of a host, found out in a child process: a name server that does not answer then
 * holds up nobody whose signals are blocked, and the many libraries that a name can take stay out of
 * a parent that is to be small.
 */
#ifndef NR_LOOK_UP_H
#define NR_LOOK_UP_H

#include <numaprobe/error.h>
#include <sys/socket.h>

enum { NR_ADDRESSES_MAX = 8 };

struct nr_addresses {
	size_t count;
	struct {
		socklen_t len;
		struct sockaddr_storage address;
	} list[NR_ADDRESSES_MAX];
};

/*
 * Waits for the answer; to be called before signals are blocked.
 *
 *   -EINVAL  there is none
 *   other    of pipe2(2) and fork(2)
 */
int nr_look_up(const char *host, const char *port, struct nr_addresses *ret, struct np_error *err);

#endif
