/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name that somebody may have meant. Pure.
 */
#ifndef NP_NEAREST_H
#define NP_NEAREST_H

#include <stddef.h>

/*
 * The one of @names that takes the fewest letters changed, added or taken away to be @typed, the
 * first among equals; NULL where all are too far from it to be meant, or it is over-long.
 */
const char *np_nearest_name(const char *typed, const char *const names[], size_t count);

#endif
