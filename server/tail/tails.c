/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of tails. One lock for it and for the space of all pools, which nobody holds while the kernel works;
 * a file that has to grow has a lock of its own.
 */
#include "tails_parts.h"

#include "../../probe/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

struct ns_tails {
	struct ns_pool *pools;
	size_t pool_count;
	pthread_mutex_t lock;
	struct ns_tail **list; /* by number - 1 */
	size_t count;
	uint32_t *unused; /* numbers; room for all of them */
	size_t unused_count;
};

/* ---- opening ---- */

int ns_tails_open(const char *const *paths, size_t count, struct ns_tails **ret,
                  struct np_error *err)
{
	struct ns_tails *tails = calloc(1, sizeof(*tails));
	int rc = 0;

	if (!tails)
		return np_error_sys(err, ENOMEM, "pools");
	pthread_mutex_init(&tails->lock, NULL);
	tails->pools = calloc(count, sizeof(*tails->pools));
	if (!tails->pools)
		rc = np_error_sys(err, ENOMEM, "pools");
	for (size_t i = 0; i < count && rc == 0; i++) {
		rc = ns_pool_open(paths[i], &tails->pools[i], err);
		tails->pool_count += rc == 0;
	}
	if (rc < 0)
		ns_tails_close(tails);
	else
		*ret = tails;
	return rc;
}

static void free_tail(struct ns_tail *tail)
{
	if (tail)
		free(tail->sums);
	free(tail);
}

void ns_tails_close(struct ns_tails *tails)
{
	if (!tails)
		return;
	for (size_t i = 0; i < tails->count; i++)
		free_tail(tails->list[i]);
	for (size_t i = 0; i < tails->pool_count; i++)
		ns_pool_close(&tails->pools[i]);
	pthread_mutex_destroy(&tails->lock);
	free(tails->pools);
	free(tails->list);
	free(tails->unused);
	free(tails);
}

/* ---- pools ---- */

size_t ns_tails_pool_count(const struct ns_tails *tails)
{
	return tails->pool_count;
}

static uint64_t get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

struct ns_pool_state ns_tails_pool(const struct ns_tails *tails, size_t pool)
{
	const struct ns_pool *found = &tails->pools[pool];
	pthread_mutex_t *lock = &((struct ns_tails *)tails)->lock;
	struct ns_pool_state state = {
		.path = found->path,
		.reads = get(&found->reads),
		.writes = get(&found->writes),
		.read_bytes = get(&found->read_bytes),
		.written_bytes = get(&found->written_bytes),
		.errors = get(&found->errors),
		.damaged = get(&found->damaged),
		.is_direct = found->is_direct,
		.is_retired = ns_pool_is_retired(found),
	};
	uint64_t count;
	uint64_t unused;

	pthread_mutex_lock(lock);
	count = ns_units_count(found->units);
	unused = ns_units_free_count(found->units);
	pthread_mutex_unlock(lock);
	state.file_bytes = count * NS_TAIL_UNIT_BYTES;
	state.used_bytes = (count - unused) * NS_TAIL_UNIT_BYTES;
	return state;
}

static uint32_t unused_units(struct ns_tails *tails, const struct ns_pool *pool)
{
	uint32_t count;

	pthread_mutex_lock(&tails->lock);
	count = ns_units_free_count(pool->units);
	pthread_mutex_unlock(&tails->lock);
	return count;
}

/* With the pool's lock of growing: by a step, or where that is too much by what is needed. */
static int grow(struct ns_tails *tails, struct ns_pool *pool, uint32_t needed)
{
	uint32_t before = ns_units_count(pool->units);
	uint32_t step = needed > NS_POOL_GROW_UNITS ? needed : NS_POOL_GROW_UNITS;
	int rc;

	if (needed > NS_POOL_UNITS_MAX - before)
		return -ENOSPC;
	if (step > NS_POOL_UNITS_MAX - before)
		step = needed;
	rc = ns_pool_extend(pool, before + step);
	if (rc == -ENOSPC && step > needed) {
		step = needed;
		rc = ns_pool_extend(pool, before + step);
	}
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&tails->lock);
	rc = ns_units_grow(pool->units, before + step);
	pthread_mutex_unlock(&tails->lock);
	return rc;
}

static bool take_now(struct ns_tails *tails, struct ns_pool *pool, struct ns_tail *tail)
{
	bool is_taken;

	pthread_mutex_lock(&tails->lock);
	is_taken = ns_units_take(pool->units, tail->count, tail->units);
	pthread_mutex_unlock(&tails->lock);
	return is_taken;
}

static int take_space(struct ns_tails *tails, struct ns_pool *pool, struct ns_tail *tail)
{
	int rc = 0;

	if (take_now(tails, pool, tail))
		return 0;
	pthread_mutex_lock(&pool->growing);
	/* Others take what was made; and who waited for the lock may find enough by now. */
	while (rc == 0 && !take_now(tails, pool, tail)) {
		uint32_t there = unused_units(tails, pool);

		if (there < tail->count)
			rc = grow(tails, pool, tail->count - there);
	}
	pthread_mutex_unlock(&pool->growing);
	return rc;
}

/* That has the most space, of those not tried yet; NULL: none */
static struct ns_pool *best_pool(struct ns_tails *tails, const bool *tried)
{
	struct ns_pool *best = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < tails->pool_count; i++) {
		struct ns_pool *pool = &tails->pools[i];
		uint64_t room;

		if (tried[i] || ns_pool_is_retired(pool))
			continue;
		room = (uint64_t)unused_units(tails, pool) * NS_TAIL_UNIT_BYTES;
		if (tails->pool_count > 1)
			room += ns_pool_room_bytes(pool);
		if (!best || room > most) {
			best = pool;
			most = room;
		}
	}
	return best;
}

static int place(struct ns_tails *tails, struct ns_tail *tail)
{
	bool *tried = calloc(tails->pool_count, sizeof(*tried));
	struct ns_pool *pool;
	int rc = -EIO;

	if (!tried)
		return -ENOMEM;
	while ((pool = best_pool(tails, tried)) != NULL) {
		int fault = take_space(tails, pool, tail);

		tail->pool = pool;
		tried[pool - tails->pools] = true;
		/* That there was no room is what the caller can do something about. */
		if (fault == 0 || rc != -ENOSPC)
			rc = fault;
		if (fault == 0)
			break;
	}
	free(tried);
	return rc;
}

/* ---- numbers ---- */

/* With the lock. 0, or -ENOMEM */
static int add_number(struct ns_tails *tails, struct ns_tail *tail, uint32_t *ret)
{
	void *list = tails->list;
	void *unused = tails->unused;
	int rc;

	if (tails->unused_count > 0) {
		*ret = tails->unused[--tails->unused_count];
		tails->list[*ret - 1] = tail;
		return 0;
	}
	if (tails->count >= UINT32_MAX - 1)
		return -ENOMEM;
	rc = np_array_grow(&list, tails->count, sizeof(void *));
	tails->list = list;
	if (rc == 0)
		rc = np_array_grow(&unused, tails->count, sizeof(tails->unused[0]));
	tails->unused = unused;
	if (rc < 0)
		return rc;
	tails->list[tails->count++] = tail;
	*ret = (uint32_t)tails->count;
	return 0;
}

static struct ns_tail *make_tail(uint64_t bytes)
{
	uint32_t count = (uint32_t)((bytes + NS_TAIL_UNIT_BYTES - 1) / NS_TAIL_UNIT_BYTES);
	struct ns_tail *tail = calloc(1, sizeof(*tail) + count * sizeof(tail->units[0]));

	if (!tail)
		return NULL;
	tail->bytes = bytes;
	tail->count = count;
	tail->pins = 1;
	tail->sums = calloc(count, sizeof(*tail->sums));
	if (tail->sums)
		return tail;
	free(tail);
	return NULL;
}

static int say(int rc, uint64_t bytes, struct np_error *err)
{
	if (rc == -ENOSPC)
		return np_error_set(err, ENOSPC, "no pool has room for %llu bytes",
		                    (unsigned long long)bytes);
	if (rc == -EIO)
		return np_error_set(err, EIO, "no pool is in use any more, after errors");
	return np_error_sys(err, -rc, "space for %llu bytes in a pool", (unsigned long long)bytes);
}

int ns_tail_take(struct ns_tails *tails, uint64_t bytes, uint32_t *ret, struct np_error *err)
{
	struct ns_tail *tail;
	int rc;

	if (bytes == 0 || bytes > (uint64_t)NS_POOL_UNITS_MAX * NS_TAIL_UNIT_BYTES)
		return say(-ENOSPC, bytes, err);
	tail = make_tail(bytes);
	if (!tail)
		return say(-ENOMEM, bytes, err);
	rc = place(tails, tail);
	if (rc < 0) {
		free_tail(tail);
		return say(rc, bytes, err);
	}
	pthread_mutex_lock(&tails->lock);
	rc = add_number(tails, tail, ret);
	if (rc < 0)
		ns_units_give(tail->pool->units, tail->count, tail->units);
	pthread_mutex_unlock(&tails->lock);
	if (rc < 0) {
		free_tail(tail);
		return say(rc, bytes, err);
	}
	return 0;
}

struct ns_tail *ns_tail_hold(struct ns_tails *tails, uint32_t tail)
{
	struct ns_tail *held;

	pthread_mutex_lock(&tails->lock);
	held = tails->list[tail - 1];
	held->pins++;
	pthread_mutex_unlock(&tails->lock);
	return held;
}

void ns_tail_pin(struct ns_tails *tails, uint32_t tail)
{
	(void)ns_tail_hold(tails, tail);
}

void ns_tail_release(struct ns_tails *tails, uint32_t tail)
{
	struct ns_tail *held;

	pthread_mutex_lock(&tails->lock);
	held = tails->list[tail - 1];
	if (--held->pins > 0) {
		held = NULL;
	} else {
		ns_units_give(held->pool->units, held->count, held->units);
		tails->list[tail - 1] = NULL;
		tails->unused[tails->unused_count++] = tail;
	}
	pthread_mutex_unlock(&tails->lock);
	free_tail(held);
}

void ns_tail_unpin(struct ns_tails *tails, uint32_t tail)
{
	ns_tail_release(tails, tail);
}

/* ---- units ---- */

struct ns_tail_run ns_tail_run_at(const struct ns_tail *tail, uint32_t unit, uint32_t most)
{
	uint32_t count = 1;

	while (count < most && unit + count < tail->count &&
	       tail->units[unit + count] == tail->units[unit] + count)
		count++;
	return (struct ns_tail_run){
		.units = count,
		.offset = (uint64_t)tail->units[unit] * NS_TAIL_UNIT_BYTES,
		.bytes = (uint64_t)count * NS_TAIL_UNIT_BYTES,
	};
}

uint32_t ns_tail_unit_bytes(const struct ns_tail *tail, uint32_t unit)
{
	uint64_t left = tail->bytes - (uint64_t)unit * NS_TAIL_UNIT_BYTES;

	return left < NS_TAIL_UNIT_BYTES ? (uint32_t)left : NS_TAIL_UNIT_BYTES;
}

void ns_tail_seal(struct ns_tail *tail, uint32_t unit, uint32_t count, char *bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		char *from = bytes + (size_t)i * NS_TAIL_UNIT_BYTES;
		uint32_t used = ns_tail_unit_bytes(tail, unit + i);

		memset(from + used, 0, NS_TAIL_UNIT_BYTES - used);
		tail->sums[unit + i] = XXH3_64bits(from, used);
	}
}

int ns_tail_check(struct ns_tail *tail, uint32_t unit, uint32_t count, const char *bytes, int rc)
{
	uint32_t damaged = 0;

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		const char *from = bytes + (size_t)i * NS_TAIL_UNIT_BYTES;
		uint32_t used = ns_tail_unit_bytes(tail, unit + i);

		damaged += XXH3_64bits(from, used) != tail->sums[unit + i];
	}
	if (damaged > 0)
		ns_pool_count_damage(tail->pool, damaged);
	else
		ns_pool_count(tail->pool, false, (uint64_t)count * NS_TAIL_UNIT_BYTES, rc);
	return rc < 0 || damaged > 0 ? -EIO : 0;
}
