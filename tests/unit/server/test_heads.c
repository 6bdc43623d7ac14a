/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdlib.h>
#include <store/heads.h>
#include <string.h>

enum { HEADS_MAX = 4096, UNTOUCHED = 0xA5 };

struct arena {
	char *base;
	uint64_t block_bytes;
	uint64_t block_count;
	uint64_t head_bytes;
	struct ns_heads *heads;
};

static struct arena arena_create(uint64_t block_bytes, uint64_t block_count, uint64_t head_bytes)
{
	struct arena arena = {
		.base = aligned_alloc(64, block_bytes * block_count),
		.block_bytes = block_bytes,
		.block_count = block_count,
		.head_bytes = head_bytes,
	};

	assert_non_null(arena.base);
	memset(arena.base, UNTOUCHED, block_bytes * block_count);
	arena.heads = ns_heads_create(arena.base, block_bytes, block_count, head_bytes);
	assert_non_null(arena.heads);
	return arena;
}

static void arena_free(struct arena *arena)
{
	assert_true(ns_heads_are_sound(arena->heads));
	ns_heads_free(arena->heads);
	free(arena->base);
}

static uint64_t take(struct arena *arena, uint64_t bytes)
{
	uint64_t offset = ns_heads_take(arena->heads, bytes);

	assert_true(offset != NS_NO_HEAD);
	assert_true(offset + bytes <= arena->block_bytes * arena->block_count);
	assert_number(offset % 8, 0);
	return offset;
}

/* Takes until there is no room; the offsets in @offsets. */
static size_t take_all(struct arena *arena, uint64_t bytes, uint64_t *offsets, size_t most)
{
	size_t count = 0;
	uint64_t offset;

	while ((offset = ns_heads_take(arena->heads, bytes)) != NS_NO_HEAD) {
		assert_true(count < most);
		offsets[count++] = offset;
	}
	return count;
}

static void assert_all_free(struct arena *arena)
{
	struct ns_heads_counts counts = ns_heads_count(arena->heads);

	assert_true(ns_heads_are_sound(arena->heads));
	assert_number(counts.free_blocks, arena->block_count);
	assert_number(counts.slot_blocks + counts.packed_blocks, 0);
	assert_number(counts.heads, 0);
	assert_number(counts.taken_bytes, 0);
	assert_number(counts.free_bytes, arena->block_count * arena->block_bytes);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* ---- full heads ---- */

static void full_heads_tile_the_arena_and_do_not_touch_it(void **state)
{
	struct arena arena = arena_create(64 << 10, 4, 8 << 10);
	uint64_t offsets[HEADS_MAX];
	size_t count = take_all(&arena, 8 << 10, offsets, HEADS_MAX);

	(void)state;
	assert_number(count, 4 * 8);
	for (size_t i = 0; i < count; i++)
		assert_number(offsets[i], i * (8 << 10));
	assert_number(ns_heads_count(arena.heads).free_bytes, 0);
	for (size_t i = 0; i < count; i++) {
		ns_heads_give(arena.heads, offsets[i * 5 % 32], 8 << 10);
		assert_true(ns_heads_are_sound(arena.heads));
	}
	assert_all_free(&arena);
	for (size_t i = 0; i < arena.block_bytes * arena.block_count; i++)
		assert_number((unsigned char)arena.base[i], UNTOUCHED);
	arena_free(&arena);
}

static void a_slot_that_is_given_back_is_found_in_a_full_arena(void **state)
{
	struct arena arena = arena_create(64 << 10, 3, 128); /* 512 slots a block */
	uint64_t offsets[HEADS_MAX];
	size_t count = take_all(&arena, 128, offsets, HEADS_MAX);

	(void)state;
	assert_number(count, 3 * 512);
	for (size_t i = 0; i < count; i += 37) {
		ns_heads_give(arena.heads, offsets[i], 128);
		assert_number(take(&arena, 128), offsets[i]);
		assert_true(ns_heads_take(arena.heads, 128) == NS_NO_HEAD);
	}
	arena_free(&arena);
}

static void a_head_takes_a_slot_when_a_chunk_would_take_no_less(void **state)
{
	static const struct {
		uint64_t bytes;
		bool takes_slot;
	} cases[] = {
		{ 1, false },   { 4000, false }, { 4084, false }, { 4085, true },
		{ 4093, true }, { 4095, true },  { 4096, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena arena = arena_create(4096, 2, 4096);
		uint64_t offset = take(&arena, cases[i].bytes);

		check_case("%llu bytes", (unsigned long long)cases[i].bytes);
		assert_number(ns_heads_count(arena.heads).slot_blocks, cases[i].takes_slot);
		assert_number(ns_heads_count(arena.heads).packed_blocks, !cases[i].takes_slot);
		ns_heads_give(arena.heads, offset, cases[i].bytes);
		assert_all_free(&arena);
		arena_free(&arena);
	}
}

/* ---- short heads ---- */

static void heads_of_100_bytes_take_104(void **state)
{
	struct arena arena = arena_create(2 << 20, 1, 256 << 10);
	struct ns_heads_counts counts;
	size_t count = 0;

	(void)state;
	while (ns_heads_take(arena.heads, 100) != NS_NO_HEAD)
		count++;
	assert_number(count, (2 << 20) / 104);
	counts = ns_heads_count(arena.heads);
	assert_number(counts.taken_bytes, count * 100);
	assert_number(counts.free_bytes, ((2 << 20) - 8) % 104 - 4);
	arena_free(&arena);
}

static void what_is_free_can_be_taken_to_the_last_byte(void **state)
{
	struct arena arena = arena_create(4096, 1, 4096);
	uint64_t first = take(&arena, 1000);
	uint64_t rest = ns_heads_count(arena.heads).free_bytes;
	uint64_t second;

	(void)state;
	assert_number(rest, 4096 - 8 - 1008 - 4);
	assert_true(ns_heads_take(arena.heads, rest + 1) == NS_NO_HEAD);
	second = take(&arena, rest);
	assert_number(ns_heads_count(arena.heads).free_bytes, 0);
	assert_true(ns_heads_take(arena.heads, 1) == NS_NO_HEAD);
	assert_true(ns_heads_take(arena.heads, 4096) == NS_NO_HEAD);
	assert_true(ns_heads_are_sound(arena.heads));

	ns_heads_give(arena.heads, first, 1000);
	assert_number(take(&arena, 1000), first);
	ns_heads_give(arena.heads, second, rest);
	ns_heads_give(arena.heads, first, 1000);
	assert_all_free(&arena);
	arena_free(&arena);
}

static void neighbours_join_in_whatever_order_they_are_given_back(void **state)
{
	static const unsigned orders[][4] = {
		{ 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 0, 2, 1, 3 }, { 1, 3, 2, 0 },
		{ 1, 2, 0, 3 }, { 2, 0, 3, 1 }, { 3, 0, 1, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct arena arena = arena_create(4096, 1, 4096);
		uint64_t offsets[4];
		uint64_t wall;

		check_case("order %zu", i);
		for (unsigned j = 0; j < 4; j++)
			offsets[j] = take(&arena, 500);
		wall = take(&arena, 500);
		for (unsigned j = 0; j < 4; j++) {
			ns_heads_give(arena.heads, offsets[orders[i][j]], 500);
			assert_true(ns_heads_are_sound(arena.heads));
		}
		assert_number(take(&arena, 4 * 504 - 4), offsets[0]);
		ns_heads_give(arena.heads, offsets[0], 4 * 504 - 4);
		ns_heads_give(arena.heads, wall, 500);
		assert_all_free(&arena);
		arena_free(&arena);
	}
}

static void blocks_do_not_join(void **state)
{
	struct arena arena = arena_create(4096, 2, 4096);
	uint64_t first = take(&arena, 2000);
	uint64_t second = take(&arena, 2000);
	uint64_t third = take(&arena, 2000);
	uint64_t fourth = take(&arena, 2000);

	(void)state;
	assert_true(first < second && second < 4096 && third > 4096 && third < fourth);
	ns_heads_give(arena.heads, second, 2000);
	ns_heads_give(arena.heads, third, 2000);
	assert_true(ns_heads_are_sound(arena.heads));
	assert_true(ns_heads_take(arena.heads, 3000) == NS_NO_HEAD);
	assert_number(ns_heads_count(arena.heads).packed_blocks, 2);
	ns_heads_give(arena.heads, first, 2000);
	assert_number(ns_heads_count(arena.heads).free_blocks, 1);
	ns_heads_give(arena.heads, fourth, 2000);
	assert_all_free(&arena);
	arena_free(&arena);
}

static void the_hole_that_fits_best_is_taken(void **state)
{
	static const uint64_t holes[] = { 3000, 120, 1000, 100, 500 };
	struct arena arena = arena_create(64 << 10, 1, 4096);
	uint64_t offsets[5];

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		offsets[i] = take(&arena, holes[i]);
		(void)take(&arena, 8); /* a wall */
	}
	for (unsigned i = 0; i < 5; i++)
		ns_heads_give(arena.heads, offsets[i], holes[i]);
	assert_true(ns_heads_are_sound(arena.heads));
	assert_number(take(&arena, 100), offsets[3]);
	assert_number(take(&arena, 101), offsets[1]);
	assert_number(take(&arena, 1000), offsets[2]);
	assert_number(take(&arena, 480), offsets[4]);
	assert_number(take(&arena, 2000), offsets[0]);
	arena_free(&arena);
}

/* ---- both ---- */

static void a_block_that_is_wholly_free_becomes_of_either_kind(void **state)
{
	struct arena arena = arena_create(4096, 2, 1024);
	uint64_t slots[8] = { 0 };
	uint64_t small;

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		small = take(&arena, 10);
		assert_number(take_all(&arena, 1024, slots, 8), 4);
		assert_number(ns_heads_count(arena.heads).slot_blocks, 1);
		assert_number(ns_heads_count(arena.heads).packed_blocks, 1);

		ns_heads_give(arena.heads, small, 10);
		assert_number(take_all(&arena, 1024, slots + 4, 4), 4);
		assert_number(ns_heads_count(arena.heads).slot_blocks, 2);
		assert_true(ns_heads_take(arena.heads, 10) == NS_NO_HEAD);

		for (unsigned i = 0; i < 8; i++)
			ns_heads_give(arena.heads, slots[i], 1024);
		assert_all_free(&arena);
	}
	arena_free(&arena);
}

struct taken {
	uint64_t offset;
	uint64_t bytes;
	unsigned char paint;
};

static void assert_painted(const struct arena *arena, const struct taken *taken)
{
	for (uint64_t i = 0; i < taken->bytes; i++)
		if ((unsigned char)arena->base[taken->offset + i] != taken->paint)
			fail_msg("byte %llu of %llu at %llu was overwritten", (unsigned long long)i,
			         (unsigned long long)taken->bytes,
			         (unsigned long long)taken->offset);
}

/* Mostly small ones, some of any size, some full. */
static uint64_t random_bytes(const struct arena *arena, uint64_t *seed)
{
	uint64_t random = next_random(seed) >> 16;

	switch (random % 8) {
	case 0:
		return arena->head_bytes;
	case 1:
	case 2:
		return random / 8 % arena->head_bytes + 1;
	default:
		return random / 8 % (arena->head_bytes < 100 ? arena->head_bytes : 100) + 1;
	}
}

/* Now and then a block is to be emptied, or is kept after all. */
static void empty_or_keep(struct arena *arena, uint64_t *seed, const struct taken *one)
{
	uint64_t random = next_random(seed);

	if (random % 32 == 0 && one != NULL)
		(void)ns_heads_empty(arena->heads, one->offset);
	if (random % 32 == 1)
		ns_heads_keep(arena->heads, (uint32_t)(next_random(seed) % arena->block_count));
}

/* The share of takes swings, so that the arena fills up and empties again. */
static void churn(struct arena *arena, uint64_t seed, unsigned steps)
{
	static struct taken taken[HEADS_MAX];
	size_t count = 0;

	for (unsigned step = 0; step < steps; step++) {
		unsigned share = step / 500 % 2 == 0 ? 70 : 30;

		if (next_random(&seed) % 100 < share && count < HEADS_MAX) {
			struct taken *new = &taken[count];

			*new = (struct taken){ .bytes = random_bytes(arena, &seed),
				               .paint = (unsigned char)step };
			new->offset = ns_heads_take(arena->heads, new->bytes);
			if (new->offset == NS_NO_HEAD)
				continue;
			memset(arena->base + new->offset, new->paint, new->bytes);
			count++;
		} else if (count > 0) {
			struct taken *old = &taken[next_random(&seed) % count];

			assert_painted(arena, old);
			ns_heads_give(arena->heads, old->offset, old->bytes);
			*old = taken[--count];
		}
		empty_or_keep(arena, &seed, count > 0 ? &taken[count / 2] : NULL);
		assert_true(ns_heads_are_sound(arena->heads));
		assert_number(ns_heads_count(arena->heads).heads, count);
	}
	while (count-- > 0) {
		assert_painted(arena, &taken[count]);
		ns_heads_give(arena->heads, taken[count].offset, taken[count].bytes);
	}
}

static void heads_taken_at_random_keep_their_bytes(void **state)
{
	static const struct {
		uint64_t block_bytes;
		uint64_t block_count;
		uint64_t head_bytes;
	} cases[] = {
		{ 4096, 4, 512 },   { 4096, 5, 4096 }, { 4096, 1, 64 },
		{ 32768, 3, 4096 }, { 512, 16, 128 },  { 65536, 2, 65536 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena arena = arena_create(cases[i].block_bytes, cases[i].block_count,
		                                  cases[i].head_bytes);

		check_case("blocks of %llu", (unsigned long long)cases[i].block_bytes);
		churn(&arena, 0x243f6a8885a308d3 + i, 6000);
		assert_all_free(&arena);
		arena_free(&arena);
	}
}

/* ---- blocks that are emptied ---- */

static void nothing_is_taken_of_a_block_that_is_emptied(void **state)
{
	static const uint64_t sizes[] = { 4096, 100 }; /* slots, packed */

	(void)state;
	for (size_t s = 0; s < 2; s++) {
		struct arena arena = arena_create(16384, 2, 4096);
		uint64_t offsets[HEADS_MAX];
		size_t count = take_all(&arena, sizes[s], offsets, HEADS_MAX);

		check_case("heads of %llu bytes", (unsigned long long)sizes[s]);
		assert_true(ns_heads_empty(arena.heads, offsets[0]));
		assert_false(ns_heads_empty(arena.heads, offsets[1]));
		for (size_t i = 1; i < count / 2; i++) {
			ns_heads_give(arena.heads, offsets[i], sizes[s]);
			assert_true(ns_heads_take(arena.heads, sizes[s]) == NS_NO_HEAD);
			assert_true(ns_heads_are_sound(arena.heads));
		}
		/* The last one: the block is free, and for heads of any size. */
		ns_heads_give(arena.heads, offsets[0], sizes[s]);
		assert_number(ns_heads_count(arena.heads).free_blocks, 1);
		assert_number(take(&arena, sizes[1 - s]) / 16384, 0);
		arena_free(&arena);
	}
}

static void a_block_that_is_kept_has_room_where_heads_were_given(void **state)
{
	static const uint64_t sizes[] = { 4096, 100 };

	(void)state;
	for (size_t s = 0; s < 2; s++) {
		struct arena arena = arena_create(16384, 1, 4096);
		uint64_t offsets[HEADS_MAX] = { 0 };
		size_t count = take_all(&arena, sizes[s], offsets, HEADS_MAX);

		check_case("heads of %llu bytes", (unsigned long long)sizes[s]);
		assert_true(count > 3);
		ns_heads_give(arena.heads, offsets[1], sizes[s]);
		assert_true(ns_heads_empty(arena.heads, offsets[0]));
		ns_heads_give(arena.heads, offsets[2], sizes[s]);
		ns_heads_keep(arena.heads, 0);
		assert_true(ns_heads_are_sound(arena.heads));
		/* Neighbours: where two were is one, if they are packed. */
		if (sizes[s] == 100)
			assert_number(take(&arena, 200),
			              offsets[1] < offsets[2] ? offsets[1] : offsets[2]);
		else
			assert_number(take(&arena, 4096) + take(&arena, 4096),
			              offsets[1] + offsets[2]);
		assert_number(ns_heads_count(arena.heads).heads, count - (sizes[s] == 100 ? 1 : 0));
		arena_free(&arena);
	}
}

/* ---- the edges ---- */

static void blocks_too_large_for_a_header_are_refused(void **state)
{
	(void)state;
	assert_null(ns_heads_create(NULL, UINT64_C(1) << 33, 1, 1 << 20));
	ns_heads_free(NULL);
}

static void damage_is_noticed(void **state)
{
	struct arena arena = arena_create(4096, 2, 4096);
	uint64_t first = take(&arena, 100);
	uint64_t second = take(&arena, 100);
	static const unsigned places[] = { 0, 4, 16, 100 };

	(void)state;
	ns_heads_give(arena.heads, first, 100);
	/* The free chunk's header, links and size again, counted from its header. */
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char *byte = arena.base + first - 4 + places[i];

		check_case("byte %u", places[i]);
		assert_true(ns_heads_are_sound(arena.heads));
		*byte = (char)(*byte ^ 0x10);
		assert_false(ns_heads_are_sound(arena.heads));
		*byte = (char)(*byte ^ 0x10);
	}
	ns_heads_give(arena.heads, second, 100);
	assert_all_free(&arena);
	arena_free(&arena);
}

static void a_block_is_taken_as_a_whole(void **state)
{
	enum { COUNT = 8, HEAD = 4096 };
	static const uint32_t counts[] = { 1, 5, COUNT };
	const uint64_t bytes[COUNT] = { HEAD, HEAD - 3, HEAD, HEAD, HEAD, HEAD, HEAD - 1, HEAD };
	char *base = aligned_alloc(COUNT * HEAD, 2 * COUNT * HEAD);

	(void)state;
	assert_non_null(base);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct ns_heads *heads = ns_heads_create(base, COUNT * HEAD, 2, HEAD);
		uint64_t single = ns_heads_take(heads, HEAD);
		uint64_t block;

		check_case("%u of %d", counts[i], COUNT);
		/* The rest of a block that is in use is no block. */
		block = ns_heads_take_block(heads, bytes, counts[i]);
		assert_true(block != NS_NO_HEAD &&
		            block / (COUNT * HEAD) != single / (COUNT * HEAD));
		assert_true(ns_heads_take_block(heads, bytes, counts[i]) == NS_NO_HEAD);
		assert_true(ns_heads_are_sound(heads));
		assert_number(ns_heads_count(heads).heads, counts[i] + 1);
		assert_number(ns_heads_count(heads).free_bytes, (2 * COUNT - 1 - counts[i]) * HEAD);
		for (uint32_t j = 0; j < counts[i]; j++)
			ns_heads_give(heads, block + (uint64_t)j * HEAD, bytes[j]);
		ns_heads_give(heads, single, HEAD);
		assert_true(ns_heads_are_sound(heads));
		assert_number(ns_heads_count(heads).taken_bytes, 0);
		assert_number(ns_heads_count(heads).free_blocks, 2);
		ns_heads_free(heads);
	}
	free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_heads_tile_the_arena_and_do_not_touch_it),
		cmocka_unit_test(a_slot_that_is_given_back_is_found_in_a_full_arena),
		cmocka_unit_test(a_head_takes_a_slot_when_a_chunk_would_take_no_less),
		cmocka_unit_test(heads_of_100_bytes_take_104),
		cmocka_unit_test(what_is_free_can_be_taken_to_the_last_byte),
		cmocka_unit_test(neighbours_join_in_whatever_order_they_are_given_back),
		cmocka_unit_test(blocks_do_not_join),
		cmocka_unit_test(the_hole_that_fits_best_is_taken),
		cmocka_unit_test(a_block_that_is_wholly_free_becomes_of_either_kind),
		cmocka_unit_test(heads_taken_at_random_keep_their_bytes),
		cmocka_unit_test(nothing_is_taken_of_a_block_that_is_emptied),
		cmocka_unit_test(a_block_that_is_kept_has_room_where_heads_were_given),
		cmocka_unit_test(blocks_too_large_for_a_header_are_refused),
		cmocka_unit_test(damage_is_noticed),
		cmocka_unit_test(a_block_is_taken_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
