/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis_keys.h"
#include "analysis_side.h"
#include "sequence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { CHUNK = 8192 };

/* The keys of one arm. */
struct key_reader {
	const struct nl_input *input;
	struct nl_cursor *cursor;
	uint64_t keys[CHUNK];
	uint64_t hash;
};

/* The next @count keys, at most CHUNK; there are that many. */
static int read_keys(struct key_reader *reader, size_t count, struct np_error *err)
{
	size_t done = 0;

	while (done < count) {
		ssize_t got =
			nl_cursor_read(reader->cursor, reader->keys + done, count - done, err);

		if (got < 0)
			return (int)got;
		if (got == 0)
			return np_error_set(err, EBADMSG, "%s: the keys end before the others",
			                    reader->input->label);
		done += (size_t)got;
	}
	for (size_t i = 0; i < count; i++)
		reader->hash = nl_sequence_hash(reader->hash, (uint32_t)reader->keys[i]);
	return 0;
}

static int differ(const struct key_reader *a, const struct key_reader *b, uint64_t row, size_t i,
                  struct np_error *err)
{
	return np_error_set(err, EBADMSG,
	                    "keys differ from row %" PRIu64 " on: %" PRIu64 " in %s, %" PRIu64
	                    " in %s; --unpaired compares requests for other keys",
	                    row + i, a->keys[i], a->input->label, b->keys[i], b->input->label);
}

static int walk(struct key_reader *a, struct key_reader *b, struct nl_comparison *comparison,
                struct np_error *err)
{
	uint64_t rows = comparison->samples;
	bool match = true;

	for (uint64_t row = 0; row < rows; row += CHUNK) {
		size_t count = rows - row < CHUNK ? (size_t)(rows - row) : CHUNK;
		int rc = read_keys(a, count, err);

		if (rc == 0)
			rc = read_keys(b, count, err);
		if (rc < 0)
			return rc;
		for (size_t i = 0; i < count && match; i++) {
			match = a->keys[i] == b->keys[i];
			if (!match && !comparison->options.is_unpaired)
				return differ(a, b, row, i, err);
		}
	}
	comparison->keys_match = match;
	comparison->key_hash_a = nl_sequence_fold(NL_SEQUENCE_HASH_BASIS, a->hash);
	comparison->key_hash_b = nl_sequence_fold(NL_SEQUENCE_HASH_BASIS, b->hash);
	return 0;
}

static int reader_begin(struct key_reader *reader, const struct nl_input *input,
                        struct np_error *err)
{
	reader->input = input;
	reader->hash = NL_SEQUENCE_HASH_BASIS;
	return nl_cursor_create(input->trace, NL_KEY, input->arm, &reader->cursor, err);
}

int nl_keys_compare(struct nl_comparison *comparison, struct np_error *err)
{
	struct key_reader *readers;
	int rc;

	/* Equal hashes of the same number of keys are equal keys. */
	comparison->keys_match = comparison->key_hash_a == comparison->key_hash_b;
	if (!comparison->is_cut && (comparison->keys_match || comparison->options.is_unpaired))
		return 0;
	readers = calloc(2, sizeof(*readers));
	if (!readers)
		return nl_analysis_no_memory(err);
	rc = reader_begin(&readers[0], &comparison->a, err);
	if (rc == 0)
		rc = reader_begin(&readers[1], &comparison->b, err);
	if (rc == 0)
		rc = walk(&readers[0], &readers[1], comparison, err);
	nl_cursor_free(readers[0].cursor);
	nl_cursor_free(readers[1].cursor);
	free(readers);
	return rc;
}
