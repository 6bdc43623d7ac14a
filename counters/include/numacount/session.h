/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counting, from open to close: opened counters, added up into series, read as often as wanted.
 *
 * A session belongs to one thread at a time. It needs no memory and opens no file after
 * nc_session_open() but to follow CPUs and PMUs that come and go.
 */
#ifndef NUMACOUNT_SESSION_H
#define NUMACOUNT_SESSION_H

#include <numacount/counter.h>
#include <numacount/source.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One number of interest: what all counters of one socket, class and link count together. */
struct nc_series {
	enum nc_class what;
	const char *name; /* of the event, for NC_CLASS_OTHER; else the class's */
	bool has_socket;
	unsigned socket;
	unsigned node; /* of NC_SOURCE_NUMASTAT, where has_socket may be false */
	bool has_link;
	unsigned link;
	bool has_peer;
	unsigned peer;
	unsigned peer_link;
	unsigned counter_count;
};

/* Why a value is not known, or is to be taken with care; words of the JSON contract. */
enum nc_note {
	NC_NOTE_NONE,
	NC_NOTE_MULTIPLEXED, /* known, an estimate: it was counted a part of the time */
	NC_NOTE_MOVED,     /* known; the CPU that owned the counter went offline, another has it */
	NC_NOTE_BACKWARDS, /* unknown: the count fell; something else writes the registers */
	NC_NOTE_BUSY, /* unknown: never counted in this interval, other events hold the counters */
	NC_NOTE_OFFLINE, /* unknown: no CPU of the socket is online */
	NC_NOTE_GONE,    /* unknown: the PMU was unregistered */
	NC_NOTE_FAILED,  /* unknown: open or read failed; nc_session_event() has the words */
	NC_NOTE_COUNT
};

const char *nc_note_name(enum nc_note note); /* "multiplexed" and so on; "" for NONE */

struct nc_value {
	bool is_known;  /* of this interval; of several counters all must be */
	uint64_t delta; /* in the class's unit, of this interval; estimated when coverage < 1 */
	/*
	 * The same since the session began; never falls. It adds up the deltas, and grows by more
	 * than the delta after BUSY intervals, for which the next counted one makes up, and in an
	 * interval that only some of the counters make unknown.
	 */
	uint64_t total;
	double coverage; /* 0..1: share of this interval that was counted, the least of all counters */
	/* The same since the session began; unknown intervals count as 0. At 0, @total says nothing. */
	double coverage_total;
	enum nc_note note;
};

struct nc_sample {
	int64_t time_ns;               /* CLOCK_REALTIME at the end of the interval */
	uint64_t elapsed_ns;           /* CLOCK_MONOTONIC since the session began */
	uint64_t interval_ns;          /* since the sample before */
	const struct nc_value *values; /* one for each series; valid until the next call */
};

struct nc_session; /* opaque */

struct nc_session_options {
	nc_classes what; /* 0 = NC_CLASSES_DEFAULT; of NC_SOURCE_UNCORE */
	bool has_source; /* this one and no other; else the best that is permitted below */
	enum nc_source source;
	bool allows_fallback; /* sources below NC_SOURCE_UNCORE will do */
};

/*
 * Opens the counters of the best source that can be had. Nothing counts before. @host must outlive
 * the session; the caller ends *ret with nc_session_close(). Where the soft limit RLIMIT_NOFILE is
 * too low and the hard one is not, the soft one is raised by what is lacking, for good. Counters that
 * cannot be opened while others can are FAILED, with a sentence (nc_session_event).
 *
 *   -ENODATA  no source, or none that is permitted by @options: err says why the best one is not
 *             there, and what would help
 *   -EACCES   the kernel does not permit it: err names perf_event_paranoid, CAP_PERFMON, or the
 *             filter of a container
 *   -EBUSY    others hold the counters
 *   -EMFILE   it takes more files than RLIMIT_NOFILE permits; known before anything is opened
 *   -EXDEV    the host is a captured one
 *   -ENOMEM
 */
int nc_session_open(const struct nc_host *host, const struct nc_session_options *options,
                    struct nc_session **ret, struct np_error *err);
void nc_session_close(struct nc_session *session); /* accepts NULL */

enum nc_source nc_session_source(const struct nc_session *session);
size_t nc_session_series_count(const struct nc_session *session);
/* Sorted by class, socket, link. Live as long as the session. */
const struct nc_series *nc_session_series(const struct nc_session *session);
/* The counters that are open. */
size_t nc_session_counter_count(const struct nc_session *session);

/*
 * Reads all counters and follows CPUs and PMUs that came or went. A counter that cannot be read
 * makes its series unknown and no error.
 *
 *   -ENODATA  nothing can be read any more: every PMU is gone
 */
int nc_session_read(struct nc_session *session, struct nc_sample *ret, struct np_error *err);

/*
 * What happened since the session began that the user should know (a CPU that took over, a PMU that
 * went), one sentence each, with the second it was seen in; at most the last 64 of them are kept.
 * *ret_total is how many there ever were. Sentence @index counts from the oldest that is kept.
 */
size_t nc_session_event_count(const struct nc_session *session, uint64_t *ret_total);
const char *nc_session_event(const struct nc_session *session, size_t index);

#ifdef __cplusplus
}
#endif

#endif
