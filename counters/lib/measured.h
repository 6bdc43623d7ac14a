/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bandwidth matrix that was measured on the host, "numakit/measure/1": what the CPUs of each node
 * can read from each node's memory. Of it these members are read:
 *
 *   {"schema": "numakit/measure/1", "nodes": [0, 1],
 *    "read_bytes_per_s": [[22677e6, 3784e6], [3855e6, 22463e6]]}
 *
 * A row is a node whose CPUs read, a column a node whose memory is read; null = not measured.
 */
#ifndef NC_MEASURED_H
#define NC_MEASURED_H

#include <numacount/host.h>

/* By socket: the fastest of a pair's nodes. */
struct nc_measured {
	unsigned *sockets;
	size_t count;
	double *bytes_per_s; /* [reader * count + memory]; 0 = unknown */
};

#define NC_MEASURED_BYTES_MAX (32u << 20) /* 1024 x 1024 numbers of 20 bytes */
#define NC_MEASURED_NODES_MAX 1024u       /* Linux's largest NODES_SHIFT is 10 */

/*
 * @host tells which node is of which socket. The caller ends *ret with nc_measured_release().
 *
 *   -EINVAL  no such document, or of other nodes than the host's; err names file, line and what
 *   -E2BIG   longer than NC_MEASURED_BYTES_MAX
 *   -ENOENT ...  of open(2) and read(2)
 *   -ENOMEM
 */
int nc_measured_read(const struct nc_host *host, const char *file, struct nc_measured *ret,
                     struct np_error *err);
void nc_measured_release(struct nc_measured *measured);

/* What the CPUs of @reader can read from the memory of @memory, sockets; 0 = unknown. */
double nc_measured_between(const struct nc_measured *measured, unsigned reader, unsigned memory);

/* The most that @socket can read from another one or, not @is_reader, give to another one. */
double nc_measured_most(const struct nc_measured *measured, unsigned socket, bool is_reader);

#endif
