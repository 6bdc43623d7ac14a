/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numalat sequence: the order of keys that a seed makes, and its hash.
 */
#include "cmd.h"
#include "report_json.h"
#include "sequence.h"

#include "../../probe/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { OPT_SEED = 0x200, OPT_REQUESTS, OPT_WORKERS, OPT_PRINT };

/* Nobody's connections are more than this; it bounds memory. */
#define WORKERS_MAX 65536u

struct sequence_args {
	struct nl_common *common;
	uint64_t seed;
	uint64_t keys;
	uint64_t requests;
	uint64_t workers;
	uint64_t printed;
};

static const struct argp_option options[] = {
	{ "seed", OPT_SEED, "N", 0, "of the generator (0x6a09e667f3bcc909)", 0 },
	{ "keys", 'k', "N", 0, "how many objects there are (16000)", 0 },
	{ "requests", 'n', "N", 0, "how many are asked for (100000)", 0 },
	{ "workers", OPT_WORKERS, "N", 0, "connections, each with a sequence of its own (1)", 0 },
	{ "print", OPT_PRINT, "N", 0, "print the first N keys of each", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct sequence_args *args = state->input;
	struct np_error *err = &args->common->err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->common;
		return 0;
	case OPT_SEED:
		return -nl_cmd_u64("--seed", arg, 0, UINT64_MAX, &args->seed, err);
	case 'k':
		return -nl_cmd_u64("--keys", arg, 1, NL_KEYS_MAX, &args->keys, err);
	case 'n':
		return -nl_cmd_u64("--requests", arg, 1, UINT64_C(1) << 40, &args->requests, err);
	case OPT_WORKERS:
		return -nl_cmd_u64("--workers", arg, 1, WORKERS_MAX, &args->workers, err);
	case OPT_PRINT:
		return -nl_cmd_u64("--print", arg, 0, UINT64_C(1) << 40, &args->printed, err);
	case ARGP_KEY_ARG:
		return -np_error_set(err, EINVAL, "sequence: '%s': it takes no argument", arg);
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
	.doc = "Prints the hash of a sequence of keys: two runs with the same hash asked for the same "
	       "objects in the same order.",
	.children = (const struct argp_child[]){ { &nl_common_argp, 0, NULL, 0 }, { 0 } },
};

/* The hash of one connection's keys; the first of them go to stdout. */
static uint64_t walk(const struct sequence_args *args, unsigned worker)
{
	uint64_t hash = NL_SEQUENCE_HASH_BASIS;
	struct nl_sequence sequence;

	nl_sequence_begin(&sequence, args->seed, (uint32_t)args->keys, worker);
	for (uint64_t i = 0; i < args->requests; i++) {
		uint32_t key = nl_sequence_next(&sequence);

		hash = nl_sequence_hash(hash, key);
		if (i < args->printed)
			printf("%" PRIu32 "\n", key);
	}
	return hash;
}

static json_t *document(const struct sequence_args *args, uint64_t hash)
{
	json_t *object = json_object();
	char text[24];

	np_json_set_member(&object, "schema", json_string("numakit/sequence/1"));
	snprintf(text, sizeof(text), "0x%" PRIx64, args->seed);
	np_json_set_member(&object, "seed", json_string(text));
	np_json_set_member(&object, "keys", json_integer((json_int_t)args->keys));
	np_json_set_member(&object, "requests", json_integer((json_int_t)args->requests));
	np_json_set_member(&object, "workers", json_integer((json_int_t)args->workers));
	np_json_set_member(&object, "hash", nl_hash_json(hash));
	return object;
}

int nl_cmd_sequence(struct nl_common *common, int argc, char **argv)
{
	struct sequence_args args = {
		.common = common,
		.seed = NL_SEQUENCE_SEED,
		.keys = 16000,
		.requests = 100000,
		.workers = 1,
	};
	uint64_t hash = NL_SEQUENCE_HASH_BASIS;

	if (np_cli_parse(&argp, argc, argv, 0, &args, &common->err) < 0)
		return nl_cmd_fail(&common->err, NP_EXIT_USAGE);
	if (common->json && args.printed > 0) {
		np_error_set(&common->err, EINVAL,
		             "sequence: --print or --json, not both: the document has no keys");
		return nl_cmd_fail(&common->err, NP_EXIT_USAGE);
	}
	for (unsigned worker = 0; worker < args.workers; worker++)
		hash = nl_sequence_fold(hash, walk(&args, worker));
	if (common->json)
		return nl_cmd_written(np_json_write(document(&args, hash), stdout));
	printf("0x%016" PRIx64 "\n", hash);
	return nl_cmd_written(0);
}
