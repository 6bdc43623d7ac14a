/* SPDX-License-Identifier: BSD-3-Clause */
/* A noise floor in words. */
#ifndef NL_NOISE_TEXT_H
#define NL_NOISE_TEXT_H

#include "noise.h"
#include <stddef.h>
#include <stdio.h>

/* "85 ns", "12.3 us", "4.56 ms". Returns @buf. */
const char *nl_ns_text(uint64_t ns, char *buf, size_t size);

/*
 * One line without its end: "taken away 12 times a second, for up to 85.1 us; wakes up to 60.2 us
 * late". Returns @buf.
 */
const char *nl_noise_brief(const struct nl_noise *noise, char *buf, size_t size);

/* Some lines, the last of which says what it means. */
void nl_noise_print(const struct nl_noise *noise, FILE *out);

#endif
