/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory bandwidth by resctrl, over file systems made up: which counters there are, what they read,
 * and why there are none.
 */
#include "host.h"

enum { READINGS_MAX = 16 };
#include "../../../counters/lib/sources.h"
#include "file_backend.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RESCTRL "sys/fs/resctrl"

/* ---- a host with two sockets whose caches are numbered 0 and 8 ---- */

static void write_count(const struct host *host, const char *folder, const char *file,
                        const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), RESCTRL "/%s/%s", folder, file);
	host_write(host, path, text);
}

static void rewrite_count(const struct host *host, const char *folder, const char *file,
                          const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), RESCTRL "/%s/%s", folder, file);
	host_rewrite(host, path, text);
}

static void write_domain(const struct host *host, const char *folder, const char *total,
                         const char *local)
{
	write_count(host, folder, "llc_occupancy", "4096\n");
	write_count(host, folder, "mbm_total_bytes", total);
	write_count(host, folder, "mbm_local_bytes", local);
}

static void build(const struct host *host)
{
	host_build(host, &(struct host_shape){ .node_count = 2, .cores_per_node = 2 });
	for (unsigned cpu = 0; cpu < 4; cpu++)
		host_write_cpu(host, cpu, "cache/index3/id", cpu < 2 ? "0\n" : "8\n");
}

static void build_mounted(const struct host *host)
{
	build(host);
	host_write(host, RESCTRL "/info/last_cmd_status", "ok\n");
	host_mkdir(host, RESCTRL "/mon_groups");
	write_domain(host, "mon_data/mon_L3_00", "1000\n", "900\n");
	write_domain(host, "mon_data/mon_L3_08", "2000\n", "1500\n");
}

static void open_all(const struct host *host, struct opened *ret)
{
	open_files(host->dir, nc_resctrl_open, ret);
}

static const struct nc_reading *reading_of(const struct opened *opened, enum nc_class what,
                                           unsigned socket)
{
	const struct nc_reading *found = NULL;

	for (size_t i = 0; i < opened->counters.count; i++) {
		const struct nc_counter *counter = &opened->counters.items[i];

		if (counter->what != what || !counter->has_socket || counter->socket != socket)
			continue;
		if (found)
			fail_msg("two counters of %s on socket %u", nc_class_name(what), socket);
		found = &opened->readings[i];
	}
	if (!found)
		fail_msg("no counter of %s on socket %u", nc_class_name(what), socket);
	return found;
}

/* Reads, and expects these counts of a socket, all of them known. */
static void assert_counts(struct opened *opened, unsigned socket, long long total, long long local,
                          long long remote)
{
	static const enum nc_class classes[] = { NC_CLASS_CPU_MEMORY_TOTAL,
		                                 NC_CLASS_CPU_MEMORY_LOCAL,
		                                 NC_CLASS_CPU_MEMORY_REMOTE };
	const long long wanted[] = { total, local, remote };

	read_all(opened);
	for (size_t i = 0; i < 3; i++) {
		const struct nc_reading *reading = reading_of(opened, classes[i], socket);

		check_case("%s of socket %u", nc_class_name(classes[i]), socket);
		assert_number(reading->note, NC_NOTE_NONE);
		assert_number(reading->raw, wanted[i]);
	}
}

static void assert_notes(struct opened *opened, unsigned socket, enum nc_note total,
                         enum nc_note local, enum nc_note remote)
{
	read_all(opened);
	assert_number(reading_of(opened, NC_CLASS_CPU_MEMORY_TOTAL, socket)->note, total);
	assert_number(reading_of(opened, NC_CLASS_CPU_MEMORY_LOCAL, socket)->note, local);
	assert_number(reading_of(opened, NC_CLASS_CPU_MEMORY_REMOTE, socket)->note, remote);
}

/* ---- what is counted ---- */

static void a_cache_is_of_the_socket_whose_cpus_have_it(void **state)
{
	struct opened opened;

	build_mounted(*state);
	open_all(*state, &opened);

	assert_number(opened.counters.count, 6);
	assert_counts(&opened, 0, 1000, 900, 100);
	assert_counts(&opened, 1, 2000, 1500, 500);
	for (size_t i = 0; i < opened.counters.count; i++) {
		assert_number(opened.counters.items[i].units, 1);
		assert_number(opened.counters.items[i].per, 1);
		assert_non_null(opened.counters.items[i].name);
		assert_non_null(opened.counters.items[i].box);
	}
	close_all(&opened);
}

static void the_time_that_counts_is_that_since_opening(void **state)
{
	struct opened opened;
	uint64_t before;

	build_mounted(*state);
	open_all(*state, &opened);
	read_all(&opened);
	before = opened.readings[0].enabled_ns;

	read_all(&opened);

	assert_true(opened.readings[0].enabled_ns > before);
	assert_true(opened.readings[0].enabled_ns < 60000000000u);
	assert_number(opened.readings[0].running_ns, opened.readings[0].enabled_ns);
	close_all(&opened);
}

static void counts_are_read_anew_and_as_wide_as_64_bits(void **state)
{
	struct opened opened;

	build_mounted(*state);
	open_all(*state, &opened);
	rewrite_count(*state, "mon_data/mon_L3_00", "mbm_total_bytes", "9223372036854775807\n");
	rewrite_count(*state, "mon_data/mon_L3_00", "mbm_local_bytes", "9223372036854775000\n");

	assert_counts(&opened, 0, 9223372036854775807, 9223372036854775000, 807);
	close_all(&opened);
}

static void local_ahead_of_total_is_no_growth_and_is_made_up_for(void **state)
{
	struct opened opened;

	build_mounted(*state);
	open_all(*state, &opened);
	assert_counts(&opened, 0, 1000, 900, 100);

	rewrite_count(*state, "mon_data/mon_L3_00", "mbm_local_bytes", "1100\n");
	assert_counts(&opened, 0, 1000, 1100, 100);
	rewrite_count(*state, "mon_data/mon_L3_00", "mbm_total_bytes", "1190\n");
	assert_counts(&opened, 0, 1190, 1100, 100);
	rewrite_count(*state, "mon_data/mon_L3_00", "mbm_total_bytes", "1250\n");
	assert_counts(&opened, 0, 1250, 1100, 150);
	close_all(&opened);
}

static void a_count_that_falls_is_handed_on(void **state)
{
	struct opened opened;

	build_mounted(*state);
	open_all(*state, &opened);
	assert_counts(&opened, 0, 1000, 900, 100);

	rewrite_count(*state, "mon_data/mon_L3_00", "mbm_total_bytes", "30\n");
	rewrite_count(*state, "mon_data/mon_L3_00", "mbm_local_bytes", "20\n");

	assert_counts(&opened, 0, 30, 20, 10);
	close_all(&opened);
}

static void words_and_damage_are_no_count(void **state)
{
	static const char *const texts[] = {
		"Unavailable\n",
		"Unassigned\n",
		"Error\n",
		"",
		"\n",
		"-1\n",
		"12 34\n",
		"0x10\n",
		" 5\n",
		"18446744073709551616\n",
		"1234567890123456789012345678901234567890123456789012345678901234567890\n",
	};
	struct opened opened;

	build_mounted(*state);
	open_all(*state, &opened);
	assert_counts(&opened, 0, 1000, 900, 100);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		check_case("'%s'", texts[i]);
		rewrite_count(*state, "mon_data/mon_L3_00", "mbm_local_bytes", texts[i]);
		rewrite_count(*state, "mon_data/mon_L3_00", "mbm_total_bytes", "1500\n");

		assert_notes(&opened, 0, NC_NOTE_NONE, NC_NOTE_FAILED, NC_NOTE_FAILED);
		assert_number(reading_of(&opened, NC_CLASS_CPU_MEMORY_LOCAL, 0)->raw, 900);
		assert_number(reading_of(&opened, NC_CLASS_CPU_MEMORY_REMOTE, 0)->raw, 100);
		assert_counts(&opened, 1, 2000, 1500, 500);
	}
	rewrite_count(*state, "mon_data/mon_L3_00", "mbm_local_bytes", "1300\n");
	assert_counts(&opened, 0, 1500, 1300, 200);
	close_all(&opened);
}

static void with_clusters_the_sum_is_read_and_the_parts_where_there_is_none(void **state)
{
	struct opened opened;

	build(*state);
	write_domain(*state, "mon_data/mon_L3_00", "1000\n", "900\n");
	write_domain(*state, "mon_data/mon_L3_00/mon_sub_L3_00", "400\n", "400\n");
	write_domain(*state, "mon_data/mon_L3_00/mon_sub_L3_01", "600\n", "500\n");
	write_domain(*state, "mon_data/mon_L3_08/mon_sub_L3_02", "70\n", "50\n");
	open_all(*state, &opened);

	assert_number(opened.counters.count, 6);
	assert_counts(&opened, 0, 1000, 900, 100);
	assert_counts(&opened, 1, 70, 50, 20);
	close_all(&opened);
}

static void without_local_counts_nothing_is_said_of_remote_ones(void **state)
{
	struct opened opened;

	build(*state);
	write_count(*state, "mon_data/mon_L3_00", "mbm_total_bytes", "5\n");
	open_all(*state, &opened);
	read_all(&opened);

	assert_number(opened.counters.count, 1);
	assert_number(opened.counters.items[0].what, NC_CLASS_CPU_MEMORY_TOTAL);
	assert_number(opened.readings[0].raw, 5);
	close_all(&opened);
}

static void a_cache_of_no_cpu_is_of_no_socket(void **state)
{
	struct opened opened;

	build(*state);
	write_domain(*state, "mon_data/mon_L3_03", "5\n", "5\n");
	open_all(*state, &opened);

	assert_number(opened.counters.count, 3);
	assert_false(opened.counters.items[0].has_socket);
	close_all(&opened);
}

/* ---- control groups ---- */

static void what_control_groups_move_is_added_up(void **state)
{
	struct opened opened;

	build_mounted(*state);
	write_domain(*state, "batch/mon_data/mon_L3_00", "50\n", "30\n");
	write_domain(*state, "batch/mon_data/mon_L3_08", "7\n", "7\n");
	/* Contained in the numbers of their control group. */
	write_domain(*state, "mon_groups/m1/mon_data/mon_L3_00", "600\n", "600\n");
	write_domain(*state, "batch/mon_groups/m2/mon_data/mon_L3_00", "40\n", "20\n");
	open_all(*state, &opened);

	assert_number(opened.counters.count, 6);
	assert_counts(&opened, 0, 1050, 930, 120);
	assert_counts(&opened, 1, 2007, 1507, 500);
	close_all(&opened);
}

static void a_group_that_comes_is_counted_from_its_beginning(void **state)
{
	struct opened opened;

	build_mounted(*state);
	open_all(*state, &opened);
	assert_counts(&opened, 0, 1000, 900, 100);

	write_domain(*state, "late/mon_data/mon_L3_00", "50\n", "30\n");
	write_domain(*state, "late/mon_data/mon_L3_08", "0\n", "0\n");

	assert_counts(&opened, 0, 1050, 930, 120);
	close_all(&opened);
}

static void a_group_that_goes_is_unknown_once_and_nothing_is_lost_of_before(void **state)
{
	struct opened opened;

	build_mounted(*state);
	write_domain(*state, "batch/mon_data/mon_L3_00", "50\n", "30\n");
	write_domain(*state, "batch/mon_data/mon_L3_08", "7\n", "7\n");
	open_all(*state, &opened);
	assert_counts(&opened, 0, 1050, 930, 120);

	vanished = "/batch/";
	host_remove(*state, RESCTRL "/batch");
	assert_notes(&opened, 0, NC_NOTE_FAILED, NC_NOTE_FAILED, NC_NOTE_FAILED);
	assert_counts(&opened, 0, 1050, 930, 120);
	vanished = NULL;

	/* One of the same name is another one. */
	write_domain(*state, "batch/mon_data/mon_L3_00", "3\n", "2\n");
	write_domain(*state, "batch/mon_data/mon_L3_08", "0\n", "0\n");
	rewrite_count(*state, "mon_data/mon_L3_00", "mbm_total_bytes", "1001\n");
	assert_counts(&opened, 0, 1054, 932, 122);
	close_all(&opened);
}

static void a_group_whose_files_cannot_be_opened_makes_all_unknown(void **state)
{
	struct opened opened;

	build_mounted(*state);
	open_all(*state, &opened);
	assert_counts(&opened, 0, 1000, 900, 100);

	write_count(*state, "late/mon_data/mon_L3_00", "llc_occupancy", "0\n");
	assert_notes(&opened, 0, NC_NOTE_FAILED, NC_NOTE_FAILED, NC_NOTE_FAILED);

	write_domain(*state, "late/mon_data/mon_L3_00", "50\n", "30\n");
	write_domain(*state, "late/mon_data/mon_L3_08", "0\n", "0\n");
	assert_counts(&opened, 0, 1050, 930, 120);
	close_all(&opened);
}

static void nothing_left_to_read_is_an_error(void **state)
{
	struct opened opened;
	struct np_error err = { 0 };

	build_mounted(*state);
	open_all(*state, &opened);

	vanished = "/mon_data/";
	assert_fails(
		opened.backend->ops->read(opened.backend, UINT64_MAX / 2, opened.readings, &err),
		-ENODATA, &err, "unmounted");
	vanished = NULL;
	close_all(&opened);
}

/* ---- why there is nothing ---- */

#define X86_WITH "flags\t\t: fpu cqm cqm_mbm_total cqm_mbm_local sse\n"
#define X86_WITHOUT "flags\t\t: fpu cqm_mbm_totals sse\n"
#define FILE_SYSTEMS "nodev\tsysfs\n\text4\nnodev\tresctrl\n"

static const struct refusal {
	const char *name;
	const char *cpuinfo;
	const char *filesystems;
	bool is_mounted;
	const char *reason;
	const char *remedy; /* "" = none */
} refusals[] = {
	{ "not mounted", X86_WITH, FILE_SYSTEMS, false, "resctrl is not mounted",
	  "mount -t resctrl resctrl /sys/fs/resctrl" },
	{ "a processor without", X86_WITHOUT, FILE_SYSTEMS, false,
	  "the processor has no memory bandwidth monitoring (no cqm_mbm_total", "" },
	{ "a processor without, mounted for its caches", X86_WITHOUT, FILE_SYSTEMS, true,
	  "the processor has no memory bandwidth monitoring", "" },
	{ "a guest", "flags\t\t: fpu hypervisor\n", "\text4\n", false, "virtual machine",
	  "on the host" },
	{ "a kernel without", X86_WITH, "\text4\nnodev\tnoresctrl\n", false,
	  "the kernel has no resctrl file system", "CONFIG_X86_CPU_RESCTRL" },
	{ "switched off", X86_WITH, FILE_SYSTEMS, true, "counts no memory bandwidth",
	  "rdt=!mbmtotal" },
	{ "Arm, not mounted", "Features\t: fp asimd\n", FILE_SYSTEMS, false, "is not mounted",
	  "mount -t resctrl" },
	{ "Arm without", "Features\t: fp asimd\n", "\text4\n", false, "for this processor", "" },
	{ "a capture without proc/filesystems", X86_WITH, NULL, false, "no proc/filesystems", "" },
};

static void a_lack_has_its_own_reason_and_remedy(void **state)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *refusal = &refusals[i];
		struct nc_source_state said = { 0 };
		struct nc_counters counters = { 0 };
		struct nc_backend *backend = NULL;
		struct np_error err = { 0 };
		struct nc_host *host;

		check_case("%s", refusal->name);
		host_remove(*state, "sys");
		host_remove(*state, "proc");
		build(*state);
		host_write(*state, "proc/cpuinfo", refusal->cpuinfo);
		if (refusal->filesystems)
			host_write(*state, "proc/filesystems", refusal->filesystems);
		if (refusal->is_mounted)
			host_write(*state, RESCTRL "/info/last_cmd_status", "ok\n");
		host = load(((const struct host *)*state)->dir);

		assert_np_ok(nc_resctrl_look(host, &said, &err), &err);
		assert_number(said.availability, NC_UNAVAILABLE);
		assert_has(said.reason, refusal->reason);
		if (*refusal->remedy)
			assert_has(said.remedy, refusal->remedy);
		else
			assert_text(said.remedy, "");
		assert_fails(nc_resctrl_open(host, &counters, &backend, &err), -ENODATA, &err,
		             refusal->reason);
		assert_null(backend);
		assert_number(counters.count, 0);
		nc_host_free(host);
	}
}

static void what_is_found_is_told(void **state)
{
	struct nc_source_state said = { 0 };
	struct np_error err = { 0 };
	struct nc_host *host;

	build_mounted(*state);
	host = load(((const struct host *)*state)->dir);

	assert_np_ok(nc_resctrl_look(host, &said, &err), &err);

	assert_number(said.availability, NC_AVAILABLE);
	assert_text(said.finds, "2 L3 caches on sockets 0-1");
	assert_text(said.reason, "");
	nc_host_free(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(a_cache_is_of_the_socket_whose_cpus_have_it),
		host_test(the_time_that_counts_is_that_since_opening),
		host_test(counts_are_read_anew_and_as_wide_as_64_bits),
		host_test(local_ahead_of_total_is_no_growth_and_is_made_up_for),
		host_test(a_count_that_falls_is_handed_on),
		host_test(words_and_damage_are_no_count),
		host_test(with_clusters_the_sum_is_read_and_the_parts_where_there_is_none),
		host_test(without_local_counts_nothing_is_said_of_remote_ones),
		host_test(a_cache_of_no_cpu_is_of_no_socket),
		host_test(what_control_groups_move_is_added_up),
		host_test(a_group_that_comes_is_counted_from_its_beginning),
		host_test(a_group_that_goes_is_unknown_once_and_nothing_is_lost_of_before),
		host_test(a_group_whose_files_cannot_be_opened_makes_all_unknown),
		host_test(nothing_left_to_read_is_an_error),
		host_test(a_lack_has_its_own_reason_and_remedy),
		host_test(what_is_found_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
