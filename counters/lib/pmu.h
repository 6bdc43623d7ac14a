/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One PMU of sys/bus/event_source/devices. Nothing else of sysfs is looked at: since Linux 6.10 many
 * PMUs have no folder of their own in sys/devices any more.
 */
#ifndef NC_PMU_H
#define NC_PMU_H

#include "places.h"

#include <numacount/host.h>

#define NC_PMU_DIR "sys/bus/event_source/devices"

/* The kernel's drivers have at most some dozens of terms, and some hundreds of PMUs a socket. */
#define NC_PMU_FORMATS_MAX 256
#define NC_PMUS_MAX 16384

/* "sys/bus/event_source/devices/NAME/FILE"; returns @buf. */
#define NC_PMU_PATH_SIZE 640
const char *nc_pmu_path(const char *name, const char *file, char buf[NC_PMU_PATH_SIZE]);

/*
 * Reads one PMU; the caller ends *ret with nc_pmu_release(), which is also fine after a failure. CPUs
 * of its mask that are not online are left out with a note: nothing could be opened there.
 *
 *   -EINVAL, -ERANGE ...  a damaged file; err names it
 *   -ENOENT               no type file: it is no PMU
 *   -ENOMEM
 */
int nc_pmu_read(const struct np_sysroot *root, const char *name, const struct nc_places *places,
                struct nc_notes *notes, struct nc_pmu *ret, struct np_error *err);
void nc_pmu_release(struct nc_pmu *pmu);

/*
 * Reads them all, by name with the numbers in it in their order. What is damaged is left out with a
 * note. The caller ends each, and then the block with free().
 *
 *   -ENOMEM
 */
int nc_pmus_read(const struct np_sysroot *root, const struct nc_places *places,
                 struct nc_notes *notes, struct nc_pmu **ret, size_t *ret_count,
                 struct np_error *err);

/* The term of that name, or NULL. */
const struct nc_format *nc_pmu_format(const struct nc_pmu *pmu, const char *name);

/* Whether its name or its alias is of the pattern (nc_pmu_matches); *ret_number is 0 for a name
 * without one. */
bool nc_pmu_is_of(const struct nc_pmu *pmu, const char *pattern, unsigned *ret_number);

#endif
