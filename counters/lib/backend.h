/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a session's raw counts come from: perf_event_open(2), or files. A backend fills one reading
 * for each counter; all arithmetic is the session's (accumulate.h).
 */
#ifndef NC_BACKEND_H
#define NC_BACKEND_H

#include <numacount/session.h>

/* A raw count and its quality, since the backend was opened. */
struct nc_reading {
	uint64_t raw;        /* what was counted; wraps at 64 bits, and some drivers' at 48 */
	uint64_t enabled_ns; /* how long it was asked for */
	uint64_t running_ns; /* how long it really counted */
	/*
	 * OFFLINE, GONE, FAILED: there is no count, the numbers are those of the last one. MOVED:
	 * another CPU took over since the reading before; the numbers go on without a jump.
	 */
	enum nc_note note;
};

struct nc_backend {
	const struct nc_backend_ops *ops;
};

struct nc_backend_ops {
	/*
	 * Fills @readings, one for each counter in the order in which the backend made or was given
	 * them. @now_ns is CLOCK_MONOTONIC of just before. -ENODATA when nothing is left to read.
	 */
	int (*read)(struct nc_backend *backend, uint64_t now_ns, struct nc_reading *readings,
	            struct np_error *err);
	void (*close)(struct nc_backend *backend); /* and frees it */
};

/* Tells the session's owner something (nc_session_event); printf style. */
struct nc_log;
void nc_log_add(struct nc_log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Opens counters that nc_counters_find() found; @counters must outlive the backend. Errors as
 * nc_session_open().
 */
int nc_perf_open(const struct nc_host *host, const struct nc_counters *counters, struct nc_log *log,
                 struct nc_backend **ret, struct np_error *err);

/*
 * Finds and opens the files of a source. The counters that they stand for are added to *ret_counters,
 * which the caller releases; @root is nc_host_root()'s. -ENODATA with the reason when there are none.
 */
int nc_resctrl_open(const struct nc_host *host, struct nc_counters *ret_counters,
                    struct nc_backend **ret, struct np_error *err);
int nc_numastat_open(const struct nc_host *host, struct nc_counters *ret_counters,
                     struct nc_backend **ret, struct np_error *err);

/*
 * Why perf_event_open(2) refused, in words, with what would help. @code is its errno.
 * perf_event_paranoid is read from @host's root. Fills both texts.
 */
void nc_perf_explain(const struct nc_host *host, int code, const struct nc_counter *counter,
                     char reason[512], char remedy[256]);

/* Tries to open one counter and closes it: 0, or the negative errno of perf_event_open(2). */
int nc_perf_try(const struct nc_counter *counter);

#endif
