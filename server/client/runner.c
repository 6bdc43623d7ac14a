/* SPDX-License-Identifier: BSD-3-Clause */
#include "runner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An object begins with as many bytes that tell its index and size (target.h). */
enum { BUFFER_ALIGN = 4096, QUOTE_SIZE = 40, WHAT_SIZE = 120 };

static const char *const verify_names[] = {
	[NL_VERIFY_STAMP] = "stamp", [NL_VERIFY_ALL] = "all", [NL_VERIFY_OFF] = "off"
};

const char *nl_verify_name(enum nl_verify verify)
{
	return verify_names[verify];
}

int nl_verify_parse(const char *text, enum nl_verify *ret, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	for (unsigned i = 0; i < sizeof(verify_names) / sizeof(verify_names[0]); i++) {
		if (strcmp(text, verify_names[i]) != 0)
			continue;
		*ret = (enum nl_verify)i;
		return 0;
	}
	return np_error_set(err, EINVAL, "--verify: '%s' is none of stamp, all, off",
	                    np_error_quote(text, quoted, sizeof(quoted)));
}

/* ---- servers ---- */

/* The connection to that server, which is opened unless an arm before has it. */
static int find_link(struct nl_runner *runner, const struct nl_server *server, unsigned *ret,
                     struct np_error *err)
{
	struct nl_link *link = &runner->links[runner->link_count];
	int rc;

	for (unsigned i = 0; i < runner->link_count; i++) {
		if (!nl_server_equal(runner->links[i].connection.server, server))
			continue;
		*ret = i;
		return 0;
	}
	rc = nl_connection_open(server, runner->target->protocol, runner->target->deadline_ms,
	                        &link->connection, err);
	if (rc < 0)
		return rc;
	link->connection.stop = runner->stop;
	if (server->port)
		nl_server_text(server, link->host, sizeof(link->host));
	else
		snprintf(link->host, sizeof(link->host), "localhost");
	*ret = runner->link_count++;
	return 0;
}

static int create_buffer(struct nl_runner *runner, struct np_error *err)
{
	uint64_t bytes = (uint64_t)NL_HEAD_MAX + nl_sizes_greatest(&runner->target->sizes);
	size_t size = (size_t)((bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN);

	runner->buffer = aligned_alloc(BUFFER_ALIGN, size);
	if (!runner->buffer)
		return np_error_sys(err, ENOMEM, "an object of %" PRIu64 " bytes",
		                    nl_sizes_greatest(&runner->target->sizes));
	/* Touched now, so that no request waits for a page. */
	memset(runner->buffer, 0, size);
	return 0;
}

int nl_runner_open(const struct nl_target *target, const struct nl_arms *arms,
                   const volatile sig_atomic_t *stop, struct nl_runner *ret, struct np_error *err)
{
	int rc;

	*ret = (struct nl_runner){ .target = target, .arms = arms, .stop = stop };
	rc = create_buffer(ret, err);
	for (unsigned i = 0; rc == 0 && i < arms->count; i++)
		rc = find_link(ret, &arms->arms[i].server, &ret->link_of[i], err);
	if (rc < 0)
		nl_runner_close(ret);
	return rc;
}

void nl_runner_close(struct nl_runner *runner)
{
	for (unsigned i = 0; i < runner->link_count; i++)
		nl_connection_close(&runner->links[i].connection);
	runner->link_count = 0;
	free(runner->buffer);
	runner->buffer = NULL;
}

uint64_t nl_runner_reconnects(const struct nl_runner *runner)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < runner->link_count; i++)
		sum += runner->links[i].connection.reconnects;
	return sum;
}

/* ---- requests ---- */

/* Puts server and key before what is wrong with an answer, as the exchange does with its own errors. */
static int blame(const struct nl_runner *runner, unsigned arm, int code, const char *what,
                 struct np_error *err)
{
	char server[NL_SERVER_TEXT_SIZE];

	nl_server_text(&runner->arms->arms[arm].server, server, sizeof(server));
	return np_error_set(err, code, "%s: key %s: %s", server, runner->key, what);
}

static int verify(const struct nl_runner *runner, unsigned arm, const char *value,
                  const struct nl_row *row, struct np_error *err)
{
	uint64_t bytes = nl_sizes_of(&runner->target->sizes, row->key);
	uint64_t looked = bytes;
	char what[WHAT_SIZE];
	int64_t wrong;

	if (runner->verify == NL_VERIFY_OFF)
		return 0;
	if (runner->verify == NL_VERIFY_STAMP && looked > NL_STAMP_BYTES)
		looked = NL_STAMP_BYTES;
	wrong = nl_value_check(value, (size_t)looked, row->key, bytes, 0);
	if (wrong < 0)
		return 0;
	snprintf(what, sizeof(what),
	         "wrong bytes from offset %" PRId64 " of %" PRIu64
	         " on; numalat populate stores the right ones",
	         wrong, bytes);
	return blame(runner, arm, EBADMSG, what, err);
}

/* One request, its bytes made before its clock starts, and its row. */
static int ask(struct nl_runner *runner, unsigned arm, uint32_t key, struct nl_row *ret,
               struct np_error *err)
{
	const struct nl_target *target = runner->target;
	struct nl_link *link = &runner->links[runner->link_of[arm]];
	struct nl_get get = { .key = runner->key,
		              .request = runner->request,
		              .object_bytes = nl_sizes_of(&target->sizes, key),
		              .buffer = runner->buffer };
	struct nl_timing timing = { 0 };
	const char *value = NULL;
	int rc;

	nl_key_format(target->protocol, runner->arms->arms[arm].prefix, key, runner->key);
	get.request_bytes = nl_request_format(target->protocol, NL_GET, link->host, runner->key, 0,
	                                      runner->request);
	rc = nl_exchange_get(&link->connection, &get, &timing, &value, err);
	if (rc == -ENOENT)
		return blame(runner, arm, ENOENT, "not there; numalat populate stores it", err);
	if (rc < 0)
		return rc;
	*ret = (struct nl_row){ .start_ns = timing.start_ns,
		                .response_ns = timing.response_ns,
		                .payload_ns = timing.payload_ns,
		                .total_ns = timing.total_ns,
		                .key = key,
		                .arm = (uint8_t)arm };
	return verify(runner, arm, value, ret, err);
}

static int say_stopped(const struct nl_runner *runner, struct np_error *err)
{
	return np_error_set(err, EINTR, "stopped by SIG%s", sigabbrev_np(*runner->stop));
}

/* What failed is told by row, and by arm where there are several; err has the key. */
static int say_failed(const struct nl_runner *runner, uint64_t row, unsigned arm, int rc,
                      struct np_error *err)
{
	if (*runner->stop)
		return say_stopped(runner, err);
	if (runner->arms->count > 1)
		np_error_wrap(err, rc, "arm %s", runner->arms->arms[arm].name);
	return np_error_wrap(err, rc, "row %" PRIu64, row);
}

int nl_runner_run(struct nl_runner *runner, struct nl_order *order, struct nl_samples *samples,
                  struct nl_counter *counter, struct np_error *err)
{
	uint64_t done = 0;
	uint32_t key;
	unsigned arm;

	while (nl_order_next(order, &arm, &key)) {
		struct nl_row row = { 0 };
		int rc;

		if (*runner->stop)
			return say_stopped(runner, err);
		rc = ask(runner, arm, key, &row, err);
		if (rc < 0)
			return say_failed(runner, done, arm, rc, err);
		if (samples)
			nl_samples_add(samples, &row);
		done++;
		if (counter)
			nl_counter_set(counter, done);
	}
	return 0;
}
