/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a struct nc_host is made of; for the library's own files.
 */
#ifndef NC_HOST_DATA_H
#define NC_HOST_DATA_H

#include "links.h"

struct nc_host {
	char *name;             /* of the root, as it was given; NULL = "/" */
	struct np_sysroot root; /* open as long as the host lives, for aliases of events */
	struct nc_cpu cpu;
	struct nc_tables *tables;
	const struct nc_family *family;
	struct nc_places places;
	struct nc_pmu *pmus;
	size_t pmu_count;
	struct nc_links links;
	struct nc_notes notes;
};

#endif
