/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists and masks of CPUs. What parses must print and parse back to the same set.
 */
#include "fuzz.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdlib.h>
#include <string.h>

static const int codes[] = { EINVAL, 0 };

static void check_round_trip(const struct np_bitmap *set)
{
	struct np_bitmap back = { 0 };
	struct np_error err = { 0 };
	char brief[16];
	char *text = np_cpulist_print(set);

	if (!text)
		abort();
	if (np_cpulist_parse(text, &back, &err) < 0 || !np_bitmap_equal(set, &back))
		fuzz_fail("it prints to something else", text);
	np_cpulist_brief(set, brief, sizeof(brief));
	if (strlen(text) < sizeof(brief) ? strcmp(brief, text) != 0 : !strstr(brief, "..."))
		fuzz_fail("its short form", brief);
	free(text);
	np_bitmap_release(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_bitmap list = { 0 };
	struct np_bitmap mask = { 0 };
	struct np_error list_err = { 0 };
	struct np_error mask_err = { 0 };
	char *text = fuzz_text(data, size);
	int list_rc = np_cpulist_parse(text, &list, &list_err);
	int mask_rc = np_cpumask_parse(text, &mask, &mask_err);

	fuzz_check(list_rc, &list_err, codes);
	fuzz_check(mask_rc, &mask_err, codes);
	if (list_rc == 0)
		check_round_trip(&list);
	if (mask_rc == 0)
		check_round_trip(&mask);
	np_bitmap_release(&list);
	np_bitmap_release(&mask);
	free(text);
	return 0;
}
