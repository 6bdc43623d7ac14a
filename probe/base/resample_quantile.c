/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantiles of the normal distribution and of Student's. */
#include "resample.h"

#include <float.h>
#include <math.h>

enum { FRACTION_STEPS_MAX = 100000, BISECTIONS_MAX = 2000 };

/* From here on, the normal distribution and two terms of correction are as exact as doubles. */
#define DEGREES_MANY 1e6

/* ln(Gamma(a + 1/2) / Gamma(a)), without the difference of two large logarithms. */
static double log_gamma_step(double a)
{
	double below = 0;

	/* Gamma(a + 3/2) / Gamma(a + 1) = Gamma(a + 1/2) / Gamma(a) * (a + 1/2) / a */
	while (a < 20) {
		below += log1p(0.5 / a);
		a += 1;
	}
	return 0.5 * log(a) - 1 / (8 * a) + 1 / (192 * a * a * a) - 1 / (640 * a * a * a * a * a) +
	       17 / (14336 * a * a * a * a * a * a * a) - below;
}

/*
 * The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method; quick for
 * x < (a + 1) / (a + b + 2).
 */
static double beta_fraction(double x, double a, double b)
{
	double c = 1;
	double d = 1 / (1 - (a + b) / (a + 1) * x);
	double result = d;

	for (unsigned step = 1; step < FRACTION_STEPS_MAX; step++) {
		double m = step;
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double change;

		d = 1 / (1 + even * d);
		c = 1 + even / c;
		result *= c * d;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		change = c * d;
		result *= change;
		if (fabs(change - 1) < DBL_EPSILON)
			break;
	}
	return result;
}

/* P(|T| <= t) and P(|T| > t); the lesser of the two is exact to its own size. */
struct two_sided {
	double inside;
	double outside;
};

static struct two_sided student_two_sided(double t, double degrees)
{
	double ratio = t / sqrt(degrees);
	double a = degrees / 2;
	double x = 1 / (1 + ratio * ratio); /* degrees / (degrees + t^2) */
	double y = ratio * ratio * x;
	/* x^a y^(1/2) / Beta(a, 1/2); log1p, as x is close to 1 */
	double factor = exp(-a * log1p(ratio * ratio) + log_gamma_step(a)) * ratio * sqrt(x / M_PI);
	struct two_sided p;

	if (x < (a + 1) / (a + 2.5)) {
		p.outside = factor * beta_fraction(x, a, 0.5) / a;
		p.inside = 1 - p.outside;
	} else {
		p.inside = factor * beta_fraction(y, 0.5, a) / 0.5;
		p.outside = 1 - p.inside;
	}
	return p;
}

static struct two_sided normal_two_sided(double z)
{
	return (struct two_sided){ .inside = erf(z * M_SQRT1_2), .outside = erfc(z * M_SQRT1_2) };
}

static struct two_sided two_sided_of(double t, double degrees)
{
	return isinf(degrees) ? normal_two_sided(t) : student_two_sided(t, degrees);
}

/* Is |T| <= t more probable than @wanted tells? Whichever side is the lesser one decides. */
static bool is_beyond(double t, double degrees, struct two_sided wanted)
{
	struct two_sided p = two_sided_of(t, degrees);

	return wanted.inside < wanted.outside ? p.inside >= wanted.inside
	                                      : p.outside <= wanted.outside;
}

/* @degrees is INFINITY for the normal distribution. */
static double quantile(double probability, double degrees)
{
	double tail = probability < 0.5 ? probability : 1 - probability;
	struct two_sided wanted = { .inside = 2 * fabs(probability - 0.5), .outside = 2 * tail };
	double low = 0;
	double high = 1;

	if (probability == 0.5)
		return 0;
	if (tail <= 0)
		return probability < 0.5 ? -INFINITY : INFINITY;

	while (!is_beyond(high, degrees, wanted)) {
		low = high;
		high *= 2;
	}
	for (unsigned i = 0; i < BISECTIONS_MAX && high - low > DBL_EPSILON * high; i++) {
		double middle = low + (high - low) / 2;

		if (is_beyond(middle, degrees, wanted))
			high = middle;
		else
			low = middle;
	}
	return probability < 0.5 ? -high : high;
}

double np_normal_quantile(double probability)
{
	return quantile(probability, INFINITY);
}

double np_student_quantile(double probability, double degrees)
{
	double z;

	if (!(degrees > 0))
		return NAN;
	if (degrees < DEGREES_MANY)
		return quantile(probability, degrees);
	/* Abramowitz and Stegun, 26.7.5. */
	z = np_normal_quantile(probability);
	if (isinf(z))
		return z;
	return z + (z * z * z + z) / (4 * degrees) +
	       (5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * degrees * degrees);
}
