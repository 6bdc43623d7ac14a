/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include "../../../counters/lib/encode.h"
#include "../../../counters/lib/format.h"
#include "../../../counters/lib/libpfm4.h"
#include "../../../counters/lib/pmu.h"

#include <errno.h>

#define PMU NC_PMU_DIR "/uncore_qpi_0"

static struct nc_format formats[] = { { .name = "event" },
	                              { .name = "umask" },
	                              { .name = "match" } };
static const struct nc_pmu pmu = {
	.name = "uncore_qpi_0",
	.type = 23,
	.formats = formats,
	.format_count = 3,
};

static int parse_formats(void **state)
{
	static const char *const texts[] = { "config:0-7,21", "config:8-15", "config1:0-31" };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		if (nc_format_parse(texts[i], &formats[i], NULL) < 0)
			return -1;
	return 0;
}

static void terms_go_to_the_bits_of_the_format_files(void **state)
{
	static const struct {
		const char *terms;
		uint64_t config, config1, config3;
	} cases[] = {
		{ "event=0x102,umask=8", 0x200802, 0, 0 },
		{ "umask=0x3,event=4", 0x304, 0, 0 },
		{ "event=010", 10, 0, 0 }, /* decimal, as perf reads it */
		{ "event=0xAB", 0xab, 0, 0 },
		{ "umask", 0x100, 0, 0 }, /* no number is 1 */
		{ " event=0x1 , umask=0x2 ", 0x201, 0, 0 },
		{ "event=1,match=0xffffffff", 1, 0xffffffff, 0 },
		{ "config=0x600", 0x600, 0, 0 },
		{ "config=0x600,config3=7", 0x600, 0, 7 },
		{ "event=2,config=0xff00", 0xff02, 0, 0 },
		{ "config1=18446744073709551615", 0, UINT64_MAX, 0 },
	};
	const struct host *host = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nc_code code = { 0 };
		struct np_error err = { 0 };

		check_case("%s", cases[i].terms);
		assert_np_ok(nc_encode(&host->root, &pmu, cases[i].terms, &code, &err), &err);
		assert_number(code.type, 23);
		assert_true(code.config[0] == cases[i].config);
		assert_true(code.config[1] == cases[i].config1);
		assert_true(code.config[2] == 0);
		assert_true(code.config[3] == cases[i].config3);
	}
}

static void wrong_terms_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *terms;
		int code;
		const char *part;
	} cases[] = {
		{ "", EINVAL, "'': no term's name" },
		{ "event=1,", EINVAL, "'': no term's name" },
		{ "=1", EINVAL, "no term's name" },
		{ "event=", EINVAL, "'': no number" },
		{ "event=0x", EINVAL, "no number" },
		{ "event=1x", EINVAL, "'1x': no number" },
		{ "event=-1", EINVAL, "no number" },
		{ "event=0x10000000000000000", EINVAL, "no number" },
		{ "event=?", EINVAL, "'event=?' wants a number" },
		{ "event=1,event=2", EINVAL, "'event': given twice" },
		{ "event=1,thresh=2", EINVAL, "it has no term 'thresh', but event, umask, match" },
		{ "event=0x200", ERANGE, "event=0x200: the PMU has 9 bits" },
		{ "e\nvent=1", EINVAL, "'e\\x0avent': no term's name" },
		{ "@missing", ENOENT, "uncore_qpi_0/events/missing" },
		{ "@../type", EINVAL, "no alias's name" },
		{ "@", EINVAL, "no alias's name" },
		{ "@.hidden", EINVAL, "no alias's name" },
		{ "@nested", EINVAL, "no term's name" },
		{ "@broken", EINVAL, "events/broken: 'x': no number" },
		{ "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,aa,bb,cc,dd,ee,ff,gg",
		  EINVAL, "more than 32 terms" },
	};
	const struct host *host = *state;

	host_write(host, PMU "/events/nested", "@other\n");
	host_write(host, PMU "/events/broken", "event=x\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nc_code code = { .type = 99 };
		struct np_error err = { 0 };

		check_case("%s", cases[i].terms);
		assert_fails(nc_encode(&host->root, &pmu, cases[i].terms, &code, &err),
		             -cases[i].code, &err, cases[i].part);
		assert_number(code.type, 99);
	}
}

static void an_alias_stands_for_its_terms(void **state)
{
	const struct host *host = *state;
	struct np_error err = { 0 };
	struct nc_code code;

	host_write(host, PMU "/events/drs_data", "event=0x102,umask=0x08\n");
	host_write(host, PMU "/events/by_chip", "event=0x3,umask=?\n");

	assert_np_ok(nc_encode(&host->root, &pmu, "@drs_data", &code, &err), &err);
	assert_number(code.config[0], 0x200802);
	assert_np_ok(nc_encode(&host->root, &pmu, "@drs_data,match=1", &code, &err), &err);
	assert_number(code.config[1], 1);
	assert_np_ok(nc_encode(&host->root, &pmu, "@by_chip,umask=0x5", &code, &err), &err);
	assert_number(code.config[0], 0x503);
	assert_fails(nc_encode(&host->root, &pmu, "@by_chip", &code, &err), -EINVAL, &err,
	             "'umask=?' wants a number behind the alias");
}

/* Power's hv_24x7 and others may have a term that is called so. */
static void a_term_of_the_pmu_goes_before_the_raw_field(void **state)
{
	const struct host *host = *state;
	struct nc_format own = { .name = "config1" };
	const struct nc_pmu other = { .name = "x", .formats = &own, .format_count = 1 };
	struct np_error err = { 0 };
	struct nc_code code;

	assert_np_ok(nc_format_parse("config:4-7", &own, &err), &err);

	assert_np_ok(nc_encode(&host->root, &other, "config1=0xf", &code, &err), &err);
	assert_number(code.config[0], 0xf0);
	assert_number(code.config[1], 0);
}

static void libpfm4_knows_its_own_events_and_no_others(void **state)
{
	uint64_t config[NC_LIBPFM4_CONFIGS] = { 77, 77, 77 };
	struct nc_libpfm4 pfm;

	(void)state;
	nc_libpfm4_open(&pfm);
	if (!pfm.handle) {
		print_message("skipped: libpfm.so.4 is not installed\n");
		skip();
	}
	assert_false(nc_libpfm4_encode(&pfm, "no_such_pmu::NOTHING", config));
	assert_false(nc_libpfm4_encode(&pfm, "", config));
	assert_number(config[0], 77);
	assert_true(nc_libpfm4_encode(&pfm, "perf::PERF_COUNT_SW_PAGE_FAULTS", config));
	assert_number(config[0], 2);
	assert_number(config[1], 0);
	nc_libpfm4_close(&pfm);
	nc_libpfm4_close(&pfm);
	assert_false(nc_libpfm4_encode(&pfm, "perf::PERF_COUNT_SW_PAGE_FAULTS", config));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(terms_go_to_the_bits_of_the_format_files),
		host_test(wrong_terms_are_refused_with_the_reason),
		host_test(an_alias_stands_for_its_terms),
		host_test(a_term_of_the_pmu_goes_before_the_raw_field),
		cmocka_unit_test(libpfm4_knows_its_own_events_and_no_others),
	};

	return cmocka_run_group_tests_name("encode", tests, parse_formats, NULL);
}
