/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The read-only view of a topology, and what follows from its parts once a loader has filled them.
 */
#include "topology_data.h"

#include <numaprobe/cpulist.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOCAL_DISTANCE = 10, BRIEF_SIZE = 64 };

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "topology");
}

static void free_groups(struct np_topology *topology, enum np_level level)
{
	for (size_t i = 0; i < topology->group_count[level]; i++)
		np_bitmap_release(&topology->group[level][i].cpus);
	free(topology->group[level]);
	free(topology->group_of_cpu[level]);
}

void np_topology_free(struct np_topology *topology)
{
	if (!topology)
		return;
	for (size_t i = 0; i < NP_CPU_SET_COUNT; i++)
		np_bitmap_release(&topology->cpus[i]);
	for (size_t i = 0; i < NP_NODE_SET_COUNT; i++)
		np_bitmap_release(&topology->nodes[i]);
	for (size_t i = 0; i < topology->node_count; i++)
		np_bitmap_release(&topology->node[i].cpus);
	free(topology->node);
	free(topology->distance);
	for (size_t i = 0; i < NP_LEVEL_COUNT; i++)
		free_groups(topology, (enum np_level)i);
	for (size_t i = 0; i < topology->device_count; i++)
		np_device_release(&topology->device[i]);
	free(topology->device);
	for (size_t i = 0; i < topology->note_count; i++)
		free(topology->note[i]);
	free(topology->note);
	free(topology->origin);
	free(topology);
}

bool np_topology_is_live(const struct np_topology *topology)
{
	return topology->live;
}

const char *np_topology_origin(const struct np_topology *topology)
{
	return topology->origin;
}

const struct np_bitmap *np_topology_cpus(const struct np_topology *topology, enum np_cpu_set which)
{
	return &topology->cpus[which];
}

const struct np_bitmap *np_topology_nodes(const struct np_topology *topology,
                                          enum np_node_set which)
{
	return &topology->nodes[which];
}

size_t np_topology_node_row(const struct np_topology *topology, unsigned node)
{
	for (size_t i = 0; i < topology->node_count; i++)
		if (topology->node[i].node == node)
			return i;
	return topology->node_count;
}

const struct np_node *np_topology_node(const struct np_topology *topology, unsigned node)
{
	size_t row = np_topology_node_row(topology, node);

	return row < topology->node_count ? &topology->node[row] : NULL;
}

int np_topology_node_distance(const struct np_topology *topology, unsigned initiator,
                              unsigned target, unsigned *ret_distance)
{
	size_t row = np_topology_node_row(topology, initiator);
	size_t column = np_topology_node_row(topology, target);
	unsigned distance;

	if (row == topology->node_count || column == topology->node_count)
		return -ERANGE;
	distance = topology->distance[row * topology->node_count + column];
	if (distance == 0)
		return -ENODATA;
	*ret_distance = distance;
	return 0;
}

int np_topology_nodes_of_cpus(const struct np_topology *topology, const struct np_bitmap *cpus,
                              struct np_bitmap *ret)
{
	for (size_t i = 0; i < topology->node_count; i++)
		if (np_bitmap_intersects(&topology->node[i].cpus, cpus) &&
		    np_bitmap_add(ret, topology->node[i].node) < 0)
			return -ENOMEM;
	return 0;
}

size_t np_topology_group_count(const struct np_topology *topology, enum np_level level)
{
	return topology->group_count[level];
}

const struct np_group *np_topology_group(const struct np_topology *topology, enum np_level level,
                                         size_t index)
{
	return &topology->group[level][index];
}

const struct np_group *np_topology_group_of(const struct np_topology *topology, enum np_level level,
                                            unsigned cpu)
{
	unsigned place = cpu < topology->cpu_count ? topology->group_of_cpu[level][cpu] : 0;

	return place ? &topology->group[level][place - 1] : NULL;
}

size_t np_topology_device_count(const struct np_topology *topology)
{
	return topology->device_count;
}

const struct np_device *np_topology_device(const struct np_topology *topology, size_t index)
{
	return &topology->device[index];
}

size_t np_topology_note_count(const struct np_topology *topology)
{
	return topology->note_count;
}

const char *np_topology_note(const struct np_topology *topology, size_t index)
{
	return topology->note[index];
}

int np_topology_create_nodes(struct np_topology *topology, const struct np_bitmap *online,
                             struct np_error *err)
{
	size_t count = np_bitmap_count(online);
	char list[BRIEF_SIZE];
	size_t i = 0;

	if (count > NP_NODE_COUNT_MAX)
		return np_error_set(
			err, EINVAL, "'%s' are %zu nodes, more than a host can have (%d)",
			np_cpulist_brief(online, list, sizeof(list)), count, NP_NODE_COUNT_MAX);
	topology->node = calloc(count, sizeof(*topology->node));
	topology->distance = calloc(count * count, sizeof(*topology->distance));
	if (!topology->node || !topology->distance ||
	    np_bitmap_copy(&topology->nodes[NP_NODES_ONLINE], online) < 0)
		return no_memory(err);
	topology->node_count = count;
	np_bitmap_for_each (node, online)
		topology->node[i++].node = node;
	return 0;
}

int np_topology_create_groups(struct np_topology *topology, struct np_error *err)
{
	topology->cpu_count = (size_t)np_bitmap_last(&topology->cpus[NP_CPUS_ONLINE]) + 1;
	for (size_t level = 0; level < NP_LEVEL_COUNT; level++) {
		topology->group_of_cpu[level] = calloc(topology->cpu_count, sizeof(unsigned));
		if (!topology->group_of_cpu[level])
			return no_memory(err);
	}
	return 0;
}

/* Room for one more behind @count elements, doubled when it is full; NULL when memory runs out. */
static void *grow(void *array, size_t count, size_t element_size)
{
	bool is_full = (count & (count - 1)) == 0; /* 0 and the powers of two */

	if (!is_full)
		return array;
	return realloc(array, (count > 0 ? 2 * count : 1) * element_size);
}

int np_topology_add_group(struct np_topology *topology, enum np_level level,
                          const struct np_group *like, struct np_error *err)
{
	size_t count = topology->group_count[level];
	struct np_group *grown = grow(topology->group[level], count, sizeof(struct np_group));
	struct np_group *group;

	if (!grown)
		return no_memory(err);
	topology->group[level] = grown;
	group = &grown[count];
	*group = *like;
	group->cpus = (struct np_bitmap){ 0 };
	topology->group_count[level]++;

	if (np_bitmap_copy(&group->cpus, &like->cpus) < 0)
		return no_memory(err);
	np_bitmap_and(&group->cpus, &topology->cpus[NP_CPUS_ONLINE]);
	np_bitmap_for_each (cpu, &group->cpus)
		topology->group_of_cpu[level][cpu] = (unsigned)count + 1;
	return 0;
}

struct np_device *np_topology_add_device(struct np_topology *topology)
{
	size_t count = topology->device_count;
	struct np_device *grown = grow(topology->device, count, sizeof(struct np_device));

	if (!grown)
		return NULL;
	topology->device = grown;
	topology->device_count++;
	grown[count] = (struct np_device){ 0 };
	return &grown[count];
}

int np_topology_add_note(struct np_topology *topology, struct np_error *err, const char *fmt, ...)
{
	char **grown = grow(topology->note, topology->note_count, sizeof(char *));
	va_list args;
	int len;

	if (!grown)
		return no_memory(err);
	topology->note = grown;
	va_start(args, fmt);
	len = vasprintf(&grown[topology->note_count], fmt, args);
	va_end(args);
	if (len < 0)
		return no_memory(err);
	topology->note_count++;
	return 0;
}

static int derive_node_sets(struct np_topology *topology)
{
	struct np_bitmap *homeless = &topology->cpus[NP_CPUS_WITHOUT_NODE];

	if (np_bitmap_copy(homeless, &topology->cpus[NP_CPUS_ONLINE]) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < topology->node_count; i++) {
		struct np_node *node = &topology->node[i];

		np_bitmap_and(&node->cpus, &topology->cpus[NP_CPUS_ONLINE]);
		np_bitmap_and_not(homeless, &node->cpus);
		if (!np_bitmap_is_empty(&node->cpus) &&
		    np_bitmap_add(&topology->nodes[NP_NODES_WITH_CPUS], node->node) < 0)
			return -ENOMEM;
	}
	np_bitmap_and(&topology->nodes[NP_NODES_ALLOWED], &topology->nodes[NP_NODES_WITH_MEMORY]);
	return 0;
}

static int derive_usable(struct np_topology *topology)
{
	struct np_bitmap *usable = &topology->cpus[NP_CPUS_USABLE];

	np_bitmap_and(&topology->cpus[NP_CPUS_ALLOWED], &topology->cpus[NP_CPUS_ONLINE]);
	np_bitmap_and(&topology->cpus[NP_CPUS_CPUSET], &topology->cpus[NP_CPUS_ONLINE]);
	if (np_bitmap_copy(usable, &topology->cpus[NP_CPUS_ALLOWED]) < 0)
		return -ENOMEM;
	np_bitmap_and_not(usable, &topology->cpus[NP_CPUS_ISOLATED]);
	return 0;
}

static int compare_groups(const void *a, const void *b)
{
	const struct np_group *left = a;
	const struct np_group *right = b;
	unsigned first_left = np_bitmap_next(&left->cpus, 0);
	unsigned first_right = np_bitmap_next(&right->cpus, 0);

	return (first_left > first_right) - (first_left < first_right);
}

static void sort_groups(struct np_topology *topology)
{
	for (size_t level = 0; level < NP_LEVEL_COUNT; level++) {
		struct np_group *group = topology->group[level];
		size_t count = topology->group_count[level];

		if (count == 0)
			continue;
		qsort(group, count, sizeof(*group), compare_groups);
		for (size_t i = 0; i < count; i++)
			np_bitmap_for_each (cpu, &group[i].cpus)
				topology->group_of_cpu[level][cpu] = (unsigned)i + 1;
	}
}

/* How the distance matrix departs from what one expects of it; pairs are given by row and column.
 */
struct oddities {
	size_t asymmetric_count;
	size_t asymmetric_row; /* the first such pair */
	size_t asymmetric_column;
	size_t unreachable_count;
	size_t unknown_count;
	bool local_is_odd;
};

static void look_at_pair(const struct np_topology *topology, size_t row, size_t column,
                         struct oddities *odd)
{
	unsigned there = topology->distance[row * topology->node_count + column];
	unsigned back = topology->distance[column * topology->node_count + row];

	odd->unknown_count += there == 0;
	odd->unreachable_count += there >= NP_DISTANCE_UNREACHABLE;
	odd->local_is_odd |= row == column && there != 0 && there != LOCAL_DISTANCE;
	if (column <= row || there == 0 || back == 0 || there == back)
		return;
	if (odd->asymmetric_count++ == 0) {
		odd->asymmetric_row = row;
		odd->asymmetric_column = column;
	}
}

static int note_asymmetry(struct np_topology *topology, const struct oddities *odd,
                          struct np_error *err)
{
	size_t row = odd->asymmetric_row;
	size_t column = odd->asymmetric_column;
	size_t count = topology->node_count;

	return np_topology_add_note(
		topology, err,
		"distances are asymmetric for %zu pair%s of nodes, the first: %u to %u is %u, back is %u",
		odd->asymmetric_count, odd->asymmetric_count == 1 ? "" : "s",
		topology->node[row].node, topology->node[column].node,
		topology->distance[row * count + column], topology->distance[column * count + row]);
}

static int note_distances(struct np_topology *topology, struct np_error *err)
{
	size_t count = topology->node_count;
	struct oddities odd = { 0 };
	int rc = 0;

	for (size_t row = 0; row < count; row++)
		for (size_t column = 0; column < count; column++)
			look_at_pair(topology, row, column, &odd);

	if (odd.asymmetric_count > 0)
		rc = note_asymmetry(topology, &odd, err);
	if (rc == 0 && odd.local_is_odd)
		rc = np_topology_add_note(topology, err, "a node's distance to itself is not %d",
		                          LOCAL_DISTANCE);
	if (rc == 0 && odd.unreachable_count > 0)
		rc = np_topology_add_note(topology, err,
		                          "%zu pairs of nodes have a distance of %u or more, which "
		                          "means unreachable",
		                          odd.unreachable_count, NP_DISTANCE_UNREACHABLE);
	if (rc == 0 && count > 1 && odd.unknown_count > 0)
		rc = np_topology_add_note(
			topology, err,
			"the host does not tell the distances of %zu of %zu pairs "
			"of nodes",
			odd.unknown_count, count * count);
	return rc;
}

static int note_shared_cpus(struct np_topology *topology, struct np_error *err)
{
	for (size_t i = 0; i < topology->node_count; i++)
		for (size_t j = i + 1; j < topology->node_count; j++)
			if (np_bitmap_intersects(&topology->node[i].cpus, &topology->node[j].cpus))
				return np_topology_add_note(
					topology, err,
					"nodes %u and %u claim the same CPUs: one may be memory alone "
					"(HBM, CXL) or split off by numa=fake, or the firmware's "
					"table is broken",
					topology->node[i].node, topology->node[j].node);
	return 0;
}

static int note_homeless_cpus(struct np_topology *topology, struct np_error *err)
{
	const struct np_bitmap *homeless = &topology->cpus[NP_CPUS_WITHOUT_NODE];
	char cpus[BRIEF_SIZE];

	if (np_bitmap_is_empty(homeless))
		return 0;
	return np_topology_add_note(topology, err, "%s belong%s to no online node",
	                            np_cpulist_named("CPU", homeless, cpus, sizeof(cpus)),
	                            np_bitmap_count(homeless) == 1 ? "s" : "");
}

int np_topology_finish(struct np_topology *topology, unsigned scope, struct np_error *err)
{
	int rc;

	if (derive_node_sets(topology) < 0 || derive_usable(topology) < 0)
		return no_memory(err);
	sort_groups(topology);
	rc = scope & NP_TOPOLOGY_WITHOUT_DISTANCES ? 0 : note_distances(topology, err);
	if (rc == 0)
		rc = note_shared_cpus(topology, err);
	return rc < 0 ? rc : note_homeless_cpus(topology, err);
}
