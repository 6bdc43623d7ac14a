/* SPDX-License-Identifier: BSD-3-Clause */
#include "load_result.h"

#include <errno.h>
#include <string.h>

#define LAG_LIMIT_NS UINT64_C(100000)

enum { OVERLOAD_REQUESTS_MIN = 1000 };

static const struct np_share p50 = { 1, 2 };
static const struct np_share p99 = { 99, 100 };

const char *nl_verb_name(enum nl_verb verb)
{
	return verb == NL_GET ? "GET" : "SET";
}

/* ---- tallies ---- */

int nl_load_tally_init(struct nl_load_tally *tally, const struct nl_load_plan *plan,
                       struct np_error *err)
{
	bool is_open = plan->rate_per_s > 0;
	bool is_whole = true;

	memset(tally, 0, sizeof(*tally));
	for (int verb = 0; verb < NL_VERB_COUNT; verb++) {
		struct nl_load_count *count = &tally->counts[verb];

		count->latency = nl_histogram_create();
		count->service = is_open ? nl_histogram_create() : NULL;
		is_whole = is_whole && count->latency && (count->service || !is_open);
	}
	tally->lag = is_open ? nl_histogram_create() : NULL;
	if (is_whole && (tally->lag || !is_open))
		return 0;
	nl_load_tally_release(tally);
	return np_error_set(err, ENOMEM, "load: no memory for histograms");
}

void nl_load_tally_release(struct nl_load_tally *tally)
{
	for (int verb = 0; verb < NL_VERB_COUNT; verb++) {
		nl_histogram_free(tally->counts[verb].latency);
		nl_histogram_free(tally->counts[verb].service);
	}
	nl_histogram_free(tally->lag);
	memset(tally, 0, sizeof(*tally));
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void nl_load_tally_merge(struct nl_load_tally *into, const struct nl_load_tally *from)
{
	for (int verb = 0; verb < NL_VERB_COUNT; verb++) {
		struct nl_load_count *sum = &into->counts[verb];
		const struct nl_load_count *count = &from->counts[verb];

		sum->requests += count->requests;
		sum->bytes += count->bytes;
		sum->misses += count->misses;
		sum->other_sizes += count->other_sizes;
		sum->refused += count->refused;
		nl_histogram_merge(sum->latency, count->latency);
		if (sum->service)
			nl_histogram_merge(sum->service, count->service);
	}
	if (into->lag)
		nl_histogram_merge(into->lag, from->lag);
	into->reconnects += from->reconnects;
	into->due += from->due;
	into->backlog += from->backlog;
	into->last_due_ns = later(into->last_due_ns, from->last_due_ns);
	into->backlog_oldest_ns = later(into->backlog_oldest_ns, from->backlog_oldest_ns);
	into->last_reply_ns = later(into->last_reply_ns, from->last_reply_ns);
	if (!into->refusal[0])
		memcpy(into->refusal, from->refusal, sizeof(into->refusal));
}

/* ---- what follows from them ---- */

static double per_second(uint64_t count, uint64_t ns)
{
	return ns > 0 ? (double)count * 1e9 / (double)ns : 0;
}

uint64_t nl_load_requests(const struct nl_load_result *result)
{
	return result->tally.counts[NL_GET].requests + result->tally.counts[NL_SET].requests;
}

double nl_load_achieved(const struct nl_load_result *result)
{
	return per_second(nl_load_requests(result), result->elapsed_ns);
}

double nl_load_offered(const struct nl_load_result *result)
{
	return per_second(result->tally.due, result->due_span_ns);
}

bool nl_load_is_overloaded(const struct nl_load_result *result)
{
	return result->tally.lag && result->is_complete &&
	       nl_load_requests(result) >= OVERLOAD_REQUESTS_MIN &&
	       nl_load_achieved(result) < 0.99 * nl_load_offered(result);
}

/* The median latency of the verb that was asked for most. */
static uint64_t usual_latency_ns(const struct nl_load_tally *tally)
{
	const struct nl_load_count *counts = tally->counts;
	bool is_set = counts[NL_SET].requests > counts[NL_GET].requests;

	return nl_histogram_at(counts[is_set ? NL_SET : NL_GET].latency, p50);
}

bool nl_load_is_late(const struct nl_load_result *result)
{
	const struct nl_load_tally *tally = &result->tally;
	uint64_t lag_ns = tally->lag ? nl_histogram_at(tally->lag, p99) : 0;

	return lag_ns > later(LAG_LIMIT_NS, usual_latency_ns(tally) / 10);
}

void nl_load_result_release(struct nl_load_result *result)
{
	nl_load_tally_release(&result->tally);
}
