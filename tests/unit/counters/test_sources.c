/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ladder of sources: what is found on machines made up and on this one, and why not more.
 */
#include "host.h"
#include "loaded.h"

#include "../../../counters/lib/backend.h"

#include <numacount/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PMU_DIR "sys/bus/event_source/devices"

#define SKYLAKE                                                                                    \
	"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"              \
	"model name\t: Intel(R) Xeon(R) Gold 6148 CPU\nstepping\t: 4\n"
#define UNKNOWN                                                                                    \
	"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 254\n"             \
	"model name\t: Intel(R) Xeon(R) of tomorrow\nstepping\t: 0\n"
#define ON_METAL "flags\t\t: fpu arch_perfmon sse\n"
#define IN_A_GUEST "flags\t\t: fpu hypervisor sse\n"

static void look(const struct host *host, struct nc_source_state ret[NC_SOURCE_COUNT])
{
	struct nc_host *loaded = load(host->dir);
	struct np_error err = { 0 };

	assert_np_ok(nc_sources_look(loaded, ret, &err), &err);
	nc_host_free(loaded);
}

static void build(const struct host *host, unsigned sockets, const char *cpuinfo)
{
	host_build(host, &(struct host_shape){ .node_count = sockets, .cores_per_node = 2 });
	host_write(host, "proc/cpuinfo", cpuinfo);
	host_write(host, "proc/sys/kernel/osrelease", "6.1.0-test\n");
	host_mkdir(host, PMU_DIR);
}

/* A PMU of Skylake-SP's uncore that counts on the first CPU of each of so many sockets. */
static void write_pmu(const struct host *host, const char *name, unsigned type, unsigned sockets)
{
	char path[256];
	char text[64];

	snprintf(path, sizeof(path), PMU_DIR "/%s/type", name);
	snprintf(text, sizeof(text), "%u\n", type);
	host_write(host, path, text);
	snprintf(path, sizeof(path), PMU_DIR "/%s/cpumask", name);
	host_write(host, path, sockets == 2 ? "0,2\n" : "0\n");
	snprintf(path, sizeof(path), PMU_DIR "/%s/format/event", name);
	host_write(host, path, "config:0-7\n");
	snprintf(path, sizeof(path), PMU_DIR "/%s/format/umask", name);
	host_write(host, path, "config:8-15,32-43,45-55\n");
}

static void write_pmus(const struct host *host, const char *kind, unsigned count, unsigned type,
                       unsigned sockets)
{
	for (unsigned i = 0; i < count; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s_%u", kind, i);
		write_pmu(host, name, type + i, sockets);
	}
}

static void a_source_has_a_name_that_finds_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NC_SOURCE_COUNT; i++) {
		enum nc_source source = (enum nc_source)i;

		assert_number(nc_source_find(nc_source_name(source)), source);
		assert_true(is_printable_line(nc_source_title(source)));
	}
	assert_number(nc_source_find("unc"), NC_SOURCE_COUNT);
	assert_number(nc_source_find(""), NC_SOURCE_COUNT);
	assert_non_null(nc_source_name(NC_SOURCE_COUNT));
	assert_non_null(nc_source_title(NC_SOURCE_COUNT));
}

static void pmus_are_told_by_kind_and_socket_and_not_tried_on_a_capture(void **state)
{
	struct nc_source_state states[NC_SOURCE_COUNT];

	build(*state, 2, SKYLAKE ON_METAL);
	write_pmus(*state, "uncore_imc", 6, 20, 2);
	write_pmus(*state, "uncore_upi", 3, 30, 2);
	look(*state, states);

	assert_number(states[NC_SOURCE_UNCORE].availability, NC_UNTRIED);
	assert_has(states[NC_SOURCE_UNCORE].finds, "6 uncore_imc");
	assert_has(states[NC_SOURCE_UNCORE].finds, "3 uncore_upi");
	assert_has(states[NC_SOURCE_UNCORE].finds, " and ");
	assert_has(states[NC_SOURCE_UNCORE].finds, "on each of sockets 0-1");
	assert_has(states[NC_SOURCE_UNCORE].reason, "captured host");
}

static void one_socket_has_no_links_and_that_is_no_error(void **state)
{
	struct nc_source_state states[NC_SOURCE_COUNT];

	build(*state, 1, SKYLAKE ON_METAL);
	write_pmus(*state, "uncore_imc", 2, 20, 1);
	look(*state, states);

	assert_number(states[NC_SOURCE_UNCORE].availability, NC_UNTRIED);
	assert_text(states[NC_SOURCE_UNCORE].finds,
	            "2 uncore_imc on socket 0; one socket, so no links");
}

static void links_that_are_hidden_are_told(void **state)
{
	struct nc_source_state states[NC_SOURCE_COUNT];

	build(*state, 2, SKYLAKE ON_METAL);
	write_pmus(*state, "uncore_imc", 2, 20, 2);
	look(*state, states);

	assert_number(states[NC_SOURCE_UNCORE].availability, NC_UNTRIED);
	assert_has(states[NC_SOURCE_UNCORE].finds, "; no PMU of the UPI links");
	assert_has(states[NC_SOURCE_UNCORE].remedy, "firmware");
}

static void sockets_that_differ_are_told_together(void **state)
{
	struct nc_source_state states[NC_SOURCE_COUNT];

	build(*state, 2, SKYLAKE ON_METAL);
	write_pmu(*state, "uncore_imc_0", 20, 2);
	write_pmu(*state, "uncore_imc_1", 21, 1);
	look(*state, states);

	assert_has(states[NC_SOURCE_UNCORE].finds, "3 uncore_imc on sockets 0-1");
}

#define BUILTIN_LIST "lib/modules/6.1.0-test/modules.builtin"

static const struct lack {
	const char *name;
	const char *cpuinfo;
	const char *modules;
	const char *builtin; /* NULL = no such file */
	const char *pmu;     /* one that is there; NULL = none */
	const char *reason;
	const char *remedy;
} lacks[] = {
	{ "a guest", SKYLAKE IN_A_GUEST, "", NULL, NULL,
	  "virtual machine: the kernel's intel_uncore driver never loads", "on the host" },
	{ "a guest of an unknown processor", UNKNOWN IN_A_GUEST, "", NULL, NULL, "virtual machine",
	  "on the host" },
	{ "an unknown processor", UNKNOWN ON_METAL, "", NULL, NULL,
	  "no event table knows this processor, GenuineIntel 6/254/0", "--family NAME" },
	{ "no driver", SKYLAKE ON_METAL, "ext4 733184 1 - Live 0x0\n", NULL, NULL,
	  "the module intel_uncore, is not loaded", "modprobe intel_uncore" },
	{ "a driver of a similar name", SKYLAKE ON_METAL,
	  "intel_uncore_frequency 16384 0 - Live 0x0\n",
	  "kernel/drivers/intel-uncore-frequency.ko\nkernel/arch/x86/xintel-uncore.ko\n", NULL,
	  "is not loaded", "modprobe intel_uncore" },
	{ "a driver that found nothing", SKYLAKE ON_METAL,
	  "ext4 733184 1 - Live 0x0\nintel_uncore 217088 0 - Live 0x0\n", NULL, NULL,
	  "intel_uncore is loaded, but found nothing: the firmware hides", "firmware" },
	{ "a driver built in that found nothing", SKYLAKE ON_METAL, "",
	  "kernel/fs/ext4/ext4.ko\nkernel/arch/x86/events/intel/intel-uncore.ko\n", NULL,
	  "intel_uncore is built in, but found nothing", "firmware" },
};

static void why_no_pmu_is_there_is_found_out(void **state)
{
	const struct host *host = *state;

	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
		struct nc_source_state states[NC_SOURCE_COUNT];
		const struct nc_source_state *uncore = &states[NC_SOURCE_UNCORE];

		check_case("%s", lacks[i].name);
		host_remove(host, "proc");
		host_remove(host, "lib");
		build(host, 2, lacks[i].cpuinfo);
		host_write(host, "proc/modules", lacks[i].modules);
		if (lacks[i].builtin)
			host_write(host, BUILTIN_LIST, lacks[i].builtin);
		look(host, states);

		assert_number(uncore->availability, NC_UNAVAILABLE);
		assert_text(uncore->finds, "");
		assert_has(uncore->reason, lacks[i].reason);
		assert_has(uncore->remedy, lacks[i].remedy);
	}
}

static void pmus_whose_events_cannot_be_encoded_are_told(void **state)
{
	struct nc_source_state states[NC_SOURCE_COUNT];

	build(*state, 2, SKYLAKE ON_METAL);
	write_pmu(*state, "uncore_upi_0", 20, 2);
	host_remove(*state, PMU_DIR "/uncore_upi_0/format");
	host_write(*state, PMU_DIR "/uncore_upi_0/format/nothing", "config:0-7\n");
	look(*state, states);

	assert_number(states[NC_SOURCE_UNCORE].availability, NC_UNAVAILABLE);
	assert_has(states[NC_SOURCE_UNCORE].reason, "none of their events can be had");
}

static void loads_need_a_pmu_of_the_cores(void **state)
{
	struct nc_source_state states[NC_SOURCE_COUNT];
	const struct nc_source_state *core = &states[NC_SOURCE_CORE];

	build(*state, 2, SKYLAKE IN_A_GUEST);
	look(*state, states);
	assert_number(core->availability, NC_UNAVAILABLE);
	assert_has(core->reason, "without a PMU for its CPUs");
	assert_has(core->remedy, "pmu=on");

	host_write(*state, "proc/cpuinfo", SKYLAKE ON_METAL);
	look(*state, states);
	assert_number(core->availability, NC_UNAVAILABLE);
	assert_has(core->reason, "has no PMU cpu");

	host_write(*state, PMU_DIR "/cpu/type", "4\n");
	host_write(*state, PMU_DIR "/cpu/format/event", "config:0-7\n");
	host_write(*state, PMU_DIR "/cpu/format/umask", "config:8-15\n");
	look(*state, states);
	assert_number(core->availability, NC_UNTRIED);
	assert_text(core->finds, "cpu on CPUs 0-3");
}

static void files_that_a_capture_has_are_not_tried_either(void **state)
{
	struct nc_source_state states[NC_SOURCE_COUNT];

	build(*state, 1, SKYLAKE ON_METAL);
	host_write_node(*state, 0, "numastat", "local_node 1\nother_node 0\n");
	host_write(*state, "sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "1\n");
	look(*state, states);

	assert_number(states[NC_SOURCE_NUMASTAT].availability, NC_UNTRIED);
	assert_has(states[NC_SOURCE_NUMASTAT].finds, "node 0");
	assert_number(states[NC_SOURCE_RESCTRL].availability, NC_UNTRIED);
	assert_has(states[NC_SOURCE_RESCTRL].finds, "1 L3 cache");
}

static void an_empty_root_is_an_answer(void **state)
{
	struct nc_source_state states[NC_SOURCE_COUNT];

	host_build(*state, &(struct host_shape){ .node_count = 1, .cores_per_node = 1 });
	look(*state, states);

	for (unsigned i = 0; i < NC_SOURCE_COUNT; i++) {
		check_case("%s", nc_source_name((enum nc_source)i));
		assert_number(states[i].availability, NC_UNAVAILABLE);
		assert_true(is_printable_line(states[i].reason));
	}
}

static void on_this_machine_each_is_there_or_has_its_reason(void **state)
{
	struct nc_source_state states[NC_SOURCE_COUNT];
	struct nc_host *host = load(NULL);
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nc_sources_look(host, states, &err), &err);
	nc_host_free(host);
	for (unsigned i = 0; i < NC_SOURCE_COUNT; i++) {
		check_case("%s", nc_source_name((enum nc_source)i));
		assert_number(states[i].availability == NC_UNTRIED, false);
		if (states[i].availability == NC_AVAILABLE) {
			assert_text(states[i].reason, "");
			assert_true(is_printable_line(states[i].finds));
		} else {
			assert_true(is_printable_line(states[i].reason));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_has_a_name_that_finds_it),
		host_test(pmus_are_told_by_kind_and_socket_and_not_tried_on_a_capture),
		host_test(one_socket_has_no_links_and_that_is_no_error),
		host_test(links_that_are_hidden_are_told),
		host_test(sockets_that_differ_are_told_together),
		host_test(why_no_pmu_is_there_is_found_out),
		host_test(pmus_whose_events_cannot_be_encoded_are_told),
		host_test(loads_need_a_pmu_of_the_cores),
		host_test(files_that_a_capture_has_are_not_tried_either),
		host_test(an_empty_root_is_an_answer),
		cmocka_unit_test(on_this_machine_each_is_there_or_has_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
