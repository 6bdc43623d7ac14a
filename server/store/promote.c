/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round: a scan of all objects in small steps, then what was found best is moved, whole blocks first, until the
 * list is at its end or the rate is used up; then a pause. The next round finds what was left, with the scores of
 * that time.
 */
#include "promote.h"

#include "../../probe/base/clock.h"
#include "promote_parts.h"

#include <stdlib.h>

enum {
	STEP_OBJECTS = 1024, /* looked at in a turn: about 50 us */
	IDLE_FACTOR = 9,     /* a scan sleeps so many times as long as it looks: a tenth of a CPU */
	HOT_MAX = 4096,      /* heads that a round moves at most */
	COLD_MAX = 1024,     /* of each class of sizes */
	BLOCKS_MAX = 64,     /* the same of blocks */
	BLOCK_SLOTS_MAX = 4096, /* larger blocks move head by head */
	MOVED_MAX = 1 << 18,    /* heads that are known to have moved lately */
	TURN_BYTES = 1 << 20,   /* moved in a turn; or so many heads */
	TURN_HEADS = 64,
	PAUSE_FACTOR =
		4, /* after a scan that found nothing it sleeps so many times as long as that took */
	EVICTIONS_MAX = 4, /* for one that has to make room, where there is no other room */
	PREFERRED = 0,     /* arena */
};

#define PAUSE_IDLE_NS INT64_C(250000000)
#define PAUSE_BUSY_NS INT64_C(20000000) /* after a round that moved something */

enum state { PAUSED, SCANNING, MOVING_BLOCKS, MOVING_HEADS };

struct ns_promoter {
	struct ns_store *store;
	struct ns_thread *thread;
	enum state state;
	uint32_t now_s;
	/* The scan. */
	uint32_t scan;
	uint64_t bucket;
	int64_t began_ns;
	int64_t scan_ns; /* that it took, sleep included */
	struct ns_best hot;
	struct ns_best cold[NS_SIZE_CLASSES];
	struct ns_best hot_blocks;
	struct ns_best cold_blocks;
	struct ns_slot_map *maps; /* of each arena */
	/* The moves. */
	size_t next;
	uint64_t moved_heads; /* in this round */
	struct ns_object **objects;
	uint64_t *bytes;
	struct ns_moved moved;
	struct ns_rate rate;
};

/* ---- beginning and end ---- */

static bool create_maps(struct ns_promoter *promoter)
{
	const struct ns_store *store = promoter->store;

	promoter->maps = calloc(store->arena_count, sizeof(*promoter->maps));
	for (size_t i = 0; promoter->maps != NULL && i < store->arena_count; i++) {
		const struct ns_arena *mapped = store->arenas[i].mapped;

		if (!ns_slot_map_create(&promoter->maps[i], store->head_bytes, mapped->block_bytes,
		                        mapped->block_count))
			return false;
	}
	return promoter->maps != NULL;
}

static bool create_lists(struct ns_promoter *promoter)
{
	bool is_there = ns_best_create(&promoter->hot, HOT_MAX, false) &&
	                ns_best_create(&promoter->hot_blocks, BLOCKS_MAX, false) &&
	                ns_best_create(&promoter->cold_blocks, BLOCKS_MAX, true) &&
	                ns_moved_create(&promoter->moved, MOVED_MAX);

	for (size_t i = 0; i < NS_SIZE_CLASSES && is_there; i++)
		is_there = ns_best_create(&promoter->cold[i], COLD_MAX, true);
	promoter->objects = calloc(BLOCK_SLOTS_MAX, sizeof(struct ns_object *));
	promoter->bytes = calloc(BLOCK_SLOTS_MAX, sizeof(*promoter->bytes));
	return is_there && promoter->objects != NULL && promoter->bytes != NULL;
}

struct ns_promoter *ns_promoter_create(struct ns_store *store, unsigned node, uint64_t rate)
{
	struct ns_promoter *promoter;

	if (store->scores.increment == 0)
		return NULL;
	promoter = calloc(1, sizeof(*promoter));
	if (promoter == NULL)
		return NULL;
	promoter->store = store;
	ns_rate_begin(&promoter->rate, rate, (int64_t)np_now_ns());
	if (create_maps(promoter) && create_lists(promoter))
		promoter->thread = ns_thread_join(store, node);
	if (promoter->thread != NULL)
		return promoter;
	ns_promoter_free(promoter);
	return NULL;
}

void ns_promoter_free(struct ns_promoter *promoter)
{
	if (promoter == NULL)
		return;
	if (promoter->thread != NULL)
		ns_thread_leave(promoter->thread);
	for (size_t i = 0; promoter->maps != NULL && i < promoter->store->arena_count; i++)
		ns_slot_map_release(&promoter->maps[i]);
	for (size_t i = 0; i < NS_SIZE_CLASSES; i++)
		ns_best_release(&promoter->cold[i]);
	ns_best_release(&promoter->hot);
	ns_best_release(&promoter->hot_blocks);
	ns_best_release(&promoter->cold_blocks);
	ns_moved_release(&promoter->moved);
	free(promoter->maps);
	free(promoter->objects);
	free(promoter->bytes);
	free(promoter);
}

void ns_promoter_go(struct ns_promoter *promoter)
{
	ns_thread_go(promoter->thread);
}

void ns_promoter_come(struct ns_promoter *promoter)
{
	ns_thread_come(promoter->thread);
}

/* ---- the scan ---- */

static void begin_scan(struct ns_promoter *promoter)
{
	promoter->began_ns = (int64_t)np_now_ns();
	promoter->scan++;
	promoter->bucket = 0;
	promoter->next = 0;
	promoter->moved_heads = 0;
	ns_best_clear(&promoter->hot);
	ns_best_clear(&promoter->hot_blocks);
	ns_best_clear(&promoter->cold_blocks);
	for (size_t i = 0; i < NS_SIZE_CLASSES; i++)
		ns_best_clear(&promoter->cold[i]);
	promoter->state = SCANNING;
}

static void see(struct ns_promoter *promoter, struct ns_object *object)
{
	const struct ns_store *store = promoter->store;
	struct ns_seen_head head = {
		.hash = object->hash,
		.offset = object->head,
		.bytes = ns_head_bytes(store, object),
		.score = ns_object_score(store, object, promoter->now_s),
		.arena = object->arena,
	};
	struct ns_best *best = &promoter->hot;

	if (head.offset == NS_NO_HEAD)
		return;
	head.is_slot = ns_heads_fills_slot(store->arenas[head.arena].heads, head.bytes);
	if (head.arena == PREFERRED)
		best = &promoter->cold[ns_size_class(head.bytes, head.is_slot)];
	else if (head.score == 0 && !head.is_slot)
		return;
	if ((!head.is_slot && !ns_best_would_take(best, head.score)) ||
	    !ns_move_may(promoter->thread, object, promoter->now_s) ||
	    ns_moved_lately(&promoter->moved, head.hash, promoter->now_s))
		return;
	if (head.is_slot)
		ns_slot_map_note(&promoter->maps[head.arena], &head, promoter->scan);
	if (head.arena == PREFERRED || head.score > 0)
		ns_best_offer(best, &head);
}

/* ---- after the scan ---- */

static void judge_blocks(struct ns_promoter *promoter, size_t arena)
{
	const struct ns_slot_map *map = &promoter->maps[arena];
	struct ns_seen_head block;

	if (map->slots_a_block < 2 || map->slots_a_block > BLOCK_SLOTS_MAX)
		return;
	for (size_t i = 0; i < map->block_count; i++) {
		if (!ns_slot_map_sum(map, i, promoter->scan, &block))
			continue;
		block.arena = (uint8_t)arena;
		if (arena == PREFERRED)
			ns_best_offer(&promoter->cold_blocks, &block);
		else if (ns_slot_map_is_hot(map, i))
			ns_best_offer(&promoter->hot_blocks, &block);
	}
}

static void end_scan(struct ns_promoter *promoter)
{
	for (size_t i = 0; i < promoter->store->arena_count; i++)
		judge_blocks(promoter, i);
	ns_best_sort(&promoter->hot);
	ns_best_sort(&promoter->hot_blocks);
	ns_best_sort(&promoter->cold_blocks);
	for (size_t i = 0; i < NS_SIZE_CLASSES; i++)
		ns_best_sort(&promoter->cold[i]);
	ns_counter_add(&promoter->thread->counts.promotion_scans, 1);
	promoter->scan_ns = (int64_t)np_now_ns() - promoter->began_ns;
	promoter->state = MOVING_BLOCKS;
}

/* No pointer into the index is kept from one step to the next. */
static int64_t scan_step(struct ns_promoter *promoter)
{
	const struct ns_index *index = promoter->store->index;
	uint64_t began_ns = np_now_ns();

	for (unsigned looked_at = 0; looked_at < STEP_OBJECTS; looked_at++) {
		struct ns_object *object = ns_index_first(index, promoter->bucket);

		for (; object != NULL; object = ns_index_next(object), looked_at++)
			see(promoter, object);
		if (++promoter->bucket < ns_index_buckets(index))
			continue;
		end_scan(promoter);
		return 0;
	}
	return (int64_t)(np_now_ns() - began_ns) * IDLE_FACTOR;
}

/* ---- counting ---- */

/* Only this thread writes it, but for a reset. */
static void count_time(struct ns_promoter *promoter, uint64_t began_ns)
{
	uint64_t *longest_ns = &promoter->store->promotion_max_ns;
	uint64_t took_ns = np_now_ns() - began_ns;

	ns_counter_add(&promoter->thread->counts.promotion_ns, took_ns);
	if (took_ns > __atomic_load_n(longest_ns, __ATOMIC_RELAXED))
		__atomic_store_n(longest_ns, took_ns, __ATOMIC_RELAXED);
}

static void count_promoted(struct ns_promoter *promoter, uint64_t heads, uint64_t bytes)
{
	struct ns_counts *counts = &promoter->thread->counts;

	ns_counter_add(&counts->promotions, heads);
	ns_counter_add(&counts->promoted_bytes, bytes);
	ns_rate_take(&promoter->rate, bytes);
	promoter->moved_heads += heads;
}

static void count_refused(struct ns_promoter *promoter, bool has_room)
{
	struct ns_counts *counts = &promoter->thread->counts;

	ns_counter_add(
		has_room ? &counts->promotion_refused_payback : &counts->promotion_refused_room, 1);
}

/* What would have been moved if the rate allowed. */
static void count_waiting(struct ns_promoter *promoter)
{
	uint64_t count = 0;

	for (size_t i = promoter->next; i < promoter->hot.count; i++)
		count += ns_move_pays(&promoter->hot.heads[i], NULL);
	ns_counter_add(&promoter->thread->counts.promotion_refused_rate, count);
}

/* ---- making room ---- */

static bool take_elsewhere(struct ns_promoter *promoter, uint64_t bytes, struct ns_room *ret)
{
	struct ns_store *store = promoter->store;

	for (size_t i = PREFERRED + 1; i < store->arena_count; i++) {
		uint64_t offset = ns_room_take_free(&store->arenas[i], bytes);

		if (offset == NS_NO_HEAD)
			continue;
		*ret = (struct ns_room){ .arena = i, .offset = offset };
		return true;
	}
	return false;
}

/*
 * Free room, else that of who would be the next to go in @arena: the room that the promoted one leaves there spares
 * somebody else his going.
 */
static bool find_elsewhere(struct ns_promoter *promoter, size_t arena, uint64_t bytes,
                           struct ns_room *ret)
{
	struct ns_thread *thread = promoter->thread;

	if (take_elsewhere(promoter, bytes, ret))
		return true;
	if (ns_store_bury(thread) && take_elsewhere(promoter, bytes, ret))
		return true;
	for (unsigned i = 0; i < EVICTIONS_MAX && !promoter->store->no_evict; i++) {
		if (!ns_room_evict_one(thread, arena))
			return false;
		if (take_elsewhere(promoter, bytes, ret))
			return true;
	}
	return false;
}

/* Out of the preferred arena, for somebody in @arena. */
static bool demote(struct ns_promoter *promoter, const struct ns_seen_head *head, size_t arena)
{
	struct ns_counts *counts = &promoter->thread->counts;
	struct ns_object *object = ns_move_pin(promoter->thread, head, promoter->now_s);
	struct ns_room room;
	uint64_t bytes;

	if (object == NULL)
		return false;
	bytes = ns_head_bytes(promoter->store, object);
	if (!find_elsewhere(promoter, arena, bytes, &room)) {
		ns_object_unpin(promoter->thread, object);
		return false;
	}
	if (!ns_move_to(promoter->thread, object, &room, promoter->now_s))
		return false;
	ns_moved_note(&promoter->moved, head->hash, promoter->now_s);
	ns_counter_add(&counts->demotions, 1);
	ns_counter_add(&counts->demoted_bytes, bytes);
	ns_rate_take(&promoter->rate, bytes);
	return true;
}

/* ---- blocks ---- */

static bool move_block(struct ns_promoter *promoter, const struct ns_seen_head *block)
{
	const struct ns_slot_map *map = &promoter->maps[block->arena];
	struct ns_block_move move = {
		.slots = ns_slot_map_block(map, block->offset),
		.offset = block->offset,
		.from = block->arena,
		.to = PREFERRED,
		.count = map->slots_a_block,
		.objects = promoter->objects,
		.bytes = promoter->bytes,
	};
	uint64_t bytes = 0;
	uint32_t heads = ns_move_block(promoter->thread, &move, promoter->now_s, &bytes);

	if (heads == 0)
		return false;
	for (uint32_t i = 0; i < move.count; i++)
		ns_moved_note(&promoter->moved, move.slots[i].hash, promoter->now_s);
	ns_counter_add(&promoter->thread->counts.promotion_blocks, 1);
	count_promoted(promoter, heads, bytes);
	return true;
}

/* Its heads go to wherever there is room; once the last has gone, the block is free. */
static bool empty_block(struct ns_promoter *promoter, const struct ns_seen_head *block,
                        size_t arena)
{
	const struct ns_slot_map *map = &promoter->maps[PREFERRED];
	const struct ns_seen_slot *slots = ns_slot_map_block(map, block->offset);

	for (uint32_t i = 0; i < map->slots_a_block; i++) {
		struct ns_seen_head head = {
			.hash = slots[i].hash,
			.offset = block->offset + i * map->head_bytes,
			.arena = PREFERRED,
		};

		if (!demote(promoter, &head, arena))
			return false;
	}
	return true;
}

/* What does not move as a whole may move head by head. */
static void promote_block(struct ns_promoter *promoter, const struct ns_seen_head *block)
{
	struct ns_best *cold = &promoter->cold_blocks;
	uint64_t began_ns = np_now_ns();

	if (!move_block(promoter, block) && cold->used < cold->count &&
	    ns_move_pays(block, &cold->heads[cold->used]) &&
	    empty_block(promoter, &cold->heads[cold->used++], block->arena))
		(void)move_block(promoter, block);
	count_time(promoter, began_ns);
}

static void move_blocks(struct ns_promoter *promoter)
{
	struct ns_best *hot = &promoter->hot_blocks;

	if (hot->used < hot->count && ns_rate_wait_ns(&promoter->rate, (int64_t)np_now_ns()) == 0)
		promote_block(promoter, &hot->heads[hot->used++]);
	else
		promoter->state = MOVING_HEADS;
}

/* ---- heads ---- */

/* Room in the preferred arena, or that of who is colder by enough. */
static bool find_room(struct ns_promoter *promoter, const struct ns_seen_head *head, uint64_t bytes,
                      struct ns_room *ret)
{
	struct ns_store_arena *arena = &promoter->store->arenas[PREFERRED];
	struct ns_seen_head displaced;

	*ret = (struct ns_room){ .arena = PREFERRED, .offset = ns_room_take_free(arena, bytes) };
	if (ret->offset != NS_NO_HEAD)
		return true;
	if (!ns_partner_find(promoter->cold, head, &displaced)) {
		count_refused(promoter, true);
		return false;
	}
	if (demote(promoter, &displaced, head->arena)) {
		(void)ns_store_bury(promoter->thread);
		ret->offset = ns_room_take_free(arena, bytes);
	}
	if (ret->offset == NS_NO_HEAD)
		count_refused(promoter, false);
	return ret->offset != NS_NO_HEAD;
}

/* Returns the bytes that were moved. */
static uint64_t promote_head(struct ns_promoter *promoter, const struct ns_seen_head *head)
{
	struct ns_thread *thread = promoter->thread;
	struct ns_object *object;
	struct ns_room room;
	uint64_t bytes;

	if (!ns_move_pays(head, NULL)) {
		count_refused(promoter, true);
		return 0;
	}
	/* With its block just now. */
	if (ns_moved_lately(&promoter->moved, head->hash, promoter->now_s))
		return 0;
	object = ns_move_pin(thread, head, promoter->now_s);
	if (object == NULL)
		return 0;
	bytes = ns_head_bytes(promoter->store, object);
	if (!find_room(promoter, head, bytes, &room)) {
		ns_object_unpin(thread, object);
		return 0;
	}
	if (!ns_move_to(thread, object, &room, promoter->now_s))
		return 0;
	ns_moved_note(&promoter->moved, head->hash, promoter->now_s);
	count_promoted(promoter, 1, bytes);
	return bytes;
}

static int64_t pause_ns(struct ns_promoter *promoter, int64_t wait_ns)
{
	int64_t least_ns = PAUSE_BUSY_NS;

	promoter->state = PAUSED;
	if (promoter->moved_heads == 0) {
		least_ns = promoter->scan_ns * PAUSE_FACTOR;
		if (least_ns < PAUSE_IDLE_NS)
			least_ns = PAUSE_IDLE_NS;
	}
	return wait_ns > least_ns ? wait_ns : least_ns;
}

static int64_t move_heads(struct ns_promoter *promoter)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < TURN_HEADS && bytes < TURN_BYTES; i++) {
		uint64_t began_ns = np_now_ns();
		int64_t wait_ns = ns_rate_wait_ns(&promoter->rate, (int64_t)began_ns);

		if (promoter->next == promoter->hot.count)
			return pause_ns(promoter, wait_ns);
		if (wait_ns > 0) {
			count_waiting(promoter);
			return pause_ns(promoter, wait_ns);
		}
		bytes += promote_head(promoter, &promoter->hot.heads[promoter->next++]);
		count_time(promoter, began_ns);
	}
	return 0;
}

/* ---- a turn ---- */

int64_t ns_promoter_turn(struct ns_promoter *promoter)
{
	int64_t sleep_ns = 0;

	promoter->now_s = ns_store_now_s(promoter->store);
	switch (promoter->state) {
	case PAUSED:
		begin_scan(promoter);
		break;
	case SCANNING:
		sleep_ns = scan_step(promoter);
		break;
	case MOVING_BLOCKS:
		move_blocks(promoter);
		break;
	case MOVING_HEADS:
		sleep_ns = move_heads(promoter);
		break;
	}
	ns_thread_rest(promoter->thread);
	return sleep_ns;
}

uint64_t ns_promoter_run(struct ns_promoter *promoter)
{
	promoter->state = PAUSED;
	do
		(void)ns_promoter_turn(promoter);
	while (promoter->state != PAUSED);
	return promoter->moved_heads;
}
