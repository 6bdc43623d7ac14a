/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run came to: samples added up by place and class, the busiest interval, which share came
 * from other sockets, and whether both ends of the links agree. Pure.
 */
#ifndef NUMACOUNT_TALLY_H
#define NUMACOUNT_TALLY_H

#include <numacount/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where something is counted: a socket, or a node that has no CPUs and so belongs to none. */
struct nc_place {
	bool has_socket;
	unsigned socket;
	unsigned node; /* without a socket */
};

/* One class at one place (all its links together), one series, or one class everywhere. */
struct nc_sum {
	bool exists;    /* something counts this; all else is 0 without */
	bool is_known;  /* at least one interval was counted */
	uint64_t total; /* in the class's unit, over all intervals that were counted */
	/*
	 * Share of the run that was counted, the least of all that is added up. What was counted a
	 * part of the time is extrapolated to its interval; intervals that were not counted at all
	 * are not made up for.
	 */
	double coverage;
	uint64_t known_ns;          /* the intervals of @total, for a rate */
	uint64_t unknown_intervals; /* those that it lacks */
	/*
	 * The busiest interval, of those counted. One that is less than half as long as the one
	 * before, as the last one may be, is not among them.
	 */
	bool has_peak;
	double peak_per_s;
	uint64_t peak_at_ns; /* since the run began: that interval's end */
	enum nc_note note;   /* the last one that was not NONE */
};

/* Whether it lacks no interval and is no estimate, but for clocks of different grain. */
bool nc_sum_is_whole(const struct nc_sum *sum);

struct nc_tally; /* opaque */

/*
 * Of the @count @series of a session, which must outlive *ret; the caller ends that with
 * nc_tally_free(). -ENOMEM
 */
int nc_tally_create(const struct nc_series *series, size_t count, struct nc_tally **ret,
                    struct np_error *err);
void nc_tally_free(struct nc_tally *tally); /* accepts NULL */

/*
 * How many sockets the host has, some of which nothing may count at. Which of two sockets sent what
 * the other received is only certain where there is no third. Without, those that count are all.
 */
void nc_tally_expect_sockets(struct nc_tally *tally, size_t count);

/* Adds a sample of that session. */
void nc_tally_add(struct nc_tally *tally, const struct nc_sample *sample);

uint64_t nc_tally_elapsed_ns(const struct nc_tally *tally);
uint64_t nc_tally_intervals(const struct nc_tally *tally); /* how many samples */

/* Sockets ascending, then nodes without. */
size_t nc_tally_place_count(const struct nc_tally *tally);
const struct nc_place *nc_tally_place(const struct nc_tally *tally, size_t index);

const struct nc_sum *nc_tally_sum(const struct nc_tally *tally, size_t place, enum nc_class what);
const struct nc_sum *nc_tally_everywhere(const struct nc_tally *tally, enum nc_class what);
const struct nc_sum *nc_tally_series(const struct nc_tally *tally, size_t series);

/* What a share of remote memory rests on, best first. */
enum nc_share_basis {
	NC_SHARE_HOME,  /* requests for this socket's memory that came from other sockets */
	NC_SHARE_LINKS, /* data in over the links, of that and what its own memory was read */
	NC_SHARE_CPU,   /* resctrl: traffic of its CPUs that was not local */
	NC_SHARE_LOADS, /* loads of its cores beyond all caches that went to remote memory */
	NC_SHARE_PAGES, /* pages of it that were given to CPUs elsewhere */
	NC_SHARE_NONE,  /* unknown */
};

/* "home", "links", "cpu", "loads", "pages"; "" for NONE. */
const char *nc_share_name(enum nc_share_basis basis);

/* 0..1 by the best basis at hand. */
enum nc_share_basis nc_tally_remote_share(const struct nc_tally *tally, size_t place,
                                          double *ret_share);

/*
 * What one end sent and the other end received: over a link whose ends are known, between the two
 * sockets of a host that has two, or over all links of all sockets.
 */
struct nc_agreement {
	bool is_everywhere; /* all that was sent, and all that was received */
	bool has_links;
	unsigned from, from_link, to, to_link; /* sockets and their links */
	uint64_t out_bytes, in_bytes;
	double difference; /* (out - in) / the larger one; 0 when nothing crossed */
	bool is_estimate;  /* not both are whole: they may be of different times */
};

/*
 * All agreements that can be told, in *ret, which the caller frees; returns their number.
 *
 *   -ENOMEM
 */
int nc_tally_agreements(const struct nc_tally *tally, struct nc_agreement **ret,
                        struct np_error *err);

/* Bytes from socket to socket. */
struct nc_matrix {
	size_t size;       /* sockets */
	unsigned *sockets; /* ids, ascending */
	/*
	 * Row = from, column = to, [row * size + column]; in the diagonal is what crosses links
	 * between dies of one socket, and not what it reads and writes of its own memory. Those
	 * that no link joins do not exist; none does when no pair is known.
	 */
	struct nc_sum *cells;
	struct nc_sum *rows;    /* sent by each */
	struct nc_sum *columns; /* received by each */
	bool is_inferred;       /* no pairs: the kernel does not tell where links end */
	const char *basis; /* what the pairs rest on: "link map", "two sockets"; NULL without */
};

/*   -ENODATA  no link is counted
 *   -ENOMEM */
int nc_tally_matrix(const struct nc_tally *tally, struct nc_matrix *ret, struct np_error *err);
void nc_matrix_release(struct nc_matrix *matrix);

#ifdef __cplusplus
}
#endif

#endif
