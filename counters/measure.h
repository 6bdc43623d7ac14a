/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measuring commands' common part: options, session, and the loop that reads it at every
 * interval until the command has ended, the time is over, or somebody says stop.
 */
#ifndef NC_MEASURE_H
#define NC_MEASURE_H

#include "cmd.h"

#include <numacount/peak.h>
#include <numacount/session.h>

struct nc_measure_args {
	struct nc_common *common;
	struct nc_session_options options; /* --source NAME, --allow-fallback, --home */
	unsigned interval_ms;              /* -I, --interval MS; the command sets the default */
	double duration_s;                 /* --duration S; 0 = until stopped */
	struct nc_peaks_source peak;       /* --peak GB/S, --measured FILE */
	char **command;                    /* the program and its arguments; NULL = none */
};

/*
 * To be the child of a command's own argp, which hands it a struct nc_measure_args and takes the
 * non-option arguments itself (nc_measure_take_command).
 */
extern const struct argp nc_measure_argp;

/* For ARGP_KEY_ARG of a command that takes a program to run: all from here on is its. */
void nc_measure_take_command(struct nc_measure_args *args, struct argp_state *state);

struct nc_measure {
	struct nc_host *host;
	struct nc_session *session;
	struct nc_peaks *peaks;
};

/* Options that contradict each other: -EINVAL with the line to print. */
int nc_measure_check(const struct nc_measure_args *args, struct np_error *err);

/* Opens all three. On failure err has the line to print; the exit status is 1. */
int nc_measure_open(const struct nc_measure_args *args, struct nc_measure *ret,
                    struct np_error *err);
void nc_measure_close(struct nc_measure *measure);

/* Called with each sample, after the peaks have learned from it; a negative errno ends the loop. */
typedef int nc_on_sample(void *context, const struct nc_sample *sample, struct np_error *err);

struct nc_measure_end {
	bool has_status;  /* there was a command, and it was started */
	int wait_status;  /* of it, as waitpid(2) */
	int signal;       /* that ended the loop: SIGINT, SIGTERM, SIGHUP; 0 = none */
	int failed_start; /* errno of execvp(3); 0 = it was started */
};

/*
 * Starts the command, if any, and samples until the end; the last sample is of the end. Signals
 * that stop us are passed on to the command first, which may go on as long as it likes.
 */
int nc_measure_run(const struct nc_measure_args *args, struct nc_measure *measure,
                   nc_on_sample *on_sample, void *context, struct nc_measure_end *ret,
                   struct np_error *err);

/* The program's exit status after a run, as perf stat and env(1) have it: the command's. */
int nc_measure_status(const struct nc_measure_end *end);

#endif
