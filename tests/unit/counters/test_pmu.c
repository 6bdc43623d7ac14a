/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read of PMUs and CPUs, well and badly formed. */
#include "host.h"
#include "loaded.h"

#include "../../../counters/lib/host_data.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN "sys/bus/event_source/devices"

static void write_cpus(const struct host *host, const char *online, const int *sockets,
                       unsigned count)
{
	char text[16];

	host_write(host, CPU_DIR "/online", online);
	host_write(host, "proc/cpuinfo",
	           "processor\t: 0\nvendor_id\t: GenuineIntel\n"
	           "cpu family\t: 6\nmodel\t\t: 85\nstepping\t: 4\n");
	for (unsigned cpu = 0; cpu < count; cpu++) {
		snprintf(text, sizeof(text), "%d\n", sockets[cpu]);
		host_write_cpu(host, cpu, "topology/physical_package_id", text);
	}
}

static void two_sockets(const struct host *host)
{
	write_cpus(host, "0-3\n", (const int[]){ 0, 0, 1, 1 }, 4);
}

/* A PMU as sysfs has it: a folder of sys/devices, and a link to it. */
static void write_pmu(const struct host *host, const char *name, const char *cpus_file,
                      const char *cpus)
{
	char path[512], target[512];

	snprintf(path, sizeof(path), "sys/devices/%s/type", name);
	host_write(host, path, "17\n");
	if (cpus_file) {
		snprintf(path, sizeof(path), "sys/devices/%s/%s", name, cpus_file);
		host_write(host, path, cpus);
	}
	snprintf(path, sizeof(path), SHOWN "/%s", name);
	snprintf(target, sizeof(target), "../../../devices/%s", name);
	host_link(host, path, target);
}

static void assert_noted(const struct nc_host *host, const char *part)
{
	char all[8192] = "";

	for (size_t i = 0; i < nc_host_note_count(host); i++) {
		strncat(all, nc_host_note(host, i), sizeof(all) - strlen(all) - 2);
		strcat(all, "\n");
		assert_true(is_printable_line(nc_host_note(host, i)));
	}
	assert_has(all, part);
}

static const struct nc_pmu *find(const struct nc_host *host, const char *name)
{
	for (size_t i = 0; i < nc_host_pmu_count(host); i++)
		if (strcmp(nc_host_pmu(host, i)->name, name) == 0)
			return nc_host_pmu(host, i);
	return NULL;
}

static void a_pmu_is_read_through_its_link(void **state)
{
	const struct host *files = *state;
	struct nc_host *host;
	const struct nc_pmu *pmu;

	two_sockets(files);
	write_pmu(files, "uncore_upi_0", "cpumask", "0,2\n");
	host_write(files, "sys/devices/uncore_upi_0/format/event", "config:0-7\n");
	host_write(files, "sys/devices/uncore_upi_0/format/umask", "config:8-15,32-55\n");
	host_write(files, "sys/devices/uncore_upi_0/alias", "uncore_type_8_0\n");

	host = load(files->dir);
	assert_number(nc_host_pmu_count(host), 1);
	pmu = nc_host_pmu(host, 0);
	assert_text(pmu->name, "uncore_upi_0");
	assert_text(pmu->alias, "uncore_type_8_0");
	assert_number(pmu->type, 17);
	assert_true(pmu->has_cpus && !pmu->is_core);
	assert_set(&pmu->cpus, "0,2");
	assert_number(pmu->format_count, 2);
	assert_text(nc_pmu_format(pmu, "umask")->name, "umask");
	assert_number(nc_pmu_format(pmu, "umask")->bit_count, 32);
	assert_null(nc_pmu_format(pmu, "thresh"));
	assert_number(nc_host_note_count(host), 0);
	nc_host_free(host);
}

static void the_kind_of_mask_tells_boxes_from_cores(void **state)
{
	const struct host *files = *state;
	struct nc_host *host;

	two_sockets(files);
	write_pmu(files, "box", "cpumask", "1,3\n");
	write_pmu(files, "core", "cpus", "0-2\n");
	write_pmu(files, "software", NULL, NULL);
	write_pmu(files, "near", "associated_cpus", "1-3\n");

	host = load(files->dir);
	assert_set(&find(host, "box")->cpus, "1,3");
	assert_true(find(host, "box")->has_cpus && !find(host, "box")->is_core);
	assert_set(&find(host, "core")->cpus, "0-2");
	assert_true(find(host, "core")->has_cpus && find(host, "core")->is_core);
	assert_set(&find(host, "software")->cpus, "0-3");
	assert_true(!find(host, "software")->has_cpus && find(host, "software")->is_core);
	/* One of each socket, as each of them would count the same. */
	assert_set(&find(host, "near")->cpus, "1-2");
	assert_true(find(host, "near")->has_cpus && !find(host, "near")->is_core);
	nc_host_free(host);
}

static void pmus_come_in_the_order_of_their_numbers(void **state)
{
	static const char *const names[] = { "uncore_imc_0", "uncore_imc_2", "uncore_imc_10" };
	const struct host *files = *state;
	struct nc_host *host;

	two_sockets(files);
	for (size_t i = 0; i < 3; i++)
		write_pmu(files, names[2 - i], "cpumask", "0\n");

	host = load(files->dir);
	for (size_t i = 0; i < 3; i++)
		assert_text(nc_host_pmu(host, i)->name, names[i]);
	nc_host_free(host);
}

static void a_damaged_pmu_is_left_out_with_a_note(void **state)
{
	static const struct {
		const char *file, *text, *note;
	} cases[] = {
		{ "type", "seven\n", "uncore_imc_0 is left out: " },
		{ "type", "-1\n", "'-1' is not a number" },
		{ "type", "", "type: '' is not a number" },
		{ "cpumask", "0,x\n", "cpumask: '0,x" },
		{ "cpumask", "2-0\n", "cpumask" },
		{ "cpumask", "4000000000\n", "cpumask" },
		{ "format/event", "config:0-99\n", "format/event: 'config:0-99'" },
		{ "format/event", "\xff\xfe\n", "format/event: '\\xff\\xfe'" },
	};
	const struct host *files = *state;

	two_sockets(files);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[128];
		struct nc_host *host;

		check_case("%s: %s", cases[i].file, cases[i].text);
		host_remove(files, "sys/devices/uncore_imc_0");
		write_pmu(files, "uncore_imc_0", "cpumask", "0,2\n");
		write_pmu(files, "uncore_imc_1", "cpumask", "0,2\n");
		snprintf(path, sizeof(path), "sys/devices/uncore_imc_0/%s", cases[i].file);
		host_write(files, path, cases[i].text);

		host = load(files->dir);
		assert_noted(host, cases[i].note);
		assert_null(find(host, "uncore_imc_0"));
		assert_non_null(find(host, "uncore_imc_1"));
		nc_host_free(host);
	}
}

static void a_pmu_without_a_type_is_left_out(void **state)
{
	const struct host *files = *state;
	struct nc_host *host;

	two_sockets(files);
	host_mkdir(files, SHOWN "/odd");
	host_link(files, SHOWN "/nowhere", "../../../devices/nothing");
	host_link(files, SHOWN "/loop", "loop");
	host_fifo(files, SHOWN "/pipe/type");

	host = load(files->dir);
	assert_number(nc_host_pmu_count(host), 0);
	assert_noted(host, "odd is left out: ");
	assert_noted(host, "nowhere is left out: ");
	assert_noted(host, "loop is left out: ");
	assert_noted(host, "pipe is left out: ");
	nc_host_free(host);
}

static void a_field_of_a_newer_kernel_costs_that_term_alone(void **state)
{
	const struct host *files = *state;
	struct nc_host *host;

	two_sockets(files);
	write_pmu(files, "arm_spe_0", "cpumask", "0\n");
	host_write(files, "sys/devices/arm_spe_0/format/event", "config:0-7\n");
	host_write(files, "sys/devices/arm_spe_0/format/filter", "config4:0-63\n");

	host = load(files->dir);
	assert_number(find(host, "arm_spe_0")->format_count, 1);
	assert_number(nc_host_note_count(host), 0);
	nc_host_free(host);
}

static void cpus_of_a_mask_that_are_offline_are_left_out(void **state)
{
	const struct host *files = *state;
	struct nc_host *host;

	two_sockets(files);
	write_pmu(files, "uncore_imc_0", "cpumask", "0,7\n");

	host = load(files->dir);
	assert_set(&find(host, "uncore_imc_0")->cpus, "0");
	assert_noted(host, "uncore_imc_0: CPU 7 of its mask is not online");
	nc_host_free(host);
}

static void sockets_are_the_packages_of_online_cpus(void **state)
{
	const struct host *files = *state;
	unsigned socket = 99, die = 99;
	struct nc_host *host;

	write_cpus(files, "0,2-3,5\n", (const int[]){ 0, 0, 8, 8, 16, -1 }, 6);
	host_write_cpu(files, 3, "topology/die_id", "1\n");

	host = load(files->dir);
	assert_set(nc_host_online(host), "0,2-3,5");
	assert_set(nc_host_sockets(host), "0,8");
	assert_true(nc_host_socket_of(host, 3, &socket, &die));
	assert_number(socket, 8);
	assert_number(die, 1);
	assert_false(nc_host_socket_of(host, 1, &socket, &die));
	assert_false(nc_host_socket_of(host, 5, &socket, &die));
	assert_false(nc_host_socket_of(host, 4000000000u, &socket, &die));
	assert_number(socket, 8);
	nc_host_free(host);
}

static void without_a_list_of_online_cpus_those_that_are_there_count(void **state)
{
	const struct host *files = *state;
	struct nc_host *host;

	two_sockets(files);
	host_remove(files, CPU_DIR "/online");

	host = load(files->dir);
	assert_set(nc_host_online(host), "0-3");
	assert_set(nc_host_sockets(host), "0-1");
	assert_noted(host, "all CPUs that are there are taken to be online");
	nc_host_free(host);
}

static void a_damaged_package_id_makes_that_cpu_one_of_no_socket(void **state)
{
	const struct host *files = *state;
	unsigned socket, die;
	struct nc_host *host;

	two_sockets(files);
	host_write_cpu(files, 1, "topology/physical_package_id", "none\n");
	host_write_cpu(files, 2, "topology/physical_package_id", "100000\n");
	host_write_cpu(files, 3, "topology/die_id", "what\n");

	host = load(files->dir);
	assert_false(nc_host_socket_of(host, 1, &socket, &die));
	assert_false(nc_host_socket_of(host, 2, &socket, &die));
	assert_true(nc_host_socket_of(host, 3, &socket, &die));
	assert_number(die, 0);
	assert_noted(host, "a CPU's socket is not known: ");
	assert_noted(host, "CPU 2 is of socket 100000, above 32767");
	nc_host_free(host);
}

static void a_host_without_pmus_or_cpuinfo_is_an_answer(void **state)
{
	const struct host *files = *state;
	struct nc_host *host;

	two_sockets(files);
	host_remove(files, "proc/cpuinfo");

	host = load(files->dir);
	assert_number(nc_host_pmu_count(host), 0);
	assert_null(nc_host_family(host));
	assert_noted(host, "no PMUs: ");
	assert_text(nc_host_root(host), files->dir);
	assert_false(nc_host_is_live(host));
	nc_host_free(host);
	nc_host_free(NULL);
}

static void a_wrong_root_or_family_is_an_error(void **state)
{
	const struct host *files = *state;
	struct nc_host_source from = { .root = files->dir };
	struct np_error err = { 0 };
	struct nc_host *host = NULL;

	assert_fails(nc_host_load(&from, &host, &err), -ENOENT, &err, "no host's root: ");
	two_sockets(files);
	from.family = "nehalem";
	assert_fails(nc_host_load(&from, &host, &err), -EINVAL, &err,
	             "no family 'nehalem'; there are: ");
	from.root = "/nonexistent";
	assert_fails(nc_host_load(&from, &host, &err), -ENOENT, &err, "/nonexistent");
	assert_null(host);
}

static void a_family_can_be_told(void **state)
{
	const struct host *files = *state;
	const struct nc_host_source from = { .root = files->dir, .family = "icx" };
	struct np_error err = { 0 };
	struct nc_host *host;

	two_sockets(files);

	assert_np_ok(nc_host_load(&from, &host, &err), &err);
	assert_text(nc_host_family(host)->name, "icx");
	nc_host_free(host);
}

static void notes_have_an_end(void **state)
{
	const struct host *files = *state;
	struct nc_host *host;
	char path[128];

	two_sockets(files);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), SHOWN "/x%u", i);
		host_mkdir(files, path);
	}

	host = load(files->dir);
	assert_number(nc_host_note_count(host), NC_NOTES_MAX);
	assert_text(nc_host_note(host, NC_NOTES_MAX - 1), "and more, which are not listed");
	nc_host_free(host);
}

static void this_machine_can_be_read(void **state)
{
	const struct nc_host_source from = { 0 };
	struct np_error err = { 0 };
	struct nc_host *host;

	(void)state;
	assert_np_ok(nc_host_load(&from, &host, &err), &err);
	assert_true(nc_host_is_live(host));
	assert_null(nc_host_root(host));
	if (access("/" SHOWN "/software", F_OK) == 0)
		assert_number(find(host, "software")->type, 1);
	nc_host_free(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(a_pmu_is_read_through_its_link),
		host_test(the_kind_of_mask_tells_boxes_from_cores),
		host_test(pmus_come_in_the_order_of_their_numbers),
		host_test(a_damaged_pmu_is_left_out_with_a_note),
		host_test(a_pmu_without_a_type_is_left_out),
		host_test(a_field_of_a_newer_kernel_costs_that_term_alone),
		host_test(cpus_of_a_mask_that_are_offline_are_left_out),
		host_test(sockets_are_the_packages_of_online_cpus),
		host_test(without_a_list_of_online_cpus_those_that_are_there_count),
		host_test(a_damaged_package_id_makes_that_cpu_one_of_no_socket),
		host_test(a_host_without_pmus_or_cpuinfo_is_an_answer),
		host_test(a_wrong_root_or_family_is_an_error),
		host_test(a_family_can_be_told),
		host_test(notes_have_an_end),
		cmocka_unit_test(this_machine_can_be_read),
	};

	return cmocka_run_group_tests_name("pmu", tests, NULL, NULL);
}
