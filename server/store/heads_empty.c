/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks that are to become free. Nothing of them is in any list for taking; what is given to them is marked as
 * free where it lies, for the case that they do not become free after all.
 */
#include "heads_parts.h"

#include <assert.h>

bool ns_heads_empty(struct ns_heads *heads, uint64_t offset)
{
	uint32_t block = (uint32_t)(offset / heads->block_bytes);
	struct ns_block *in = &heads->blocks[block];

	assert(in->heads > 0);
	if (in->is_emptying)
		return false;
	if (in->kind == NS_BLOCK_SLOTS)
		ns_slots_empty(heads, block);
	else
		ns_packed_empty(heads, block);
	in->is_emptying = true;
	heads->emptying_blocks++;
	return true;
}

static void end(struct ns_heads *heads, uint32_t block)
{
	heads->blocks[block].is_emptying = false;
	heads->emptying_blocks--;
}

void ns_heads_give_emptying(struct ns_heads *heads, uint64_t offset)
{
	uint32_t block = (uint32_t)(offset / heads->block_bytes);
	const struct ns_block *in = &heads->blocks[block];

	if (in->kind == NS_BLOCK_SLOTS)
		ns_slots_mark(heads, offset);
	else
		ns_packed_mark(heads, offset);
	if (in->heads > 0)
		return;
	if (in->kind == NS_BLOCK_SLOTS)
		heads->taken_slots -= heads->slots_a_block;
	end(heads, block);
	ns_block_close(heads, block);
}

void ns_heads_keep(struct ns_heads *heads, uint32_t block)
{
	if (!heads->blocks[block].is_emptying)
		return;
	end(heads, block);
	if (heads->blocks[block].kind == NS_BLOCK_SLOTS)
		ns_slots_refill(heads, block);
	else
		ns_packed_refill(heads, block);
}
