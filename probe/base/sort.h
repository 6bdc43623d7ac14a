/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorting: of many whole numbers by radix, in time proportional to their number. */
#ifndef NP_SORT_H
#define NP_SORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Sorts ascending; @scratch has room for @count values too. */
void np_sort_u64(uint64_t *values, uint64_t *scratch, size_t count);

/* Sorts ascending; no NaN among them. */
void np_sort_double(double *values, size_t count);

#define NP_KEY_SIGN (UINT64_C(1) << 63)

/* A double as a whole number, in the same order; to bisect between neighbours. No NaN; -0 is below 0. */
static inline uint64_t np_key_of_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits & NP_KEY_SIGN ? ~bits : bits | NP_KEY_SIGN;
}

/* Backwards. */
static inline double np_double_of_key(uint64_t key)
{
	uint64_t bits = key & NP_KEY_SIGN ? key & ~NP_KEY_SIGN : ~key;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif
