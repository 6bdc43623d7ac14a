/* SPDX-License-Identifier: BSD-3-Clause */
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
		return np_error_set(err, EINVAL, "CPU %u does not exist; there are %s", cpu,
				    np_cpulist_brief(online, list, sizeof(list)));
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

	return np_error_set(
		err, EINVAL, "node %u does not exist; there are %s", node,
		np_cpulist_brief(np_topology_nodes(topology, NP_NODES_ONLINE), list, sizeof(list)));
}

static int refuse_cpu_node(const struct np_topology *topology, unsigned node, struct np_error *err)
{
	char list[BRIEF_SIZE];

	if (!np_topology_node(topology, node))
		return refuse_missing_node(topology, node, err);
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

/* The body of a set, without its '!': all, a list, or a relative list. */
static int parse_body(const char *text, const struct np_topology *topology,
		      const struct np_bitmap *usable, refuse_fn *refuse, struct np_bitmap *ret,
		      struct np_error *err)
{
	bool relative = *text == '+';
	struct np_bitmap list = { 0 };
	int rc;

	if (strcmp(text, "all") == 0)
		return np_bitmap_copy(ret, usable);
	rc = np_cpulist_parse(relative ? text + 1 : text, &list, err);
	if (rc == 0 && relative)
		rc = pick_relative(&list, usable, text, ret, err);
	else if (rc == 0)
		rc = np_bitmap_copy(ret, &list);
	np_bitmap_release(&list);
	if (rc < 0 || np_bitmap_is_subset(ret, usable))
		return rc;
	np_bitmap_for_each (member, ret)
		if (!np_bitmap_has(usable, member))
			return refuse(topology, member, err);
	return 0;
}

static int parse_set(const char *text, const struct np_topology *topology,
		     const struct np_bitmap *usable, refuse_fn *refuse, struct np_bitmap *ret,
		     struct np_error *err)
{
	bool inverted = *text == '!';
	struct np_bitmap set = { 0 };
	char quoted[QUOTE_SIZE];
	int rc = parse_body(inverted ? text + 1 : text, topology, usable, refuse, &set, err);

	if (rc == 0 && inverted) {
		struct np_bitmap rest = { 0 };

		rc = np_bitmap_copy(&rest, usable);
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
	const struct np_bitmap *usable =
		np_topology_cpus(topology, all ? NP_CPUS_ONLINE : NP_CPUS_ALLOWED);

	return parse_set(text, topology, usable, refuse_cpu, ret, err);
}

int nr_set_parse_cpu_nodes(const char *text, const struct np_topology *topology,
			   struct np_bitmap *ret, struct np_error *err)
{
	return parse_set(text, topology, np_topology_nodes(topology, NP_NODES_WITH_CPUS),
			 refuse_cpu_node, ret, err);
}

int nr_set_parse_memory_nodes(const char *text, const struct np_topology *topology, bool all,
			      struct np_bitmap *ret, struct np_error *err)
{
	const struct np_bitmap *usable =
		np_topology_nodes(topology, all ? NP_NODES_WITH_MEMORY : NP_NODES_ALLOWED);

	return parse_set(text, topology, usable, refuse_memory_node, ret, err);
}
