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
/* Unpins what was not sent. Accepts NULL. */
void ns_output_free(struct ns_output *output);

/* -ENOMEM, after which it takes nothing more (no gap may be sent), and the session ends. */
int ns_output_add(struct ns_output *output, const char *bytes, size_t count);
int ns_output_print(struct ns_output *output, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Bytes @offset..@offset + @count of the object's head; takes over one pin, on failure too. */
int ns_output_add_object(struct ns_output *output, const struct ns_store *store,
                         const struct ns_object *object, uint64_t offset, uint64_t count);

unsigned ns_output_pieces(const struct ns_output *output, struct iovec *pieces, unsigned max);
/* Counts what was served of objects, and unpins those that are sent. */
void ns_output_sent(struct ns_output *output, size_t count);

bool ns_output_is_empty(const struct ns_output *output);
/* Over the limits of session.h. */
bool ns_output_is_full(const struct ns_output *output);
/* Memory ran out: something is missing behind what it holds. */
bool ns_output_is_broken(const struct ns_output *output);
/* Bytes that it keeps in memory, beside the objects. */
size_t ns_output_bytes(const struct ns_output *output);

#endif
