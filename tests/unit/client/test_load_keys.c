/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../server/client/load_keys.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { DRAWS = 1000000, KEYS_MAX = 1000 };

static struct nl_load_keys keys_of(const char *text, uint32_t count)
{
	struct nl_load_keys keys;
	struct np_error err = { 0 };

	assert_np_ok(nl_load_keys_parse("--key-dist", text, &keys, &err), &err);
	nl_load_keys_prepare(&keys, count);
	return keys;
}

/* What a key's share of the requests should be. */
static void exact_shares(const struct nl_load_keys *keys, double *shares)
{
	double sum = 0;

	for (uint32_t i = 0; i < keys->keys; i++) {
		bool is_hot = i < keys->hot_keys;
		uint32_t cold = keys->keys - keys->hot_keys;

		if (keys->kind == NL_KEYS_ZIPF)
			shares[i] = pow(i + 1.0, -keys->theta);
		else if (keys->kind == NL_KEYS_UNIFORM || cold == 0)
			shares[i] = 1;
		else
			shares[i] = is_hot ? keys->hot_share / keys->hot_keys
			                   : (1 - keys->hot_share) / cold;
		sum += shares[i];
	}
	for (uint32_t i = 0; i < keys->keys; i++)
		shares[i] /= sum;
}

/*
 * Chi-square of the counts, less its degrees of freedom, in standard deviations; keys of which fewer than
 * 10 are to be expected are taken together.
 */
static double deviation(const uint64_t *counts, const double *shares, uint32_t count)
{
	double rest_expected = 0;
	double rest_found = 0;
	double chi_square = 0;
	int cells = 0;

	for (uint32_t i = 0; i < count; i++) {
		double expected = shares[i] * DRAWS;

		if (expected < 10) {
			rest_expected += expected;
			rest_found += (double)counts[i];
			continue;
		}
		chi_square += pow((double)counts[i] - expected, 2) / expected;
		cells++;
	}
	if (rest_expected >= 1) {
		chi_square += pow(rest_found - rest_expected, 2) / rest_expected;
		cells++;
	} else {
		/* Too little to expect anything: hardly any may have come. */
		assert_true(rest_found <= 10);
	}
	return cells < 2 ? 0 : (chi_square - (cells - 1)) / sqrt(2.0 * (cells - 1));
}

static const struct {
	const char *text;
	uint32_t keys;
} laws[] = {
	{ "uniform", 1 },         { "uniform", 2 },         { "uniform", 1000 },
	{ "zipf:0.01", 100 },     { "zipf:0.5", 1000 },     { "zipf:0.99", 1000 },
	{ "zipf:0.9999999", 10 }, { "zipf:1", 1 },          { "zipf:1", 2 },
	{ "zipf:1", 1000 },       { "zipf:1.0000001", 10 }, { "zipf:1.2", 1000 },
	{ "zipf:2", 100 },        { "zipf:3", 10 },         { "zipf:10", 5 },
	{ "hot:0.1:0.9", 1000 },  { "hot:0.5:0.5", 10 },    { "hot:0.001:0.5", 10 },
	{ "hot:1:0.3", 10 },      { "hot:0.3:1", 10 },
};

/* With a fixed seed: a deviation of 5 would come once in a million. */
static void keys_are_drawn_as_often_as_the_law_says(void **state)
{
	double *shares = calloc(KEYS_MAX, sizeof(*shares));

	(void)state;
	for (size_t l = 0; l < sizeof(laws) / sizeof(laws[0]); l++) {
		struct nl_load_keys keys = keys_of(laws[l].text, laws[l].keys);
		uint64_t *counts = calloc(KEYS_MAX, sizeof(*counts));
		struct np_rng rng;
		double found;

		np_rng_seed(&rng, l + 1);
		for (int i = 0; i < DRAWS; i++) {
			uint32_t key = nl_load_keys_draw(&keys, &rng);

			assert_true(key < laws[l].keys);
			counts[key]++;
		}
		exact_shares(&keys, shares);
		found = deviation(counts, shares, laws[l].keys);
		check_case("%s of %u keys: %.2f standard deviations", laws[l].text, laws[l].keys,
		           found);
		assert_number(fabs(found) < 5, true);
		free(counts);
	}
	free(shares);
}

/* The share of the first million; the sum over the others is close to the integral. */
static void four_billion_keys_are_drawn_by_zipf(void **state)
{
	static const double thetas[] = { 0.2, 0.99, 1, 1.5, 10 };
	enum { FEW = 200000 };

	(void)state;
	for (size_t t = 0; t < sizeof(thetas) / sizeof(thetas[0]); t++) {
		struct nl_load_keys keys = { .kind = NL_KEYS_ZIPF, .theta = thetas[t] };
		double theta = thetas[t];
		double below = 0;
		double expected;
		struct np_rng rng;

		check_case("theta %g", theta);
		nl_load_keys_prepare(&keys, UINT32_MAX);
		np_rng_seed(&rng, 3);
		for (int i = 0; i < FEW; i++)
			below += nl_load_keys_draw(&keys, &rng) < 1000000;
		expected = 0;
		for (int k = 1; k <= 1000000; k++)
			expected += pow(k, -theta);
		expected /= expected +
		            (theta == 1 ? log(4294967295.0 / 1e6)
		                        : (pow(4294967295.0, 1 - theta) - pow(1e6, 1 - theta)) /
		                                  (1 - theta));
		assert_number(fabs(below / FEW - expected) < 0.006, true);
	}
}

static const char *const bad[] = {
	"",          "zipf",      "zipf:",       "zipf:0",      "zipf:10.1", "zipf:-1",
	"zipf:x",    "zipf:1x",   "zipf:nan",    "zipf:0x1",    "hot:0.1",   "hot:0.1:",
	"hot:0:0.5", "hot:0.5:0", "hot:1.1:0.5", "hot:0.5:1.1", "hot::",     "hot:0.1:0.9:",
	"uniform:1", "Uniform",   "zipf:1:2",    "hot:0.1,0.9", "zipf: 1",   "zipf:1.2.3",
};

static void what_is_no_distribution_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct nl_load_keys keys;
		struct np_error err = { 0 };

		check_case("'%s'", bad[i]);
		assert_fails(nl_load_keys_parse("--key-dist", bad[i], &keys, &err), -EINVAL, &err,
		             "--key-dist: '");
		assert_has(err.text, "like zipf:0.99 or hot:0.1:0.9");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_drawn_as_often_as_the_law_says),
		cmocka_unit_test(four_billion_keys_are_drawn_by_zipf),
		cmocka_unit_test(what_is_no_distribution_is_refused),
	};

	return cmocka_run_group_tests_name("load_keys", tests, NULL, NULL);
}
