/* SPDX-License-Identifier: BSD-3-Clause */
#include "accumulate.h"

__extension__ typedef unsigned __int128 wide;

/* Counters are late by this share of the time before the clock is believed instead of them. */
enum { LAG_PERCENT = 5 };

/*
 * No register counts faster: the largest figure of a box is bytes, 10^12 a second. What seems to
 * have gained more fell, and a driver or the rule below took that for a wrap. Gains that a moment's
 * imprecision could make look fast are let pass.
 */
enum { COUNTS_PER_NS_MAX = 10000 };
#define DOUBTED_COUNTS (UINT64_C(1) << 40)

#define WRAP_COUNTS (UINT64_C(1) << 48)

bool nc_note_is_unknown(enum nc_note note)
{
	return note >= NC_NOTE_BACKWARDS;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t saturate(wide value)
{
	return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

/* What @counts in @part_ns are in @whole_ns, rounded to the nearest. */
static uint64_t scale(uint64_t counts, uint64_t whole_ns, uint64_t part_ns)
{
	return saturate(((wide)counts * whole_ns + part_ns / 2) / part_ns);
}

static double share(uint64_t part_ns, uint64_t whole_ns)
{
	return whole_ns > part_ns ? (double)part_ns / (double)whole_ns : 1.0;
}

void nc_count_begin(struct nc_count *count, const struct nc_reading *first)
{
	*count = (struct nc_count){ .last = *first };
}

/* False when the count fell. */
static bool find_gain(uint64_t last, uint64_t now, uint64_t time_ns, uint64_t *ret)
{
	uint64_t gain = now - last; /* a wrap at 64 bits is right by itself */
	uint64_t fall = last - now;

	if (now < last && fall > WRAP_COUNTS / 2 && fall <= WRAP_COUNTS)
		gain = WRAP_COUNTS - fall;
	else if (now < last && fall <= UINT64_MAX / 2)
		return false;
	*ret = gain;
	return gain < DOUBTED_COUNTS || gain / COUNTS_PER_NS_MAX <= time_ns;
}

static bool lags(uint64_t enabled_ns, uint64_t clock_ns)
{
	return enabled_ns < clock_ns - clock_ns / 100 * LAG_PERCENT;
}

/* The interval is unknown: it counts as asked for and not as counted. */
static void pass_over(struct nc_count *count, enum nc_note note, uint64_t clock_ns,
                      struct nc_step *ret)
{
	count->asked_ns += clock_ns;
	count->is_resumed = true;
	*ret = (struct nc_step){ .note = note };
}

void nc_count_add(struct nc_count *count, const struct nc_reading *reading, uint64_t clock_ns,
                  struct nc_step *ret)
{
	uint64_t enabled_ns = reading->enabled_ns - count->last.enabled_ns;
	uint64_t running_ns = reading->running_ns - count->last.running_ns;
	uint64_t clock_owed_ns = clock_ns + count->owed_ns;
	/* All the time that this reading answers for; more than the interval when time is owed. */
	uint64_t whole_ns = lags(enabled_ns, clock_owed_ns) ? clock_owed_ns : enabled_ns;
	uint64_t own_ns = count->is_resumed ? smaller(whole_ns, clock_ns) : whole_ns;
	uint64_t gain;

	if (nc_note_is_unknown(reading->note)) {
		pass_over(count, reading->note, clock_ns, ret);
		return;
	}
	if (running_ns == 0 && whole_ns > 0) {
		count->owed_ns += clock_ns;
		pass_over(count, NC_NOTE_BUSY, clock_ns, ret);
		return;
	}
	if (!find_gain(count->last.raw, reading->raw, whole_ns, &gain)) {
		count->last = *reading;
		count->owed_ns = 0;
		pass_over(count, NC_NOTE_BACKWARDS, clock_ns, ret);
		return;
	}

	ret->coverage = share(running_ns, own_ns);
	ret->note = reading->note;
	if (ret->note == NC_NOTE_NONE && running_ns < own_ns)
		ret->note = NC_NOTE_MULTIPLEXED;
	ret->gain = running_ns < whole_ns ? scale(gain, whole_ns, running_ns) : gain;
	ret->own =
		own_ns < whole_ns ? scale(gain, own_ns, smaller(running_ns, whole_ns)) : ret->gain;

	count->counts += smaller(ret->gain, UINT64_MAX - count->counts);
	count->asked_ns += own_ns;
	count->counted_ns += smaller(running_ns, own_ns);
	count->owed_ns = 0;
	count->is_resumed = false;
	count->last = *reading;
}

uint64_t nc_count_units(uint64_t counts, uint32_t units, uint32_t per)
{
	return saturate((wide)counts * units / per);
}

void nc_value_begin(struct nc_value *value)
{
	*value = (struct nc_value){
		.is_known = true,
		.total = value->total,
		.coverage = 1.0,
		.coverage_total = 1.0,
	};
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

void nc_value_add(struct nc_value *value, const struct nc_count *count, const struct nc_step *step,
                  uint32_t units, uint32_t per)
{
	uint64_t before = count->counts - step->gain;
	uint64_t total_before = nc_count_units(before, units, per);
	uint64_t total = nc_count_units(count->counts, units, per);

	value->total += smaller(total - total_before, UINT64_MAX - value->total);
	value->coverage = least(value->coverage, step->coverage);
	value->coverage_total =
		least(value->coverage_total, share(count->counted_ns, count->asked_ns));
	/* The notes are in order of weight. */
	if (step->note > value->note)
		value->note = step->note;
	value->is_known = !nc_note_is_unknown(value->note);
	if (value->is_known)
		value->delta += nc_count_units(before + step->own, units, per) - total_before;
	else
		value->delta = 0;
}
