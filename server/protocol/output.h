/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a session has to say, in order: copied text and pinned objects. For the protocols.
 */
#ifndef NS_OUTPUT_H
#define NS_OUTPUT_H

#include "session.h"

struct ns_output; /* opaque; one a session */

/* Of that thread alone, to which served bytes count. NULL: no memory */
struct ns_output *ns_output_create(struct ns_thread *thread);
/*
 * Before the first object with a tail is added: where tails are read, and who is called when bytes of one
 * have come that ns_output_pieces() said are not at hand.
 */
void ns_output_use_tails(struct ns_output *output, struct ns_tail_io *io,
                         struct ns_tail_waiter waiter);
/* Unpins what was not sent. Accepts NULL. */
void ns_output_free(struct ns_output *output);

/* -ENOMEM, after which it takes nothing more (no gap may be sent), and the session ends. */
int ns_output_add(struct ns_output *output, const char *bytes, size_t count);
int ns_output_print(struct ns_output *output, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Bytes @offset..@offset + @count of the object; takes over one pin, on failure too. */
int ns_output_add_object(struct ns_output *output, const struct ns_store *store,
                         const struct ns_object *object, uint64_t offset, uint64_t count);

/*
 * What is at hand, to the first byte that is not. Begins to read the first tail that it comes to. Where that
 * cannot be read, the output ends and is broken: what is in front of it can still be sent.
 */
unsigned ns_output_pieces(struct ns_output *output, struct iovec *pieces, unsigned max);
/* Counts what was served of objects, and unpins those that are sent. */
void ns_output_sent(struct ns_output *output, size_t count);

/* Gives back the buffers of what is read; it is read again when it is asked for. */
void ns_output_pause(struct ns_output *output);

bool ns_output_is_empty(const struct ns_output *output);
/* The next byte is on its way from a pool. */
bool ns_output_waits_for_storage(struct ns_output *output);
/*
 * Over the limits of session.h. With a tail in it too: whoever holds buffers of the pools while he waits
 * for others of them could wait for himself.
 */
bool ns_output_is_full(const struct ns_output *output);
/* Its objects alone are over NS_OUTPUT_PINNED_MAX. */
bool ns_output_pins_enough(const struct ns_output *output);
/* Memory ran out, or a tail is lost: something is missing behind what it holds. */
bool ns_output_is_broken(const struct ns_output *output);
/* Bytes that it keeps in memory, beside the objects. */
size_t ns_output_bytes(const struct ns_output *output);

#endif
