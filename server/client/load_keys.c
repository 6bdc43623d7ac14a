/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Zipf's law by rejection-inversion: W. Hoermann, G. Derflinger, "Rejection-inversion to generate
 * variates from monotone discrete distributions", ACM TOMACS 6 (1996) 169-184. With h(x) = x^-theta
 * and H its integral from 1, a point is drawn evenly below the curve by inverting H, and rounded; it
 * is taken if it also lies below the bar of the integer that it was rounded to. More than 9 of 10
 * are, and most without calculating the bar.
 */
#include "load_keys.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define THETA_MAX 10.0

enum { QUOTE_SIZE = 80 };

/* expm1(x) / x and log1p(x) / x, which are 1 at 0: so theta = 1 is no special case. */
static double expm1_ratio(double x)
{
	return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2;
}

static double log1p_ratio(double x)
{
	return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2;
}

static double weight(double theta, double x)
{
	return exp(-theta * log(x));
}

/* (x^(1 - theta) - 1) / (1 - theta), log(x) at theta = 1 */
static double integral(double theta, double x)
{
	return log(x) * expm1_ratio((1 - theta) * log(x));
}

static double integral_inverse(double theta, double y)
{
	double t = (1 - theta) * y;

	/* Rounding may take it just beyond where the inverse has an end. */
	return exp(y * log1p_ratio(t < -1 ? -1 : t));
}

static uint32_t draw_zipf(const struct nl_load_keys *keys, struct np_rng *rng)
{
	double width = keys->integral_first - keys->integral_last;

	for (;;) {
		double y = keys->integral_last + np_rng_unit(rng) * width;
		double x = integral_inverse(keys->theta, y);
		double nearest = fmin(fmax(floor(x + 0.5), 1), keys->keys);

		if (nearest - x <= keys->squeeze ||
		    y >= integral(keys->theta, nearest + 0.5) - weight(keys->theta, nearest))
			return (uint32_t)nearest - 1;
	}
}

static uint32_t draw_hot(const struct nl_load_keys *keys, struct np_rng *rng)
{
	bool is_hot = np_rng_unit(rng) < keys->hot_share;

	if (is_hot || keys->hot_keys == keys->keys)
		return (uint32_t)np_rng_below(rng, keys->hot_keys);
	return keys->hot_keys + (uint32_t)np_rng_below(rng, keys->keys - keys->hot_keys);
}

uint32_t nl_load_keys_draw(const struct nl_load_keys *keys, struct np_rng *rng)
{
	switch (keys->kind) {
	case NL_KEYS_ZIPF:
		return draw_zipf(keys, rng);
	case NL_KEYS_HOT:
		return draw_hot(keys, rng);
	default:
		return (uint32_t)np_rng_below(rng, keys->keys);
	}
}

void nl_load_keys_prepare(struct nl_load_keys *keys, uint32_t count)
{
	double theta = keys->theta;
	double hot = floor(keys->hot_fraction * count + 0.5);

	keys->keys = count;
	keys->hot_keys = (uint32_t)fmin(fmax(hot, 1), count);
	keys->integral_first = integral(theta, 1.5) - 1;
	keys->integral_last = integral(theta, count + 0.5);
	keys->squeeze = 2 - integral_inverse(theta, integral(theta, 2.5) - weight(theta, 2));
}

/* A number in 0 (not itself) .. most that ends in @end; *text moves behind it. */
static bool take_number(const char **text, char end, double most, double *ret)
{
	const char *rest = *text + strspn(*text, ".0123456789");
	char *parsed;
	double value = strtod(*text, &parsed);

	if (parsed != rest || *rest != end || !(value > 0 && value <= most))
		return false;
	*ret = value;
	*text = rest + (end != '\0');
	return true;
}

int nl_load_keys_parse(const char *option, const char *text, struct nl_load_keys *ret,
                       struct np_error *err)
{
	struct nl_load_keys keys = { .kind = NL_KEYS_UNIFORM };
	char quoted[QUOTE_SIZE];
	const char *rest = strchr(text, ':');
	bool is_good;

	rest = rest ? rest + 1 : "";
	if (strncmp(text, "zipf:", 5) == 0) {
		keys.kind = NL_KEYS_ZIPF;
		is_good = take_number(&rest, '\0', THETA_MAX, &keys.theta);
	} else if (strncmp(text, "hot:", 4) == 0) {
		keys.kind = NL_KEYS_HOT;
		is_good = take_number(&rest, ':', 1, &keys.hot_fraction) &&
		          take_number(&rest, '\0', 1, &keys.hot_share);
	} else {
		is_good = strcmp(text, "uniform") == 0;
	}
	if (!is_good)
		return np_error_set(
			err, EINVAL,
			"%s: '%s' is none of uniform, zipf:THETA (up to 10) and "
			"hot:FRACTION:SHARE (each up to 1), like zipf:0.99 or hot:0.1:0.9",
			option, np_error_quote(text, quoted, sizeof(quoted)));
	*ret = keys;
	return 0;
}
