/* SPDX-License-Identifier: BSD-3-Clause */
#include "cpu.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All of one processor's lines are in the first few KiB; a file of 512 CPUs is longer than 1 MiB. */
enum { HEAD_BYTES = 64 * 1024 };

/* The lines of interest, by their names in the file; NULL = there is no such line. */
struct lines {
	const char *vendor_id;
	const char *family;
	const char *model;
	const char *stepping;
	const char *model_name;
	const char *implementer;
	const char *part;
	const char *variant;
	const char *cpu;
};

static const struct {
	const char *name;
	size_t offset;
} names[] = {
	{ "vendor_id", offsetof(struct lines, vendor_id) },
	{ "cpu family", offsetof(struct lines, family) },
	{ "model", offsetof(struct lines, model) },
	{ "stepping", offsetof(struct lines, stepping) },
	{ "model name", offsetof(struct lines, model_name) },
	{ "CPU implementer", offsetof(struct lines, implementer) },
	{ "CPU part", offsetof(struct lines, part) },
	{ "CPU variant", offsetof(struct lines, variant) },
	{ "cpu", offsetof(struct lines, cpu) },
};

/* Cuts a text at its last letter. */
static char *trim_end(char *text, char *end)
{
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text;
}

/* "NAME : VALUE"; the first line of each name counts. Changes the line. */
static void take_line(char *line, struct lines *lines)
{
	char *colon = strchr(line, ':');
	const char *value;

	if (!colon)
		return;
	value = colon + 1 + strspn(colon + 1, " \t");
	trim_end(line, colon);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char **slot = (const char **)(void *)((char *)lines + names[i].offset);

		if (strcmp(names[i].name, line) == 0 && !*slot)
			*slot = value;
	}
}

static void take_lines(char *text, struct lines *lines)
{
	char *next;

	for (char *line = text; line; line = next) {
		next = strchr(line, '\n');
		trim_end(line, next ? next : line + strlen(line));
		if (next)
			next++;
		take_line(line, lines);
	}
}

/* One number, decimal or 0x; false for all else, and for what is not there. */
static bool read_number(const char *text, unsigned *ret)
{
	unsigned long value;
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || *end || value > UINT_MAX)
		return false;
	*ret = (unsigned)value;
	return true;
}

static enum nc_vendor vendor_of(const char *vendor_id)
{
	if (strcmp(vendor_id, "GenuineIntel") == 0)
		return NC_VENDOR_INTEL;
	return strcmp(vendor_id, "AuthenticAMD") == 0 ? NC_VENDOR_AMD : NC_VENDOR_UNKNOWN;
}

/* Fills the numbers where all of them are there. */
static void take_numbers(enum nc_vendor vendor, const char *family, const char *model,
                         const char *stepping, struct nc_cpu *ret)
{
	struct nc_cpu cpu = *ret;

	cpu.vendor = vendor;
	/* Early steppings and some guests give none: 0 is what the kernel takes then. */
	read_number(stepping, &cpu.stepping);
	if (read_number(family, &cpu.family) && read_number(model, &cpu.model))
		*ret = cpu;
}

/* "POWER9 (raw), altivec supported" and "POWER10 (architected), ..." */
static bool take_power(const char *cpu, struct nc_cpu *ret)
{
	unsigned family = 0;

	if (sscanf(cpu, "POWER%3u", &family) != 1 || !isdigit((unsigned char)cpu[5]))
		return false;
	ret->vendor = NC_VENDOR_POWER;
	ret->family = family;
	return true;
}

static void take_title(const char *title, struct nc_cpu *ret)
{
	if (title)
		np_error_quote(title, ret->title, sizeof(ret->title));
}

/* The file's first @size bytes, ended by NUL; a file that cannot be read is empty. */
static void read_head(const struct np_sysroot *root, char *text, size_t size)
{
	if (np_sysroot_read_head(root, "proc/cpuinfo", text, size, NULL) < 0)
		*text = '\0';
}

int nc_cpu_read(const struct np_sysroot *root, struct nc_cpu *ret, struct np_error *err)
{
	struct lines lines = { 0 };
	struct nc_cpu cpu = { 0 };
	char *text = malloc(HEAD_BYTES);

	if (!text)
		return np_error_sys(err, ENOMEM, "%s/proc/cpuinfo", root->path);
	read_head(root, text, HEAD_BYTES);
	take_lines(text, &lines);
	take_title(lines.model_name ? lines.model_name : lines.cpu, &cpu);
	if (lines.vendor_id)
		take_numbers(vendor_of(lines.vendor_id), lines.family, lines.model, lines.stepping,
		             &cpu);
	else if (lines.implementer)
		take_numbers(NC_VENDOR_ARM, lines.implementer, lines.part, lines.variant, &cpu);
	else if (lines.cpu)
		take_power(lines.cpu, &cpu);
	free(text);
	*ret = cpu;
	return 0;
}

const char *nc_cpu_text(const struct nc_cpu *cpu, char *buf, size_t size)
{
	bool has_title = cpu->title[0];
	char numbers[80];

	switch (cpu->vendor) {
	case NC_VENDOR_INTEL:
	case NC_VENDOR_AMD:
		snprintf(numbers, sizeof(numbers), "%s %u/%u/%u",
		         cpu->vendor == NC_VENDOR_INTEL ? "GenuineIntel" : "AuthenticAMD",
		         cpu->family, cpu->model, cpu->stepping);
		break;
	case NC_VENDOR_ARM:
		snprintf(numbers, sizeof(numbers), "Arm 0x%02x/0x%03x/%u", cpu->family, cpu->model,
		         cpu->stepping);
		break;
	case NC_VENDOR_POWER:
		snprintf(numbers, sizeof(numbers), "POWER%u", cpu->family);
		break;
	default:
		snprintf(numbers, sizeof(numbers), "unknown processor");
		break;
	}
	snprintf(buf, size, "%s%s%s%s", numbers, has_title ? " (" : "", cpu->title,
	         has_title ? ")" : "");
	return buf;
}
