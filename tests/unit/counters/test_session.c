/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: on this kernel, with software events; and which source is taken. */
#include "../../../counters/lib/log.h"
#include "../../../counters/lib/series.h"
#include "../../../counters/lib/session_parts.h"
#include "host.h"
#include "software.h"

#include <errno.h>
#include <math.h>

#define MS UINT64_C(1000000)

static const struct nc_pmu box = { .name = "uncore_box_0", .is_core = true };

/* ---- counting ---- */

static struct nc_session *open_session(const struct nc_host *host, const struct nc_counter *items,
                                       size_t count)
{
	struct nc_counters counters = software_list(items, count);
	struct nc_session *session;
	struct np_error err;

	assert_np_ok(nc_perf_session_open(host, NC_SOURCE_UNCORE, &counters, &session, &err), &err);
	return session;
}

static struct nc_host *load_here(void)
{
	const struct nc_host_source here = { 0 };
	struct nc_host *host;
	struct np_error err;

	need_counting();
	assert_np_ok(nc_host_load(&here, &host, &err), &err);
	return host;
}

/* @found lies between the two times, but for half a percent. */
static void assert_between(uint64_t found, uint64_t least, uint64_t most)
{
	if ((double)found < (double)least * 0.995 || (double)found > (double)most * 1.005)
		fail_msg("%llu is not in %llu..%llu", (unsigned long long)found,
		         (unsigned long long)least, (unsigned long long)most);
}

static void each_cpus_clock_counts_the_time_that_passed(void **state)
{
	struct nc_host *host = load_here();
	const struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                            software_counter(&box, 1, 1, 1) };
	uint64_t sums[2] = { 0 };
	uint64_t opening_ns = clock_now();
	struct nc_session *session = open_session(host, items, 2);
	uint64_t opened_ns = clock_now();
	struct nc_sample sample;
	struct np_error err;
	uint64_t last_ns = 0;

	(void)state;
	assert_number(nc_session_counter_count(session), 2);
	assert_number(nc_session_series_count(session), 2);
	assert_number(nc_session_source(session), NC_SOURCE_UNCORE);
	for (unsigned i = 0; i < 10; i++) {
		uint64_t reading_ns;
		uint64_t read_ns;

		pass_time_ns(20 * MS);
		reading_ns = clock_now();
		assert_np_ok(nc_session_read(session, &sample, &err), &err);
		read_ns = clock_now();

		assert_number(sample.elapsed_ns - last_ns, sample.interval_ns);
		last_ns = sample.elapsed_ns;
		for (size_t k = 0; k < 2; k++) {
			const struct nc_value *value = &sample.values[k];

			assert_true(value->is_known);
			sums[k] += value->delta;
			assert_true(value->total == sums[k]);
			assert_between(value->total, reading_ns - opened_ns, read_ns - opening_ns);
			assert_true(fabs(value->coverage - 1.0) < 1e-9);
			assert_number(value->note, NC_NOTE_NONE);
		}
	}
	nc_session_close(session);
	nc_host_free(host);
}

static void counters_of_a_socket_are_one_series(void **state)
{
	struct nc_host *host = load_here();
	struct nc_counter items[] = { software_counter(&box, 0, 0, 0),
		                      software_counter(&box, 1, 0, 1) };
	uint64_t opening_ns;
	uint64_t opened_ns;
	uint64_t reading_ns;
	struct nc_session *session;
	struct nc_sample sample;
	struct np_error err;

	(void)state;
	/* 1 a count of the one, 1/4 of the other. */
	items[1].per = 4;
	opening_ns = clock_now();
	session = open_session(host, items, 2);
	opened_ns = clock_now();
	pass_time_ns(100 * MS);
	reading_ns = clock_now();
	assert_np_ok(nc_session_read(session, &sample, &err), &err);

	assert_number(nc_session_series_count(session), 1);
	assert_number(nc_session_series(session)[0].counter_count, 2);
	assert_between(sample.values[0].delta, (reading_ns - opened_ns) / 4 * 5,
	               (clock_now() - opening_ns) / 4 * 5);
	nc_session_close(session);
	nc_host_free(host);
}

static void events_that_could_not_be_found_are_told_of(void **state)
{
	struct nc_host *host = load_here();
	const struct nc_counter item = software_counter(&box, 0, 0, 0);
	struct nc_counters counters = software_list(&item, 1);
	struct nc_session *session;
	struct np_error err;
	uint64_t total;

	(void)state;
	counters.problems = calloc(1, sizeof(char *));
	counters.problems[0] = strdup("cas_count_write: no format file umask");
	counters.problem_count = 1;
	assert_np_ok(nc_perf_session_open(host, NC_SOURCE_UNCORE, &counters, &session, &err), &err);

	assert_number(nc_session_event_count(session, &total), 1);
	assert_number(total, 1);
	assert_text(nc_session_event(session, 0), "at 0 s: cas_count_write: no format file umask");
	assert_text(nc_session_event(session, 1), "");
	nc_session_close(session);
	nc_host_free(host);
}

/* ---- which source ---- */

static void a_captured_host_is_not_counted_on(void **state)
{
	static const struct host_shape shape = { .node_count = 2, .cores_per_node = 1 };
	const struct host *made_up = *state;
	const struct nc_host_source from = { .root = made_up->dir };
	const struct nc_session_options options = { .allows_fallback = true };
	struct nc_session *session;
	struct nc_host *host;
	struct np_error err;

	host_build(made_up, &shape);
	assert_np_ok(nc_host_load(&from, &host, &err), &err);
	assert_fails(nc_session_open(host, &options, &session, &err), -EXDEV, &err, made_up->dir);
	nc_host_free(host);
}

static void without_a_source_the_reason_is_told(void **state)
{
	const struct nc_session_options options = { 0 };
	struct nc_host *host = load_here();
	struct nc_session *session = NULL;
	struct nc_counters counters;
	struct np_error err;

	(void)state;
	assert_np_ok(nc_counters_find(host, NC_CLASSES_DEFAULT, &counters, &err), &err);
	if (counters.count > 0) {
		print_message("skipped: this machine has uncore PMUs\n");
		nc_counters_release(&counters);
		nc_host_free(host);
		skip();
	}
	nc_counters_release(&counters);

	assert_fails(nc_session_open(host, &options, &session, &err), -ENODATA, &err, "uncore: ");
	assert_null(session);
	nc_host_free(host);
}

/* ---- series ---- */

static void assert_series(const struct nc_series *series, enum nc_class what, unsigned socket,
                          unsigned link, unsigned counter_count)
{
	assert_number(series->what, what);
	assert_number(series->socket, socket);
	assert_number(series->link, link);
	assert_number(series->counter_count, counter_count);
}

static void series_are_sorted_and_links_stand_alone(void **state)
{
	static const struct nc_counter items[] = {
		{ .what = NC_CLASS_INTERCONNECT_OUT,
		  .has_socket = true,
		  .socket = 1,
		  .has_link = true,
		  .link = 1 },
		{ .what = NC_CLASS_MEMORY_READ, .has_socket = true, .socket = 10 },
		{ .what = NC_CLASS_INTERCONNECT_OUT,
		  .has_socket = true,
		  .socket = 1,
		  .has_link = true,
		  .link = 0 },
		{ .what = NC_CLASS_MEMORY_READ, .has_socket = true, .socket = 2 },
		{ .what = NC_CLASS_MEMORY_READ, .has_socket = true, .socket = 10, .die = 1 },
		{ .what = NC_CLASS_INTERCONNECT_OUT,
		  .has_socket = true,
		  .socket = 1,
		  .has_link = true,
		  .link = 1,
		  .die = 1 },
	};
	const struct nc_counters counters = { (struct nc_counter *)items, 6, NULL, 0 };
	struct nc_series_list list;
	struct np_error err;

	(void)state;
	assert_np_ok(nc_series_build(&counters, &list, &err), &err);

	assert_number(list.count, 4);
	assert_series(&list.items[0], NC_CLASS_MEMORY_READ, 2, 0, 1);
	assert_series(&list.items[1], NC_CLASS_MEMORY_READ, 10, 0, 2);
	assert_series(&list.items[2], NC_CLASS_INTERCONNECT_OUT, 1, 0, 1);
	assert_series(&list.items[3], NC_CLASS_INTERCONNECT_OUT, 1, 1, 2);
	assert_text(list.items[0].name, "memory_read");
	assert_number(list.of[0], 3);
	assert_number(list.of[1], 1);
	assert_number(list.of[2], 2);
	assert_number(list.of[3], 0);
	assert_number(list.of[4], 1);
	assert_number(list.of[5], 3);
	nc_series_release(&list);
}

static void links_that_lead_elsewhere_are_not_added(void **state)
{
	static const struct nc_counter items[] = {
		{ .what = NC_CLASS_INTERCONNECT_OUT,
		  .has_socket = true,
		  .has_link = true,
		  .has_peer = true,
		  .peer = 3,
		  .peer_link = 1 },
		{ .what = NC_CLASS_INTERCONNECT_OUT,
		  .has_socket = true,
		  .has_link = true,
		  .has_peer = true,
		  .peer = 1,
		  .peer_link = 2 },
	};
	const struct nc_counters counters = { (struct nc_counter *)items, 2, NULL, 0 };
	struct nc_series_list list;
	struct np_error err;

	(void)state;
	assert_np_ok(nc_series_build(&counters, &list, &err), &err);

	assert_number(list.count, 2);
	assert_number(list.items[0].peer, 1);
	assert_number(list.items[0].peer_link, 2);
	assert_number(list.items[1].peer, 3);
	nc_series_release(&list);
}

static void nodes_without_cpus_are_series_and_other_events_go_by_name(void **state)
{
	static const struct nc_counter items[] = {
		{ .what = NC_CLASS_PAGES_LOCAL, .node = 5 },
		{ .what = NC_CLASS_PAGES_LOCAL, .node = 4 },
		{ .what = NC_CLASS_PAGES_LOCAL, .has_socket = true, .socket = 7, .node = 1 },
		{ .what = NC_CLASS_PAGES_LOCAL, .has_socket = true, .socket = 7, .node = 0 },
		{ .what = NC_CLASS_OTHER, .name = "walks", .has_socket = true },
		{ .what = NC_CLASS_OTHER, .name = "snoops", .has_socket = true },
	};
	const struct nc_counters counters = { (struct nc_counter *)items, 6, NULL, 0 };
	struct nc_series_list list;
	struct np_error err;

	(void)state;
	assert_np_ok(nc_series_build(&counters, &list, &err), &err);

	assert_number(list.count, 5);
	assert_series(&list.items[0], NC_CLASS_PAGES_LOCAL, 7, 0, 2);
	assert_number(list.items[1].node, 4);
	assert_false(list.items[1].has_socket);
	assert_number(list.items[2].node, 5);
	assert_text(list.items[3].name, "snoops");
	assert_text(list.items[4].name, "walks");
	nc_series_release(&list);
}

/* ---- sentences ---- */

static void the_last_sentences_are_kept(void **state)
{
	static struct nc_log log;
	char longest[2 * NC_LOG_SENTENCE_SIZE];

	(void)state;
	assert_number(nc_log_count(&log), 0);
	assert_text(nc_log_sentence(&log, 0), "");
	for (unsigned i = 0; i < 100; i++) {
		log.elapsed_ns = i * NS_PER_S + NS_PER_S / 2;
		nc_log_add(&log, "sentence %u", i);
	}
	assert_number(nc_log_count(&log), 64);
	assert_number(log.total, 100);
	assert_text(nc_log_sentence(&log, 0), "at 36 s: sentence 36");
	assert_text(nc_log_sentence(&log, 63), "at 99 s: sentence 99");
	assert_text(nc_log_sentence(&log, 64), "");

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	nc_log_add(&log, "%s\n", longest);
	assert_true(is_printable_line(nc_log_sentence(&log, 63)));
	nc_log_add(&log, "a\nb");
	assert_text(nc_log_sentence(&log, 63), "at 99 s: a\\x0ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cpus_clock_counts_the_time_that_passed),
		cmocka_unit_test(counters_of_a_socket_are_one_series),
		cmocka_unit_test(events_that_could_not_be_found_are_told_of),
		host_test(a_captured_host_is_not_counted_on),
		cmocka_unit_test(without_a_source_the_reason_is_told),
		cmocka_unit_test(series_are_sorted_and_links_stand_alone),
		cmocka_unit_test(links_that_lead_elsewhere_are_not_added),
		cmocka_unit_test(nodes_without_cpus_are_series_and_other_events_go_by_name),
		cmocka_unit_test(the_last_sentences_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
