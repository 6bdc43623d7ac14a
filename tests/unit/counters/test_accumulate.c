/* SPDX-License-Identifier: BSD-3-Clause */
/* Readings to values: pure arithmetic, in tables. */
#include "../../../counters/lib/accumulate.h"
#include "check.h"

#include <math.h>

#define MS UINT64_C(1000000)
#define TERA UINT64_C(1000000000000)
#define BIT(n) (UINT64_C(1) << (n))

enum { INTERVALS = 1000000 };

#define assert_close(found, wanted) assert_true(fabs((found) - (wanted)) < 1e-9)

struct step_case {
	const char *name;
	struct nc_reading last, now;
	uint64_t clock_ns;
	enum nc_note note;
	uint64_t own; /* what the total gained, too */
	double coverage;
};

static const struct step_case step_cases[] = {
	{ "all of the time",
	  { 5, 10, 10, 0 },
	  { 1005, 100 * MS + 10, 100 * MS + 10, 0 },
	  100 * MS,
	  NC_NOTE_NONE,
	  1000,
	  1.0 },
	{ "nothing happened",
	  { 5, 0, 0, 0 },
	  { 5, 100 * MS, 100 * MS, 0 },
	  100 * MS,
	  NC_NOTE_NONE,
	  0,
	  1.0 },
	{ "a little late is exact",
	  { 0, 0, 0, 0 },
	  { 1000, 96 * MS, 96 * MS, 0 },
	  100 * MS,
	  NC_NOTE_NONE,
	  1000,
	  1.0 },
	{ "early is exact",
	  { 0, 0, 0, 0 },
	  { 1000, 130 * MS, 130 * MS, 0 },
	  100 * MS,
	  NC_NOTE_NONE,
	  1000,
	  1.0 },
	{ "half of the time",
	  { 0, 0, 0, 0 },
	  { 1000, 100 * MS, 50 * MS, 0 },
	  100 * MS,
	  NC_NOTE_MULTIPLEXED,
	  2000,
	  0.5 },
	{ "a third, rounded",
	  { 0, 0, 0, 0 },
	  { 1000, 100, 30, 0 },
	  100,
	  NC_NOTE_MULTIPLEXED,
	  3333,
	  0.3 },
	{ "a part, rounded up",
	  { 0, 0, 0, 0 },
	  { 5, 100, 60, 0 },
	  100,
	  NC_NOTE_MULTIPLEXED,
	  8,
	  0.6 },
	{ "products beyond 64 bits",
	  { 0, 0, 0, 0 },
	  { BIT(46), 86400000 * MS, 43200000 * MS, 0 },
	  86400000 * MS,
	  NC_NOTE_MULTIPLEXED,
	  BIT(47),
	  0.5 },
	{ "lags behind the clock",
	  { 0, 0, 0, 0 },
	  { 1000, 50 * MS, 50 * MS, 0 },
	  100 * MS,
	  NC_NOTE_MULTIPLEXED,
	  2000,
	  0.5 },
	{ "moved",
	  { 0, 0, 0, 0 },
	  { 1000, 100 * MS, 100 * MS, NC_NOTE_MOVED },
	  100 * MS,
	  NC_NOTE_MOVED,
	  1000,
	  1.0 },
	{ "moved, with a gap",
	  { 0, 0, 0, 0 },
	  { 1000, 80 * MS, 80 * MS, NC_NOTE_MOVED },
	  100 * MS,
	  NC_NOTE_MOVED,
	  1250,
	  0.8 },
	{ "wraps at 48 bits",
	  { BIT(48) - 400, 0, 0, 0 },
	  { 600, 100 * MS, 100 * MS, 0 },
	  100 * MS,
	  NC_NOTE_NONE,
	  1000,
	  1.0 },
	{ "wraps at 48 bits, behind a base",
	  { BIT(50) + BIT(48) - 400, 0, 0, 0 },
	  { BIT(50) + 600, 100 * MS, 100 * MS, 0 },
	  100 * MS,
	  NC_NOTE_NONE,
	  1000,
	  1.0 },
	{ "wraps at 64 bits",
	  { UINT64_MAX - 399, 0, 0, 0 },
	  { 600, 100 * MS, 100 * MS, 0 },
	  100 * MS,
	  NC_NOTE_NONE,
	  1000,
	  1.0 },
	{ "wraps, half of the time",
	  { BIT(48) - 400, 0, 0, 0 },
	  { 600, 100 * MS, 50 * MS, 0 },
	  100 * MS,
	  NC_NOTE_MULTIPLEXED,
	  2000,
	  0.5 },
	{ "falls by one",
	  { 1000, 0, 0, 0 },
	  { 999, 100 * MS, 100 * MS, 0 },
	  100 * MS,
	  NC_NOTE_BACKWARDS,
	  0,
	  0.0 },
	{ "falls to zero",
	  { BIT(47), 0, 0, 0 },
	  { 0, 100 * MS, 100 * MS, 0 },
	  100 * MS,
	  NC_NOTE_BACKWARDS,
	  0,
	  0.0 },
	{ "falls by more than 48 bits",
	  { BIT(60), 0, 0, 0 },
	  { 0, 100 * MS, 100 * MS, 0 },
	  100 * MS,
	  NC_NOTE_BACKWARDS,
	  0,
	  0.0 },
	{ "falls below zero",
	  { 10, 0, 0, 0 },
	  { UINT64_MAX - 5, 100 * MS, 100 * MS, 0 },
	  100 * MS,
	  NC_NOTE_BACKWARDS,
	  0,
	  0.0 },
	{ "fell, and the driver took it for a wrap",
	  { 1000, 0, 0, 0 },
	  { 1000 + BIT(48) - 200, 100 * MS, 100 * MS, 0 },
	  100 * MS,
	  NC_NOTE_BACKWARDS,
	  0,
	  0.0 },
	{ "a day at 10^12 a second",
	  { 0, 0, 0, 0 },
	  { 86400 * TERA, 86400000 * MS, 86400000 * MS, 0 },
	  86400000 * MS,
	  NC_NOTE_NONE,
	  86400 * TERA,
	  1.0 },
	{ "not counted", { 7, 0, 0, 0 }, { 7, 100 * MS, 0, 0 }, 100 * MS, NC_NOTE_BUSY, 0, 0.0 },
	{ "not even asked", { 7, 5, 5, 0 }, { 7, 5, 5, 0 }, 100 * MS, NC_NOTE_BUSY, 0, 0.0 },
	{ "no time passed", { 7, 5, 5, 0 }, { 7, 5, 5, 0 }, 0, NC_NOTE_NONE, 0, 1.0 },
	{ "offline",
	  { 7, 5, 5, 0 },
	  { 7, 5, 5, NC_NOTE_OFFLINE },
	  100 * MS,
	  NC_NOTE_OFFLINE,
	  0,
	  0.0 },
	{ "gone", { 7, 5, 5, 0 }, { 7, 5, 5, NC_NOTE_GONE }, 100 * MS, NC_NOTE_GONE, 0, 0.0 },
	{ "failed", { 7, 5, 5, 0 }, { 7, 5, 5, NC_NOTE_FAILED }, 100 * MS, NC_NOTE_FAILED, 0, 0.0 },
};

static void a_step_counts_what_was_counted(void **state)
{
	(void)state;

	for (size_t i = 0; i < sizeof(step_cases) / sizeof(step_cases[0]); i++) {
		const struct step_case *c = &step_cases[i];
		struct nc_count count;
		struct nc_step step;

		check_case("%s", c->name);
		nc_count_begin(&count, &c->last);
		nc_count_add(&count, &c->now, c->clock_ns, &step);

		assert_number(step.note, c->note);
		assert_number(step.own, c->own);
		assert_number(step.gain, c->own);
		assert_number(count.counts, c->own);
		assert_close(step.coverage, c->coverage);
	}
}

/* One series of one counter that is read again and again. */
struct meter {
	struct nc_reading reading;
	struct nc_count count;
	struct nc_step step;
	struct nc_value value;
	uint32_t units, per;
};

static void meter_begin(struct meter *meter, uint64_t raw, uint32_t units, uint32_t per)
{
	*meter = (struct meter){ .reading = { .raw = raw }, .units = units, .per = per };
	nc_count_begin(&meter->count, &meter->reading);
}

/* 100 ms pass in which it counts so much in so long; @note is the reading's. */
static void meter_pass(struct meter *meter, uint64_t counts, uint64_t running_ns, enum nc_note note)
{
	meter->reading.raw += counts;
	if (!nc_note_is_unknown(note))
		meter->reading.enabled_ns += 100 * MS;
	meter->reading.running_ns += running_ns;
	meter->reading.note = note;
	nc_count_add(&meter->count, &meter->reading, 100 * MS, &meter->step);
	nc_value_begin(&meter->value);
	nc_value_add(&meter->value, &meter->count, &meter->step, meter->units, meter->per);
}

static void time_that_is_owed_is_made_up_for_in_the_total_alone(void **state)
{
	struct meter m;

	(void)state;
	meter_begin(&m, 0, 1, 1);
	meter_pass(&m, 1000, 100 * MS, NC_NOTE_NONE);
	meter_pass(&m, 0, 0, NC_NOTE_NONE);
	assert_false(m.value.is_known);
	assert_number(m.value.note, NC_NOTE_BUSY);
	assert_number(m.value.total, 1000);
	assert_close(m.value.coverage, 0.0);
	assert_close(m.value.coverage_total, 0.5);
	meter_pass(&m, 0, 0, NC_NOTE_NONE);
	assert_number(m.value.total, 1000);

	meter_pass(&m, 250, 25 * MS, NC_NOTE_NONE);
	assert_true(m.value.is_known);
	assert_number(m.value.note, NC_NOTE_MULTIPLEXED);
	assert_number(m.value.delta, 1000);
	assert_number(m.value.total, 4000);
	assert_close(m.value.coverage, 0.25);
	assert_close(m.value.coverage_total, 125.0 / 400);

	meter_pass(&m, 1000, 100 * MS, NC_NOTE_NONE);
	assert_number(m.value.note, NC_NOTE_NONE);
	assert_number(m.value.delta, 1000);
	assert_number(m.value.total, 5000);
}

static void turns_of_any_length_leave_the_total_unbiased(void **state)
{
	struct meter m;

	(void)state;
	meter_begin(&m, 0, 1, 1);
	/* 10 counts a ms; it runs in every third interval, for all of it. */
	for (unsigned i = 0; i < 3000; i++)
		meter_pass(&m, i % 3 == 2 ? 1000 : 0, i % 3 == 2 ? 100 * MS : 0, NC_NOTE_NONE);

	assert_number(m.value.total, 3000 * 1000);
	assert_number(m.value.delta, 1000);
	assert_close(m.value.coverage_total, 1.0 / 3);
}

static void what_was_offline_is_not_made_up(void **state)
{
	struct meter m;

	(void)state;
	meter_begin(&m, 0, 1, 1);
	meter_pass(&m, 1000, 100 * MS, NC_NOTE_NONE);
	for (unsigned i = 0; i < 8; i++)
		meter_pass(&m, 0, 0, NC_NOTE_OFFLINE);
	assert_number(m.value.note, NC_NOTE_OFFLINE);
	meter_pass(&m, 1000, 100 * MS, NC_NOTE_NONE);

	assert_true(m.value.is_known);
	assert_number(m.value.note, NC_NOTE_NONE);
	assert_number(m.value.delta, 1000);
	assert_number(m.value.total, 2000);
	assert_close(m.value.coverage_total, 0.2);
}

/* Its file went on counting, so the numbers are in the next one that can be read. */
static void what_could_not_be_read_counts_in_the_total(void **state)
{
	struct meter m;

	(void)state;
	meter_begin(&m, 0, 1, 1);
	meter_pass(&m, 1000, 100 * MS, NC_NOTE_NONE);
	meter_pass(&m, 0, 0, NC_NOTE_FAILED);
	m.reading.enabled_ns += 100 * MS;
	meter_pass(&m, 2000, 200 * MS, NC_NOTE_NONE);

	assert_number(m.value.delta, 1000);
	assert_number(m.value.total, 3000);
	assert_close(m.value.coverage, 1.0);
	assert_close(m.value.coverage_total, 2.0 / 3);
}

static void after_a_fall_it_goes_on_from_there(void **state)
{
	struct meter m;

	(void)state;
	meter_begin(&m, 5000, 1, 1);
	meter_pass(&m, 1000, 100 * MS, NC_NOTE_NONE);
	m.reading.raw = 10;
	meter_pass(&m, 0, 100 * MS, NC_NOTE_NONE);
	assert_false(m.value.is_known);
	assert_number(m.value.note, NC_NOTE_BACKWARDS);
	assert_number(m.value.total, 1000);
	meter_pass(&m, 1000, 100 * MS, NC_NOTE_NONE);

	assert_true(m.value.is_known);
	assert_number(m.value.delta, 1000);
	assert_number(m.value.total, 2000);
	assert_close(m.value.coverage_total, 2.0 / 3);
}

static void a_million_deltas_in_ninths_add_up_to_the_total(void **state)
{
	struct meter m;
	uint64_t sum = 0;
	uint64_t counts = 0;

	(void)state;
	meter_begin(&m, 12345, 64, 9);
	for (unsigned i = 0; i < INTERVALS; i++) {
		meter_pass(&m, i % 11, 100 * MS, NC_NOTE_NONE);
		sum += m.value.delta;
		counts += i % 11;
	}

	assert_number(m.value.total, counts * 64 / 9);
	assert_number(sum, m.value.total);
	assert_close(m.value.coverage_total, 1.0);
}

static void multiplexed_deltas_add_up_to_the_total(void **state)
{
	struct meter m;
	uint64_t sum = 0;

	(void)state;
	meter_begin(&m, 0, 64, 9);
	for (unsigned i = 0; i < INTERVALS; i++) {
		meter_pass(&m, i % 7, 30 * MS + i % 13, NC_NOTE_NONE);
		sum += m.value.delta;
	}

	assert_number(sum, m.value.total);
}

static void counters_of_different_units_add_up(void **state)
{
	struct meter a, b;
	struct nc_value value = { 0 };
	uint64_t sum = 0;

	(void)state;
	meter_begin(&a, 0, 64, 9);
	meter_begin(&b, 0, 32, 1);
	for (unsigned i = 0; i < 100; i++) {
		meter_pass(&a, 7, 100 * MS, NC_NOTE_NONE);
		meter_pass(&b, 3, 100 * MS, NC_NOTE_NONE);
		nc_value_begin(&value);
		nc_value_add(&value, &a.count, &a.step, 64, 9);
		nc_value_add(&value, &b.count, &b.step, 32, 1);
		sum += value.delta;
	}

	assert_number(value.total, 100 * 7 * 64 / 9 + 100 * 3 * 32);
	assert_number(sum, value.total);
}

static void the_worst_counter_speaks_for_the_series(void **state)
{
	struct meter a, b, c;
	struct nc_value value = { 0 };

	(void)state;
	meter_begin(&a, 0, 1, 1);
	meter_begin(&b, 0, 1, 1);
	meter_begin(&c, 0, 1, 1);
	meter_pass(&a, 1000, 100 * MS, NC_NOTE_NONE);
	meter_pass(&b, 500, 50 * MS, NC_NOTE_NONE);
	meter_pass(&c, 0, 0, NC_NOTE_NONE);

	nc_value_begin(&value);
	nc_value_add(&value, &a.count, &a.step, 1, 1);
	nc_value_add(&value, &b.count, &b.step, 1, 1);
	assert_true(value.is_known);
	assert_number(value.delta, 2000);
	assert_number(value.note, NC_NOTE_MULTIPLEXED);
	assert_close(value.coverage, 0.5);

	nc_value_add(&value, &c.count, &c.step, 1, 1);
	assert_false(value.is_known);
	assert_number(value.delta, 0);
	assert_number(value.note, NC_NOTE_BUSY);
	assert_close(value.coverage, 0.0);
	/* What is known of it is in the total. */
	assert_number(value.total, 2000);
}

static void units_beyond_64_bits_stay_at_the_largest_number(void **state)
{
	(void)state;

	assert_true(nc_count_units(UINT64_MAX, 64, 1) == UINT64_MAX);
	assert_true(nc_count_units(UINT64_MAX, 9, 9) == UINT64_MAX);
	assert_number(nc_count_units(8, 64, 9), 56);
	assert_number(nc_count_units(9, 64, 9), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_counts_what_was_counted),
		cmocka_unit_test(time_that_is_owed_is_made_up_for_in_the_total_alone),
		cmocka_unit_test(turns_of_any_length_leave_the_total_unbiased),
		cmocka_unit_test(what_was_offline_is_not_made_up),
		cmocka_unit_test(what_could_not_be_read_counts_in_the_total),
		cmocka_unit_test(after_a_fall_it_goes_on_from_there),
		cmocka_unit_test(a_million_deltas_in_ninths_add_up_to_the_total),
		cmocka_unit_test(multiplexed_deltas_add_up_to_the_total),
		cmocka_unit_test(counters_of_different_units_add_up),
		cmocka_unit_test(the_worst_counter_speaks_for_the_series),
		cmocka_unit_test(units_beyond_64_bits_stay_at_the_largest_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
