/* SPDX-License-Identifier: BSD-3-Clause */
/* Which kind of block a head goes to, and blocks as a whole. */
#include "heads_parts.h"

#include <assert.h>
#include <stdlib.h>

/* ---- blocks ---- */

void ns_block_list(struct ns_heads *heads, uint32_t *first, uint32_t block)
{
	struct ns_block *in = &heads->blocks[block];

	in->next = *first;
	in->previous = NS_NO_BLOCK;
	if (in->next != NS_NO_BLOCK)
		heads->blocks[in->next].previous = block;
	*first = block;
}

void ns_block_unlist(struct ns_heads *heads, uint32_t *first, uint32_t block)
{
	const struct ns_block *in = &heads->blocks[block];

	if (in->next != NS_NO_BLOCK)
		heads->blocks[in->next].previous = in->previous;
	if (in->previous != NS_NO_BLOCK)
		heads->blocks[in->previous].next = in->next;
	else
		*first = in->next;
}

static uint64_t *count_of_kind(struct ns_heads *heads, enum ns_block_kind kind)
{
	return kind == NS_BLOCK_SLOTS ? &heads->counts.slot_blocks : &heads->counts.packed_blocks;
}

uint32_t ns_block_open(struct ns_heads *heads, enum ns_block_kind kind)
{
	uint32_t block = heads->free_first;

	if (block == NS_NO_BLOCK)
		return block;
	ns_block_unlist(heads, &heads->free_first, block);
	heads->blocks[block].kind = kind;
	heads->counts.free_blocks--;
	++*count_of_kind(heads, kind);
	return block;
}

void ns_block_close(struct ns_heads *heads, uint32_t block)
{
	struct ns_block *in = &heads->blocks[block];

	assert(in->heads == 0);
	--*count_of_kind(heads, in->kind);
	heads->counts.free_blocks++;
	in->kind = NS_BLOCK_FREE;
	ns_block_list(heads, &heads->free_first, block);
}

/* ---- all of it ---- */

/* Returns whether there was memory. */
static bool set_up_blocks(struct ns_heads *heads)
{
	uint32_t count = heads->block_count;

	heads->blocks = calloc(count, sizeof(*heads->blocks));
	heads->slot_map = calloc((size_t)count * heads->words_a_block, sizeof(*heads->slot_map));
	if (heads->blocks == NULL || heads->slot_map == NULL)
		return false;
	/* The first block comes to stand first. */
	for (uint32_t block = count; block-- > 0;)
		ns_block_list(heads, &heads->free_first, block);
	heads->counts.free_blocks = count;
	return true;
}

struct ns_heads *ns_heads_create(char *base, uint64_t block_bytes, size_t block_count,
                                 uint64_t head_bytes)
{
	uint64_t slots = block_bytes / head_bytes;
	struct ns_heads *heads;

	assert((uintptr_t)base % NS_GRANULE == 0 && block_bytes % NS_GRANULE == 0 && slots > 0);
	if (block_bytes > NS_BLOCK_BYTES_MAX || block_count >= NS_NO_BLOCK)
		return NULL;
	heads = calloc(1, sizeof(*heads));
	if (heads == NULL)
		return NULL;
	heads->base = base;
	heads->block_bytes = block_bytes;
	heads->head_bytes = head_bytes;
	heads->block_count = (uint32_t)block_count;
	heads->slots_a_block = (uint32_t)slots;
	heads->words_a_block = (uint32_t)((slots + 63) / 64);
	heads->free_first = NS_NO_BLOCK;
	heads->slots_first = NS_NO_BLOCK;
	ns_packed_init(&heads->packed);
	if (set_up_blocks(heads))
		return heads;
	ns_heads_free(heads);
	return NULL;
}

void ns_heads_free(struct ns_heads *heads)
{
	if (heads == NULL)
		return;
	free(heads->blocks);
	free(heads->slot_map);
	free(heads);
}

/* Also those few bytes short of it whose chunk would take more than a slot. */
static bool takes_slot(const struct ns_heads *heads, uint64_t bytes)
{
	return ns_chunk_granules(bytes) * NS_GRANULE >= heads->head_bytes;
}

bool ns_heads_fills_slot(const struct ns_heads *heads, uint64_t bytes)
{
	return takes_slot(heads, bytes);
}

uint64_t ns_heads_take(struct ns_heads *heads, uint64_t bytes)
{
	uint64_t offset;

	assert(bytes > 0 && bytes <= heads->head_bytes);
	if (takes_slot(heads, bytes))
		offset = ns_slots_take(heads);
	else
		offset = ns_packed_take(heads, bytes);
	if (offset == NS_NO_HEAD)
		return offset;
	heads->blocks[offset / heads->block_bytes].heads++;
	heads->counts.heads++;
	heads->counts.taken_bytes += bytes;
	return offset;
}

void ns_heads_give(struct ns_heads *heads, uint64_t offset, uint64_t bytes)
{
	uint64_t block = offset / heads->block_bytes;

	assert(bytes > 0 && bytes <= heads->head_bytes);
	assert(block < heads->block_count && heads->blocks[block].heads > 0);
	heads->blocks[block].heads--;
	heads->counts.heads--;
	heads->counts.taken_bytes -= bytes;
	if (heads->blocks[block].is_emptying)
		ns_heads_give_emptying(heads, offset);
	else if (takes_slot(heads, bytes))
		ns_slots_give(heads, offset);
	else
		ns_packed_give(heads, offset, bytes);
}

struct ns_heads_counts ns_heads_count(const struct ns_heads *heads)
{
	const struct ns_packed *packed = &heads->packed;
	struct ns_heads_counts counts = heads->counts;
	uint64_t slots = counts.slot_blocks * heads->slots_a_block - heads->taken_slots;

	counts.free_bytes = counts.free_blocks * heads->block_bytes + slots * heads->head_bytes +
	                    packed->free_granules * NS_GRANULE -
	                    packed->free_chunks * NS_CHUNK_HEADER;
	return counts;
}
