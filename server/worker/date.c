/* SPDX-License-Identifier: BSD-3-Clause */
#include "date.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void ns_date_write(int64_t since_1970_s, char buf[32])
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
		                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	time_t seconds = (time_t)since_1970_s;
	struct tm at;
	char text[160]; /* as long as the compiler can imagine it */

	if (!gmtime_r(&seconds, &at))
		memset(&at, 0, sizeof(at));
	snprintf(text, sizeof(text), "%s, %02d %s %04d %02d:%02d:%02d GMT", days[at.tm_wday],
	         at.tm_mday, months[at.tm_mon], at.tm_year + 1900, at.tm_hour, at.tm_min,
	         at.tm_sec);
	text[31] = '\0';
	memcpy(buf, text, 32);
}
