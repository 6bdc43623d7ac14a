/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct use of the store by any thread: each call borrows one of a few joined places, and waits where all are
 * taken.
 */
#ifndef NS_CALLERS_H
#define NS_CALLERS_H

#include "../store/store.h"

enum { NS_CALLERS_MAX = 16 };

struct ns_callers; /* opaque */

/* @node: where they count as being. NULL: no memory */
struct ns_callers *ns_callers_create(struct ns_store *store, unsigned node);
void ns_callers_free(struct ns_callers *callers); /* nobody calls any more. Accepts NULL */

/* As in <numastore/server.h>. */
int ns_callers_get(struct ns_callers *callers, const char *key, size_t key_len, char **ret_value,
                   size_t *ret_size, struct np_error *err);
int ns_callers_set(struct ns_callers *callers, const char *key, size_t key_len, const char *value,
                   size_t size, struct np_error *err);
int ns_callers_delete(struct ns_callers *callers, const char *key, size_t key_len,
                      struct np_error *err);

#endif
