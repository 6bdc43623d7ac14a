/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../counters/lib/format.h"

#include <errno.h>
#include <string.h>

static void a_format_names_field_and_bits(void **state)
{
	static const struct {
		const char *text;
		unsigned field, count, first, last;
	} cases[] = {
		{ "config:0-7", 0, 8, 0, 7 },
		{ "config:0-7,21", 0, 9, 0, 21 },
		{ "config:8-15,32-43,45-55", 0, 31, 8, 55 },
		{ "config:0-7,32-35,59-60", 0, 14, 0, 60 },
		{ "config1:0-63", 1, 64, 0, 63 },
		{ "config2:9", 2, 1, 9, 9 },
		{ "config3:63", 3, 1, 63, 63 },
		/* The least significant bit may stand high. */
		{ "config:35,0-7", 0, 9, 35, 7 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nc_format format = { .name = "x" };
		struct np_error err = { 0 };

		check_case("%s", cases[i].text);
		assert_np_ok(nc_format_parse(cases[i].text, &format, &err), &err);
		assert_text(format.name, "x");
		assert_number(format.field, cases[i].field);
		assert_number(format.bit_count, cases[i].count);
		assert_number(format.bits[0], cases[i].first);
		assert_number(format.bits[format.bit_count - 1], cases[i].last);
	}
}

static void a_damaged_format_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *part;
	} cases[] = {
		{ "", EINVAL, "does not begin with config:" },
		{ "config", EINVAL, "does not begin with config:" },
		{ "config:", EINVAL, "no bit where one must be" },
		{ "configuration:0-7", EINVAL, "does not begin with config:" },
		{ "config:0-", EINVAL, "no bit where one must be" },
		{ "config:0-7,", EINVAL, "behind the bits" },
		{ "config:,0", EINVAL, "no bit where one must be" },
		{ "config:0-7,45-x", EINVAL, "no bit where one must be" },
		{ "config:0-7 8", EINVAL, "behind the bits" },
		{ "config:-1", EINVAL, "no bit where one must be" },
		{ "config:64", EINVAL, "a bit beyond 63" },
		{ "config:0-64", EINVAL, "a bit beyond 63" },
		{ "config:100", EINVAL, "no bit where one must be" },
		{ "config:7-0", EINVAL, "ends before it begins" },
		{ "config:0-7,7", EINVAL, "named twice" },
		{ "config:0\n", EINVAL, "behind the bits" },
		{ "config4:0-7", ENOTSUP, "config4 is not known" },
		{ "config99:0-7", ENOTSUP, "config99 is not known" },
		{ "config999:0-7", EINVAL, "does not begin with config:" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nc_format format = { .name = "x", .bit_count = 5 };
		struct np_error err = { 0 };

		check_case("%s", cases[i].text);
		assert_fails(nc_format_parse(cases[i].text, &format, &err), -cases[i].code, &err,
		             cases[i].part);
		assert_number(format.bit_count, 5);
	}
}

/* Codes worked out from kernel's format files and makers' documents. */
static void a_value_is_spread_over_the_bits(void **state)
{
	static const struct {
		const char *event_bits, *umask_bits;
		uint64_t event, umask, config;
	} cases[] = {
		/* Sandy Bridge-EP's QPI: the ninth bit of the event is bit 21. */
		{ "config:0-7,21", "config:8-15", 0x102, 0x08, 0x200802 },
		/* Zen 3's and Zen 4's data fabric. */
		{ "config:0-7,32-35,59-60", "config:8-15", 0x7c7, 0x02, 0x7000002c7 },
		{ "config:0-7,32-37", "config:8-15,24-27", 0xb5f, 0xf3e, 0xb0f003e5f },
		{ "config:0-7", "config:8-15,32-43,45-55", 0x02, 0x0f, 0xf02 },
		{ "config:0-7", "config:8-15,32-43,45-55", 0x02, 0x7fffffff, 0xffefff0000ff02 },
		{ "config:0-63", "config1:0-63", UINT64_MAX, 0, UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nc_format event = { .name = "event" };
		struct nc_format umask = { .name = "umask" };
		uint64_t config[4] = { 0 };
		struct np_error err = { 0 };

		check_case("0x%llx", (unsigned long long)cases[i].config);
		assert_np_ok(nc_format_parse(cases[i].event_bits, &event, &err), &err);
		assert_np_ok(nc_format_parse(cases[i].umask_bits, &umask, &err), &err);
		assert_np_ok(nc_format_spread(&event, cases[i].event, config, &err), &err);
		assert_np_ok(nc_format_spread(&umask, cases[i].umask, config, &err), &err);
		assert_true(config[0] == cases[i].config);
	}
}

static void a_value_that_does_not_fit_is_refused(void **state)
{
	struct nc_format format = { .name = "umask" };
	uint64_t config[4] = { 0 };
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nc_format_parse("config:8-15", &format, &err), &err);

	assert_fails(nc_format_spread(&format, 0x100, config, &err), -ERANGE, &err,
	             "umask=0x100: the PMU has 8 bits for it");
	assert_number(config[0], 0);
}

/* What is spread can be gathered again, whatever the bits. */
static void spreading_loses_no_bit(void **state)
{
	struct nc_format format = { .name = "x" };
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nc_format_parse("config:40-47,3,0-2,63", &format, &err), &err);
	for (uint64_t value = 0; value < 1u << format.bit_count; value += 7) {
		uint64_t config[4] = { 0 };
		uint64_t gathered = 0;

		assert_np_ok(nc_format_spread(&format, value, config, &err), &err);
		for (unsigned i = 0; i < format.bit_count; i++)
			gathered |= (config[0] >> format.bits[i] & 1) << i;
		assert_number(gathered, value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_format_names_field_and_bits),
		cmocka_unit_test(a_damaged_format_is_refused_with_the_reason),
		cmocka_unit_test(a_value_is_spread_over_the_bits),
		cmocka_unit_test(a_value_that_does_not_fit_is_refused),
		cmocka_unit_test(spreading_loses_no_bit),
	};

	return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
