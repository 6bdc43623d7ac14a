/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hardware counters to be opened: each event of the family's table, on each PMU that has it, on
 * each CPU of that PMU's mask. Made from a host alone, so `list` shows them for any user and root.
 */
#ifndef NUMACOUNT_COUNTER_H
#define NUMACOUNT_COUNTER_H

#include <numacount/host.h>

#ifdef __cplusplus
extern "C" {
#endif

/* perf_event_attr's type and configs. */
struct nc_code {
	uint32_t type;
	uint64_t config[4]; /* config, config1, config2, config3 */
};

enum nc_encoder { NC_ENCODER_LIBPFM4, NC_ENCODER_FORMAT };

const char *nc_encoder_name(enum nc_encoder encoder); /* "libpfm4", "format" */

struct nc_counter {
	enum nc_class what;
	const char *name;    /* of the event, or of the file it is read from */
	const char *box;     /* the PMU's name, or the file's folder; for messages */
	uint32_t units, per; /* see struct nc_event */
	bool has_socket;     /* a node without CPUs is of no socket */
	unsigned socket;
	unsigned die;
	unsigned node; /* of the source "numastat": whose memory it is */
	bool has_link; /* classes INTERCONNECT_* */
	/*
	 * Unique in its socket: the number of its PMU, or of its event; in a socket with several
	 * dies those of the second die go on behind the first one's.
	 */
	unsigned link;
	bool has_peer; /* the kernel tells where the link ends */
	unsigned peer; /* a socket */
	unsigned peer_die;
	unsigned peer_link;

	/* Of the sources "uncore" and "core" alone: */
	const struct nc_event *event;
	const struct nc_pmu *pmu;
	unsigned cpu; /* where it is opened: one of the PMU's mask */
	struct nc_code code;
	enum nc_encoder encoder;
	unsigned group; /* equal for those to be read at one instant: of one box, as many as fit */
};

struct nc_counters {
	struct nc_counter *items; /* by group, sockets ascending within a PMU */
	size_t count;
	/* One sentence for each event that could not be found or encoded, and why. */
	char **problems;
	size_t problem_count;
};

/*
 * The counters of a host for these classes, of events whose PMU counts by box (uncore) or, with
 * NC_CLASSES_LOADS alone, by CPU. An empty list with problems is an answer. Points into @host. The
 * caller ends *ret with nc_counters_release().
 *
 *   -E2BIG  a captured host that describes more than any machine has
 *   -ENOMEM
 */
int nc_counters_find(const struct nc_host *host, nc_classes what, struct nc_counters *ret,
                     struct np_error *err);
void nc_counters_release(struct nc_counters *counters);

#ifdef __cplusplus
}
#endif

#endif
