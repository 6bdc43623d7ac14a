/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../server/client/load_plan.h"
#include "../../../server/client/load_schedule.h"

#include <errno.h>
#include <math.h>

#define START_NS UINT64_C(123456789012345)

static void fixed_times_are_evenly_spaced_and_do_not_drift(void **state)
{
	/* A spacing that no whole number of nanoseconds is: 333333.33 ns. */
	static const double rate = 3000;
	struct nl_schedule schedule;
	uint64_t first;

	(void)state;
	nl_schedule_begin(&schedule, NL_ARRIVALS_FIXED, rate, START_NS, 1);
	first = nl_schedule_next_ns(&schedule);
	assert_true(first >= START_NS && first < START_NS + 333334);
	for (uint64_t i = 0; i < 3000000; i++) {
		uint64_t due = nl_schedule_next_ns(&schedule);
		double wanted = (double)(first - START_NS) + (double)i * 1e9 / rate;

		assert_true(fabs((double)(due - START_NS) - wanted) < 1.5);
		nl_schedule_take(&schedule);
	}
}

static void threads_with_seeds_of_their_own_begin_at_different_phases(void **state)
{
	struct nl_schedule a;
	struct nl_schedule b;

	(void)state;
	nl_schedule_begin(&a, NL_ARRIVALS_FIXED, 10, START_NS, 1);
	nl_schedule_begin(&b, NL_ARRIVALS_FIXED, 10, START_NS, 2);
	assert_true(nl_schedule_next_ns(&a) != nl_schedule_next_ns(&b));
}

/*
 * Exponential spacing: mean and standard deviation are the interval, and of the numbers in equal spans
 * the variance is the mean.
 */
static void poisson_times_are_a_poisson_process(void **state)
{
	enum { COUNT = 1000000, SPAN_COUNT = 1000 };
	struct nl_schedule schedule;
	uint64_t counts[SPAN_COUNT + 1] = { 0 };
	uint64_t before = START_NS;
	double sum = 0;
	double squares = 0;
	double variance = 0;

	(void)state;
	nl_schedule_begin(&schedule, NL_ARRIVALS_POISSON, 1e6, START_NS, 7);
	for (int i = 0; i < COUNT; i++) {
		uint64_t due = nl_schedule_next_ns(&schedule);
		double gap = (double)(due - before);

		assert_true(due >= before);
		if (due - START_NS < 900000000)
			counts[(due - START_NS) / (900000000 / SPAN_COUNT)]++;
		sum += gap;
		squares += gap * gap;
		before = due;
		nl_schedule_take(&schedule);
	}
	assert_true(fabs(sum / COUNT / 1000 - 1) < 0.005);
	assert_true(fabs(sqrt(squares / COUNT - pow(sum / COUNT, 2)) / 1000 - 1) < 0.005);
	for (int i = 0; i < SPAN_COUNT; i++)
		variance += pow((double)counts[i] - 900, 2) / SPAN_COUNT;
	/* Its standard deviation is sqrt(2 / 1000) of it. */
	assert_true(fabs(variance / 900 - 1) < 0.2);
}

static void the_same_seed_gives_the_same_times(void **state)
{
	struct nl_schedule a;
	struct nl_schedule b;

	(void)state;
	nl_schedule_begin(&a, NL_ARRIVALS_POISSON, 5000, START_NS, 9);
	nl_schedule_begin(&b, NL_ARRIVALS_POISSON, 5000, START_NS, 9);
	for (int i = 0; i < 1000; i++) {
		assert_true(nl_schedule_next_ns(&a) == nl_schedule_next_ns(&b));
		nl_schedule_take(&a);
		nl_schedule_take(&b);
	}
}

static void skipping_counts_as_taking_one_by_one(void **state)
{
	(void)state;
	for (int arrivals = NL_ARRIVALS_FIXED; arrivals <= NL_ARRIVALS_POISSON; arrivals++) {
		for (uint64_t until_ms = 0; until_ms < 300; until_ms++) {
			uint64_t until_ns = START_NS + until_ms * 1000000;
			struct nl_schedule one;
			struct nl_schedule many;
			uint64_t taken = 0;

			check_case("%s, %d ms", arrivals ? "poisson" : "fixed", (int)until_ms);
			nl_schedule_begin(&one, (enum nl_arrivals)arrivals, 777, START_NS, 4);
			many = one;
			while (nl_schedule_next_ns(&one) < until_ns) {
				nl_schedule_take(&one);
				taken++;
			}
			assert_number(nl_schedule_skip(&many, until_ns), taken);
			assert_true(nl_schedule_next_ns(&many) >= until_ns);
			assert_number(nl_schedule_skip(&many, until_ns), 0);
			assert_number(nl_schedule_skip(&many, 0), 0);
		}
	}
}

/* A billion a second for 1000 s. */
static void skipping_a_trillion_takes_no_time(void **state)
{
	(void)state;
	for (int arrivals = NL_ARRIVALS_FIXED; arrivals <= NL_ARRIVALS_POISSON; arrivals++) {
		struct nl_schedule schedule;
		uint64_t skipped;

		check_case("%s", arrivals ? "poisson" : "fixed");
		nl_schedule_begin(&schedule, (enum nl_arrivals)arrivals, 1e9, START_NS, 4);
		skipped = nl_schedule_skip(&schedule, START_NS + UINT64_C(1000000000000));
		assert_true(fabs((double)skipped / 1e12 - 1) < 0.004);
	}
}

/* ---- how a plan is shared out ---- */

static void parts_add_up_to_the_whole(void **state)
{
	static const uint64_t totals[] = { 1, 7, 16, 1000, UINT64_C(1) << 40 };

	(void)state;
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		for (unsigned threads = 1; threads <= 9; threads++) {
			uint64_t sum = 0;
			uint64_t least = UINT64_MAX;
			uint64_t most = 0;

			for (unsigned thread = 0; thread < threads; thread++) {
				uint64_t part = nl_load_part(totals[i], threads, thread);

				sum += part;
				least = part < least ? part : least;
				most = part > most ? part : most;
			}
			check_case("%llu for %u", (unsigned long long)totals[i], threads);
			assert_number(sum, totals[i]);
			assert_number(most - least <= 1, true);
		}
	}
}

static void a_thread_has_the_rate_of_its_connections_and_its_own_seeds_and_cpu(void **state)
{
	struct nl_load_plan plan = {
		.connections = 5,
		.threads = 2,
		.rate_per_s = 1000,
		.seed = 1,
		.cpus = set_of("3,8-9"),
	};

	(void)state;
	assert_true(fabs(nl_load_part_rate(&plan, 0) - 600) < 1e-9);
	assert_true(fabs(nl_load_part_rate(&plan, 1) - 400) < 1e-9);
	assert_number(nl_load_part_cpu(&plan, 0), 3);
	assert_number(nl_load_part_cpu(&plan, 1), 8);
	assert_number(nl_load_part_cpu(&plan, 2), 9);
	assert_true(nl_load_part_seed(&plan, 0, 0) != nl_load_part_seed(&plan, 0, 1));
	assert_true(nl_load_part_seed(&plan, 0, 1) != nl_load_part_seed(&plan, 1, 0));
	nl_load_plan_release(&plan);
	assert_number(nl_load_part_cpu(&plan, 0), -1);
}

static const struct {
	const char *text;
	double rate; /* 0 = refused */
} rates[] = {
	{ "1", 1 },       { "0.5", 0.5 }, { "250K", 250e3 }, { "1.5M", 1.5e6 }, { "3k", 3000 },
	{ "1000M", 1e9 }, { "0", 0 },     { "", 0 },         { "K", 0 },        { "-1", 0 },
	{ "1G", 0 },      { "1KK", 0 },   { "1001M", 0 },    { "0.0001", 0 },   { "1e3", 0 },
	{ "nan", 0 },     { "1.2.3", 0 }, { "0x10", 0 },     { " 1", 0 },
};

static void rates_have_decimal_suffixes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct np_error err = { 0 };
		double rate = -1;
		int rc = nl_load_rate_parse("--rate", rates[i].text, &rate, &err);

		check_case("'%s'", rates[i].text);
		if (rates[i].rate > 0) {
			assert_np_ok(rc, &err);
			assert_true(fabs(rate - rates[i].rate) < 1e-9 * rates[i].rate);
		} else {
			assert_fails(rc, -EINVAL, &err, "--rate: '");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_times_are_evenly_spaced_and_do_not_drift),
		cmocka_unit_test(threads_with_seeds_of_their_own_begin_at_different_phases),
		cmocka_unit_test(poisson_times_are_a_poisson_process),
		cmocka_unit_test(the_same_seed_gives_the_same_times),
		cmocka_unit_test(skipping_counts_as_taking_one_by_one),
		cmocka_unit_test(skipping_a_trillion_takes_no_time),
		cmocka_unit_test(parts_add_up_to_the_whole),
		cmocka_unit_test(
			a_thread_has_the_rate_of_its_connections_and_its_own_seeds_and_cpu),
		cmocka_unit_test(rates_have_decimal_suffixes),
	};

	return cmocka_run_group_tests_name("load_schedule", tests, NULL, NULL);
}
