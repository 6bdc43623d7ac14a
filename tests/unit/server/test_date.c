/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <worker/date.h>

static const struct {
	int64_t since_1970_s;
	const char *text;
} dates[] = {
	{ 784111777, "Sun, 06 Nov 1994 08:49:37 GMT" }, /* RFC 9110's own */
	{ 0, "Thu, 01 Jan 1970 00:00:00 GMT" },
	{ 951782400, "Tue, 29 Feb 2000 00:00:00 GMT" },
	{ 1709251199, "Thu, 29 Feb 2024 23:59:59 GMT" },
	{ 4102444800, "Fri, 01 Jan 2100 00:00:00 GMT" },
	{ -1, "Wed, 31 Dec 1969 23:59:59 GMT" },
};

static void dates_are_http_s_in_any_time_zone(void **state)
{
	static const char *const zones[] = { "UTC", "America/New_York", "Asia/Kolkata" };

	(void)state;
	for (size_t zone = 0; zone < sizeof(zones) / sizeof(zones[0]); zone++) {
		setenv("TZ", zones[zone], 1);
		tzset();
		for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
			char text[32];

			check_case("%s in %s", dates[i].text, zones[zone]);
			ns_date_write(dates[i].since_1970_s, text);
			assert_text(text, dates[i].text);
		}
	}
}

static void the_end_of_time_is_no_overrun(void **state)
{
	char text[32 + 8];

	(void)state;
	memset(text, '#', sizeof(text));
	ns_date_write(INT64_MAX, text);
	assert_non_null(memchr(text, '\0', 32));
	assert_memory_equal(text + 32, "########", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_are_http_s_in_any_time_zone),
		cmocka_unit_test(the_end_of_time_is_no_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
