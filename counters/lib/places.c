/* SPDX-License-Identifier: BSD-3-Clause */
#include "places.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define CPU_DIR "sys/devices/system/cpu"

/* A number of a CPU's topology folder: -1 where the kernel tells none. */
static int read_id(const struct np_sysroot *root, unsigned cpu, const char *file, long *ret,
                   struct np_error *err)
{
	char path[128];
	int rc;

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/topology/%s", cpu, file);
	rc = np_sysroot_read_long(root, path, -1, INT_MAX, ret, err);
	if (rc == -ENOENT || rc == -ENOTDIR) {
		*ret = -1;
		return 0;
	}
	return rc;
}

static int read_place(const struct np_sysroot *root, unsigned cpu, struct nc_place *ret,
                      struct np_error *err)
{
	struct np_error ignored = { 0 };
	long socket, die;
	int rc = read_id(root, cpu, "physical_package_id", &socket, err);

	if (rc < 0)
		return rc;
	/* die_id came with Linux 5.2, and is -1 on some that have no dies. */
	if (read_id(root, cpu, "die_id", &die, &ignored) < 0 || die < 0)
		die = 0;
	if (socket > (long)NP_BITMAP_INDEX_MAX)
		return np_error_set(err, ERANGE, "CPU %u is of socket %ld, above %u", cpu, socket,
		                    NP_BITMAP_INDEX_MAX);
	*ret = (struct nc_place){
		.has_socket = socket >= 0,
		.socket = socket >= 0 ? (unsigned)socket : 0,
		.die = (unsigned)die,
	};
	return 0;
}

/* What is damaged makes a note, and the rest goes on; only memory that runs out is an error. */
static int note(struct nc_notes *notes, int rc, const char *what, const struct np_error *why,
                struct np_error *err)
{
	if (rc == -ENOMEM)
		return np_error_sys(err, ENOMEM, "%s", what);
	return nc_notes_add(notes, err, "%s: %s", what, why->text);
}

static int read_places(const struct np_sysroot *root, struct nc_places *ret, struct nc_notes *notes,
                       struct np_error *err)
{
	np_bitmap_for_each (cpu, &ret->online) {
		struct nc_place *place = &ret->cpus[cpu];
		struct np_error why = { 0 };
		int rc = read_place(root, cpu, place, &why);

		if (rc < 0)
			rc = note(notes, rc, "a CPU's socket is not known", &why, err);
		if (rc == 0 && place->has_socket)
			rc = np_bitmap_add(&ret->sockets, place->socket);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A capture may hold the CPUs' folders and not the list of those that are online. */
static int list_folders(const struct np_sysroot *root, const struct np_error *why,
                        struct nc_places *ret, struct nc_notes *notes, struct np_error *err)
{
	int rc = np_sysroot_list_indexes(root, CPU_DIR, "cpu", &ret->online, NULL);

	if (rc == -ENOMEM)
		return np_error_sys(err, ENOMEM, "CPUs");
	if (rc < 0 || np_bitmap_is_empty(&ret->online)) {
		if (err)
			*err = *why;
		return np_error_wrap(err, -ENOENT, "no host's root");
	}
	return nc_notes_add(notes, err, "%s: all CPUs that are there are taken to be online",
	                    why->text);
}

int nc_places_read(const struct np_sysroot *root, struct nc_places *ret, struct nc_notes *notes,
                   struct np_error *err)
{
	struct np_error why = { 0 };
	int rc = np_sysroot_read_list(root, CPU_DIR "/online", &ret->online, &why);

	if (rc == -ENOENT || rc == -ENOTDIR) {
		rc = list_folders(root, &why, ret, notes, err);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return note(notes, rc, "no CPU is known to be online", &why, err);
	if (np_bitmap_is_empty(&ret->online))
		return 0;

	ret->cpu_count = np_bitmap_last(&ret->online) + 1;
	ret->cpus = calloc(ret->cpu_count, sizeof(*ret->cpus));
	if (!ret->cpus)
		return np_error_sys(err, ENOMEM, "the sockets of CPUs");
	return read_places(root, ret, notes, err);
}

void nc_places_release(struct nc_places *places)
{
	np_bitmap_release(&places->online);
	np_bitmap_release(&places->sockets);
	free(places->cpus);
	*places = (struct nc_places){ 0 };
}

const struct nc_place *nc_places_of(const struct nc_places *places, unsigned cpu)
{
	if (cpu >= places->cpu_count || !places->cpus[cpu].has_socket)
		return NULL;
	return &places->cpus[cpu];
}
