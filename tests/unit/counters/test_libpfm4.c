/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables against libpfm4, which has encodings of its own: what both know must be equal, and
 * what libpfm4 could know but is not asked for must be excused here.
 */
#include "../check.h"

#include <ctype.h>
#include <dlfcn.h>
#include <numacount/tables.h>
#include <perfmon/pfmlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Bits 16, 17, 20 and 22 of a core's code: user, kernel, interrupt, enable; not the event's. */
#define CORE_ENABLE_BITS 0x530000ULL

struct pfm {
	void *handle;
	pfm_err_t (*initialize)(void);
	pfm_err_t (*encode)(const char *event, int privileges, pfm_os_t os, void *arg);
	pfm_err_t (*get_pmu_info)(pfm_pmu_t pmu, pfm_pmu_info_t *ret);
	const char *(*strerror)(int code);
};

struct fixture {
	struct pfm pfm;
	struct nc_tables *tables;
};

static int open_all(void **state)
{
	static struct fixture fixture;
	struct pfm *pfm = &fixture.pfm;
	struct np_error err = { 0 };

	/* Read once, when it starts: every PMU may be asked for, whatever runs here. */
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	pfm->handle = dlopen("libpfm.so.4", RTLD_NOW);
	if (!pfm->handle) {
		printf("skipped: %s\n", dlerror());
		exit(77);
	}
	*(void **)&pfm->initialize = dlsym(pfm->handle, "pfm_initialize");
	*(void **)&pfm->encode = dlsym(pfm->handle, "pfm_get_os_event_encoding");
	*(void **)&pfm->get_pmu_info = dlsym(pfm->handle, "pfm_get_pmu_info");
	*(void **)&pfm->strerror = dlsym(pfm->handle, "pfm_strerror");
	assert_number(pfm->initialize(), PFM_SUCCESS);
	assert_np_ok(nc_tables_load(NULL, &fixture.tables, &err), &err);
	*state = &fixture;
	return 0;
}

static int close_all(void **state)
{
	struct fixture *fixture = *state;

	nc_tables_free(fixture->tables);
	return 0;
}

static bool is_x86(const struct nc_family *family)
{
	return family->rules[0].vendor == NC_VENDOR_INTEL ||
	       family->rules[0].vendor == NC_VENDOR_AMD;
}

/* Is there a PMU whose name begins so? A number must stand behind it, or nothing. */
static bool knows_pmu(const struct pfm *pfm, const char *name)
{
	size_t length = strlen(name);

	for (int i = 0; i < PFM_PMU_MAX; i++) {
		pfm_pmu_info_t info = { .size = sizeof(info) };

		if (pfm->get_pmu_info((pfm_pmu_t)i, &info) != PFM_SUCCESS ||
		    strncmp(info.name, name, length) != 0)
			continue;
		if (!info.name[length] || isdigit((unsigned char)info.name[length]))
			return true;
	}
	return false;
}

/* ---- our encoding, by layouts that the kernel's drivers have had since each model came ---- */

struct field {
	const char *name;
	unsigned char first, last; /* bits of config; low bits of the value first */
	unsigned char high;        /* where the value goes on, beyond @last; 0 = nowhere */
};

static const struct field qpi_fields[] = { { "event", 0, 7, 21 }, { "umask", 8, 15, 0 }, { 0 } };
static const struct field upi_fields[] = { { "event", 0, 7, 0 }, { "umask", 8, 15, 32 }, { 0 } };
static const struct field box_fields[] = { { "event", 0, 7, 0 }, { "umask", 8, 15, 0 }, { 0 } };
static const struct field amd_core_fields[] = { { "event", 0, 7, 32 },
	                                        { "umask", 8, 15, 0 },
	                                        { 0 } };

static const struct field *fields_of(const struct nc_family *family, const struct nc_event *event)
{
	if (family->rules[0].vendor == NC_VENDOR_AMD)
		return amd_core_fields;
	if (strstr(event->pmu, "qpi"))
		return qpi_fields;
	return strstr(event->pmu, "upi") ? upi_fields : box_fields;
}

static uint64_t spread(const struct field *field, uint64_t value)
{
	unsigned width = field->last - field->first + 1u;
	uint64_t low = value & ((1ULL << width) - 1);
	uint64_t high = value >> width;

	if (high && !field->high)
		fail_msg("%s=0x%llx does not fit", field->name, (unsigned long long)value);
	return low << field->first | (high ? high << field->high : 0);
}

static uint64_t encode(const struct nc_family *family, const struct nc_event *event)
{
	const struct field *fields = fields_of(family, event);
	uint64_t config = 0;
	char terms[256];
	char *rest = terms;

	snprintf(terms, sizeof(terms), "%s", event->terms);
	for (char *term; (term = strsep(&rest, ",")) != NULL;) {
		char *value = strchr(term, '=');
		const struct field *field = fields;

		assert_non_null(value);
		*value++ = '\0';
		while (field->name && strcmp(field->name, term) != 0)
			field++;
		if (!field->name)
			fail_msg("%s: no field '%s'", event->name, term);
		config |= spread(field, strtoull(value, NULL, 0));
	}
	return config;
}

/* ---- the comparisons ---- */

/* The code that libpfm4 gives for an event of ours; the number of its codes is 1. */
static uint64_t ask(const struct pfm *pfm, const struct nc_event *event)
{
	pfm_pmu_encode_arg_t arg = { .size = sizeof(arg) };
	pfm_err_t rc = pfm->encode(event->pfm, PFM_PLM0 | PFM_PLM3, PFM_OS_NONE, &arg);
	uint64_t code;

	if (rc != PFM_SUCCESS)
		fail_msg("%s: %s", event->pfm, pfm->strerror(rc));
	assert_number(arg.count, 1);
	code = arg.codes[0];
	free(arg.codes);
	return strcmp(event->pmu, "cpu") == 0 ? code & ~CORE_ENABLE_BITS : code;
}

static void what_libpfm4_knows_is_encoded_alike(void **state)
{
	struct fixture *fixture = *state;
	unsigned compared = 0;

	for (size_t i = 0; i < nc_tables_count(fixture->tables); i++) {
		const struct nc_family *family = nc_tables_family(fixture->tables, i);

		for (size_t k = 0; k < family->event_count; k++) {
			const struct nc_event *event = &family->events[k];

			if (!event->pfm)
				continue;
			check_case("%s: %s: %s", family->name, event->name, event->pfm);
			assert_true(is_x86(family));
			assert_number(encode(family, event), ask(&fixture->pfm, event));
			compared++;
		}
	}
	printf("%u events compared with libpfm4\n", compared);
	assert_true(compared >= 60);
}

/* libpfm4's name for the PMUs of a family, to which "qpi" and the like is added; core's alone. */
static const struct {
	const char *family;
	const char *uncore;
	const char *core;
} names[] = {
	{ "snbep", "snbep_unc_", "snb_ep" },
	{ "ivbep", "ivbep_unc_", "ivb_ep" },
	{ "hswep", "hswep_unc_", "hsw_ep" },
	{ "bdx", "bdx_unc_", "bdw_ep" },
	{ "skx", "skx_unc_", "skx" },
	{ "icx", "icx_unc_", "icx" },
	{ "spr", "spr_unc_", "spr" },
	{ "gnr", "gnr_unc_", "gnr" },
	{ "srf", "srf_unc_", "srf" },
	{ "zen1", "amd64_fam17h_zen1_", "amd64_fam17h_zen1" },
	{ "zen2", "amd64_fam17h_zen2_", "amd64_fam17h_zen2" },
	{ "zen3", "amd64_fam19h_zen3_", "amd64_fam19h_zen3" },
	{ "zen4", "amd64_fam19h_zen4_", "amd64_fam19h_zen4" },
	{ "zen5", "amd64_fam1ah_zen5_", "amd64_fam1ah_zen5" },
};

/* "uncore_qpi_#" of ivbep is "ivbep_unc_qpi", "amd_df" of zen3 "amd64_fam19h_zen3_df". */
static void name_pmu(const struct nc_family *family, const struct nc_event *event, char *buf,
                     size_t size)
{
	const char *box = strchr(event->pmu, '_');
	size_t i = 0;

	while (i < COUNT(names) && strcmp(names[i].family, family->name) != 0)
		i++;
	assert_true(i < COUNT(names));
	if (box)
		snprintf(buf, size, "%s%.*s", names[i].uncore, (int)strcspn(box + 1, "_,#"),
		         box + 1);
	else
		snprintf(buf, size, "%s", names[i].core);
}

/*
 * Events of PMUs that libpfm4 (4.13 or later) knows, and which it is not asked for; an empty event
 * stands for all events of that PMU.
 */
static const struct {
	const char *family;
	const char *event;
	const char *pmu; /* libpfm4's */
	const char *reason;
} excused[] = {
	{ "snbep", "txl_flits_active", "snbep_unc_qpi", "refuses DATA and NON_DATA together" },
	{ "ivbep", "txl_flits_active", "ivbep_unc_qpi", "refuses DATA and NON_DATA together" },
	{ "hswep", "txl_flits_active", "hswep_unc_qpi", "refuses DATA and NON_DATA together" },
	{ "bdx", "txl_flits_active", "bdx_unc_qpi", "refuses DATA and NON_DATA together" },
	{ "zen1", "fills_local_dram", "amd64_fam17h_zen1", "has no event 0x43" },
	{ "zen1", "fills_remote_dram", "amd64_fam17h_zen1", "has no event 0x43" },
	{ "icx", "", "icx_unc_upi", "only in versions after 4.13" },
	{ "icx", "", "icx_unc_imc", "only in versions after 4.13" },
	{ "icx", "", "icx_unc_cha", "only in versions after 4.13" },
	{ "spr", "", "spr_unc_upi", "only in versions after 4.13" },
	{ "spr", "", "spr_unc_imc", "only in versions after 4.13" },
	{ "spr", "", "spr_unc_cha", "only in versions after 4.13" },
	{ "gnr", "", "gnr", "only in versions after 4.13" },
	{ "zen5", "", "amd64_fam1ah_zen5", "only in versions after 4.13" },
};

static const char *excuse(const struct nc_family *family, const struct nc_event *event,
                          const char *pmu)
{
	for (size_t i = 0; i < COUNT(excused); i++)
		if (strcmp(excused[i].family, family->name) == 0 &&
		    (!*excused[i].event || strcmp(excused[i].event, event->name) == 0) &&
		    strcmp(excused[i].pmu, pmu) == 0)
			return excused[i].reason;
	return NULL;
}

static void what_libpfm4_is_not_asked_for_has_a_reason(void **state)
{
	struct fixture *fixture = *state;
	unsigned excuses = 0;
	unsigned beyond = 0;

	for (size_t i = 0; i < nc_tables_count(fixture->tables); i++) {
		const struct nc_family *family = nc_tables_family(fixture->tables, i);

		for (size_t k = 0; k < family->event_count && is_x86(family); k++) {
			const struct nc_event *event = &family->events[k];
			const char *reason;
			char pmu[128];

			if (event->pfm)
				continue;
			name_pmu(family, event, pmu, sizeof(pmu));
			check_case("%s: %s, of libpfm4's %s", family->name, event->name, pmu);
			if (!knows_pmu(&fixture->pfm, pmu)) {
				beyond++;
				continue;
			}
			reason = excuse(family, event, pmu);
			assert_non_null(reason);
			printf("%s: %s: libpfm4 %s\n", family->name, event->name, reason);
			excuses++;
		}
	}
	printf("%u events excused, %u of PMUs that libpfm4 does not have\n", excuses, beyond);
}

/* Why data in is two events on Haswell, and is so on Broadwell by choice. */
static void the_gaps_that_the_tables_go_around_are_there(void **state)
{
	static const struct {
		const char *event;
		bool is_known;
	} cases[] = {
		{ "ivbep_unc_qpi0::UNC_Q_RXL_FLITS_G0:DATA", true },
		{ "hswep_unc_qpi0::UNC_Q_RXL_FLITS_G0:DATA", false },
		{ "bdx_unc_qpi0::UNC_Q_RXL_FLITS_G0:DATA", true },
		{ "ivbep_unc_qpi0::UNC_Q_TXL_FLITS_G0:DATA:NON_DATA", false },
		{ "hswep_unc_qpi2::UNC_Q_TXL_FLITS_G0:DATA", false }, /* the third link */
	};
	const struct pfm *pfm = &((struct fixture *)*state)->pfm;

	for (size_t i = 0; i < COUNT(cases); i++) {
		pfm_pmu_encode_arg_t arg = { .size = sizeof(arg) };
		pfm_err_t rc = pfm->encode(cases[i].event, PFM_PLM3, PFM_OS_NONE, &arg);

		check_case("%s", cases[i].event);
		assert_number(rc == PFM_SUCCESS, cases[i].is_known);
		free(arg.codes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_libpfm4_knows_is_encoded_alike),
		cmocka_unit_test(what_libpfm4_is_not_asked_for_has_a_reason),
		cmocka_unit_test(the_gaps_that_the_tables_go_around_are_there),
	};

	return cmocka_run_group_tests_name("libpfm4", tests, open_all, close_all);
}
