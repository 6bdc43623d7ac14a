/* SPDX-License-Identifier: BSD-3-Clause */
#include "promote_plan.h"

#include <stdlib.h>
#include <string.h>

bool ns_move_pays(const struct ns_seen_head *head, const struct ns_seen_head *displaced)
{
	double saved = (double)head->score * (double)head->bytes;
	double copied = (double)head->bytes + NS_MOVE_OVERHEAD;

	if (displaced == NULL)
		return saved > copied;
	if (head->score <= NS_HOTTER_FACTOR * displaced->score)
		return false;
	saved -= (double)displaced->score * (double)displaced->bytes;
	copied += (double)displaced->bytes + NS_MOVE_OVERHEAD;
	return saved > copied;
}

/* ---- the best of many ---- */

bool ns_best_create(struct ns_best *best, size_t max, bool is_of_cold)
{
	*best = (struct ns_best){ .max = max, .is_of_cold = is_of_cold };
	best->heads = calloc(max, sizeof(*best->heads));
	return best->heads != NULL;
}

void ns_best_release(struct ns_best *best)
{
	free(best->heads);
	*best = (struct ns_best){ 0 };
}

void ns_best_clear(struct ns_best *best)
{
	best->count = 0;
	best->used = 0;
}

static bool is_worse(const struct ns_best *best, float a, float b)
{
	return best->is_of_cold ? a > b : a < b;
}

static void swap(struct ns_seen_head *a, struct ns_seen_head *b)
{
	struct ns_seen_head held = *a;

	*a = *b;
	*b = held;
}

static void sift_up(struct ns_best *best, size_t at)
{
	while (at > 0) {
		size_t above = (at - 1) / 2;

		if (!is_worse(best, best->heads[at].score, best->heads[above].score))
			return;
		swap(&best->heads[at], &best->heads[above]);
		at = above;
	}
}

static void sift_down(struct ns_best *best, size_t count)
{
	for (size_t at = 0;;) {
		size_t worst = at;

		for (size_t below = 2 * at + 1; below <= 2 * at + 2 && below < count; below++)
			if (is_worse(best, best->heads[below].score, best->heads[worst].score))
				worst = below;
		if (worst == at)
			return;
		swap(&best->heads[at], &best->heads[worst]);
		at = worst;
	}
}

bool ns_best_would_take(const struct ns_best *best, float score)
{
	return best->count < best->max ||
	       (best->max > 0 && is_worse(best, best->heads[0].score, score));
}

void ns_best_offer(struct ns_best *best, const struct ns_seen_head *head)
{
	if (!ns_best_would_take(best, head->score))
		return;
	if (best->count < best->max) {
		best->heads[best->count] = *head;
		sift_up(best, best->count++);
		return;
	}
	best->heads[0] = *head;
	sift_down(best, best->count);
}

/* The worst goes to the end, again and again. */
void ns_best_sort(struct ns_best *best)
{
	for (size_t left = best->count; left > 1; left--) {
		swap(&best->heads[0], &best->heads[left - 1]);
		sift_down(best, left - 1);
	}
}

/* ---- who makes room ---- */

unsigned ns_size_class(uint64_t bytes, bool is_slot)
{
	unsigned class = is_slot ? 0 : 64 - (unsigned)__builtin_clzll(bytes | 1);

	return class < NS_SIZE_CLASSES ? class : NS_SIZE_CLASSES - 1;
}

/* Those behind one that is not colder by enough are no colder. */
static bool find_in(struct ns_best *cold, const struct ns_seen_head *hot, struct ns_seen_head *ret)
{
	for (size_t i = cold->used; i < cold->count && i < cold->used + NS_PARTNER_LOOKS; i++) {
		const struct ns_seen_head head = cold->heads[i];

		if (hot->score <= NS_HOTTER_FACTOR * head.score)
			return false;
		if ((!hot->is_slot && head.bytes < hot->bytes) || !ns_move_pays(hot, &head))
			continue;
		memmove(&cold->heads[cold->used + 1], &cold->heads[cold->used],
		        (i - cold->used) * sizeof(head));
		cold->heads[cold->used++] = head;
		*ret = head;
		return true;
	}
	return false;
}

/* Of its own class some are large enough, of the next one all are. */
bool ns_partner_find(struct ns_best *cold, const struct ns_seen_head *hot, struct ns_seen_head *ret)
{
	unsigned class = ns_size_class(hot->bytes, hot->is_slot);

	if (find_in(&cold[class], hot, ret))
		return true;
	return !hot->is_slot && class + 1 < NS_SIZE_CLASSES && find_in(&cold[class + 1], hot, ret);
}

/* ---- blocks of full heads ---- */

bool ns_slot_map_create(struct ns_slot_map *map, uint64_t head_bytes, uint64_t block_bytes,
                        size_t block_count)
{
	*map = (struct ns_slot_map){
		.head_bytes = head_bytes,
		.block_bytes = block_bytes,
		.block_count = block_count,
		.slots_a_block = (uint32_t)(block_bytes / head_bytes),
	};
	/* The kernel gives its pages only when full heads are seen. */
	map->slots = calloc(block_count * map->slots_a_block, sizeof(*map->slots));
	return map->slots != NULL;
}

void ns_slot_map_release(struct ns_slot_map *map)
{
	free(map->slots);
	*map = (struct ns_slot_map){ 0 };
}

static struct ns_seen_slot *block_of(const struct ns_slot_map *map, size_t block)
{
	return &map->slots[block * map->slots_a_block];
}

void ns_slot_map_note(struct ns_slot_map *map, const struct ns_seen_head *head, uint32_t scan)
{
	struct ns_seen_slot *slots = block_of(map, (size_t)(head->offset / map->block_bytes));

	slots[head->offset % map->block_bytes / map->head_bytes] = (struct ns_seen_slot){
		.hash = head->hash,
		.score = head->score,
		.scan = scan,
	};
}

const struct ns_seen_slot *ns_slot_map_block(const struct ns_slot_map *map, uint64_t offset)
{
	return block_of(map, (size_t)(offset / map->block_bytes));
}

bool ns_slot_map_sum(const struct ns_slot_map *map, size_t block, uint32_t scan,
                     struct ns_seen_head *ret)
{
	const struct ns_seen_slot *slots = block_of(map, block);
	double sum = 0;

	for (uint32_t i = 0; i < map->slots_a_block; i++) {
		if (slots[i].scan != scan)
			return false;
		sum += (double)slots[i].score;
	}
	*ret = (struct ns_seen_head){
		.offset = block * map->block_bytes,
		.bytes = map->slots_a_block * map->head_bytes,
		.score = (float)(sum / map->slots_a_block),
		.is_slot = true,
	};
	return true;
}

bool ns_slot_map_is_hot(const struct ns_slot_map *map, size_t block)
{
	const struct ns_seen_slot *slots = block_of(map, block);
	uint32_t count = 0;

	for (uint32_t i = 0; i < map->slots_a_block; i++) {
		struct ns_seen_head head = { .bytes = map->head_bytes, .score = slots[i].score };

		count += ns_move_pays(&head, NULL);
	}
	return count >= map->slots_a_block - map->slots_a_block / 4;
}

/* ---- who was moved ---- */

bool ns_moved_create(struct ns_moved *moved, uint32_t count)
{
	moved->count = count;
	moved->ones = calloc(count, sizeof(*moved->ones));
	return moved->ones != NULL;
}

void ns_moved_release(struct ns_moved *moved)
{
	free(moved->ones);
	*moved = (struct ns_moved){ 0 };
}

void ns_moved_note(struct ns_moved *moved, uint64_t hash, uint32_t now_s)
{
	moved->ones[hash & (moved->count - 1)] = (struct ns_moved_one){
		.fingerprint = (uint32_t)(hash >> 32),
		.at_s = now_s,
	};
}

bool ns_moved_lately(const struct ns_moved *moved, uint64_t hash, uint32_t now_s)
{
	const struct ns_moved_one *one = &moved->ones[hash & (moved->count - 1)];

	return one->at_s != 0 && one->fingerprint == (uint32_t)(hash >> 32) &&
	       now_s - one->at_s < NS_STAYS_S;
}

/* ---- the rate ---- */

static double rate_most(const struct ns_rate *rate)
{
	return (double)rate->bytes_a_second / 10;
}

void ns_rate_begin(struct ns_rate *rate, uint64_t bytes_a_second, int64_t now_ns)
{
	*rate = (struct ns_rate){ .bytes_a_second = bytes_a_second, .at_ns = now_ns };
	rate->bytes = rate_most(rate);
}

int64_t ns_rate_wait_ns(struct ns_rate *rate, int64_t now_ns)
{
	double a_second = (double)rate->bytes_a_second;

	if (rate->bytes_a_second == 0)
		return 0;
	rate->bytes += a_second * (double)(now_ns - rate->at_ns) / 1e9;
	rate->at_ns = now_ns;
	if (rate->bytes > rate_most(rate))
		rate->bytes = rate_most(rate);
	return rate->bytes >= 0 ? 0 : (int64_t)(-rate->bytes / a_second * 1e9) + 1;
}

void ns_rate_take(struct ns_rate *rate, uint64_t bytes)
{
	rate->bytes -= (double)bytes;
}
