/* SPDX-License-Identifier: BSD-3-Clause */
#include "host_data.h"

#include "cpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_family(const struct nc_tables *tables, const char *name, struct np_error *err)
{
	char list[300] = "";
	size_t used = 0;

	for (size_t i = 0; i < nc_tables_count(tables) && used < sizeof(list) - 1; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
		                         nc_tables_family(tables, i)->name);
	return np_error_set(err, EINVAL, "no family '%s'; there are: %s", name, list);
}

/* A host that does not tell its processor can still be told it by the family's name. */
static int read_cpu(struct nc_host *host, struct np_error *err)
{
	struct np_error why = { 0 };
	int rc = nc_cpu_read(&host->root, &host->cpu, &why);

	if (rc >= 0)
		return 0;
	if (rc == -ENOMEM)
		return np_error_sys(err, ENOMEM, "the processor");
	return nc_notes_add(&host->notes, err, "the processor is not known: %s", why.text);
}

static int choose_family(struct nc_host *host, const struct nc_host_source *from,
                         struct np_error *err)
{
	int rc = nc_tables_load(from->events_file, &host->tables, err);

	if (rc < 0)
		return rc;
	host->family = from->family ? nc_tables_find_name(host->tables, from->family)
	                            : nc_tables_find_cpu(host->tables, &host->cpu);
	if (from->family && !host->family)
		return no_family(host->tables, from->family, err);
	return 0;
}

static int open_root(struct nc_host *host, const char *name, struct np_error *err)
{
	if (!name)
		return np_sysroot_open(NULL, &host->root, err);
	host->name = strdup(name);
	if (!host->name)
		return np_error_sys(err, ENOMEM, "%s", name);
	return np_sysroot_open(host->name, &host->root, err);
}

static int load(struct nc_host *host, const struct nc_host_source *from, struct np_error *err)
{
	int rc = open_root(host, from->root, err);

	if (rc == 0)
		rc = nc_places_read(&host->root, &host->places, &host->notes, err);
	if (rc == 0)
		rc = read_cpu(host, err);
	if (rc == 0)
		rc = choose_family(host, from, err);
	if (rc == 0)
		rc = nc_pmus_read(&host->root, &host->places, &host->notes, &host->pmus,
		                  &host->pmu_count, err);
	if (rc == 0 && nc_links_read(&host->root, &host->places, host->pmus, host->pmu_count,
	                             &host->notes, &host->links) < 0)
		rc = np_error_sys(err, ENOMEM, "links");
	return rc;
}

int nc_host_load(const struct nc_host_source *from, struct nc_host **ret, struct np_error *err)
{
	struct nc_host *host = calloc(1, sizeof(*host));
	int rc;

	if (!host)
		return np_error_sys(err, ENOMEM, "the host");
	host->root.fd = -1;
	rc = load(host, from, err);
	if (rc < 0) {
		nc_host_free(host);
		return rc;
	}
	*ret = host;
	return 0;
}

void nc_host_free(struct nc_host *host)
{
	if (!host)
		return;
	nc_links_release(&host->links);
	for (size_t i = 0; i < host->pmu_count; i++)
		nc_pmu_release(&host->pmus[i]);
	free(host->pmus);
	nc_tables_free(host->tables);
	nc_places_release(&host->places);
	nc_notes_release(&host->notes);
	np_sysroot_close(&host->root);
	free(host->name);
	free(host);
}

bool nc_host_is_live(const struct nc_host *host)
{
	return host->root.live;
}

const char *nc_host_root(const struct nc_host *host)
{
	return host->name;
}

const struct nc_cpu *nc_host_cpu(const struct nc_host *host)
{
	return &host->cpu;
}

const struct nc_tables *nc_host_tables(const struct nc_host *host)
{
	return host->tables;
}

const struct nc_family *nc_host_family(const struct nc_host *host)
{
	return host->family;
}

size_t nc_host_pmu_count(const struct nc_host *host)
{
	return host->pmu_count;
}

const struct nc_pmu *nc_host_pmu(const struct nc_host *host, size_t index)
{
	return &host->pmus[index];
}

const struct np_bitmap *nc_host_online(const struct nc_host *host)
{
	return &host->places.online;
}

const struct np_bitmap *nc_host_sockets(const struct nc_host *host)
{
	return &host->places.sockets;
}

bool nc_host_socket_of(const struct nc_host *host, unsigned cpu, unsigned *ret_socket,
                       unsigned *ret_die)
{
	const struct nc_place *place = nc_places_of(&host->places, cpu);

	if (!place)
		return false;
	*ret_socket = place->socket;
	*ret_die = place->die;
	return true;
}

size_t nc_host_note_count(const struct nc_host *host)
{
	return host->notes.count;
}

const char *nc_host_note(const struct nc_host *host, size_t index)
{
	return host->notes.items[index];
}
