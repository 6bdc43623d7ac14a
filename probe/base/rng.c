/* SPDX-License-Identifier: BSD-3-Clause */
#include "rng.h"

#include <math.h>

static uint64_t splitmix_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

void np_rng_seed(struct np_rng *rng, uint64_t seed)
{
	for (unsigned i = 0; i < 4; i++)
		rng->state[i] = splitmix_next(&seed);
}

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
	return (x << bits) | (x >> (64 - bits));
}

uint64_t np_rng_next(struct np_rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

/*
 * The upper half of draw * limit. Of the 2^64 draws, 2^64 mod @limit are too many to be shared evenly:
 * those with the least lower halves are drawn anew (Lemire, "Fast random integer generation in an
 * interval", 2019).
 */
uint64_t np_rng_below(struct np_rng *rng, uint64_t limit)
{
	unsigned __int128 product = (unsigned __int128)np_rng_next(rng) * limit;

	if ((uint64_t)product < limit) {
		uint64_t too_many = -limit % limit;

		while ((uint64_t)product < too_many)
			product = (unsigned __int128)np_rng_next(rng) * limit;
	}
	return (uint64_t)(product >> 64);
}

double np_rng_unit(struct np_rng *rng)
{
	return (double)(np_rng_next(rng) >> 11) * 0x1p-53;
}

double np_rng_exponential(struct np_rng *rng)
{
	return -log1p(-np_rng_unit(rng));
}

/* Box and Muller's; the second value that a pair of draws could give is not kept. */
double np_rng_normal(struct np_rng *rng)
{
	double radius = sqrt(2 * np_rng_exponential(rng));

	return radius * cos(2 * M_PI * np_rng_unit(rng));
}
