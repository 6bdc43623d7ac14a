/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of slots: a bit for each slot beside the arena, and nothing in it. */
#include "heads_parts.h"

#include <assert.h>

static uint64_t *map_of(struct ns_heads *heads, uint32_t block)
{
	return &heads->slot_map[(size_t)block * heads->words_a_block];
}

static uint32_t open_block(struct ns_heads *heads)
{
	uint32_t block = ns_block_open(heads, NS_BLOCK_SLOTS);
	uint64_t *map;

	if (block == NS_NO_BLOCK)
		return block;
	map = map_of(heads, block);
	for (uint32_t i = 0; i < heads->words_a_block; i++)
		map[i] = UINT64_MAX;
	if (heads->slots_a_block % 64 != 0)
		map[heads->words_a_block - 1] >>= 64 - heads->slots_a_block % 64;
	heads->blocks[block].word = 0;
	ns_block_list(heads, &heads->slots_first, block);
	return block;
}

uint64_t ns_slots_take(struct ns_heads *heads)
{
	uint32_t block = heads->slots_first;
	struct ns_block *in;
	uint64_t *map;
	unsigned bit;

	if (block == NS_NO_BLOCK)
		block = open_block(heads);
	if (block == NS_NO_BLOCK)
		return NS_NO_HEAD;
	in = &heads->blocks[block];
	map = map_of(heads, block);
	while (map[in->word] == 0)
		in->word++;
	bit = (unsigned)__builtin_ctzll(map[in->word]);
	map[in->word] &= map[in->word] - 1;
	heads->taken_slots++;
	if (in->heads + 1 == heads->slots_a_block)
		ns_block_unlist(heads, &heads->slots_first, block);
	return block * heads->block_bytes + (in->word * UINT64_C(64) + bit) * heads->head_bytes;
}

uint64_t ns_heads_take_block(struct ns_heads *heads, const uint64_t *bytes, uint32_t count)
{
	uint32_t block;
	uint64_t *map;

	assert(count > 0 && count <= heads->slots_a_block);
	block = open_block(heads);
	if (block == NS_NO_BLOCK)
		return NS_NO_HEAD;
	map = map_of(heads, block);
	for (uint32_t slot = 0; slot < count; slot++) {
		assert(ns_heads_fills_slot(heads, bytes[slot]));
		map[slot / 64] &= ~(UINT64_C(1) << slot % 64);
		heads->counts.taken_bytes += bytes[slot];
	}
	heads->taken_slots += count;
	heads->counts.heads += count;
	heads->blocks[block].heads = count;
	if (count == heads->slots_a_block)
		ns_block_unlist(heads, &heads->slots_first, block);
	return block * heads->block_bytes;
}

void ns_slots_give(struct ns_heads *heads, uint64_t offset)
{
	uint32_t block = (uint32_t)(offset / heads->block_bytes);
	const struct ns_block *in = &heads->blocks[block];

	ns_slots_mark(heads, offset);
	heads->taken_slots--;
	if (in->heads + 1 == heads->slots_a_block)
		ns_block_list(heads, &heads->slots_first, block);
	if (in->heads > 0)
		return;
	ns_block_unlist(heads, &heads->slots_first, block);
	ns_block_close(heads, block);
}

void ns_slots_mark(struct ns_heads *heads, uint64_t offset)
{
	uint32_t block = (uint32_t)(offset / heads->block_bytes);
	uint64_t slot = offset % heads->block_bytes / heads->head_bytes;
	struct ns_block *in = &heads->blocks[block];
	uint64_t *word = &map_of(heads, block)[slot / 64];
	uint64_t bit = UINT64_C(1) << slot % 64;

	assert(in->kind == NS_BLOCK_SLOTS);
	assert(offset % heads->block_bytes % heads->head_bytes == 0 && (*word & bit) == 0);
	*word |= bit;
	if (slot / 64 < in->word)
		in->word = (uint32_t)(slot / 64);
}

/* Slots that are free count as taken while the block is emptied. */
void ns_slots_empty(struct ns_heads *heads, uint32_t block)
{
	uint32_t taken = heads->blocks[block].heads;

	if (taken < heads->slots_a_block)
		ns_block_unlist(heads, &heads->slots_first, block);
	heads->taken_slots += heads->slots_a_block - taken;
}

void ns_slots_refill(struct ns_heads *heads, uint32_t block)
{
	uint32_t taken = heads->blocks[block].heads;

	if (taken < heads->slots_a_block)
		ns_block_list(heads, &heads->slots_first, block);
	heads->taken_slots -= heads->slots_a_block - taken;
}
