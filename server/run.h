/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NS_RUN_H
#define NS_RUN_H

#include "options.h"

/* Does what the options say, to its end: 0, or -errno with the reason. Prints what users are to see. */
int ns_run(const struct ns_options *options, struct np_error *err);

#endif
