/* SPDX-License-Identifier: BSD-3-Clause */
#include "series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A counter, and what it stands for. */
struct entry {
	struct nc_series series;
	size_t counter;
};

static int order(unsigned a, unsigned b)
{
	return (a > b) - (a < b);
}

/* Numbers where there are some; what has none comes after what has one. */
static int order_optional(bool has_a, unsigned a, bool has_b, unsigned b)
{
	if (has_a != has_b)
		return has_a ? -1 : 1;
	return has_a ? order(a, b) : 0;
}

static int order_series(const struct nc_series *a, const struct nc_series *b)
{
	int rc = order(a->what, b->what);

	if (rc == 0)
		rc = order_optional(a->has_socket, a->socket, b->has_socket, b->socket);
	if (rc == 0 && !a->has_socket)
		rc = order(a->node, b->node);
	if (rc == 0)
		rc = order_optional(a->has_link, a->link, b->has_link, b->link);
	if (rc == 0)
		rc = order_optional(a->has_peer, a->peer, b->has_peer, b->peer);
	if (rc == 0 && a->what == NC_CLASS_OTHER)
		rc = strcmp(a->name, b->name);
	return rc;
}

static int order_entries(const void *a, const void *b)
{
	const struct entry *first = a;
	const struct entry *second = b;
	int rc = order_series(&first->series, &second->series);

	/* As they were given, for the numbers of the first to stand for all. */
	return rc ? rc : (first->counter > second->counter) - (first->counter < second->counter);
}

static bool is_of_links(enum nc_class what)
{
	return what == NC_CLASS_INTERCONNECT_OUT || what == NC_CLASS_INTERCONNECT_IN ||
	       what == NC_CLASS_INTERCONNECT_OUT_FLITS || what == NC_CLASS_INTERCONNECT_CLOCK;
}

static struct nc_series series_of(const struct nc_counter *counter)
{
	bool has_link = counter->has_link && is_of_links(counter->what);

	return (struct nc_series){
		.what = counter->what,
		.name = counter->what == NC_CLASS_OTHER ? counter->name
		                                        : nc_class_name(counter->what),
		.has_socket = counter->has_socket,
		.socket = counter->socket,
		.node = counter->node,
		.has_link = has_link,
		.link = has_link ? counter->link : 0,
		.has_peer = has_link && counter->has_peer,
		.peer = has_link ? counter->peer : 0,
		.peer_link = has_link ? counter->peer_link : 0,
	};
}

static void merge(struct entry *entries, size_t count, struct nc_series_list *list)
{
	qsort(entries, count, sizeof(*entries), order_entries);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || order_series(&entries[i - 1].series, &entries[i].series) != 0)
			list->items[list->count++] = entries[i].series;
		list->items[list->count - 1].counter_count++;
		list->of[entries[i].counter] = list->count - 1;
	}
}

int nc_series_build(const struct nc_counters *counters, struct nc_series_list *ret,
                    struct np_error *err)
{
	size_t count = counters->count;
	struct entry *entries = calloc(count + 1, sizeof(*entries));
	struct nc_series_list list = {
		.items = calloc(count + 1, sizeof(*list.items)),
		.of = calloc(count + 1, sizeof(*list.of)),
	};

	if (!entries || !list.items || !list.of) {
		free(entries);
		nc_series_release(&list);
		return np_error_sys(err, ENOMEM, "series of %zu counters", count);
	}
	for (size_t i = 0; i < count; i++)
		entries[i] = (struct entry){ series_of(&counters->items[i]), i };
	merge(entries, count, &list);
	free(entries);
	*ret = list;
	return 0;
}

void nc_series_release(struct nc_series_list *list)
{
	free(list->items);
	free(list->of);
	*list = (struct nc_series_list){ 0 };
}
