/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What came of a load: counted by each thread for itself, then added up.
 *
 * Counted is every request that was sent after the warm-up and answered. Latency is from the time at
 * which it was meant to be sent (open loop), or was sent (closed loop), to the last byte of its reply;
 * service time is from the sending in either.
 */
#ifndef NL_LOAD_RESULT_H
#define NL_LOAD_RESULT_H

#include "histogram.h"
#include "load_plan.h"
#include "wire.h"

enum { NL_VERB_COUNT = NL_SET + 1 };

/* "GET", "SET". */
const char *nl_verb_name(enum nl_verb verb);

struct nl_load_count {
	uint64_t requests;    /* misses and refused ones too */
	uint64_t bytes;       /* of values, received or stored */
	uint64_t misses;      /* GET: there is no such object */
	uint64_t other_sizes; /* GET: values of another size than they were to have */
	uint64_t refused;     /* by a server that goes on, as it did for want of memory */
	struct nl_histogram *latency;
	struct nl_histogram *service; /* NULL in a closed loop: it is the latency */
};

/* One thread's, or all together. */
struct nl_load_tally {
	struct nl_load_count counts[NL_VERB_COUNT];
	/*
	 * Open loop: how late the generator itself was with requests for which a connection was idle
	 * at their time. NULL in a closed loop.
	 */
	struct nl_histogram *lag;
	uint64_t reconnects; /* HTTP: of connections that the server closed after a reply */
	uint64_t due;        /* open loop: times within the measured time, sent or not */
	uint64_t last_due_ns;
	uint64_t backlog;           /* of them not sent, as no connection was idle until the end */
	uint64_t backlog_oldest_ns; /* for how long the first of them had waited; 0 = none */
	uint64_t last_reply_ns;
	char refusal[NL_REPLY_TEXT_SIZE]; /* a refusal's words, "" = none */
};

/* Allocates what the plan needs; the caller ends it with nl_load_tally_release(). -ENOMEM */
int nl_load_tally_init(struct nl_load_tally *tally, const struct nl_load_plan *plan,
                       struct np_error *err);
void nl_load_tally_release(struct nl_load_tally *tally);
void nl_load_tally_merge(struct nl_load_tally *into, const struct nl_load_tally *from);

struct nl_load_result {
	struct nl_load_tally tally;
	int64_t began_ns; /* since 1970: the end of the warm-up */
	uint64_t
		elapsed_ns; /* since then, to the last reply counted, and at least the duration asked */
	uint64_t due_span_ns; /* open loop: in which tally.due requests were due */
	bool is_complete;
	char why[NP_ERROR_TEXT_SIZE]; /* it is not */
};

uint64_t nl_load_requests(const struct nl_load_result *result);
double nl_load_achieved(const struct nl_load_result *result); /* requests a second */

/* Open loop: how many were due a second; a Poisson process does not keep to the rate exactly. */
double nl_load_offered(const struct nl_load_result *result);

/* Open loop: less than 0.99 of what was due was done, of 1000 requests or more. */
bool nl_load_is_overloaded(const struct nl_load_result *result);

/*
 * Open loop: the generator could not keep up: p99 of its lag is more than a tenth of the median
 * latency, and more than 100 us, which a timer's wake-up may cost on any host.
 */
bool nl_load_is_late(const struct nl_load_result *result);

void nl_load_result_release(struct nl_load_result *result);

#endif
