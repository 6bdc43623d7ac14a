/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How to use libnumacount: counts for a second and prints what each socket's memory controllers and
 * links moved.
 *
 *   cc count.c $(pkg-config --cflags --libs libnumacount) && ./a.out
 */
#include <inttypes.h>
#include <numacount/session.h>
#include <numacount/tally.h>
#include <stdio.h>
#include <time.h>

static int fail(const struct np_error *err)
{
	fprintf(stderr, "count: %s\n", err->text);
	return 1;
}

static void print_place(const struct nc_tally *tally, size_t index)
{
	const struct nc_place *place = nc_tally_place(tally, index);

	if (place->has_socket)
		printf("socket %u\n", place->socket);
	else
		printf("node %u\n", place->node);
	for (int what = 0; what < NC_CLASS_COUNT; what++) {
		const struct nc_sum *sum = nc_tally_sum(tally, index, (enum nc_class)what);
		const char *name = nc_class_name((enum nc_class)what);

		/* Unknown is not zero, and a part of the time is not all of it. */
		if (sum->exists && !sum->is_known)
			printf("  %s: unknown (%s)\n", name, nc_note_name(sum->note));
		else if (sum->exists)
			printf("  %s: %" PRIu64 " %s, counted %.1f %% of the time\n", name,
			       sum->total, nc_class_unit((enum nc_class)what), 100 * sum->coverage);
	}
}

static int count(struct nc_session *session, struct np_error *err)
{
	const struct timespec second = { .tv_sec = 1 };
	struct nc_sample sample;
	struct nc_tally *tally;
	int rc = nc_tally_create(nc_session_series(session), nc_session_series_count(session),
	                         &tally, err);

	if (rc < 0)
		return rc;
	nanosleep(&second, NULL);
	rc = nc_session_read(session, &sample, err);
	if (rc == 0) {
		nc_tally_add(tally, &sample);
		printf("%s, over %.3f s\n", nc_source_title(nc_session_source(session)),
		       (double)sample.elapsed_ns / 1e9);
		for (size_t i = 0; i < nc_tally_place_count(tally); i++)
			print_place(tally, i);
	}
	nc_tally_free(tally);
	return rc;
}

int main(void)
{
	/* The best source that there is; without this, memory controllers and links or nothing. */
	const struct nc_session_options options = { .allows_fallback = true };
	const struct nc_host_source here = { 0 };
	struct nc_session *session;
	struct nc_host *host;
	struct np_error err;
	int rc = nc_host_load(&here, &host, &err);

	if (rc < 0)
		return fail(&err);
	rc = nc_session_open(host, &options, &session, &err);
	if (rc == 0) {
		rc = count(session, &err);
		nc_session_close(session);
	}
	nc_host_free(host);
	return rc < 0 ? fail(&err) : 0;
}
