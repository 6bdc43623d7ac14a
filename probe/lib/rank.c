/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <numaprobe/rank.h>
#include <stdlib.h>

const char *np_exclusion_name(enum np_exclusion reason)
{
	static const char *const names[] = {
		[NP_EXCLUDED_OFFLINE] = "offline",
		[NP_EXCLUDED_ISOLATED] = "isolated",
		[NP_EXCLUDED_CPUSET] = "cpuset",
		[NP_EXCLUDED_AFFINITY] = "affinity",
	};

	return names[reason];
}

void np_rank_release(struct np_rank *rank)
{
	for (size_t i = 0; i < rank->tier_count; i++) {
		np_bitmap_release(&rank->tiers[i].nodes);
		np_bitmap_release(&rank->tiers[i].cpus);
	}
	free(rank->tiers);
	for (size_t i = 0; i < NP_EXCLUSION_COUNT; i++)
		np_bitmap_release(&rank->excluded[i]);
	*rank = (struct np_rank){ 0 };
}

/* dst = minuend - subtrahend */
static int difference(struct np_bitmap *dst, const struct np_bitmap *minuend,
                      const struct np_bitmap *subtrahend)
{
	int rc = np_bitmap_copy(dst, minuend);

	np_bitmap_and_not(dst, subtrahend);
	return rc;
}

int np_rank_excluded(const struct np_topology *topology,
                     struct np_bitmap ret_excluded[NP_EXCLUSION_COUNT])
{
	const struct np_bitmap *online = np_topology_cpus(topology, NP_CPUS_ONLINE);
	const struct np_bitmap *cpuset = np_topology_cpus(topology, NP_CPUS_CPUSET);
	const struct np_bitmap *allowed = np_topology_cpus(topology, NP_CPUS_ALLOWED);
	struct np_bitmap *isolated = &ret_excluded[NP_EXCLUDED_ISOLATED];
	int rc = np_bitmap_copy(&ret_excluded[NP_EXCLUDED_OFFLINE],
	                        np_topology_cpus(topology, NP_CPUS_OFFLINE));

	/* An isolated CPU is outside nearly every affinity mask too; the first cause is named. */
	if (rc == 0)
		rc = np_bitmap_copy(isolated, np_topology_cpus(topology, NP_CPUS_ISOLATED));
	np_bitmap_and(isolated, online);
	if (rc == 0)
		rc = difference(&ret_excluded[NP_EXCLUDED_CPUSET], online, cpuset);
	if (rc == 0)
		rc = difference(&ret_excluded[NP_EXCLUDED_AFFINITY], cpuset, allowed);
	np_bitmap_and_not(&ret_excluded[NP_EXCLUDED_CPUSET], isolated);
	np_bitmap_and_not(&ret_excluded[NP_EXCLUDED_CPUSET], allowed);
	np_bitmap_and_not(&ret_excluded[NP_EXCLUDED_AFFINITY], isolated);
	return rc;
}

/* One node, or the part of it that shares a cache with the device, on its way into a tier. */
struct place {
	unsigned node;
	bool near_cache;  /* the CPUs that share with the device, before the rest of their node */
	bool is_homeless; /* CPUs of no node, behind all others */
	bool has_distance;
	unsigned distance;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a;
	const struct place *right = b;

	if (left->near_cache != right->near_cache)
		return left->near_cache ? -1 : 1;
	if (left->is_homeless != right->is_homeless)
		return left->is_homeless ? 1 : -1;
	if (left->has_distance != right->has_distance)
		return left->has_distance ? -1 : 1;
	if (left->distance != right->distance)
		return left->distance < right->distance ? -1 : 1;
	return (left->node > right->node) - (left->node < right->node);
}

static bool same_tier(const struct place *a, const struct place *b)
{
	return a->near_cache == b->near_cache && a->is_homeless == b->is_homeless &&
	       a->has_distance == b->has_distance && a->distance == b->distance;
}

/*
 * The nearest of the device's nodes counts. Where the host tells no distance, a device's own node
 * is still known to be nearer than the others: 10, which is what local means.
 */
static void measure(const struct np_topology *topology, const struct np_locality *locality,
                    struct place *place)
{
	np_bitmap_for_each (from, &locality->nodes) {
		unsigned distance = 10;
		int rc = np_topology_node_distance(topology, from, place->node, &distance);

		if (rc < 0 && from != place->node)
			continue;
		if (!place->has_distance || distance < place->distance)
			place->distance = distance;
		place->has_distance = true;
	}
}

static struct np_tier *add_tier(struct np_rank *rank, const struct place *place)
{
	struct np_tier *grown = realloc(rank->tiers, (rank->tier_count + 1) * sizeof(*rank->tiers));
	struct np_tier *tier;

	if (!grown)
		return NULL;
	rank->tiers = grown;
	tier = &grown[rank->tier_count++];
	*tier = (struct np_tier){
		.tier = (unsigned)rank->tier_count,
		.has_distance = place->has_distance,
		.distance = place->distance,
	};
	return tier;
}

/* The CPUs of @place that are in @left, moved from there into *ret. */
static int take_cpus(const struct np_topology *topology, const struct np_locality *locality,
                     const struct place *place, struct np_bitmap *left, struct np_bitmap *ret)
{
	const struct np_bitmap *from = &locality->cpus;

	if (place->is_homeless)
		from = np_topology_cpus(topology, NP_CPUS_WITHOUT_NODE);
	else if (!place->near_cache)
		from = &np_topology_node(topology, place->node)->cpus;

	if (np_bitmap_copy(ret, from) < 0)
		return -ENOMEM;
	np_bitmap_and(ret, left);
	np_bitmap_and_not(left, ret);
	return 0;
}

/* Some hosts say of two nodes that they hold the same CPUs; the tier is then of both. */
static bool shares_cpus(const struct np_topology *topology, const struct np_tier *tier,
                        const struct place *place)
{
	return !place->is_homeless && !place->near_cache &&
	       np_bitmap_intersects(&np_topology_node(topology, place->node)->cpus, &tier->cpus);
}

static int fill_tiers(const struct np_topology *topology, const struct np_locality *locality,
                      const struct place *places, size_t count, struct np_rank *ret)
{
	const struct place *current = NULL;
	struct np_bitmap left = { 0 };
	struct np_bitmap cpus = { 0 };
	struct np_tier *tier = NULL;
	int rc = np_bitmap_copy(&left, np_topology_cpus(topology, NP_CPUS_USABLE));

	for (size_t i = 0; i < count && rc == 0; i++) {
		rc = take_cpus(topology, locality, &places[i], &left, &cpus);
		if (rc == 0 && np_bitmap_is_empty(&cpus) && current &&
		    same_tier(current, &places[i]) && shares_cpus(topology, tier, &places[i]))
			rc = np_bitmap_add(&tier->nodes, places[i].node);
		if (rc < 0 || np_bitmap_is_empty(&cpus))
			continue;
		if (!current || !same_tier(current, &places[i]))
			tier = add_tier(ret, &places[i]);
		current = &places[i];
		rc = tier ? np_bitmap_or(&tier->cpus, &cpus) : -ENOMEM;
		/* The caches of several cards can be in several nodes. */
		if (rc == 0 && places[i].near_cache) {
			rc = np_topology_nodes_of_cpus(topology, &cpus, &tier->nodes);
			np_bitmap_and(&tier->nodes, &locality->nodes);
		} else if (rc == 0 && !places[i].is_homeless) {
			rc = np_bitmap_add(&tier->nodes, places[i].node);
		}
	}
	np_bitmap_release(&left);
	np_bitmap_release(&cpus);
	return rc;
}

/* Every node with CPUs, the device's cache before them, CPUs of no node behind them; sorted. */
static size_t list_places(const struct np_topology *topology, const struct np_locality *locality,
                          struct place *places)
{
	size_t count = 0;

	if (!np_bitmap_is_empty(&locality->cpus)) {
		places[count] = (struct place){ .node = np_bitmap_next(&locality->nodes, 0),
			                        .near_cache = true };
		measure(topology, locality, &places[count++]);
	}
	np_bitmap_for_each (node, np_topology_nodes(topology, NP_NODES_WITH_CPUS)) {
		places[count] = (struct place){ .node = node };
		measure(topology, locality, &places[count++]);
	}
	places[count++] = (struct place){ .is_homeless = true };
	qsort(places, count, sizeof(*places), compare_places);
	return count;
}

int np_rank_cpus(const struct np_topology *topology, const struct np_locality *locality,
                 struct np_rank *ret, struct np_error *err)
{
	size_t node_count = np_bitmap_count(np_topology_nodes(topology, NP_NODES_WITH_CPUS));
	struct np_rank rank = { 0 };
	struct place *places;
	size_t count;
	int rc;

	if (np_bitmap_is_empty(&locality->nodes))
		return np_error_set(err, ENODATA,
		                    "its NUMA node is unknown: the firmware tells none");
	places = calloc(node_count + 2, sizeof(*places));
	rc = places ? np_rank_excluded(topology, rank.excluded) : -ENOMEM;
	if (rc == 0) {
		count = list_places(topology, locality, places);
		rc = fill_tiers(topology, locality, places, count, &rank);
	}
	free(places);
	if (rc < 0) {
		np_rank_release(&rank);
		return np_error_sys(err, ENOMEM, "ranking");
	}
	*ret = rank;
	return 0;
}
