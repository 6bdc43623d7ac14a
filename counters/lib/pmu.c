/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmu.h"

#include "format.h"

#include <errno.h>
#include <limits.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *nc_pmu_path(const char *name, const char *file, char buf[NC_PMU_PATH_SIZE])
{
	/* Both are at most NAME_MAX long, or what else they are is no file. */
	snprintf(buf, NC_PMU_PATH_SIZE, NC_PMU_DIR "/%s/%s", name, file);
	return buf;
}

static int read_format(const struct np_sysroot *root, struct nc_pmu *pmu, const char *file,
                       struct np_error *err)
{
	struct nc_format *format = &pmu->formats[pmu->format_count];
	char term[NC_PMU_PATH_SIZE / 2];
	char path[NC_PMU_PATH_SIZE];
	char *text;
	int rc;

	snprintf(term, sizeof(term), "format/%s", file);
	nc_pmu_path(pmu->name, term, path);
	rc = np_sysroot_read(root, path, &text, err);
	if (rc < 0)
		return rc;
	rc = nc_format_parse(text, format, err);
	free(text);
	/* A newer kernel's: that term cannot be used, the others can. */
	if (rc == -ENOTSUP)
		return 0;
	if (rc < 0)
		return np_error_wrap(err, rc, "%s/%s", root->path, path);
	format->name = strdup(file);
	if (!format->name)
		return np_error_sys(err, ENOMEM, "%s", path);
	pmu->format_count++;
	return 0;
}

static int read_formats(const struct np_sysroot *root, struct nc_pmu *pmu, struct np_error *err)
{
	struct np_error ignored = { 0 };
	char path[NC_PMU_PATH_SIZE];
	char **names;
	int count = np_sysroot_list(root, nc_pmu_path(pmu->name, "format", path), &names, &ignored);
	int rc = 0;

	if (count == -ENOENT)
		return 0;
	if (count < 0)
		return np_error_sys(err, -count, "%s/%s", root->path, path);
	if (count > NC_PMU_FORMATS_MAX) {
		free(names);
		return np_error_set(err, E2BIG, "%s/%s: more than %d terms", root->path, path,
		                    NC_PMU_FORMATS_MAX);
	}
	pmu->formats = calloc((size_t)count + 1, sizeof(*pmu->formats));
	if (!pmu->formats)
		rc = np_error_sys(err, ENOMEM, "%s", path);
	for (int i = 0; i < count && rc == 0; i++)
		rc = read_format(root, pmu, names[i], err);
	free(names);
	return rc;
}

/* The first CPU of each socket in @from. */
static int one_for_each_socket(const struct nc_places *places, const struct np_bitmap *from,
                               struct np_bitmap *ret)
{
	struct np_bitmap seen = { 0 };
	int rc = 0;

	np_bitmap_for_each (cpu, from) {
		const struct nc_place *place = nc_places_of(places, cpu);

		if (!place || np_bitmap_has(&seen, place->socket))
			continue;
		rc = np_bitmap_add(&seen, place->socket);
		if (rc == 0)
			rc = np_bitmap_add(ret, cpu);
		if (rc < 0)
			break;
	}
	np_bitmap_release(&seen);
	return rc;
}

static int drop_offline(const struct nc_places *places, struct nc_notes *notes, struct nc_pmu *pmu,
                        struct np_error *err)
{
	struct np_bitmap offline = { 0 };
	int rc = np_bitmap_copy(&offline, &pmu->cpus);
	char *list;

	np_bitmap_and_not(&offline, &places->online);
	if (rc < 0 || np_bitmap_is_empty(&offline)) {
		np_bitmap_release(&offline);
		return rc;
	}
	np_bitmap_and(&pmu->cpus, &places->online);
	list = np_cpulist_print(&offline);
	np_bitmap_release(&offline);
	if (!list)
		return -ENOMEM;
	rc = nc_notes_add(notes, err, "%s: CPU %s of its mask is not online", pmu->name, list);
	free(list);
	return rc;
}

/*
 * cpumask: a box that several CPUs share, to be opened on these. cpus: a core PMU. None: every CPU
 * has it, or, of some PMUs of Arm's, associated_cpus tells which CPUs are near.
 */
static int read_cpus(const struct np_sysroot *root, const struct nc_places *places,
                     struct nc_notes *notes, struct nc_pmu *pmu, struct np_error *err)
{
	struct np_bitmap near_cpus = { 0 };
	char path[NC_PMU_PATH_SIZE];
	bool has_near = false;
	int rc = np_sysroot_read_list_optional(root, nc_pmu_path(pmu->name, "cpumask", path),
	                                       &pmu->cpus, &pmu->has_cpus, err);

	if (rc == 0 && !pmu->has_cpus) {
		rc = np_sysroot_read_list_optional(root, nc_pmu_path(pmu->name, "cpus", path),
		                                   &pmu->cpus, &pmu->has_cpus, err);
		pmu->is_core = pmu->has_cpus;
	}
	if (rc == 0 && !pmu->has_cpus)
		rc = np_sysroot_read_list_optional(root,
		                                   nc_pmu_path(pmu->name, "associated_cpus", path),
		                                   &near_cpus, &has_near, err);
	if (rc == 0 && has_near) {
		pmu->has_cpus = true;
		rc = one_for_each_socket(places, &near_cpus, &pmu->cpus);
	} else if (rc == 0 && !pmu->has_cpus) {
		pmu->is_core = true;
		rc = np_bitmap_copy(&pmu->cpus, &places->online);
	}
	np_bitmap_release(&near_cpus);
	return rc < 0 ? rc : drop_offline(places, notes, pmu, err);
}

int nc_pmu_read(const struct np_sysroot *root, const char *name, const struct nc_places *places,
                struct nc_notes *notes, struct nc_pmu *ret, struct np_error *err)
{
	char path[NC_PMU_PATH_SIZE];
	char *alias = NULL;
	long type;
	int rc;

	*ret = (struct nc_pmu){ .name = strdup(name) };
	if (!ret->name)
		return np_error_sys(err, ENOMEM, "%s", name);
	rc = np_sysroot_read_long(root, nc_pmu_path(name, "type", path), 0, INT_MAX, &type, err);
	if (rc < 0)
		return rc;
	ret->type = (unsigned)type;
	rc = np_sysroot_read_optional(root, nc_pmu_path(name, "alias", path), &alias, err);
	if (rc < 0)
		return rc;
	ret->alias = alias;
	rc = read_cpus(root, places, notes, ret, err);
	return rc < 0 ? rc : read_formats(root, ret, err);
}

void nc_pmu_release(struct nc_pmu *pmu)
{
	for (size_t i = 0; i < pmu->format_count; i++)
		free((char *)pmu->formats[i].name);
	free(pmu->formats);
	free((char *)pmu->name);
	free((char *)pmu->alias);
	np_bitmap_release(&pmu->cpus);
	*pmu = (struct nc_pmu){ 0 };
}

static int compare_names(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int nc_pmus_read(const struct np_sysroot *root, const struct nc_places *places,
                 struct nc_notes *notes, struct nc_pmu **ret, size_t *ret_count,
                 struct np_error *err)
{
	struct np_error why = { 0 };
	struct nc_pmu *pmus;
	size_t used = 0;
	char **names;
	int count = np_sysroot_list(root, NC_PMU_DIR, &names, &why);
	int rc = 0;

	if (count < 0)
		return nc_notes_add(notes, err, "no PMUs: %s", why.text);
	if (count > NC_PMUS_MAX)
		count = NC_PMUS_MAX;
	qsort(names, (size_t)count, sizeof(*names), compare_names);
	pmus = calloc((size_t)count + 1, sizeof(*pmus));
	if (!pmus)
		rc = np_error_sys(err, ENOMEM, "%s", NC_PMU_DIR);
	for (int i = 0; i < count && rc == 0; i++) {
		int read = nc_pmu_read(root, names[i], places, notes, &pmus[used], &why);

		if (read == 0) {
			used++;
			continue;
		}
		nc_pmu_release(&pmus[used]);
		rc = read == -ENOMEM
		             ? np_error_sys(err, ENOMEM, "%s", names[i])
		             : nc_notes_add(notes, err, "%s is left out: %s", names[i], why.text);
	}
	free(names);
	*ret = pmus;
	*ret_count = used;
	return rc;
}

const struct nc_format *nc_pmu_format(const struct nc_pmu *pmu, const char *name)
{
	for (size_t i = 0; i < pmu->format_count; i++)
		if (strcmp(pmu->formats[i].name, name) == 0)
			return &pmu->formats[i];
	return NULL;
}

bool nc_pmu_is_of(const struct nc_pmu *pmu, const char *pattern, unsigned *ret_number)
{
	*ret_number = 0;
	return nc_pmu_matches(pattern, pmu->name, ret_number) ||
	       (pmu->alias && nc_pmu_matches(pattern, pmu->alias, ret_number));
}
