/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What several nodes have of one thing, bytes of memory or huge pages of one size, and sentences
 * about it.
 */
#ifndef NR_STOCK_H
#define NR_STOCK_H

#include "../../probe/base/sysroot.h"

#include <numaprobe/topology.h>

struct nr_stock {
	uint64_t page_kb; /* of a huge page; 0 = it is memory, in bytes */
	struct {
		uint64_t total;
		uint64_t free;
	} * nodes; /* by OS index */
	unsigned node_count;
};

/*
 * Reads the memory of these nodes; those of which the host tells none are added to *ret_silent.
 * The caller ends *ret with nr_stock_release(). Errors as nr_memory_read().
 */
int nr_stock_read_memory(const struct np_sysroot *root, const struct np_bitmap *nodes,
                         struct nr_stock *ret, struct np_bitmap *ret_silent, struct np_error *err);

/* The same for their huge pages. Errors as nr_pool_read(). */
int nr_stock_read_pages(const struct np_sysroot *root, const struct np_bitmap *nodes,
                        uint64_t page_kb, struct nr_stock *ret, struct np_error *err);

void nr_stock_release(struct nr_stock *stock);

/* Of these nodes together, UINT64_MAX at most; of a node that was not read, nothing. */
uint64_t nr_stock_total(const struct nr_stock *stock, const struct np_bitmap *nodes);
uint64_t nr_stock_free(const struct nr_stock *stock, const struct np_bitmap *nodes);

/* "400 MiB", or "8" huge pages; in @buf, which it returns, as the next one does. */
const char *nr_stock_amount(const struct nr_stock *stock, uint64_t amount, char *buf, size_t size);

/* "node 2 has 120 MiB free of 251 MiB", "nodes 0-1 have 3 free huge pages of 2048 kB". */
const char *nr_stock_describe(const struct nr_stock *stock, const struct np_bitmap *nodes,
                              char *buf, size_t size);

/*
 * Who gives @lacking when @from have no more, nearest first: "come from node 3 (distance 12), node 0
 * (distance 20)", in a new string that the caller frees. NULL when memory runs out.
 */
char *nr_stock_donors(const struct nr_stock *stock, const struct np_topology *topology,
                      const struct np_bitmap *from, const struct np_bitmap *others,
                      uint64_t lacking);

#endif
