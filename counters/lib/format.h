/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of a PMU's format/: which bits of perf_event_attr a term's value goes to. Pure.
 * Source: Documentation/ABI/testing/sysfs-bus-event_source-devices-format.
 */
#ifndef NC_FORMAT_H
#define NC_FORMAT_H

#include <numacount/host.h>

/*
 * Parses "config:0-7,21" or "config1:5"; what stands there for config alone names config's bits, in
 * the order of the value's, least significant first. @ret->name is left alone.
 *
 *   -EINVAL   no such text, a bit beyond 63, or one that is named twice
 *   -ENOTSUP  a field of perf_event_attr that we do not know, "config4"
 */
int nc_format_parse(const char *text, struct nc_format *ret, struct np_error *err);

/*
 * Puts @value's bits into config[]. Bits of other terms stay.
 *
 *   -ERANGE  the value has more bits than the term
 */
int nc_format_spread(const struct nc_format *format, uint64_t value, uint64_t config[4],
                     struct np_error *err);

#endif
