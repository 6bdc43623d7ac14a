/* SPDX-License-Identifier: BSD-3-Clause */
#include "histogram.h"

#include <stdlib.h>
#include <string.h>

/*
 * Values below 2^(SUB_BITS + 1) have a bucket each; above, each power of two is cut into 2^SUB_BITS
 * buckets. A bucket is thus narrower than 1 / 2^SUB_BITS of the values in it.
 */
enum {
	SUB_BITS = 10,
	SUB_COUNT = 1 << SUB_BITS,
	EXACT_COUNT = 2 * SUB_COUNT,
	BUCKET_COUNT = EXACT_COUNT + (63 - SUB_BITS) * SUB_COUNT,
};

struct nl_histogram {
	uint64_t count;
	uint64_t min;
	uint64_t max;
	/* 128 bits: a sum of many large values must not wrap. */
	uint64_t sum_low;
	uint64_t sum_high;
	uint64_t buckets[BUCKET_COUNT];
};

static unsigned bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < EXACT_COUNT)
		return (unsigned)value;
	shift = (unsigned)(63 - SUB_BITS - __builtin_clzll(value));
	/* value >> shift is in SUB_COUNT..EXACT_COUNT - 1. */
	return shift * SUB_COUNT + (unsigned)(value >> shift);
}

/* The greatest value that a bucket takes. */
static uint64_t bucket_end(unsigned bucket)
{
	unsigned shift = bucket < EXACT_COUNT ? 0 : bucket / SUB_COUNT - 1;
	uint64_t first = bucket - shift * SUB_COUNT;

	return (first << shift) + ((UINT64_C(1) << shift) - 1);
}

struct nl_histogram *nl_histogram_create(void)
{
	struct nl_histogram *histogram = malloc(sizeof(*histogram));

	/* Cleared by hand, so that its pages are there before anything is measured. */
	if (histogram)
		nl_histogram_clear(histogram);
	return histogram;
}

void nl_histogram_free(struct nl_histogram *histogram)
{
	free(histogram);
}

void nl_histogram_clear(struct nl_histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
	histogram->min = UINT64_MAX;
}

static void add_to_sum(struct nl_histogram *histogram, uint64_t low, uint64_t high)
{
	histogram->sum_low += low;
	histogram->sum_high += high + (histogram->sum_low < low);
}

void nl_histogram_add(struct nl_histogram *histogram, uint64_t ns)
{
	histogram->buckets[bucket_of(ns)]++;
	histogram->count++;
	add_to_sum(histogram, ns, 0);
	if (ns < histogram->min)
		histogram->min = ns;
	if (ns > histogram->max)
		histogram->max = ns;
}

void nl_histogram_merge(struct nl_histogram *into, const struct nl_histogram *from)
{
	for (unsigned i = 0; i < BUCKET_COUNT; i++)
		into->buckets[i] += from->buckets[i];
	into->count += from->count;
	add_to_sum(into, from->sum_low, from->sum_high);
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
}

uint64_t nl_histogram_count(const struct nl_histogram *histogram)
{
	return histogram->count;
}

uint64_t nl_histogram_min(const struct nl_histogram *histogram)
{
	return histogram->count > 0 ? histogram->min : 0;
}

uint64_t nl_histogram_max(const struct nl_histogram *histogram)
{
	return histogram->max;
}

double nl_histogram_mean(const struct nl_histogram *histogram)
{
	if (histogram->count == 0)
		return 0;
	return ((double)histogram->sum_high * 0x1p64 + (double)histogram->sum_low) /
	       (double)histogram->count;
}

uint64_t nl_histogram_at(const struct nl_histogram *histogram, struct np_share share)
{
	uint64_t seen = 0;
	uint64_t rank;

	if (histogram->count == 0)
		return 0;
	rank = np_nearest_rank(share, histogram->count);
	for (unsigned i = 0; i < BUCKET_COUNT; i++) {
		seen += histogram->buckets[i];
		if (seen >= rank)
			return bucket_end(i) < histogram->max ? bucket_end(i) : histogram->max;
	}
	return histogram->max;
}
