/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run shows when it is over: figures out of its trace, and how it went. */
#include "run.h"

#include "../../probe/base/json.h"
#include "noise_text.h"
#include "report.h"

#include <numaprobe/cpulist.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { TEXT_SIZE = 320, BRIEF_SIZE = 160 };

/* An arm with fewer rows has no figures. */
enum { ROWS_LEAST = 2 };

/* As analyze has them. */
static const struct nl_analysis_options analysis = {
	.blocks = 96, .repetitions = 20000, .seed = UINT64_C(0x9e3779b97f4a7c15), .level = 0.95
};

/* Figures of the arms that have any; owned. */
struct figures {
	struct nl_trace *trace;
	struct nl_description *descriptions;
	unsigned count;
	bool has[NL_TRACE_ARMS_MAX];
};

static void release_figures(struct figures *figures)
{
	for (unsigned i = 0; i < figures->count; i++)
		nl_description_release(&figures->descriptions[i]);
	free(figures->descriptions);
	nl_trace_close(figures->trace);
}

/* What is told is what stands in the file, read as anybody reads it. */
static int read_figures(const struct nl_run *run, const char *path, struct figures *ret,
                        struct np_error *err)
{
	int rc;

	*ret = (struct figures){ 0 };
	ret->descriptions = calloc(run->arms.count, sizeof(*ret->descriptions));
	if (!ret->descriptions)
		return np_error_sys(err, ENOMEM, "%s", path);
	rc = nl_trace_open(path, &ret->trace, err);
	for (unsigned arm = 0; rc == 0 && arm < run->arms.count; arm++) {
		const char *name = run->arms.arms[arm].name;
		struct nl_input input = { .trace = ret->trace,
			                  .arm = arm,
			                  .label = *name ? name : "all" };

		if (nl_trace_arm_rows(ret->trace, arm) < ROWS_LEAST)
			continue;
		rc = nl_describe(&input, &analysis, &ret->descriptions[ret->count], err);
		if (rc == 0) {
			ret->has[arm] = true;
			ret->count++;
		}
	}
	if (rc < 0)
		release_figures(ret);
	return rc;
}

/* ---- text ---- */

static void print_rows(const struct nl_run *run, const char *path)
{
	double seconds = (double)nl_run_elapsed_ns(run) / 1e9;
	uint64_t rows = run->samples.count;

	printf("rows      %" PRIu64 " of %" PRIu64 " in %s%s\n", rows, nl_run_rows(run), path,
	       run->why.code ? ", not complete" : "");
	printf("elapsed   %.3f s, %.0f requests/s\n", seconds,
	       seconds > 0 ? (double)rows / seconds : 0);
}

static void print_keys(const struct nl_run *run)
{
	uint64_t hashes[NL_TRACE_ARMS_MAX];
	bool is_same = true;

	nl_run_hashes(run, hashes);
	for (unsigned i = 1; i < run->arms.count; i++)
		is_same = is_same && hashes[i] == hashes[0];
	printf("keys      %" PRIu32 ", seed 0x%" PRIx64 ", hash 0x%016" PRIx64, run->order.keys,
	       run->order.seed, hashes[0]);
	for (unsigned i = 1; !is_same && i < run->arms.count; i++)
		printf(" 0x%016" PRIx64, hashes[i]);
	if (run->arms.count > 1)
		printf("; order %s, blocks of %" PRIu32, nl_order_name(run->order.kind),
		       run->order.block);
	putchar('\n');
}

static void print_client(const struct nl_run *run)
{
	char place[TEXT_SIZE];
	char nodes[BRIEF_SIZE] = "unknown nodes";

	if (!np_bitmap_is_empty(&run->samples.nodes))
		np_cpulist_named("node", &run->samples.nodes, nodes, sizeof(nodes));
	printf("client    %s; rows in memory of %s, %s\n",
	       nl_place_text(&run->place, place, sizeof(place)), nodes,
	       run->samples.is_locked ? "locked" : "not locked");
	printf("switches  %" PRIu64 " waits for a server, %" PRIu64 " forced by others",
	       run->usage.voluntary, run->usage.involuntary);
	if (run->usage.major_faults > 0)
		printf("; %" PRIu64 " pages were read from disk meanwhile",
		       run->usage.major_faults);
	if (run->reconnects > 0)
		printf("; %" PRIu64 " reconnects", run->reconnects);
	putchar('\n');
}

static void print_noise(const struct nl_run *run)
{
	char text[TEXT_SIZE];

	if (run->has_noise_before)
		printf("before    %s\n", nl_noise_brief(&run->noise_before, text, sizeof(text)));
	if (run->has_noise_after)
		printf("after     %s\n", nl_noise_brief(&run->noise_after, text, sizeof(text)));
}

int nl_run_print_text(const struct nl_run *run, const char *path, struct np_error *err)
{
	struct figures figures;
	int rc = read_figures(run, path, &figures, err);

	if (rc < 0)
		return rc;
	if (figures.count > 0)
		rc = nl_description_text(figures.descriptions, figures.count, stdout);
	if (rc == 0) {
		putchar('\n');
		print_rows(run, path);
		print_keys(run);
		print_client(run);
		print_noise(run);
		if (run->arms.count > 1)
			printf("\nDo the arms differ? numalat analyze %s\n", path);
	}
	release_figures(&figures);
	return np_cli_written(rc, err);
}

/* ---- JSON ---- */

static json_t *list_figures(const struct nl_run *run, const struct figures *figures)
{
	json_t *list = json_array();
	unsigned next = 0;

	for (unsigned arm = 0; arm < run->arms.count; arm++)
		np_json_append(&list, figures->has[arm]
		                              ? nl_description_json(&figures->descriptions[next++])
		                              : json_null());
	return list;
}

static json_t *document(const struct nl_run *run, const char *path, const struct figures *figures)
{
	bool is_single = run->arms.count == 1;
	json_t *object = json_object();

	np_json_set_member(&object, "schema", json_string("numakit/run/1"));
	np_json_set_member(&object, "file", np_json_text(path));
	np_json_set_member(&object, "rows", np_json_number(true, run->samples.count));
	np_json_set_member(&object, "planned", np_json_number(true, run->order.requests));
	np_json_set_member(&object, "complete", json_boolean(run->why.code == 0));
	np_json_set_member(&object, "why", np_json_text(run->why.code ? run->why.text : NULL));
	np_json_set_member(&object, "keys", np_json_number(true, run->order.keys));
	np_json_set_member(&object, "order",
	                   np_json_text(is_single ? NULL : nl_order_name(run->order.kind)));
	np_json_set_member(&object, "block", np_json_number(!is_single, run->order.block));
	np_json_set_member(&object, "details", nl_run_details(run));
	np_json_set_member(&object, "outcome", nl_run_outcome(run));
	np_json_set_member(&object, "descriptions", list_figures(run, figures));
	return object;
}

int nl_run_print_json(const struct nl_run *run, const char *path, struct np_error *err)
{
	struct figures figures;
	int rc = read_figures(run, path, &figures, err);

	if (rc < 0)
		return rc;
	rc = np_json_write(document(run, path, &figures), stdout);
	release_figures(&figures);
	return np_cli_written(rc, err);
}
