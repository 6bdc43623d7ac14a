/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Page allocations on each node, by whether a CPU of the same node asked for them (Documentation/
 * admin-guide/numastat.rst). They tell where memory was put, and nothing of how often it is used.
 * A huge page counts as one.
 *
 * The kernel counts for each CPU and adds up when the file is read; with vm.numa_stat = 0 it counts
 * nothing, and the file says 0.
 */
#include "../../probe/base/clock.h"
#include "backend.h"
#include "machine.h"
#include "sources.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODE_DIR "sys/devices/system/node"
#define SWITCH "proc/sys/vm/numa_stat"

enum { LOCAL, REMOTE, KINDS };

enum { PATH_SIZE = 128, TEXT_SIZE = 1024, NAME_SIZE = 16, LIST_SIZE = 128 };

static const char *const keys[KINDS] = { "local_node", "other_node" };

struct node {
	unsigned node;
	char name[NAME_SIZE]; /* "node3" */
	int fd;
	uint64_t counts[KINDS]; /* of the last reading that went well */
	bool has_socket;
	unsigned socket;
	unsigned die;
};

struct numastat {
	struct nc_backend backend;
	uint64_t opened_ns;
	int switch_fd; /* of SWITCH; -1 = no such file: always on */
	size_t node_count;
	struct node nodes[];
};

/* The number of the line "KEY NUMBER". */
static bool find_count(char *text, const char *key, uint64_t *ret)
{
	size_t len = strlen(key);
	char *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));) {
		bool found = strncmp(line, key, len) == 0 && line[len] == ' ' &&
		             nc_machine_u64(line + len + 1, ret);

		if (rest)
			rest[-1] = '\n';
		if (found)
			return true;
	}
	return false;
}

static enum nc_note read_node(struct node *node)
{
	char text[TEXT_SIZE];
	uint64_t counts[KINDS];
	int rc = nc_machine_pread(node->fd, text, sizeof(text));

	if (rc == -ENODEV || rc == -ENOENT)
		return NC_NOTE_GONE;
	if (rc < 0 || !find_count(text, keys[LOCAL], &counts[LOCAL]) ||
	    !find_count(text, keys[REMOTE], &counts[REMOTE]))
		return NC_NOTE_FAILED;
	memcpy(node->counts, counts, sizeof(counts));
	return NC_NOTE_NONE;
}

static bool is_switched_off(int fd)
{
	char text[NAME_SIZE];

	return fd >= 0 && nc_machine_pread(fd, text, sizeof(text)) > 0 && strcmp(text, "0") == 0;
}

static int numastat_read(struct nc_backend *backend, uint64_t time_ns, struct nc_reading *readings,
                         struct np_error *err)
{
	struct numastat *numastat = (struct numastat *)backend;
	uint64_t since_ns = time_ns - numastat->opened_ns;
	bool is_off = is_switched_off(numastat->switch_fd);
	bool is_gone = true;

	for (size_t i = 0; i < numastat->node_count; i++) {
		struct node *node = &numastat->nodes[i];
		enum nc_note note = is_off ? NC_NOTE_FAILED : read_node(node);

		is_gone &= note == NC_NOTE_GONE;
		for (int kind = 0; kind < KINDS; kind++)
			readings[i * KINDS + (size_t)kind] = (struct nc_reading){
				.raw = node->counts[kind],
				.enabled_ns = since_ns,
				.running_ns = since_ns,
				.note = note,
			};
	}
	if (is_gone)
		return np_error_set(err, ENODATA, "numastat: all nodes are gone");
	return 0;
}

static void numastat_close(struct nc_backend *backend)
{
	struct numastat *numastat = (struct numastat *)backend;

	for (size_t i = 0; i < numastat->node_count; i++)
		close(numastat->nodes[i].fd);
	if (numastat->switch_fd >= 0)
		close(numastat->switch_fd);
	free(numastat);
}

static const struct nc_backend_ops numastat_ops = {
	.read = numastat_read,
	.close = numastat_close,
};

/* A node that has CPUs is of the socket of the first of them that is online. */
static void find_socket(const struct np_sysroot *root, const struct nc_host *host,
                        struct node *node)
{
	char path[PATH_SIZE];
	struct np_bitmap cpus = { 0 };

	snprintf(path, sizeof(path), NODE_DIR "/node%u/cpulist", node->node);
	if (np_sysroot_read_list(root, path, &cpus, NULL) == 0)
		np_bitmap_for_each (cpu, &cpus) {
			node->has_socket = nc_host_socket_of(host, cpu, &node->socket, &node->die);
			if (node->has_socket)
				break;
		}
	np_bitmap_release(&cpus);
}

/* The nodes that have a numastat file. An empty set where the kernel has no NUMA. */
static int find_nodes(const struct np_sysroot *root, struct np_bitmap *ret, struct np_error *err)
{
	struct np_bitmap all = { 0 };
	int rc = np_sysroot_list_indexes(root, NODE_DIR, "node", &all, err);

	if (rc == -ENOENT || rc == -ENOTDIR)
		rc = 0;
	np_bitmap_for_each (node, &all) {
		char path[PATH_SIZE];

		snprintf(path, sizeof(path), NODE_DIR "/node%u/numastat", node);
		if (np_sysroot_has(root, path) && np_bitmap_add(ret, node) < 0)
			rc = np_error_sys(err, ENOMEM, "numastat");
	}
	np_bitmap_release(&all);
	return rc;
}

/* 0, or -ENODATA with @ret saying why nothing is counted. */
static int check(const struct np_sysroot *root, const struct np_bitmap *nodes,
                 struct nc_source_state *ret)
{
	long on = 1;

	if (np_bitmap_is_empty(nodes))
		return nc_refuse(ret, "boot a kernel built with CONFIG_NUMA",
		                 "the kernel has no NUMA nodes: no " NODE_DIR "/node*/numastat");
	if (np_sysroot_read_long(root, SWITCH, 0, 1, &on, NULL) == 0 && on == 0)
		return nc_refuse(ret, "as root: sysctl vm.numa_stat=1",
		                 "vm.numa_stat is 0: the kernel does not count allocations");
	return 0;
}

static int open_node(const struct np_sysroot *root, const struct nc_host *host, unsigned index,
                     struct numastat *numastat, struct np_error *err)
{
	struct node *node = &numastat->nodes[numastat->node_count];
	char path[PATH_SIZE];
	int rc;

	*node = (struct node){ .node = index };
	snprintf(node->name, sizeof(node->name), "node%u", index);
	snprintf(path, sizeof(path), NODE_DIR "/node%u/numastat", index);
	rc = np_sysroot_open_file(root, path, &node->fd, err);
	if (rc < 0)
		return rc;
	numastat->node_count++;
	find_socket(root, host, node);
	return 0;
}

static int open_nodes(const struct np_sysroot *root, const struct nc_host *host,
                      const struct np_bitmap *nodes, struct numastat **ret, struct np_error *err)
{
	size_t size = sizeof(struct numastat) + np_bitmap_count(nodes) * sizeof(struct node);
	struct numastat *numastat = calloc(1, size);
	int rc = 0;

	if (!numastat)
		return np_error_sys(err, ENOMEM, "numastat");
	numastat->backend.ops = &numastat_ops;
	numastat->opened_ns = np_now_ns();
	/* Removable once Linux >= 4.14: older ones have no such switch. */
	if (np_sysroot_open_file(root, SWITCH, &numastat->switch_fd, NULL) < 0)
		numastat->switch_fd = -1;
	np_bitmap_for_each (node, nodes)
		if (rc == 0)
			rc = open_node(root, host, node, numastat, err);
	if (rc < 0)
		numastat_close(&numastat->backend);
	else
		*ret = numastat;
	return rc;
}

static int add_counters(const struct numastat *numastat, struct nc_counters *counters,
                        struct np_error *err)
{
	static const enum nc_class classes[KINDS] = { NC_CLASS_PAGES_LOCAL, NC_CLASS_PAGES_REMOTE };
	int rc = 0;

	for (size_t i = 0; i < numastat->node_count * KINDS && rc == 0; i++) {
		const struct node *node = &numastat->nodes[i / KINDS];
		struct nc_counter counter = {
			.what = classes[i % KINDS],
			.name = keys[i % KINDS],
			.box = node->name,
			.units = 1,
			.per = 1,
			.has_socket = node->has_socket,
			.socket = node->socket,
			.die = node->die,
			.node = node->node,
			.group = (unsigned)(i / KINDS),
		};

		rc = nc_append_counter(counters, &counter, err);
	}
	return rc;
}

int nc_numastat_open(const struct nc_host *host, struct nc_counters *ret_counters,
                     struct nc_backend **ret, struct np_error *err)
{
	struct nc_source_state state = { 0 };
	struct numastat *numastat = NULL;
	struct np_bitmap nodes = { 0 };
	struct np_sysroot root;
	int rc = np_sysroot_open(nc_host_root(host), &root, err);

	if (rc < 0)
		return rc;
	rc = find_nodes(&root, &nodes, err);
	if (rc == 0 && check(&root, &nodes, &state) < 0)
		rc = nc_refused(&state, err);
	if (rc == 0)
		rc = open_nodes(&root, host, &nodes, &numastat, err);
	np_bitmap_release(&nodes);
	np_sysroot_close(&root);
	if (!numastat)
		return rc;
	rc = add_counters(numastat, ret_counters, err);
	if (rc < 0)
		numastat_close(&numastat->backend);
	else
		*ret = &numastat->backend;
	return rc;
}

int nc_numastat_look(const struct nc_host *host, struct nc_source_state *ret, struct np_error *err)
{
	struct np_bitmap nodes = { 0 };
	struct np_sysroot root;
	char named[LIST_SIZE];
	int rc = np_sysroot_open(nc_host_root(host), &root, err);

	if (rc < 0)
		return rc;
	rc = find_nodes(&root, &nodes, err);
	if (rc == 0 && check(&root, &nodes, ret) == 0) {
		ret->availability = NC_AVAILABLE;
		snprintf(ret->finds, sizeof(ret->finds), "%s%s",
		         np_cpulist_named("node", &nodes, named, sizeof(named)),
		         np_bitmap_count(&nodes) == 1 ? ", the only one: every allocation is local"
		                                      : "");
	}
	np_bitmap_release(&nodes);
	np_sysroot_close(&root);
	return rc;
}
