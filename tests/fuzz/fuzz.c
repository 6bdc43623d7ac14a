/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *why, const char *text)
{
	fprintf(stderr, "not lawful: %s: '%s'\n", why, text);
	abort();
}

char *fuzz_text(const uint8_t *data, size_t size)
{
	size_t len = strnlen((const char *)data, size);
	char *text = malloc(len + 1);

	if (!text)
		abort();
	if (len > 0)
		memcpy(text, data, len);
	text[len] = '\0';
	return text;
}

static bool is_one_of(int code, const int *codes)
{
	while (*codes && *codes != code)
		codes++;
	return *codes == code;
}

void fuzz_check(int rc, const struct np_error *err, const int *codes)
{
	if (rc >= 0) {
		if (err->code || err->text[0])
			fuzz_fail("success, but an error was recorded", err->text);
		return;
	}
	if (err->code != -rc)
		fuzz_fail("the error's code is not the one returned", err->text);
	if (!is_one_of(-rc, codes))
		fuzz_fail("a code that is not in the contract", err->text);
	if (!err->text[0])
		fuzz_fail("an empty text", err->text);
	for (const char *c = err->text; *c; c++)
		if (*c < 32 || *c > 126)
			fuzz_fail("not one line of printable ASCII", err->text);
}
