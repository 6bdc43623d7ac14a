/* SPDX-License-Identifier: BSD-3-Clause */
#include "sequence.h"

#define MULTIPLIER UINT64_C(0x2545f4914f6cdd1d)
#define WORKER_STEP UINT64_C(0x9e3779b97f4a7c15)

void nl_sequence_begin(struct nl_sequence *sequence, uint64_t seed, uint32_t keys, unsigned worker)
{
	uint64_t state = seed + WORKER_STEP * ((uint64_t)worker + 1);

	sequence->state = state ? state : MULTIPLIER;
	sequence->keys = keys;
}

uint32_t nl_sequence_next(struct nl_sequence *sequence)
{
	uint64_t x = sequence->state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	sequence->state = x;
	return (uint32_t)(x * MULTIPLIER % sequence->keys);
}
