/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a PMU's files and an event's terms say. The bytes are lines: two formats, the terms, and a
 * cpumask. What is encoded must be what the formats allow, and nothing beyond.
 */
#include "fuzz.h"

#include "../../counters/lib/encode.h"
#include "../../counters/lib/format.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdlib.h>
#include <string.h>

static const int format_codes[] = { EINVAL, ENOTSUP, 0 };
/* An alias is in a file, and here is no root to read it in. */
static const int encode_codes[] = { EINVAL, ERANGE, EBADF, 0 };
static const int list_codes[] = { EINVAL, ERANGE, 0 };

static uint64_t bits_of(const struct nc_format *format)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < format->bit_count; i++)
		bits |= UINT64_C(1) << format->bits[i];
	return bits;
}

static bool parse_format(const char *text, const char *name, struct nc_format *ret)
{
	struct np_error err = { 0 };
	int rc;

	*ret = (struct nc_format){ .name = name };
	rc = nc_format_parse(text, ret, &err);
	fuzz_check(rc, &err, format_codes);
	if (rc < 0 && ret->bit_count > 0)
		fuzz_fail("refused, but filled", text);
	if (rc < 0)
		return false;
	if (ret->bit_count < 1 || ret->bit_count > 64 || ret->field > 3)
		fuzz_fail("no bits, too many, or of no field", text);
	if ((unsigned)__builtin_popcountll(bits_of(ret)) != ret->bit_count)
		fuzz_fail("a bit twice", text);
	return true;
}

static void encode(const char *terms, const struct nc_format *formats, size_t count)
{
	const struct np_sysroot nowhere = { .fd = -1, .path = "" };
	struct nc_pmu pmu = { .name = "p", .type = 7, .format_count = count };
	struct nc_code code = { .type = 99 };
	uint64_t allowed[4] = { 0 };
	struct np_error err = { 0 };
	int rc;

	pmu.formats = (struct nc_format *)formats;
	rc = nc_encode(&nowhere, &pmu, terms, &code, &err);
	fuzz_check(rc, &err, encode_codes);
	if (code.type != (rc < 0 ? 99 : 7))
		fuzz_fail("refused and filled, or encoded and not", terms);
	for (size_t i = 0; i < count; i++)
		allowed[formats[i].field] |= bits_of(&formats[i]);
	for (unsigned i = 0; i < 4 && rc == 0 && !strstr(terms, "config"); i++)
		if (code.config[i] & ~allowed[i])
			fuzz_fail("a bit that no term has", terms);
}

static void parse_mask(const char *text)
{
	struct np_bitmap set = { 0 };
	struct np_error err = { 0 };

	fuzz_check(np_cpulist_parse(text, &set, &err), &err, list_codes);
	np_bitmap_release(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "event", "umask" };
	char *text = fuzz_text(data, size);
	char *rest = text;
	struct nc_format formats[2];
	size_t count = 0;
	const char *line;

	for (size_t i = 0; i < 2 && (line = strsep(&rest, "\n")); i++)
		count += parse_format(line, names[i], &formats[count]);
	line = strsep(&rest, "\n");
	if (line)
		encode(line, formats, count);
	if (rest)
		parse_mask(rest);
	free(text);
	return 0;
}
