/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One sentence or two for each thing that a reader must know, the most important first: the
 * difference (verdict_effect.c), what the design of the run cannot exclude, how far the figures can be
 * relied on, and the client that they come from.
 */
#include "report.h"
#include "report_words.h"
#include "verdict_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From here on a side has drifted: A of its halves beyond 0.5 +- this, and the trend's p below that. */
#define HALVES_BEYOND 0.05
#define TREND_P_BELOW 0.01

/* Fewer samples beyond a percentile are single events. */
#define ABOVE_LEAST 10

/* The first percentile that single interruptions reach. */
enum { FAR_TAIL_FIRST = 3 };

/* Arms that took fewer turns have each had the host for themselves for long. */
enum { TURNS_LEAST = 2 * NL_BLOCKS_LEAST };

/* ---- the design ---- */

/* Which server an arm asked, as far as the trace tells; NULL = it does not. */
static const char *server_of(const struct nl_input *input)
{
	const json_t *arms = json_object_get(nl_trace_about(input->trace)->details, "arms");

	return json_string_value(json_object_get(json_array_get(arms, input->arm), "server"));
}

/* "(random order, blocks of 50)", as far as it is told. */
static void put_order(const struct nl_verdict_view *view)
{
	const struct nl_trace_about *about = nl_trace_about(view->inputs[0]->trace);
	char order[NL_NAME_TEXT_SIZE];

	if (about->order)
		fprintf(view->out, " (%s order",
		        np_error_quote(about->order, order, sizeof(order)));
	if (about->block > 0)
		fprintf(view->out, "%sblocks of %" PRIu32, about->order ? ", " : " (",
		        about->block);
	if (about->order || about->block > 0)
		putc(')', view->out);
}

static void say_what_differs(const struct nl_verdict_view *view)
{
	const char *servers[2] = { server_of(view->inputs[0]), server_of(view->inputs[1]) };
	char texts[2][NL_NAME_TEXT_SIZE];

	fputs("what differs is the arm", view->out);
	if (servers[0] && servers[1] && strcmp(servers[0], servers[1]) != 0)
		fprintf(view->out, ", which is another server too (%s, %s)",
		        np_error_quote(servers[0], texts[0], sizeof(texts[0])),
		        np_error_quote(servers[1], texts[1], sizeof(texts[1])));
	fputs(".\n", view->out);
}

/* Returns whether the turns were too few to share what happened to the host. */
static bool say_interleaved(const struct nl_verdict_view *view)
{
	const struct nl_comparison *comparison = view->comparison;
	uint64_t longer_ns = comparison->elapsed_a_ns > comparison->elapsed_b_ns
	                             ? comparison->elapsed_a_ns
	                             : comparison->elapsed_b_ns;
	char turn[NL_TIME_TEXT_SIZE];

	if (comparison->turns < TURNS_LEAST) {
		fputs("Both arms are of one run", view->out);
		put_order(view);
		fprintf(view->out,
		        ", but took only %" PRIu64 " turns; a difference in host state would look "
		        "the same.\n",
		        comparison->turns);
		return true;
	}
	fputs("Requests of both arms were interleaved", view->out);
	put_order(view);
	fprintf(view->out,
	        " in one run, in turns of about %s: slower changes of the host hit both alike; ",
	        nl_elapsed_text(longer_ns / comparison->turns, turn));
	say_what_differs(view);
	return false;
}

static void say_apart(const struct nl_verdict_view *view)
{
	unsigned first = view->comparison->a_first ? 0 : 1;
	char gap[NL_TIME_TEXT_SIZE];

	fprintf(view->out,
	        "Placement was the outer loop and ran once: %s, then %s %s later%s; a difference in "
	        "host state would look the same.\n",
	        view->names[first], view->names[1 - first],
	        nl_elapsed_text(view->comparison->gap_ns, gap),
	        view->has_one_trace ? " in the same run" : "");
}

static void say_design(const struct nl_verdict_view *view)
{
	switch (view->comparison->design) {
	case NL_DESIGN_INTERLEAVED:
		if (!say_interleaved(view))
			return;
		break;
	case NL_DESIGN_APART:
		say_apart(view);
		break;
	case NL_DESIGN_OVERLAPPING:
		fputs("Both ran at the same time and disturbed each other.\n", view->out);
		break;
	case NL_DESIGN_UNKNOWN:
		fputs("When the two ran cannot be told, as their clocks cannot be compared; a "
		      "difference in host state would look the same.\n",
		      view->out);
		break;
	}
	if (nl_verdict_finds_any(view))
		fputs("So the traces show that they differ, and not what made the difference.\n",
		      view->out);
}

/* ---- how far the figures can be relied on ---- */

static bool has_drifted(const struct nl_drift *drift)
{
	return fabs(drift->halves - 0.5) > HALVES_BEYOND && drift->trend.p < TREND_P_BELOW;
}

static void say_drift(const struct nl_verdict_view *view, unsigned side)
{
	const char *before = ": ";

	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		const struct nl_drift *drift = &view->sides[side][metric].drift;

		if (nl_verdict_is_repeated(view, metric) || !has_drifted(drift))
			continue;
		if (*before == ':')
			fprintf(view->out, "%s drifted during its run", view->names[side]);
		fprintf(view->out, "%s%s became %.2g %% %s", before,
		        nl_metric_label((enum nl_metric)metric), fabs(drift->trend_percent),
		        drift->trend_percent < 0 ? "faster" : "slower");
		before = ", ";
	}
	if (*before == ',')
		fputs(".\n", view->out);
}

static void say_correlated(const struct nl_verdict_view *view)
{
	const char *before = " (";

	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		size_t merged = view->comparison->effects[metric].merged_blocks;

		if (nl_verdict_is_repeated(view, metric) || merged <= 1)
			continue;
		if (*before == ' ')
			fputs("Neighbouring blocks hang together", view->out);
		fprintf(view->out, "%s%s: %zu", before, nl_metric_label((enum nl_metric)metric),
		        merged);
		before = ", ";
	}
	if (*before == ',')
		fputs(" as one); the intervals of pairs above allow for that.\n", view->out);
}

static void say_effective(const struct nl_verdict_view *view, unsigned side)
{
	const struct nl_side *sides = view->sides[side];
	unsigned least = 0;

	for (unsigned metric = 1; metric < NL_METRIC_COUNT; metric++)
		if (sides[metric].drift.effective_samples < sides[least].drift.effective_samples)
			least = metric;
	if (!(sides[least].drift.effective_samples < (double)sides[least].samples / 2))
		return;
	fprintf(view->out,
	        "Requests of %s are not independent: its %" PRIu64
	        " tell as much as %.0f would that are (%s).\n",
	        view->names[side], sides[least].samples, sides[least].drift.effective_samples,
	        nl_metric_label((enum nl_metric)least));
}

static void say_dependent(const struct nl_verdict_view *view)
{
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		if (!nl_verdict_is_dependent(view, metric))
			continue;
		fputs("The intervals of percentiles take requests for independent: here they are too "
		      "narrow.\n",
		      view->out);
		return;
	}
}

/* The least of both sides and all metrics. */
static uint64_t samples_above(const struct nl_verdict_view *view, unsigned percentile)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < 2 * NL_METRIC_COUNT; i++) {
		uint64_t above = view->sides[i % 2][i / 2].percentiles[percentile].above;

		if (above < least)
			least = above;
	}
	return least;
}

static void say_few_above(const struct nl_verdict_view *view)
{
	unsigned first = 0;
	unsigned count;

	while (first < NL_PERCENTILE_COUNT && samples_above(view, first) >= ABOVE_LEAST)
		first++;
	count = NL_PERCENTILE_COUNT - first;
	if (count == 0)
		return;
	fprintf(view->out, "Fewer than %d samples lie beyond ", ABOVE_LEAST);
	for (unsigned i = 0; i < count; i++)
		fprintf(view->out, "%s%s", nl_verdict_joint(i, count),
		        nl_percentiles[first + i].label);
	fprintf(view->out, ": %s on single events.\n", count == 1 ? "it hangs" : "they hang");
}

static void say_partial(const struct nl_verdict_view *view, unsigned side)
{
	const struct nl_trace_end *end = nl_trace_end(view->inputs[side]->trace);
	char why[256];

	if (end->is_complete || (side == 1 && view->has_one_trace))
		return;
	fprintf(view->out, "%s is not complete",
	        view->has_one_trace ? "The trace" : view->names[side]);
	if (end->why)
		fprintf(view->out, " (%s)", np_error_quote(end->why, why, sizeof(why)));
	fputs(": what there is was compared.\n", view->out);
}

static void say_rows(const struct nl_verdict_view *view)
{
	const struct nl_comparison *comparison = view->comparison;

	if (comparison->is_partial)
		for (unsigned side = 0; side < 2; side++)
			say_partial(view, side);
	if (comparison->is_cut)
		fprintf(view->out,
		        "Only the first %" PRIu64 " requests of each were compared, as the traces "
		        "are not of the same length.\n",
		        comparison->samples);
	if (comparison->keys_match)
		fputs("Both asked for the same keys in the same order.\n", view->out);
	else
		fputs("The two did not ask for the same keys in the same order, which may be a "
		      "difference too.\n",
		      view->out);
}

/* ---- the client ---- */

static void say_client(const struct nl_verdict_view *view, unsigned side)
{
	const struct nl_conditions *conditions = &view->conditions[side];
	const char *of = view->has_one_trace ? "" : " of ";
	const char *name = view->has_one_trace ? "" : view->names[side];

	if (side == 1 && view->has_one_trace)
		return;
	if (conditions->is_pinned == NL_TOLD_NO)
		fprintf(view->out,
		        "The client%s%s was not pinned: moves between CPUs are in its latencies.\n",
		        of, name);
	if (conditions->is_locked == NL_TOLD_NO)
		fprintf(view->out,
		        "The samples%s%s were not locked in memory: page faults may be in the "
		        "latencies.\n",
		        of, name);
}

/* The worse of both clients; what is not known is 0 in it. */
static struct nl_noise_told worst_noise(const struct nl_verdict_view *view)
{
	const struct nl_noise_told *a = &view->conditions[0].noise;
	const struct nl_noise_told *b = &view->conditions[1].noise;
	struct nl_noise_told worst = !a->is_known || b->gap_max_ns > a->gap_max_ns ? *b : *a;

	worst.late_p99_ns = a->late_p99_ns > b->late_p99_ns ? a->late_p99_ns : b->late_p99_ns;
	return worst;
}

/* A difference in the far tail that one interruption of the client would make. */
static bool is_within(const struct nl_verdict_view *view, unsigned metric, unsigned percentile,
                      uint64_t gap_ns)
{
	const struct nl_percentile *a = &view->sides[0][metric].percentiles[percentile];
	const struct nl_percentile *b = &view->sides[1][metric].percentiles[percentile];
	uint64_t distance = a->ns > b->ns ? a->ns - b->ns : b->ns - a->ns;

	return nl_percentile_order(a, b) != 0 && distance <= gap_ns;
}

static void say_tail_noise(const struct nl_verdict_view *view, uint64_t gap_ns)
{
	const char *before = "One that long is as much as the tails differ: ";

	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		const char *label = nl_metric_label((enum nl_metric)metric);

		for (unsigned i = FAR_TAIL_FIRST; i < NL_PERCENTILE_COUNT; i++) {
			if (nl_verdict_is_repeated(view, metric) ||
			    !is_within(view, metric, i, gap_ns))
				continue;
			fprintf(view->out, "%s%s%s%s", before, label, *label ? " " : "",
			        nl_percentiles[i].label);
			before = ", ";
			label = "";
		}
	}
	if (*before == ',')
		fputs(".\n", view->out);
}

/* A blocked client wakes late by as much, each time anew. */
static void say_shift_noise(const struct nl_verdict_view *view, uint64_t late_ns)
{
	const char *before = "";
	char text[NL_TIME_TEXT_SIZE];

	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		if (nl_verdict_is_repeated(view, metric) ||
		    !nl_finding_is_difference(nl_verdict_find(view, metric)) ||
		    fabs(nl_shift_ns(&view->comparison->effects[metric])) >= (double)late_ns)
			continue;
		fprintf(view->out, "%s%s", *before ? before : "The shift of ",
		        nl_metric_label((enum nl_metric)metric));
		before = ", ";
	}
	if (*before)
		fprintf(view->out,
		        " is less than how late that CPU wakes (p99: %s): many requests show it, "
		        "one does not.\n",
		        nl_latency_text((double)late_ns, text));
}

static void say_noise(const struct nl_verdict_view *view)
{
	struct nl_noise_told noise = worst_noise(view);
	char gap[NL_TIME_TEXT_SIZE];
	char duration[NL_TIME_TEXT_SIZE];

	if (!noise.is_known) {
		fputs("The noise floor of the client's CPU is not known.\n", view->out);
		return;
	}
	fprintf(view->out,
	        "The client's CPU was interrupted %" PRIu64 " times in %s of doing nothing else",
	        noise.gaps, nl_elapsed_text(noise.duration_ns, duration));
	if (noise.gap_max_ns > 0)
		fprintf(view->out, ", for up to %s",
		        nl_latency_text((double)noise.gap_max_ns, gap));
	fputs(".\n", view->out);
	say_tail_noise(view, noise.gap_max_ns);
	say_shift_noise(view, noise.late_p99_ns);
}

static void say_all(const struct nl_verdict_view *view)
{
	nl_verdict_say_effects(view);
	say_design(view);
	for (unsigned side = 0; side < 2; side++)
		say_drift(view, side);
	say_correlated(view);
	for (unsigned side = 0; side < 2; side++)
		say_effective(view, side);
	say_dependent(view);
	say_few_above(view);
	say_rows(view);
	for (unsigned side = 0; side < 2; side++)
		say_client(view, side);
	say_noise(view);
}

char *nl_verdict(const struct nl_comparison *comparison)
{
	char names[2][NL_NAME_TEXT_SIZE];
	struct nl_verdict_view view = {
		.comparison = comparison,
		.sides = { comparison->a_sides, comparison->b_sides },
		.inputs = { &comparison->a, &comparison->b },
		.names = { nl_label_text(&comparison->a, names[0]),
		           nl_label_text(&comparison->b, names[1]) },
		.has_one_trace = comparison->a.trace == comparison->b.trace,
	};
	char *text = NULL;
	size_t size;
	bool has_failed;

	for (unsigned side = 0; side < 2; side++)
		nl_conditions_read(view.inputs[side]->trace, &view.conditions[side]);
	view.out = open_memstream(&text, &size);
	if (!view.out)
		return NULL;
	say_all(&view);
	has_failed = ferror(view.out);
	if (fclose(view.out) == EOF || has_failed) {
		free(text);
		return NULL;
	}
	return text;
}
