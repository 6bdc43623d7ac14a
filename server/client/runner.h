/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measured loop: one request after the other, each on the connection of its arm's server. Between
 * two requests it does what must be done, and nothing that can wait: the next request's bytes, one
 * look at the answer, one row.
 */
#ifndef NL_RUNNER_H
#define NL_RUNNER_H

#include "arms.h"
#include "exchange.h"
#include "order.h"
#include "samples.h"
#include "ticker.h"

#include <signal.h>

enum nl_verify {
	NL_VERIFY_STAMP, /* the first 16 bytes, which tell whose they are */
	NL_VERIFY_ALL,
	NL_VERIFY_OFF,
};

/* "stamp", "all", "off"; -EINVAL with "--verify: ..." */
const char *nl_verify_name(enum nl_verify verify);
int nl_verify_parse(const char *text, enum nl_verify *ret, struct np_error *err);

struct nl_runner {
	const struct nl_target *target;
	const struct nl_arms *arms;
	enum nl_verify verify;
	const volatile sig_atomic_t *stop; /* ends it when not 0 */
	struct nl_link {
		struct nl_connection connection;
		char host[NL_SERVER_TEXT_SIZE]; /* for HTTP's Host field */
	} links[NL_TRACE_ARMS_MAX];             /* of distinct servers */
	unsigned link_count;
	unsigned link_of[NL_TRACE_ARMS_MAX]; /* each arm's */
	char *buffer;                        /* for the answer, see struct nl_get; owned */
	char key[NL_KEY_MAX + 1];
	char request[NL_REQUEST_MAX];
};

/*
 * Connects to each server once. @target, @arms and @stop must outlive it. The caller ends *ret with
 * nl_runner_close(), which a failure has done. -ENOMEM; of nl_connection_open()
 */
int nl_runner_open(const struct nl_target *target, const struct nl_arms *arms,
                   const volatile sig_atomic_t *stop, struct nl_runner *ret, struct np_error *err);
void nl_runner_close(struct nl_runner *runner);

/* By servers that ended a connection, all together. */
uint64_t nl_runner_reconnects(const struct nl_runner *runner);

/*
 * Makes the requests of @order; each answered and verified one is added to @samples and counted in
 * *counter, both of which may be NULL. On failure err names row and key, and what was measured stays.
 *
 *   -EINTR    stopped by a signal, which err names
 *   -ENOENT   a miss
 *   -EBADMSG  another size, or wrong bytes
 *   other     of nl_exchange_get()
 */
int nl_runner_run(struct nl_runner *runner, struct nl_order *order, struct nl_samples *samples,
                  struct nl_counter *counter, struct np_error *err);

#endif
