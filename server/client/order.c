/* SPDX-License-Identifier: BSD-3-Clause */
#include "order.h"

#include <errno.h>
#include <string.h>

enum { QUOTE_SIZE = 40 };

static const char *const names[] = {
	[NL_ORDER_RANDOM] = "random", [NL_ORDER_ABBA] = "abba", [NL_ORDER_FIXED] = "fixed"
};

const char *nl_order_name(enum nl_order_kind kind)
{
	return names[kind];
}

int nl_order_parse(const char *text, enum nl_order_kind *ret, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	for (unsigned kind = 0; kind < sizeof(names) / sizeof(names[0]); kind++) {
		if (strcmp(text, names[kind]) != 0)
			continue;
		*ret = (enum nl_order_kind)kind;
		return 0;
	}
	return np_error_set(err, EINVAL, "--order: '%s' is none of random, abba, fixed",
	                    np_error_quote(text, quoted, sizeof(quoted)));
}

static void swap(uint8_t *a, uint8_t *b)
{
	uint8_t was = *a;

	*a = *b;
	*b = was;
}

/* Fisher and Yates's: all orders are equally likely. */
static void shuffle(struct nl_order *order)
{
	for (unsigned left = order->plan.arms; left > 1; left--)
		swap(&order->arms[left - 1], &order->arms[np_rng_below(&order->rng, left)]);
}

static void reverse(struct nl_order *order)
{
	for (unsigned i = 0; i < order->plan.arms / 2; i++)
		swap(&order->arms[i], &order->arms[order->plan.arms - 1 - i]);
}

void nl_order_begin(struct nl_order *order, const struct nl_order_plan *plan)
{
	*order = (struct nl_order){ .plan = *plan, .left = plan->requests };
	np_rng_seed(&order->rng, plan->seed + plan->worker);
	nl_sequence_begin(&order->at_block, plan->seed, plan->keys, plan->worker);
	order->now = order->at_block;
	for (unsigned i = 0; i < plan->arms; i++)
		order->arms[i] = (uint8_t)i;
	if (plan->kind == NL_ORDER_RANDOM)
		shuffle(order);
}

/* How many keys the present block has. */
static uint32_t block_keys(const struct nl_order *order)
{
	return order->left < order->plan.block ? (uint32_t)order->left : order->plan.block;
}

static void begin_block(struct nl_order *order)
{
	order->left -= block_keys(order);
	order->at_block = order->now;
	order->turn = 0;
	if (order->plan.kind == NL_ORDER_RANDOM)
		shuffle(order);
	else if (order->plan.kind == NL_ORDER_ABBA)
		reverse(order);
}

/* After the last key of an arm's turn. */
static void end_turn(struct nl_order *order)
{
	order->position = 0;
	if (++order->turn == order->plan.arms)
		begin_block(order);
	else
		order->now = order->at_block;
}

bool nl_order_next(struct nl_order *order, unsigned *ret_arm, uint32_t *ret_key)
{
	if (order->left == 0)
		return false;
	*ret_arm = order->arms[order->turn];
	*ret_key = nl_sequence_next(&order->now);
	if (++order->position == block_keys(order))
		end_turn(order);
	return true;
}
