/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects whose tail turned out to be lost or damaged. */
#include "store_parts.h"

#include <errno.h>

struct ns_tails *ns_store_tails(const struct ns_store *store)
{
	return store->tails;
}

int ns_store_last_loss(const struct ns_store *store)
{
	return __atomic_load_n(&store->last_loss, __ATOMIC_RELAXED);
}

/* A promotion puts another one with the same tail in its place. The caller's pin keeps the number its own. */
void ns_store_lose(struct ns_thread *thread, const struct ns_object *object, int rc)
{
	struct ns_index *index = thread->store->index;
	struct ns_slot slot;
	bool goes;

	ns_index_lock(index, object->hash);
	slot = ns_index_look(index, object->hash, object->key, object->key_len);
	goes = slot.object != NULL && slot.object->tail == object->tail;
	if (goes)
		ns_object_unlink(thread, slot);
	ns_index_unlock(index, object->hash);
	if (!goes)
		return;
	ns_object_retire(thread, slot.object);
	ns_counter_add(&thread->counts.tails_lost, 1);
	__atomic_store_n(&thread->store->last_loss, rc, __ATOMIC_RELAXED);
}

void ns_store_write_failed(struct ns_thread *thread, int rc)
{
	struct ns_counts *counts = &thread->counts;

	if (rc == -ENOSPC)
		ns_counter_add(&counts->storage_full, 1);
	else if (rc == -ENOMEM || rc == -ETIMEDOUT)
		ns_counter_add(&counts->out_of_memory, 1);
	else
		ns_counter_add(&counts->storage_failed, 1);
}
