/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values below DENSE_END have a counter each, which is what makes gathering cheap; counters come by
 * the page, where there are values. Longer ones wait in a list; when it is full, it is sorted and merged
 * into a distribution of its own, so that memory grows with the distinct values alone.
 */
#include "distribution.h"

#include "sort.h"

#include <errno.h>
#include <stdlib.h>

enum {
	PAGE_BITS = 12,
	PAGE_VALUES = 1 << PAGE_BITS,
	PAGES = 1 << 12,
	DENSE_END = PAGES * PAGE_VALUES, /* 16.8 ms in nanoseconds; 64 MiB if all are there */
	WAITING_MIN = 1 << 16,
	CHUNK = 1 << 15,
};

#define TOTAL_MAX (UINT64_C(1) << 31)

struct np_gatherer {
	uint32_t *pages[PAGES]; /* of PAGE_VALUES counters; NULL = no value in it */
	struct np_distribution longer;
	uint64_t *waiting; /* longer ones, as they came */
	size_t waiting_count;
	size_t waiting_room;
	uint64_t total;
};

void np_distribution_release(struct np_distribution *distribution)
{
	free(distribution->values);
	free(distribution->counts);
	*distribution = (struct np_distribution){ 0 };
}

static int distribution_reserve(struct np_distribution *distribution, size_t room)
{
	size_t items = room > 0 ? room : 1;

	distribution->values = malloc(items * sizeof(*distribution->values));
	distribution->counts = malloc(items * sizeof(*distribution->counts));
	if (distribution->values && distribution->counts)
		return 0;
	np_distribution_release(distribution);
	return -ENOMEM;
}

/* Gives back the room that was not needed. */
static void distribution_trim(struct np_distribution *distribution)
{
	size_t items = distribution->distinct_count > 0 ? distribution->distinct_count : 1;
	uint64_t *values = realloc(distribution->values, items * sizeof(*values));
	uint64_t *counts = realloc(distribution->counts, items * sizeof(*counts));

	if (values)
		distribution->values = values;
	if (counts)
		distribution->counts = counts;
}

static void append(struct np_distribution *distribution, uint64_t value, uint64_t count)
{
	distribution->values[distribution->distinct_count] = value;
	distribution->counts[distribution->distinct_count++] = count;
	distribution->total += count;
}

/* Both together, after what is in *ret, which has room for them. */
static void append_merged(const struct np_distribution *a, const struct np_distribution *b,
                          struct np_distribution *ret)
{
	size_t i = 0;
	size_t j = 0;

	while (i < a->distinct_count && j < b->distinct_count) {
		uint64_t value_a = a->values[i];
		uint64_t value_b = b->values[j];
		uint64_t count = 0;

		if (value_a <= value_b)
			count += a->counts[i++];
		if (value_b <= value_a)
			count += b->counts[j++];
		append(ret, value_a < value_b ? value_a : value_b, count);
	}
	for (; i < a->distinct_count; i++)
		append(ret, a->values[i], a->counts[i]);
	for (; j < b->distinct_count; j++)
		append(ret, b->values[j], b->counts[j]);
}

int np_distribution_merge(const struct np_distribution *a, const struct np_distribution *b,
                          struct np_distribution *ret)
{
	struct np_distribution merged = { 0 };

	if (a->total + b->total > TOTAL_MAX)
		return -EOVERFLOW;
	if (distribution_reserve(&merged, a->distinct_count + b->distinct_count) < 0)
		return -ENOMEM;
	append_merged(a, b, &merged);
	distribution_trim(&merged);
	*ret = merged;
	return 0;
}

/* The distribution of values that are sorted. */
static int distribution_of_sorted(const uint64_t *values, size_t count, struct np_distribution *ret)
{
	struct np_distribution runs = { 0 };
	size_t distinct = count > 0;

	for (size_t i = 1; i < count; i++)
		distinct += values[i] != values[i - 1];
	if (distribution_reserve(&runs, distinct) < 0)
		return -ENOMEM;

	for (size_t start = 0; start < count;) {
		size_t end = start + 1;

		while (end < count && values[end] == values[start])
			end++;
		append(&runs, values[start], end - start);
		start = end;
	}
	*ret = runs;
	return 0;
}

/* ---- gathering ---- */

struct np_gatherer *np_gatherer_create(void)
{
	return calloc(1, sizeof(struct np_gatherer));
}

void np_gatherer_free(struct np_gatherer *gatherer)
{
	if (!gatherer)
		return;
	for (size_t page = 0; page < PAGES; page++)
		free(gatherer->pages[page]);
	free(gatherer->waiting);
	np_distribution_release(&gatherer->longer);
	free(gatherer);
}

static int empty_waiting(struct np_gatherer *gatherer)
{
	struct np_distribution recent = { 0 };
	struct np_distribution merged = { 0 };
	size_t count = gatherer->waiting_count;
	uint64_t *scratch = malloc(count * sizeof(*scratch));
	int rc;

	if (!scratch)
		return -ENOMEM;
	np_sort_u64(gatherer->waiting, scratch, count);
	free(scratch);
	rc = distribution_of_sorted(gatherer->waiting, count, &recent);
	if (rc < 0)
		return rc;
	rc = np_distribution_merge(&gatherer->longer, &recent, &merged);
	np_distribution_release(&recent);
	if (rc < 0)
		return rc;
	np_distribution_release(&gatherer->longer);
	gatherer->longer = merged;
	gatherer->waiting_count = 0;
	return 0;
}

/*
 * Makes room for a chunk of longer values. A list as long as there are distinct values is merged into
 * these in a time that is proportional to its own length.
 */
static int reserve_chunk(struct np_gatherer *gatherer)
{
	size_t wanted;
	uint64_t *grown;
	int rc;

	if (gatherer->waiting_room - gatherer->waiting_count >= CHUNK)
		return 0;
	if (gatherer->waiting_count > 0) {
		rc = empty_waiting(gatherer);
		if (rc < 0)
			return rc;
	}
	wanted = gatherer->longer.distinct_count;
	if (wanted < WAITING_MIN)
		wanted = WAITING_MIN;
	if (wanted <= gatherer->waiting_room)
		return 0;
	grown = realloc(gatherer->waiting, wanted * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	gatherer->waiting = grown;
	gatherer->waiting_room = wanted;
	return 0;
}

/* There is room for @count waiting ones. */
static int add_chunk(struct np_gatherer *gatherer, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = values[i];
		uint32_t **page;

		if (value >= DENSE_END) {
			gatherer->waiting[gatherer->waiting_count++] = value;
			continue;
		}
		page = &gatherer->pages[value >> PAGE_BITS];
		if (!*page) {
			*page = calloc(PAGE_VALUES, sizeof(**page));
			if (!*page)
				return -ENOMEM;
		}
		(*page)[value % PAGE_VALUES]++;
	}
	gatherer->total += count;
	return 0;
}

int np_gatherer_add(struct np_gatherer *gatherer, const uint64_t *values, size_t count)
{
	if (count > TOTAL_MAX - gatherer->total)
		return -EOVERFLOW;

	while (count > 0) {
		size_t part = count < CHUNK ? count : CHUNK;
		int rc = reserve_chunk(gatherer);

		if (rc == 0)
			rc = add_chunk(gatherer, values, part);
		if (rc < 0)
			return rc;
		values += part;
		count -= part;
	}
	return 0;
}

/* Of those that wait, which are left as they are. */
static int distribution_of_waiting(const struct np_gatherer *gatherer, struct np_distribution *ret)
{
	size_t count = gatherer->waiting_count;
	uint64_t *copy = malloc((2 * count + 1) * sizeof(*copy));
	int rc;

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		copy[i] = gatherer->waiting[i];
	np_sort_u64(copy, copy + count, count);
	rc = distribution_of_sorted(copy, count, ret);
	free(copy);
	return rc;
}

static void append_page(const struct np_gatherer *gatherer, size_t page,
                        struct np_distribution *distribution)
{
	const uint32_t *counters = gatherer->pages[page];

	for (size_t i = 0; i < PAGE_VALUES; i++)
		if (counters[i] > 0)
			append(distribution, ((uint64_t)page << PAGE_BITS) + i, counters[i]);
}

int np_gatherer_distribution(const struct np_gatherer *gatherer, struct np_distribution *ret)
{
	struct np_distribution recent = { 0 };
	struct np_distribution whole = { 0 };
	size_t room = 0;
	int rc = distribution_of_waiting(gatherer, &recent);

	if (rc < 0)
		return rc;
	for (size_t page = 0; page < PAGES; page++)
		room += gatherer->pages[page] ? PAGE_VALUES : 0;
	room += gatherer->longer.distinct_count + recent.distinct_count;
	rc = distribution_reserve(&whole, room);
	if (rc < 0)
		goto out_release;

	for (size_t page = 0; page < PAGES; page++)
		if (gatherer->pages[page])
			append_page(gatherer, page, &whole);
	append_merged(&gatherer->longer, &recent, &whole);
	distribution_trim(&whole);
	*ret = whole;

out_release:
	np_distribution_release(&recent);
	return rc;
}
