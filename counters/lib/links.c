/* SPDX-License-Identifier: BSD-3-Clause */
#include "links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UPI_PATTERN "uncore_upi_#"

static int compare_dies(const void *a, const void *b)
{
	const struct nc_die *x = a;
	const struct nc_die *y = b;

	if (x->socket != y->socket)
		return x->socket < y->socket ? -1 : 1;
	return x->die < y->die ? -1 : x->die > y->die;
}

static struct nc_die *find_die(const struct nc_links *links, const struct nc_place *place)
{
	for (size_t i = 0; i < links->die_count; i++)
		if (links->dies[i].socket == place->socket && links->dies[i].die == place->die)
			return &links->dies[i];
	return NULL;
}

/*
 * The kernel numbers dies in the order of their APIC ids, whose upper bits are socket and die; before
 * Linux 6.9 in the order in which their first CPU started. False where the two differ.
 */
static bool order_dies(struct nc_links *links)
{
	qsort(links->dies, links->die_count, sizeof(*links->dies), compare_dies);
	for (size_t i = 1; i < links->die_count; i++)
		if (links->dies[i].first_cpu < links->dies[i - 1].first_cpu)
			return false;
	return true;
}

static int collect_dies(const struct nc_places *places, struct nc_links *ret)
{
	ret->dies = calloc(places->cpu_count + 1, sizeof(*ret->dies));
	if (!ret->dies)
		return -ENOMEM;
	np_bitmap_for_each (cpu, &places->online) {
		const struct nc_place *place = nc_places_of(places, cpu);

		if (place && !find_die(ret, place))
			ret->dies[ret->die_count++] = (struct nc_die){
				.socket = place->socket,
				.die = place->die,
				.first_cpu = cpu,
			};
	}
	return 0;
}

static int append(struct nc_links *links, const struct nc_link *link)
{
	struct nc_link *grown = reallocarray(links->items, links->count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	links->items = grown;
	links->items[links->count++] = *link;
	return 0;
}

/* "upi_1,die_3" */
static bool parse_peer(const char *text, struct nc_link *ret)
{
	int length = 0;
	unsigned link, die;

	if (strspn(text, "upidie_,0123456789") != strlen(text) || strlen(text) > 24)
		return false;
	if (sscanf(text, "upi_%5u,die_%5u%n", &link, &die, &length) != 2 || text[length])
		return false;
	ret->peer_link = link;
	ret->peer_die = die;
	return true;
}

/* Reads one dieY file. */
static int read_end(const struct np_sysroot *root, const struct nc_pmu *pmu, struct nc_link *link,
                    struct nc_notes *notes, struct nc_links *ret)
{
	struct np_error why = { 0 };
	char path[NC_PMU_PATH_SIZE];
	char file[16];
	char *text;
	bool is_known;
	int rc;

	snprintf(file, sizeof(file), "die%u", link->die);
	rc = np_sysroot_read(root, nc_pmu_path(pmu->name, file, path), &text, &why);
	if (rc < 0)
		return rc == -ENOMEM ? rc : nc_notes_add(notes, NULL, "%s", why.text);
	is_known = parse_peer(text, link);
	rc = is_known ? append(ret, link)
	              : nc_notes_add(notes, NULL, "%s/%s: '%s' is no end of a link", root->path,
	                             path, text);
	free(text);
	return rc;
}

static int read_ends(const struct np_sysroot *root, const struct nc_pmu *pmu, unsigned number,
                     struct nc_notes *notes, struct nc_links *ret)
{
	struct np_bitmap dies = { 0 };
	struct np_error ignored = { 0 };
	char path[NC_PMU_PATH_SIZE];
	int rc = np_sysroot_list_indexes(root, nc_pmu_path(pmu->name, "", path), "die", &dies,
	                                 &ignored);

	if (rc < 0 && rc != -ENOMEM)
		rc = 0;
	np_bitmap_for_each (die, &dies) {
		struct nc_link link = { .die = die, .link = number };

		if (rc == 0)
			rc = read_end(root, pmu, &link, notes, ret);
	}
	np_bitmap_release(&dies);
	return rc;
}

static const struct nc_link *find_link(const struct nc_links *links, unsigned die, unsigned link)
{
	for (size_t i = 0; i < links->count; i++)
		if (links->items[i].die == die && links->items[i].link == link)
			return &links->items[i];
	return NULL;
}

static bool is_mutual(const struct nc_links *links, const struct nc_link *link)
{
	const struct nc_link *back = find_link(links, link->peer_die, link->peer_link);

	return back && back->peer_die == link->die && back->peer_link == link->link;
}

/* Keeps the links whose two ends agree. Those that go nowhere cannot be among them. */
static int keep_mutual(struct nc_links *links, struct nc_notes *notes)
{
	struct nc_link *kept = calloc(links->count + 1, sizeof(*kept));
	size_t count = 0;
	int rc = 0;

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < links->count && rc == 0; i++) {
		const struct nc_link *link = &links->items[i];

		if (is_mutual(links, link) && link->die < links->die_count &&
		    link->peer_die < links->die_count)
			kept[count++] = *link;
		else
			rc = nc_notes_add(notes, NULL,
			                  "link %u of die %u ends at link %u of die %u by its own "
			                  "word alone: taken as unknown",
			                  link->link, link->die, link->peer_link, link->peer_die);
	}
	free(links->items);
	links->items = kept;
	links->count = count;
	return rc;
}

int nc_links_read(const struct np_sysroot *root, const struct nc_places *places,
                  const struct nc_pmu *pmus, size_t pmu_count, struct nc_notes *notes,
                  struct nc_links *ret)
{
	unsigned number;
	int rc = 0;

	for (size_t i = 0; i < pmu_count && rc == 0; i++)
		if (nc_pmu_is_of(&pmus[i], UPI_PATTERN, &number))
			rc = read_ends(root, &pmus[i], number, notes, ret);
	if (rc < 0 || ret->count == 0)
		return rc;
	rc = collect_dies(places, ret);
	if (rc < 0)
		return rc;
	if (order_dies(ret))
		return keep_mutual(ret, notes);
	ret->count = 0;
	return nc_notes_add(notes, NULL,
	                    "where links end is not known: CPUs are not numbered in the order of "
	                    "their sockets, so it is not known which die the kernel calls die0");
}

void nc_links_release(struct nc_links *links)
{
	free(links->dies);
	free(links->items);
	*links = (struct nc_links){ 0 };
}

bool nc_links_find(const struct nc_links *links, const struct nc_place *place, unsigned link,
                   struct nc_place *ret_place, unsigned *ret_link)
{
	const struct nc_die *die = find_die(links, place);
	const struct nc_link *found;

	if (!die)
		return false;
	found = find_link(links, (unsigned)(die - links->dies), link);
	if (!found)
		return false;
	*ret_place = (struct nc_place){
		.has_socket = true,
		.socket = links->dies[found->peer_die].socket,
		.die = links->dies[found->peer_die].die,
	};
	*ret_link = found->peer_link;
	return true;
}

/* How many dies of the socket come before this one. */
static unsigned rank_die(const struct nc_places *places, unsigned socket, unsigned die)
{
	struct np_bitmap before = { 0 };
	unsigned rank;

	np_bitmap_for_each (cpu, &places->online) {
		const struct nc_place *place = nc_places_of(places, cpu);

		if (place && place->socket == socket && place->die < die)
			np_bitmap_add(&before, place->die);
	}
	rank = np_bitmap_count(&before);
	np_bitmap_release(&before);
	return rank;
}

void nc_links_number(const struct nc_places *places, struct nc_counter *counters, size_t count)
{
	unsigned span = 0;

	for (size_t i = 0; i < count; i++)
		if (counters[i].has_link && counters[i].link >= span)
			span = counters[i].link + 1;
	for (size_t i = 0; i < count; i++) {
		struct nc_counter *counter = &counters[i];

		if (!counter->has_link || !counter->has_socket)
			continue;
		counter->link += span * rank_die(places, counter->socket, counter->die);
		if (counter->has_peer)
			counter->peer_link +=
				span * rank_die(places, counter->peer, counter->peer_die);
	}
}
