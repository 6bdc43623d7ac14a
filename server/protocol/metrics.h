/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server's numbers as OpenMetrics text. Pure: they are gathered first (admin.c), then printed.
 */
#ifndef NS_METRICS_H
#define NS_METRICS_H

#include "state.h"
#include <stdio.h>

#define NS_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Of heads on one node, what workers of another, or the same, have sent. */
struct ns_metrics_served {
	unsigned serving;
	unsigned memory;
	struct ns_served served;
};

/* Borrowed. */
struct ns_metrics_page {
	const char *version;
	const struct ns_server_state
		*state; /* its arenas and reports; NULL reports: not verified */
	struct ns_counts counts;
	struct ns_worker_counts workers;      /* their sum */
	const struct ns_arena_counts *arenas; /* of the store, @arena_count */
	size_t arena_count;
	const struct ns_metrics_served *served;
	size_t served_count;
	const struct ns_pool_state *pools;
	size_t pool_count;
	enum ns_tail_engine engine; /* with pools */
	bool is_draining;
};

void ns_metrics_print(FILE *out, const struct ns_metrics_page *page);

#endif
