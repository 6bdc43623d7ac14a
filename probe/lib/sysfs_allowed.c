/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which CPUs and nodes a process may use: the kernel's word in proc/self/status (the affinity mask
 * is always inside the cpuset), and the cpuset cgroup itself, to tell the two reasons apart. A
 * captured tree may have the latter alone.
 */
#include "topology_data.h"

#include <numaprobe/cpulist.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 64 };

/* The list behind "<field>:" in a status file; found false when there is no such line. */
static int parse_status_list(const char *text, const char *field, struct np_bitmap *ret,
                             bool *ret_found, struct np_error *err)
{
	size_t field_len = strlen(field);
	const char *line = text;
	char *value;
	int rc;

	/* At the start of a line: a program's name, in the same file, can hold anything. */
	while (line && (strncmp(line, field, field_len) != 0 || line[field_len] != ':'))
		line = np_next_line(line);
	*ret_found = line != NULL;
	if (!line)
		return 0;
	line += field_len + 1;
	line += strspn(line, " \t");
	value = strndup(line, strcspn(line, "\n"));
	if (!value)
		return np_error_sys(err, ENOMEM, "%s", field);
	rc = np_cpulist_parse(value, ret, err);
	if (rc < 0)
		np_error_wrap(err, rc, "proc/self/status: %s", field);
	free(value);
	return rc;
}

/* Fills the two sets from the status file; what it does not tell stays empty and "not found". */
static int read_status(const struct np_sysroot *root, struct np_topology *topology,
                       bool *ret_has_cpus, bool *ret_has_nodes, struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	char *text;
	int rc = np_sysroot_read_optional(root, "proc/thread-self/status", &text, err);

	*ret_has_cpus = false;
	*ret_has_nodes = false;
	if (rc == 0 && !text)
		rc = np_sysroot_read_optional(root, "proc/self/status", &text, err);
	if (rc < 0 || !text)
		return rc;
	rc = parse_status_list(text, "Cpus_allowed_list", &topology->cpus[NP_CPUS_ALLOWED],
	                       ret_has_cpus, err);
	if (rc == 0)
		rc = parse_status_list(text, "Mems_allowed_list",
		                       &topology->nodes[NP_NODES_ALLOWED], ret_has_nodes, err);
	if (rc == 0 && !*ret_has_cpus && !*ret_has_nodes)
		rc = np_error_set(err, EINVAL,
		                  "%s/proc/self/status: '%s' has no line Cpus_allowed_list",
		                  root->path, np_error_quote(text, quoted, sizeof(quoted)));
	free(text);
	return rc;
}

int np_sysfs_read_allowed(const struct np_sysroot *root, struct np_topology *topology,
                          struct np_error *err)
{
	const struct np_bitmap *online = &topology->cpus[NP_CPUS_ONLINE];
	struct np_bitmap *allowed = &topology->cpus[NP_CPUS_ALLOWED];
	struct np_bitmap *cpuset = &topology->cpus[NP_CPUS_CPUSET];
	struct np_bitmap *nodes = &topology->nodes[NP_NODES_ALLOWED];
	struct np_bitmap cpuset_nodes = { 0 };
	bool has_cpus;
	bool has_nodes;
	int rc = read_status(root, topology, &has_cpus, &has_nodes, err);

	if (rc < 0)
		return rc;
	/* Where everything is allowed there is no reason to look for. */
	if (!has_cpus || !np_bitmap_is_subset(online, allowed))
		rc = np_cpuset_read(root, "self", cpuset, &cpuset_nodes, has_cpus ? NULL : err);
	/* Where the status file decides, a cpuset that cannot be read only hides a reason. */
	if (rc < 0 && !has_cpus) {
		np_bitmap_release(&cpuset_nodes);
		return rc;
	}
	np_bitmap_and(cpuset, online);

	rc = np_bitmap_is_empty(cpuset) ? np_bitmap_copy(cpuset, online) : 0;
	if (rc == 0 && !has_cpus)
		rc = np_bitmap_copy(allowed, cpuset);
	if (rc == 0 && !has_nodes)
		rc = np_bitmap_copy(nodes, np_bitmap_is_empty(&cpuset_nodes)
		                                   ? &topology->nodes[NP_NODES_ONLINE]
		                                   : &cpuset_nodes);
	np_bitmap_release(&cpuset_nodes);
	return rc < 0 ? np_error_sys(err, ENOMEM, "allowed CPUs") : 0;
}
