/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines split into words, whole and scanned in two pieces: both must agree.
 */
#include "fuzz.h"

#include "../../launcher/lib/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int codes[] = { EINVAL, 0 };

/* The text may be cut anywhere, here at a third: scanned on from there it ends as it does whole. */
static bool is_lawful_in_pieces(const char *text)
{
	size_t length = strlen(text) / 3;
	char *head = strndup(text, length);
	struct nr_quoting quoting = { 0 };
	bool lawful;

	if (!head)
		abort();
	lawful = nr_words_scan(head, &quoting, NULL) == 0 &&
	         nr_words_scan(text + length, &quoting, NULL) == 0 && !nr_quoting_is_open(&quoting);
	free(head);
	return lawful;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct np_error err = { 0 };
	char **words = NULL;
	int count = nr_words_split(text, &words, &err);
	size_t total = 0;

	fuzz_check(count, &err, codes);
	if ((count >= 0) != (words != NULL))
		fuzz_fail("words without a number, or a number without words", text);
	if ((count >= 0) != is_lawful_in_pieces(text))
		fuzz_fail("in two pieces it is something else", text);
	for (int i = 0; i < count; i++)
		total += strlen(words[i]);
	if (total > strlen(text))
		fuzz_fail("longer words than the text", text);
	if (count >= 0 && words[count])
		fuzz_fail("the words are not ended", text);
	free(words);
	free(text);
	return 0;
}
