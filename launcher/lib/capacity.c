/* SPDX-License-Identifier: BSD-3-Clause */
#include "capacity.h"

#include "fields.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_DIR "sys/devices/system/node"
#define POOL_PREFIX "hugepages-"

enum { PATH_SIZE = 160 };

/* "sys/devices/system/node/node2", or "" where the kernel has no nodes: then the host is it. */
static void print_node_dir(const struct np_sysroot *root, unsigned node, char *buf, size_t size)
{
	if (np_sysroot_has(root, NODE_DIR))
		snprintf(buf, size, NODE_DIR "/node%u", node);
	else
		buf[0] = '\0';
}

int nr_memory_read(const struct np_sysroot *root, unsigned node, struct nr_memory *ret,
                   struct np_error *err)
{
	struct nr_field fields[] = {
		{ .key = "MemTotal" },       { .key = "MemFree" },      { .key = "Active(file)" },
		{ .key = "Inactive(file)" }, { .key = "SReclaimable" },
	};
	struct nr_memory memory = { 0 };
	char dir[PATH_SIZE / 2];
	char path[PATH_SIZE];
	int rc;

	print_node_dir(root, node, dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/meminfo", *dir ? dir : "proc");
	rc = nr_fields_read(root, path, fields, sizeof(fields) / sizeof(fields[0]), err);
	if (rc < 0)
		return rc;
	if (!fields[0].found && !fields[1].found && !np_sysroot_has(root, path)) {
		*ret = memory;
		return 0;
	}
	if (!fields[0].found || !fields[1].found)
		return np_error_set(err, EINVAL, "%s/%s: it has no line %s", root->path, path,
		                    fields[0].found ? "MemFree" : "MemTotal");
	memory.known = true;
	memory.total_bytes = fields[0].value;
	for (size_t i = 1; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].found &&
		    __builtin_add_overflow(memory.free_bytes, fields[i].value, &memory.free_bytes))
			memory.free_bytes = UINT64_MAX;
	/* The parts are not read in one moment, and damage must not make a node larger. */
	if (memory.free_bytes > memory.total_bytes)
		memory.free_bytes = memory.total_bytes;
	*ret = memory;
	return 0;
}

/* One number of a pool; a file that is not there counts as 0. */
static int read_count(const struct np_sysroot *root, const char *dir, const char *file,
                      uint64_t *ret, struct np_error *err)
{
	char path[PATH_SIZE];
	bool found;

	*ret = 0;
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return nr_number_read(root, path, &found, ret, err);
}

static int read_pool(const struct np_sysroot *root, const char *dir, struct nr_pool *ret,
                     struct np_error *err)
{
	struct nr_pool pool;
	int rc = read_count(root, dir, "nr_hugepages", &pool.total_count, err);

	if (rc == 0)
		rc = read_count(root, dir, "free_hugepages", &pool.free_count, err);
	if (rc == 0)
		*ret = pool;
	return rc;
}

int nr_pool_read(const struct np_sysroot *root, unsigned node, uint64_t page_kb,
                 struct nr_pool *ret, struct np_error *err)
{
	char node_dir[PATH_SIZE / 4];
	char dir[PATH_SIZE / 2];

	print_node_dir(root, node, node_dir, sizeof(node_dir));
	if (*node_dir)
		snprintf(dir, sizeof(dir), "%s/hugepages/" POOL_PREFIX "%" PRIu64 "kB", node_dir,
		         page_kb);
	else
		snprintf(dir, sizeof(dir), NR_HUGE_DIR "/" POOL_PREFIX "%" PRIu64 "kB", page_kb);
	return read_pool(root, dir, ret, err);
}

int nr_host_pool_read(const struct np_sysroot *root, uint64_t page_kb, struct nr_host_pool *ret,
                      struct np_error *err)
{
	struct nr_host_pool host = { 0 };
	uint64_t overcommit = 0;
	uint64_t surplus = 0;
	char dir[PATH_SIZE / 2];
	int rc;

	snprintf(dir, sizeof(dir), NR_HUGE_DIR "/" POOL_PREFIX "%" PRIu64 "kB", page_kb);
	rc = read_pool(root, dir, &host.pool, err);
	if (rc == 0)
		rc = read_count(root, dir, "resv_hugepages", &host.reserved_count, err);
	if (rc == 0)
		rc = read_count(root, dir, "nr_overcommit_hugepages", &overcommit, err);
	if (rc == 0)
		rc = read_count(root, dir, "surplus_hugepages", &surplus, err);
	if (rc < 0)
		return rc;
	host.spare_count = overcommit > surplus ? overcommit - surplus : 0;
	*ret = host;
	return 0;
}

static int compare_sizes(const void *a, const void *b)
{
	const uint64_t *left = a;
	const uint64_t *right = b;

	return (*left > *right) - (*left < *right);
}

/* The size in "hugepages-2048kB"; 0 for any other name. */
static uint64_t parse_pool_name(const char *name)
{
	size_t prefix_len = strlen(POOL_PREFIX);
	unsigned long long kb;
	char *end;

	if (strncmp(name, POOL_PREFIX, prefix_len) != 0 ||
	    !isdigit((unsigned char)name[prefix_len]))
		return 0;
	errno = 0;
	kb = strtoull(name + prefix_len, &end, 10);
	return errno || strcmp(end, "kB") != 0 ? 0 : kb;
}

int nr_page_sizes_read(const struct np_sysroot *root, struct nr_page_sizes *ret,
                       struct np_error *err)
{
	struct nr_page_sizes sizes = { 0 };
	struct np_error why = { 0 };
	char **names = NULL;
	int count = np_sysroot_list(root, NR_HUGE_DIR, &names, &why);

	if (count < 0 && count != -ENOENT && count != -ENOTDIR) {
		if (err)
			*err = why;
		return count;
	}
	for (int i = 0; i < count && sizes.count < NR_PAGE_SIZES_MAX; i++) {
		uint64_t kb = parse_pool_name(names[i]);

		if (kb > 0)
			sizes.kb[sizes.count++] = kb;
	}
	free(names);
	qsort(sizes.kb, sizes.count, sizeof(sizes.kb[0]), compare_sizes);
	*ret = sizes;
	return 0;
}

const char *nr_bytes_print(uint64_t bytes, char *buf, size_t size)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t unit = 0;

	while (unit + 1 < sizeof(units) / sizeof(units[0]) && bytes >> (10 * (unit + 1)) > 0)
		unit++;
	if ((bytes & ((UINT64_C(1) << (10 * unit)) - 1)) == 0)
		snprintf(buf, size, "%" PRIu64 " %s", bytes >> (10 * unit), units[unit]);
	else
		snprintf(buf, size, "%.1f %s", (double)bytes / (double)(UINT64_C(1) << (10 * unit)),
		         units[unit]);
	return buf;
}

const char *nr_page_size_name(uint64_t page_kb, char *buf, size_t size)
{
	static const char *const units[] = { "KB", "MB", "GB" };
	size_t unit = page_kb >> 20 > 0 ? 2 : page_kb >> 10 > 0;

	snprintf(buf, size, "%" PRIu64 "%s", page_kb >> (10 * unit), units[unit]);
	return buf;
}
