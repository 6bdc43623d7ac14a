/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host to test with: a temporary folder that stands for "/", with a small sysfs in it that is
 * written whole (host_build) or file by file. Everything fails the test that calls it.
 */
#ifndef HOST_H
#define HOST_H

#include "check.h"

#include "../../probe/base/sysroot.h"

#include <numaprobe/topology.h>

#define CPU_DIR "sys/devices/system/cpu"
#define NODE_DIR "sys/devices/system/node"
#define NET_DIR "sys/class/net"

enum { HOST_NICS_MAX = 4 };

/* "0000:c1:00.0" becomes sys/devices/pci0000:c1/0000:c1:00.0. */
struct host_nic {
	const char *name;          /* NULL ends the list */
	const char *pci;           /* its address, 4 digits of domain */
	long numa_node;            /* -1 = the firmware does not tell */
	const char *local_cpulist; /* NULL = no such file */
};

/*
 * Nodes are numbered from 0, and so are CPUs: first those of node 0, then of node 1 …; with SMT
 * first each core's first thread on all nodes, then the second ones, as on PCs. Each node is a
 * package and has an L3.
 */
struct host_shape {
	unsigned node_count;
	unsigned cores_per_node;
	unsigned threads_per_core; /* 0 = 1 */
	const unsigned *distances; /* the rows one after another; NULL = 10 local and 20 remote */
	struct host_nic nics[HOST_NICS_MAX];
};

struct host {
	char dir[256];
	struct np_sysroot root;
};

/* For cmocka: *state is the struct host. */
int host_create(void **state);
int host_destroy(void **state);
#define host_test(f) cmocka_unit_test_setup_teardown(f, host_create, host_destroy)

/* Writes the sysfs of that shape; files of other names that are there already stay. */
void host_build(const struct host *host, const struct host_shape *shape);

/* Puts a file there, instead of what was there; the folders on the way are made. */
void host_write(const struct host *host, const char *path, const char *text);
void host_write_bytes(const struct host *host, const char *path, const void *bytes, size_t size);
void host_write_cpu(const struct host *host, unsigned cpu, const char *file, const char *text);
void host_write_node(const struct host *host, unsigned node, const char *file, const char *text);

/* Changes a file's text in place, as the kernel does: who has it open reads the new one. */
void host_rewrite(const struct host *host, const char *path, const char *text);

/* The same as host_write() for a symbolic link, a pipe and an empty folder. */
void host_link(const struct host *host, const char *path, const char *target);
void host_fifo(const struct host *host, const char *path);
void host_mkdir(const struct host *host, const char *path);

/* Removes a file or a folder with all that is in it; it need not be there. */
void host_remove(const struct host *host, const char *path);

/* Loads the host with these device names (ended by NULL), or fails the test; end with _free(). */
struct np_topology *host_load(const struct host *host, unsigned scope, const char *const devices[]);

/* The same where the load must fail; returns its code. */
int host_load_fails(const struct host *host, unsigned scope, const char *const devices[],
                    struct np_error *err);

/* One of the topology's notes has @part in it; else the test fails with all of them. */
void assert_note(const struct np_topology *topology, const char *part);

/* Removes a tree by its absolute name. */
void remove_tree(const char *path);

/* Makes a temporary folder under $TMPDIR, else in memory or under /tmp; its name in @buf. */
void make_temporary(char *buf, size_t size);

#endif
