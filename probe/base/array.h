/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow one item at a time. */
#ifndef NP_ARRAY_H
#define NP_ARRAY_H

#include <stddef.h>

/*
 * Makes room for one more of @count items of @size bytes, all of which were added this way: the room
 * doubles each time that their number reaches a power of two. -ENOMEM, and *items is as it was.
 */
int np_array_grow(void **items, size_t count, size_t size);

#endif
