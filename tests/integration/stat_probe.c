/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics for against_scipy.py to check: each line of standard input is a question, a word and numbers, and is
 * answered by a line of JSON on standard output.
 *
 *   rank NUMERATOR DENOMINATOR COUNT         nearest rank
 *   percentiles VALUE...                     p50, p90, p99, p99.9, p99.99, of whole numbers
 *   binomial COUNT SHARE PROBABILITY         quantile
 *   ranks NUMERATOR DENOMINATOR COUNT LEVEL
 *   pair COUNT VALUE...                      A and shift: the first COUNT whole numbers, and the others
 *   bootstrap REPETITIONS LEVEL SEED VALUE...
 *   flips REPETITIONS SEED VALUE...
 *   walsh LEVEL VALUE...
 *   correlated LEVEL VALUE...
 *   trend VALUE...
 *   student PROBABILITY DEGREES
 */
#include "../../probe/base/distribution.h"
#include "../../probe/base/resample.h"
#include "../../probe/base/sort.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct question {
	char *next; /* what was not read yet */
	double *values;
	uint64_t *numbers;
	size_t count; /* of either */
};

static void die(const char *why)
{
	fprintf(stderr, "stat_probe: %s\n", why);
	exit(1);
}

static void *allocate(size_t count, size_t size)
{
	void *items = calloc(count + 1, size);

	if (!items)
		die("out of memory");
	return items;
}

static double read_double(struct question *question)
{
	char *end;
	double value = strtod(question->next, &end);

	if (end == question->next)
		die("a number is missing");
	question->next = end;
	return value;
}

static uint64_t read_number(struct question *question)
{
	char *end;
	uint64_t value = strtoull(question->next, &end, 10);

	if (end == question->next)
		die("a whole number is missing");
	question->next = end;
	return value;
}

static size_t count_left(const struct question *question)
{
	size_t count = 0;

	for (const char *pos = question->next; *pos != '\0' && *pos != '\n'; pos++)
		count += *pos == ' ';
	return count;
}

static void read_values(struct question *question)
{
	question->count = count_left(question);
	question->values = allocate(question->count, sizeof(*question->values));
	for (size_t i = 0; i < question->count; i++)
		question->values[i] = read_double(question);
}

static void read_numbers(struct question *question)
{
	question->count = count_left(question);
	question->numbers = allocate(question->count, sizeof(*question->numbers));
	for (size_t i = 0; i < question->count; i++)
		question->numbers[i] = read_number(question);
}

static struct np_distribution gather(const uint64_t *values, size_t count)
{
	struct np_gatherer *gatherer = np_gatherer_create();
	struct np_distribution distribution = { 0 };

	if (!gatherer || np_gatherer_add(gatherer, values, count) < 0 ||
	    np_gatherer_distribution(gatherer, &distribution) < 0)
		die("cannot gather");
	np_gatherer_free(gatherer);
	return distribution;
}

static void answer_rank(struct question *question)
{
	struct np_share share = { .numerator = (uint32_t)read_number(question) };

	share.denominator = (uint32_t)read_number(question);
	printf("{\"rank\": %" PRIu64 "}\n", np_nearest_rank(share, read_number(question)));
}

static void answer_percentiles(struct question *question)
{
	static const struct np_share shares[] = {
		{ 50, 100 }, { 90, 100 }, { 99, 100 }, { 999, 1000 }, { 9999, 10000 },
	};
	struct np_distribution distribution;

	read_numbers(question);
	distribution = gather(question->numbers, question->count);
	printf("{\"distinct\": %zu, \"percentiles\": [", distribution.distinct_count);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		printf("%s%" PRIu64, i > 0 ? ", " : "",
		       np_distribution_at(&distribution,
		                          np_nearest_rank(shares[i], distribution.total)));
	printf("]}\n");
	np_distribution_release(&distribution);
}

static void answer_binomial(struct question *question)
{
	uint64_t count = read_number(question);
	double share = read_double(question);

	printf("{\"quantile\": %" PRIu64 "}\n",
	       np_binomial_quantile(count, share, read_double(question)));
}

static void answer_ranks(struct question *question)
{
	struct np_share share = { .numerator = (uint32_t)read_number(question) };
	struct np_ranks ranks;
	uint64_t count;

	share.denominator = (uint32_t)read_number(question);
	count = read_number(question);
	ranks = np_percentile_ranks(share, count, read_double(question));
	printf("{\"low\": %" PRIu64 ", \"high\": %" PRIu64 "}\n", ranks.low, ranks.high);
}

static void answer_pair(struct question *question)
{
	size_t a_count = read_number(question);
	size_t b_count;
	uint64_t *scratch;
	struct np_distribution a;
	struct np_distribution b;
	struct np_superiority gathered;
	struct np_superiority sorted;

	read_numbers(question);
	if (a_count > question->count)
		die("pair: too few values");
	b_count = question->count - a_count;
	a = gather(question->numbers, a_count);
	b = gather(question->numbers + a_count, b_count);
	scratch = allocate(question->count, sizeof(*scratch));
	np_sort_u64(question->numbers, scratch, a_count);
	np_sort_u64(question->numbers + a_count, scratch, b_count);
	gathered = np_distribution_superiority(&a, &b);
	sorted = np_sorted_superiority(question->numbers, a_count, question->numbers + a_count,
	                               b_count);
	printf("{\"numerator\": %" PRIu64 ", \"denominator\": %" PRIu64
	       ", \"sorted_numerator\": %" PRIu64 ", \"exchanged_numerator\": %" PRIu64
	       ", \"twice_shift\": %" PRId64 "}\n",
	       gathered.numerator, gathered.denominator, sorted.numerator,
	       np_distribution_superiority(&b, &a).numerator, np_distribution_twice_shift(&a, &b));
	free(scratch);
	np_distribution_release(&a);
	np_distribution_release(&b);
}

static void answer_bootstrap(struct question *question)
{
	unsigned repetitions = (unsigned)read_number(question);
	double level = read_double(question);
	struct np_interval interval;
	struct np_rng rng;

	np_rng_seed(&rng, read_number(question));
	read_values(question);
	if (np_bootstrap_mean(question->values, question->count, repetitions, level, &rng,
	                      &interval) < 0)
		die("bootstrap failed");
	printf("{\"low\": %.17g, \"high\": %.17g}\n", interval.low, interval.high);
}

static void answer_flips(struct question *question)
{
	unsigned repetitions = (unsigned)read_number(question);
	struct np_rng rng;

	np_rng_seed(&rng, read_number(question));
	read_values(question);
	printf("{\"p\": %.17g}\n",
	       np_sign_flip_test(question->values, question->count, repetitions, &rng));
}

static void answer_walsh(struct question *question)
{
	double level = read_double(question);
	struct np_location location;

	read_values(question);
	if (np_walsh_location(question->values, question->count, level, &location) < 0)
		die("walsh failed");
	printf("{\"estimate\": %.17g, \"interval\": ", location.estimate);
	if (location.has_interval)
		printf("[%.17g, %.17g]}\n", location.interval.low, location.interval.high);
	else
		printf("null}\n");
}

static void answer_correlated(struct question *question)
{
	double level = read_double(question);
	struct np_interval interval;
	size_t merged;

	read_values(question);
	if (np_correlated_mean(question->values, question->count, level, &interval, &merged) < 0)
		die("correlated failed");
	printf("{\"low\": %.17g, \"high\": %.17g, \"merged\": %zu, \"lag1\": %.17g}\n",
	       interval.low, interval.high, merged,
	       np_lag1_correlation(question->values, question->count));
}

static void answer_trend(struct question *question)
{
	struct np_trend trend;

	read_values(question);
	if (np_trend_fit(question->values, question->count, &trend) < 0)
		die("trend failed");
	printf("{\"slope\": %.17g, \"p\": %.17g}\n", trend.slope, trend.p);
}

static void answer_student(struct question *question)
{
	double probability = read_double(question);

	printf("{\"quantile\": %.17g}\n", np_student_quantile(probability, read_double(question)));
}

static const struct answer {
	const char *word;
	void (*give)(struct question *question);
} answers[] = {
	{ "rank", answer_rank },
	{ "percentiles", answer_percentiles },
	{ "binomial", answer_binomial },
	{ "ranks", answer_ranks },
	{ "pair", answer_pair },
	{ "bootstrap", answer_bootstrap },
	{ "flips", answer_flips },
	{ "walsh", answer_walsh },
	{ "correlated", answer_correlated },
	{ "trend", answer_trend },
	{ "student", answer_student },
};

static void answer(char *line)
{
	size_t length = strcspn(line, " \n");

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct question question = { .next = line + length };

		if (strlen(answers[i].word) != length ||
		    strncmp(answers[i].word, line, length) != 0)
			continue;
		answers[i].give(&question);
		free(question.values);
		free(question.numbers);
		return;
	}
	die("unknown question");
}

int main(void)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		answer(line);
		fflush(stdout);
	}
	free(line);
	return 0;
}
