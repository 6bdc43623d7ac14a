/* SPDX-License-Identifier: BSD-3-Clause */
#include "load_report.h"
#include "target_json.h"

#include "../../probe/base/json.h"
#include "../../probe/base/table.h"

#include <inttypes.h>
#include <numaprobe/cpulist.h>

enum { TEXT_SIZE = 64, PERCENTILE_COUNT = 5 };

static const struct {
	const char *key; /* in JSON */
	struct np_share share;
} percentiles[PERCENTILE_COUNT] = {
	{ "p50_ns", { 1, 2 } },        { "p90_ns", { 9, 10 } },          { "p99_ns", { 99, 100 } },
	{ "p99_9_ns", { 999, 1000 } }, { "p99_99_ns", { 9999, 10000 } },
};

static double per_second(uint64_t count, uint64_t ns)
{
	return ns > 0 ? (double)count * 1e9 / (double)ns : 0;
}

static const char *arrivals_name(enum nl_arrivals arrivals)
{
	return arrivals == NL_ARRIVALS_FIXED ? "fixed" : "poisson";
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* ---- text: what was asked ---- */

static const char *keys_text(const struct nl_load_keys *keys, char buf[TEXT_SIZE])
{
	if (keys->kind == NL_KEYS_ZIPF)
		snprintf(buf, TEXT_SIZE, "zipf:%g", keys->theta);
	else if (keys->kind == NL_KEYS_HOT)
		snprintf(buf, TEXT_SIZE, "hot:%g:%g", keys->hot_fraction, keys->hot_share);
	else
		snprintf(buf, TEXT_SIZE, "uniform");
	return buf;
}

static void print_sizes(const struct nl_sizes *sizes, FILE *out)
{
	for (unsigned i = 0; i < sizes->count; i++)
		fprintf(out, "%s%" PRIu64, i > 0 ? ", " : "", sizes->parts[i].bytes);
	fputs(" bytes\n", out);
}

static void print_plan(const struct nl_load_plan *plan, FILE *out)
{
	const struct nl_target *target = plan->target;
	char where[NL_SERVER_TEXT_SIZE];
	char keys[TEXT_SIZE];

	fprintf(out, "server   %s, %s; %" PRIu32 " keys '%s0' and on of ",
	        nl_server_text(&target->server, where, sizeof(where)),
	        nl_protocol_name(target->protocol), target->keys, target->prefix);
	print_sizes(&target->sizes, out);
	fprintf(out, "load     ");
	if (plan->rate_per_s > 0)
		fprintf(out, "open loop, %g requests/s, %s", plan->rate_per_s,
		        arrivals_name(plan->arrivals));
	else
		fprintf(out, "closed loop");
	fprintf(out, "; %u connection%s on %u thread%s; keys %s", plan->connections,
	        plural(plan->connections), plan->threads, plural(plan->threads),
	        keys_text(&plan->keys, keys));
	if (plan->set_share > 0)
		fprintf(out, ", %g %% SET", plan->set_share * 100);
	if (!np_bitmap_is_empty(&plan->cpus))
		fprintf(out, "; %s", np_cpulist_named("CPU", &plan->cpus, where, sizeof(where)));
	fputc('\n', out);
}

static void print_time(const struct nl_load_plan *plan, const struct nl_load_result *result,
                       FILE *out)
{
	fprintf(out, "time     %.3f s after %.3f s of warm-up", (double)result->elapsed_ns / 1e9,
	        (double)plan->warmup_ns / 1e9);
	if (!result->is_complete)
		fprintf(out, "; NOT COMPLETE: %s", result->why);
	fputs("\n\n", out);
}

/* ---- text: what came of it ---- */

enum column {
	WHAT,
	OF,
	COUNT,
	RATE,
	BYTES,
	MEAN,
	FIRST_PERCENTILE,
	MAX = FIRST_PERCENTILE + PERCENTILE_COUNT
};

static const struct np_column columns[] = {
	{ "VERB", false }, { "TIME", false }, { "REQUESTS", true }, { "PER S", true },
	{ "MB/S", true },  { "MEAN", true },  { "P50", true },      { "P90", true },
	{ "P99", true },   { "P99.9", true }, { "P99.99", true },   { "MAX", true },
};

/* Microseconds with as many digits as the buckets tell. */
static void set_us(struct np_table *table, size_t column, double ns)
{
	np_table_set(table, column, ns < 1e6 ? "%.1f" : "%.0f", ns / 1e3);
}

static void add_times(struct np_table *table, const char *what, const struct nl_histogram *times)
{
	np_table_set(table, OF, "%s", what);
	np_table_set(table, COUNT, "%" PRIu64, nl_histogram_count(times));
	if (nl_histogram_count(times) == 0)
		return;
	set_us(table, MEAN, nl_histogram_mean(times));
	for (size_t i = 0; i < PERCENTILE_COUNT; i++)
		set_us(table, FIRST_PERCENTILE + i,
		       (double)nl_histogram_at(times, percentiles[i].share));
	set_us(table, MAX, (double)nl_histogram_max(times));
}

static void add_verb(struct np_table *table, const struct nl_load_result *result, enum nl_verb verb)
{
	const struct nl_load_count *count = &result->tally.counts[verb];

	np_table_add_row(table);
	np_table_set(table, WHAT, "%s", nl_verb_name(verb));
	add_times(table, "latency", count->latency);
	if (result->elapsed_ns > 0) {
		np_table_set(table, RATE, "%.0f", per_second(count->requests, result->elapsed_ns));
		np_table_set(table, BYTES, "%.1f",
		             per_second(count->bytes, result->elapsed_ns) / 1e6);
	}
	if (!count->service)
		return;
	np_table_add_row(table);
	np_table_set(table, WHAT, "%s", nl_verb_name(verb));
	add_times(table, "service", count->service);
}

static int print_table(const struct nl_load_plan *plan, const struct nl_load_result *result,
                       FILE *out)
{
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	if (plan->set_share < 1)
		add_verb(table, result, NL_GET);
	if (plan->set_share > 0)
		add_verb(table, result, NL_SET);
	if (result->tally.lag) {
		np_table_add_row(table);
		add_times(table, "lag", result->tally.lag);
	}
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

static void print_open_loop(const struct nl_load_plan *plan, const struct nl_load_result *result,
                            FILE *out)
{
	const struct nl_load_tally *tally = &result->tally;

	fprintf(out, "rate     asked %g, due %.0f, achieved %.0f requests/s", plan->rate_per_s,
	        nl_load_offered(result), nl_load_achieved(result));
	if (tally->backlog > 0)
		fprintf(out, "; %" PRIu64 " due ones not sent at the end, the first %.3f s late",
		        tally->backlog, (double)tally->backlog_oldest_ns / 1e9);
	fputc('\n', out);
	if (nl_load_is_overloaded(result))
		fprintf(out,
		        "overload %.1f %% of the rate was achieved: latencies show how the queue "
		        "grew\n",
		        100 * nl_load_achieved(result) / nl_load_offered(result));
	if (nl_load_is_late(result))
		fprintf(out, "warning  the generator could not keep up: its lag is part of the "
		             "latencies;\n         a CPU of its own (--cpus) or more threads would "
		             "help\n");
}

static void print_oddities(const struct nl_load_result *result, FILE *out)
{
	const struct nl_load_tally *tally = &result->tally;
	const struct nl_load_count *gets = &tally->counts[NL_GET];
	uint64_t misses = gets->misses;
	uint64_t refused = gets->refused + tally->counts[NL_SET].refused;

	if (misses > 0)
		fprintf(out, "misses   %" PRIu64 " of %" PRIu64 " GETs\n", misses, gets->requests);
	if (gets->other_sizes > 0)
		fprintf(out,
		        "sizes    %" PRIu64 " of %" PRIu64
		        " values had another size than --size tells\n",
		        gets->other_sizes, gets->requests - misses - gets->refused);
	if (refused > 0)
		fprintf(out, "refused  %" PRIu64 " of %" PRIu64 " requests: %s\n", refused,
		        nl_load_requests(result), tally->refusal);
	if (tally->reconnects > 0)
		fprintf(out, "reopened %" PRIu64 " connections that the server closed\n",
		        tally->reconnects);
}

int nl_load_report_print(const struct nl_load_plan *plan, const struct nl_load_result *result,
                         FILE *out)
{
	int rc;

	print_plan(plan, out);
	print_time(plan, result, out);
	rc = print_table(plan, result, out);
	fprintf(out, "\nTimes are in microseconds; percentiles are within 1 part in 1024.\n");
	if (plan->rate_per_s > 0) {
		fprintf(out,
		        "Latency is from when a request was meant to be sent, service from its "
		        "sending;\nlag is how late the generator itself sent it.\n\n");
		print_open_loop(plan, result, out);
	} else {
		fprintf(out, "Latency is from sending to the last byte of the reply.\n");
	}
	print_oddities(result, out);
	return rc;
}

/* ---- JSON ---- */

static json_t *times_json(const struct nl_histogram *times)
{
	bool is_known = times && nl_histogram_count(times) > 0;
	json_t *object = json_object();

	if (!times) {
		json_decref(object);
		return json_null();
	}
	np_json_set_member(&object, "count", json_integer((json_int_t)nl_histogram_count(times)));
	np_json_set_member(&object, "min_ns", np_json_number(is_known, nl_histogram_min(times)));
	np_json_set_member(&object, "mean_ns",
	                   is_known ? json_real(nl_histogram_mean(times)) : json_null());
	for (size_t i = 0; i < PERCENTILE_COUNT; i++)
		np_json_set_member(
			&object, percentiles[i].key,
			np_json_number(is_known, nl_histogram_at(times, percentiles[i].share)));
	np_json_set_member(&object, "max_ns", np_json_number(is_known, nl_histogram_max(times)));
	return object;
}

static json_t *rate_json(bool is_known, double rate)
{
	return is_known ? json_real(rate) : json_null();
}

static json_t *verb_json(const struct nl_load_result *result, enum nl_verb verb)
{
	const struct nl_load_count *count = &result->tally.counts[verb];
	bool took_time = result->elapsed_ns > 0;
	json_t *object = json_object();

	np_json_set_member(&object, "verb", json_string(nl_verb_name(verb)));
	np_json_set_member(&object, "requests", json_integer((json_int_t)count->requests));
	np_json_set_member(&object, "requests_per_s",
	                   rate_json(took_time, per_second(count->requests, result->elapsed_ns)));
	np_json_set_member(&object, "bytes", json_integer((json_int_t)count->bytes));
	np_json_set_member(&object, "bytes_per_s",
	                   rate_json(took_time, per_second(count->bytes, result->elapsed_ns)));
	np_json_set_member(&object, "misses", json_integer((json_int_t)count->misses));
	np_json_set_member(&object, "other_sizes", json_integer((json_int_t)count->other_sizes));
	np_json_set_member(&object, "refused", json_integer((json_int_t)count->refused));
	np_json_set_member(&object, "latency", times_json(count->latency));
	np_json_set_member(&object, "service",
	                   times_json(count->service ? count->service : count->latency));
	return object;
}

static void add_target(json_t **object, const struct nl_target *target)
{
	char where[NL_SERVER_TEXT_SIZE];

	np_json_set_member(object, "server",
	                   np_json_text(nl_server_text(&target->server, where, sizeof(where))));
	np_json_set_member(object, "protocol", json_string(nl_protocol_name(target->protocol)));
	np_json_set_member(object, "prefix", np_json_text(target->prefix));
	np_json_set_member(object, "keys", json_integer((json_int_t)target->keys));
	np_json_set_member(object, "sizes", nl_sizes_json(&target->sizes));
}

static void add_plan(json_t **object, const struct nl_load_plan *plan)
{
	bool is_open = plan->rate_per_s > 0;
	char text[TEXT_SIZE];

	np_json_set_member(object, "loop", json_string(is_open ? "open" : "closed"));
	np_json_set_member(object, "arrivals",
	                   is_open ? json_string(arrivals_name(plan->arrivals)) : json_null());
	np_json_set_member(object, "connections", json_integer(plan->connections));
	np_json_set_member(object, "threads", json_integer(plan->threads));
	np_json_set_member(object, "cpus", np_json_known_set(&plan->cpus));
	np_json_set_member(object, "key_distribution", json_string(keys_text(&plan->keys, text)));
	np_json_set_member(object, "set_share", json_real(plan->set_share));
	snprintf(text, sizeof(text), "0x%" PRIx64, plan->seed);
	np_json_set_member(object, "seed", json_string(text));
	np_json_set_member(object, "verified", json_boolean(plan->verifies));
	np_json_set_member(object, "warmup_ns", json_integer((json_int_t)plan->warmup_ns));
	np_json_set_member(object, "duration_asked_ns",
	                   np_json_number(!plan->requests, plan->duration_ns));
	np_json_set_member(object, "requests_asked",
	                   np_json_number(plan->requests, plan->requests));
	np_json_set_member(object, "rate_asked_per_s", rate_json(is_open, plan->rate_per_s));
}

static void add_totals(json_t **object, const struct nl_load_result *result)
{
	const struct nl_load_tally *tally = &result->tally;
	bool took_time = result->elapsed_ns > 0;
	bool is_open = tally->lag;
	uint64_t bytes = tally->counts[NL_GET].bytes + tally->counts[NL_SET].bytes;

	np_json_set_member(object, "rate_due_per_s",
	                   rate_json(is_open && result->due_span_ns > 0, nl_load_offered(result)));
	np_json_set_member(object, "rate_achieved_per_s",
	                   rate_json(took_time, nl_load_achieved(result)));
	np_json_set_member(object, "requests", json_integer((json_int_t)nl_load_requests(result)));
	np_json_set_member(object, "bytes", json_integer((json_int_t)bytes));
	np_json_set_member(object, "bytes_per_s",
	                   rate_json(took_time, per_second(bytes, result->elapsed_ns)));
	np_json_set_member(object, "reconnects", json_integer((json_int_t)tally->reconnects));
	np_json_set_member(object, "refusal",
	                   np_json_text(tally->refusal[0] ? tally->refusal : NULL));
	np_json_set_member(object, "requests_due", np_json_number(is_open, tally->due));
	np_json_set_member(object, "backlog", np_json_number(is_open, tally->backlog));
	np_json_set_member(object, "backlog_oldest_ns",
	                   np_json_number(is_open, tally->backlog_oldest_ns));
	np_json_set_member(object, "is_overloaded",
	                   is_open ? json_boolean(nl_load_is_overloaded(result)) : json_null());
	np_json_set_member(object, "is_generator_late",
	                   is_open ? json_boolean(nl_load_is_late(result)) : json_null());
}

json_t *nl_load_report_json(const struct nl_load_plan *plan, const struct nl_load_result *result)
{
	json_t *object = json_object();
	json_t *verbs = json_array();

	np_json_set_member(&object, "schema", json_string("numakit/load/1"));
	add_target(&object, plan->target);
	add_plan(&object, plan);
	np_json_set_member(&object, "began_ns", json_integer(result->began_ns));
	np_json_set_member(&object, "elapsed_ns", json_integer((json_int_t)result->elapsed_ns));
	np_json_set_member(&object, "complete", json_boolean(result->is_complete));
	np_json_set_member(&object, "why", np_json_text(result->is_complete ? NULL : result->why));
	add_totals(&object, result);
	np_json_set_member(&object, "percentile_resolution", json_string("1/1024"));
	if (plan->set_share < 1)
		np_json_append(&verbs, verb_json(result, NL_GET));
	if (plan->set_share > 0)
		np_json_append(&verbs, verb_json(result, NL_SET));
	np_json_set_member(&object, "verbs", verbs);
	np_json_set_member(&object, "lag", times_json(result->tally.lag));
	return object;
}
