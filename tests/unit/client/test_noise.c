/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include "../../../launcher/lib/affinity.h"
#include "../../../server/client/noise_text.h"
#include "../../../server/client/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define DURATION_NS UINT64_C(60000000)

/* On one CPU, so that it is known which one is looked at. */
static struct nl_place stay(void)
{
	struct np_bitmap before = { 0 };
	struct np_error err = { 0 };
	struct nl_place place;

	assert_number(nr_affinity_read(0, &before), 0);
	assert_np_ok(nl_place_take((int)np_bitmap_next(&before, 0), &place, &err), &err);
	np_bitmap_release(&before);
	return place;
}

static void leave(struct nl_place *place)
{
	assert_number(nr_affinity_write(0, &place->before), 0);
	nl_place_release(place);
}

static struct nl_noise measure(const struct np_sysroot *root)
{
	struct nl_noise noise = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(nl_noise_measure(root, DURATION_NS, NULL, &noise, &err), &err);
	return noise;
}

static void what_is_measured_hangs_together(void **state)
{
	const struct host *host = *state;
	struct nl_place place = stay();
	struct nl_noise noise = measure(&host->root);

	assert_number(noise.cpu, place.cpu);
	assert_true(noise.duration_ns >= DURATION_NS / 3 * 2);
	assert_true(noise.reads > 0 && noise.read_ns > 0);
	assert_true(noise.threshold_ns >= 1000 && noise.threshold_ns >= 10 * noise.read_ns);
	assert_true(noise.gap_p50_ns <= noise.gap_p99_ns && noise.gap_p99_ns <= noise.gap_max_ns);
	assert_true(noise.gaps == 0 || noise.gap_max_ns > noise.threshold_ns);
	assert_true(noise.gap_ns >= noise.gap_max_ns);
	assert_in_range(noise.wakeups, 0, 20);
	assert_true(noise.late_p50_ns <= noise.late_p99_ns &&
	            noise.late_p99_ns <= noise.late_max_ns);
	leave(&place);
}

static void the_timer_slack_is_restored(void **state)
{
	const struct host *host = *state;

	assert_number(prctl(PR_SET_TIMERSLACK, 12345UL, 0, 0, 0), 0);
	measure(&host->root);
	assert_number(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 12345);
}

static void steal_is_that_of_this_cpu_or_unknown(void **state)
{
	static const struct {
		const char *text; /* %u is the CPU */
		bool knows;
	} cases[] = {
		{ "cpu  1 2 3 4 5 6 7 8 9 10\ncpu%u 1 2 3 4 5 6 7 8 9 10\nintr 1\n", true },
		{ "cpu  1 2 3 4 5 6 7 8 9 10\ncpu%u 1 2 3 4 5 6 7 8\n", true },
		{ "cpu  1 2 3 4 5 6 7 8 9 10\ncpu%u 1 2 3\n", false },
		{ "cpu  1 2 3 4 5 6 7 8 9 10\ncpu%u1 1 2 3 4 5 6 7 8\n", false },
		{ "cpu  1 2 3 4 5 6 7 8 9 10\n", false },
		{ "cpu  1 2\ncpu%u x y z\n", false },
		{ "", false },
	};
	const struct host *host = *state;
	struct nl_place place = stay();

	assert_false(measure(&host->root).knows_steal);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nl_noise noise;
		char number[16];
		char text[256];
		const char *mark = strstr(cases[i].text, "%u");

		snprintf(number, sizeof(number), "%u", place.cpu);
		snprintf(text, sizeof(text), "%.*s%s%s",
		         mark ? (int)(mark - cases[i].text) : (int)strlen(cases[i].text),
		         cases[i].text, mark ? number : "", mark ? mark + 2 : "");
		host_write(host, "proc/stat", text);
		noise = measure(&host->root);
		check_case("%s", text);
		assert_number(noise.knows_steal, cases[i].knows);
		assert_number(noise.steal_ns, 0);
	}
	leave(&place);
}

static void a_stop_before_the_first_reading_leaves_nothing(void **state)
{
	const volatile sig_atomic_t stop = SIGINT;
	const struct host *host = *state;
	struct nl_noise noise = { .reads = 7 };
	struct np_error err = { 0 };

	assert_fails(nl_noise_measure(&host->root, UINT64_C(3600000000000), &stop, &noise, &err),
	             -EINTR, &err, "stopped before anything was measured");
	assert_number(noise.reads, 7);
}

static void what_is_not_known_is_null(void **state)
{
	static const struct nl_noise noise = { .cpu = -1, .reads = 1, .read_ns = 30 };
	static const char *const names[] = { "cpu", "gap_p50_ns", "gap_max_ns", "late_max_ns",
		                             "steal_ns" };
	json_t *object = nl_noise_json(&noise);

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(json_is_null(json_object_get(object, names[i])));
	assert_number(json_integer_value(json_object_get(object, "read_ns")), 30);
	assert_true(json_is_integer(json_object_get(object, "gaps")));
	json_decref(object);
}

static void times_have_three_digits_and_a_unit(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 ns" },           { 999, "999 ns" },        { 1000, "1.00 us" },
		{ 85123, "85.1 us" },    { 4490000, "4.49 ms" },   { 999999, "1000.0 us" },
		{ 12000000, "12.0 ms" }, { 3000000000, "3.00 s" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_text(nl_ns_text(cases[i].ns, text, sizeof(text)), cases[i].text);
}

static void one_line_says_what_the_host_takes_away(void **state)
{
	static const struct nl_noise often = { .reads = 50000000,
		                               .read_ns = 40,
		                               .gaps = 24,
		                               .gap_ns = 240000,
		                               .gap_max_ns = 85123,
		                               .wakeups = 1000,
		                               .late_max_ns = 60200 };
	static const struct nl_noise never = { .reads = 50000000, .read_ns = 40 };
	char text[128];

	(void)state;
	assert_text(nl_noise_brief(&often, text, sizeof(text)),
	            "taken away 12 times a second, for up to 85.1 us; wakes up to 60.2 us late");
	assert_text(nl_noise_brief(&never, text, sizeof(text)), "never taken away in 2 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(what_is_measured_hangs_together),
		host_test(the_timer_slack_is_restored),
		host_test(steal_is_that_of_this_cpu_or_unknown),
		host_test(a_stop_before_the_first_reading_leaves_nothing),
		cmocka_unit_test(what_is_not_known_is_null),
		cmocka_unit_test(times_have_three_digits_and_a_unit),
		cmocka_unit_test(one_line_says_what_the_host_takes_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
