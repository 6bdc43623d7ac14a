/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two queues, counted in bytes as a tenth of them is the small one's share; and who went, as
 * fingerprints with the time they went at. Time is counted in goings. A bucket that is full forgets
 * the one longest gone.
 *
 * Objects with tails stand in a queue of their own, so that one of them is found when it is a pool that is
 * full: first in, first out, and who was read goes round once more. Of room for heads they give as large a
 * share as they have of it.
 */
#include "store.h"

#include <assert.h>
#include <stdlib.h>

/* ns_fifo_link.queue */
enum { IN_NONE, IN_SMALL, IN_MAIN, IN_TAILS, QUEUE_COUNT };

enum {
	GHOSTS_A_BUCKET = 8,
	GHOSTS_MAX = 1 << 26, /* half a GiB, once all of it was in use */
	LINK_UNIT = 64,       /* of ns_fifo_link.bytes */
	SMALL_SHARE = 10,
	READS_TO_STAY = 2, /* in the small queue: more than one, as in the paper */
	/* Who is passed over in one call, so that a main queue of favourites holds nobody up. */
	PASSES_MAX = 256,
};

struct ghost {
	uint32_t fingerprint;
	uint32_t gone_at; /* 0 = none */
};

struct queue {
	struct ns_object *newest;
	struct ns_object *oldest;
	uint64_t units;
	uint64_t count;
};

struct ns_fifo {
	struct queue queues[QUEUE_COUNT];
	uint64_t small_units;
	uint64_t main_units;
	uint64_t tail_turn; /* in units: at that of all queues, one with a tail goes */
	struct ghost *ghosts;
	uint32_t bucket_count;
	uint32_t gone; /* who went so far; wraps */
};

struct ns_fifo *ns_fifo_create(uint64_t bytes, size_t objects)
{
	struct ns_fifo *fifo = calloc(1, sizeof(*fifo));
	size_t ghosts = objects < GHOSTS_MAX ? objects : GHOSTS_MAX;

	if (fifo == NULL)
		return NULL;
	fifo->small_units = bytes / SMALL_SHARE / LINK_UNIT;
	fifo->main_units = bytes / LINK_UNIT - fifo->small_units;
	fifo->bucket_count = (uint32_t)(ghosts / GHOSTS_A_BUCKET);
	if (fifo->bucket_count == 0)
		fifo->bucket_count = 1;
	/* The kernel gives its pages only when somebody goes. */
	fifo->ghosts = calloc(fifo->bucket_count, GHOSTS_A_BUCKET * sizeof(*fifo->ghosts));
	if (fifo->ghosts != NULL)
		return fifo;
	free(fifo);
	return NULL;
}

void ns_fifo_free(struct ns_fifo *fifo)
{
	if (fifo == NULL)
		return;
	free(fifo->ghosts);
	free(fifo);
}

/* ---- who went ---- */

static struct ghost *bucket_of(const struct ns_fifo *fifo, uint64_t hash)
{
	uint64_t bucket = (hash >> 32) * fifo->bucket_count >> 32;

	return &fifo->ghosts[bucket * GHOSTS_A_BUCKET];
}

/* How many went since then. */
static uint32_t age_of(const struct ns_fifo *fifo, const struct ghost *ghost)
{
	return ghost->gone_at == 0 ? UINT32_MAX : fifo->gone - ghost->gone_at;
}

static void remember(struct ns_fifo *fifo, uint64_t hash)
{
	struct ghost *bucket = bucket_of(fifo, hash);
	struct ghost *longest = bucket;

	for (unsigned i = 1; i < GHOSTS_A_BUCKET; i++)
		if (age_of(fifo, &bucket[i]) > age_of(fifo, longest))
			longest = &bucket[i];
	if (++fifo->gone == 0)
		fifo->gone = 1;
	*longest = (struct ghost){ .fingerprint = (uint32_t)hash, .gone_at = fifo->gone };
}

/*
 * As many are remembered as the main queue has objects; before it has filled up, as many as it will
 * have if they are like those there are now, else nobody would be remembered at first.
 */
static uint64_t memory_of(const struct ns_fifo *fifo)
{
	uint64_t in_main = fifo->queues[IN_MAIN].count;
	uint64_t all = in_main + fifo->queues[IN_SMALL].count;
	uint64_t share = all - all / SMALL_SHARE;

	return share > in_main ? share : in_main;
}

/* Whether it went not long ago; it is not asked for a second time. */
static bool recall(struct ns_fifo *fifo, uint64_t hash)
{
	struct ghost *bucket = bucket_of(fifo, hash);
	uint32_t age;

	for (unsigned i = 0; i < GHOSTS_A_BUCKET; i++) {
		struct ghost *ghost = &bucket[i];

		if (ghost->gone_at == 0 || ghost->fingerprint != (uint32_t)hash)
			continue;
		age = age_of(fifo, ghost);
		ghost->gone_at = 0;
		return age < memory_of(fifo);
	}
	return false;
}

/* ---- queues ---- */

static void enqueue(struct ns_fifo *fifo, struct ns_object *object, uint8_t which)
{
	struct queue *queue = &fifo->queues[which];
	struct ns_fifo_link *link = &object->fifo;

	link->queue = which;
	link->previous = NULL;
	link->next = queue->newest; /* who is older */
	if (link->next != NULL)
		link->next->fifo.previous = object;
	else
		queue->oldest = object;
	queue->newest = object;
	queue->units += link->bytes;
	queue->count++;
}

/* The link's neighbours, or the queue's ends, come to point to these instead. */
static void point(struct queue *queue, const struct ns_fifo_link *link, struct ns_object *older,
                  struct ns_object *newer)
{
	if (link->previous != NULL)
		link->previous->fifo.next = older;
	else
		queue->newest = older;
	if (link->next != NULL)
		link->next->fifo.previous = newer;
	else
		queue->oldest = newer;
}

static void dequeue(struct ns_fifo *fifo, struct ns_object *object)
{
	struct ns_fifo_link *link = &object->fifo;
	struct queue *queue = &fifo->queues[link->queue];

	assert(link->queue != IN_NONE);
	assert(queue->count > 0 && queue->units >= link->bytes);
	point(queue, link, link->next, link->previous);
	queue->units -= link->bytes;
	queue->count--;
	link->queue = IN_NONE;
}

void ns_fifo_add(struct ns_fifo *fifo, struct ns_object *object, uint64_t hash)
{
	assert(object->fifo.queue == IN_NONE);
	if (object->tail != 0)
		enqueue(fifo, object, IN_TAILS);
	else
		enqueue(fifo, object, recall(fifo, hash) ? IN_MAIN : IN_SMALL);
}

void ns_fifo_remove(struct ns_fifo *fifo, struct ns_object *object)
{
	dequeue(fifo, object);
}

void ns_fifo_replace(struct ns_fifo *fifo, struct ns_object *from, struct ns_object *to)
{
	struct queue *queue = &fifo->queues[from->fifo.queue];
	struct ns_fifo_link *link = &to->fifo;

	assert(from->fifo.queue != IN_NONE && link->queue == IN_NONE);
	link->next = from->fifo.next;
	link->previous = from->fifo.previous;
	link->queue = from->fifo.queue;
	__atomic_store_n(&link->reads, __atomic_load_n(&from->fifo.reads, __ATOMIC_RELAXED),
	                 __ATOMIC_RELAXED);
	point(queue, link, to, to);
	queue->units += link->bytes;
	queue->units -= from->fifo.bytes;
	from->fifo.queue = IN_NONE;
}

/* ---- who goes ---- */

static uint8_t reads_of(const struct ns_object *object)
{
	return __atomic_load_n(&object->fifo.reads, __ATOMIC_RELAXED);
}

static void move(struct ns_fifo *fifo, struct ns_object *object, uint8_t which, uint8_t reads)
{
	dequeue(fifo, object);
	__atomic_store_n(&object->fifo.reads, reads, __ATOMIC_RELAXED);
	enqueue(fifo, object, which);
}

/* The small queue's oldest goes, or has been read and stays in the main one: NULL. */
static struct ns_object *evict_small(struct ns_fifo *fifo, bool may_pass)
{
	struct ns_object *object = fifo->queues[IN_SMALL].oldest;

	if (may_pass && reads_of(object) >= READS_TO_STAY) {
		move(fifo, object, IN_MAIN, 0);
		return NULL;
	}
	dequeue(fifo, object);
	remember(fifo, object->hash);
	return object;
}

/* The oldest of the main queue, or of that of tails, goes, or has been read and goes round once more: NULL. */
static struct ns_object *evict_round(struct ns_fifo *fifo, uint8_t which, bool may_pass)
{
	struct ns_object *object = fifo->queues[which].oldest;
	uint8_t reads = reads_of(object);

	if (may_pass && reads > 0) {
		move(fifo, object, which, (uint8_t)(reads - 1));
		return NULL;
	}
	dequeue(fifo, object);
	return object;
}

struct ns_object *ns_fifo_evict_tail(struct ns_fifo *fifo)
{
	struct ns_object *object = NULL;

	for (unsigned passes = 0; object == NULL && fifo->queues[IN_TAILS].count > 0; passes++)
		object = evict_round(fifo, IN_TAILS, passes < PASSES_MAX);
	return object;
}

static bool is_turn_of_tails(struct ns_fifo *fifo)
{
	uint64_t units = fifo->queues[IN_TAILS].units;
	uint64_t all = units + fifo->queues[IN_SMALL].units + fifo->queues[IN_MAIN].units;

	fifo->tail_turn += units;
	if (units == 0 || fifo->tail_turn < all)
		return false;
	fifo->tail_turn %= all;
	return true;
}

struct ns_object *ns_fifo_evict(struct ns_fifo *fifo)
{
	const struct queue *in_small = &fifo->queues[IN_SMALL];
	const struct queue *in_main = &fifo->queues[IN_MAIN];
	struct ns_object *object = NULL;

	if (is_turn_of_tails(fifo))
		return ns_fifo_evict_tail(fifo);
	for (unsigned passes = 0; object == NULL && in_small->count + in_main->count > 0;
	     passes++) {
		bool is_small_over = in_small->units >= fifo->small_units;
		bool is_main_over = in_main->units > fifo->main_units;

		if (in_main->count == 0 || (in_small->count > 0 && is_small_over && !is_main_over))
			object = evict_small(fifo, passes < PASSES_MAX);
		else
			object = evict_round(fifo, IN_MAIN, passes < PASSES_MAX);
	}
	return object;
}
