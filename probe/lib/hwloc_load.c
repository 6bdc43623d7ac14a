/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hwloc's part: topologies from its XML exports, and this machine's quirks.
 *
 * Loaded with INCLUDE_DISALLOWED, as hwloc drops memory-less nodes and everything outside a cpuset
 * otherwise; the allowed sets are applied by us.
 */
#include "topology_data.h"

#include "device_spec.h"
#include "hwloc_load.h"
#include "hwloc_rehearse.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { XML_HEAD_BYTES = 1024, CANDIDATES_SIZE = 256 };

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "topology");
}

int np_hwloc_add_bitmap(struct np_bitmap *ret, hwloc_const_bitmap_t from)
{
	int rc = 0;

	if (!from || hwloc_bitmap_weight(from) < 0)
		return 0;
	for (int i = hwloc_bitmap_first(from); i >= 0 && rc == 0; i = hwloc_bitmap_next(from, i))
		rc = np_bitmap_add(ret, (unsigned)i);
	return rc;
}

static int read_sets(hwloc_topology_t hwloc, struct np_topology *topology, struct np_error *err)
{
	hwloc_obj_t machine = hwloc_get_root_obj(hwloc);
	struct np_bitmap *online = &topology->cpus[NP_CPUS_ONLINE];
	struct np_bitmap *offline = &topology->cpus[NP_CPUS_OFFLINE];
	struct np_bitmap *allowed = &topology->cpus[NP_CPUS_ALLOWED];

	int rc = np_hwloc_add_bitmap(online, machine->cpuset);

	if (rc == 0)
		rc = np_hwloc_add_bitmap(offline, machine->complete_cpuset);
	if (rc == 0)
		rc = np_hwloc_add_bitmap(allowed, hwloc_topology_get_allowed_cpuset(hwloc));
	if (rc == 0)
		rc = np_bitmap_copy(&topology->cpus[NP_CPUS_CPUSET], allowed);
	if (rc == 0)
		rc = np_hwloc_add_bitmap(&topology->nodes[NP_NODES_ALLOWED],
		                         hwloc_topology_get_allowed_nodeset(hwloc));
	if (rc == -ERANGE)
		return np_error_set(err, EINVAL, "%s: it numbers CPUs or nodes beyond %u",
		                    topology->origin, NP_BITMAP_INDEX_MAX);
	if (rc < 0)
		return no_memory(err);
	np_bitmap_and_not(offline, online);
	return 0;
}

/* Takes away from @cpus what nodes with a smaller cpuset hold: theirs is the more exact claim. */
static int yield_cpus(hwloc_obj_t *nodes, size_t count, hwloc_obj_t node, struct np_bitmap *cpus)
{
	int weight = hwloc_bitmap_weight(node->cpuset);

	for (size_t i = 0; i < count; i++) {
		struct np_bitmap claimed = { 0 };

		if (hwloc_bitmap_weight(nodes[i]->cpuset) >= weight)
			continue;
		if (np_hwloc_add_bitmap(&claimed, nodes[i]->cpuset) < 0) {
			np_bitmap_release(&claimed);
			return -ENOMEM;
		}
		np_bitmap_and_not(cpus, &claimed);
		np_bitmap_release(&claimed);
	}
	return 0;
}

/*
 * hwloc puts a node without CPUs (HBM, CXL) at the CPUs that it is near to, so its cpuset says
 * "local to" and not "holds"; the kernel's word is not in the export. A set that holds another
 * node's gives way to it; of equal sets nobody can tell, and each node keeps its own.
 */
static int read_node_cpus(hwloc_obj_t *nodes, size_t count, struct np_topology *topology)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		size_t row = np_topology_node_row(topology, nodes[i]->os_index);
		struct np_node *node = &topology->node[row];

		node->memory_bytes = nodes[i]->attr->numanode.local_memory;
		node->has_memory_size = true;
		if (node->memory_bytes > 0)
			rc = np_bitmap_add(&topology->nodes[NP_NODES_WITH_MEMORY], node->node);
		if (rc == 0)
			rc = np_hwloc_add_bitmap(&node->cpus, nodes[i]->cpuset);
		if (rc == 0)
			rc = yield_cpus(nodes, count, nodes[i], &node->cpus);
	}
	return rc;
}

/* Sizes are missing from some exports altogether: then every node is taken to have memory. */
static int assume_memory(struct np_topology *topology)
{
	if (!np_bitmap_is_empty(&topology->nodes[NP_NODES_WITH_MEMORY]))
		return 0;
	for (size_t i = 0; i < topology->node_count; i++)
		topology->node[i].has_memory_size = false;
	return np_bitmap_copy(&topology->nodes[NP_NODES_WITH_MEMORY],
	                      &topology->nodes[NP_NODES_ONLINE]);
}

static int read_nodes(hwloc_topology_t hwloc, struct np_topology *topology, struct np_error *err)
{
	int count = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_NUMANODE);
	hwloc_obj_t *nodes = calloc((size_t)(count > 0 ? count : 1), sizeof(hwloc_obj_t));
	struct np_bitmap online = { 0 };
	hwloc_obj_t node = NULL;
	size_t found = 0;
	int rc = nodes ? 0 : -ENOMEM;

	while (rc == 0 && (node = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, node))) {
		/* Without an OS index it is no node of the kernel's. */
		if (node->os_index > NP_BITMAP_INDEX_MAX || np_bitmap_has(&online, node->os_index))
			continue;
		nodes[found++] = node;
		rc = np_bitmap_add(&online, node->os_index);
	}
	if (rc == 0 && found == 0) {
		rc = np_error_set(err, EINVAL, "%s: it describes no NUMA node", topology->origin);
	} else {
		if (rc == 0)
			rc = np_topology_create_nodes(topology, &online, err);
		if (rc == 0)
			rc = read_node_cpus(nodes, found, topology);
		if (rc == 0)
			rc = assume_memory(topology);
		if (rc == -ENOMEM)
			no_memory(err);
	}
	np_bitmap_release(&online);
	free(nodes);
	return rc;
}

/* Copies one of hwloc's matrices; the nodes it does not cover stay unknown. */
static void copy_distances(const struct hwloc_distances_s *from, struct np_topology *topology)
{
	size_t count = topology->node_count;

	for (unsigned i = 0; i < from->nbobjs; i++) {
		size_t row = from->objs[i] ? np_topology_node_row(topology, from->objs[i]->os_index)
		                           : count;

		for (unsigned j = 0; j < from->nbobjs && row < count; j++) {
			uint64_t value = from->values[i * from->nbobjs + j];
			size_t column =
				from->objs[j]
					? np_topology_node_row(topology, from->objs[j]->os_index)
					: count;

			if (column < count && value <= UINT32_MAX)
				topology->distance[row * count + column] = (unsigned)value;
		}
	}
}

/*
 * The firmware's matrix among those that there may be: hwloc calls it NUMALatency; a nameless one
 * of latencies comes from old exports. Bandwidths and benchmark results are passed over.
 */
static int read_distances(hwloc_topology_t hwloc, struct np_topology *topology,
                          struct np_error *err)
{
	struct hwloc_distances_s **all;
	const struct hwloc_distances_s *best = NULL;
	unsigned count = 0;

	if (hwloc_distances_get_by_type(hwloc, HWLOC_OBJ_NUMANODE, &count, NULL,
	                                HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 ||
	    count == 0)
		return 0;
	all = calloc(count, sizeof(struct hwloc_distances_s *));
	if (!all)
		return no_memory(err);
	if (hwloc_distances_get_by_type(hwloc, HWLOC_OBJ_NUMANODE, &count, all,
	                                HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0)
		count = 0;
	for (unsigned i = 0; i < count; i++) {
		const char *name = hwloc_distances_get_name(hwloc, all[i]);
		bool is_slit = name && strcmp(name, "NUMALatency") == 0;

		if (is_slit || (!best && !name))
			best = all[i];
		if (is_slit)
			break;
	}
	if (best)
		copy_distances(best, topology);
	for (unsigned i = 0; i < count; i++)
		hwloc_distances_release(hwloc, all[i]);
	free(all);
	return 0;
}

static int read_groups(hwloc_topology_t hwloc, struct np_topology *topology, struct np_error *err)
{
	static const hwloc_obj_type_t types[NP_LEVEL_COUNT] = {
		[NP_LEVEL_PACKAGE] = HWLOC_OBJ_PACKAGE,
		[NP_LEVEL_L3] = HWLOC_OBJ_L3CACHE,
		[NP_LEVEL_CORE] = HWLOC_OBJ_CORE,
	};
	int rc = np_topology_create_groups(topology, err);

	for (size_t level = 0; level < NP_LEVEL_COUNT && rc == 0; level++) {
		hwloc_obj_t obj = NULL;

		while (rc == 0 && (obj = hwloc_get_next_obj_by_type(hwloc, types[level], obj))) {
			struct np_group group = {
				.has_id = obj->os_index <= NP_BITMAP_INDEX_MAX,
				.id = obj->os_index <= NP_BITMAP_INDEX_MAX ? obj->os_index : 0,
			};

			if (level == NP_LEVEL_L3)
				group.size_bytes = obj->attr->cache.size;
			rc = np_hwloc_add_bitmap(&group.cpus, obj->cpuset);
			if (rc == 0)
				rc = np_topology_add_group(topology, (enum np_level)level, &group,
				                           err);
			np_bitmap_release(&group.cpus);
		}
	}
	return rc;
}

/* ---- devices ---- */

static hwloc_obj_t pci_ancestor(hwloc_obj_t obj)
{
	while (obj && obj->type != HWLOC_OBJ_PCI_DEVICE)
		obj = obj->parent;
	return obj;
}

/* "0000:c1:00.1" in a new string; NULL when memory runs out. */
static char *print_pci(hwloc_obj_t obj)
{
	char *text;
	const struct hwloc_pcidev_attr_s *pci = &obj->attr->pcidev;

	if (asprintf(&text, "%04x:%02x:%02x.%x", pci->domain, pci->bus, pci->dev, pci->func) < 0)
		return NULL;
	return text;
}

static int read_device(hwloc_topology_t hwloc, hwloc_obj_t obj, struct np_topology *topology,
                       struct np_error *err)
{
	hwloc_obj_t parent = hwloc_get_non_io_ancestor_obj(hwloc, obj);
	hwloc_obj_t pci = pci_ancestor(obj);
	struct np_locality_sources sources = { 0 };
	struct np_device *device = np_topology_add_device(topology);
	int rc;

	if (!device)
		return no_memory(err);
	device->pci = pci ? print_pci(pci) : NULL;
	device->kind = obj->type == HWLOC_OBJ_PCI_DEVICE                ? NP_DEVICE_PCI
	               : obj->attr->osdev.type == HWLOC_OBJ_OSDEV_BLOCK ? NP_DEVICE_BLOCK
	                                                                : NP_DEVICE_NET;
	device->name =
		obj->type == HWLOC_OBJ_PCI_DEVICE ? print_pci(obj) : np_device_name(obj->name);
	if (!device->name || (pci && !device->pci))
		return no_memory(err);
	rc = np_hwloc_add_bitmap(&sources.local_cpus, parent ? parent->cpuset : NULL);
	rc = rc < 0 ? no_memory(err)
	            : np_locality_choose(topology, &sources, &device->locality, err);
	np_bitmap_release(&sources.local_cpus);
	return rc;
}

static bool is_nic(hwloc_obj_t obj)
{
	return obj->name && obj->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK;
}

static int read_nics(hwloc_topology_t hwloc, struct np_topology *topology, struct np_error *err)
{
	hwloc_obj_t obj = NULL;
	int rc = 0;

	while (rc == 0 && (obj = hwloc_get_next_osdev(hwloc, obj)))
		if (is_nic(obj))
			rc = read_device(hwloc, obj, topology, err);
	return rc;
}

static bool matches(hwloc_obj_t obj, const struct np_device_spec *spec)
{
	if (!obj->name || strcmp(obj->name, spec->name) != 0)
		return false;
	return spec->kind == NP_DEVICE_NET ? obj->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK
	                                   : obj->attr->osdev.type == HWLOC_OBJ_OSDEV_BLOCK;
}

static hwloc_obj_t find_device(hwloc_topology_t hwloc, const struct np_device_spec *spec)
{
	hwloc_obj_t obj = NULL;

	if (spec->kind == NP_DEVICE_PCI)
		return hwloc_get_pcidev_by_busidstring(hwloc, spec->name);
	while ((obj = hwloc_get_next_osdev(hwloc, obj)))
		if (matches(obj, spec))
			return obj;
	return NULL;
}

static int device_not_found(hwloc_topology_t hwloc, const struct np_device_spec *spec,
                            struct np_error *err)
{
	char candidates[CANDIDATES_SIZE] = "";
	hwloc_obj_t obj = NULL;
	size_t used = 0;

	if (spec->kind != NP_DEVICE_NET)
		return np_error_set(err, ENOENT, "no device '%s' in the export", spec->name);
	while ((obj = hwloc_get_next_osdev(hwloc, obj)) && used < sizeof(candidates) - 1)
		if (is_nic(obj))
			used += (size_t)snprintf(candidates + used, sizeof(candidates) - used,
			                         "%s%s", used > 0 ? ", " : "", obj->name);
	return np_device_not_found(spec->name, candidates, err);
}

static int read_asked_device(hwloc_topology_t hwloc, const char *text, struct np_topology *topology,
                             struct np_error *err)
{
	struct np_device_spec spec = { 0 };
	hwloc_obj_t obj;
	int rc = np_device_spec_parse(text, false, &spec, err);

	if (rc < 0)
		return rc;
	obj = find_device(hwloc, &spec);
	rc = obj ? read_device(hwloc, obj, topology, err) : device_not_found(hwloc, &spec, err);
	np_device_spec_release(&spec);
	return rc;
}

/* ---- loading ---- */

int np_hwloc_init(hwloc_topology_t *ret, struct np_error *err)
{
	if (hwloc_topology_init(ret) < 0)
		return np_error_sys(err, errno, "hwloc");
	hwloc_topology_set_flags(*ret, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	hwloc_topology_set_io_types_filter(*ret, HWLOC_TYPE_FILTER_KEEP_ALL);
	return 0;
}

/* What kind of file this is, where hwloc only says EINVAL. */
static int explain_xml(const char *path, struct np_error *err)
{
	char head[XML_HEAD_BYTES + 1];
	ssize_t len;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return np_error_sys(err, errno, "%s", path);
	len = read(fd, head, XML_HEAD_BYTES);
	if (len < 0) {
		int code = errno;

		close(fd);
		return np_error_sys(err, code, "%s", path);
	}
	close(fd);
	head[len] = '\0';
	if (strstr(head, "<topology version=\"3"))
		return np_error_set(
			err, EINVAL,
			"%s: an export of hwloc 3, which this hwloc cannot read; make one "
			"with lstopo --export-xml-flags v2",
			path);
	return np_error_set(
		err, EINVAL, "%s: %s", path,
		len == 0 ? "an empty file, not a topology exported by hwloc"
			 : "not a whole topology exported by hwloc (lstopo file.xml makes one)");
}

static int open_export(const char *path, hwloc_topology_t *ret)
{
	if (np_hwloc_init(ret, NULL) < 0)
		return -1;
	if (hwloc_topology_set_xml(*ret, path) == 0 && hwloc_topology_load(*ret) == 0)
		return 0;
	hwloc_topology_destroy(*ret);
	return -1;
}

static int load_xml(const char *path, hwloc_topology_t *ret, struct np_error *err)
{
	struct stat st;
	int rc;

	if (stat(path, &st) < 0 || access(path, R_OK) < 0)
		return np_error_sys(err, errno, "%s", path);
	if (S_ISDIR(st.st_mode))
		return np_error_sys(err, EISDIR, "%s", path);
	/* It is read twice, which a pipe is not made for. */
	if (!S_ISREG(st.st_mode))
		return np_error_set(err, EINVAL, "%s: not a plain file", path);
	rc = np_hwloc_rehearse(path, open_export, err);
	if (rc < 0)
		return rc;
	return open_export(path, ret) == 0 ? 0 : explain_xml(path, err);
}

int np_hwloc_load(const struct np_topology_source *from, struct np_topology *topology,
                  struct np_error *err)
{
	hwloc_topology_t hwloc;
	int rc = load_xml(from->hwloc_xml, &hwloc, err);

	if (rc < 0)
		return rc;
	topology->origin = strdup(from->hwloc_xml);
	rc = topology->origin ? read_sets(hwloc, topology, err) : no_memory(err);
	if (rc == 0 && np_bitmap_is_empty(&topology->cpus[NP_CPUS_ONLINE]))
		rc = np_error_set(err, EINVAL, "%s: it describes no CPU", from->hwloc_xml);
	if (rc == 0)
		rc = read_nodes(hwloc, topology, err);
	if (rc == 0)
		rc = read_distances(hwloc, topology, err);
	if (rc == 0 &&
	    (from->scope & (NP_TOPOLOGY_GROUPS | NP_TOPOLOGY_NICS) || from->device_count > 0))
		rc = read_groups(hwloc, topology, err);
	if (rc == 0 && from->scope & NP_TOPOLOGY_NICS)
		rc = read_nics(hwloc, topology, err);
	for (size_t i = 0; i < from->device_count && rc == 0; i++)
		rc = read_asked_device(hwloc, from->devices[i], topology, err);
	hwloc_topology_destroy(hwloc);
	return rc;
}
