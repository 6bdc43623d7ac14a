/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers that come out the same everywhere from the same seed: xoshiro256++, its state filled
 * by splitmix64 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2019). Not
 * for secrets. One thread at a time.
 */
#ifndef NP_RNG_H
#define NP_RNG_H

#include <stdint.h>

struct np_rng {
	uint64_t state[4];
};

void np_rng_seed(struct np_rng *rng, uint64_t seed);

uint64_t np_rng_next(struct np_rng *rng);

/* Evenly from 0..limit-1, without bias; @limit > 0. */
uint64_t np_rng_below(struct np_rng *rng, uint64_t limit);

/* In [0, 1), of 53 bits. */
double np_rng_unit(struct np_rng *rng);

/* Exponential with mean 1; standard normal. */
double np_rng_exponential(struct np_rng *rng);
double np_rng_normal(struct np_rng *rng);

#endif
