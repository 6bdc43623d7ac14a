/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a topology from sysfs: this machine's, or a captured tree.
 *
 * A file that is absent leaves its fact unknown where the kernel may lawfully leave it out; a file
 * that is there and does not parse is an error, as a guess would place programs wrongly.
 * The files are described in Documentation/ABI/stable/sysfs-devices-node and
 * Documentation/admin-guide/cputopology.rst.
 */
#include "topology_data.h"

#include <numaprobe/cpulist.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_DIR "sys/devices/system/cpu"
#define NODE_DIR "sys/devices/system/node"

enum { PATH_SIZE = 128, QUOTE_SIZE = 80 };

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "topology");
}

/* The indexes of @dir/@file, or where that is absent (old kernels) those of the entries there. */
static int read_indexes(const struct np_sysroot *root, const char *dir, const char *file,
                        const char *prefix, struct np_bitmap *ret, struct np_error *err)
{
	char path[PATH_SIZE];
	bool found;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	rc = np_sysroot_read_list_optional(root, path, ret, &found, err);
	if (rc < 0 || found)
		return rc;
	return np_sysroot_list_indexes(root, dir, prefix, ret, err);
}

int np_sysfs_read_cpus(const struct np_sysroot *root, struct np_topology *topology,
                       struct np_error *err)
{
	struct np_bitmap *online = &topology->cpus[NP_CPUS_ONLINE];
	struct np_bitmap *offline = &topology->cpus[NP_CPUS_OFFLINE];
	bool found;
	int rc = read_indexes(root, CPU_DIR, "online", "cpu", online, err);

	if (rc < 0)
		return rc;
	if (np_bitmap_is_empty(online) && np_sysroot_has(root, CPU_DIR "/online"))
		return np_error_set(err, EINVAL, "%s/" CPU_DIR "/online: '' lists no CPU",
		                    root->path);
	if (np_bitmap_is_empty(online))
		return np_error_set(err, ENOENT, "%s/" CPU_DIR ": no CPU there", root->path);

	rc = np_sysroot_read_list_optional(root, CPU_DIR "/present", offline, &found, err);
	if (rc < 0)
		return rc;
	np_bitmap_and_not(offline, online);
	return np_sysroot_read_list_optional(root, CPU_DIR "/isolated",
	                                     &topology->cpus[NP_CPUS_ISOLATED], &found, err);
}

/* ---- nodes ---- */

static int read_node_cpus(const struct np_sysroot *root, struct np_node *node, struct np_error *err)
{
	char list_path[PATH_SIZE];
	char mask_path[PATH_SIZE];
	bool found;
	int rc;

	snprintf(list_path, sizeof(list_path), NODE_DIR "/node%u/cpulist", node->node);
	rc = np_sysroot_read_list_optional(root, list_path, &node->cpus, &found, err);
	if (rc < 0 || found)
		return rc;

	/* Kernels before 2.6.26 have the mask alone. */
	snprintf(mask_path, sizeof(mask_path), NODE_DIR "/node%u/cpumap", node->node);
	if (np_sysroot_has(root, mask_path))
		return np_sysroot_read_mask(root, mask_path, &node->cpus, err);
	return np_error_sys(err, ENOENT, "%s/%s", root->path, list_path);
}

/*
 * One field of a nodeN/meminfo, "Node 0 MemTotal:  32836 kB", in bytes.
 *   -ENODATA  it has no such line
 */
static int parse_meminfo(const char *text, const char *field, uint64_t *ret_bytes)
{
	const char *line = strstr(text, field);
	char *end;
	unsigned long long kib;

	if (!line)
		return -ENODATA;
	line += strlen(field);
	while (*line == ' ' || *line == '\t')
		line++;
	if (!isdigit((unsigned char)*line))
		return -EINVAL;
	errno = 0;
	kib = strtoull(line, &end, 10);
	if (errno || kib > UINT64_MAX / 1024 || strncmp(end, " kB", 3) != 0)
		return -EINVAL;
	*ret_bytes = kib * 1024;
	return 0;
}

static int read_node_memory(const struct np_sysroot *root, struct np_node *node,
                            struct np_error *err)
{
	char path[PATH_SIZE];
	char quoted[QUOTE_SIZE];
	char *text;
	int rc;

	snprintf(path, sizeof(path), NODE_DIR "/node%u/meminfo", node->node);
	rc = np_sysroot_read_optional(root, path, &text, err);
	if (rc < 0 || !text)
		return rc;
	rc = parse_meminfo(text, "MemTotal:", &node->memory_bytes);
	node->has_memory_size = rc == 0;
	if (rc == 0) {
		rc = parse_meminfo(text, "MemFree:", &node->memory_free_bytes);
		node->has_memory_free = rc == 0;
	}
	if (rc == -ENODATA && node->has_memory_size)
		rc = 0;
	if (rc < 0)
		np_error_set(err, EINVAL, "%s/%s: '%s' holds no line like 'MemTotal: 32836 kB'",
		             root->path, path, np_error_quote(text, quoted, sizeof(quoted)));
	free(text);
	return rc < 0 ? -EINVAL : 0;
}

/* The numbers of a distance file, at most @max of them; their count or -EINVAL. */
static int parse_distances(const char *text, unsigned *values, size_t max)
{
	size_t count = 0;
	const char *pos = text;

	for (;;) {
		unsigned long value;
		char *end;

		while (*pos == ' ' || *pos == '\t')
			pos++;
		if (*pos == '\0')
			return (int)count;
		if (!isdigit((unsigned char)*pos) || count == max)
			return -EINVAL;
		errno = 0;
		value = strtoul(pos, &end, 10);
		if (errno || value > UINT32_MAX)
			return -EINVAL;
		values[count++] = (unsigned)value;
		pos = end;
	}
}

/*
 * Puts a row of distances where it belongs. Its columns stand for the online nodes in ascending
 * order, whatever their numbers; some kernels print one for each possible node instead.
 */
static int place_distances(struct np_topology *topology, size_t row, const unsigned *values,
                           size_t count, const struct np_bitmap *possible)
{
	unsigned *cells = &topology->distance[row * topology->node_count];
	size_t column = 0;

	if (count == topology->node_count) {
		memcpy(cells, values, count * sizeof(*cells));
		return 0;
	}
	if (count == 0 || count != np_bitmap_count(possible))
		return -EINVAL;
	np_bitmap_for_each (node, possible) {
		size_t place = np_topology_node_row(topology, node);

		if (place < topology->node_count)
			cells[place] = values[column];
		column++;
	}
	return 0;
}

static int read_distances(const struct np_sysroot *root, struct np_topology *topology, size_t row,
                          const struct np_bitmap *possible, struct np_error *err)
{
	size_t max = topology->node_count + np_bitmap_count(possible);
	char quoted[QUOTE_SIZE];
	char path[PATH_SIZE];
	unsigned *values;
	char *text;
	int rc;

	snprintf(path, sizeof(path), NODE_DIR "/node%u/distance", topology->node[row].node);
	rc = np_sysroot_read_optional(root, path, &text, err);
	if (rc < 0 || !text)
		return rc;
	values = calloc(max, sizeof(*values));
	rc = values ? parse_distances(text, values, max) : -ENOMEM;
	if (rc >= 0)
		rc = place_distances(topology, row, values, (size_t)rc, possible);
	if (rc == -ENOMEM)
		no_memory(err);
	else if (rc < 0)
		np_error_set(err, EINVAL,
		             "%s/%s: '%s' is not a list of %zu distances, one for each online node",
		             root->path, path, np_error_quote(text, quoted, sizeof(quoted)),
		             topology->node_count);
	free(values);
	free(text);
	return rc;
}

/* A kernel without NUMA support shows no nodes: all there is, is one. */
static int assume_one_node(struct np_topology *topology, struct np_error *err)
{
	struct np_bitmap zero = { 0 };
	int rc = np_bitmap_add(&zero, 0);

	if (rc == 0)
		rc = np_topology_create_nodes(topology, &zero, err);
	np_bitmap_release(&zero);
	if (rc < 0)
		return rc;
	if (np_bitmap_copy(&topology->node[0].cpus, &topology->cpus[NP_CPUS_ONLINE]) < 0 ||
	    np_bitmap_add(&topology->nodes[NP_NODES_WITH_MEMORY], 0) < 0)
		return no_memory(err);
	topology->distance[0] = 10;
	return np_topology_add_note(topology, err,
	                            "the kernel was built without NUMA support: one node assumed");
}

/* Where node/has_memory is absent or empty (old kernels, some captures), sizes tell. */
static int derive_with_memory(struct np_topology *topology)
{
	struct np_bitmap *with_memory = &topology->nodes[NP_NODES_WITH_MEMORY];

	np_bitmap_and(with_memory, &topology->nodes[NP_NODES_ONLINE]);
	for (size_t i = 0; i < topology->node_count; i++) {
		const struct np_node *node = &topology->node[i];

		if ((!node->has_memory_size || node->memory_bytes > 0) &&
		    np_bitmap_add(with_memory, node->node) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_node_list(const struct np_sysroot *root, unsigned scope,
                          struct np_bitmap *ret_online, struct np_bitmap *ret_possible,
                          struct np_error *err)
{
	bool found;
	int rc = read_indexes(root, NODE_DIR, "online", "node", ret_online, err);

	/* The possible nodes explain rows of distances, and nothing else. */
	if (rc == 0 && !(scope & NP_TOPOLOGY_WITHOUT_DISTANCES))
		rc = np_sysroot_read_list_optional(root, NODE_DIR "/possible", ret_possible, &found,
		                                   err);
	if (rc == 0 && np_bitmap_is_empty(ret_online))
		rc = np_error_set(err, EINVAL, "%s/" NODE_DIR "/online: '' lists no node",
		                  root->path);
	return rc;
}

static int read_each_node(const struct np_sysroot *root, unsigned scope,
                          const struct np_bitmap *possible, struct np_topology *topology,
                          struct np_error *err)
{
	struct np_bitmap *has_memory = &topology->nodes[NP_NODES_WITH_MEMORY];
	bool told;
	int rc =
		np_sysroot_read_list_optional(root, NODE_DIR "/has_memory", has_memory, &told, err);

	told = told && !np_bitmap_is_empty(has_memory);
	for (size_t i = 0; i < topology->node_count && rc == 0; i++) {
		rc = read_node_cpus(root, &topology->node[i], err);
		if (rc == 0 && (scope & NP_TOPOLOGY_MEMORY || !told))
			rc = read_node_memory(root, &topology->node[i], err);
		if (rc == 0 && !(scope & NP_TOPOLOGY_WITHOUT_DISTANCES))
			rc = read_distances(root, topology, i, possible, err);
	}
	if (rc == 0 && !told && derive_with_memory(topology) < 0)
		rc = no_memory(err);
	np_bitmap_and(has_memory, &topology->nodes[NP_NODES_ONLINE]);
	return rc;
}

int np_sysfs_read_nodes(const struct np_sysroot *root, unsigned scope, struct np_topology *topology,
                        struct np_error *err)
{
	struct np_bitmap online = { 0 };
	struct np_bitmap possible = { 0 };
	int rc;

	if (!np_sysroot_has(root, NODE_DIR))
		return assume_one_node(topology, err);

	rc = read_node_list(root, scope, &online, &possible, err);
	if (rc == 0) {
		rc = np_topology_create_nodes(topology, &online, err);
		if (rc == -EINVAL)
			np_error_wrap(err, rc, "%s/" NODE_DIR "/online", root->path);
	}
	if (rc == 0)
		rc = read_each_node(root, scope, &possible, topology, err);
	np_bitmap_release(&online);
	np_bitmap_release(&possible);
	return rc;
}

/* ---- all of it ---- */

static int read_everything(const struct np_sysroot *root, const struct np_topology_source *from,
                           struct np_topology *topology, struct np_error *err)
{
	int rc = np_sysfs_read_cpus(root, topology, err);

	if (rc == 0)
		rc = np_sysfs_read_nodes(root, from->scope, topology, err);
	if (rc == 0)
		rc = np_sysfs_read_allowed(root, topology, err);
	/* A device's locality may be a cache. */
	if (rc == 0 &&
	    (from->scope & (NP_TOPOLOGY_GROUPS | NP_TOPOLOGY_NICS) || from->device_count > 0))
		rc = np_sysfs_read_groups(root, topology, err);
	if (rc == 0 && from->scope & NP_TOPOLOGY_NICS)
		rc = np_sysfs_read_nics(root, topology, err);
	for (size_t i = 0; i < from->device_count && rc == 0; i++)
		rc = np_sysfs_read_device(root, from->devices[i], i == 0 && from->has_device_node,
		                          topology, err);
	if (rc == 0 && root->live && topology->device_count > 0)
		rc = np_hwloc_refine(topology, err);
	return rc;
}

int np_sysfs_load(const struct np_topology_source *from, struct np_topology *topology,
                  struct np_error *err)
{
	struct np_sysroot root;
	int rc = np_sysroot_open(from->root, &root, err);

	if (rc < 0)
		return rc;
	topology->live = root.live;
	topology->origin = strdup(root.live ? "this host" : from->root);
	rc = topology->origin ? read_everything(&root, from, topology, err) : no_memory(err);
	np_sysroot_close(&root);
	return rc;
}
