/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NS_NEAR_H
#define NS_NEAR_H

#include <numaprobe/bitmap.h>
#include <stddef.h>

/*
 * Whole pages at @at that are not touched yet will lie on @nodes as long as there is room, whoever touches
 * them and whatever policy that thread inherited. NULL, or a kernel that refuses: as the thread has it.
 */
void ns_near_set(void *at, size_t bytes, const struct np_bitmap *nodes);

#endif
