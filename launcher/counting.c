/* SPDX-License-Identifier: BSD-3-Clause */
#include "counting.h"

#include "tell.h"

#include "../counters/report.h"

#include <stdio.h>
#include <string.h>

enum { INTERVAL_MS = 1000, MS_NS = 1000000 };

static int open_all(const struct nr_args *args, struct nr_counting *c, struct np_error *err)
{
	const struct nc_host_source from = { 0 };
	const struct nc_session_options options = { 0 };
	const struct nc_peaks_source peak = { 0 };
	enum nc_rows_format format;
	int rc = 0;

	if (args->counters_file)
		rc = nc_rows_format_of(args->counters_file, &format, err);
	if (rc == 0)
		rc = nc_host_load(&from, &c->host, err);
	if (rc == 0)
		rc = nc_session_open(c->host, &options, &c->session, err);
	if (rc == 0)
		rc = nc_peaks_create(c->host, nc_session_series(c->session),
		                     nc_session_series_count(c->session), &peak, &c->peaks, err);
	if (rc == 0)
		rc = nc_tally_create(nc_session_series(c->session),
		                     nc_session_series_count(c->session), &c->tally, err);
	if (rc < 0)
		return rc;
	nc_tally_expect_sockets(c->tally, np_bitmap_count(nc_host_sockets(c->host)));
	if (!args->counters_file)
		return 0;
	nc_rows_describe(c->host, c->session, c->peaks, INTERVAL_MS, &c->about);
	return nc_rows_open(args->counters_file, format, &c->about, &c->rows, err);
}

int nr_counting_begin(const struct nr_args *args, struct nr_counting *ret, struct np_error *err)
{
	int rc;

	*ret = (struct nr_counting){ 0 };
	if (!args->counts)
		return 0;
	rc = open_all(args, ret, err);
	return rc < 0 ? np_error_wrap(err, rc, "--counters") : 0;
}

static void fail(struct nr_counting *c, const struct np_error *err)
{
	/* The programs are none of that's business: they run on. */
	nr_tell(NULL, "--counters: %s", err->text);
	c->has_failed = true;
}

static void sample(struct nr_counting *c)
{
	struct np_error err = { 0 };
	struct nc_sample taken;

	if (nc_session_read(c->session, &taken, &err) < 0) {
		fail(c, &err);
		return;
	}
	nc_peaks_add(c->peaks, &taken);
	nc_tally_add(c->tally, &taken);
	if (c->rows && nc_rows_write(c->rows, &taken, &err) < 0)
		fail(c, &err);
}

uint64_t nr_counting_tick(struct nr_counting *c, uint64_t now_ns)
{
	const uint64_t every_ns = (uint64_t)INTERVAL_MS * MS_NS;

	if (!c->session || c->has_failed)
		return UINT64_MAX;
	if (c->next_ns == 0)
		c->next_ns = now_ns + every_ns;
	if (now_ns >= c->next_ns) {
		sample(c);
		/* In step, but for ticks that were missed. */
		c->next_ns += (now_ns - c->next_ns) / every_ns * every_ns + every_ns;
	}
	return c->next_ns;
}

static void print_summary(const struct nr_counting *c)
{
	const struct nc_report report = {
		.host = c->host,
		.session = c->session,
		.tally = c->tally,
		.peaks = c->peaks,
		.interval_ms = INTERVAL_MS,
	};

	fputs("numarun: counted on the whole machine: ", stderr);
	if (nc_report_print(&report, stderr) < 0)
		nr_tell(NULL, "--counters: the summary could not be printed");
}

void nr_counting_conclude(struct nr_counting *c)
{
	struct np_error err = { 0 };
	struct nc_rows *rows = c->rows;

	if (!c->session)
		return;
	if (!c->has_failed)
		sample(c);
	c->rows = NULL;
	if (rows && nc_rows_close(rows, &err) < 0)
		fail(c, &err);
	if (!rows)
		print_summary(c);
}

void nr_counting_end(struct nr_counting *c)
{
	nc_rows_close(c->rows, NULL);
	nc_tally_free(c->tally);
	nc_peaks_free(c->peaks);
	nc_session_close(c->session);
	nc_host_free(c->host);
	*c = (struct nr_counting){ 0 };
}
