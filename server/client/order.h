/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is asked next, and for which key. All arms get the same sequence of keys (sequence.h): a block
 * of keys goes to one arm after the other, then the next block. So each has the same number of
 * requests, the same keys in the same order and the same hash, and neighbours in time. Pure.
 */
#ifndef NL_ORDER_H
#define NL_ORDER_H

#include "sequence.h"
#include "trace.h"

#include "../../probe/base/rng.h"

enum nl_order_kind {
	NL_ORDER_RANDOM, /* the arms' order is drawn anew for each block */
	NL_ORDER_ABBA,   /* as they were named, and backwards in every second block */
	NL_ORDER_FIXED,  /* always as they were named */
};

/* "random", "abba", "fixed"; -EINVAL with "--order: ..." */
const char *nl_order_name(enum nl_order_kind kind);
int nl_order_parse(const char *text, enum nl_order_kind *ret, struct np_error *err);

struct nl_order_plan {
	enum nl_order_kind kind;
	unsigned arms; /* 1..NL_TRACE_ARMS_MAX */
	uint32_t
		block; /* keys of an arm before the next arm's turn, > 0; the last may be shorter */
	uint64_t requests; /* of each arm */
	uint64_t seed;     /* of the keys, and of the random order */
	uint32_t keys;     /* > 0 */
	unsigned worker;   /* which of the seed's sequences of keys: 0 */
};

/* For the functions below alone. */
struct nl_order {
	struct nl_order_plan plan;
	struct np_rng rng;
	struct nl_sequence at_block; /* as it was when the block began */
	struct nl_sequence now;
	uint64_t left;     /* requests of each arm, from the present block on */
	uint32_t position; /* within the arm's turn */
	unsigned turn;     /* within the block */
	uint8_t arms[NL_TRACE_ARMS_MAX];
};

void nl_order_begin(struct nl_order *order, const struct nl_order_plan *plan);

/* The next request. False at the end, after requests * arms. */
bool nl_order_next(struct nl_order *order, unsigned *ret_arm, uint32_t *ret_key);

#endif
