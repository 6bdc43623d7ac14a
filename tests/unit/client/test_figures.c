/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures: that gnuplot draws what is written for it, whatever the figures are and the names. Whether
 * pictures are good to look at cannot be tested. Without gnuplot all are skipped but those of names.
 */
#include "published.h"

#include "../../../probe/base/gnuplot.h"
#include "../../../server/client/figures.h"
#include "host.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int create(void **state)
{
	struct published *published = malloc(sizeof(*published));

	assert_non_null(published);
	published_create(published);
	*state = published;
	return 0;
}

static int destroy(void **state)
{
	published_release(*state);
	free(*state);
	return 0;
}

#define published_test(f) cmocka_unit_test_setup_teardown(f, create, destroy)

static void needs_gnuplot(void)
{
	struct np_error err = { 0 };

	if (np_gnuplot_check(&err) == 0)
		return;
	print_message("skipped: %s\n", err.text);
	skip();
}

static bool is_there(const char *directory, const char *name, const char *type)
{
	struct stat status;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.%s", directory, name, type);
	return stat(path, &status) == 0 && status.st_size > 500;
}

/* What is not to be seen on a logarithmic axis, if all latencies are 0. */
#define OF_ZERO (1u << NL_FIGURE_CDF | 1u << NL_FIGURE_BLOCKS)

/* Draws the first comparison, and sees which pictures are there: all but those that are @missing of a metric. */
static void draw(struct published *published, const unsigned missing[NL_METRIC_COUNT])
{
	struct np_error err = { 0 };
	char directory[300];

	published->report.count = 1;
	snprintf(directory, sizeof(directory), "%s/charts", published->dir);
	assert_np_ok(nl_report_draw(&published->report, directory, &err), &err);
	for (unsigned i = 0; i < NL_METRIC_COUNT * NL_FIGURE_COUNT; i++) {
		enum nl_figure figure = (enum nl_figure)(i % NL_FIGURE_COUNT);
		unsigned metric = i / NL_FIGURE_COUNT;
		bool is_missing = missing && missing[metric] & (1u << figure);
		char name[NL_FIGURE_NAME_SIZE];

		nl_figure_name(&published->comparisons[0], (enum nl_metric)metric, figure, name);
		check_case("%s", name);
		assert_number(is_there(directory, name, "svg"), !is_missing);
		assert_number(is_there(directory, name, "png"), !is_missing);
	}
}

static void the_published_run_is_drawn(void **state)
{
	needs_gnuplot();
	draw(*state, NULL);
}

typedef uint64_t latency(uint64_t ns, unsigned i);

/* Makes every latency of a side what @of says of the one that it is. */
static void change(struct nl_side *side, latency *of)
{
	for (unsigned i = 0; i < PUBLISHED_POINTS; i++)
		side->curve[i] = of(side->curve[i], i);
	for (unsigned i = 0; i < PUBLISHED_BLOCKS; i++)
		side->block_medians[i] = of(side->block_medians[i], i);
	for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++) {
		struct nl_percentile *percentile = &side->percentiles[i];

		percentile->ns = of(percentile->ns, i);
		percentile->low_ns = of(percentile->low_ns, i);
		percentile->high_ns = of(percentile->high_ns, i);
	}
}

static uint64_t alike(uint64_t ns, unsigned i)
{
	(void)ns;
	(void)i;
	return 100000;
}

static uint64_t one_us(uint64_t ns, unsigned i)
{
	(void)ns;
	return 1000 + i;
}

static uint64_t ten_s(uint64_t ns, unsigned i)
{
	(void)ns;
	return UINT64_C(10000000000) + UINT64_C(1000000) * i;
}

static uint64_t none(uint64_t ns, unsigned i)
{
	(void)ns;
	(void)i;
	return 0;
}

static uint64_t most(uint64_t ns, unsigned i)
{
	(void)ns;
	(void)i;
	return UINT64_MAX;
}

/* Each metric has a case of its own, and so has each design. */
static void any_latencies_and_designs_are_drawn(void **state)
{
	static const struct {
		enum nl_design design;
		latency *sides[NL_METRIC_COUNT][2];
		unsigned missing[NL_METRIC_COUNT];
	} cases[] = {
		{ NL_DESIGN_INTERLEAVED,
		  { { alike, alike }, { one_us, ten_s }, { ten_s, one_us } },
		  { 0 } },
		{ NL_DESIGN_OVERLAPPING,
		  { { none, one_us }, { one_us, most }, { none, none } },
		  { 0, 0, OF_ZERO } },
	};
	struct published *published = *state;
	struct nl_comparison *comparison = &published->comparisons[0];

	needs_gnuplot();
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		comparison->design = cases[i].design;
		for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
			change(&comparison->a_sides[metric], cases[i].sides[metric][0]);
			change(&comparison->b_sides[metric], cases[i].sides[metric][1]);
		}
		/* A picture of before is not taken for a new one. */
		draw(published, cases[i].missing);
	}
}

static void one_block_few_samples_and_no_curve_are_drawn(void **state)
{
	static const unsigned missing[NL_METRIC_COUNT] = { 0, 0, 1u << NL_FIGURE_CDF };
	struct published *published = *state;
	struct nl_comparison *comparison = &published->comparisons[0];
	struct nl_side *sides = comparison->a_sides;

	needs_gnuplot();
	comparison->block_count = 1;
	comparison->design = NL_DESIGN_UNKNOWN;
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		sides[metric].samples = 2;
		for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++)
			sides[metric].percentiles[i].high_ns = 0;
	}
	free(sides[NL_METRIC_TOTAL].curve);
	sides[NL_METRIC_TOTAL].curve = NULL;
	draw(published, missing);
}

static void what_ran_at_the_same_time_on_two_hosts_is_laid_over(void **state)
{
	struct published *published = *state;
	struct nl_comparison *comparison = &published->comparisons[0];
	uint64_t *starts = comparison->b_sides[0].block_starts;

	comparison->design = NL_DESIGN_OVERLAPPING;
	assert_true(nl_figure_is_laid_over(comparison));
	for (unsigned i = 0; i < comparison->block_count; i++)
		starts[i] = comparison->a_sides[0].block_starts[i] + 5;
	assert_false(nl_figure_is_laid_over(comparison));
	comparison->design = NL_DESIGN_APART;
	assert_true(nl_figure_is_laid_over(comparison));
}

static void a_curve_ends_where_no_sample_is_left(void **state)
{
	struct published *published = *state;
	struct nl_comparison *comparison = &published->comparisons[0];
	struct nl_side *side = &comparison->a_sides[0];

	assert_number(nl_curve_length(comparison, side), PUBLISHED_POINTS);
	/* Three of five nines. */
	side->samples = 1000;
	assert_true(nl_curve_length(comparison, side) >= 300);
	assert_true(nl_curve_length(comparison, side) <= 303);
	side->samples = 1;
	assert_number(nl_curve_length(comparison, side), 2);
	assert_true(fabs(nl_nines(0.999) - 3) < 1e-9);
}

/* Names in orders for gnuplot run nothing and end nothing. */
static void names_stay_names(void **state)
{
	struct published *published = *state;
	struct nl_comparison *comparison = &published->comparisons[0];
	char path[320];

	needs_gnuplot();
	snprintf(path, sizeof(path), "%s/charts/ran", published->dir);
	comparison->protocol = "../x'; system \"touch ran\"; `touch ran`; '\n%s";
	comparison->a.label = "'; system \"touch ran\"; '";
	comparison->b.label = "`touch ran`\n\"";
	draw(published, NULL);
	assert_number(access(path, F_OK), -1);
}

static void a_directory_that_cannot_be_made_is_named(void **state)
{
	const struct published *published = *state;
	struct np_error err = { 0 };
	char directory[300];

	needs_gnuplot();
	snprintf(directory, sizeof(directory), "%s/no/charts", published->dir);
	assert_fails(nl_report_draw(&published->report, directory, &err), -ENOENT, &err,
	             "no/charts");
}

static void a_file_name_has_no_other_characters(void **state)
{
	struct published *published = *state;
	struct nl_comparison *comparison = &published->comparisons[0];
	char name[NL_FIGURE_NAME_SIZE];

	assert_text(nl_figure_name(comparison, NL_METRIC_TOTAL, NL_FIGURE_CDF, name),
	            "cdf-memcache-complete");
	comparison->protocol = NULL;
	assert_text(nl_figure_name(comparison, NL_METRIC_PAYLOAD, NL_FIGURE_RATIO, name),
	            "ratio-unknown-payload_ttfb");
	comparison->protocol = "../a b\xff/\n";
	assert_text(nl_figure_name(comparison, NL_METRIC_RESPONSE, NL_FIGURE_BLOCKS, name),
	            "blocks-___a_b___-response_ttfb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		published_test(the_published_run_is_drawn),
		published_test(any_latencies_and_designs_are_drawn),
		published_test(one_block_few_samples_and_no_curve_are_drawn),
		published_test(a_curve_ends_where_no_sample_is_left),
		published_test(what_ran_at_the_same_time_on_two_hosts_is_laid_over),
		published_test(names_stay_names),
		published_test(a_directory_that_cannot_be_made_is_named),
		published_test(a_file_name_has_no_other_characters),
	};

	return cmocka_run_group_tests_name("figures", tests, NULL, NULL);
}
