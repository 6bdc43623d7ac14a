/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of heads.h share. A block is free, of slots or packed; the two kinds meet only in
 * the list of free blocks.
 */
#ifndef NS_HEADS_PARTS_H
#define NS_HEADS_PARTS_H

#include "heads.h"

#include <string.h>

/*
 * A packed block is a row of chunks without gaps: 4 bytes of header, then the head. Chunks begin 4
 * bytes past a multiple of 8, so that heads begin at one. A block's first 4 bytes are unused, its
 * last 4 are the header of a chunk of no size that is never free.
 */
enum {
	NS_GRANULE = 8,
	NS_CHUNK_HEADER = 4,
	NS_CHUNK_GRANULES_MIN = 3, /* header, two links and the size again, when it is free */
	NS_BLOCK_FRAME = 8,        /* bytes of a packed block that are of no chunk */
};

/* A chunk's header: its granules (with the header), and two marks. */
enum {
	NS_CHUNK_FREE = 1,
	NS_CHUNK_AFTER_FREE = 2, /* the 4 bytes before it are the granules of that one */
	NS_CHUNK_MARK_BITS = 2,
};

/* Free chunks are listed by size: a row for each power of two has 32 classes of equal width. */
enum {
	NS_CLASS_BITS = 5,
	NS_CLASSES_A_ROW = 1 << NS_CLASS_BITS,
	NS_CLASS_ROWS = 26,
	NS_CLASSES = NS_CLASS_ROWS * NS_CLASSES_A_ROW,
};

/* What the rows above and a header's 30 bits of granules reach to. */
#define NS_BLOCK_BYTES_MAX (UINT64_C(1) << 32)

#define NS_NO_BLOCK UINT32_MAX
#define NS_NO_CHUNK UINT64_MAX

enum ns_block_kind { NS_BLOCK_FREE, NS_BLOCK_SLOTS, NS_BLOCK_PACKED };

struct ns_block {
	uint32_t next; /* in the list of free blocks, or of those that have free slots */
	uint32_t previous;
	uint32_t heads; /* taken in it */
	uint32_t word;  /* of slots: no word of its map before this one has a free one */
	enum ns_block_kind kind;
	bool is_emptying; /* ns_heads_empty() */
};

/* Free chunks by offset from base; the links of a list stand in the chunks. */
struct ns_packed {
	uint64_t lists[NS_CLASSES];
	uint32_t rows;                   /* bit: some class in the row has chunks */
	uint32_t classes[NS_CLASS_ROWS]; /* bit: the class has chunks */
	uint64_t free_granules;          /* of all free chunks */
	uint64_t free_chunks;
};

struct ns_heads {
	char *base;
	uint64_t block_bytes;
	uint64_t head_bytes;
	uint32_t block_count;
	uint32_t slots_a_block;
	uint32_t words_a_block; /* of slot_map */
	uint32_t free_first;    /* free blocks */
	uint32_t slots_first;   /* blocks that have free slots */
	struct ns_block *blocks;
	uint64_t *slot_map; /* bit: the slot is free; good in blocks of slots only */
	uint64_t taken_slots;
	uint32_t emptying_blocks;
	struct ns_packed packed;
	struct ns_heads_counts counts; /* but for free_bytes */
};

/* ---- blocks: heads.c ---- */

void ns_block_list(struct ns_heads *heads, uint32_t *first, uint32_t block);
void ns_block_unlist(struct ns_heads *heads, uint32_t *first, uint32_t block);

/* A free block becomes one of that kind, in no list; NS_NO_BLOCK when there is none. */
uint32_t ns_block_open(struct ns_heads *heads, enum ns_block_kind kind);
/* One that is in no list becomes free. */
void ns_block_close(struct ns_heads *heads, uint32_t block);

/* ---- the two kinds: heads_slots.c, heads_packed.c ---- */

uint64_t ns_slots_take(struct ns_heads *heads);
void ns_slots_give(struct ns_heads *heads, uint64_t offset);

void ns_packed_init(struct ns_packed *packed);
uint64_t ns_packed_take(struct ns_heads *heads, uint64_t bytes);
void ns_packed_give(struct ns_heads *heads, uint64_t offset, uint64_t bytes);
/* A head was given to a block that is emptying: heads_empty.c */
void ns_heads_give_emptying(struct ns_heads *heads, uint64_t offset);

/* What is free leaves the lists; is marked free, in no list; comes back to the lists. */
void ns_slots_empty(struct ns_heads *heads, uint32_t block);
void ns_slots_mark(struct ns_heads *heads, uint64_t offset);
void ns_slots_refill(struct ns_heads *heads, uint32_t block);
void ns_packed_empty(struct ns_heads *heads, uint32_t block);
void ns_packed_mark(struct ns_heads *heads, uint64_t offset);
void ns_packed_refill(struct ns_heads *heads, uint32_t block);

/* ---- chunks ---- */

/* With the header, rounded up, at least the fewest. */
static inline uint64_t ns_chunk_granules(uint64_t bytes)
{
	uint64_t granules = (bytes + NS_CHUNK_HEADER + NS_GRANULE - 1) / NS_GRANULE;

	return granules < NS_CHUNK_GRANULES_MIN ? NS_CHUNK_GRANULES_MIN : granules;
}

/* The class of free chunks of that size. Below 64 granules each has its own. */
static inline unsigned ns_chunk_class(uint32_t granules)
{
	unsigned top;

	if (granules < NS_CLASSES_A_ROW)
		return granules;
	top = 31 - (unsigned)__builtin_clz(granules);
	/* The row's number and the bits below the top one, in one: the top one counts a row up. */
	return ((top - NS_CLASS_BITS) << NS_CLASS_BITS) + (granules >> (top - NS_CLASS_BITS));
}

/* All of a packed block in one chunk. */
static inline uint32_t ns_block_granules(const struct ns_heads *heads)
{
	return (uint32_t)((heads->block_bytes - NS_BLOCK_FRAME) / NS_GRANULE);
}

/* The 4 bytes at @offset. */
static inline uint32_t ns_word_load(const struct ns_heads *heads, uint64_t offset)
{
	uint32_t word;

	memcpy(&word, heads->base + offset, sizeof(word));
	return word;
}

/* In a free chunk, behind its header. */
struct ns_chunk_links {
	uint64_t next;
	uint64_t previous;
};

static inline struct ns_chunk_links ns_links_load(const struct ns_heads *heads, uint64_t chunk)
{
	struct ns_chunk_links links;

	memcpy(&links, heads->base + chunk + NS_CHUNK_HEADER, sizeof(links));
	return links;
}

#endif
