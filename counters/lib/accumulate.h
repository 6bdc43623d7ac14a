/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From readings to values: what a counter counted in an interval, how much of the interval that
 * covers, and what counters of one series give together. Pure arithmetic: no clock, no memory, no
 * calls; times are parameters.
 *
 * What was counted a part of the time only is scaled by that part and marked. What was not counted
 * at all is unknown. Counts are kept as counts, and totals are turned into units, so that deltas in
 * bytes add up to the total to the last byte, also at 64 bytes for 9 counts.
 */
#ifndef NC_ACCUMULATE_H
#define NC_ACCUMULATE_H

#include "backend.h"

/* One counter since its first reading. */
struct nc_count {
	struct nc_reading last; /* the last that is accounted for */
	uint64_t counts;        /* in all, with the estimates; never falls */
	uint64_t owed_ns;       /* time since @last in which others held the counter */
	bool is_resumed;        /* the interval before was unknown */
	uint64_t asked_ns;      /* since the first reading, unknown intervals included ... */
	uint64_t counted_ns;    /* ... and how much of it was counted */
};

/* What one interval did to a counter. */
struct nc_step {
	enum nc_note note; /* nc_note_is_unknown() of it: @own is 0 */
	uint64_t own;      /* counts of this interval */
	uint64_t gain;     /* what struct nc_count's @counts grew by: @own, and what was owed */
	double coverage;
};

/* True for the notes of a value that is not known. */
bool nc_note_is_unknown(enum nc_note note);

/* Counting starts at this reading, whatever number it holds. */
void nc_count_begin(struct nc_count *count, const struct nc_reading *first);

/*
 * Takes the next reading. @clock_ns is the least time that can have passed between the two: from
 * the end of the last look at all counters to the start of this one, so that being late with a
 * single one does not pass for a counter that stood still.
 */
void nc_count_add(struct nc_count *count, const struct nc_reading *reading, uint64_t clock_ns,
                  struct nc_step *ret);

/* Units for that many counts, rounded down; UINT64_MAX when it is more. @per is not 0. */
uint64_t nc_count_units(uint64_t counts, uint32_t units, uint32_t per);

/* A value of no counter yet; its total is kept. */
void nc_value_begin(struct nc_value *value);

/* Adds a counter's step to its series' value; @count is as nc_count_add() left it. */
void nc_value_add(struct nc_value *value, const struct nc_count *count, const struct nc_step *step,
                  uint32_t units, uint32_t per);

#endif
