/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_loop INTERVALS EVENTS FAMILY FILE: reads a session that many times, as fast as it goes, and
 * writes the rows to FILE; on standard output a line for each hundredth of the way, the intervals so
 * far and this process's resident memory in KiB. counters.py runs it.
 */
#include "../../counters/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long resident_kib(void)
{
	char line[256];
	long kib = -1;
	FILE *status = fopen("/proc/self/status", "re");

	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (status)
		fclose(status);
	return kib;
}

static int loop(struct nc_session *session, struct nc_rows *rows, unsigned long intervals,
                struct np_error *err)
{
	for (unsigned long i = 0; i <= intervals; i++) {
		struct nc_sample sample;
		int rc = nc_session_read(session, &sample, err);

		if (rc == 0)
			rc = nc_rows_write(rows, &sample, err);
		if (rc < 0)
			return rc;
		if (i % (intervals / 100 ? intervals / 100 : 1) == 0)
			printf("%lu %ld\n", i, resident_kib());
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct nc_session_options options = { 0 };
	struct nc_host_source from = { 0 };
	struct nc_session *session = NULL;
	struct nc_host *host = NULL;
	struct nc_rows *rows = NULL;
	struct nc_rows_about about;
	struct np_error err = { 0 };
	int rc;

	if (argc != 5) {
		fputs("usage: session_loop INTERVALS EVENTS FAMILY FILE\n", stderr);
		return 2;
	}
	from.events_file = argv[2];
	from.family = argv[3];
	rc = nc_host_load(&from, &host, &err);
	if (rc == 0)
		rc = nc_session_open(host, &options, &session, &err);
	if (rc == 0) {
		nc_rows_describe(host, session, NULL, 1, &about);
		rc = nc_rows_open(argv[4], NC_ROWS_CSV, &about, &rows, &err);
	}
	if (rc == 0)
		rc = loop(session, rows, strtoul(argv[1], NULL, 10), &err);
	if (rc < 0)
		fprintf(stderr, "session_loop: %s\n", err.text);
	nc_rows_close(rows, NULL);
	nc_session_close(session);
	nc_host_free(host);
	return rc < 0;
}
