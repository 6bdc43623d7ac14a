/* SPDX-License-Identifier: BSD-3-Clause */
#include "arena.h"

#include "../size.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one arena; beyond it sizes would overflow, and no machine has as much. */
#define ARENA_BYTES_MAX (UINT64_C(1) << 56)

enum {
	HEAD_BYTES_MIN = 4096,
	DISTANCE_LOCAL = 10, /* ACPI, SLIT */
	DISTANCE_UNTOLD = 20,
	LIST_SIZE = 128,
	CARDS_SIZE = 256,
};

struct planner {
	const struct ns_config *config;
	const struct np_topology *topology;
	struct ns_memory_plan *plan;
	unsigned serving; /* node */
};

/* ---- what was asked ---- */

static bool is_power_of_two(uint64_t number)
{
	return number > 0 && (number & (number - 1)) == 0;
}

static int check(const struct ns_config *config, struct np_error *err)
{
	char size[NS_SIZE_TEXT_MAX];
	char block[NS_SIZE_TEXT_MAX];

	ns_size_text(config->block_bytes, block);
	if (!is_power_of_two(config->block_bytes) || config->block_bytes < NS_BLOCK_SIZE_MIN ||
	    config->block_bytes > NS_BLOCK_SIZE_MAX)
		return np_error_set(err, EINVAL, "--block %s: it must be a power of two, 64K to 4G",
		                    block);
	if (!is_power_of_two(config->head_bytes) || config->head_bytes < HEAD_BYTES_MIN ||
	    config->head_bytes > config->block_bytes)
		return np_error_set(
			err, EINVAL,
			"--ram-head %s: it must be a power of two, from 4K to the %s of a "
			"block (--block)",
			ns_size_text(config->head_bytes, size), block);
	if (config->memory_bytes < config->block_bytes)
		return np_error_set(err, EINVAL, "--memory %s is less than a block of %s (--block)",
		                    ns_size_text(config->memory_bytes, size), block);
	return 0;
}

static int check_arena(const struct ns_config *config, const char *option, uint64_t bytes,
                       struct np_error *err)
{
	char size[NS_SIZE_TEXT_MAX];
	char block[NS_SIZE_TEXT_MAX];

	ns_size_text(bytes, size);
	if (bytes > ARENA_BYTES_MAX)
		return np_error_set(err, EINVAL, "%s %s: no node has as much", option, size);
	if (bytes / config->block_bytes >= UINT32_MAX)
		return np_error_set(err, EINVAL,
		                    "%s %s is too many blocks of %s: make --block larger", option,
		                    size, ns_size_text(config->block_bytes, block));
	return 0;
}

int ns_memory_plan_note(struct ns_memory_plan *plan, const char *fmt, ...)
{
	char **notes = realloc(plan->notes, (plan->note_count + 1) * sizeof(*notes));
	va_list args;
	int len;

	if (!notes)
		return -ENOMEM;
	plan->notes = notes;
	va_start(args, fmt);
	len = vasprintf(&notes[plan->note_count], fmt, args);
	va_end(args);
	if (len < 0)
		return -ENOMEM;
	plan->note_count++;
	return 0;
}

/* ---- the serving node ---- */

static const struct np_device *find_device(const struct np_topology *topology, const char *name)
{
	size_t count = np_topology_device_count(topology);

	for (size_t i = 0; i < count; i++) {
		const struct np_device *device = np_topology_device(topology, i);

		if (strcmp(device->name, name) == 0 ||
		    (device->pci && strcmp(device->pci, name) == 0))
			return device;
	}
	return NULL;
}

/* "eth0 (node 2), eth1 (node 0)": the cards whose node is known, as many as fit. */
static void name_cards(const struct np_topology *topology, char *text, size_t size)
{
	size_t count = np_topology_device_count(topology);
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count && len < size; i++) {
		const struct np_device *device = np_topology_device(topology, i);
		char list[LIST_SIZE];

		if (np_bitmap_is_empty(&device->locality.nodes))
			continue;
		len += (size_t)snprintf(
			text + len, size - len, "%s%s (%s)", len > 0 ? ", " : "", device->name,
			np_cpulist_named("node", &device->locality.nodes, list, sizeof(list)));
	}
}

/* @found: how the candidates were. */
static int refuse_ambiguous(const struct planner *planner, const struct np_bitmap *nodes,
                            const char *found, struct np_error *err)
{
	char list[LIST_SIZE];
	char cards[CARDS_SIZE];

	name_cards(planner->topology, cards, sizeof(cards));
	return np_error_set(
		err, EINVAL,
		"which node should serve? %s %s: choose one with --numa NODE, or a card with "
		"--numa DEV%s%s",
		found, np_cpulist_named("node", nodes, list, sizeof(list)), cards[0] ? ": " : "",
		cards);
}

/* The node of a set that has one; @why that one. */
static int take_first(struct planner *planner, const struct np_bitmap *nodes, const char *why,
                      struct np_error *err)
{
	planner->serving = np_bitmap_next(nodes, 0);
	if (asprintf(&planner->plan->reason, "node %u, %s", planner->serving, why) < 0) {
		planner->plan->reason = NULL;
		return np_error_sys(err, ENOMEM, "memory plan");
	}
	return 0;
}

/* The node with the CPUs that may be used, as @why leaves nothing better. */
static int take_usable(struct planner *planner, const char *why, struct np_error *err)
{
	struct np_bitmap nodes = { 0 };
	char found[LIST_SIZE];
	int rc = np_topology_nodes_of_cpus(
		planner->topology, np_topology_cpus(planner->topology, NP_CPUS_USABLE), &nodes);

	if (rc < 0)
		rc = np_error_sys(err, -rc, "memory plan");
	else if (np_bitmap_count(&nodes) == 1)
		rc = take_first(planner, &nodes, "the only one with CPUs that may be used", err);
	else {
		(void)snprintf(found, sizeof(found), "%s, and the CPUs that may be used are on",
		               why);
		rc = refuse_ambiguous(planner, &nodes, found, err);
	}
	np_bitmap_release(&nodes);
	return rc;
}

static int take_device(struct planner *planner, const struct np_device *device,
                       struct np_error *err)
{
	const struct np_bitmap *nodes = &device->locality.nodes;
	char why[LIST_SIZE];

	if (np_bitmap_is_empty(nodes)) {
		(void)snprintf(why, sizeof(why), "%s does not tell its node", device->name);
		return take_usable(planner, why, err);
	}
	if (np_bitmap_count(nodes) > 1) {
		(void)snprintf(why, sizeof(why), "%s is on", device->name);
		return refuse_ambiguous(planner, nodes, why, err);
	}
	if (device->locality.evidence == NP_EVIDENCE_SINGLE_NODE)
		return take_first(planner, nodes, "the only one there is", err);
	(void)snprintf(why, sizeof(why), "that of %s (evidence: %s)", device->name,
	               np_evidence_name(device->locality.evidence));
	return take_first(planner, nodes, why, err);
}

/* The cards that hold the listening address. */
static int take_auto(struct planner *planner, const char *const *names, size_t count,
                     struct np_error *err)
{
	const struct np_device *last = NULL;
	struct np_bitmap nodes = { 0 };
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct np_device *device = find_device(planner->topology, names[i]);

		if (!device || np_bitmap_is_empty(&device->locality.nodes))
			continue;
		last = device;
		rc = np_bitmap_or(&nodes, &device->locality.nodes);
	}
	if (rc < 0)
		rc = np_error_sys(err, ENOMEM, "memory plan");
	else if (!last)
		rc = take_usable(planner, "The listening address is on no card whose node is known",
		                 err);
	else if (np_bitmap_count(&nodes) == 1)
		rc = take_device(planner, last, err);
	else
		rc = refuse_ambiguous(planner, &nodes, "The listening address is on cards of", err);
	np_bitmap_release(&nodes);
	return rc;
}

static int take_number(struct planner *planner, const char *text, struct np_error *err)
{
	unsigned long node = strtoul(text, NULL, 10);
	struct np_bitmap only = { 0 };
	int rc;

	if (strlen(text) > 6 || !np_topology_node(planner->topology, (unsigned)node))
		return np_error_set(err, ENODEV, "--numa %s: there is no such node online", text);
	rc = np_bitmap_add(&only, (unsigned)node);
	if (rc < 0)
		rc = np_error_sys(err, -rc, "memory plan");
	else
		rc = take_first(planner, &only, "as asked for", err);
	np_bitmap_release(&only);
	return rc;
}

static int choose_node(struct planner *planner, const char *const *listen_devices, size_t count,
                       struct np_error *err)
{
	const char *numa = planner->config->numa;
	const struct np_device *device;

	if (!numa || strcmp(numa, "auto") == 0)
		return take_auto(planner, listen_devices, count, err);
	if (*numa != '\0' && strspn(numa, "0123456789") == strlen(numa))
		return take_number(planner, numa, err);
	device = find_device(planner->topology, numa);
	/* It was loaded by another of its names. */
	if (!device && np_topology_device_count(planner->topology) == 1)
		device = np_topology_device(planner->topology, 0);
	if (!device)
		return np_error_set(err, ENODEV, "--numa %s: there is no such device", numa);
	return take_device(planner, device, err);
}

static int choose_cpus(struct planner *planner, struct np_error *err)
{
	const struct np_node *node = np_topology_node(planner->topology, planner->serving);
	struct ns_memory_plan *plan = planner->plan;

	if (np_bitmap_add(&plan->serving_nodes, planner->serving) < 0 || !node ||
	    np_bitmap_copy(&plan->serving_cpus, &node->cpus) < 0)
		return np_error_sys(err, ENOMEM, "memory plan");
	np_bitmap_and(&plan->serving_cpus, np_topology_cpus(planner->topology, NP_CPUS_USABLE));
	if (np_bitmap_is_empty(&plan->serving_cpus))
		return np_error_set(err, EINVAL,
		                    "node %u has no CPU that may be used (offline, isolated or "
		                    "outside the cpuset): choose another with --numa",
		                    planner->serving);
	return 0;
}

/* ---- arenas ---- */

static unsigned distance(struct planner *planner, unsigned node)
{
	unsigned found;

	if (np_topology_node_distance(planner->topology, planner->serving, node, &found) == 0)
		return found;
	return node == planner->serving ? DISTANCE_LOCAL : DISTANCE_UNTOLD;
}

static int compare(const void *a, const void *b)
{
	const struct ns_arena_plan *x = a;
	const struct ns_arena_plan *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static uint64_t whole_blocks(const struct ns_config *config, uint64_t bytes)
{
	return (bytes + config->block_bytes - 1) / config->block_bytes * config->block_bytes;
}

/* All nodes with memory that may be used, nearest first. */
static int list_nodes(struct planner *planner, struct np_error *err)
{
	const struct np_bitmap *nodes = np_topology_nodes(planner->topology, NP_NODES_ALLOWED);
	struct ns_memory_plan *plan = planner->plan;
	unsigned last = np_bitmap_last(nodes);

	plan->arenas = calloc(np_bitmap_count(nodes) + 1, sizeof(*plan->arenas));
	if (!plan->arenas)
		return np_error_sys(err, ENOMEM, "memory plan");
	for (unsigned node = 0; !np_bitmap_is_empty(nodes) && node <= last; node++) {
		if (!np_bitmap_has(nodes, node))
			continue;
		plan->arenas[plan->arena_count++] = (struct ns_arena_plan){
			.node = node,
			.distance = distance(planner, node),
		};
	}
	qsort(plan->arenas, plan->arena_count, sizeof(*plan->arenas), compare);
	return 0;
}

/* The place of the preferred one among them. */
static int choose_preferred(struct planner *planner, size_t *ret, struct np_error *err)
{
	struct ns_memory_plan *plan = planner->plan;
	size_t last = plan->arena_count - 1;

	if (plan->arena_count > 0 && planner->config->perverse &&
	    plan->arenas[last].node != planner->serving) {
		*ret = last;
		return 0;
	}
	if (planner->config->perverse &&
	    ns_memory_plan_note(planner->plan,
	                        "--perverse changes nothing: no other node has memory") < 0)
		return np_error_sys(err, ENOMEM, "memory plan");
	for (size_t i = 0; i < plan->arena_count; i++) {
		if (plan->arenas[i].node == planner->serving) {
			*ret = i;
			return 0;
		}
	}
	return np_error_set(err, EINVAL,
	                    "node %u has no memory that may be used: choose another with --numa",
	                    planner->serving);
}

/* Used or not, in HugeTLB pages or not: what is free is known when it is mapped. */
static int check_sizes(struct planner *planner, struct np_error *err)
{
	const struct ns_memory_plan *plan = planner->plan;

	for (size_t i = 0; i < plan->arena_count; i++) {
		const struct ns_arena_plan *arena = &plan->arenas[i];
		const struct np_node *node = np_topology_node(planner->topology, arena->node);

		if (node && node->has_memory_size && arena->bytes > node->memory_bytes)
			return np_error_set(
				err, ENOMEM,
				"node %u has %llu MiB of memory in all, too little for an "
				"arena of %llu MiB: make %s smaller",
				arena->node, (unsigned long long)node->memory_bytes >> 20,
				(unsigned long long)arena->bytes >> 20,
				i == 0 ? "--memory" : "--sub-memory");
	}
	return 0;
}

static int note_rounding(struct planner *planner)
{
	const struct ns_config *config = planner->config;
	const struct ns_memory_plan *plan = planner->plan;

	if (plan->arenas[0].bytes != config->memory_bytes &&
	    ns_memory_plan_note(planner->plan, "--memory is rounded up to %llu MiB, whole blocks",
	                        (unsigned long long)plan->arenas[0].bytes >> 20) < 0)
		return -ENOMEM;
	if (plan->arena_count > 1 && plan->arenas[1].bytes != config->sub_memory_bytes)
		return ns_memory_plan_note(planner->plan,
		                           "--sub-memory is rounded up to %llu MiB, whole blocks",
		                           (unsigned long long)plan->arenas[1].bytes >> 20);
	return 0;
}

static int choose_arenas(struct planner *planner, struct np_error *err)
{
	struct ns_memory_plan *plan = planner->plan;
	uint64_t sub_bytes = whole_blocks(planner->config, planner->config->sub_memory_bytes);
	struct ns_arena_plan preferred;
	size_t place = 0;
	int rc = list_nodes(planner, err);

	if (rc == 0)
		rc = choose_preferred(planner, &place, err);
	if (rc < 0)
		return rc;
	preferred = plan->arenas[place];
	memmove(plan->arenas + 1, plan->arenas, place * sizeof(*plan->arenas));
	plan->arenas[0] = preferred;
	plan->arenas[0].bytes = whole_blocks(planner->config, planner->config->memory_bytes);
	for (size_t i = 1; i < plan->arena_count; i++)
		plan->arenas[i].bytes = sub_bytes;
	if (sub_bytes == 0)
		plan->arena_count = 1;
	plan->far_node = preferred.node;
	for (size_t i = 1; i < plan->arena_count; i++) {
		if (distance(planner, plan->arenas[i].node) >= distance(planner, plan->far_node))
			plan->far_node = plan->arenas[i].node;
	}
	return 0;
}

int ns_memory_plan_make(const struct ns_config *config, const struct np_topology *topology,
                        const char *const *listen_devices, size_t device_count,
                        struct ns_memory_plan *ret, struct np_error *err)
{
	struct ns_memory_plan plan = { 0 };
	struct planner planner = { .config = config, .topology = topology, .plan = &plan };
	int rc = check(config, err);

	if (rc == 0)
		rc = check_arena(config, "--memory", config->memory_bytes, err);
	if (rc == 0)
		rc = check_arena(config, "--sub-memory", config->sub_memory_bytes, err);
	if (rc == 0)
		rc = choose_node(&planner, listen_devices, device_count, err);
	if (rc == 0)
		rc = choose_cpus(&planner, err);
	if (rc == 0)
		rc = choose_arenas(&planner, err);
	if (rc == 0)
		rc = check_sizes(&planner, err);
	if (rc == 0 && note_rounding(&planner) < 0)
		rc = np_error_sys(err, ENOMEM, "memory plan");
	if (rc < 0)
		ns_memory_plan_release(&plan);
	else
		*ret = plan;
	return rc;
}

void ns_memory_plan_release(struct ns_memory_plan *plan)
{
	np_bitmap_release(&plan->serving_nodes);
	np_bitmap_release(&plan->serving_cpus);
	for (size_t i = 0; i < plan->note_count; i++)
		free(plan->notes[i]);
	free(plan->notes);
	free(plan->arenas);
	free(plan->reason);
	*plan = (struct ns_memory_plan){ 0 };
}
