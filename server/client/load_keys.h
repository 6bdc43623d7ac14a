/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which key a request asks for: all alike, some more often by Zipf's law, or a hot part of them. Key 0
 * is the most popular one. Drawing takes the same time whatever the number of keys. Pure.
 */
#ifndef NL_LOAD_KEYS_H
#define NL_LOAD_KEYS_H

#include "../../probe/base/rng.h"

#include <numaprobe/error.h>
#include <stdint.h>

enum nl_load_keys_kind { NL_KEYS_UNIFORM, NL_KEYS_ZIPF, NL_KEYS_HOT };

struct nl_load_keys {
	enum nl_load_keys_kind kind;
	uint32_t keys; /* their number */

	double theta; /* ZIPF: key i is asked for in proportion to 1 / (i + 1)^theta */

	double hot_fraction; /* HOT: this part of the keys, at least one ... */
	double hot_share;    /* ... has this part of the requests */
	uint32_t hot_keys;   /* their number */

	/* ZIPF: bounds of the inverted integral and the width that needs no second look. */
	double integral_first;
	double integral_last;
	double squeeze;
};

/*
 * "uniform", "zipf:THETA" (0 < THETA <= 10), "hot:FRACTION:SHARE" (both in 0..1, not 0).
 * -EINVAL with "@option: ..."
 */
int nl_load_keys_parse(const char *option, const char *text, struct nl_load_keys *ret,
                       struct np_error *err);

/* Once the number of keys is known, which is at least 1. */
void nl_load_keys_prepare(struct nl_load_keys *keys, uint32_t count);

/* A key, below their number. */
uint32_t nl_load_keys_draw(const struct nl_load_keys *keys, struct np_rng *rng);

#endif
