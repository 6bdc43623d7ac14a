/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A counter that only grows, and for each thread the value that it saw when it last held nothing. What was
 * unlinked while the counter stood at N is past once every thread that is not away has seen more.
 *
 * Orders: a stamp is an acquire-release addition after the unlinking, so who loads a later value with
 * acquire sees the unlinking done. A place's release store of what it saw comes after all its reads, and
 * pairs with the acquire load in ns_epoch_is_past(). Fences are not used: tsan does not know them.
 */
#include "epoch.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { AWAY = 0, FIRST = 1 };

struct place {
	alignas(64) uint64_t seen; /* atomic; AWAY or the counter */
	uint32_t is_taken;         /* atomic */
};

struct ns_epochs {
	alignas(64) uint64_t now; /* atomic; changed by additions only */
	alignas(64) unsigned count;
	struct place places[];
};

struct ns_epochs *ns_epochs_create(unsigned threads_max)
{
	size_t size = sizeof(struct ns_epochs) + threads_max * sizeof(struct place);
	struct ns_epochs *epochs = aligned_alloc(alignof(struct ns_epochs), size);

	if (epochs == NULL)
		return NULL;
	memset(epochs, 0, size);
	epochs->now = FIRST;
	epochs->count = threads_max;
	return epochs;
}

void ns_epochs_free(struct ns_epochs *epochs)
{
	free(epochs);
}

int ns_epoch_join(struct ns_epochs *epochs)
{
	for (unsigned i = 0; i < epochs->count; i++) {
		uint32_t is_taken = 0;

		if (!__atomic_compare_exchange_n(&epochs->places[i].is_taken, &is_taken, 1, 0,
		                                 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		ns_epoch_come(epochs, (int)i);
		return (int)i;
	}
	return -1;
}

void ns_epoch_leave(struct ns_epochs *epochs, int place)
{
	ns_epoch_go(epochs, place);
	__atomic_store_n(&epochs->places[place].is_taken, 0, __ATOMIC_RELEASE);
}

void ns_epoch_quiesce(struct ns_epochs *epochs, int place)
{
	uint64_t now = __atomic_load_n(&epochs->now, __ATOMIC_ACQUIRE);

	__atomic_store_n(&epochs->places[place].seen, now, __ATOMIC_RELEASE);
}

void ns_epoch_go(struct ns_epochs *epochs, int place)
{
	__atomic_store_n(&epochs->places[place].seen, AWAY, __ATOMIC_RELEASE);
}

/*
 * The addition of 0 puts us in one order with all stamps: those before it have their unlinking seen by
 * our reads to come, and who stamps after it sees that we are here.
 */
void ns_epoch_come(struct ns_epochs *epochs, int place)
{
	uint64_t now = __atomic_load_n(&epochs->now, __ATOMIC_ACQUIRE);

	__atomic_store_n(&epochs->places[place].seen, now, __ATOMIC_RELEASE);
	(void)__atomic_fetch_add(&epochs->now, 0, __ATOMIC_ACQ_REL);
}

uint64_t ns_epoch_stamp(struct ns_epochs *epochs)
{
	return __atomic_fetch_add(&epochs->now, 1, __ATOMIC_ACQ_REL);
}

int ns_epoch_is_past(struct ns_epochs *epochs, uint64_t stamp)
{
	for (unsigned i = 0; i < epochs->count; i++) {
		uint64_t seen = __atomic_load_n(&epochs->places[i].seen, __ATOMIC_ACQUIRE);

		if (seen != AWAY && seen <= stamp)
			return 0;
	}
	return 1;
}
