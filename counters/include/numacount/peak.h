/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a link could carry at most: by its clock (nominal), and as somebody measured or knows it.
 */
#ifndef NUMACOUNT_PEAK_H
#define NUMACOUNT_PEAK_H

#include <numacount/session.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nc_peaks; /* opaque */

struct nc_peaks_source {
	double link_bytes_per_s; /* of a link in one direction, as the user knows it; 0 = not given */
	const char *measured_file; /* a numakit/measure document; NULL = none */
};

/*
 * Of the @count @series of a session on @host; both must outlive *ret, which the caller ends with
 * nc_peaks_free().
 *
 *   -EINVAL  the file is no such document; err says where and why
 *   -ENOENT ...  of open(2)
 *   -ENOMEM
 */
int nc_peaks_create(const struct nc_host *host, const struct nc_series *series, size_t count,
                    const struct nc_peaks_source *from, struct nc_peaks **ret,
                    struct np_error *err);
void nc_peaks_free(struct nc_peaks *peaks); /* accepts NULL */

/* Learns the links' rates from their clocks; call it with every sample. */
void nc_peaks_add(struct nc_peaks *peaks, const struct nc_sample *sample);

/*
 * The most that series @index could carry, in bytes/s: by the link's clock, and as measured or
 * given. False when that is unknown, always so for what is no link.
 */
bool nc_peaks_nominal(const struct nc_peaks *peaks, size_t index, double *ret_bytes_per_s);
bool nc_peaks_measured(const struct nc_peaks *peaks, size_t index, double *ret_bytes_per_s);

#ifdef __cplusplus
}
#endif

#endif
