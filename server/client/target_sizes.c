/* SPDX-License-Identifier: BSD-3-Clause */
/* How large the objects are. */
#include "target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PART_SIZE = 48 }; /* of "SIZE:WEIGHT" */

#define WEIGHT_MAX 1000000u

static int parse_part(const char *option, char *text, struct nl_sizes *sizes, struct np_error *err)
{
	char *colon = strchr(text, ':');
	uint64_t bytes;
	uint64_t weight = 1;
	int rc;

	if (colon)
		*colon = '\0';
	rc = nl_cmd_size(option, text, NL_OBJECT_MAX, &bytes, err);
	if (rc == 0 && colon)
		rc = nl_cmd_u64(option, colon + 1, 1, WEIGHT_MAX, &weight, err);
	if (rc < 0)
		return rc;
	sizes->parts[sizes->count].bytes = bytes;
	sizes->parts[sizes->count].weight = weight;
	sizes->count++;
	sizes->weight += weight;
	return 0;
}

int nl_sizes_parse(const char *option, const char *text, struct nl_sizes *ret, struct np_error *err)
{
	struct nl_sizes sizes = { 0 };
	const char *at = text;

	for (;;) {
		size_t size = strcspn(at, ",");
		char part[PART_SIZE];
		int rc;

		if (sizes.count == NL_SIZES_MAX)
			return np_error_set(err, EINVAL, "%s: more than %d sizes", option,
			                    NL_SIZES_MAX);
		if (size >= sizeof(part))
			return np_error_set(err, EINVAL, "%s: %zu letters are no SIZE:WEIGHT",
			                    option, size);
		memcpy(part, at, size);
		part[size] = '\0';
		rc = parse_part(option, part, &sizes, err);
		if (rc < 0)
			return rc;
		if (at[size] == '\0')
			break;
		at += size + 1;
	}
	*ret = sizes;
	return 0;
}

/* Spreads indexes that follow each other: the finalizer of splitmix64. */
static uint64_t spread(uint64_t key)
{
	key += UINT64_C(0x9e3779b97f4a7c15);
	key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
	return key ^ (key >> 31);
}

uint64_t nl_sizes_of(const struct nl_sizes *sizes, uint32_t key)
{
	uint64_t place;
	unsigned i = 0;

	if (sizes->count == 1)
		return sizes->parts[0].bytes;
	place = spread(key) % sizes->weight;
	while (i + 1 < sizes->count && place >= sizes->parts[i].weight)
		place -= sizes->parts[i++].weight;
	return sizes->parts[i].bytes;
}

uint64_t nl_sizes_greatest(const struct nl_sizes *sizes)
{
	uint64_t greatest = 0;

	for (unsigned i = 0; i < sizes->count; i++)
		if (sizes->parts[i].bytes > greatest)
			greatest = sizes->parts[i].bytes;
	return greatest;
}
