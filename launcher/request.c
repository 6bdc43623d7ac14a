/* SPDX-License-Identifier: BSD-3-Clause */
#include "request.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numarun/set.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is this set of nodes given by a device, "netdev:eth0" or "!netdev:eth0"? NULL when it is not. */
static const char *device_of(const struct nr_set_arg *set)
{
	static const char *const prefixes[] = { "netdev:", "pci:", "block:", "file:", "ip:" };
	const char *text = set->text;

	if (!text)
		return NULL;
	text += *text == '!';
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			return text;
	return NULL;
}

/*
 * The devices to read, in the order in which they are found again below; the caller frees the
 * array. NULL when memory runs out.
 */
static const char **list_devices(const struct nr_args *args, size_t *ret_count)
{
	const char **devices = calloc(args->cpus_count + 2, sizeof(*devices));
	size_t count = 0;

	if (!devices)
		return NULL;
	if (args->near)
		devices[count++] = args->near;
	for (size_t i = 0; i < args->cpus_count; i++)
		if (args->cpus[i].choice == NR_CPUS_NODES && device_of(&args->cpus[i]))
			devices[count++] = device_of(&args->cpus[i]);
	if (device_of(&args->memory))
		devices[count++] = device_of(&args->memory);
	*ret_count = count;
	return devices;
}

int nr_load_quietly(const struct np_topology_source *source, struct np_topology **ret,
                    struct np_error *err)
{
	bool was_set = getenv("HWLOC_HIDE_ERRORS") != NULL;
	int rc;

	setenv("HWLOC_HIDE_ERRORS", "2", 0);
	rc = np_topology_load(source, ret, err);
	/* The program's environment is not ours to change. */
	if (!was_set)
		unsetenv("HWLOC_HIDE_ERRORS");
	return rc;
}

int nr_args_load(const struct nr_args *args, struct np_topology **ret, struct np_error *err)
{
	struct np_topology_source source = {
		.root = args->root,
		.hwloc_xml = args->xml,
		.scope = (args->near || args->exclusive || args->sched.set ? NP_TOPOLOGY_GROUPS
		                                                           : 0u) |
		         (args->hardware ? NP_TOPOLOGY_MEMORY : 0u) |
		         (args->near || args->far || args->hardware || args->need.memory_bytes > 0
		                  ? 0u
		                  : NP_TOPOLOGY_WITHOUT_DISTANCES),
		.has_device_node = args->has_near_node,
		.device_node = args->near_node,
	};
	const char **devices = list_devices(args, &source.device_count);
	int rc;

	if (!devices)
		return np_error_sys(err, ENOMEM, "devices");
	source.devices = devices;
	rc = nr_load_quietly(&source, ret, err);
	free(devices);
	return rc;
}

/* The set with a device in it replaced by the device's nodes, in a new string. */
static char *resolve(const struct nr_set_arg *set, const struct np_topology *topology,
                     size_t *next_device, struct np_error *err)
{
	const struct np_device *device;
	char *nodes;
	char *text = NULL;

	if (!device_of(set))
		return strdup(set->text);
	device = np_topology_device(topology, (*next_device)++);
	if (np_bitmap_is_empty(&device->locality.nodes)) {
		np_error_set(err, ENODATA, "%s: its NUMA node is unknown, the firmware tells none",
		             device->name);
		return NULL;
	}
	nodes = np_cpulist_print(&device->locality.nodes);
	if (nodes && asprintf(&text, "%s%s", *set->text == '!' ? "!" : "", nodes) < 0)
		text = NULL;
	free(nodes);
	return text;
}

typedef int parse_nodes_fn(const char *text, const struct np_topology *topology, bool all,
                           struct np_bitmap *ret, struct np_error *err);

/* -N takes the node's CPUs as they are, so that --all changes nothing for it. */
static int parse_cpu_nodes(const char *text, const struct np_topology *topology, bool all,
                           struct np_bitmap *ret, struct np_error *err)
{
	(void)all;
	return nr_set_parse_cpu_nodes(text, topology, ret, err);
}

static int parse_nodes(const struct nr_set_arg *set, const struct np_topology *topology,
                       parse_nodes_fn *parse, size_t *next_device, struct np_bitmap *ret,
                       struct np_error *err)
{
	struct np_error why = { .code = ENOMEM, .text = "out of memory" };
	char *text = resolve(set, topology, next_device, &why);
	int rc = text ? parse(text, topology, set->all, ret, &why) : -why.code;

	free(text);
	if (rc < 0 && err)
		*err = why;
	return rc < 0 ? np_error_wrap(err, rc, "%s", set->option) : 0;
}

/* A preference for several nodes is another policy. */
static int check_preferred(const struct nr_request *request, struct np_error *err)
{
	if (request->policy.mode != NR_POLICY_PREFERRED ||
	    np_bitmap_count(&request->policy.nodes) == 1)
		return 0;
	return np_error_set(err, EINVAL,
	                    "--preferred takes one node; --preferred-many takes several");
}

/* One -N or -C; the ones before the last are read too, so that a mistake in them is told. */
static int parse_cpus(const struct nr_set_arg *set, const struct np_topology *topology,
                      size_t *next_device, struct nr_request *ret, struct np_error *err)
{
	int rc;

	np_bitmap_release(&ret->cpus);
	np_bitmap_release(&ret->nodes);
	if (set->choice == NR_CPUS_NODES)
		return parse_nodes(set, topology, parse_cpu_nodes, next_device, &ret->nodes, err);
	rc = nr_set_parse_cpus(set->text, topology, set->all, &ret->cpus, err);
	return rc < 0 ? np_error_wrap(err, rc, "%s", set->option) : 0;
}

int nr_args_request(const struct nr_args *args, const struct np_topology *topology,
                    struct nr_request *ret, struct np_error *err)
{
	size_t next_device = args->near ? 1 : 0;
	int rc = 0;

	ret->cpu_choice = args->cpu_choice;
	ret->tier = args->tier;
	ret->count = args->count;
	ret->smt = args->smt;
	ret->strict = args->strict;
	ret->far = args->far;
	ret->fallback = args->fallback;
	ret->policy.mode = args->policy_mode;
	ret->policy.balancing = args->balancing;
	ret->policy_may_shrink = args->memory.all;

	for (size_t i = 0; i < args->cpus_count && rc == 0; i++)
		rc = parse_cpus(&args->cpus[i], topology, &next_device, ret, err);
	if (rc == 0 && args->memory.text)
		rc = parse_nodes(&args->memory, topology, nr_set_parse_memory_nodes, &next_device,
		                 &ret->policy.nodes, err);
	return rc < 0 ? rc : check_preferred(ret, err);
}
