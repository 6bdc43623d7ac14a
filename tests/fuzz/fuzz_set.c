/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets in numactl's notation, on a host with something of everything: an offline CPU, an isolated
 * one, one outside the affinity, a node without memory. The first byte chooses the kind of set.
 */
#include "fuzz.h"
#include "tree.h"

#include <errno.h>
#include <numarun/set.h>
#include <stdlib.h>
#include <string.h>

static const int codes[] = { EINVAL, 0 };

static const struct np_topology *host(void)
{
	static struct np_topology *topology;
	struct np_topology_source source = { .root = tree_root() };
	struct np_error err = { 0 };

	if (topology)
		return topology;
	tree_put_host();
	tree_put("sys/devices/system/cpu/online", "0-2\n", 4);
	tree_put("sys/devices/system/cpu/isolated", "1\n", 2);
	tree_put("sys/devices/system/node/has_memory", "0\n", 2);
	tree_put("proc/self/status", "Cpus_allowed_list:\t0,2\n", 23);
	if (np_topology_load(&source, &topology, &err) < 0)
		fuzz_fail("the host does not load", err.text);
	return topology;
}

static int parse(unsigned kind, const char *text, struct np_bitmap *ret, struct np_error *err)
{
	bool all = kind & 1;

	switch (kind / 2 % 3) {
	case 0:
		return nr_set_parse_cpus(text, host(), all, ret, err);
	case 1:
		return nr_set_parse_memory_nodes(text, host(), all, ret, err);
	default:
		return nr_set_parse_cpu_nodes(text, host(), ret, err);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_bitmap set = { 0 };
	struct np_error err = { 0 };
	unsigned kind = size > 0 ? data[0] % 6 : 0;
	char *text = size > 0 ? fuzz_text(data + 1, size - 1) : fuzz_text(data, 0);
	const struct np_bitmap *most = np_topology_cpus(host(), NP_CPUS_ONLINE);
	int rc = parse(kind, text, &set, &err);

	if (kind >= 2)
		most = np_topology_nodes(host(), NP_NODES_ONLINE);
	fuzz_check(rc, &err, codes);
	if (rc < 0 && !np_bitmap_is_empty(&set))
		fuzz_fail("refused, but filled", text);
	if (rc == 0 && (np_bitmap_is_empty(&set) || !np_bitmap_is_subset(&set, most)))
		fuzz_fail("an empty set, or one of what does not exist", text);
	np_bitmap_release(&set);
	free(text);
	return 0;
}
