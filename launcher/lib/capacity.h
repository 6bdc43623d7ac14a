/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much a node has: memory (sysfs nodeN/meminfo) and huge pages of each size (hugepages-<kB>kB,
 * Documentation/admin-guide/mm/hugetlbpage.rst). Of now: it can be another in the next moment.
 */
#ifndef NR_CAPACITY_H
#define NR_CAPACITY_H

#include "../../probe/base/sysroot.h"

#define NR_HUGE_DIR "sys/kernel/mm/hugepages"

struct nr_memory {
	bool known; /* the host tells */
	uint64_t total_bytes;
	/*
	 * Free, or page cache and slabs that the kernel gives up for the asking; a little less can
	 * be had, as the kernel keeps some back.
	 */
	uint64_t free_bytes;
};

/*   -EINVAL  the file is there and is garbage
 *   -ENOMEM  */
int nr_memory_read(const struct np_sysroot *root, unsigned node, struct nr_memory *ret,
                   struct np_error *err);

struct nr_pool {
	uint64_t total_count;
	uint64_t free_count;
};

/* A node without a pool has none of these pages: a node without memory, or without this size. */
int nr_pool_read(const struct np_sysroot *root, unsigned node, uint64_t page_kb,
                 struct nr_pool *ret, struct np_error *err);

/* The whole host's pool of one size. */
struct nr_host_pool {
	struct nr_pool pool;
	uint64_t reserved_count; /* free, but promised to mappings that have not touched them yet */
	uint64_t spare_count;    /* that the kernel may make on demand: overcommit less surplus */
};

int nr_host_pool_read(const struct np_sysroot *root, uint64_t page_kb, struct nr_host_pool *ret,
                      struct np_error *err);

/* arm64 has four, the most of all. */
enum { NR_PAGE_SIZES_MAX = 16 };

struct nr_page_sizes {
	uint64_t kb[NR_PAGE_SIZES_MAX]; /* ascending */
	size_t count;                   /* 0: a kernel without huge pages */
};

int nr_page_sizes_read(const struct np_sysroot *root, struct nr_page_sizes *ret,
                       struct np_error *err);

/* "251 MiB", "1.5 GiB", in @buf, which it returns. */
const char *nr_bytes_print(uint64_t bytes, char *buf, size_t size);

/* The kernel's name of a page size in cgroup files, "2MB" (mm/hugetlb_cgroup.c, mem_fmt()). */
const char *nr_page_size_name(uint64_t page_kb, char *buf, size_t size);

#endif
