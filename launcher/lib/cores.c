/* SPDX-License-Identifier: BSD-3-Clause */
#include "cores.h"

#include <errno.h>
#include <stdlib.h>

/*
 * A free CPU with the keys that order them: cache by cache, node by node, core by core. A core that
 * odd firmware has in two nodes or caches is where its first CPU is.
 */
struct seat {
	unsigned home;  /* the cache's node: that of its lowest CPU here */
	unsigned cache; /* the lowest CPU of its L3; NP_BITMAP_END = none is told */
	unsigned node;
	unsigned core; /* the lowest CPU of its core here */
	unsigned cpu;
};

/* The seats of one cache, side by side. */
struct cluster {
	size_t begin;
	size_t end;
	unsigned cores; /* that are free; 0 = all were taken */
};

struct layout {
	struct seat *seats;
	size_t seat_count;
	struct cluster *clusters;
	size_t cluster_count;
};

static int compare(unsigned left, unsigned right)
{
	return (left > right) - (left < right);
}

static int compare_seats(const void *a, const void *b)
{
	const struct seat *left = a;
	const struct seat *right = b;
	int order = compare(left->home, right->home);

	if (order == 0)
		order = compare(left->cache, right->cache);
	if (order == 0)
		order = compare(left->node, right->node);
	if (order == 0)
		order = compare(left->core, right->core);
	return order ? order : compare(left->cpu, right->cpu);
}

/* The lowest of @cpus in the group of @cpu. */
static unsigned first_sharer(const struct np_topology *topology, enum np_level level, unsigned cpu,
                             const struct np_bitmap *cpus)
{
	const struct np_group *group = np_topology_group_of(topology, level, cpu);

	if (!group)
		return cpu;
	np_bitmap_for_each (sharer, &group->cpus)
		if (np_bitmap_has(cpus, sharer))
			return sharer;
	return cpu;
}

static bool is_free(const struct np_topology *topology, const struct np_bitmap *avoid, unsigned cpu)
{
	const struct np_group *core = np_topology_group_of(topology, NP_LEVEL_CORE, cpu);

	return !avoid ||
	       !(core ? np_bitmap_intersects(&core->cpus, avoid) : np_bitmap_has(avoid, cpu));
}

static unsigned node_of(const struct np_topology *topology, const struct np_bitmap *nodes,
                        unsigned cpu)
{
	np_bitmap_for_each (node, nodes)
		if (np_bitmap_has(&np_topology_node(topology, node)->cpus, cpu))
			return node;
	return NP_BITMAP_END;
}

static struct seat seat_of(const struct np_topology *topology, const struct nr_core_choice *choice,
                           unsigned cpu)
{
	unsigned core = first_sharer(topology, NP_LEVEL_CORE, cpu, choice->cpus);
	struct seat seat = { .core = core, .cpu = cpu };

	seat.node = node_of(topology, choice->nodes, core);
	seat.home = seat.node;
	seat.cache = NP_BITMAP_END;
	if (np_topology_group_of(topology, NP_LEVEL_L3, core)) {
		seat.cache = first_sharer(topology, NP_LEVEL_L3, core, choice->cpus);
		seat.home = node_of(topology, choice->nodes, seat.cache);
	}
	return seat;
}

static void divide(struct layout *layout)
{
	for (size_t i = 0; i < layout->seat_count; i++) {
		const struct seat *seat = &layout->seats[i];
		struct cluster *cluster = &layout->clusters[layout->cluster_count];

		if (i == 0 || seat->home != seat[-1].home || seat->cache != seat[-1].cache) {
			*cluster = (struct cluster){ .begin = i, .cores = 1 };
			layout->cluster_count++;
		} else {
			cluster--;
			cluster->cores += seat->core != seat[-1].core;
		}
		cluster->end = i + 1;
	}
}

/* -ENOMEM; the parts are the caller's to free in any case. */
static int seat_all(const struct np_topology *topology, const struct nr_core_choice *choice,
                    struct layout *layout)
{
	size_t count = np_bitmap_count(choice->cpus);

	layout->seats = calloc(count + 1, sizeof(*layout->seats));
	layout->clusters = calloc(count + 1, sizeof(*layout->clusters));
	if (!layout->seats || !layout->clusters)
		return -ENOMEM;
	np_bitmap_for_each (cpu, choice->cpus)
		if (is_free(topology, choice->avoid, cpu))
			layout->seats[layout->seat_count++] = seat_of(topology, choice, cpu);
	qsort(layout->seats, layout->seat_count, sizeof(*layout->seats), compare_seats);
	divide(layout);
	return 0;
}

/* The smallest cluster that holds @left cores, else the largest; NULL when all were taken. */
static struct cluster *choose(const struct layout *layout, unsigned left)
{
	struct cluster *best = NULL;

	for (size_t i = 0; i < layout->cluster_count; i++) {
		struct cluster *cluster = &layout->clusters[i];
		bool fits = cluster->cores >= left;

		if (cluster->cores == 0)
			continue;
		if (!best || (fits ? best->cores < left || cluster->cores < best->cores
		                   : cluster->cores > best->cores))
			best = cluster;
	}
	return best;
}

/* Takes up to @left cores of the cluster; returns how many, or -ENOMEM. */
static int take(const struct layout *layout, const struct cluster *cluster, unsigned left, bool smt,
                struct np_bitmap *ret)
{
	unsigned taken = 0;

	for (size_t i = cluster->begin; i < cluster->end; i++) {
		const struct seat *seat = &layout->seats[i];
		bool is_sibling = i > cluster->begin && seat->core == seat[-1].core;

		if (!is_sibling && taken == left)
			break;
		taken += !is_sibling;
		if ((smt || !is_sibling) && np_bitmap_add(ret, seat->cpu) < 0)
			return -ENOMEM;
	}
	return (int)taken;
}

int nr_cores_take(const struct np_topology *topology, const struct nr_core_choice *choice,
                  struct np_bitmap *ret)
{
	struct layout layout = { 0 };
	struct cluster *cluster;
	unsigned want = choice->want ? choice->want : UINT32_MAX;
	int taken = 0;
	int rc = seat_all(topology, choice, &layout);

	while (rc == 0 && (unsigned)taken < want &&
	       (cluster = choose(&layout, want - (unsigned)taken))) {
		int got = take(&layout, cluster, want - (unsigned)taken,
		               choice->smt || !choice->want, ret);

		rc = got < 0 ? got : 0;
		taken += got;
		cluster->cores = 0;
	}
	free(layout.seats);
	free(layout.clusters);
	return rc < 0 ? rc : taken;
}

static int add_cpu_neighbours(const struct np_topology *topology, unsigned cpu,
                              struct np_bitmap *ret)
{
	const struct np_group *core = np_topology_group_of(topology, NP_LEVEL_CORE, cpu);
	const struct np_group *cache = np_topology_group_of(topology, NP_LEVEL_L3, cpu);
	int rc = np_bitmap_add(ret, cpu);

	if (rc == 0 && core)
		rc = np_bitmap_or(ret, &core->cpus);
	if (cache)
		return rc < 0 ? rc : np_bitmap_or(ret, &cache->cpus);
	np_bitmap_for_each (node, np_topology_nodes(topology, NP_NODES_WITH_CPUS)) {
		const struct np_bitmap *cpus = &np_topology_node(topology, node)->cpus;

		if (rc == 0 && np_bitmap_has(cpus, cpu))
			rc = np_bitmap_or(ret, cpus);
	}
	return rc;
}

int nr_cores_add_neighbours(const struct np_topology *topology, const struct np_bitmap *cpus,
                            struct np_bitmap *ret)
{
	int rc = 0;

	np_bitmap_for_each (cpu, cpus)
		if (rc == 0)
			rc = add_cpu_neighbours(topology, cpu, ret);
	return rc;
}
