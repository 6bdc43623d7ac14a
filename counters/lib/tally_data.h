/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a tally, for tally.c and what is derived from it (matrix.c). */
#ifndef NC_TALLY_DATA_H
#define NC_TALLY_DATA_H

#include <numacount/tally.h>

/* The interval that is being added. */
struct interval {
	bool is_known;
	uint64_t delta;
	double coverage;
};

struct adding {
	struct nc_sum sum;
	struct interval interval;
	double counted_ns; /* coverage times interval, added up */
	double all_ns;
};

struct nc_tally {
	const struct nc_series *series; /* the session's */
	size_t series_count;
	uint64_t elapsed_ns;
	uint64_t intervals;
	uint64_t interval_ns;    /* of the last sample */
	size_t expected_sockets; /* 0 = those that count */
	struct nc_place *places;
	size_t place_count;
	size_t *place_of;         /* by series: its index in places */
	struct adding *by_series; /* by series */
	struct adding *by_place;  /* by place * NC_CLASS_COUNT + class */
	struct adding everywhere[NC_CLASS_COUNT];
};

/* The place's index, or place_count when it is not there. */
size_t nc_tally_find_place(const struct nc_tally *tally, const struct nc_place *place);

#endif
