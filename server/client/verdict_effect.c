/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_words.h"
#include "verdict_view.h"

#include <math.h>
#include <string.h>

/* So far from the blocks' mean, all pairs are told beside it. */
#define TOLD_APART 0.005

/* The power that is usually asked for. */
#define POWER 0.8

/* Of the percentiles, the first that is tail. */
enum { TAIL_FIRST = 1 };

static const struct nl_effect *effect_of(const struct nl_verdict_view *view, unsigned metric)
{
	return &view->comparison->effects[metric];
}

/* The interval is that of the blocks' mean. Slow changes can take A over all pairs out of it. */
static bool is_outside(const struct nl_effect *effect)
{
	struct np_interval interval = nl_effect_interval(effect);

	return fabs(effect->a_faster - effect->blocked) >= TOLD_APART &&
	       (effect->a_faster < interval.low || effect->a_faster > interval.high);
}

enum nl_finding nl_verdict_find(const struct nl_verdict_view *view, unsigned metric)
{
	const struct nl_effect *effect = effect_of(view, metric);
	struct np_interval interval = nl_effect_interval(effect);

	if (view->comparison->block_count < NL_BLOCKS_LEAST || !isfinite(interval.low) ||
	    !isfinite(interval.high))
		return NL_FINDING_TOO_FEW;
	if (interval.low <= 0.5 && interval.high >= 0.5)
		return is_outside(effect) ? NL_FINDING_TORN : NL_FINDING_NONE;
	if (interval.low > 0.5)
		return effect->a_faster > 0.5 ? NL_FINDING_A : NL_FINDING_TORN;
	return effect->a_faster < 0.5 ? NL_FINDING_B : NL_FINDING_TORN;
}

bool nl_finding_is_difference(enum nl_finding finding)
{
	return finding == NL_FINDING_A || finding == NL_FINDING_B;
}

bool nl_verdict_finds_any(const struct nl_verdict_view *view)
{
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++)
		if (nl_finding_is_difference(nl_verdict_find(view, metric)))
			return true;
	return false;
}

const char *nl_verdict_joint(unsigned i, unsigned count)
{
	if (i == 0)
		return "";
	return i + 1 == count ? " and " : ", ";
}

/* ---- metrics that say the same ---- */

static bool has_same_side(const struct nl_side *one, const struct nl_side *other)
{
	for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++)
		if (one->percentiles[i].ns != other->percentiles[i].ns ||
		    one->percentiles[i].low_ns != other->percentiles[i].low_ns ||
		    one->percentiles[i].high_ns != other->percentiles[i].high_ns)
			return false;
	return one->mean_ns == other->mean_ns && one->samples == other->samples;
}

static bool is_same(const struct nl_verdict_view *view, unsigned metric, unsigned other)
{
	const struct nl_effect *a = effect_of(view, metric);
	const struct nl_effect *b = effect_of(view, other);

	return a->superiority.numerator == b->superiority.numerator && a->a_faster == b->a_faster &&
	       a->blocked == b->blocked && a->merged_blocks == b->merged_blocks &&
	       a->twice_shift_ns == b->twice_shift_ns &&
	       has_same_side(&view->sides[0][metric], &view->sides[0][other]) &&
	       has_same_side(&view->sides[1][metric], &view->sides[1][other]);
}

bool nl_verdict_is_repeated(const struct nl_verdict_view *view, unsigned metric)
{
	for (unsigned before = 0; before < metric; before++)
		if (is_same(view, metric, before))
			return true;
	return false;
}

/* "response TTFB and payload TTFB: " */
static void put_metric(const struct nl_verdict_view *view, unsigned metric)
{
	unsigned count = 1;

	for (unsigned other = metric + 1; other < NL_METRIC_COUNT; other++)
		count += is_same(view, metric, other);
	for (unsigned other = metric, i = 0; other < NL_METRIC_COUNT; other++)
		if (other == metric || is_same(view, metric, other))
			fprintf(view->out, "%s%s", nl_verdict_joint(i++, count),
			        nl_metric_label((enum nl_metric)other));
	fputs(": ", view->out);
}

/* ---- the centre ---- */

/* A in percent, seen from @side: what is 0.7 for a is 0.3 for b. */
static double percent_for(unsigned side, double a_faster)
{
	return 100 * (side == 0 ? a_faster : 1 - a_faster);
}

/* "local was faster than remote in 92.69 % of all pairs of requests"; ties count half. */
static void put_pairs(const struct nl_verdict_view *view, unsigned metric, unsigned side)
{
	double a_faster = effect_of(view, metric)->a_faster;

	if (a_faster == 0.5)
		fputs("neither was faster over all pairs of requests", view->out);
	else
		fprintf(view->out, "%s was faster than %s in %.2f %% of all pairs of requests",
		        view->names[side], view->names[1 - side], percent_for(side, a_faster));
}

/* The same, and how sure that is. */
static void put_sure_pairs(const struct nl_verdict_view *view, unsigned metric, unsigned side)
{
	const struct nl_effect *effect = effect_of(view, metric);
	struct np_interval interval = nl_effect_interval(effect);
	double ends[2] = { percent_for(side, interval.low), percent_for(side, interval.high) };

	put_pairs(view, metric, side);
	if (is_outside(effect))
		fprintf(view->out, ", and in %.2f %% of those within the same part of the runs",
		        percent_for(side, effect->blocked));
	fprintf(view->out, " (%g %% interval %.2f to %.2f %%)",
	        100 * view->comparison->options.level, ends[side], ends[1 - side]);
}

/* By how much, seen from the faster side, so that a positive number is what it saves. */
static void put_shift(const struct nl_verdict_view *view, unsigned metric, unsigned side)
{
	const struct nl_effect *effect = effect_of(view, metric);
	const struct np_location *blocks = &effect->block_shift;
	uint64_t median_ns = view->sides[1 - side][metric].percentiles[0].ns;
	double sign = side == 0 ? 1 : -1;
	double shift = sign * nl_shift_ns(effect);
	double ends[2] = { sign * blocks->interval.low, sign * blocks->interval.high };
	char texts[3][NL_TIME_TEXT_SIZE];

	fprintf(view->out, "It saved %s", nl_latency_text(shift, texts[0]));
	/* That interval takes blocks for independent. */
	if (blocks->has_interval && effect->merged_blocks <= 1)
		fprintf(view->out, " (from blocks: %s to %s)",
		        nl_latency_text(ends[side], texts[1]),
		        nl_latency_text(ends[1 - side], texts[2]));
	if (median_ns > 0)
		fprintf(view->out, ", %.2f %% of %s's median", 100 * shift / (double)median_ns,
		        view->names[1 - side]);
}

static void say_faster(const struct nl_verdict_view *view, unsigned metric, unsigned side)
{
	const struct nl_effect *effect = effect_of(view, metric);
	const char *over_all = nl_magnitude(effect->a_faster);
	const char *within = nl_magnitude(effect->blocked);

	put_sure_pairs(view, metric, side);
	fprintf(view->out, ": a %s difference", over_all);
	if (is_outside(effect) && strcmp(over_all, within) != 0)
		fprintf(view->out, " (within parts: %s)", within);
	fputs(". ", view->out);
	put_shift(view, metric, side);
}

/*
 * What would have been seen: the half of an interval is a difference that every second run would
 * show; with the usual power it is longer by as much as the quantiles' sum is.
 */
static double points_to_be_seen(const struct nl_verdict_view *view, unsigned metric)
{
	struct np_interval interval = nl_effect_interval(effect_of(view, metric));
	double z = np_normal_quantile((1 + view->comparison->options.level) / 2);

	return 50 * (interval.high - interval.low) * (z + np_normal_quantile(POWER)) / z;
}

static void say_none(const struct nl_verdict_view *view, unsigned metric)
{
	double points = points_to_be_seen(view, metric);

	fputs("no difference can be told; ", view->out);
	put_sure_pairs(view, metric, effect_of(view, metric)->a_faster < 0.5);
	if (points >= 50)
		fputs(". Blocks vary too much for such a run to show any", view->out);
	else if (points > 0)
		fprintf(view->out,
		        ". One of about %.2g points would have been seen in 4 of 5 such runs",
		        points);
}

static void say_torn(const struct nl_verdict_view *view, unsigned metric)
{
	const struct nl_effect *effect = effect_of(view, metric);
	struct np_interval interval = nl_effect_interval(effect);

	fputs("no difference can be told; ", view->out);
	put_pairs(view, metric, 0);
	fprintf(view->out,
	        ", but %s in %.2f %% of those within the same part of the runs (%g %% interval "
	        "%.2f to %.2f %%). Slow changes that the two do not share do that",
	        view->names[0], 100 * effect->blocked, 100 * view->comparison->options.level,
	        100 * interval.low, 100 * interval.high);
}

static void say_too_few(const struct nl_verdict_view *view, unsigned metric)
{
	unsigned count = view->comparison->block_count;

	put_pairs(view, metric, effect_of(view, metric)->a_faster < 0.5);
	fprintf(view->out, ". With %u block%s it cannot be told how sure that is", count,
	        count == 1 ? "" : "s");
}

/* ---- the tail ---- */

bool nl_verdict_is_dependent(const struct nl_verdict_view *view, unsigned metric)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct nl_side *one = &view->sides[side][metric];

		if (one->drift.effective_samples < (double)one->samples / 2)
			return true;
	}
	return effect_of(view, metric)->merged_blocks > 1;
}

/* Ends what rests on order statistics. */
static void end_tail(const struct nl_verdict_view *view, unsigned metric)
{
	if (nl_verdict_is_dependent(view, metric))
		fputs(", which may be chance", view->out);
}

static bool is_ordered(const struct nl_verdict_view *view, unsigned metric, unsigned percentile,
                       int order)
{
	return nl_percentile_order(&view->sides[0][metric].percentiles[percentile],
	                           &view->sides[1][metric].percentiles[percentile]) == order;
}

static unsigned count_percentiles(const struct nl_verdict_view *view, unsigned metric, int order)
{
	unsigned count = 0;

	for (unsigned i = TAIL_FIRST; i < NL_PERCENTILE_COUNT; i++)
		count += is_ordered(view, metric, i, order);
	return count;
}

/* "p99 (120.460 against 110.081 us)" for each percentile of the tail with that order. */
static void put_percentiles(const struct nl_verdict_view *view, unsigned metric, int order,
                            bool has_values)
{
	unsigned count = count_percentiles(view, metric, order);
	unsigned done = 0;

	for (unsigned i = TAIL_FIRST; i < NL_PERCENTILE_COUNT; i++) {
		if (!is_ordered(view, metric, i, order))
			continue;
		fprintf(view->out, "%s%s", nl_verdict_joint(done++, count),
		        nl_percentiles[i].label);
		if (has_values)
			fprintf(view->out, " (%.3f against %.3f us)",
			        (double)view->sides[0][metric].percentiles[i].ns / 1e3,
			        (double)view->sides[1][metric].percentiles[i].ns / 1e3);
	}
}

/* "local was slower at p99 (...)", of those percentiles of the tail where the other side is faster. */
static void put_slower(const struct nl_verdict_view *view, unsigned metric, unsigned side)
{
	fprintf(view->out, "%s was slower at ", view->names[side]);
	put_percentiles(view, metric, side == 0 ? 1 : -1, true);
}

/* @side is the faster in the centre. */
static void say_tail_of(const struct nl_verdict_view *view, unsigned metric, unsigned side)
{
	int with = side == 0 ? -1 : 1;
	bool goes_with = count_percentiles(view, metric, with) > 0;
	bool goes_against = count_percentiles(view, metric, -with) > 0;

	if (!goes_with && !goes_against) {
		fputs("; in the tail, p90 and beyond, no difference can be told", view->out);
		return;
	}
	if (goes_with) {
		fputs("; the tail goes the same way, at ", view->out);
		put_percentiles(view, metric, with, false);
	}
	if (goes_against) {
		fputs(goes_with ? ", and the other way: " : "; the tail goes the other way: ",
		      view->out);
		put_slower(view, metric, side);
	}
	end_tail(view, metric);
}

/* Where the centre shows nothing, the tail still may. */
static void say_tail_alone(const struct nl_verdict_view *view, unsigned metric)
{
	const char *before = nl_verdict_is_dependent(view, metric) ? ". The tail may differ: "
	                                                           : ". The tail differs: ";

	if (count_percentiles(view, metric, 1) + count_percentiles(view, metric, -1) == 0)
		return;
	for (unsigned side = 0; side < 2; side++) {
		if (count_percentiles(view, metric, side == 0 ? 1 : -1) == 0)
			continue;
		fputs(before, view->out);
		put_slower(view, metric, side);
		before = "; ";
	}
	end_tail(view, metric);
}

/* ---- both ---- */

static void say_unconfirmed(const struct nl_verdict_view *view, unsigned metric)
{
	const struct nl_effect *effect = effect_of(view, metric);

	if (effect->merged_blocks <= 1 &&
	    effect->permutation_p >= 1 - view->comparison->options.level)
		fprintf(view->out,
		        ". The permutation test of the blocks does not confirm the difference "
		        "(p = %.3g)",
		        effect->permutation_p);
}

static void say_metric(const struct nl_verdict_view *view, unsigned metric)
{
	enum nl_finding finding = nl_verdict_find(view, metric);

	put_metric(view, metric);
	switch (finding) {
	case NL_FINDING_A:
	case NL_FINDING_B:
		say_faster(view, metric, finding == NL_FINDING_B);
		say_tail_of(view, metric, finding == NL_FINDING_B);
		say_unconfirmed(view, metric);
		break;
	case NL_FINDING_NONE:
		say_none(view, metric);
		break;
	case NL_FINDING_TORN:
		say_torn(view, metric);
		break;
	case NL_FINDING_TOO_FEW:
		say_too_few(view, metric);
		break;
	}
	if (!nl_finding_is_difference(finding))
		say_tail_alone(view, metric);
	fputs(".\n", view->out);
}

void nl_verdict_say_effects(const struct nl_verdict_view *view)
{
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++)
		if (!nl_verdict_is_repeated(view, metric))
			say_metric(view, metric);
}
