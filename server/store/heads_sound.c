/* SPDX-License-Identifier: BSD-3-Clause */
/* Do all lists, maps and sizes agree? Everything is counted anew. */
#include "heads_parts.h"

/* What was found on the way. */
struct tally {
	struct ns_heads_counts counts;
	uint64_t slots; /* taken */
	uint64_t open_slot_blocks;
	uint64_t free_granules;
	uint64_t free_chunks;
	uint32_t emptying_blocks;
};

/* ---- blocks ---- */

/* The list has @wanted blocks of that kind, and its links back are right. */
static bool is_block_list_sound(const struct ns_heads *heads, uint32_t first,
                                enum ns_block_kind kind, uint64_t wanted)
{
	uint32_t previous = NS_NO_BLOCK;
	uint64_t found = 0;

	for (uint32_t block = first; block != NS_NO_BLOCK; block = heads->blocks[block].next) {
		if (block >= heads->block_count || heads->blocks[block].kind != kind ||
		    heads->blocks[block].previous != previous || found++ == wanted)
			return false;
		previous = block;
	}
	return found == wanted;
}

static bool is_slot_block_sound(const struct ns_heads *heads, uint32_t block, struct tally *tally)
{
	const uint64_t *map = &heads->slot_map[(size_t)block * heads->words_a_block];
	const struct ns_block *in = &heads->blocks[block];
	uint32_t free = 0;

	for (uint32_t i = 0; i < heads->words_a_block; i++) {
		if (map[i] != 0 && i < in->word)
			return false;
		free += (uint32_t)__builtin_popcountll(map[i]);
	}
	tally->counts.slot_blocks++;
	tally->slots += in->heads;
	tally->open_slot_blocks += free > 0;
	return in->heads > 0 && free + in->heads == heads->slots_a_block;
}

/* ---- chunks ---- */

/* Both of its neighbours in the list know it. */
static bool is_listed(const struct ns_heads *heads, uint64_t chunk, uint32_t granules)
{
	struct ns_chunk_links links = ns_links_load(heads, chunk);
	uint64_t end = heads->block_count * heads->block_bytes -
	               (uint64_t)NS_CHUNK_GRANULES_MIN * NS_GRANULE;

	if (links.next != NS_NO_CHUNK &&
	    (links.next >= end || ns_links_load(heads, links.next).previous != chunk))
		return false;
	if (links.previous == NS_NO_CHUNK)
		return heads->packed.lists[ns_chunk_class(granules)] == chunk;
	return links.previous < end && ns_links_load(heads, links.previous).next == chunk;
}

/* Of a free chunk; the size stands at its end as well. */
static bool is_free_chunk_sound(const struct ns_heads *heads, uint64_t chunk, uint32_t granules)
{
	uint64_t end = chunk + (uint64_t)granules * NS_GRANULE;

	return granules < ns_block_granules(heads) &&
	       ns_word_load(heads, end - sizeof(granules)) == granules &&
	       is_listed(heads, chunk, granules);
}

static bool is_packed_block_sound(const struct ns_heads *heads, uint32_t block, struct tally *tally)
{
	uint64_t chunk = block * heads->block_bytes + NS_CHUNK_HEADER;
	uint64_t end = chunk + heads->block_bytes - NS_BLOCK_FRAME;
	bool after_free = false;
	uint32_t taken = 0;

	for (;;) {
		uint32_t header = ns_word_load(heads, chunk);
		uint32_t granules = header >> NS_CHUNK_MARK_BITS;
		bool is_free = (header & NS_CHUNK_FREE) != 0;

		if (((header & NS_CHUNK_AFTER_FREE) != 0) != after_free || (is_free && after_free))
			return false;
		if (chunk == end) {
			tally->counts.packed_blocks++;
			return granules == 0 && !is_free && taken > 0 &&
			       taken == heads->blocks[block].heads;
		}
		if (granules < NS_CHUNK_GRANULES_MIN || granules > (end - chunk) / NS_GRANULE)
			return false;
		if (is_free && !is_free_chunk_sound(heads, chunk, granules))
			return false;
		tally->free_chunks += is_free;
		tally->free_granules += is_free ? granules : 0;
		taken += !is_free;
		after_free = is_free;
		chunk += (uint64_t)granules * NS_GRANULE;
	}
}

/* How many chunks the class has, all of its sizes; more than all there are when not. */
static uint64_t chunks_of_class(const struct ns_heads *heads, unsigned class)
{
	uint64_t chunk = heads->packed.lists[class];
	uint64_t most = heads->packed.free_chunks;
	uint64_t count = 0;

	for (; chunk != NS_NO_CHUNK && count <= most; count++) {
		uint32_t header = ns_word_load(heads, chunk);

		if ((header & NS_CHUNK_FREE) == 0 ||
		    ns_chunk_class(header >> NS_CHUNK_MARK_BITS) != class)
			return most + 1;
		chunk = ns_links_load(heads, chunk).next;
	}
	return count;
}

static bool are_classes_sound(const struct ns_heads *heads)
{
	const struct ns_packed *packed = &heads->packed;
	uint64_t count = 0;

	for (unsigned class = 0; class < NS_CLASSES; class ++) {
		uint32_t row = packed->classes[class / NS_CLASSES_A_ROW];
		bool has_some = (row >> class % NS_CLASSES_A_ROW & 1) != 0;
		bool is_row_marked = (packed->rows >> class / NS_CLASSES_A_ROW & 1) != 0;

		if (has_some != (packed->lists[class] != NS_NO_CHUNK) ||
		    is_row_marked != (row != 0))
			return false;
		count += chunks_of_class(heads, class);
	}
	return count == packed->free_chunks;
}

/* ---- all of it ---- */

/* Nothing of it is in any list, which shows in the lists' lengths; no head of it is free for taking. */
static bool is_emptying_block_sound(const struct ns_heads *heads, uint32_t block,
                                    struct tally *tally)
{
	const struct ns_block *in = &heads->blocks[block];

	tally->emptying_blocks++;
	if (in->kind == NS_BLOCK_PACKED) {
		tally->counts.packed_blocks++;
		return in->heads > 0;
	}
	tally->counts.slot_blocks++;
	tally->slots += heads->slots_a_block;
	return in->kind == NS_BLOCK_SLOTS && in->heads > 0;
}

static bool is_block_sound(const struct ns_heads *heads, uint32_t block, struct tally *tally)
{
	const struct ns_block *in = &heads->blocks[block];

	tally->counts.heads += in->heads;
	if (in->is_emptying)
		return is_emptying_block_sound(heads, block, tally);
	switch (in->kind) {
	case NS_BLOCK_SLOTS:
		return is_slot_block_sound(heads, block, tally);
	case NS_BLOCK_PACKED:
		return is_packed_block_sound(heads, block, tally);
	case NS_BLOCK_FREE:
		break;
	}
	tally->counts.free_blocks++;
	return in->heads == 0;
}

bool ns_heads_are_sound(const struct ns_heads *heads)
{
	struct tally tally = { .counts.taken_bytes = heads->counts.taken_bytes };

	for (uint32_t block = 0; block < heads->block_count; block++)
		if (!is_block_sound(heads, block, &tally))
			return false;
	return memcmp(&tally.counts, &heads->counts, sizeof(tally.counts)) == 0 &&
	       tally.slots == heads->taken_slots &&
	       tally.emptying_blocks == heads->emptying_blocks &&
	       tally.free_chunks == heads->packed.free_chunks &&
	       tally.free_granules == heads->packed.free_granules && are_classes_sound(heads) &&
	       is_block_list_sound(heads, heads->free_first, NS_BLOCK_FREE,
	                           tally.counts.free_blocks) &&
	       is_block_list_sound(heads, heads->slots_first, NS_BLOCK_SLOTS,
	                           tally.open_slot_blocks);
}
