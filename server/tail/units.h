/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which units of a pool's file are taken. Pure, and the caller has a lock. Space is looked for from where the
 * last was found, so that what is stored in a row lies in a row as long as there is room. Where it does not go on
 * there, a hole that has room for a whole chunk is taken before smaller ones, if there is one not far away.
 */
#ifndef NS_UNITS_H
#define NS_UNITS_H

#include <stdbool.h>
#include <stdint.h>

enum { NS_UNITS_A_RUN = 4 }; /* those of a chunk */

struct ns_units; /* opaque */

struct ns_units *ns_units_create(void); /* of no unit; NULL: no memory */
void ns_units_free(struct ns_units *units);

/* There are so many from now on, at least as many as before. -ENOMEM: it stays as it is */
int ns_units_grow(struct ns_units *units, uint32_t count);
uint32_t ns_units_count(const struct ns_units *units);
uint32_t ns_units_free_count(const struct ns_units *units);

/* The numbers of @count units into @ret; false when fewer are free, and none is taken. */
bool ns_units_take(struct ns_units *units, uint32_t count, uint32_t *ret);
void ns_units_give(struct ns_units *units, uint32_t count, const uint32_t *list);

#endif
