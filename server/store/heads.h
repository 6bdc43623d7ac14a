/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Room for heads within one arena. Full heads take slots, block_bytes / head_bytes to a block and nothing
 * between them; shorter ones are packed into other blocks to the byte (8-byte steps), neighbours that
 * become free join again, and a block that is wholly free can become of either kind. Takes and gives
 * in constant time. No locks: the caller has one. Touches the memory only where it packs.
 */
#ifndef NS_HEADS_H
#define NS_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ns_heads; /* opaque */

/* The caller ends it with ns_heads_free(). @base stays the caller's. NULL when memory runs out. */
struct ns_heads *ns_heads_create(char *base, uint64_t block_bytes, size_t block_count,
                                 uint64_t head_bytes);
void ns_heads_free(struct ns_heads *heads);

#define NS_NO_HEAD UINT64_MAX

/* An offset from base for @bytes > 0, at most head_bytes; NS_NO_HEAD when there is no room. */
uint64_t ns_heads_take(struct ns_heads *heads, uint64_t bytes);

/* Ends what was taken with the same @bytes. */
void ns_heads_give(struct ns_heads *heads, uint64_t offset, uint64_t bytes);

/* Whether a head of so many bytes has a slot. */
bool ns_heads_fills_slot(const struct ns_heads *heads, uint64_t bytes);
/*
 * The slots of a block that is free for @count full heads, the n-th n * head_bytes behind the offset; each is
 * given as any other. NS_NO_HEAD when no block is free.
 */
uint64_t ns_heads_take_block(struct ns_heads *heads, const uint64_t *bytes, uint32_t count);

struct ns_heads_counts {
	uint64_t free_blocks;
	uint64_t slot_blocks;
	uint64_t packed_blocks;
	uint64_t heads;       /* taken */
	uint64_t taken_bytes; /* asked for */
	uint64_t free_bytes;  /* that a head could still get, in pieces of whatever size */
};
struct ns_heads_counts ns_heads_count(const struct ns_heads *heads);

/*
 * Nothing is taken any more of the block in which that head lies, and it is free once all heads in it are
 * given, unless ns_heads_keep() comes before. False: it was so already. Of packed blocks both take a step for
 * each chunk.
 */
bool ns_heads_empty(struct ns_heads *heads, uint64_t offset);
/* Of block number @block, whatever became of it. */
void ns_heads_keep(struct ns_heads *heads, uint32_t block);

/* For tests: all lists and sizes agree. */
bool ns_heads_are_sound(const struct ns_heads *heads);

#endif
