/* SPDX-License-Identifier: BSD-3-Clause */
#include "near.h"

#include <numarun/policy.h>

void ns_near_set(void *at, size_t bytes, const struct np_bitmap *nodes)
{
	struct nr_policy policy = { .mode = NR_POLICY_PREFERRED };

	if (nodes == NULL || np_bitmap_is_empty(nodes))
		return;
	if (np_bitmap_count(nodes) > 1)
		policy.mode = NR_POLICY_PREFERRED_MANY;
	policy.nodes = *nodes;
	(void)nr_policy_set_at(at, bytes, &policy, false, NULL);
}
