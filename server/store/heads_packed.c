/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packed blocks: a two-level segregated fit (Masmano, Ripoll, Crespo and Real, "TLSF: a new dynamic
 * memory allocator for real-time systems", ECRTS 2004) over the chunks of all of them. A free chunk
 * has no free neighbour; one that fills its block is in no list, as the block is free then.
 */
#include "heads_parts.h"

#include <assert.h>

/* Chunks of one's own class that are looked at, as not all of them are large enough. */
enum { LOOKS_MAX = 8 };

void ns_packed_init(struct ns_packed *packed)
{
	for (size_t i = 0; i < NS_CLASSES; i++)
		packed->lists[i] = NS_NO_CHUNK;
}

/* ---- words in the arena ---- */

static void store_word(struct ns_heads *heads, uint64_t offset, uint32_t word)
{
	memcpy(heads->base + offset, &word, sizeof(word));
}

static void store_links(struct ns_heads *heads, uint64_t chunk, struct ns_chunk_links links)
{
	memcpy(heads->base + chunk + NS_CHUNK_HEADER, &links, sizeof(links));
}

static uint32_t granules_of(uint32_t header)
{
	return header >> NS_CHUNK_MARK_BITS;
}

static uint64_t end_of(uint64_t chunk, uint32_t granules)
{
	return chunk + (uint64_t)granules * NS_GRANULE;
}

/* ---- lists ---- */

static void list(struct ns_heads *heads, uint64_t chunk, uint32_t granules)
{
	struct ns_packed *packed = &heads->packed;
	unsigned class = ns_chunk_class(granules);
	uint64_t next = packed->lists[class];

	store_links(heads, chunk, (struct ns_chunk_links){ next, NS_NO_CHUNK });
	if (next != NS_NO_CHUNK) {
		struct ns_chunk_links links = ns_links_load(heads, next);

		links.previous = chunk;
		store_links(heads, next, links);
	}
	packed->lists[class] = chunk;
	packed->rows |= UINT32_C(1) << class / NS_CLASSES_A_ROW;
	packed->classes[class / NS_CLASSES_A_ROW] |= UINT32_C(1) << class % NS_CLASSES_A_ROW;
	packed->free_granules += granules;
	packed->free_chunks++;
}

static void set_first(struct ns_packed *packed, unsigned class, uint64_t chunk)
{
	uint32_t *row = &packed->classes[class / NS_CLASSES_A_ROW];

	packed->lists[class] = chunk;
	if (chunk != NS_NO_CHUNK)
		return;
	*row &= ~(UINT32_C(1) << class % NS_CLASSES_A_ROW);
	if (*row == 0)
		packed->rows &= ~(UINT32_C(1) << class / NS_CLASSES_A_ROW);
}

static void unlist(struct ns_heads *heads, uint64_t chunk, uint32_t granules)
{
	struct ns_chunk_links links = ns_links_load(heads, chunk);
	struct ns_chunk_links other;

	if (links.next != NS_NO_CHUNK) {
		other = ns_links_load(heads, links.next);
		other.previous = links.previous;
		store_links(heads, links.next, other);
	}
	if (links.previous != NS_NO_CHUNK) {
		other = ns_links_load(heads, links.previous);
		other.next = links.next;
		store_links(heads, links.previous, other);
	} else {
		set_first(&heads->packed, ns_chunk_class(granules), links.next);
	}
	heads->packed.free_granules -= granules;
	heads->packed.free_chunks--;
}

/* ---- free chunks ---- */

static void mark_next(struct ns_heads *heads, uint64_t next, bool after_free)
{
	uint32_t header = ns_word_load(heads, next) & ~(uint32_t)NS_CHUNK_AFTER_FREE;

	store_word(heads, next, after_free ? header | NS_CHUNK_AFTER_FREE : header);
}

/* Its neighbours are not free. */
static void add_free(struct ns_heads *heads, uint64_t chunk, uint32_t granules)
{
	uint64_t end = end_of(chunk, granules);

	store_word(heads, chunk, granules << NS_CHUNK_MARK_BITS | NS_CHUNK_FREE);
	store_word(heads, end - sizeof(granules), granules);
	mark_next(heads, end, true);
	list(heads, chunk, granules);
}

/* One of the wanted size's own class, which need not be large enough. */
static uint64_t find_alike(const struct ns_heads *heads, uint32_t wanted)
{
	uint64_t chunk = heads->packed.lists[ns_chunk_class(wanted)];

	for (unsigned i = 0; i < LOOKS_MAX && chunk != NS_NO_CHUNK; i++) {
		if (granules_of(ns_word_load(heads, chunk)) >= wanted)
			return chunk;
		chunk = ns_links_load(heads, chunk).next;
	}
	return NS_NO_CHUNK;
}

/* One of the next classes, which all are large enough. */
static uint64_t find_larger(const struct ns_packed *packed, uint32_t wanted)
{
	unsigned class = ns_chunk_class(wanted) + 1;
	unsigned row = class / NS_CLASSES_A_ROW;
	uint32_t classes = 0;
	uint32_t rows;

	if (row < NS_CLASS_ROWS)
		classes = packed->classes[row] & UINT32_MAX << class % NS_CLASSES_A_ROW;
	if (classes == 0) {
		rows = packed->rows & (uint32_t)(UINT64_MAX << (row + 1));
		if (rows == 0)
			return NS_NO_CHUNK;
		row = (unsigned)__builtin_ctz(rows);
		classes = packed->classes[row];
	}
	return packed->lists[row * NS_CLASSES_A_ROW + (unsigned)__builtin_ctz(classes)];
}

/* ---- taking and giving ---- */

/* A new block's only chunk; NS_NO_CHUNK when there is no free block. */
static uint64_t open_block(struct ns_heads *heads)
{
	uint32_t block = ns_block_open(heads, NS_BLOCK_PACKED);
	uint64_t start = block * heads->block_bytes;

	if (block == NS_NO_BLOCK)
		return NS_NO_CHUNK;
	store_word(heads, start + heads->block_bytes - NS_CHUNK_HEADER, 0);
	return start + NS_CHUNK_HEADER;
}

/* Makes a chunk in no list a taken one; what it is too large becomes free. */
static void cut(struct ns_heads *heads, uint64_t chunk, uint32_t granules, uint32_t wanted)
{
	uint32_t rest = granules - wanted;

	if (rest >= NS_CHUNK_GRANULES_MIN) {
		store_word(heads, chunk, wanted << NS_CHUNK_MARK_BITS);
		add_free(heads, end_of(chunk, wanted), rest);
		return;
	}
	store_word(heads, chunk, granules << NS_CHUNK_MARK_BITS);
	mark_next(heads, end_of(chunk, granules), false);
}

uint64_t ns_packed_take(struct ns_heads *heads, uint64_t bytes)
{
	uint32_t wanted = (uint32_t)ns_chunk_granules(bytes);
	uint64_t chunk = find_alike(heads, wanted);
	uint32_t granules;

	if (chunk == NS_NO_CHUNK)
		chunk = find_larger(&heads->packed, wanted);
	if (chunk != NS_NO_CHUNK) {
		granules = granules_of(ns_word_load(heads, chunk));
		unlist(heads, chunk, granules);
	} else {
		chunk = open_block(heads);
		granules = ns_block_granules(heads);
	}
	if (chunk == NS_NO_CHUNK)
		return NS_NO_HEAD;
	assert(granules >= wanted);
	cut(heads, chunk, granules, wanted);
	return chunk + NS_CHUNK_HEADER;
}

void ns_packed_give(struct ns_heads *heads, uint64_t offset, uint64_t bytes)
{
	uint32_t block = (uint32_t)(offset / heads->block_bytes);
	uint64_t chunk = offset - NS_CHUNK_HEADER;
	uint32_t header = ns_word_load(heads, chunk);
	uint32_t granules = granules_of(header);
	uint32_t next;

	(void)bytes;
	assert(heads->blocks[block].kind == NS_BLOCK_PACKED);
	assert(offset % NS_GRANULE == 0 && (header & NS_CHUNK_FREE) == 0);
	assert(granules >= ns_chunk_granules(bytes));
	assert(granules < ns_chunk_granules(bytes) + NS_CHUNK_GRANULES_MIN);

	next = ns_word_load(heads, end_of(chunk, granules));
	if ((next & NS_CHUNK_FREE) != 0) {
		unlist(heads, end_of(chunk, granules), granules_of(next));
		granules += granules_of(next);
	}
	if ((header & NS_CHUNK_AFTER_FREE) != 0) {
		uint32_t before = ns_word_load(heads, chunk - sizeof(before));

		chunk -= (uint64_t)before * NS_GRANULE;
		unlist(heads, chunk, before);
		granules += before;
	}
	if (granules == ns_block_granules(heads))
		ns_block_close(heads, block);
	else
		add_free(heads, chunk, granules);
}

/* ---- blocks that are emptied ---- */

static bool is_free(const struct ns_heads *heads, uint64_t chunk)
{
	return (ns_word_load(heads, chunk) & NS_CHUNK_FREE) != 0;
}

static uint64_t after(const struct ns_heads *heads, uint64_t chunk)
{
	return end_of(chunk, granules_of(ns_word_load(heads, chunk)));
}

static uint64_t first_chunk(const struct ns_heads *heads, uint32_t block)
{
	return block * heads->block_bytes + NS_CHUNK_HEADER;
}

static uint64_t last_end(const struct ns_heads *heads, uint32_t block)
{
	return first_chunk(heads, block) + heads->block_bytes - NS_BLOCK_FRAME;
}

void ns_packed_empty(struct ns_heads *heads, uint32_t block)
{
	uint64_t end = last_end(heads, block);

	for (uint64_t chunk = first_chunk(heads, block); chunk < end; chunk = after(heads, chunk))
		if (is_free(heads, chunk))
			unlist(heads, chunk, granules_of(ns_word_load(heads, chunk)));
}

void ns_packed_mark(struct ns_heads *heads, uint64_t offset)
{
	uint64_t chunk = offset - NS_CHUNK_HEADER;

	assert(!is_free(heads, chunk));
	store_word(heads, chunk, ns_word_load(heads, chunk) | NS_CHUNK_FREE);
}

/* Free chunks may be neighbours: they become one. */
void ns_packed_refill(struct ns_heads *heads, uint32_t block)
{
	uint64_t end = last_end(heads, block);
	uint64_t chunk = first_chunk(heads, block);

	while (chunk < end) {
		uint64_t next = after(heads, chunk);

		if (is_free(heads, chunk)) {
			while (next < end && is_free(heads, next))
				next = after(heads, next);
			add_free(heads, chunk, (uint32_t)((next - chunk) / NS_GRANULE));
		}
		chunk = next;
	}
}
