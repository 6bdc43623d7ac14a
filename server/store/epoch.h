/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When may memory that readers without locks may still look at be reused? Once every thread that reads has
 * said since that it holds nothing (quiescent state): workers do once a turn of their loop, and mark
 * themselves as away before they sleep.
 */
#ifndef NS_EPOCH_H
#define NS_EPOCH_H

#include <stdint.h>

struct ns_epochs; /* opaque, of one store */

struct ns_epochs *ns_epochs_create(unsigned threads_max); /* NULL: no memory */
void ns_epochs_free(struct ns_epochs *epochs);

/* One thread's place, from 0; -1 when all are taken. */
int ns_epoch_join(struct ns_epochs *epochs);
void ns_epoch_leave(struct ns_epochs *epochs, int place);

/* "I hold no pointer into the index that I have not pinned." Cheap: a load and a store. */
void ns_epoch_quiesce(struct ns_epochs *epochs, int place);

/* "Nor will I look before I come back." */
void ns_epoch_go(struct ns_epochs *epochs, int place);
void ns_epoch_come(struct ns_epochs *epochs, int place);

/* The epoch to note down with something that was just unlinked. */
uint64_t ns_epoch_stamp(struct ns_epochs *epochs);

/* Whether what was unlinked at that stamp can be reused. */
int ns_epoch_is_past(struct ns_epochs *epochs, uint64_t stamp);

#endif
