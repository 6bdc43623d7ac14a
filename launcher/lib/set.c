/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numarun/set.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 80, BRIEF_SIZE = 96 };

/* Which member cannot be used, and why; the three kinds of sets differ in nothing else. */
typedef int refuse_fn(const struct np_topology *topology, unsigned member, struct np_error *err);

static int refuse_cpu(const struct np_topology *topology, unsigned cpu, struct np_error *err)
{
	const struct np_bitmap *online = np_topology_cpus(topology, NP_CPUS_ONLINE);
	char list[BRIEF_SIZE];

	if (np_bitmap_has(np_topology_cpus(topology, NP_CPUS_OFFLINE), cpu))
		return np_error_set(err, EINVAL, "CPU %u is offline; online are %s", cpu,
		                    np_cpulist_brief(online, list, sizeof(list)));
	if (!np_bitmap_has(online, cpu))
		return np_error_set(err, EINVAL, "CPU %u does not exist; this host has %s", cpu,
		                    np_cpulist_named("CPU", online, list, sizeof(list)));
	if (!np_bitmap_has(np_topology_cpus(topology, NP_CPUS_CPUSET), cpu))
		return np_error_set(err, EINVAL,
		                    "CPU %u is outside the cpuset of this cgroup, which holds %s",
		                    cpu,
		                    np_cpulist_brief(np_topology_cpus(topology, NP_CPUS_CPUSET),
		                                     list, sizeof(list)));
	return np_error_set(
		err, EINVAL,
		"CPU %u is %soutside the inherited affinity mask (%s); --all before "
		"this option takes it all the same",
		cpu,
		np_bitmap_has(np_topology_cpus(topology, NP_CPUS_ISOLATED), cpu)
			? "isolated (isolcpus) and "
			: "",
		np_cpulist_brief(np_topology_cpus(topology, NP_CPUS_ALLOWED), list, sizeof(list)));
}

static int refuse_missing_node(const struct np_topology *topology, unsigned node,
                               struct np_error *err)
{
	char list[BRIEF_SIZE];

	return np_error_set(err, EINVAL, "node %u does not exist; this host has %s", node,
	                    np_cpulist_named("node", np_topology_nodes(topology, NP_NODES_ONLINE),
	                                     list, sizeof(list)));
}

static int refuse_cpu_node(const struct np_topology *topology, unsigned node, struct np_error *err)
{
	char list[BRIEF_SIZE];

	if (!np_topology_node(topology, node))
		return refuse_missing_node(topology, node, err);
	if (np_bitmap_has(np_topology_nodes(topology, NP_NODES_WITH_CPUS), node))
		return np_error_set(
			err, EINVAL,
			"node %u has no CPU in the cpuset of this cgroup, which holds %s", node,
			np_cpulist_named("CPU", np_topology_cpus(topology, NP_CPUS_CPUSET), list,
		                         sizeof(list)));
	return np_error_set(err, EINVAL, "node %u has no CPUs to run on; nodes with CPUs are %s",
	                    node,
	                    np_cpulist_brief(np_topology_nodes(topology, NP_NODES_WITH_CPUS), list,
	                                     sizeof(list)));
}

static int refuse_memory_node(const struct np_topology *topology, unsigned node,
                              struct np_error *err)
{
	const struct np_bitmap *with_memory = np_topology_nodes(topology, NP_NODES_WITH_MEMORY);
	char list[BRIEF_SIZE];

	if (!np_topology_node(topology, node))
		return refuse_missing_node(topology, node, err);
	if (!np_bitmap_has(with_memory, node))
		return np_error_set(err, EINVAL,
		                    "node %u has no memory to allocate; nodes with memory are %s",
		                    node, np_cpulist_brief(with_memory, list, sizeof(list)));
	return np_error_set(err, EINVAL,
	                    "node %u is outside Mems_allowed of this process's cpuset (%s)", node,
	                    np_cpulist_brief(np_topology_nodes(topology, NP_NODES_ALLOWED), list,
	                                     sizeof(list)));
}

/* The members of @usable at the places in @places, counted from 0. */
static int pick_relative(const struct np_bitmap *places, const struct np_bitmap *usable,
                         const char *text, struct np_bitmap *ret, struct np_error *err)
{
	unsigned member = np_bitmap_next(usable, 0);
	unsigned place = 0;

	np_bitmap_for_each (wanted, places) {
		while (place < wanted && member != NP_BITMAP_END) {
			member = np_bitmap_next(usable, member + 1);
			place++;
		}
		if (member == NP_BITMAP_END)
			return np_error_set(err, EINVAL,
			                    "'%s': +%u is beyond the %u that may be used", text,
			                    wanted, np_bitmap_count(usable));
		if (np_bitmap_add(ret, member) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * strtoul() of the C library, and so numactl, reads 010 as 8 and 0x10 as 16; most people mean 10
 * with the first. Nobody is served by a guess.
 */
static int check_decimal(const char *text, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	for (const char *c = text; *c; c++) {
		bool starts = c == text || !isalnum((unsigned char)c[-1]);

		if (starts && c[0] == '0' && isalnum((unsigned char)c[1]))
			return np_error_set(err, EINVAL,
			                    "'%s': a number with a 0 in front can be octal or "
			                    "hexadecimal: write it in plain decimal",
			                    np_error_quote(text, quoted, sizeof(quoted)));
	}
	return 0;
}

/* "+0,+2-3" as a list of places: numactl takes the sign on each number, or on the first alone. */
static int parse_places(const char *text, struct np_bitmap *ret, struct np_error *err)
{
	char *plain = strdup(text);
	char *out = plain;
	int rc;

	if (!plain)
		return -ENOMEM;
	for (const char *c = text; *c; c++)
		if (*c != '+' || (c > text && !strchr(",-", c[-1])))
			*out++ = *c;
	*out = '\0';
	rc = np_cpulist_parse(plain, ret, err);
	free(plain);
	return rc;
}

/* The body of a set, without its '!': all, a list, or a relative list. */
static int parse_body(const char *text, const struct np_topology *topology,
                      const struct np_bitmap *usable, refuse_fn *refuse, struct np_bitmap *ret,
                      struct np_error *err)
{
	struct np_bitmap places = { 0 };
	int rc = check_decimal(text, err);

	if (rc < 0)
		return rc;
	if (strcmp(text, "all") == 0)
		return np_bitmap_copy(ret, usable);
	if (*text != '+')
		rc = np_cpulist_parse(text, ret, err);
	else if ((rc = parse_places(text, &places, err)) == 0)
		rc = pick_relative(&places, usable, text, ret, err);
	np_bitmap_release(&places);
	if (rc < 0 || np_bitmap_is_subset(ret, usable))
		return rc;
	np_bitmap_for_each (member, ret)
		if (!np_bitmap_has(usable, member))
			return refuse(topology, member, err);
	return 0;
}

/*
 * @usable is what may be named, @whole what a '!' takes the named ones away from.
 */
struct universe {
	const struct np_bitmap *usable;
	const struct np_bitmap *whole;
};

static int parse_set(const char *text, const struct np_topology *topology,
                     const struct universe *universe, refuse_fn *refuse, struct np_bitmap *ret,
                     struct np_error *err)
{
	bool inverted = *text == '!';
	struct np_bitmap set = { 0 };
	char quoted[QUOTE_SIZE];
	int rc = parse_body(text + inverted, topology, universe->usable, refuse, &set, err);

	/* A bare "!" is a variable that was empty, not a wish for everything. */
	if (rc == 0 && inverted && !np_bitmap_is_empty(&set)) {
		struct np_bitmap rest = { 0 };

		rc = np_bitmap_copy(&rest, universe->whole);
		np_bitmap_and_not(&rest, &set);
		np_bitmap_release(&set);
		set = rest;
	}
	if (rc == 0 && np_bitmap_is_empty(&set))
		rc = np_error_set(err, EINVAL, "'%s' is an empty set",
		                  np_error_quote(text, quoted, sizeof(quoted)));
	if (rc == 0)
		rc = np_bitmap_or(ret, &set);
	if (rc == -ENOMEM)
		np_error_sys(err, ENOMEM, "set");
	np_bitmap_release(&set);
	return rc;
}

int nr_set_parse_cpus(const char *text, const struct np_topology *topology, bool all,
                      struct np_bitmap *ret, struct np_error *err)
{
	/* numactl's "!0" leaves the inherited affinity: it inverts over all CPUs of the host. */
	const struct universe universe = {
		.usable = np_topology_cpus(topology, all ? NP_CPUS_ONLINE : NP_CPUS_ALLOWED),
		.whole = np_topology_cpus(topology, all ? NP_CPUS_ONLINE : NP_CPUS_CPUSET),
	};

	return parse_set(text, topology, &universe, refuse_cpu, ret, err);
}

int nr_set_parse_cpu_nodes(const char *text, const struct np_topology *topology,
                           struct np_bitmap *ret, struct np_error *err)
{
	struct np_bitmap nodes = { 0 };
	const struct universe universe = { .usable = &nodes, .whole = &nodes };
	int rc = np_topology_nodes_of_cpus(topology, np_topology_cpus(topology, NP_CPUS_CPUSET),
	                                   &nodes);

	rc = rc < 0 ? np_error_sys(err, ENOMEM, "set")
	            : parse_set(text, topology, &universe, refuse_cpu_node, ret, err);
	np_bitmap_release(&nodes);
	return rc;
}

int nr_set_parse_memory_nodes(const char *text, const struct np_topology *topology, bool all,
                              struct np_bitmap *ret, struct np_error *err)
{
	const struct np_bitmap *nodes =
		np_topology_nodes(topology, all ? NP_NODES_WITH_MEMORY : NP_NODES_ALLOWED);
	const struct universe universe = { .usable = nodes, .whole = nodes };

	return parse_set(text, topology, &universe, refuse_memory_node, ret, err);
}
