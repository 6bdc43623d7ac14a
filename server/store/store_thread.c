/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that use the store, and the objects that they saw die. An object's memory is used again once no
 * thread can be in the middle of it: the dead of a turn are stamped together when their thread rests.
 */
#include "store_parts.h"

#include <stdlib.h>
#include <string.h>

void ns_dead_list_add(struct ns_dead_list *list, struct ns_object *object)
{
	object->fifo.next = NULL;
	if (list->first == NULL)
		list->first = object;
	else
		list->last->fifo.next = object;
	list->last = object;
}

static void append(struct ns_dead_list *to, struct ns_dead_list *from)
{
	if (from->first == NULL)
		return;
	if (to->first == NULL)
		to->first = from->first;
	else
		to->last->fifo.next = from->first;
	to->last = from->last;
	*from = (struct ns_dead_list){ 0 };
}

static void stamp(struct ns_thread *thread)
{
	uint64_t now;

	if (thread->dead.first == NULL)
		return;
	now = ns_epoch_stamp(thread->store->epochs);
	for (struct ns_object *object = thread->dead.first; object != NULL;
	     object = object->fifo.next)
		object->cas = now;
	append(&thread->stamped, &thread->dead);
}

void ns_object_free(struct ns_store *store, struct ns_object *object)
{
	ns_store_type_give(store, object->type);
	ns_object_give(store->memory, object, object->key_len);
}

/* Those of one stamp stand together: the epochs are asked once for each. */
static void free_past(struct ns_store *store, struct ns_dead_list *list)
{
	uint64_t past = 0;

	while (list->first != NULL) {
		struct ns_object *object = list->first;

		if (object->cas != past && !ns_epoch_is_past(store->epochs, object->cas))
			return;
		past = object->cas;
		list->first = object->fifo.next;
		ns_object_free(store, object);
	}
}

/* For others to free. Stamps in the list can be out of order then: an older one waits for a younger. */
static void leave_orphans(struct ns_thread *thread)
{
	struct ns_store *store = thread->store;

	if (thread->stamped.first == NULL)
		return;
	pthread_mutex_lock(&store->lock);
	append(&store->orphans, &thread->stamped);
	__atomic_store_n(&store->has_orphans, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&store->lock);
}

static void free_orphans(struct ns_store *store)
{
	if (!__atomic_load_n(&store->has_orphans, __ATOMIC_RELAXED) ||
	    pthread_mutex_trylock(&store->lock) != 0)
		return;
	free_past(store, &store->orphans);
	__atomic_store_n(&store->has_orphans, store->orphans.first != NULL, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&store->lock);
}

/* One that left, of the same node, whose counters go on; else a new one. */
static struct ns_thread *get_thread(struct ns_store *store, unsigned node)
{
	struct ns_thread *thread;
	size_t size;

	for (thread = __atomic_load_n(&store->threads, __ATOMIC_ACQUIRE); thread != NULL;
	     thread = thread->next) {
		uint32_t is_taken = 0;

		if (thread->node == node &&
		    __atomic_compare_exchange_n(&thread->is_taken, &is_taken, 1, false,
		                                __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return thread;
	}
	size = sizeof(*thread) + 2 * store->arena_count * sizeof(thread->served[0]);
	size = (size + alignof(struct ns_thread) - 1) / alignof(struct ns_thread) *
	       alignof(struct ns_thread);
	thread = aligned_alloc(alignof(struct ns_thread), size);
	if (thread == NULL)
		return NULL;
	memset(thread, 0, size);
	thread->store = store;
	thread->node = node;
	thread->is_taken = 1;
	thread->local_arena = (unsigned)ns_store_arena_of_node(store, node);
	pthread_mutex_lock(&store->lock);
	thread->next = store->threads;
	__atomic_store_n(&store->threads, thread, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&store->lock);
	return thread;
}

struct ns_thread *ns_thread_join(struct ns_store *store, unsigned node)
{
	int place = ns_epoch_join(store->epochs);
	struct ns_thread *thread;

	if (place < 0)
		return NULL;
	thread = get_thread(store, node);
	if (thread == NULL) {
		ns_epoch_leave(store->epochs, place);
		return NULL;
	}
	thread->place = place;
	return thread;
}

void ns_thread_leave(struct ns_thread *thread)
{
	struct ns_store *store = thread->store;

	ns_thread_rest(thread);
	leave_orphans(thread);
	ns_epoch_leave(store->epochs, thread->place);
	__atomic_store_n(&thread->is_taken, 0, __ATOMIC_RELEASE);
}

void ns_thread_rest(struct ns_thread *thread)
{
	struct ns_store *store = thread->store;

	if (thread->expired_count > 0) {
		uint32_t now_s = ns_store_now_s(store);

		for (unsigned i = 0; i < thread->expired_count; i++)
			ns_store_sweep_hash(thread, thread->expired[i], now_s);
		thread->expired_count = 0;
	}
	if (__atomic_load_n(&store->dead, __ATOMIC_RELAXED) != NULL)
		(void)ns_store_bury(thread);
	stamp(thread);
	ns_epoch_quiesce(store->epochs, thread->place);
	free_past(store, &thread->stamped);
	free_orphans(store);
}

void ns_thread_go(struct ns_thread *thread)
{
	stamp(thread);
	ns_epoch_go(thread->store->epochs, thread->place);
	free_past(thread->store, &thread->stamped);
	leave_orphans(thread);
}

void ns_thread_come(struct ns_thread *thread)
{
	ns_epoch_come(thread->store->epochs, thread->place);
}
