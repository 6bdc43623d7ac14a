/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NS_DATE_H
#define NS_DATE_H

#include <stdint.h>

/* HTTP's form, in English whatever the locale: "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7). */
void ns_date_write(int64_t since_1970_s, char buf[32]);

#endif
