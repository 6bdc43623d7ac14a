/* SPDX-License-Identifier: BSD-3-Clause */
#include "sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Digits of 11 bits: the counters of the two that latencies below 4 ms have fit in a first-level cache. */
enum { DIGIT_BITS = 11, DIGIT_VALUES = 1 << DIGIT_BITS, DIGITS_MAX = 6, INSERTION_MAX = 64 };

static void sort_by_insertion(uint64_t *values, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint64_t value = values[i];
		size_t j = i;

		for (; j > 0 && values[j - 1] > value; j--)
			values[j] = values[j - 1];
		values[j] = value;
	}
}

static unsigned digit_of(uint64_t value, unsigned digit)
{
	return (unsigned)(value >> (digit * DIGIT_BITS)) & (DIGIT_VALUES - 1);
}

/* Which bits are not the same in all values? 0 where they are sorted as they stand. */
static uint64_t find_varying_bits(const uint64_t *values, size_t count)
{
	uint64_t varying = 0;
	bool is_sorted = true;

	for (size_t i = 1; i < count; i++) {
		varying |= values[i] ^ values[0];
		is_sorted &= values[i - 1] <= values[i];
	}
	return is_sorted ? 0 : varying;
}

static void count_digits(const uint64_t *values, size_t count, const unsigned *digits,
                         unsigned digit_count, size_t counts[][DIGIT_VALUES])
{
	memset(counts, 0, digit_count * sizeof(counts[0]));
	for (size_t i = 0; i < count; i++)
		for (unsigned d = 0; d < digit_count; d++)
			counts[d][digit_of(values[i], digits[d])]++;
}

/* Puts the values in the order of one digit; those that are alike in it stay in their order. */
static void scatter(const uint64_t *from, uint64_t *to, size_t count, unsigned digit,
                    size_t *counts)
{
	size_t start = 0;

	for (unsigned i = 0; i < DIGIT_VALUES; i++) {
		size_t n = counts[i];

		counts[i] = start;
		start += n;
	}
	for (size_t i = 0; i < count; i++)
		to[counts[digit_of(from[i], digit)]++] = from[i];
}

void np_sort_u64(uint64_t *values, uint64_t *scratch, size_t count)
{
	size_t counts[DIGITS_MAX][DIGIT_VALUES];
	unsigned digits[DIGITS_MAX];
	unsigned digit_count = 0;
	uint64_t *from = values;
	uint64_t *to = scratch;
	uint64_t varying;

	if (count <= INSERTION_MAX) {
		sort_by_insertion(values, count);
		return;
	}

	varying = find_varying_bits(values, count);
	for (unsigned digit = 0; digit < DIGITS_MAX; digit++)
		if (digit_of(varying, digit))
			digits[digit_count++] = digit;
	count_digits(values, count, digits, digit_count, counts);

	for (unsigned d = 0; d < digit_count; d++) {
		uint64_t *done = to;

		scatter(from, to, count, digits[d], counts[d]);
		to = from;
		from = done;
	}
	if (from != values)
		memcpy(values, from, count * sizeof(*values));
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

void np_sort_double(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
}
