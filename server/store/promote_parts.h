/* SPDX-License-Identifier: BSD-3-Clause */
/* Between who decides what moves (promote.c) and who moves it (promote_move.c). */
#ifndef NS_PROMOTE_PARTS_H
#define NS_PROMOTE_PARTS_H

#include "promote_plan.h"
#include "store_parts.h"

/* Whether it may ever move: it is linked, has a head, nobody waits for its successor, and no rule says where it lives. */
bool ns_move_may(const struct ns_thread *thread, const struct ns_object *object, uint32_t now_s);

/* What a scan saw, pinned. NULL: it is gone, or may not move any more. */
struct ns_object *ns_move_pin(struct ns_thread *thread, const struct ns_seen_head *seen,
                              uint32_t now_s);

/*
 * Copies a pinned object's head to that room and puts a new object in its place. Ends the pin. False when
 * somebody else replaced it meanwhile: then the room is given back.
 */
bool ns_move_to(struct ns_thread *thread, struct ns_object *object, const struct ns_room *room,
                uint32_t now_s);

/* A block of full heads, into a free block of another arena. */
struct ns_block_move {
	const struct ns_seen_slot *slots; /* as a scan saw them */
	uint64_t offset;                  /* of the block */
	size_t from;
	size_t to;
	uint32_t count;
	/* For ns_move_block() to work with, @count each. */
	struct ns_object **objects;
	uint64_t *bytes;
};

/* Returns how many heads moved; 0: one may not move, or there is no free block. Their bytes are added to *bytes. */
uint32_t ns_move_block(struct ns_thread *thread, const struct ns_block_move *move, uint32_t now_s,
                       uint64_t *bytes);

#endif
