/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verdict: which sentences it has, over comparisons that were made up from the published run by
 * changing one thing at a time.
 */
#include "published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What can be said, by a part of the sentence that no other has. */
enum {
	SAYS_FASTER = 1 << 0,
	SAYS_NONE = 1 << 1,
	SAYS_TORN = 1 << 2,
	SAYS_TOO_FEW = 1 << 3,
	SAYS_UNCONFIRMED = 1 << 4,
	SAYS_TAIL_SAME = 1 << 5,
	SAYS_TAIL_OTHER = 1 << 6,
	SAYS_TAIL_UNTOLD = 1 << 7,
	SAYS_TAIL_DIFFERS = 1 << 8,
	SAYS_INTERLEAVED = 1 << 9,
	SAYS_APART = 1 << 10,
	SAYS_OVERLAPPING = 1 << 11,
	SAYS_CLOCKS = 1 << 12,
	SAYS_NOT_WHAT = 1 << 13,
	SAYS_DRIFT = 1 << 14,
	SAYS_CORRELATED = 1 << 15,
	SAYS_EFFECTIVE = 1 << 16,
	SAYS_FEW_ABOVE = 1 << 17,
	SAYS_PARTIAL = 1 << 18,
	SAYS_CUT = 1 << 19,
	SAYS_SAME_KEYS = 1 << 20,
	SAYS_OTHER_KEYS = 1 << 21,
	SAYS_UNPINNED = 1 << 22,
	SAYS_UNLOCKED = 1 << 23,
	SAYS_NOISE = 1 << 24,
	SAYS_NO_NOISE = 1 << 25,
	SAYS_TAIL_NOISE = 1 << 26,
	SAYS_SHIFT_NOISE = 1 << 27,
	SAYS_IF_INDEPENDENT = 1 << 28,
	SAYS_NEITHER = 1 << 29,
	SAYS_FEW_TURNS = 1 << 30,
};
/* More than an enumerator holds. */
#define SAYS_TOO_WIDE (1u << 31)

static const char *const sentences[] = {
	". It saved",
	"would have been seen",
	"within the same part of the runs",
	"it cannot be told how sure that is",
	"does not confirm",
	"the tail goes the same way",
	"the other way: ",
	"in the tail, p90 and beyond, no difference can be told",
	"The tail differs",
	"were interleaved",
	"was the outer loop and ran once",
	"ran at the same time and disturbed each other",
	"clocks cannot be compared",
	"not what made the difference",
	"drifted during its run",
	"hang together",
	"are not independent: its",
	"samples lie beyond",
	"is not complete",
	"Only the first",
	"Both asked for the same keys in the same order",
	"did not ask for the same keys",
	"was not pinned",
	"were not locked in memory",
	"CPU was interrupted",
	"noise floor of the client's CPU is not known",
	"is as much as the tails differ",
	"how late that CPU wakes",
	"which may be chance",
	"neither was faster",
	"Both arms are of one run",
	"vary too much for such a run",
};

/* Of memcache's comparison as it is. Its response TTFB has a tail of its own. */
#define ALWAYS                                                                                     \
	((unsigned)(SAYS_FASTER | SAYS_TAIL_SAME | SAYS_TAIL_OTHER | SAYS_APART | SAYS_NOT_WHAT |  \
	            SAYS_SAME_KEYS | SAYS_NO_NOISE))
/* What is no more said where no difference of the centre is found. */
#define OF_A_FINDING ((unsigned)(SAYS_FASTER | SAYS_TAIL_SAME | SAYS_TAIL_OTHER | SAYS_NOT_WHAT))

typedef void change(struct published *published, struct nl_comparison *comparison);

static void set_interval(struct nl_comparison *comparison, double a, double low, double high)
{
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		struct nl_effect *effect = &comparison->effects[metric];

		effect->a_faster = a;
		effect->blocked = (low + high) / 2;
		effect->blocked_interval = (struct np_interval){ low, high };
		effect->correlated_interval = effect->blocked_interval;
	}
}

/* All percentiles of b as those of a. */
static void equal_tails(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++)
		memcpy(comparison->b_sides[metric].percentiles,
		       comparison->a_sides[metric].percentiles,
		       sizeof(comparison->a_sides[metric].percentiles));
}

static void nothing(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	(void)comparison;
}

static void no_difference(struct published *published, struct nl_comparison *comparison)
{
	set_interval(comparison, 0.502, 0.49, 0.514);
	equal_tails(published, comparison);
}

static void all_equal(struct published *published, struct nl_comparison *comparison)
{
	set_interval(comparison, 0.5, 0.5, 0.5);
	equal_tails(published, comparison);
}

static void tail_only(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	set_interval(comparison, 0.502, 0.49, 0.514);
}

static void torn(struct published *published, struct nl_comparison *comparison)
{
	set_interval(comparison, 0.46, 0.6, 0.7);
	equal_tails(published, comparison);
}

static void one_block(struct published *published, struct nl_comparison *comparison)
{
	comparison->block_count = 1;
	equal_tails(published, comparison);
}

static void unknown_interval(struct published *published, struct nl_comparison *comparison)
{
	set_interval(comparison, 0.9, NAN, NAN);
	equal_tails(published, comparison);
}

static void unconfirmed(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	comparison->effects[NL_METRIC_TOTAL].permutation_p = 0.07;
}

/* Response and payload TTFB are the same, as where a value comes with its head. */
static void repeated(struct published *published, struct nl_comparison *comparison)
{
	const struct nl_effect *from = &comparison->effects[NL_METRIC_RESPONSE];
	struct nl_effect *effect = &comparison->effects[NL_METRIC_PAYLOAD];
	struct nl_side *sides[2] = { comparison->a_sides, comparison->b_sides };

	(void)published;
	effect->superiority = from->superiority;
	effect->a_faster = from->a_faster;
	effect->blocked = from->blocked;
	effect->twice_shift_ns = from->twice_shift_ns;
	for (unsigned side = 0; side < 2; side++) {
		memcpy(sides[side][NL_METRIC_PAYLOAD].percentiles,
		       sides[side][NL_METRIC_RESPONSE].percentiles,
		       sizeof(sides[side][NL_METRIC_RESPONSE].percentiles));
		sides[side][NL_METRIC_PAYLOAD].mean_ns = sides[side][NL_METRIC_RESPONSE].mean_ns;
	}
}

/* A drift that both share: the same difference shows less over all pairs. */
static void diluted(struct published *published, struct nl_comparison *comparison)
{
	set_interval(comparison, 0.55, 0.9, 0.94);
	equal_tails(published, comparison);
}

/* A drift that they do not share: none within blocks, and much over all pairs. */
static void drifted_apart(struct published *published, struct nl_comparison *comparison)
{
	set_interval(comparison, 0.7, 0.49, 0.52);
	equal_tails(published, comparison);
}

static void shows_nothing(struct published *published, struct nl_comparison *comparison)
{
	set_interval(comparison, 0.55, 0.02, 1);
	equal_tails(published, comparison);
}

/* Of one run, and yet one after the other. */
static void one_run_apart(struct published *published, struct nl_comparison *comparison)
{
	const struct published_trace trace = {
		.about = { .protocol = "memcache",
		           .arms = { "local", "remote" },
		           .arm_count = 2,
		           .order = "random",
		           .block = 50000 },
		.end = { .is_complete = true },
	};

	published_retrace(published, comparison, 0, &trace, true);
}

static void few_turns(struct published *published, struct nl_comparison *comparison)
{
	one_run_apart(published, comparison);
	comparison->design = NL_DESIGN_INTERLEAVED;
	comparison->turns = 6;
}

static void two_servers(struct published *published, struct nl_comparison *comparison)
{
	json_t *details = json_pack("{s:[{s:s}, {s:s}]}", "arms", "server", "127.0.0.1:1", "server",
	                            "127.0.0.1:2");
	const struct published_trace trace = {
		.about = { .protocol = "memcache",
		           .arms = { "local", "remote" },
		           .arm_count = 2,
		           .details = details },
		.end = { .is_complete = true },
	};

	comparison->design = NL_DESIGN_INTERLEAVED;
	comparison->turns = 1000;
	published_retrace(published, comparison, 0, &trace, true);
	json_decref(details);
}

static void b_faster(struct published *published, struct nl_comparison *comparison)
{
	set_interval(comparison, 0.2, 0.1, 0.3);
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++)
		comparison->effects[metric].twice_shift_ns *= -1;
	equal_tails(published, comparison);
}

static void interleaved(struct published *published, struct nl_comparison *comparison)
{
	const struct published_trace trace = {
		.about = { .protocol = "memcache",
		           .arms = { "local", "remote" },
		           .arm_count = 2,
		           .order = "random",
		           .block = 50 },
		.end = { .is_complete = true },
	};

	comparison->design = NL_DESIGN_INTERLEAVED;
	comparison->turns = 1000000;
	published_retrace(published, comparison, 0, &trace, true);
}

static void overlapping(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	comparison->design = NL_DESIGN_OVERLAPPING;
}

static void clocks_differ(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	comparison->design = NL_DESIGN_UNKNOWN;
}

static void drifts(struct published *published, struct nl_comparison *comparison)
{
	struct nl_drift *drift = &comparison->b_sides[NL_METRIC_PAYLOAD].drift;

	(void)published;
	drift->halves = 0.61;
	drift->trend.p = 0.0002;
	drift->trend_percent = 4.2;
}

static void wanders(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	/* A trend that the halves do not show, and halves without a trend. */
	comparison->a_sides[0].drift.trend.p = 0.0002;
	comparison->b_sides[0].drift.halves = 0.61;
}

static void correlated(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	comparison->effects[NL_METRIC_TOTAL].merged_blocks = 4;
	/* Which it is judged by: the bootstrap's says something else. */
	comparison->effects[NL_METRIC_TOTAL].blocked_interval = (struct np_interval){ 0.4, 0.6 };
}

static void correlated_away(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		comparison->effects[metric].merged_blocks = 12;
		comparison->effects[metric].correlated_interval =
			(struct np_interval){ 0.42, 0.99 };
	}
	equal_tails(published, comparison);
}

static void dependent(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	comparison->a_sides[NL_METRIC_RESPONSE].drift.effective_samples = 2400;
}

static void few_above(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	comparison->b_sides[NL_METRIC_RESPONSE].percentiles[4].above = 1;
	comparison->b_sides[NL_METRIC_RESPONSE].percentiles[3].above = 9;
}

static void partial(struct published *published, struct nl_comparison *comparison)
{
	const struct published_trace trace = {
		.about = { .protocol = "memcache", .arms = { "" }, .arm_count = 1 },
		.end = { .why = "the server closed the connection" },
	};

	comparison->is_partial = true;
	comparison->is_cut = true;
	published_retrace(published, comparison, 1, &trace, false);
}

static void other_keys(struct published *published, struct nl_comparison *comparison)
{
	(void)published;
	comparison->keys_match = false;
}

/* Puts a trace behind both sides that tells these details and outcome. */
static void tell(struct published *published, struct nl_comparison *comparison, json_t *details,
                 json_t *outcome)
{
	const struct published_trace trace = {
		.about = { .protocol = "memcache",
		           .arms = { "" },
		           .arm_count = 1,
		           .details = details },
		.end = { .is_complete = true },
		.outcome = outcome,
	};

	for (unsigned side = 0; side < 2; side++)
		published_retrace(published, comparison, side, &trace, false);
	json_decref(details);
	json_decref(outcome);
}

static void loose_client(struct published *published, struct nl_comparison *comparison)
{
	tell(published, comparison,
	     json_pack("{s:n, s:b, s:{s:b}}", "cpu", "pinned", 0, "memory", "locked", 0), NULL);
}

static void careful_client(struct published *published, struct nl_comparison *comparison)
{
	tell(published, comparison,
	     json_pack("{s:i, s:b, s:{s:b}}", "cpu", 4, "pinned", 1, "memory", "locked", 1), NULL);
}

static json_t *noise_of(int gap_max_ns, int late_p99_ns)
{
	return json_pack("{s:i, s:i, s:i, s:i}", "gaps", 250, "duration_ns", 500000000,
	                 "gap_max_ns", gap_max_ns, "late_p99_ns", late_p99_ns);
}

static void quiet(struct published *published, struct nl_comparison *comparison)
{
	tell(published, comparison, json_pack("{s:o}", "noise_before", noise_of(800, 900)),
	     json_pack("{s:o}", "noise_after", noise_of(900, 1000)));
}

static void silent(struct published *published, struct nl_comparison *comparison)
{
	tell(published, comparison,
	     json_pack("{s:{s:i, s:i, s:n, s:n}}", "noise_before", "gaps", 0, "duration_ns",
	               500000000, "gap_max_ns", "late_p99_ns"),
	     NULL);
}

/* The later measurement is the worse. */
static void loud(struct published *published, struct nl_comparison *comparison)
{
	tell(published, comparison, json_pack("{s:o}", "noise_before", noise_of(800, 900)),
	     json_pack("{s:o}", "noise_after", noise_of(12000, 900)));
}

static void late(struct published *published, struct nl_comparison *comparison)
{
	tell(published, comparison, json_pack("{s:o}", "noise_before", noise_of(800, 17000)), NULL);
}

/* A trace may hold anything. */
static void nonsense(struct published *published, struct nl_comparison *comparison)
{
	tell(published, comparison,
	     json_pack("{s:[], s:s, s:s, s:{s:s, s:i}}", "memory", "pinned", "no", "cpu", "x",
	               "noise_before", "gaps", "many", "duration_ns", -1),
	     json_pack("{s:i}", "noise_after", 7));
}

static const struct {
	change *change;
	const char *name;
	unsigned says;
	const char *parts[3]; /* that are in it besides */
} cases[] = {
	{ nothing,
	  "as published",
	  ALWAYS,
	  { "response TTFB: local was faster than remote in 61.24 % of all pairs of requests (95 % "
	    "interval 58.16 to 64.30 %): a small difference. It saved 2.815 us (from blocks: "
	    "2.534 us to 3.097 us), 3.53 % of remote's median; the tail goes the same way, at p90 and "
	    "p99.99, and the other way: local was slower at p99 (120.460 against "
	    "110.081 us) and p99.9 (135.241 against 131.901 us).\n",
	    "Placement was the outer loop and ran once: local, then remote 2 h 5 min later; a "
	    "difference in host state would look the same.\n" } },
	{ no_difference,
	  "no difference",
	  (ALWAYS | SAYS_NONE) & ~OF_A_FINDING,
	  { "total download: no difference can be told; local was faster than remote in 50.20 % of "
	    "all pairs of requests (95 % interval 49.00 to 51.40 %). One of about 1.7 "
	    "points would have been seen in 4 of 5 such runs.\n" } },
	{ shows_nothing,
	  "no difference could have been seen",
	  (ALWAYS | SAYS_TOO_WIDE) & ~OF_A_FINDING,
	  { "(95 % interval 2.00 to 100.00 %). Blocks vary too much for such a run to show any.\n" } },
	{ all_equal, "all equal", (ALWAYS | SAYS_NEITHER) & ~OF_A_FINDING, { NULL } },
	{ tail_only,
	  "no difference but in the tail",
	  (ALWAYS | SAYS_NONE | SAYS_TAIL_DIFFERS) & ~OF_A_FINDING,
	  { "in 4 of 5 such runs. The tail differs: local was slower at p99 (120.460 against 110.081 us) "
	    "and p99.9 (135.241 against 131.901 us); remote was slower at p90 (82.012 against "
	    "97.307 us) and p99.99 (146.593 against 182.470 us).\n" } },
	{ torn,
	  "all pairs against blocks",
	  (ALWAYS | SAYS_TORN) & ~OF_A_FINDING,
	  { "in 46.00 % of all pairs of requests, but local in 65.00 % of those" } },
	{ diluted,
	  "a drift that both share",
	  (ALWAYS | SAYS_TORN | SAYS_TAIL_UNTOLD) & ~(unsigned)(SAYS_TAIL_SAME | SAYS_TAIL_OTHER),
	  { "local was faster than remote in 55.00 % of all pairs of requests, and in 92.00 % of those "
	    "within the same part of the runs (95 % interval 90.00 to 94.00 %): a negligible "
	    "difference (within parts: large). It saved 2.815 us" } },
	{ drifted_apart,
	  "a drift that they do not share",
	  (ALWAYS | SAYS_TORN) & ~OF_A_FINDING,
	  { "no difference can be told; local was faster than remote in 70.00 % of all pairs of requests, "
	    "but local in 50.50 % of those" } },
	{ repeated,
	  "repeated",
	  ALWAYS,
	  { "response TTFB and payload TTFB: local was faster", ".\ntotal download: local" } },
	{ one_run_apart, "one run, in two parts", ALWAYS, { "2 h 5 min later in the same run;" } },
	{ few_turns,
	  "few turns",
	  (ALWAYS | SAYS_FEW_TURNS) & ~(unsigned)SAYS_APART,
	  { "(random order, blocks of 50000), but took only 6 turns; a difference in host state would look "
	    "the same.\n" } },
	{ two_servers,
	  "two servers",
	  (ALWAYS | SAYS_INTERLEAVED) & ~(unsigned)(SAYS_APART | SAYS_NOT_WHAT),
	  { "what differs is the arm, which is another server too (127.0.0.1:1, 127.0.0.1:2).\n" } },
	{ one_block,
	  "one block",
	  (ALWAYS | SAYS_TOO_FEW) & ~OF_A_FINDING,
	  { "With 1 block it cannot" } },
	{ unknown_interval,
	  "no interval",
	  (ALWAYS | SAYS_TOO_FEW) & ~OF_A_FINDING,
	  { "With 96 blocks it cannot" } },
	{ unconfirmed, "unconfirmed", ALWAYS | SAYS_UNCONFIRMED, { "(p = 0.07)" } },
	{ b_faster,
	  "the other is faster",
	  (ALWAYS | SAYS_TAIL_UNTOLD) & ~(unsigned)(SAYS_TAIL_SAME | SAYS_TAIL_OTHER),
	  { "remote was faster than local in 80.00 % of all pairs of requests (95 % interval 70.00 "
	    "to 90.00 %): a large difference. It saved 2.815 us",
	    "of local's median" } },
	{ interleaved,
	  "interleaved",
	  (ALWAYS | SAYS_INTERLEAVED) & ~(unsigned)(SAYS_APART | SAYS_NOT_WHAT),
	  { "Requests of both arms were interleaved (random order, blocks of 50) in one run, in turns "
	    "of about 6.369 ms: slower changes of the host hit both alike; what differs is the arm.\n" } },
	{ overlapping,
	  "overlapping",
	  (ALWAYS | SAYS_OVERLAPPING) & ~(unsigned)SAYS_APART,
	  { NULL } },
	{ clocks_differ,
	  "clocks differ",
	  (ALWAYS | SAYS_CLOCKS) & ~(unsigned)SAYS_APART,
	  { NULL } },
	{ drifts,
	  "drift",
	  ALWAYS | SAYS_DRIFT,
	  { "remote drifted during its run: payload TTFB became 4.2 % slower.\n" } },
	{ wanders, "no drift", ALWAYS, { NULL } },
	{ correlated,
	  "correlated",
	  ALWAYS | SAYS_CORRELATED | SAYS_IF_INDEPENDENT,
	  { "Neighbouring blocks hang together (total download: 4 as one); the" } },
	{ correlated_away,
	  "correlated away",
	  (ALWAYS | SAYS_CORRELATED | SAYS_NONE) & ~OF_A_FINDING,
	  { "(95 % interval 42.00 to 99.00 %)" } },
	{ dependent,
	  "dependent",
	  ALWAYS | SAYS_EFFECTIVE | SAYS_IF_INDEPENDENT,
	  { "Requests of local are not independent: its 17166137 tell as much as 2400 would that are "
	    "(response TTFB).\n",
	    "us) and p99.9 (135.241 against 131.901 us), which may be chance.\n",
	    "The intervals of percentiles take requests for independent: here they are too narrow.\n" } },
	{ few_above,
	  "few above",
	  ALWAYS | SAYS_FEW_ABOVE,
	  { "Fewer than 10 samples lie beyond p99.9 and p99.99: they hang on single events.\n" } },
	{ partial,
	  "partial",
	  ALWAYS | SAYS_PARTIAL | SAYS_CUT,
	  { "remote is not complete (the server closed the connection): what there is was compared.\n" } },
	{ other_keys,
	  "other keys",
	  (ALWAYS | SAYS_OTHER_KEYS) & ~(unsigned)SAYS_SAME_KEYS,
	  { NULL } },
	{ loose_client,
	  "loose client",
	  ALWAYS | SAYS_UNPINNED | SAYS_UNLOCKED,
	  { "The client of local was not pinned", "The client of remote was not pinned",
	    "The samples of remote were not locked" } },
	{ careful_client, "careful client", ALWAYS, { NULL } },
	{ quiet,
	  "quiet",
	  (ALWAYS | SAYS_NOISE) & ~(unsigned)SAYS_NO_NOISE,
	  { "The client's CPU was interrupted 500 times in 1.0 s of doing nothing else, for up to "
	    "900 ns.\n" } },
	{ silent,
	  "silent",
	  (ALWAYS | SAYS_NOISE) & ~(unsigned)SAYS_NO_NOISE,
	  { "was interrupted 0 times in 500.0 ms of doing nothing else.\n" } },
	{ loud,
	  "loud",
	  (ALWAYS | SAYS_NOISE | SAYS_TAIL_NOISE) & ~(unsigned)SAYS_NO_NOISE,
	  { "One that long is as much as the tails differ: response TTFB p99.9, payload TTFB p99.99, "
	    "total download p99.99.\n" } },
	{ late,
	  "late",
	  (ALWAYS | SAYS_NOISE | SAYS_SHIFT_NOISE) & ~(unsigned)SAYS_NO_NOISE,
	  { "The shift of response TTFB, payload TTFB is less than how late that CPU wakes (p99: "
	    "17.00 us)" } },
	{ nonsense, "nonsense", ALWAYS, { NULL } },
};

static void check_sentences(const char *verdict, unsigned wanted)
{
	for (unsigned i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
		if (wanted & (1u << i))
			assert_has(verdict, sentences[i]);
		else
			assert_has_not(verdict, sentences[i]);
	}
}

static void each_sentence_is_said_when_it_is_so_and_else_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct published published;
		char *verdict;

		check_case("%s", cases[i].name);
		published_create(&published);
		cases[i].change(&published, &published.comparisons[0]);
		verdict = nl_verdict(&published.comparisons[0]);
		assert_non_null(verdict);
		check_sentences(verdict, cases[i].says);
		for (unsigned k = 0; k < 3 && cases[i].parts[k]; k++)
			assert_has(verdict, cases[i].parts[k]);
		free(verdict);
		published_release(&published);
	}
}

static const struct {
	double a;
	const char *word;
} magnitudes[] = {
	{ 0.559, "negligible" }, { 0.561, "small" }, { 0.639, "small" },  { 0.641, "medium" },
	{ 0.709, "medium" },     { 0.711, "large" }, { 1, "large" },      { 0.441, "negligible" },
	{ 0.439, "small" },      { 0.361, "small" }, { 0.359, "medium" }, { 0.291, "medium" },
	{ 0.289, "large" },      { 0, "large" },
};

static void a_difference_has_a_word_for_its_size(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(magnitudes) / sizeof(magnitudes[0]); i++) {
		struct published published;
		char part[64];
		char *verdict;
		double a = magnitudes[i].a;

		check_case("A = %g", a);
		snprintf(part, sizeof(part), ": a %s difference", magnitudes[i].word);
		published_create(&published);
		set_interval(&published.comparisons[0], a, a, a);
		verdict = nl_verdict(&published.comparisons[0]);
		assert_has(verdict, part);
		free(verdict);
		published_release(&published);
	}
}

/* Runs that came one after the other may differ for whatever reason. */
static void no_cause_is_claimed_of_runs_apart(void **state)
{
	static const char *const causes[] = { "because", "due to", "cause", "what differs is" };
	struct published published;

	(void)state;
	published_create(&published);
	for (unsigned protocol = 0; protocol < 2; protocol++) {
		char *verdict = nl_verdict(&published.comparisons[protocol]);

		for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
			assert_has_not(verdict, causes[i]);
		free(verdict);
	}
	published_release(&published);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sentence_is_said_when_it_is_so_and_else_not),
		cmocka_unit_test(a_difference_has_a_word_for_its_size),
		cmocka_unit_test(no_cause_is_claimed_of_runs_apart),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
