/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numalat populate: stores the objects that run and load ask for, and sees that they are there.
 */
#include "arms.h"
#include "cmd.h"
#include "exchange.h"
#include "object_files.h"
#include "target_json.h"

#include "../../probe/base/clock.h"
#include "../../probe/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_DIRECTORY = 0x200, OPT_ARMS, OPT_CHECK };

#define PROGRESS_NS UINT64_C(200000000)

struct populate_args {
	struct nl_target target;
	const char *directory; /* NULL = into a server */
	const char *arms;      /* NULL = one */
	bool checks;
};

/* One pass over all objects: storing, or reading back. */
struct pass {
	const char *verb; /* "stored" */
	uint64_t objects;
	uint64_t bytes;
	uint64_t began_ns;
	uint64_t duration_ns;
	uint64_t told_ns; /* when progress was shown last */
};

struct populate {
	const struct populate_args *args;
	struct nl_arms arms;
	struct pass stored;
	struct pass checked;
	uint64_t reconnects;
	char *buffer; /* NL_HEAD_MAX and the greatest object */
	const volatile sig_atomic_t *stop;
	bool shows_progress;
};

static const struct argp_option options[] = {
	{ "arms", OPT_ARMS, "NAME=PREFIX[@SERVER],...", 0,
	  "store the objects of all these arms of run --arms", 0 },
	{ "directory", OPT_DIRECTORY, "DIR", 0,
	  "write files below DIR instead, for an HTTP server to serve", 0 },
	{ "check", OPT_CHECK, NULL, 0, "then read all of them back, and compare every byte", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct populate_args *args = state->input;
	struct np_error *err = &args->target.common->err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->target;
		state->child_inputs[1] = args->target.common;
		return 0;
	case OPT_ARMS:
		args->arms = arg;
		return 0;
	case OPT_DIRECTORY:
		args->directory = arg;
		return 0;
	case OPT_CHECK:
		args->checks = true;
		return 0;
	case ARGP_KEY_ARG:
		return -np_error_set(err, EINVAL, "populate: '%s': it takes no argument", arg);
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
	.doc = "Stores objects 0 to KEYS - 1, whose bytes follow from their number, so that whoever "
	       "reads them can tell that they are right.",
	.children = (const struct argp_child[]){ { &nl_target_argp, 0, NULL, 0 },
	                                         { &nl_common_argp, 0, NULL, 0 },
	                                         { 0 } },
};

/* ---- progress ---- */

static uint64_t total_objects(const struct populate *populate)
{
	return (uint64_t)populate->arms.count * populate->args->target.keys;
}

static double rate(const struct pass *pass, uint64_t elapsed_ns)
{
	return elapsed_ns > 0 ? (double)pass->bytes * 1e9 / (double)elapsed_ns : 0;
}

static void show_progress(const struct populate *populate, struct pass *pass)
{
	uint64_t now_ns;
	double left;

	/* Reading the clock for every object would cost more than it tells. */
	if (!populate->shows_progress || pass->objects % 64 != 0)
		return;
	now_ns = np_now_ns();
	if (now_ns - pass->told_ns < PROGRESS_NS)
		return;
	pass->told_ns = now_ns;
	left = (double)(now_ns - pass->began_ns) / 1e9 *
	       (double)(total_objects(populate) - pass->objects) / (double)pass->objects;
	fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " objects %s, %.1f MB/s, %.0f s left\033[K",
	        pass->objects, total_objects(populate), pass->verb,
	        rate(pass, now_ns - pass->began_ns) / 1e6, left);
}

static void begin(struct pass *pass, const char *verb)
{
	pass->verb = verb;
	pass->began_ns = np_now_ns();
	pass->told_ns = pass->began_ns;
}

static void end(const struct populate *populate, struct pass *pass)
{
	pass->duration_ns = np_now_ns() - pass->began_ns;
	if (populate->shows_progress && pass->told_ns > pass->began_ns)
		fputs("\r\033[K", stderr);
}

/* ---- storing ---- */

/* What helps, where the server's words are known. */
static const struct remedy {
	enum nl_protocol protocol;
	const char *words;
	const char *remedy;
} remedies[] = {
	{ NL_MEMCACHE, "object too large for cache",
	  "memcached takes larger ones when it is started with -I, as -I 4m" },
	{ NL_MEMCACHE, "out of memory", "memcached has more with -m MEGABYTES" },
	{ NL_HTTP, " 403 ", "may it write there? --directory DIR writes files for it to serve" },
	{ NL_HTTP, " 405 ", "it takes no PUT; --directory DIR writes files for it to serve" },
	{ NL_HTTP, " 501 ", "it takes no PUT; --directory DIR writes files for it to serve" },
	{ NL_HTTP, " 409 ", "it has no such folder; nginx makes them with create_full_put_path" },
	{ NL_HTTP, " 413 ", "nginx takes larger ones with client_max_body_size" },
};

static int add_remedy(enum nl_protocol protocol, int rc, struct np_error *err)
{
	struct np_error said = *err;

	if (rc != -EREMOTEIO)
		return rc;
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (remedies[i].protocol == protocol && strcasestr(said.text, remedies[i].words))
			return np_error_set(err, said.code, "%.300s: %s", said.text,
			                    remedies[i].remedy);
	return rc;
}

/* One object into either; the other is NULL. */
static int store_one(struct populate *populate, const char *prefix, uint32_t index,
                     struct nl_connection *connection, struct nl_object_files *files)
{
	const struct nl_target *target = &populate->args->target;
	struct np_error *err = &target->common->err;
	uint64_t bytes = nl_sizes_of(&target->sizes, index);
	char key[NL_KEY_MAX + 1];
	int rc;

	nl_value_fill(populate->buffer, (size_t)bytes, index, bytes, 0);
	if (files) {
		rc = nl_object_files_write(files, index, populate->buffer, bytes, err);
	} else {
		nl_key_format(target->protocol, prefix, index, key);
		rc = nl_exchange_set(connection, key, populate->buffer, bytes, err);
	}
	if (rc < 0)
		return add_remedy(target->protocol, rc, err);
	populate->stored.objects++;
	populate->stored.bytes += bytes;
	show_progress(populate, &populate->stored);
	return 0;
}

static int store_all(struct populate *populate, const char *prefix,
                     struct nl_connection *connection, struct nl_object_files *files)
{
	int rc = 0;

	for (uint32_t index = 0; index < populate->args->target.keys && rc == 0; index++)
		rc = *populate->stop ? -EINTR
		                     : store_one(populate, prefix, index, connection, files);
	return rc;
}

static int store_arm(struct populate *populate, const struct nl_arm *arm)
{
	const struct populate_args *args = populate->args;
	struct np_error *err = &args->target.common->err;
	struct nl_connection connection;
	struct nl_object_files files;
	int rc;

	if (args->directory) {
		rc = nl_object_files_open(args->directory, arm->prefix, &files, err);
		if (rc < 0)
			return rc;
		rc = store_all(populate, arm->prefix, NULL, &files);
		nl_object_files_close(&files);
		return rc;
	}
	rc = nl_connection_open(&arm->server, args->target.protocol, args->target.deadline_ms,
	                        &connection, err);
	if (rc < 0)
		return rc;
	connection.stop = populate->stop;
	rc = store_all(populate, arm->prefix, &connection, NULL);
	populate->reconnects += connection.reconnects;
	nl_connection_close(&connection);
	return rc;
}

/* ---- reading back ---- */

/* The server's own words are "it is not there"; it was there a moment ago. */
static int explain_miss(const struct populate *populate, const char *key)
{
	const struct populate_args *args = populate->args;
	struct np_error *err = &args->target.common->err;

	if (args->directory)
		return np_error_set(err, ENOENT,
		                    "key %s is not there: does the server serve the files in %s?",
		                    key, args->directory);
	return np_error_set(err, ENOENT,
	                    "key %s is not there: the server has evicted it? it needs room for "
	                    "%" PRIu64 " bytes",
	                    key, populate->stored.bytes);
}

static int check_one(struct populate *populate, const struct nl_arm *arm, uint32_t index,
                     struct nl_connection *connection)
{
	const struct nl_target *target = &populate->args->target;
	struct np_error *err = &target->common->err;
	char server[NL_SERVER_TEXT_SIZE];
	char request[NL_REQUEST_MAX];
	char key[NL_KEY_MAX + 1];
	struct nl_get get = {
		.key = key,
		.request = request,
		.object_bytes = nl_sizes_of(&target->sizes, index),
		.buffer = populate->buffer,
	};
	struct nl_timing timing;
	const char *value;
	int64_t wrong;
	int rc;

	nl_key_format(target->protocol, arm->prefix, index, key);
	nl_server_text(&arm->server, server, sizeof(server));
	get.request_bytes = nl_request_format(target->protocol, NL_GET, server, key, 0, request);
	rc = nl_exchange_get(connection, &get, &timing, &value, err);
	if (rc < 0)
		return rc == -ENOENT ? np_error_wrap(err, explain_miss(populate, key), "%s", server)
		                     : rc;
	wrong = nl_value_check(value, (size_t)get.object_bytes, index, get.object_bytes, 0);
	if (wrong >= 0)
		return np_error_set(err, EBADMSG,
		                    "%s: key %s: byte %" PRId64 " is not what was stored", server,
		                    key, wrong);
	populate->checked.objects++;
	populate->checked.bytes += get.object_bytes;
	show_progress(populate, &populate->checked);
	return 0;
}

static int check_arm(struct populate *populate, const struct nl_arm *arm)
{
	const struct nl_target *target = &populate->args->target;
	struct nl_connection connection;
	int rc = nl_connection_open(&arm->server, target->protocol, target->deadline_ms,
	                            &connection, &target->common->err);

	if (rc < 0)
		return rc;
	connection.stop = populate->stop;
	for (uint32_t index = 0; index < target->keys && rc == 0; index++)
		rc = *populate->stop ? -EINTR : check_one(populate, arm, index, &connection);
	populate->reconnects += connection.reconnects;
	nl_connection_close(&connection);
	return rc;
}

/* ---- the result ---- */

static json_t *pass_json(const struct pass *pass)
{
	json_t *object = json_object();

	np_json_set_member(&object, "objects", np_json_number(true, pass->objects));
	np_json_set_member(&object, "bytes", np_json_number(true, pass->bytes));
	np_json_set_member(&object, "duration_ns", np_json_number(true, pass->duration_ns));
	np_json_set_member(
		&object, "bytes_per_s",
		np_json_number(pass->duration_ns > 0, (uint64_t)rate(pass, pass->duration_ns)));
	return object;
}

static json_t *document(const struct populate *populate)
{
	const struct populate_args *args = populate->args;
	json_t *object = json_object();

	np_json_set_member(&object, "schema", json_string("numakit/populate/1"));
	np_json_set_member(&object, "protocol",
	                   json_string(nl_protocol_name(args->target.protocol)));
	np_json_set_member(&object, "directory", np_json_text(args->directory));
	np_json_set_member(&object, "arms", nl_arms_json(&populate->arms));
	np_json_set_member(&object, "keys", np_json_number(true, args->target.keys));
	np_json_set_member(&object, "sizes", nl_sizes_json(&args->target.sizes));
	np_json_set_member(&object, "stored", pass_json(&populate->stored));
	np_json_set_member(&object, "checked",
	                   args->checks ? pass_json(&populate->checked) : json_null());
	np_json_set_member(&object, "reconnects", np_json_number(true, populate->reconnects));
	return object;
}

static int print(const struct populate *populate)
{
	const struct pass *stored = &populate->stored;
	const struct pass *checked = &populate->checked;

	if (populate->args->target.common->json)
		return nl_cmd_written(np_json_write(document(populate), stdout));
	printf("%" PRIu64 " objects, %" PRIu64 " bytes, stored in %.2f s, %.1f MB/s",
	       stored->objects, stored->bytes, (double)stored->duration_ns / 1e9,
	       rate(stored, stored->duration_ns) / 1e6);
	if (populate->args->checks)
		printf("; read back and right, in %.2f s", (double)checked->duration_ns / 1e9);
	putchar('\n');
	return nl_cmd_written(0);
}

/* The status; says how far it came. */
static int fail(const struct populate *populate)
{
	struct np_error *err = &populate->args->target.common->err;
	const struct pass *pass = populate->checked.verb ? &populate->checked : &populate->stored;
	struct np_error said = *err;

	if (*populate->stop)
		np_error_set(err, EINTR,
		             "populate: stopped by SIG%s: %" PRIu64 " of %" PRIu64
		             " objects are %s",
		             sigabbrev_np(*populate->stop), pass->objects, total_objects(populate),
		             pass->verb);
	else if (pass->objects == 0)
		np_error_wrap(err, -said.code, "populate");
	else
		np_error_set(err, said.code,
		             "populate: %.400s; %" PRIu64 " of %" PRIu64 " objects are %s",
		             said.text, pass->objects, total_objects(populate), pass->verb);
	return nl_cmd_fail(err, NP_EXIT_NO);
}

/* ---- the command ---- */

static int run(struct populate *populate)
{
	const struct populate_args *args = populate->args;
	int rc = 0;

	begin(&populate->stored, "stored");
	for (unsigned i = 0; i < populate->arms.count && rc == 0; i++)
		rc = store_arm(populate, &populate->arms.arms[i]);
	end(populate, &populate->stored);
	if (rc < 0 || !args->checks)
		return rc;
	begin(&populate->checked, "checked");
	for (unsigned i = 0; i < populate->arms.count && rc == 0; i++)
		rc = check_arm(populate, &populate->arms.arms[i]);
	end(populate, &populate->checked);
	return rc;
}

/* The command line's second half: what hangs together. */
static int check(struct populate_args *args, struct populate *populate)
{
	struct nl_target *target = &args->target;
	struct np_error *err = &target->common->err;
	int rc;

	if (args->directory)
		target->protocol = NL_HTTP;
	rc = nl_target_check(target);
	if (rc == 0 && args->arms)
		rc = nl_arms_parse(args->arms, target, &populate->arms, err);
	else if (rc == 0)
		rc = nl_arms_set_single(target, &populate->arms, err);
	for (unsigned i = 0; args->directory && i < populate->arms.count && rc == 0; i++)
		rc = nl_object_files_check(populate->arms.arms[i].prefix, err);
	return rc;
}

static int allocate(struct populate *populate)
{
	const struct nl_target *target = &populate->args->target;
	uint64_t size = NL_HEAD_MAX + nl_sizes_greatest(&target->sizes);

	populate->buffer = malloc((size_t)size);
	return populate->buffer ? 0
	                        : np_error_sys(&target->common->err, ENOMEM,
	                                       "room for an object of %" PRIu64 " bytes", size);
}

int nl_cmd_populate(struct nl_common *common, int argc, char **argv)
{
	struct populate_args args = { 0 };
	struct populate populate = {
		.args = &args,
		.stored = { .verb = "stored" },
		.shows_progress = isatty(STDERR_FILENO),
	};
	int status = NP_EXIT_USAGE;

	nl_target_default(&args.target, common);
	if (np_cli_parse(&argp, argc, argv, 0, &args, &common->err) < 0 ||
	    check(&args, &populate) < 0) {
		nl_cmd_fail(&common->err, status);
	} else {
		populate.stop = nl_cmd_stop_on_signal();
		if (allocate(&populate) < 0 || run(&populate) < 0)
			status = fail(&populate);
		else
			status = print(&populate);
	}
	free(populate.buffer);
	nl_arms_release(&populate.arms);
	nl_target_release(&args.target);
	return status;
}
