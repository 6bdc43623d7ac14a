/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All that is known of a run, and its record: the trace's header and end, the summary.
 */
#ifndef NL_RUN_H
#define NL_RUN_H

#include "noise.h"
#include "place.h"
#include "runner.h"

/* Of the measuring thread, while it measured. */
struct nl_run_usage {
	uint64_t voluntary; /* context switches: waits for the server */
	uint64_t involuntary;
	uint64_t minor_faults;
	uint64_t major_faults;
};

struct nl_run {
	const struct nl_target *target;
	struct nl_arms arms;
	struct nl_order_plan order;
	uint64_t warmup; /* requests of each arm */
	enum nl_verify verify;
	bool is_pinned; /* by --cpu */
	struct nl_place place;
	struct nl_samples samples;
	bool has_noise_before;
	struct nl_noise noise_before;
	bool has_noise_after;
	struct nl_noise noise_after;
	int64_t began_ns; /* since 1970 */
	struct nl_run_usage usage;
	uint64_t reconnects;
	struct np_error why; /* it is not complete; code 0 = it is */
};

/* Rows that there are to be. */
uint64_t nl_run_rows(const struct nl_run *run);

/* From the first request's start to the last one's last byte. */
uint64_t nl_run_elapsed_ns(const struct nl_run *run);

/* The hash of each arm's keys, as `numalat sequence` prints it. */
void nl_run_hashes(const struct nl_run *run, uint64_t hashes[NL_TRACE_ARMS_MAX]);

/*
 * What the trace tells besides (struct nl_trace_about's details). NULL: no memory. Members:
 *
 *   tool, kernel         "numalat 0.1.0"; uname(2)'s release
 *   protocol, deadline_ms
 *   arms                 of each: name, server, prefix
 *   seed                 "0x6a09e667f3bcc909"
 *   sizes                of objects: bytes and weight of each
 *   warmup, verify       requests of each arm; "stamp", "all", "off"
 *   clock                name, resolution_ns
 *   cpu, pinned, cpus, node   where the client runs: cpu and node null where it may move
 *   memory               of the rows: bytes, locked, nodes (null = not told), pages looked at, elsewhere
 *   noise_before         numakit/noise/1 without the schema, or null
 */
json_t *nl_run_details(const struct nl_run *run);

/*
 * What is known at the end only. NULL: no memory. Members:
 *
 *   noise_after, elapsed_ns, reconnects
 *   key_hashes           of each arm "0x...", in their order
 *   voluntary_switches, involuntary_switches, minor_faults, major_faults
 */
json_t *nl_run_outcome(const struct nl_run *run);

/*
 * Before anything is sent: can a trace of so many rows be written there? Nothing is made. -EEXIST
 * unless @replaces; -ENOSPC; -EISDIR; other of access(2)
 */
int nl_run_check_file(const char *path, enum nl_trace_form form, bool replaces, uint64_t rows,
                      struct np_error *err);

/* Writes what was measured, complete or not. */
int nl_run_write(const struct nl_run *run, const char *path, enum nl_trace_form form,
                 struct np_error *err);

/*
 * To stdout: figures of each arm, of the trace that was written, and how the run went; as text, or
 * as "numakit/run/1". 0, or a negative errno of writing.
 */
int nl_run_print_text(const struct nl_run *run, const char *path, struct np_error *err);
int nl_run_print_json(const struct nl_run *run, const char *path, struct np_error *err);

#endif
