/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numacount serve: the counters as a page for Prometheus. The main thread reads them at every
 * interval, so that no wrap and no move of a CPU is missed however rarely somebody scrapes; a scrape
 * reads them again, at its own moment.
 */
#include "../probe/base/clock.h"
#include "../probe/base/table.h"
#include "http.h"
#include "listen.h"
#include "measure.h"
#include "metrics.h"
#include "notify.h"
#include "privileges.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPT_LISTEN = 0x300, OPT_USER, OPT_LIST_METRICS };

enum {
	INTERVAL_MS = 1000,
	INTERVAL_MS_MIN = 100,
	/* Some drivers lose count of wraps when nobody reads for some minutes. */
	INTERVAL_MS_MAX = 60000,
	/* A sample so young is served again: in less, multiplexed counters have not had their turn. */
	SAMPLE_AGE_MS_MAX = 50,
	ADDRESSES_MAX = 8,
};

static const uint64_t ns_per_ms = 1000000;
static const uint64_t ns_per_s = 1000000000;

struct serve_args {
	struct nc_measure_args measure;
	struct nc_listen_address addresses[ADDRESSES_MAX];
	size_t address_count;
	const char *user; /* NULL = the default */
	bool lists_metrics;
};

static const struct argp_option options[] = {
	{ "listen", OPT_LISTEN, "ADDRESS", 0,
	  "HOST:PORT, [IPV6]:PORT, :PORT (all addresses) or PORT (of 127.0.0.1), several times if "
	  "need be; " NC_LISTEN_DEFAULT " when not given",
	  1 },
	{ "user", OPT_USER, "NAME", 0,
	  "started as root, become this user once all is open (nobody); root keeps root", 1 },
	{ "list-metrics", OPT_LIST_METRICS, NULL, 0, "list the metrics that there are", 1 },
	{ 0 },
};

static int add_address(struct serve_args *args, const char *text, struct np_error *err)
{
	if (args->address_count == ADDRESSES_MAX)
		return np_error_set(err, EINVAL, "--listen: at most %d times", ADDRESSES_MAX);
	if (nc_listen_parse(text, &args->addresses[args->address_count], err) < 0)
		return -EINVAL;
	args->address_count++;
	return 0;
}

/* What no single option tells. */
static int check(struct serve_args *args)
{
	const struct nc_measure_args *measure = &args->measure;
	struct np_error *err = &measure->common->err;

	if (measure->common->json)
		return np_error_set(err, EINVAL,
		                    "serve: --json: metrics have a format of their own");
	if (measure->interval_ms < INTERVAL_MS_MIN || measure->interval_ms > INTERVAL_MS_MAX)
		return np_error_set(err, EINVAL, "serve: -I: %u is not a number in %d..%d",
		                    measure->interval_ms, INTERVAL_MS_MIN, INTERVAL_MS_MAX);
	if (nc_measure_check(measure, err) < 0)
		return -EINVAL;
	return args->address_count > 0 ? 0 : add_address(args, NC_LISTEN_DEFAULT, err);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct serve_args *args = state->input;
	struct np_error *err = &args->measure.common->err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->measure;
		state->child_inputs[1] = args->measure.common;
		return 0;
	case OPT_LISTEN:
		return -add_address(args, arg, err);
	case OPT_USER:
		args->user = arg;
		return 0;
	case OPT_LIST_METRICS:
		args->lists_metrics = true;
		return 0;
	case ARGP_KEY_ARG:
		return -np_error_set(err, EINVAL,
		                     "serve: '%s': it takes no program to run (stat and record do)",
		                     arg);
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, err);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Serves the counters to Prometheus, as OpenMetrics or classic text: "
	       "http://ADDRESS/metrics.\v"
	       "It goes on until SIGTERM or SIGINT. There is no encryption and no password: before "
	       "it is reached from other hosts, put what has them in front.",
	.children = (const struct argp_child[]){ { &nc_measure_argp, 0, NULL, 0 },
	                                         { &nc_common_argp, 0, NULL, 0 },
	                                         { 0 } },
};

/* ---- samples ---- */

/* What the threads share. All but @measure's series and what is const is under the lock. */
struct server {
	pthread_mutex_t lock;
	struct nc_measure *measure;
	struct nc_sample sample;
	bool has_sample;
	uint64_t read_ns;      /* CLOCK_MONOTONIC of the sample */
	uint64_t *counted_ns;  /* of each series, see struct nc_metrics_value */
	uint64_t events_shown; /* of the session's, how many were printed */
	struct nc_metrics_page page;
	struct nc_metrics_value *values; /* of the page */
};

static int server_init(struct server *server, struct nc_measure *measure, struct np_error *err)
{
	const struct nc_series *series = nc_session_series(measure->session);
	size_t count = nc_session_series_count(measure->session);
	const struct nc_family *family = nc_host_family(measure->host);
	enum nc_source source = nc_session_source(measure->session);

	*server = (struct server){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.measure = measure,
		.counted_ns = calloc(count, sizeof(*server->counted_ns)),
		.values = calloc(count, sizeof(*server->values)),
	};
	if (!server->counted_ns || !server->values)
		return np_error_sys(err, ENOMEM, "metrics");
	for (size_t i = 0; i < count; i++)
		server->values[i].series = &series[i];
	server->page = (struct nc_metrics_page){
		.version = NUMAKIT_VERSION,
		.family = family ? family->name : NULL,
		.source = nc_source_name(source),
		.has_nodes = source == NC_SOURCE_NUMASTAT,
		.start_ns = np_time_ns(),
		.values = server->values,
		.value_count = count,
	};
	return 0;
}

static void server_release(struct server *server)
{
	free(server->counted_ns);
	free(server->values);
}

static void add_counted(struct server *server)
{
	for (size_t i = 0; i < server->page.value_count; i++) {
		const struct nc_value *value = &server->sample.values[i];

		if (value->is_known)
			server->counted_ns[i] +=
				(uint64_t)(value->coverage * (double)server->sample.interval_ns);
	}
}

/* Reads the counters, unless somebody has just done so. */
static int take_sample(struct server *server, struct np_error *err)
{
	uint64_t now = np_now_ns();
	int rc;

	if (server->has_sample && now - server->read_ns < SAMPLE_AGE_MS_MAX * ns_per_ms)
		return 0;
	server->has_sample = false;
	rc = nc_session_read(server->measure->session, &server->sample, err);
	if (rc < 0)
		return rc;
	server->has_sample = true;
	server->read_ns = now;
	nc_peaks_add(server->measure->peaks, &server->sample);
	add_counted(server);
	return 0;
}

static void fill_values(struct server *server)
{
	const struct nc_peaks *peaks = server->measure->peaks;

	for (size_t i = 0; i < server->page.value_count; i++) {
		const struct nc_value *from = &server->sample.values[i];
		struct nc_metrics_value *to = &server->values[i];

		to->is_known = from->is_known;
		to->reason = nc_note_name(from->note);
		to->total = from->total;
		to->counted_ns = server->counted_ns[i];
		to->coverage = from->coverage_total;
		to->has_nominal = nc_peaks_nominal(peaks, i, &to->nominal_bytes_per_s);
		to->has_measured = nc_peaks_measured(peaks, i, &to->measured_bytes_per_s);
	}
}

/* nc_http_metrics, called by the threads of libmicrohttpd. */
static int scrape(void *context, const char *accept, struct nc_http_page *ret, struct np_error *err)
{
	enum nc_metrics_format format = nc_metrics_format_of(accept);
	struct server *server = context;
	int rc;

	pthread_mutex_lock(&server->lock);
	rc = take_sample(server, err);
	if (rc == 0) {
		fill_values(server);
		rc = nc_metrics_print(&server->page, format, &ret->text, &ret->size, err);
	}
	pthread_mutex_unlock(&server->lock);
	ret->type = nc_metrics_content_type(format);
	return rc;
}

/* ---- the main thread ---- */

/*
 * For the journal: what the session has seen happen since the last time, in a new string; NULL when
 * there is nothing, or no memory for it.
 */
static char *take_events(struct server *server)
{
	const struct nc_session *session = server->measure->session;
	uint64_t total;
	size_t kept = nc_session_event_count(session, &total);
	uint64_t fresh = total - server->events_shown;
	char *text = NULL;
	size_t size;
	FILE *out = fresh > 0 ? open_memstream(&text, &size) : NULL;

	if (!out)
		return NULL;
	server->events_shown = total;
	for (size_t i = fresh < kept ? kept - (size_t)fresh : 0; i < kept; i++)
		fprintf(out, "numacount: %s\n", nc_session_event(session, i));
	fclose(out);
	return text;
}

static int tick(struct server *server, struct np_error *err)
{
	char *events;
	int rc;

	pthread_mutex_lock(&server->lock);
	rc = take_sample(server, err);
	events = take_events(server);
	pthread_mutex_unlock(&server->lock);
	/* A reader of the journal that is slow must not hold up a scrape. */
	if (events)
		fputs(events, stderr);
	free(events);
	return rc;
}

static void stop_signals(sigset_t *ret)
{
	struct sigaction hangup = { .sa_handler = SIG_DFL };

	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	/* nohup(1) has it ignored; blocked, it would come all the same. */
	if (sigaction(SIGHUP, NULL, &hangup) < 0 || hangup.sa_handler != SIG_IGN)
		sigaddset(ret, SIGHUP);
}

/* Reads at every interval until a signal says stop, the time is over, or nothing is left to read. */
static int run(struct server *server, const struct nc_measure_args *args, struct np_error *err)
{
	uint64_t start_ns = np_now_ns();
	uint64_t duration_ns = (uint64_t)(args->duration_s * (double)ns_per_s);
	sigset_t signals;

	stop_signals(&signals);
	for (;;) {
		uint64_t wait_ns = args->interval_ms * ns_per_ms;
		uint64_t gone_ns = np_now_ns() - start_ns;
		struct timespec wait;
		int rc;

		if (duration_ns > 0 && gone_ns >= duration_ns)
			return 0;
		if (duration_ns > 0 && duration_ns - gone_ns < wait_ns)
			wait_ns = duration_ns - gone_ns;
		wait.tv_sec = (time_t)(wait_ns / ns_per_s);
		wait.tv_nsec = (long)(wait_ns % ns_per_s);
		if (sigtimedwait(&signals, NULL, &wait) > 0)
			return 0;
		rc = tick(server, err);
		if (rc < 0)
			return rc;
	}
}

static void show_ready(const struct nc_listen_sockets *sockets, const struct nc_session *session)
{
	char url[NC_LISTEN_URL_MAX];

	fputs("numacount: serving on ", stderr);
	for (size_t i = 0; i < sockets->count; i++)
		fprintf(stderr, "%s%s/metrics", i > 0 ? ", " : "",
		        nc_listen_url(sockets->fds[i], url));
	fprintf(stderr, ", source %s, %zu counters\n", nc_source_name(nc_session_source(session)),
	        nc_session_counter_count(session));
}

/* Takes over the sockets. */
static int serve_on(struct server *server, const struct nc_listen_sockets *sockets,
                    const struct nc_measure_args *args, struct np_error *err)
{
	struct nc_http *http;
	sigset_t signals;
	int rc;

	/* Before there are threads: they inherit the mask, and the signals wait for run(). */
	stop_signals(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	rc = nc_http_start(sockets->fds, sockets->count, scrape, server, &http, err);
	if (rc < 0)
		return rc;
	show_ready(sockets, server->measure->session);
	rc = nc_notify_ready(err);
	if (rc == 0)
		rc = run(server, args, err);
	nc_http_stop(http);
	return rc;
}

static int open_sockets(const struct serve_args *args, struct nc_listen_sockets *sockets,
                        struct np_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < args->address_count && rc == 0; i++)
		rc = nc_listen_open(&args->addresses[i], sockets, err);
	return rc;
}

static int serve(const struct serve_args *args, struct nc_measure *measure, struct np_error *err)
{
	struct nc_listen_sockets sockets = { .count = 0 };
	struct server server;
	int rc = server_init(&server, measure, err);

	if (rc == 0)
		rc = open_sockets(args, &sockets, err);
	if (rc == 0)
		rc = nc_privileges_drop(args->user, err);
	if (rc == 0)
		rc = tick(&server, err);
	if (rc == 0)
		rc = serve_on(&server, &sockets, &args->measure, err);
	else
		nc_listen_close(&sockets);
	server_release(&server);
	return rc;
}

static int list_metrics(void)
{
	static const struct np_column columns[] = {
		{ "METRIC", false },
		{ "TYPE", false },
		{ "HELP", false },
	};
	static const char *const types[] = {
		[NC_METRIC_COUNTER] = "counter",
		[NC_METRIC_GAUGE] = "gauge",
		[NC_METRIC_INFO] = "info",
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	char name[96];
	int rc;

	for (size_t i = 0; i < nc_metrics_table_count; i++) {
		const struct nc_metric *metric = &nc_metrics_table[i];

		np_table_add_row(table);
		np_table_set(table, 0, "%s", nc_metric_sample_name(metric, name));
		np_table_set(table, 1, "%s", types[metric->type]);
		np_table_set(table, 2, "%s", metric->help);
	}
	rc = np_table_print(table, stdout);
	np_table_free(table);
	return nc_cmd_written(rc);
}

int nc_cmd_serve(struct nc_common *common, int argc, char **argv)
{
	struct serve_args args = {
		.measure = { .common = common, .interval_ms = INTERVAL_MS },
	};
	struct nc_measure measure;
	int rc;

	if (np_cli_parse(&argp, argc, argv, 0, &args, &common->err) < 0 || check(&args) < 0)
		return nc_cmd_fail(&common->err, NP_EXIT_USAGE);
	if (args.lists_metrics)
		return list_metrics();
	if (nc_measure_open(&args.measure, &measure, &common->err) < 0)
		return nc_cmd_fail(&common->err, NP_EXIT_NO);
	rc = serve(&args, &measure, &common->err);
	nc_measure_close(&measure);
	return rc < 0 ? nc_cmd_fail(&common->err, NP_EXIT_NO) : NP_EXIT_OK;
}
