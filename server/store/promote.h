/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Promotion: heads that are read often move to the preferred arena, the first one. A promoter looks at all objects
 * every now and then, finds the hottest heads elsewhere and the coldest there, and moves what pays:
 *
 *   payback      a score is how many reads are expected to come, so score x bytes are the remote bytes that
 *                a move saves. They must be more than the bytes that it copies, those of the one that has to
 *                make room among them, and what that one's readers lose counts against it.
 *   hysteresis   who makes room is colder by a factor, and who was moved stays for a minute.
 *   rate         so many bytes a second are copied, one's that make room included.
 *
 * A move copies the head into fresh room, with only a pin held, and puts a new object in the old one's place under
 * its bucket's lock, for as long as that takes: a look along the chain and ten stores. Then each arena's lock is
 * taken once, for steps whose number does not depend on sizes. Who is reading the old one reads on, and the last
 * of them gives its room back. Looking at objects takes no lock.
 */
#ifndef NS_PROMOTE_H
#define NS_PROMOTE_H

#include "store.h"

struct ns_promoter; /* opaque; of one thread */

/*
 * Joins the store as a thread of @node. NULL: no memory, or the store has no second arena, or promotion is off.
 * @rate: bytes a second, 0 = without a limit.
 */
struct ns_promoter *ns_promoter_create(struct ns_store *store, unsigned node, uint64_t rate);
void ns_promoter_free(struct ns_promoter *promoter); /* accepts NULL */

/*
 * A piece of the work: some objects are looked at, or a head or a block is moved. Returns for how long to
 * sleep before the next (ns), 0 = not at all.
 */
int64_t ns_promoter_turn(struct ns_promoter *promoter);
/* Around sleeping. */
void ns_promoter_go(struct ns_promoter *promoter);
void ns_promoter_come(struct ns_promoter *promoter);

/* For tests: scans and moves what there is to move now, without sleeping; returns the heads moved. */
uint64_t ns_promoter_run(struct ns_promoter *promoter);

#endif
