/* SPDX-License-Identifier: BSD-3-Clause */
#include "stock.h"

#include "capacity.h"

#include <errno.h>
#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>

/* More donors than this would make a warning nobody reads. */
enum { DONORS_MAX = 4, BRIEF_SIZE = 96, SIZE_SIZE = 32 };

static int make_room(const struct np_bitmap *nodes, struct nr_stock *stock, struct np_error *err)
{
	unsigned last = np_bitmap_last(nodes);

	stock->node_count = last == NP_BITMAP_END ? 0 : last + 1;
	stock->nodes = calloc((size_t)stock->node_count + 1, sizeof(*stock->nodes));
	return stock->nodes ? 0 : np_error_sys(err, ENOMEM, "nodes");
}

int nr_stock_read_memory(const struct np_sysroot *root, const struct np_bitmap *nodes,
                         struct nr_stock *ret, struct np_bitmap *ret_silent, struct np_error *err)
{
	struct nr_stock stock = { 0 };
	int rc = make_room(nodes, &stock, err);

	np_bitmap_for_each (node, nodes) {
		struct nr_memory memory = { 0 };

		if (rc == 0)
			rc = nr_memory_read(root, node, &memory, err);
		if (rc < 0)
			break;
		stock.nodes[node].total = memory.total_bytes;
		stock.nodes[node].free = memory.free_bytes;
		if (!memory.known && np_bitmap_add(ret_silent, node) < 0)
			rc = np_error_sys(err, ENOMEM, "nodes");
	}
	if (rc < 0)
		nr_stock_release(&stock);
	else
		*ret = stock;
	return rc;
}

int nr_stock_read_pages(const struct np_sysroot *root, const struct np_bitmap *nodes,
                        uint64_t page_kb, struct nr_stock *ret, struct np_error *err)
{
	struct nr_stock stock = { .page_kb = page_kb };
	int rc = make_room(nodes, &stock, err);

	np_bitmap_for_each (node, nodes) {
		struct nr_pool pool = { 0 };

		if (rc == 0)
			rc = nr_pool_read(root, node, page_kb, &pool, err);
		if (rc < 0)
			break;
		stock.nodes[node].total = pool.total_count;
		stock.nodes[node].free = pool.free_count;
	}
	if (rc < 0)
		nr_stock_release(&stock);
	else
		*ret = stock;
	return rc;
}

void nr_stock_release(struct nr_stock *stock)
{
	free(stock->nodes);
	*stock = (struct nr_stock){ 0 };
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t nr_stock_total(const struct nr_stock *stock, const struct np_bitmap *nodes)
{
	uint64_t sum = 0;

	np_bitmap_for_each (node, nodes)
		if (node < stock->node_count)
			sum = add(sum, stock->nodes[node].total);
	return sum;
}

uint64_t nr_stock_free(const struct nr_stock *stock, const struct np_bitmap *nodes)
{
	uint64_t sum = 0;

	np_bitmap_for_each (node, nodes)
		if (node < stock->node_count)
			sum = add(sum, stock->nodes[node].free);
	return sum;
}

const char *nr_stock_amount(const struct nr_stock *stock, uint64_t amount, char *buf, size_t size)
{
	if (!stock->page_kb)
		return nr_bytes_print(amount, buf, size);
	snprintf(buf, size, "%" PRIu64, amount);
	return buf;
}

const char *nr_stock_describe(const struct nr_stock *stock, const struct np_bitmap *nodes,
                              char *buf, size_t size)
{
	uint64_t has = nr_stock_free(stock, nodes);
	const char *verb = np_bitmap_count(nodes) == 1 ? "has" : "have";
	char list[BRIEF_SIZE];
	char free_text[SIZE_SIZE];
	char total_text[SIZE_SIZE];

	np_cpulist_named("node", nodes, list, sizeof(list));
	nr_stock_amount(stock, has, free_text, sizeof(free_text));
	if (stock->page_kb)
		snprintf(buf, size, "%s %s %s free huge page%s of %" PRIu64 " kB", list, verb,
		         free_text, has == 1 ? "" : "s", stock->page_kb);
	else
		snprintf(buf, size, "%s %s %s free of %s", list, verb, free_text,
		         nr_bytes_print(nr_stock_total(stock, nodes), total_text,
		                        sizeof(total_text)));
	return buf;
}

/* From the nearest of @from to @to, NP_BITMAP_END when it is not known. */
static unsigned distance_to(const struct np_topology *topology, const struct np_bitmap *from,
                            unsigned to)
{
	unsigned nearest = NP_BITMAP_END;

	np_bitmap_for_each (node, from) {
		unsigned distance;

		if (np_topology_node_distance(topology, node, to, &distance) == 0 &&
		    distance < nearest)
			nearest = distance;
	}
	return nearest;
}

struct donor {
	unsigned node;
	unsigned distance; /* NP_BITMAP_END = not known */
	uint64_t free;
};

static int compare_donors(const void *a, const void *b)
{
	const struct donor *left = a;
	const struct donor *right = b;

	if (left->distance != right->distance)
		return left->distance < right->distance ? -1 : 1;
	return (left->node > right->node) - (left->node < right->node);
}

/* The others that have something, nearest first; *ret is the caller's to free. */
static size_t sort_donors(const struct nr_stock *stock, const struct np_topology *topology,
                          const struct np_bitmap *from, const struct np_bitmap *others,
                          struct donor **ret)
{
	size_t count = 0;

	*ret = calloc((size_t)np_bitmap_count(others) + 1, sizeof(**ret));
	if (!*ret)
		return 0;
	np_bitmap_for_each (node, others)
		if (node < stock->node_count && stock->nodes[node].free > 0)
			(*ret)[count++] = (struct donor){
				.node = node,
				.distance = distance_to(topology, from, node),
				.free = stock->nodes[node].free,
			};
	qsort(*ret, count, sizeof(**ret), compare_donors);
	return count;
}

static void print_donor(const struct donor *donor, const char *separator, FILE *out)
{
	fprintf(out, "%snode %u", separator, donor->node);
	if (donor->distance != NP_BITMAP_END)
		fprintf(out, " (distance %u)", donor->distance);
}

static void print_donors(const struct nr_stock *stock, const struct donor *donors, size_t count,
                         uint64_t lacking, FILE *out)
{
	char rest[SIZE_SIZE];
	size_t i = 0;

	fputs(stock->page_kb && lacking == 1 ? "comes from " : "come from ", out);
	for (; i < count && lacking > 0; i++) {
		if (i < DONORS_MAX)
			print_donor(&donors[i], i > 0 ? ", " : "", out);
		lacking -= donors[i].free < lacking ? donors[i].free : lacking;
	}
	if (i > DONORS_MAX)
		fprintf(out, " and %zu more", i - DONORS_MAX);
	if (count == 0)
		fputs("nowhere: no other node has any", out);
	else if (lacking > 0)
		fprintf(out, ", and %s of it from nowhere",
		        nr_stock_amount(stock, lacking, rest, sizeof(rest)));
}

char *nr_stock_donors(const struct nr_stock *stock, const struct np_topology *topology,
                      const struct np_bitmap *from, const struct np_bitmap *others,
                      uint64_t lacking)
{
	struct donor *donors;
	size_t count = sort_donors(stock, topology, from, others, &donors);
	char *text = NULL;
	size_t size;
	FILE *out = donors ? open_memstream(&text, &size) : NULL;

	if (out) {
		print_donors(stock, donors, count, lacking, out);
		if (fclose(out) == EOF) {
			free(text);
			text = NULL;
		}
	}
	free(donors);
	return text;
}
