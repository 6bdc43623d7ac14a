/* SPDX-License-Identifier: BSD-3-Clause */
#include "../../probe/base/clock.h"
#include "accumulate.h"
#include "log.h"
#include "series.h"
#include "session_parts.h"

#include <errno.h>
#include <stdlib.h>

struct nc_session {
	enum nc_source source;
	struct nc_counters counters;
	struct nc_backend *backend;
	struct nc_series_list series;
	struct nc_reading *readings; /* for each counter */
	struct nc_count *counts;     /* for each counter */
	struct nc_step *steps;       /* for each counter, of the last interval */
	struct nc_value *values;     /* for each series */
	size_t open_count;
	uint64_t begin_ns;  /* CLOCK_MONOTONIC at the first reading */
	uint64_t sample_ns; /* the same at the start of the last one */
	uint64_t looked_ns; /* the same at its end */
	bool has_told[NC_NOTE_COUNT];
	struct nc_log log;
};

static const char *const note_names[NC_NOTE_COUNT] = {
	[NC_NOTE_NONE] = "",       [NC_NOTE_MULTIPLEXED] = "multiplexed",
	[NC_NOTE_MOVED] = "moved", [NC_NOTE_BACKWARDS] = "backwards",
	[NC_NOTE_BUSY] = "busy",   [NC_NOTE_OFFLINE] = "offline",
	[NC_NOTE_GONE] = "gone",   [NC_NOTE_FAILED] = "failed",
};

const char *nc_note_name(enum nc_note note)
{
	return note < NC_NOTE_COUNT ? note_names[note] : "";
}

/* ---- from open to close ---- */

static int take_memory(struct nc_session *session, struct np_error *err)
{
	size_t count = session->counters.count;
	int rc = nc_series_build(&session->counters, &session->series, err);

	if (rc < 0)
		return rc;
	session->readings = calloc(count, sizeof(*session->readings));
	session->counts = calloc(count, sizeof(*session->counts));
	session->steps = calloc(count, sizeof(*session->steps));
	session->values = calloc(session->series.count, sizeof(*session->values));
	if (!session->readings || !session->counts || !session->steps || !session->values)
		return np_error_sys(err, ENOMEM, "a session of %zu counters", count);
	return 0;
}

static int look(struct nc_session *session, struct np_error *err)
{
	return session->backend->ops->read(session->backend, session->sample_ns, session->readings,
	                                   err);
}

/* The first reading is where counting starts. */
static int begin(struct nc_session *session, struct np_error *err)
{
	int rc = take_memory(session, err);

	/* The one before it is slow, and of no use but to bring code and pages in. */
	for (int i = 0; i < 2 && rc == 0; i++) {
		session->sample_ns = np_now_ns();
		rc = look(session, err);
	}
	if (rc < 0)
		return rc;
	session->looked_ns = np_now_ns();
	session->begin_ns = session->sample_ns;
	for (size_t i = 0; i < session->counters.count; i++) {
		nc_count_begin(&session->counts[i], &session->readings[i]);
		session->open_count += session->readings[i].note != NC_NOTE_FAILED;
	}
	return 0;
}

static struct nc_session *create(enum nc_source source, struct np_error *err)
{
	struct nc_session *session = calloc(1, sizeof(*session));

	if (!session)
		np_error_sys(err, ENOMEM, "a session");
	else
		session->source = source;
	return session;
}

/* Hands a session out that was opened with @rc, or ends it. */
static int finish(struct nc_session *session, int rc, struct nc_session **ret, struct np_error *err)
{
	if (rc == 0)
		rc = begin(session, err);
	if (rc < 0)
		nc_session_close(session);
	else
		*ret = session;
	return rc;
}

int nc_perf_session_open(const struct nc_host *host, enum nc_source source,
                         struct nc_counters *counters, struct nc_session **ret,
                         struct np_error *err)
{
	struct nc_session *session = create(source, err);
	int rc;

	if (!session) {
		nc_counters_release(counters);
		return -ENOMEM;
	}
	session->counters = *counters;
	*counters = (struct nc_counters){ 0 };
	for (size_t i = 0; i < session->counters.problem_count; i++)
		nc_log_add(&session->log, "%s", session->counters.problems[i]);
	rc = nc_perf_open(host, &session->counters, &session->log, &session->backend, err);
	return finish(session, rc, ret, err);
}

void nc_session_close(struct nc_session *session)
{
	if (!session)
		return;
	if (session->backend)
		session->backend->ops->close(session->backend);
	nc_counters_release(&session->counters);
	nc_series_release(&session->series);
	free(session->readings);
	free(session->counts);
	free(session->steps);
	free(session->values);
	free(session);
}

/* ---- which source ---- */

/* Why a source has no counters at all here. */
static int fail_absent(const struct nc_host *host, enum nc_source source, struct np_error *err)
{
	struct nc_source_state states[NC_SOURCE_COUNT];
	const struct nc_source_state *state = &states[source];
	int rc = nc_sources_look(host, states, err);

	if (rc < 0)
		return rc;
	return np_error_set(err, ENODATA, "%s%s%s",
	                    *state->reason ? state->reason : "no event of this host can be counted",
	                    *state->remedy ? "; " : "", state->remedy);
}

static int open_perf(const struct nc_host *host, enum nc_source source, nc_classes what,
                     struct nc_session **ret, struct np_error *err)
{
	struct nc_counters counters;
	int rc = nc_counters_find(host, what, &counters, err);

	if (rc < 0)
		return rc;
	if (counters.count == 0) {
		nc_counters_release(&counters);
		return fail_absent(host, source, err);
	}
	return nc_perf_session_open(host, source, &counters, ret, err);
}

static int open_files(const struct nc_host *host, enum nc_source source, struct nc_session **ret,
                      struct np_error *err)
{
	struct nc_session *session = create(source, err);
	int rc;

	if (!session)
		return -ENOMEM;
	if (source == NC_SOURCE_RESCTRL)
		rc = nc_resctrl_open(host, &session->counters, &session->backend, err);
	else
		rc = nc_numastat_open(host, &session->counters, &session->backend, err);
	return finish(session, rc, ret, err);
}

static int open_source(const struct nc_host *host, enum nc_source source, nc_classes what,
                       struct nc_session **ret, struct np_error *err)
{
	int rc;

	if (source == NC_SOURCE_UNCORE)
		rc = open_perf(host, source, what ? what : NC_CLASSES_DEFAULT, ret, err);
	else if (source == NC_SOURCE_CORE)
		rc = open_perf(host, source, NC_CLASSES_LOADS, ret, err);
	else
		rc = open_files(host, source, ret, err);
	if (rc < 0)
		np_error_wrap(err, rc, "%s", nc_source_name(source));
	return rc;
}

/* Adds to the best source's failure what could be had instead, if that were permitted. */
static void name_others(const struct nc_host *host, struct np_error *err)
{
	struct nc_source_state states[NC_SOURCE_COUNT];
	struct np_error why = *err;
	unsigned source = NC_SOURCE_UNCORE + 1;

	if (nc_sources_look(host, states, NULL) < 0)
		return;
	while (source < NC_SOURCE_COUNT && states[source].availability != NC_AVAILABLE)
		source++;
	if (source < NC_SOURCE_COUNT)
		np_error_set(err, why.code,
		             "%s; numacount with --allow-fallback would count by %s (%s)", why.text,
		             nc_source_name((enum nc_source)source),
		             nc_source_title((enum nc_source)source));
}

/* From the best source down. What is reported is why the best one is not there. */
static int open_best(const struct nc_host *host, const struct nc_session_options *options,
                     struct nc_session **ret, struct np_error *err)
{
	struct np_error best = { 0 };
	int rc = open_source(host, NC_SOURCE_UNCORE, options->what, ret, &best);

	if (rc < 0 && !options->allows_fallback)
		name_others(host, &best);
	for (unsigned i = NC_SOURCE_UNCORE + 1; i < NC_SOURCE_COUNT; i++) {
		struct nc_session *session;

		if (rc == 0 || !options->allows_fallback)
			break;
		if (open_source(host, (enum nc_source)i, options->what, &session, NULL) < 0)
			continue;
		nc_log_add(&session->log, "counts %s (%s), as a better source is not there: %s",
		           nc_source_name(session->source), nc_source_title(session->source),
		           best.text);
		*ret = session;
		rc = 0;
	}
	if (rc < 0 && err)
		*err = best;
	return rc;
}

int nc_session_open(const struct nc_host *host, const struct nc_session_options *options,
                    struct nc_session **ret, struct np_error *err)
{
	if (!nc_host_is_live(host))
		return np_error_set(err, EXDEV,
		                    "%s: a captured host can be looked at, and not be counted on",
		                    nc_host_root(host));
	if (options->has_source)
		return open_source(host, options->source, options->what, ret, err);
	return open_best(host, options, ret, err);
}

/* ---- what it has ---- */

enum nc_source nc_session_source(const struct nc_session *session)
{
	return session->source;
}

size_t nc_session_series_count(const struct nc_session *session)
{
	return session->series.count;
}

const struct nc_series *nc_session_series(const struct nc_session *session)
{
	return session->series.items;
}

size_t nc_session_counter_count(const struct nc_session *session)
{
	return session->open_count;
}

size_t nc_session_event_count(const struct nc_session *session, uint64_t *ret_total)
{
	*ret_total = session->log.total;
	return nc_log_count(&session->log);
}

const char *nc_session_event(const struct nc_session *session, size_t index)
{
	return nc_log_sentence(&session->log, index);
}

/* ---- one interval ---- */

static void tell_fall(struct nc_session *session, const struct nc_counter *counter)
{
	nc_log_add(&session->log,
	           "%s of %s, %s: the count fell, which it does not by itself: something else "
	           "writes its register",
	           counter->name, counter->box, nc_class_name(counter->what));
}

static bool is_of_files(enum nc_source source)
{
	return source == NC_SOURCE_RESCTRL || source == NC_SOURCE_NUMASTAT;
}

/* What no backend tells of: once, as it can come with every interval and of every counter. */
static void tell_unknown(struct nc_session *session, const struct nc_counter *counter,
                         enum nc_note note)
{
	bool is_ours = note == NC_NOTE_BUSY || (is_of_files(session->source) &&
	                                        (note == NC_NOTE_FAILED || note == NC_NOTE_GONE));
	const char *why = "the kernel gives no number (unavailable, unassigned, or switched off)";

	if (!is_ours || session->has_told[note])
		return;
	session->has_told[note] = true;
	if (note == NC_NOTE_BUSY)
		why = "other events hold its counter (another profiler, or more events than "
		      "counters)";
	else if (note == NC_NOTE_GONE)
		why = "its file is gone";
	nc_log_add(&session->log, "%s of %s, %s: unknown in an interval: %s; is told once",
	           counter->name, counter->box, nc_class_name(counter->what), why);
}

static void add_up(struct nc_session *session, uint64_t clock_ns)
{
	for (size_t i = 0; i < session->series.count; i++)
		nc_value_begin(&session->values[i]);
	for (size_t i = 0; i < session->counters.count; i++) {
		const struct nc_counter *counter = &session->counters.items[i];
		struct nc_count *count = &session->counts[i];
		struct nc_step *step = &session->steps[i];
		bool had_fallen = step->note == NC_NOTE_BACKWARDS;

		nc_count_add(count, &session->readings[i], clock_ns, step);
		if (step->note == NC_NOTE_BACKWARDS && !had_fallen)
			tell_fall(session, counter);
		tell_unknown(session, counter, step->note);
		nc_value_add(&session->values[session->series.of[i]], count, step, counter->units,
		             counter->per);
	}
}

int nc_session_read(struct nc_session *session, struct nc_sample *ret, struct np_error *err)
{
	uint64_t before_ns = session->sample_ns;
	int64_t time_ns;
	uint64_t clock_ns;
	int rc;

	session->sample_ns = np_now_ns();
	time_ns = np_time_ns();
	session->log.elapsed_ns = session->sample_ns - session->begin_ns;
	rc = look(session, err);
	if (rc < 0) {
		session->sample_ns = before_ns;
		return rc;
	}
	clock_ns = session->sample_ns - session->looked_ns;
	session->looked_ns = np_now_ns();
	add_up(session, clock_ns);
	*ret = (struct nc_sample){
		.time_ns = time_ns,
		.elapsed_ns = session->sample_ns - session->begin_ns,
		.interval_ns = session->sample_ns - before_ns,
		.values = session->values,
	};
	return 0;
}
