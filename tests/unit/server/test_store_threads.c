/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads do everything at once with few keys and little room. Each value tells what it is: the key's number and
 * a seed, from which the rest follows; appended pieces are such values too. A reader checks every byte, at
 * once and after it held on to the object for a while.
 */
#include "made_store.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <store/promote.h>
#include <store/promote_parts.h>

enum {
	THREADS = 4,
	TURNS = 1500,
	TURN_COMMANDS = 16,
	KEYS = 300,
	KEY_LEN = 8,
	HELD_MAX = 8,
	PIECE_MAX = 600,
	FULL_ONE_IN = 8, /* values fill a head, where heads move */
};

struct piece {
	uint32_t key;
	uint32_t bytes; /* with this */
	uint32_t seed;
};

struct worker {
	struct made *made;
	struct ns_thread *thread;
	uint64_t random;
	const struct ns_object *held[HELD_MAX];
	uint32_t held_keys[HELD_MAX];
	unsigned wrong;
	unsigned failed; /* with something else than what can be */
	unsigned hits;
	bool stores_full; /* heads among the short ones */
	bool promotes;
};

static uint32_t next_random(struct worker *worker, uint32_t below)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return (uint32_t)(worker->random >> 32) % below;
}

static void make_key(char *key, uint32_t number)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%08u", number);
	memcpy(key, text, KEY_LEN);
}

static void make_piece(char *at, struct piece piece)
{
	memcpy(at, &piece, sizeof(piece));
	for (uint32_t i = sizeof(piece); i < piece.bytes; i++)
		at[i] = (char)(piece.seed + i);
}

/* Pieces of that key up to the end. */
static bool is_right(const struct worker *worker, const struct ns_object *object, uint32_t key)
{
	size_t size;
	const char *head = ns_object_head(worker->made->store, object, &size);
	size_t at = 0;

	while (at < size) {
		struct piece piece;

		if (size - at < sizeof(piece))
			return false;
		memcpy(&piece, head + at, sizeof(piece));
		if (piece.key != key || piece.bytes < sizeof(piece) || piece.bytes > size - at)
			return false;
		for (uint32_t i = sizeof(piece); i < piece.bytes; i++)
			if (head[at + i] != (char)(piece.seed + i))
				return false;
		at += piece.bytes;
	}
	return true;
}

static void get(struct worker *worker, uint32_t number, const char *key)
{
	uint32_t now_s = ns_store_now_s(worker->made->store);
	const struct ns_object *object = ns_store_get(worker->thread, key, KEY_LEN, now_s);
	uint32_t place = next_random(worker, 2 * HELD_MAX);

	if (object == NULL)
		return;
	worker->hits++;
	if (!is_right(worker, object, number))
		worker->wrong++;
	if (place >= HELD_MAX) {
		ns_object_unpin(worker->thread, object);
		return;
	}
	if (worker->held[place] != NULL) {
		if (!is_right(worker, worker->held[place], worker->held_keys[place]))
			worker->wrong++;
		ns_object_unpin(worker->thread, worker->held[place]);
	}
	worker->held[place] = object;
	worker->held_keys[place] = number;
}

static struct piece new_piece(struct worker *worker, uint32_t number)
{
	return (struct piece){
		.key = number,
		.bytes = (uint32_t)sizeof(struct piece) + next_random(worker, PIECE_MAX),
		.seed = next_random(worker, UINT32_MAX),
	};
}

static void set(struct worker *worker, uint32_t number, const char *key)
{
	struct piece piece = new_piece(worker, number);
	struct ns_store_request request = { .key = key, .key_len = KEY_LEN };
	struct ns_draft draft;
	uint64_t cas;
	int rc;

	if ((worker->stores_full && next_random(worker, 8) == 0) ||
	    (worker->promotes && next_random(worker, FULL_ONE_IN) == 0))
		piece.bytes = MADE_HEAD;
	request.bytes = piece.bytes;
	if (next_random(worker, 8) == 0)
		request.expires_s = 1;
	rc = ns_draft_begin(worker->thread, &request, &draft, NULL);
	if (rc == -ENOSPC)
		return;
	if (rc < 0) {
		worker->failed++;
		return;
	}
	make_piece(draft.head, piece);
	if (next_random(worker, 8) == 0)
		ns_draft_drop(worker->thread, &draft);
	else
		(void)ns_draft_store(worker->thread, &draft,
		                     (enum ns_mode)next_random(worker, NS_CAS), 0, 0, &cas);
}

static void extend(struct worker *worker, uint32_t number, const char *key)
{
	char bytes[sizeof(struct piece) + PIECE_MAX];
	struct piece piece = new_piece(worker, number);
	uint64_t cas;
	int rc;

	make_piece(bytes, piece);
	rc = ns_store_extend(worker->thread, key, KEY_LEN, bytes, piece.bytes,
	                     next_random(worker, 2) == 0, 0, &cas, NULL);
	if (rc < 0 && rc != -ENOENT && rc != -E2BIG && rc != -ENOSPC)
		worker->failed++;
}

static void do_something(struct worker *worker)
{
	uint32_t number = next_random(worker, KEYS);
	char key[KEY_LEN];

	make_key(key, number);
	switch (next_random(worker, 16)) {
	case 0:
		(void)ns_store_delete(worker->thread, key, KEY_LEN, 0);
		break;
	case 1:
		(void)ns_store_touch(worker->thread, key, KEY_LEN, next_random(worker, 2));
		break;
	case 2:
		extend(worker, number, key);
		break;
	case 3:
		(void)ns_store_invalidate(worker->thread, key, KEY_LEN, 0, UINT32_MAX);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		set(worker, number, key);
		break;
	default:
		get(worker, number, key);
	}
}

static void *work(void *data)
{
	struct worker *worker = data;
	struct ns_store *store = worker->made->store;

	worker->thread = ns_thread_join(store, (unsigned)worker->random % 3);
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < TURN_COMMANDS; i++)
			do_something(worker);
		if (turn % 64 == 0)
			(void)ns_store_sweep(worker->thread, ns_store_now_s(store), 100);
		if (turn % 200 == 0)
			ns_store_flush(store, ns_store_now_s(store));
		ns_thread_rest(worker->thread);
		if (turn % 16 == 0) {
			ns_thread_go(worker->thread);
			ns_thread_come(worker->thread);
		}
	}
	for (int i = 0; i < HELD_MAX; i++) {
		if (worker->held[i] == NULL)
			continue;
		if (!is_right(worker, worker->held[i], worker->held_keys[i]))
			worker->wrong++;
		ns_object_unpin(worker->thread, worker->held[i]);
	}
	ns_thread_leave(worker->thread);
	return NULL;
}

/* ---- heads that move meanwhile ---- */

/* By the rules, as fast as it goes; and by no rule, from anywhere to anywhere. */
struct movers {
	struct made *made;
	pthread_t threads[2];
	bool is_over; /* atomic */
	unsigned moved;
};

static void *promote(void *data)
{
	struct movers *movers = data;
	struct ns_promoter *promoter = ns_promoter_create(movers->made->store, 1, 0);

	while (promoter != NULL && !__atomic_load_n(&movers->is_over, __ATOMIC_RELAXED))
		(void)ns_promoter_turn(promoter);
	ns_promoter_free(promoter);
	return NULL;
}

/* Returns whether it has moved. */
static bool move_one(struct ns_thread *thread, const char *key, size_t arena)
{
	struct ns_store *store = thread->store;
	uint32_t now_s = ns_store_now_s(store);
	const struct ns_object *object = ns_store_peek(thread, key, KEY_LEN, now_s);
	struct ns_room room = { .arena = arena, .offset = NS_NO_HEAD };

	if (object == NULL)
		return false;
	if (ns_move_may(thread, object, now_s))
		room.offset =
			ns_room_take_free(&store->arenas[arena], ns_head_bytes(store, object));
	if (room.offset != NS_NO_HEAD)
		return ns_move_to(thread, ns_object_own(object), &room, now_s);
	ns_object_unpin(thread, object);
	return false;
}

static void *move_around(void *data)
{
	struct movers *movers = data;
	struct made *made = movers->made;
	struct ns_thread *thread = ns_thread_join(made->store, 1);
	char key[KEY_LEN];

	for (uint32_t i = 0; !__atomic_load_n(&movers->is_over, __ATOMIC_RELAXED); i++) {
		make_key(key, i * 7 % KEYS);
		if (move_one(thread, key, i % made->arena_count))
			movers->moved++;
		ns_thread_rest(thread);
	}
	ns_thread_leave(thread);
	return NULL;
}

static void begin_moving(struct movers *movers, struct made *made)
{
	*movers = (struct movers){ .made = made };
	assert_number(pthread_create(&movers->threads[0], NULL, promote, movers), 0);
	assert_number(pthread_create(&movers->threads[1], NULL, move_around, movers), 0);
}

static void end_moving(struct movers *movers)
{
	__atomic_store_n(&movers->is_over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(movers->threads[i], NULL);
	assert_true(movers->moved > 0);
}

static void run(struct made *made, struct worker workers[THREADS], bool promotes)
{
	pthread_t threads[THREADS];
	struct movers movers;

	if (promotes)
		begin_moving(&movers, made);
	for (int i = 0; i < THREADS; i++) {
		workers[i].made = made;
		workers[i].random = 0x9e3779b9u + (unsigned)i;
		workers[i].promotes = promotes;
		assert_number(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (promotes)
		end_moving(&movers);
}

/* All that is left is in the index, and nothing is held by anybody. */
static void check_the_rest(struct made *made)
{
	struct ns_counts counts;
	uint64_t objects = 0;

	ns_thread_rest(made->thread);
	for (size_t i = 0; i < made->arena_count; i++) {
		struct ns_arena_counts arena = ns_store_arena(made->store, i);

		assert_number(arena.heads.heads, arena.objects);
		objects += arena.objects;
	}
	counts = made_counts(made);
	assert_number(objects, counts.objects);

	ns_store_flush(made->store, made->now_s);
	while (ns_store_sweep(made->thread, ns_store_now_s(made->store), 1000))
		;
	ns_thread_rest(made->thread);
	counts = made_counts(made);
	assert_number(counts.objects, 0);
	assert_number(counts.object_bytes, 0);
	for (size_t i = 0; i < made->arena_count; i++)
		assert_number(ns_store_arena(made->store, i).heads.taken_bytes, 0);
}

static void no_thread_ever_sees_a_wrong_byte(void **state)
{
	static const struct ns_place_rule rule = { "0000001", NS_PLACE_FAR, 0 };
	static const struct {
		size_t arenas;
		size_t blocks;
		uint64_t objects_max;
		bool no_evict;
		bool stores_full;
		bool promotes;
	} cases[] = {
		{ 3, 16, 0, false, false, false }, /* room for all */
		{ 1, 1, 0, false, false, false },  /* for few: all the time somebody goes */
		{ 2, 1, 0, true, false, false },   /* for few, and nobody may go */
		{ 2, 2, 50, false, false, false }, /* for few objects */
		{ 1, 2, 0, false, true, false }, /* for few: all the time blocks change their kind */
		{ 2, 3, 0, false, true, false },
		{ 3, 16, 0, false, false, true }, /* heads move meanwhile */
		{ 2, 2, 0, false, false, true },
		{ 2, 2, 0, true, false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made made = made_default(cases[i].arenas, cases[i].blocks);
		struct worker workers[THREADS] = { 0 };

		for (int j = 0; j < THREADS; j++)
			workers[j].stores_full = cases[i].stores_full;
		check_case("%zu arenas of %zu blocks", cases[i].arenas, cases[i].blocks);
		made.config.objects_max = cases[i].objects_max;
		made.config.no_evict = cases[i].no_evict;
		made.config.increment = cases[i].promotes ? 1 : 0;
		made.config.decay = 0.5;
		made.config.rules = &rule;
		made.config.rule_count = 1;
		made_create(&made);
		ns_thread_go(made.thread);
		run(&made, workers, cases[i].promotes);
		ns_thread_come(made.thread);
		for (int j = 0; j < THREADS; j++) {
			assert_number(workers[j].wrong, 0);
			assert_number(workers[j].failed, 0);
			assert_true(workers[j].hits > 0);
		}
		check_the_rest(&made);
		made_destroy(&made);
	}
}

/* ---- what is changed in place must outlast who makes a new one of it ---- */

enum { TOUCHES = 5000, LATER_S = 1000 };

struct counter {
	struct made *made;
	uint64_t rounds; /* atomic */
	bool is_over;    /* atomic */
	bool appends;
};

static void *count_until_over(void *data)
{
	struct counter *counter = data;
	struct ns_thread *thread = ns_thread_join(counter->made->store, 1);
	uint64_t number;
	uint64_t cas;

	while (!__atomic_load_n(&counter->is_over, __ATOMIC_RELAXED)) {
		if (counter->appends)
			(void)ns_store_extend(thread, "n", 1, "", 0, false, 0, &cas, NULL);
		else
			(void)ns_store_add_number(thread, "n", 1, 1, false, 0, &number, &cas, NULL);
		(void)__atomic_fetch_add(&counter->rounds, 1, __ATOMIC_RELEASE);
		ns_thread_rest(thread);
	}
	ns_thread_leave(thread);
	return NULL;
}

/* What was under way is linked by then. */
static const struct ns_object *peek_after_round(struct counter *counter)
{
	struct made *made = counter->made;
	uint64_t rounds = __atomic_load_n(&counter->rounds, __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&counter->rounds, __ATOMIC_ACQUIRE) == rounds)
		sched_yield();
	return ns_store_peek(made->thread, "n", 1, made->now_s);
}

/* Its time is the one it was given, and it is stale once it was made so. */
static unsigned count_lost(struct counter *counter, uint32_t turn)
{
	struct made *made = counter->made;
	uint32_t expires_s = made->now_s + LATER_S + turn;
	const struct ns_object *object;
	unsigned lost = 0;

	(void)ns_store_touch(made->thread, "n", 1, expires_s);
	object = peek_after_round(counter);
	lost += __atomic_load_n(&object->expires_s, __ATOMIC_RELAXED) != expires_s;
	ns_object_unpin(made->thread, object);
	if (counter->appends)
		return lost;
	(void)ns_store_invalidate(made->thread, "n", 1, 0, UINT32_MAX);
	object = peek_after_round(counter);
	lost += (ns_object_mark(object, 0, 0) & NS_MARK_STALE) == 0;
	ns_object_unpin(made->thread, object);
	(void)made_store(made, "n", "0", NS_SET, 0);
	return lost;
}

static void no_touch_or_invalidation_is_lost(void **state)
{
	(void)state;
	for (int appends = 0; appends < 2; appends++) {
		struct made made = made_default(1, 16);
		struct counter counter = { .made = &made, .appends = appends != 0 };
		unsigned lost = 0;
		pthread_t thread;

		check_case(appends ? "append" : "incr");
		made_create(&made);
		made_set(&made, "n", "0");
		assert_number(pthread_create(&thread, NULL, count_until_over, &counter), 0);
		for (uint32_t i = 0; i < TOUCHES; i++) {
			lost += count_lost(&counter, i);
			ns_thread_rest(made.thread);
		}
		__atomic_store_n(&counter.is_over, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		assert_number(lost, 0);
		made_destroy(&made);
	}
}

/* ---- numbers: what is added must all be there ---- */

enum { ADDITIONS = 3000 };

static void *count_up(void *data)
{
	struct made *made = data;
	struct ns_thread *thread = ns_thread_join(made->store, 1);
	struct np_error err;
	uint64_t number;
	uint64_t cas;
	bool is_right = true;

	for (int i = 0; i < ADDITIONS; i++) {
		if (ns_store_add_number(thread, "n", 1, 3, false, 0, &number, &cas, &err) < 0)
			is_right = false;
		if (i % 16 == 0)
			ns_thread_rest(thread);
	}
	ns_thread_leave(thread);
	return is_right ? made : NULL;
}

static void no_addition_is_lost(void **state)
{
	struct made made = made_default(1, 16);
	pthread_t threads[THREADS];
	char wanted[32];

	(void)state;
	made_create(&made);
	made_set(&made, "n", "0");
	ns_thread_go(made.thread);
	for (int i = 0; i < THREADS; i++)
		assert_number(pthread_create(&threads[i], NULL, count_up, &made), 0);
	for (int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		assert_ptr_equal(result, &made);
	}
	ns_thread_come(made.thread);
	(void)snprintf(wanted, sizeof(wanted), "%d", 3 * ADDITIONS * THREADS);
	assert_text(made_value(&made, "n"), wanted);
	made_destroy(&made);
}

/* ---- a key that is always there is always found ---- */

enum { OVERWRITES = 20000 };

struct always {
	struct made *made;
	bool is_over;    /* atomic */
	unsigned misses; /* atomic */
	unsigned steps_back;
};

static void *read_always(void *data)
{
	struct always *always = data;
	struct ns_thread *thread = ns_thread_join(always->made->store, 1);
	uint64_t last = 0;

	while (!__atomic_load_n(&always->is_over, __ATOMIC_RELAXED)) {
		const struct ns_object *object =
			ns_store_get(thread, "key", 3, always->made->now_s);

		if (object == NULL) {
			__atomic_fetch_add(&always->misses, 1, __ATOMIC_RELAXED);
			continue;
		}
		if (ns_object_cas(object) < last)
			__atomic_fetch_add(&always->steps_back, 1, __ATOMIC_RELAXED);
		last = ns_object_cas(object);
		ns_object_unpin(thread, object);
		ns_thread_rest(thread);
	}
	ns_thread_leave(thread);
	return NULL;
}

static void a_key_that_is_overwritten_is_never_missing(void **state)
{
	struct made made = made_default(1, 16);
	struct always always = { .made = &made };
	pthread_t threads[THREADS];

	(void)state;
	made_create(&made);
	made_set(&made, "key", "v");
	for (int i = 0; i < THREADS; i++)
		assert_number(pthread_create(&threads[i], NULL, read_always, &always), 0);
	for (int i = 0; i < OVERWRITES; i++) {
		made_set(&made, "key", "v");
		ns_thread_rest(made.thread);
	}
	__atomic_store_n(&always.is_over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_number(always.misses, 0);
	assert_number(always.steps_back, 0);
	made_destroy(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_thread_ever_sees_a_wrong_byte),
		cmocka_unit_test(no_touch_or_invalidation_is_lost),
		cmocka_unit_test(no_addition_is_lost),
		cmocka_unit_test(a_key_that_is_overwritten_is_never_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
