/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order in which keys are asked for, and its hash, as of goblin-bench, so that traces of the two
 * can be compared row by row: xorshift64* (shifts 12, 25, 27, multiplier 0x2545f4914f6cdd1d), begun
 * at seed + 0x9e3779b97f4a7c15 * (worker + 1), 0 being replaced by the multiplier; the key is the
 * number modulo the count of keys. Pure.
 */
#ifndef NL_SEQUENCE_H
#define NL_SEQUENCE_H

#include <stdint.h>

/* goblin-bench's default, and the seed of its published runs. */
#define NL_SEQUENCE_SEED UINT64_C(0x6a09e667f3bcc909)

#define NL_KEYS_MAX UINT32_MAX

struct nl_sequence {
	uint64_t state;
	uint32_t keys;
};

/* @keys > 0. @worker counts from 0. */
void nl_sequence_begin(struct nl_sequence *sequence, uint64_t seed, uint32_t keys, unsigned worker);
uint32_t nl_sequence_next(struct nl_sequence *sequence);

/* The hash of all keys so far: one exclusive or and one multiplication a key (FNV's, 64 bits a step). */
#define NL_SEQUENCE_HASH_BASIS UINT64_C(1469598103934665603)
#define NL_SEQUENCE_HASH_PRIME UINT64_C(1099511628211)
static inline uint64_t nl_sequence_hash(uint64_t hash, uint32_t key)
{
	return (hash ^ key) * NL_SEQUENCE_HASH_PRIME;
}

/*
 * Adds one worker's hash to that of a run, which begins with the basis too. A run of one worker has
 * the hash that goblin-bench prints after this step.
 */
static inline uint64_t nl_sequence_fold(uint64_t hash, uint64_t worker_hash)
{
	return (hash ^ worker_hash) * NL_SEQUENCE_HASH_PRIME;
}

#endif
