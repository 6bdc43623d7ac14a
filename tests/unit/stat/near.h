/* SPDX-License-Identifier: BSD-3-Clause */
/* Doubles that are the same but for rounding; the message shows both. */
#ifndef NEAR_H
#define NEAR_H

#include "check.h"

#include <math.h>

/* To @relative of @wanted, or of 1e-12 where that is 0. */
#define assert_near(found, wanted, relative)                                                       \
	near_check((found), (wanted), (relative), #found, __FILE__, __LINE__)

static inline void near_check(double found, double wanted, double relative, const char *what,
                              const char *file, int line)
{
	double allowed = relative * fmax(fabs(wanted), 1e-12);

	if (found == wanted || fabs(found - wanted) <= allowed)
		return;
	print_error("%s is %.17g, wanted %.17g\n", what, found, wanted);
	_fail(file, line);
}

#endif
