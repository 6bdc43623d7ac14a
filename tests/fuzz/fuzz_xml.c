/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our reading of what hwloc imports from an XML export. Only what hwloc hands on as it is comes
 * from the input: names, sizes, numbers and distances, divided by '|'. Bytes anywhere else crash
 * hwloc itself within seconds (2.9.0: an object without a cpuset), which is not ours to find.
 */
#include "fuzz.h"

#include <ctype.h>
#include <errno.h>
#include <numaprobe/rank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIELDS = 8, FIELD_SIZE = 256 };

static const int codes[] = { EINVAL, 0 };

/* The next part of the input, without the bytes that have a meaning in XML; "" behind the last. */
static void take_field(const char **input, const char *end, char ret[FIELD_SIZE])
{
	size_t used = 0;

	for (; *input < end && **input != '|'; (*input)++)
		if (!strchr("<>&\"'", **input) && used < FIELD_SIZE - 1)
			ret[used++] = **input;
	ret[used] = '\0';
	if (*input < end)
		(*input)++;
}

/* hwloc believes the lengths in an export: only numbers and blanks may be counted by them. */
static void keep_numbers(char *text)
{
	char *out = text;

	for (const char *c = text; *c; c++)
		if (isdigit((unsigned char)*c) || *c == ' ')
			*out++ = *c;
	*out = '\0';
}

/* One of the two packages, with its node, its CPU and a card. */
static void write_package(FILE *out, unsigned index, char field[FIELDS][FIELD_SIZE])
{
	char sets[160];
	unsigned bit = index + 1;

	snprintf(sets, sizeof(sets),
	         "cpuset=\"0x%u\" complete_cpuset=\"0x%u\" nodeset=\"0x%u\" "
	         "complete_nodeset=\"0x%u\"",
	         bit, bit, bit, bit);
	fprintf(out, "<object type=\"Package\" gp_index=\"1%u\" os_index=\"%s\" %s>\n", index,
	        field[0], sets);
	fprintf(out,
	        "<object type=\"NUMANode\" gp_index=\"2%u\" os_index=\"%u\" local_memory=\"%s\" "
	        "%s/>\n",
	        index, index, field[1], sets);
	fprintf(out, "<object type=\"PU\" gp_index=\"3%u\" os_index=\"%u\" %s/>\n", index, index,
	        sets);
	fprintf(out,
	        "<object type=\"Bridge\" gp_index=\"4%u\" bridge_type=\"0-1\" depth=\"0\" "
	        "bridge_pci=\"0000:[0%u-0%u]\">\n",
	        index, index, index);
	fprintf(out,
	        "<object type=\"PCIDev\" gp_index=\"5%u\" pci_busid=\"%s\" "
	        "pci_type=\"0200 [1234:0001] [0000:0000] 01\" pci_link_speed=\"%s\">\n",
	        index, field[2], field[3]);
	fprintf(out,
	        "<object type=\"OSDev\" gp_index=\"6%u\" name=\"%s\" osdev_type=\"2\"/>\n"
	        "</object></object></object>\n",
	        index, field[4 + index]);
}

static void write_export(FILE *out, char field[FIELDS][FIELD_SIZE])
{
	keep_numbers(field[6]);
	fputs("<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n"
	      "<object type=\"Machine\" os_index=\"0\" gp_index=\"1\" cpuset=\"0x3\" "
	      "complete_cpuset=\"0x7\" allowed_cpuset=\"0x3\" nodeset=\"0x3\" "
	      "complete_nodeset=\"0x3\" allowed_nodeset=\"0x3\">\n",
	      out);
	write_package(out, 0, field);
	write_package(out, 1, field);
	fprintf(out,
	        "</object>\n<distances2 type=\"NUMANode\" nbobjs=\"2\" kind=\"5\" name=\"%s\" "
	        "indexing=\"os\">\n<indexes length=\"4\">0 1 </indexes>\n"
	        "<u64values length=\"%zu\">%s</u64values>\n</distances2>\n</topology>\n",
	        field[7], strlen(field[6]), field[6]);
}

static void check(const char *path)
{
	struct np_topology_source source = { .hwloc_xml = path, .scope = NP_TOPOLOGY_ALL };
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };
	int rc = np_topology_load(&source, &topology, &err);

	fuzz_check(rc, &err, codes);
	for (size_t i = 0; rc == 0 && i < np_topology_device_count(topology); i++) {
		struct np_rank rank = { 0 };

		if (np_rank_cpus(topology, &np_topology_device(topology, i)->locality, &rank,
		                 NULL) == 0)
			np_rank_release(&rank);
	}
	np_topology_free(topology);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *input = (const char *)data;
	const char *end = input + size;
	char field[FIELDS][FIELD_SIZE];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	char path[64];

	for (size_t i = 0; i < FIELDS; i++)
		take_field(&input, end, field[i]);
	if (!out)
		abort();
	write_export(out, field);
	fflush(out);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check(path);
	fclose(out);
	return 0;
}
