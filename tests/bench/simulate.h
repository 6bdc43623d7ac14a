/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latencies as a server's: log-normal, each hanging together with the one before (AR(1) of the
 * logarithm), and now and then a stall. For tests and benches.
 */
#ifndef SIMULATE_H
#define SIMULATE_H

#include "../../probe/base/rng.h"

#include <math.h>

struct simulation {
	struct np_rng rng;
	double phi; /* correlation of neighbours' logarithms, 0..1 */
	double median_ns;
	double sigma;       /* of the logarithm */
	double stall_share; /* of requests that stall */
	double stall_ns;    /* how long, in the mean */
	double state;
};

/* Seeds it and takes it out of its beginning: the first value is as any other. */
static inline void simulation_begin(struct simulation *simulation, uint64_t seed)
{
	np_rng_seed(&simulation->rng, seed);
	simulation->state = np_rng_normal(&simulation->rng);
}

static inline uint64_t simulation_next(struct simulation *simulation)
{
	double phi = simulation->phi;
	double ns = simulation->median_ns * exp(simulation->sigma * simulation->state);

	simulation->state =
		phi * simulation->state + sqrt(1 - phi * phi) * np_rng_normal(&simulation->rng);
	if (simulation->stall_share > 0 && np_rng_unit(&simulation->rng) < simulation->stall_share)
		ns += simulation->stall_ns * np_rng_exponential(&simulation->rng);
	return (uint64_t)ns;
}

#endif
