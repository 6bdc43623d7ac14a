/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which heads are worth moving. Pure: no store, no clock.
 */
#ifndef NS_PROMOTE_PLAN_H
#define NS_PROMOTE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NS_MOVE_OVERHEAD = 256, /* bytes: the object beside the head is made anew as well */
	NS_HOTTER_FACTOR = 2,   /* than who makes room for it */
	NS_STAYS_S = 60,        /* who was moved is not moved again for so long */
};

/* As a scan saw it. Or a block of full heads: then all their bytes, and the mean of their scores. */
struct ns_seen_head {
	uint64_t hash;   /* of a block: 0 */
	uint64_t offset; /* in its arena */
	uint64_t bytes;
	float score;
	uint8_t arena;
	bool is_slot;
};

/* Whether moving @head pays; @displaced, unless NULL, has to be moved out for it. */
bool ns_move_pays(const struct ns_seen_head *head, const struct ns_seen_head *displaced);

/* ---- the best of many ---- */

/* A heap of the @max hottest or coldest that were offered, the worst of them first. */
struct ns_best {
	struct ns_seen_head *heads; /* owned */
	size_t count;
	size_t max;
	size_t used; /* once sorted: those in front that are in use already */
	bool is_of_cold;
};
bool ns_best_create(struct ns_best *best, size_t max, bool is_of_cold); /* false: no memory */
void ns_best_release(struct ns_best *best);
void ns_best_clear(struct ns_best *best);
bool ns_best_would_take(const struct ns_best *best, float score);
void ns_best_offer(struct ns_best *best, const struct ns_seen_head *head);
/* The best first. Nothing is offered any more until it is cleared. */
void ns_best_sort(struct ns_best *best);

/* ---- who makes room ---- */

/* Slots have class 0, packed heads one for each power of two. */
enum { NS_SIZE_CLASSES = 34, NS_PARTNER_LOOKS = 64 };
unsigned ns_size_class(uint64_t bytes, bool is_slot);

/*
 * The coldest whose room is large enough for @hot and whose going pays; it is not found again. False when
 * there is none. @cold: NS_SIZE_CLASSES, sorted.
 */
bool ns_partner_find(struct ns_best *cold, const struct ns_seen_head *hot,
                     struct ns_seen_head *ret);

/* ---- blocks of full heads ---- */

struct ns_seen_slot {
	uint64_t hash;
	float score;
	uint32_t scan; /* that saw it */
};

/* Of one arena. */
struct ns_slot_map {
	uint64_t head_bytes;
	uint64_t block_bytes;
	size_t block_count;
	uint32_t slots_a_block;
	struct ns_seen_slot *slots; /* owned */
};
bool ns_slot_map_create(struct ns_slot_map *map, uint64_t head_bytes, uint64_t block_bytes,
                        size_t block_count); /* false: no memory */
void ns_slot_map_release(struct ns_slot_map *map);
void ns_slot_map_note(struct ns_slot_map *map, const struct ns_seen_head *head, uint32_t scan);
const struct ns_seen_slot *ns_slot_map_block(const struct ns_slot_map *map, uint64_t offset);

/* The block as a whole; false unless all its slots were seen in that scan. */
bool ns_slot_map_sum(const struct ns_slot_map *map, size_t block, uint32_t scan,
                     struct ns_seen_head *ret);
/* Whether most of its heads, three in four, would be worth moving by themselves. */
bool ns_slot_map_is_hot(const struct ns_slot_map *map, size_t block);

/* ---- who was moved ---- */

struct ns_moved_one {
	uint32_t fingerprint;
	uint32_t at_s; /* 0 = none */
};
/* By hash; of two that fall together the earlier is forgotten. */
struct ns_moved {
	struct ns_moved_one *ones; /* owned */
	uint32_t count;            /* a power of two */
};
bool ns_moved_create(struct ns_moved *moved, uint32_t count); /* false: no memory */
void ns_moved_release(struct ns_moved *moved);
void ns_moved_note(struct ns_moved *moved, uint64_t hash, uint32_t now_s);
bool ns_moved_lately(const struct ns_moved *moved, uint64_t hash, uint32_t now_s);

/* ---- the rate ---- */

/*
 * A token bucket of a tenth of a second. What is larger than that is moved all the same, and those after it
 * wait for longer.
 */
struct ns_rate {
	uint64_t bytes_a_second; /* 0 = no limit */
	double bytes;            /* that may be copied; below 0: debt */
	int64_t at_ns;
};
void ns_rate_begin(struct ns_rate *rate, uint64_t bytes_a_second, int64_t now_ns);
/* For how long to wait before anything is copied (ns). */
int64_t ns_rate_wait_ns(struct ns_rate *rate, int64_t now_ns);
void ns_rate_take(struct ns_rate *rate, uint64_t bytes);

#endif
