/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contents of a host's files. The input's parts, divided by '|', become the files of
 * tree_files[] in that order; "~" leaves a file out and "/" puts a folder in its place; files
 * behind the last part stay as they are on a host that is in order.
 */
#include "fuzz.h"
#include "tree.h"

#include <errno.h>
#include <numaprobe/rank.h>
#include <stdlib.h>
#include <string.h>

/* ENOENT: no CPU at all, or a node's CPUs are told nowhere. */
static const int load_codes[] = { EINVAL, ENOENT, EISDIR, E2BIG, 0 };
static const int rank_codes[] = { ENODATA, 0 };

static void put_part(const char *path, const char *part, size_t size)
{
	if (size == 1 && *part == '~')
		tree_put(path, NULL, 0);
	else if (size == 1 && *part == '/')
		tree_put_folder(path);
	else
		tree_put(path, part, size);
}

/* Writes the files; returns how many, which are to be put in order again. */
static size_t put_parts(const char *input, size_t size)
{
	const char *end = input + size;
	size_t count = 0;

	while (count < tree_file_count && input < end) {
		const char *bar = memchr(input, '|', (size_t)(end - input));
		const char *part_end = bar ? bar : end;

		put_part(tree_files[count++].path, input, (size_t)(part_end - input));
		input = bar ? bar + 1 : end;
	}
	return count;
}

static void check_rank(const struct np_topology *topology, const struct np_device *device)
{
	struct np_bitmap ranked = { 0 };
	struct np_rank rank = { 0 };
	struct np_error err = { 0 };

	int rc = np_rank_cpus(topology, &device->locality, &rank, &err);

	fuzz_check(rc, &err, rank_codes);
	if (rc < 0)
		return;
	for (size_t i = 0; i < rank.tier_count; i++)
		if (np_bitmap_is_empty(&rank.tiers[i].cpus) ||
		    np_bitmap_intersects(&ranked, &rank.tiers[i].cpus) ||
		    np_bitmap_or(&ranked, &rank.tiers[i].cpus) < 0)
			fuzz_fail("a tier is empty, or CPUs stand in two", device->name);
	if (!np_bitmap_equal(&ranked, np_topology_cpus(topology, NP_CPUS_USABLE)))
		fuzz_fail("the tiers are not the usable CPUs", device->name);
	np_bitmap_release(&ranked);
	np_rank_release(&rank);
}

static void check_load(void)
{
	struct np_topology_source source = { .root = tree_root(), .scope = NP_TOPOLOGY_ALL };
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };
	int rc = np_topology_load(&source, &topology, &err);

	fuzz_check(rc, &err, load_codes);
	if (rc < 0) {
		if (topology)
			fuzz_fail("failed, but there is a topology", err.text);
		return;
	}
	for (size_t i = 0; i < np_topology_device_count(topology); i++)
		check_rank(topology, np_topology_device(topology, i));
	np_topology_free(topology);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool is_built;
	size_t count;

	if (!is_built)
		tree_put_host();
	is_built = true;
	count = put_parts((const char *)data, size);
	check_load();
	while (count-- > 0)
		tree_put_back(&tree_files[count]);
	return 0;
}
