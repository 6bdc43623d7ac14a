/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

const char *nl_protocol_text(const struct nl_comparison *comparison)
{
	return comparison->protocol ? comparison->protocol : "unknown";
}

const char *nl_label_text(const struct nl_input *input, char buf[NL_NAME_TEXT_SIZE])
{
	return np_error_quote(input->label, buf, NL_NAME_TEXT_SIZE);
}

const char *nl_arm_name(const struct nl_input *input)
{
	const struct nl_trace_about *about = nl_trace_about(input->trace);

	return about->arm_count > 1 ? about->arms[input->arm] : NULL;
}

const char *nl_magnitude(double a_faster)
{
	double distance = fabs(a_faster - 0.5);

	if (distance < NL_NEGLIGIBLE_BELOW)
		return "negligible";
	if (distance < NL_SMALL_BELOW)
		return "small";
	return distance < NL_MEDIUM_BELOW ? "medium" : "large";
}

double nl_improvement_percent(uint64_t a_ns, uint64_t b_ns)
{
	if (b_ns == 0)
		return a_ns == 0 ? 0 : NAN;
	return 100 * ((double)b_ns - (double)a_ns) / (double)b_ns;
}

double nl_shift_ns(const struct nl_effect *effect)
{
	return (double)effect->twice_shift_ns / 2;
}

struct np_interval nl_effect_interval(const struct nl_effect *effect)
{
	return effect->correlated_interval;
}

int nl_percentile_order(const struct nl_percentile *a, const struct nl_percentile *b)
{
	if (a->high_ns > 0 && a->high_ns < b->low_ns)
		return -1;
	return b->high_ns > 0 && b->high_ns < a->low_ns ? 1 : 0;
}

/* Four digits, or those before the point. */
static int decimals(double value)
{
	if (value < 9.9995)
		return 3;
	if (value < 99.995)
		return 2;
	return value < 999.95 ? 1 : 0;
}

const char *nl_latency_text(double ns, char buf[NL_TIME_TEXT_SIZE])
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double value = ns / units[i].ns;

		if (fabs(value) < 0.9999995)
			continue;
		snprintf(buf, NL_TIME_TEXT_SIZE, "%.*f %s", decimals(fabs(value)), value,
		         units[i].unit);
		return buf;
	}
	snprintf(buf, NL_TIME_TEXT_SIZE, "%.*f ns", ns == rint(ns) ? 0 : 1, ns);
	return buf;
}

const char *nl_elapsed_text(uint64_t ns, char buf[NL_TIME_TEXT_SIZE])
{
	uint64_t s = (ns + 500000000) / 1000000000;

	if (ns < UINT64_C(1000000000))
		nl_latency_text((double)ns, buf);
	else if (s < 120)
		snprintf(buf, NL_TIME_TEXT_SIZE, "%.1f s", (double)ns / 1e9);
	else if (s < 7200)
		snprintf(buf, NL_TIME_TEXT_SIZE, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		snprintf(buf, NL_TIME_TEXT_SIZE, "%" PRIu64 " h %" PRIu64 " min", s / 3600,
		         s % 3600 / 60);
	return buf;
}

const char *nl_design_name(enum nl_design design)
{
	static const char *const names[] = {
		[NL_DESIGN_INTERLEAVED] = "interleaved",
		[NL_DESIGN_APART] = "apart",
		[NL_DESIGN_OVERLAPPING] = "overlapping",
		[NL_DESIGN_UNKNOWN] = "unknown",
	};

	return names[design];
}
