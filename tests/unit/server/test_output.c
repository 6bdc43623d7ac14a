/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of what a session has to say: order, limits, and pins that end when their object is sent. */
#include "made_store.h"

#include <protocol/output.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- helpers ---- */

enum { VALUE_BYTES = 4000 };

struct fixture {
	struct made made;
	struct ns_output *output;
	const struct ns_object *object; /* pinned once by us */
	const char *head;
};

/* In place: the store refers to what is in it. */
static void fixture_create(struct fixture *fixture)
{
	char value[VALUE_BYTES + 1] = "";
	size_t bytes;

	*fixture = (struct fixture){ .made = made_default(1, 4) };
	made_create(&fixture->made);
	for (size_t i = 0; i < VALUE_BYTES; i++)
		value[i] = (char)('a' + i % 23);
	made_set(&fixture->made, "key", value);
	fixture->object = made_get(&fixture->made, "key");
	fixture->head = ns_object_head(fixture->made.store, fixture->object, &bytes);
	fixture->output = ns_output_create(fixture->made.thread);
}

/* Pins beside the index's and our own: those that the output has. */
static unsigned pins(const struct fixture *fixture)
{
	return fixture->object->pins - 2;
}

static void add_object(struct fixture *fixture, uint64_t offset, uint64_t count)
{
	ns_object_pin(fixture->object);
	assert_number(ns_output_add_object(fixture->output, fixture->made.store, fixture->object,
	                                   offset, count),
	              0);
}

static void fixture_destroy(struct fixture *fixture)
{
	ns_output_free(fixture->output);
	assert_number(pins(fixture), 0);
	ns_object_unpin(fixture->made.thread, fixture->object);
	made_destroy(&fixture->made);
}

static size_t total(struct ns_output *output)
{
	struct iovec pieces[2048];
	unsigned count = ns_output_pieces(output, pieces, 2048);
	size_t bytes = 0;

	for (unsigned i = 0; i < count; i++)
		bytes += pieces[i].iov_len;
	return bytes;
}

/* Sends @count bytes and puts them behind what was sent before. */
static void send_some(struct ns_output *output, size_t count, char **to)
{
	struct iovec piece;

	while (count > 0 && ns_output_pieces(output, &piece, 1) == 1) {
		size_t part = count < piece.iov_len ? count : piece.iov_len;

		memcpy(*to, piece.iov_base, part);
		*to += part;
		count -= part;
		ns_output_sent(output, part);
	}
}

/* ---- tests ---- */

static void what_is_added_is_sent_in_order_whatever_the_pieces(void **state)
{
	static const size_t steps[] = { 1, 7, 4096, 1000000 };
	char *expected = malloc(1 << 20);
	char *found = malloc(1 << 20);

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct fixture fixture;
		struct ns_output *output;
		char *to = expected;
		char *got = found;

		check_case("steps of %zu", steps[i]);
		fixture_create(&fixture);
		output = fixture.output;
		for (size_t n = 0; n < 300; n++) {
			to += sprintf(to, "VALUE %zu\r\n", n);
			assert_number(ns_output_print(output, "VALUE %zu\r\n", n), 0);
			add_object(&fixture, n, n * 3);
			memcpy(to, fixture.head + n, n * 3);
			to += n * 3;
			if (n % 5 == 0)
				send_some(output, steps[i], &got);
		}
		while (!ns_output_is_empty(output))
			send_some(output, steps[i], &got);
		assert_number(got - found, to - expected);
		assert_memory_equal(found, expected, (size_t)(to - expected));
		assert_number(pins(&fixture), 0);
		assert_number(made_counts(&fixture.made).local_heads, 299); /* one was of 0 bytes */
		fixture_destroy(&fixture);
	}
	free(expected);
	free(found);
}

static void an_object_is_counted_once_when_all_of_it_is_sent(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_create(&fixture);
	add_object(&fixture, 0, 1000);
	ns_output_sent(fixture.output, 300);
	ns_output_sent(fixture.output, 699);
	assert_number(made_counts(&fixture.made).local_heads, 0);
	assert_number(pins(&fixture), 1);
	ns_output_sent(fixture.output, 1);
	assert_number(made_counts(&fixture.made).local_heads, 1);
	assert_number(made_counts(&fixture.made).local_bytes, 1000);
	assert_number(pins(&fixture), 0);
	fixture_destroy(&fixture);
}

static void what_is_not_sent_is_unpinned_and_its_sent_part_counted(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_create(&fixture);
	add_object(&fixture, 0, 1000);
	add_object(&fixture, 0, 1000);
	ns_output_sent(fixture.output, 300);
	ns_output_free(fixture.output);
	fixture.output = NULL;
	assert_number(pins(&fixture), 0);
	assert_number(made_counts(&fixture.made).local_heads, 1);
	assert_number(made_counts(&fixture.made).local_bytes, 300);
	fixture_destroy(&fixture);
}

static void it_is_full_at_its_limits_and_no_more_once_sent(void **state)
{
	struct fixture fixture;
	struct ns_output *output;
	const struct ns_object *small;
	unsigned objects = 0;
	unsigned pieces = 0;
	size_t text = 0;

	(void)state;
	fixture_create(&fixture);
	output = fixture.output;
	/* One byte of each, and yet none of their heads can be used for another object. */
	for (; !ns_output_is_full(output); objects++)
		add_object(&fixture, 0, 1);
	assert_true(ns_output_pins_enough(output));
	assert_number(objects, (NS_OUTPUT_PINNED_MAX + VALUE_BYTES - 1) / VALUE_BYTES);
	ns_output_sent(output, total(output));
	assert_false(ns_output_is_full(output));
	made_set(&fixture.made, "small", "x");
	small = made_get(&fixture.made, "small");
	for (; !ns_output_is_full(output); pieces++) {
		ns_object_pin(small);
		assert_number(ns_output_add_object(output, fixture.made.store, small, 0, 1), 0);
	}
	assert_number(pieces, NS_OUTPUT_PIECES_MAX);
	assert_false(ns_output_pins_enough(output));
	ns_output_sent(output, total(output));
	assert_false(ns_output_is_full(output));
	ns_object_unpin(fixture.made.thread, small);
	for (; !ns_output_is_full(output); text += 10)
		ns_output_add(output, "0123456789", 10);
	assert_in_range(text, NS_OUTPUT_COPIED_MAX, NS_OUTPUT_COPIED_MAX + 10);
	ns_output_sent(output, total(output));
	assert_true(ns_output_is_empty(output));
	/* What a burst took is given back. */
	assert_in_range(ns_output_bytes(output), 1, 16384);
	fixture_destroy(&fixture);
}

static void a_long_text_is_printed_whole(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_create(&fixture);
	assert_number(ns_output_print(fixture.output, "%70000d", 7), 0);
	assert_number(total(fixture.output), 70000);
	fixture_destroy(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_is_sent_in_order_whatever_the_pieces),
		cmocka_unit_test(an_object_is_counted_once_when_all_of_it_is_sent),
		cmocka_unit_test(what_is_not_sent_is_unpinned_and_its_sent_part_counted),
		cmocka_unit_test(it_is_full_at_its_limits_and_no_more_once_sent),
		cmocka_unit_test(a_long_text_is_printed_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
