/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which counters a host has: by a family of our own over made-up PMUs, and by the families built in
 * over the hosts of tests/fixtures/counters.
 */
#include "host.h"

#include "../../../counters/lib/host_data.h"
#include "../../../counters/lib/libpfm4.h"

#include <errno.h>
#include <inttypes.h>
#include <numacount/counter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN "sys/bus/event_source/devices"
#define FIXTURES NUMAKIT_SOURCE_DIR "/tests/fixtures/counters"

enum { EVERYTHING = (1u << NC_CLASS_COUNT) - 1 };

/* ---- a made-up host with a family of our own ---- */

static void write_cpus(const struct host *host, unsigned sockets, unsigned each)
{
	char text[32];

	snprintf(text, sizeof(text), "0-%u\n", sockets * each - 1);
	host_write(host, CPU_DIR "/online", text);
	host_write(host, "proc/cpuinfo",
	           "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
	           "model name\t: made up\nstepping\t: 4\n");
	for (unsigned cpu = 0; cpu < sockets * each; cpu++) {
		snprintf(text, sizeof(text), "%u\n", cpu / each);
		host_write_cpu(host, cpu, "topology/physical_package_id", text);
	}
}

/* With the terms event and umask. */
static void write_pmu(const struct host *host, const char *name, unsigned type, const char *file,
                      const char *cpus)
{
	const struct {
		const char *file, *text;
	} files[] = {
		{ "format/event", "config:0-7" },
		{ "format/umask", "config:8-15" },
		{ file, cpus },
	};
	char path[256], text[16];

	snprintf(path, sizeof(path), SHOWN "/%s/type", name);
	snprintf(text, sizeof(text), "%u\n", type);
	host_write(host, path, text);
	for (size_t i = 0; i < 3; i++) {
		if (!files[i].file)
			continue;
		snprintf(path, sizeof(path), SHOWN "/%s/%s", name, files[i].file);
		host_write(host, path, files[i].text);
	}
}

static struct nc_host *load(const char *root, const char *family)
{
	const struct nc_host_source from = { .root = root, .family = family };
	struct np_error err = { 0 };
	struct nc_host *host = NULL;

	assert_np_ok(nc_host_load(&from, &host, &err), &err);
	return host;
}

static struct nc_counters find(const struct nc_host *host, nc_classes what)
{
	struct nc_counters counters = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(nc_counters_find(host, what, &counters, &err), &err);
	return counters;
}

#define EVENT(event_name, class, pmu_name, event_terms)                                            \
	{                                                                                          \
		.name = event_name, .what = class, .pmu = pmu_name, .terms = event_terms,          \
		.units = 64, .per = 1, .source = "this test"                                       \
	}

static struct nc_family family_of(const struct nc_event *events, size_t count)
{
	return (struct nc_family){ .name = "ours",
		                   .title = "ours",
		                   .events = events,
		                   .event_count = count,
		                   .counters = 4,
		                   .file = "ours",
		                   .source = "this test" };
}

static void assert_problem(const struct nc_counters *counters, const char *part)
{
	char all[8192] = "";

	for (size_t i = 0; i < counters->problem_count; i++) {
		assert_true(is_printable_line(counters->problems[i]));
		strncat(all, counters->problems[i], sizeof(all) - strlen(all) - 2);
		strcat(all, "\n");
	}
	assert_has(all, part);
}

static void each_event_is_counted_on_each_pmu_and_cpu_of_its_mask(void **state)
{
	static const struct nc_event events[] = {
		EVENT("read", NC_CLASS_MEMORY_READ, "uncore_imc_#", "event=4,umask=3"),
		EVENT("write", NC_CLASS_MEMORY_WRITE, "uncore_imc_#", "event=4,umask=12"),
		EVENT("clock", NC_CLASS_OTHER, "uncore_imc_#", "event=0"),
	};
	struct nc_family family = family_of(events, 3);
	const struct host *files = *state;
	struct nc_counters counters;
	struct nc_host *host;

	write_cpus(files, 2, 2);
	write_pmu(files, "uncore_imc_10", 12, "cpumask", "1,3\n");
	write_pmu(files, "uncore_imc_2", 11, "cpumask", "1,3\n");
	host = load(files->dir, NULL);
	host->family = &family;

	counters = find(host, NC_CLASS_BIT(NC_CLASS_MEMORY_READ) | NC_CLASS_BIT(NC_CLASS_OTHER));

	assert_number(counters.problem_count, 0);
	assert_number(counters.count, 8);
	for (size_t i = 0; i < counters.count; i++) {
		const struct nc_counter *counter = &counters.items[i];
		bool is_clock = i % 2;

		check_case("counter %zu", i);
		assert_text(counter->box, i < 4 ? "uncore_imc_2" : "uncore_imc_10");
		assert_text(counter->name, is_clock ? "clock" : "read");
		assert_number(counter->code.type, i < 4 ? 11 : 12);
		assert_number(counter->code.config[0], is_clock ? 0 : 0x304);
		assert_number(counter->socket, i / 2 % 2);
		assert_number(counter->cpu, i / 2 % 2 ? 3 : 1);
		assert_number(counter->group, i / 2);
		assert_number(counter->units, 64);
		assert_true(counter->has_socket && !counter->has_link && !counter->has_peer);
		assert_text(nc_encoder_name(counter->encoder), "format");
	}
	nc_counters_release(&counters);
	nc_host_free(host);
}

static void a_group_holds_as_many_as_the_box_can_count(void **state)
{
	static const struct nc_event events[] = {
		EVENT("a", NC_CLASS_OTHER, "box", "event=1"),
		EVENT("b", NC_CLASS_OTHER, "box", "event=2"),
		EVENT("c", NC_CLASS_OTHER, "box", "event=3"),
		EVENT("d", NC_CLASS_OTHER, "box", "event=4"),
		EVENT("e", NC_CLASS_OTHER, "box", "event=5"),
	};
	static const struct {
		unsigned counters;
		unsigned groups[10]; /* five events on two sockets */
	} cases[] = {
		{ 2, { 0, 0, 1, 1, 2, 3, 3, 4, 4, 5 } },
		{ 5, { 0, 0, 0, 0, 0, 1, 1, 1, 1, 1 } },
		{ 8, { 0, 0, 0, 0, 0, 1, 1, 1, 1, 1 } },
		/* Unknown: then each must be able to count alone. */
		{ 0, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
	};
	struct nc_family family = family_of(events, 5);
	const struct host *files = *state;
	struct nc_host *host;

	write_cpus(files, 2, 1);
	write_pmu(files, "box", 9, "cpumask", "0-1\n");
	host = load(files->dir, NULL);
	host->family = &family;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nc_counters counters;

		family.counters = cases[i].counters;
		counters = find(host, EVERYTHING);
		check_case("%u counters", cases[i].counters);
		assert_number(counters.count, 10);
		for (size_t k = 0; k < 10; k++)
			assert_number(counters.items[k].group, cases[i].groups[k]);
		nc_counters_release(&counters);
	}
	nc_host_free(host);
}

static void loads_are_of_cores_and_all_else_of_boxes(void **state)
{
	static const struct nc_event events[] = {
		EVENT("load", NC_CLASS_LOADS_REMOTE, "cpu", "event=0xd3,umask=2"),
		EVENT("load_arm", NC_CLASS_LOADS_LOCAL, "armv8_pmuv3_#", "event=0x31"),
		EVENT("load_box", NC_CLASS_LOADS_LOCAL, "box", "event=1"),
		EVENT("core", NC_CLASS_OTHER, "armv8_pmuv3_#", "event=1"),
		EVENT("faults", NC_CLASS_OTHER, "software", "config=2"),
	};
	struct nc_family family = family_of(events, 5);
	const struct host *files = *state;
	struct nc_counters counters;
	struct nc_host *host;

	write_cpus(files, 2, 2);
	write_pmu(files, "armv8_pmuv3_0", 8, "cpus", "0,2\n");
	write_pmu(files, "box", 9, "cpumask", "0\n");
	write_pmu(files, "cpu", 4, NULL, NULL);
	write_pmu(files, "software", 1, NULL, NULL);
	host = load(files->dir, NULL);
	host->family = &family;

	counters = find(host, NC_CLASSES_LOADS);
	assert_number(counters.count, 2 + 4);
	assert_text(counters.items[0].box, "armv8_pmuv3_0");
	assert_number(counters.items[1].cpu, 2);
	assert_text(counters.items[2].box, "cpu");
	assert_number(counters.items[5].socket, 1);
	assert_problem(&counters, "no PMU 'box' here: not counted: load_box");
	nc_counters_release(&counters);

	counters = find(host, NC_CLASSES_DEFAULT);
	assert_number(counters.count, 4);
	assert_text(counters.items[0].box, "software");
	assert_number(counters.items[0].code.type, 1);
	assert_number(counters.items[0].code.config[0], 2);
	assert_problem(&counters, "no PMU 'armv8_pmuv3_#' here: not counted: core");
	nc_counters_release(&counters);
	nc_host_free(host);
}

static void links_are_numbered_by_pmu_by_event_or_within_the_socket(void **state)
{
	static const struct nc_event events[] = {
		EVENT("upi", NC_CLASS_INTERCONNECT_OUT, "uncore_upi_#", "event=2"),
		EVENT("scf", NC_CLASS_INTERCONNECT_IN, "scf_#", "event=2"),
		{ .name = "df",
		  .what = NC_CLASS_INTERCONNECT_OUT,
		  .pmu = "amd_df",
		  .terms = "event=3",
		  .has_link = true,
		  .link = 5,
		  .units = 64,
		  .per = 1 },
	};
	static const struct {
		const char *box;
		unsigned socket, link;
	} wanted[] = {
		{ "amd_df", 0, 5 },
		{ "amd_df", 1, 5 },
		/* The numbers run on from socket to socket. */
		{ "scf_0", 0, 0 },
		{ "scf_1", 0, 1 },
		{ "scf_2", 1, 0 },
		{ "scf_3", 1, 1 },
		/* One of them is on one socket alone, and still the numbers are the links'. */
		{ "uncore_upi_0", 0, 0 },
		{ "uncore_upi_0", 1, 0 },
		{ "uncore_upi_2", 1, 2 },
	};
	struct nc_family family = family_of(events, 3);
	const struct host *files = *state;
	struct nc_counters counters;
	struct nc_host *host;

	write_cpus(files, 2, 1);
	write_pmu(files, "uncore_upi_0", 10, "cpumask", "0-1\n");
	write_pmu(files, "uncore_upi_2", 11, "cpumask", "1\n");
	write_pmu(files, "amd_df", 12, "cpumask", "0-1\n");
	for (unsigned i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "scf_%u", i);
		write_pmu(files, name, 20 + i, "cpumask", i < 2 ? "0\n" : "1\n");
	}
	host = load(files->dir, NULL);
	host->family = &family;

	counters = find(host, EVERYTHING);
	assert_number(counters.count, sizeof(wanted) / sizeof(wanted[0]));
	for (size_t i = 0; i < counters.count; i++) {
		check_case("counter %zu", i);
		assert_text(counters.items[i].box, wanted[i].box);
		assert_number(counters.items[i].socket, wanted[i].socket);
		assert_true(counters.items[i].has_link);
		assert_number(counters.items[i].link, wanted[i].link);
	}
	nc_counters_release(&counters);
	nc_host_free(host);
}

static void an_event_is_left_to_the_pmu_that_is_better(void **state)
{
	struct nc_event events[] = {
		EVENT("old", NC_CLASS_MEMORY_ANY, "amd_df", "event=7"),
		EVENT("new", NC_CLASS_MEMORY_READ, "amd_umc_#", "event=10"),
	};
	struct nc_family family = family_of(events, 2);
	const struct host *files = *state;
	struct nc_counters counters;
	struct nc_host *host;

	events[0].unless_pmu = "amd_umc_#";
	write_cpus(files, 1, 1);
	write_pmu(files, "amd_df", 10, "cpumask", "0\n");
	host = load(files->dir, NULL);
	host->family = &family;
	counters = find(host, EVERYTHING);
	assert_number(counters.count, 1);
	assert_text(counters.items[0].name, "old");
	nc_counters_release(&counters);
	nc_host_free(host);

	write_pmu(files, "amd_umc_0", 11, "cpumask", "0\n");
	host = load(files->dir, NULL);
	host->family = &family;
	counters = find(host, EVERYTHING);
	assert_number(counters.count, 1);
	assert_text(counters.items[0].name, "new");
	assert_number(counters.problem_count, 0);
	nc_counters_release(&counters);
	nc_host_free(host);
}

static void what_cannot_be_counted_is_told_once_with_the_reason(void **state)
{
	static const struct nc_event events[] = {
		EVENT("tx", NC_CLASS_INTERCONNECT_OUT, "uncore_upi_#", "event=2"),
		EVENT("rx", NC_CLASS_INTERCONNECT_IN, "uncore_upi_#", "event=3"),
		EVENT("read", NC_CLASS_MEMORY_READ, "uncore_imc_#", "event=4,filter=1"),
		EVENT("alias", NC_CLASS_MEMORY_WRITE, "uncore_imc_#", "@cas_count_write"),
		EVENT("empty", NC_CLASS_OTHER, "box", "event=1"),
	};
	struct nc_family family = family_of(events, 5);
	const struct host *files = *state;
	struct nc_counters counters;
	struct nc_host *host;

	write_cpus(files, 1, 1);
	write_pmu(files, "uncore_imc_0", 10, "cpumask", "0\n");
	write_pmu(files, "uncore_imc_1", 11, "cpumask", "0\n");
	write_pmu(files, "uncore_imc_2", 12, "cpumask", "0\n");
	host_write(files, SHOWN "/uncore_imc_1/events/cas_count_write", "event=0x04,umask=0x0c\n");
	write_pmu(files, "box", 13, "cpumask", "\n");
	host = load(files->dir, NULL);
	host->family = &family;

	counters = find(host, EVERYTHING);
	assert_number(counters.count, 1);
	assert_text(counters.items[0].box, "uncore_imc_1");
	assert_number(counters.items[0].code.config[0], 0xc04);
	assert_number(counters.problem_count, 4);
	assert_problem(&counters, "no PMU 'uncore_upi_#' here: not counted: tx, rx");
	assert_problem(&counters, "read: uncore_imc_0: it has no term 'filter', but event, umask "
	                          "(and 2 more such PMUs)");
	assert_problem(&counters, "events/cas_count_write: No such file or directory (and 1 more");
	assert_problem(&counters, "empty: box: no CPU of its mask is online");
	nc_counters_release(&counters);
	nc_host_free(host);
}

static void an_unknown_processor_has_no_counters_and_a_remedy(void **state)
{
	struct nc_host *host = load(FIXTURES "/unknown-cpu", NULL);
	struct nc_counters counters = find(host, EVERYTHING);

	(void)state;
	assert_null(nc_host_family(host));
	assert_number(counters.count, 0);
	assert_problem(&counters, "no table knows this processor, ");
	assert_problem(&counters, "(--family)");
	nc_counters_release(&counters);
	nc_host_free(host);
}

static void a_family_may_have_no_events(void **state)
{
	struct nc_family family = family_of(NULL, 0);
	const struct host *files = *state;
	struct nc_counters counters;
	struct nc_host *host;

	write_cpus(files, 1, 1);
	host = load(files->dir, NULL);
	host->family = &family;

	counters = find(host, EVERYTHING);
	assert_number(counters.count, 0);
	assert_problem(&counters, "family ours: no PMU of these processors is known to count");
	nc_counters_release(&counters);
	nc_host_free(host);
}

/* The processor's socket is not told: counted, and of no socket. */
static void a_counter_may_be_of_no_socket(void **state)
{
	static const struct nc_event events[] = { EVENT("a", NC_CLASS_OTHER, "box", "event=1") };
	struct nc_family family = family_of(events, 1);
	const struct host *files = *state;
	struct nc_counters counters;
	struct nc_host *host;

	write_cpus(files, 1, 2);
	host_write_cpu(files, 1, "topology/physical_package_id", "-1\n");
	write_pmu(files, "box", 9, "cpumask", "0-1\n");
	host = load(files->dir, NULL);
	host->family = &family;

	counters = find(host, EVERYTHING);
	assert_number(counters.count, 2);
	assert_true(counters.items[0].has_socket);
	assert_false(counters.items[1].has_socket);
	nc_counters_release(&counters);
	nc_host_free(host);
}

/* ---- where links end ---- */

struct wire {
	const char *file, *text;
};

static struct nc_host *host_with_wires(const struct host *files, const struct wire *wires,
                                       size_t count)
{
	char path[128];

	host_remove(files, "sys");
	write_cpus(files, 4, 1);
	write_pmu(files, "uncore_upi_0", 10, "cpumask", "0-3\n");
	write_pmu(files, "uncore_upi_1", 11, "cpumask", "0-3\n");
	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), SHOWN "/uncore_upi_%s", wires[i].file);
		host_write(files, path, wires[i].text);
	}
	return load(files->dir, NULL);
}

static void a_link_is_believed_when_both_ends_say_the_same(void **state)
{
	static const struct wire wires[] = {
		{ "0/die0", "upi_1,die_2\n" }, { "1/die2", "upi_0,die_0\n" },
		{ "1/die0", "upi_0,die_1\n" }, { "0/die1", "upi_0,die_3\n" },
		{ "1/die1", "nonsense\n" },    { "0/die3", "upi_9,die_9\n" },
		{ "0/die2", "upi_1,die_7\n" }, { "1/die7", "upi_0,die_2\n" },
	};
	static const struct nc_event events[] = {
		EVENT("tx", NC_CLASS_INTERCONNECT_OUT, "uncore_upi_#", "event=2"),
	};
	struct nc_family family = family_of(events, 1);
	const struct host *files = *state;
	struct nc_host *host = host_with_wires(files, wires, sizeof(wires) / sizeof(wires[0]));
	struct nc_counters counters;
	unsigned peers = 0;

	host->family = &family;
	counters = find(host, EVERYTHING);
	assert_number(counters.count, 8);
	for (size_t i = 0; i < counters.count; i++) {
		const struct nc_counter *counter = &counters.items[i];

		if (!counter->has_peer)
			continue;
		peers++;
		check_case("link %u of socket %u", counter->link, counter->socket);
		if (counter->socket == 0) {
			assert_number(counter->link, 0);
			assert_number(counter->peer, 2);
			assert_number(counter->peer_link, 1);
		} else {
			assert_number(counter->socket, 2);
			assert_number(counter->link, 1);
			assert_number(counter->peer, 0);
			assert_number(counter->peer_link, 0);
		}
	}
	assert_number(peers, 2);
	assert_number(nc_host_note_count(host), 6);
	nc_counters_release(&counters);
	nc_host_free(host);
}

static void where_dies_cannot_be_told_apart_no_link_has_an_end(void **state)
{
	static const struct wire wires[] = {
		{ "0/die0", "upi_0,die_1\n" },
		{ "0/die1", "upi_0,die_0\n" },
	};
	const struct host *files = *state;
	struct nc_host *host = host_with_wires(files, wires, 2);

	assert_number(host->links.count, 2);
	nc_host_free(host);

	/* CPU 0 is of socket 1: the kernel may have numbered the dies either way. */
	host_write_cpu(files, 0, "topology/physical_package_id", "1\n");
	host_write_cpu(files, 1, "topology/physical_package_id", "0\n");
	host = load(files->dir, NULL);
	assert_number(host->links.count, 0);
	assert_number(nc_host_note_count(host), 1);
	assert_has(nc_host_note(host, 0), "where links end is not known");
	nc_host_free(host);
}

/* ---- libpfm4, which knows this machine alone ---- */

static struct nc_event fault_event(const char *pfm, const char *terms)
{
	struct nc_event event = EVENT("faults", NC_CLASS_OTHER, "software", "");

	event.pfm = pfm;
	event.terms = terms;
	return event;
}

static void libpfm4_answers_where_it_agrees_with_the_format_files(void **state)
{
	static const struct {
		const char *pfm, *terms;
		enum nc_encoder encoder;
		uint64_t config;
		const char *problem;
	} cases[] = {
		{ "perf::PERF_COUNT_SW_PAGE_FAULTS", "config=2", NC_ENCODER_LIBPFM4, 2, NULL },
		{ "perf::NO_SUCH_EVENT", "config=2", NC_ENCODER_FORMAT, 2, NULL },
		{ NULL, "config=2", NC_ENCODER_FORMAT, 2, NULL },
		/* The PMU has no such term. */
		{ "perf::PERF_COUNT_SW_PAGE_FAULTS", "nothing=2", NC_ENCODER_LIBPFM4, 2, NULL },
		{ "perf::PERF_COUNT_SW_PAGE_FAULTS", "config=3", NC_ENCODER_FORMAT, 3,
		  "faults: software: config=0x3,config1=0x0 by its format files is taken; "
		  "libpfm4 says config=0x2,config1=0x0" },
	};
	struct nc_libpfm4 pfm;
	struct nc_host *host;

	(void)state;
	nc_libpfm4_open(&pfm);
	if (!pfm.handle || access("/" SHOWN "/software", F_OK) < 0) {
		print_message("skipped: no libpfm.so.4, or no perf events here\n");
		skip();
	}
	nc_libpfm4_close(&pfm);
	host = load(NULL, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nc_event event = fault_event(cases[i].pfm, cases[i].terms);
		struct nc_family family = family_of(&event, 1);
		struct nc_counters counters;

		host->family = &family;
		counters = find(host, EVERYTHING);
		check_case("%s, %s", cases[i].pfm ? cases[i].pfm : "-", cases[i].terms);
		assert_number(counters.count, np_bitmap_count(nc_host_online(host)));
		assert_number(counters.items[0].encoder, cases[i].encoder);
		assert_number(counters.items[0].code.type, 1);
		assert_number(counters.items[0].code.config[0], cases[i].config);
		assert_number(counters.problem_count, cases[i].problem != NULL);
		if (cases[i].problem)
			assert_text(counters.problems[0], cases[i].problem);
		nc_counters_release(&counters);
	}
	nc_host_free(host);
}

/* ---- the hosts of tests/fixtures/counters by the families built in ---- */

/* At least one counter of this kind, on just these PMUs and sockets. */
struct expectation {
	enum nc_class what;
	const char *pmus; /* the first and the last, by the order of counters */
	const char *sockets;
	const char *configs; /* of any of them, each in hex; "" = not checked */
	unsigned count;      /* counters; 0 = not checked */
};

struct captured {
	const char *name, *family;
	struct expectation wanted[8];
};

#define READ NC_CLASS_MEMORY_READ
#define WRITE NC_CLASS_MEMORY_WRITE
#define ANY NC_CLASS_MEMORY_ANY
#define OUT NC_CLASS_INTERCONNECT_OUT
#define IN NC_CLASS_INTERCONNECT_IN
#define CLOCK NC_CLASS_INTERCONNECT_CLOCK

static const struct captured captured[] = {
	{ "icx-2s",
	  "icx",
	  { { OUT, "uncore_upi_0 uncore_upi_2", "0-1", "0xf02", 6 },
	    { IN, "uncore_upi_0 uncore_upi_2", "0-1", "0xf03", 6 },
	    { CLOCK, "uncore_upi_0 uncore_upi_2", "0-1", "0x1", 6 },
	    { READ, "uncore_imc_0 uncore_imc_3", "0-1", "0xf04", 8 },
	    { WRITE, "uncore_imc_0 uncore_imc_3", "0-1", "0x3004", 8 } } },
	{ "spr-4s",
	  "spr",
	  { { OUT, "uncore_upi_0 uncore_upi_2", "0-3", "0xf02", 12 },
	    { IN, "uncore_upi_0 uncore_upi_2", "0-3", "0xf03", 12 },
	    { READ, "uncore_imc_0 uncore_imc_6", "0-3", "0xcf05", 22 },
	    { WRITE, "uncore_imc_0 uncore_imc_6", "0-3", "0xf005", 22 } } },
	{ "spr-aliases",
	  "spr",
	  { { OUT, "uncore_type_8_0 uncore_type_8_2", "0-1", "0xf02", 4 },
	    { READ, "uncore_type_6_0 uncore_type_6_1", "0-1", "0xcf05", 4 },
	    { WRITE, "uncore_type_6_0 uncore_type_6_1", "0-1", "0xf005", 4 } } },
	{ "gnr-2s",
	  "gnr",
	  { { OUT, "uncore_upi_0 uncore_upi_3", "0-1", "0xf02", 8 },
	    { IN, "uncore_upi_0 uncore_upi_3", "0-1", "0xf03", 8 },
	    { READ, "uncore_imc_0 uncore_imc_3", "0-1", "0xcf05 0xcf06", 16 },
	    { WRITE, "uncore_imc_0 uncore_imc_3", "0-1", "0xf005 0xf006", 16 } } },
	{ "clx-ap",
	  "skx",
	  { { OUT, "uncore_upi_0 uncore_upi_2", "0-1", "0xf02", 12 },
	    { IN, "uncore_upi_0 uncore_upi_2", "0-1", "0xf03", 12 },
	    { READ, "uncore_imc_0 uncore_imc_1", "0-1", "0x304", 8 },
	    { WRITE, "uncore_imc_0 uncore_imc_1", "0-1", "0xc04", 8 } } },
	{ "zen4-2s",
	  "zen4",
	  { { OUT, "amd_df amd_df", "0-1", "0xb0f003e5f 0xb0f003e9f 0xd0f003e1f", 0 },
	    { READ, "amd_umc_0 amd_umc_3", "0-1", "0x10a", 4 },
	    { WRITE, "amd_umc_0 amd_umc_3", "0-1", "0x20a", 4 } } },
	{ "zen5-2s",
	  "zen5",
	  { { OUT, "amd_df amd_df", "0-1", "0xd0f003e5f", 0 },
	    { IN, "amd_df amd_df", "0-1", "0xd0f003f5f", 0 },
	    { READ, "amd_umc_0 amd_umc_3", "0-1", "0x10a", 4 },
	    { WRITE, "amd_umc_0 amd_umc_3", "0-1", "0x20a", 4 } } },
	{ "grace-2s",
	  "neoverse-v2",
	  { { READ, "nvidia_scf_pmu_0 nvidia_scf_pmu_1", "0-1", "0x1a5", 2 },
	    { WRITE, "nvidia_scf_pmu_0 nvidia_scf_pmu_1", "0-1", "", 0 } } },
	{ "altra-2s", "neoverse-n1", { { ANY, "", "0-1", "", 0 } } },
	{ "power9-2s",
	  "power9",
	  { { READ, "nest_mcs01_imc nest_mcs23_imc", "0,8", "", 0 },
	    { WRITE, "nest_mcs01_imc nest_mcs23_imc", "0,8", "", 0 } } },
	{ "damaged",
	  "skx",
	  { { OUT, "uncore_upi_0 uncore_upi_0", "0-1", "0xf02", 2 },
	    { READ, "uncore_imc_0 uncore_imc_3", "0-1", "0x304", 4 } } },
};

/* Whether the space-separated list has the number. */
static bool lists_config(const char *list, uint64_t config)
{
	char text[32], padded[256];

	snprintf(text, sizeof(text), " 0x%" PRIx64 " ", config);
	snprintf(padded, sizeof(padded), " %s ", list);
	return strstr(padded, text) != NULL;
}

static void check_expectation(const struct nc_counters *counters, const struct expectation *wanted)
{
	const struct nc_counter *first = NULL, *last = NULL;
	struct np_bitmap sockets = { 0 };
	char pmus[128], configs[1024] = "";
	unsigned count = 0;

	for (size_t i = 0; i < counters->count; i++) {
		const struct nc_counter *counter = &counters->items[i];
		size_t used = strlen(configs);

		if (counter->what != wanted->what)
			continue;
		first = first ? first : counter;
		last = counter;
		count++;
		assert_true(counter->has_socket);
		assert_number(np_bitmap_add(&sockets, counter->socket), 0);
		if (!lists_config(configs, counter->code.config[0]))
			snprintf(configs + used, sizeof(configs) - used, "%s0x%" PRIx64,
			         used ? " " : "", counter->code.config[0]);
	}
	if (!first)
		fail_msg("no counter of class %s", nc_class_name(wanted->what));
	snprintf(pmus, sizeof(pmus), "%s %s", first->box, last->box);
	if (*wanted->pmus)
		assert_text(pmus, wanted->pmus);
	assert_set(&sockets, wanted->sockets);
	if (wanted->count)
		assert_number(count, wanted->count);
	for (const char *at = wanted->configs; *at; at += strspn(at, " ")) {
		char one[32];
		size_t length = strcspn(at, " ");

		snprintf(one, sizeof(one), "%.*s", (int)length, at);
		assert_true(lists_config(configs, strtoull(one, NULL, 16)));
		at += length;
	}
	np_bitmap_release(&sockets);
}

static bool is_built_in(const struct nc_host *host, const char *family)
{
	return nc_tables_find_name(nc_host_tables(host), family) != NULL;
}

static void captured_hosts_are_counted_with_their_makers_codes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(captured) / sizeof(captured[0]); i++) {
		char root[512];
		struct nc_counters counters;
		struct nc_host *host;

		snprintf(root, sizeof(root), FIXTURES "/%s", captured[i].name);
		host = load(root, NULL);
		check_case("%s", captured[i].name);
		if (!is_built_in(host, captured[i].family)) {
			print_message("skipped: %s: no family %s is built in\n", captured[i].name,
			              captured[i].family);
			nc_host_free(host);
			continue;
		}
		assert_non_null(nc_host_family(host));
		assert_text(nc_host_family(host)->name, captured[i].family);
		counters = find(host, NC_CLASSES_DEFAULT);
		for (const struct expectation *wanted = captured[i].wanted; wanted->sockets;
		     wanted++)
			check_expectation(&counters, wanted);
		nc_counters_release(&counters);
		nc_host_free(host);
	}
}

/* Families whose hosts are not among the fixtures, over the PMUs that their drivers make. */
static const struct old_family {
	const char *name;
	struct expectation wanted[6];
} old_families[] = {
	{ "snbep",
	  { { OUT, "uncore_qpi_0 uncore_qpi_1", "0-1", "0x200", 4 },
	    { IN, "uncore_qpi_0 uncore_qpi_1", "0-1", "0x201", 4 },
	    { CLOCK, "uncore_qpi_0 uncore_qpi_1", "0-1", "0x14", 4 },
	    { READ, "uncore_imc uncore_imc", "0-1", "0x304", 2 },
	    { WRITE, "uncore_imc uncore_imc", "0-1", "0xc04", 2 } } },
	{ "ivbep",
	  { { OUT, "uncore_qpi_0 uncore_qpi_1", "0-1", "0x200", 4 },
	    { IN, "uncore_qpi_0 uncore_qpi_1", "0-1", "0x201", 4 },
	    { CLOCK, "uncore_qpi_0 uncore_qpi_1", "0-1", "0x14", 4 },
	    { READ, "uncore_imc uncore_imc", "0-1", "0x304", 2 },
	    { WRITE, "uncore_imc uncore_imc", "0-1", "0xc04", 2 } } },
	{ "hswep",
	  { { OUT, "uncore_qpi_0 uncore_qpi_1", "0-1", "0x200", 4 },
	    { IN, "uncore_qpi_0 uncore_qpi_1", "0-1", "0x200802 0x200403", 8 },
	    { READ, "uncore_imc uncore_imc", "0-1", "0x304", 2 } } },
	{ "bdx",
	  { { OUT, "uncore_qpi_0 uncore_qpi_1", "0-1", "0x200", 4 },
	    { IN, "uncore_qpi_0 uncore_qpi_1", "0-1", "", 0 },
	    { READ, "uncore_imc uncore_imc", "0-1", "0x304", 2 } } },
	{ "zen1", { { ANY, "amd_df amd_df", "0-1", "0x3807 0x1000038c7", 16 } } },
	{ "zen2",
	  { { OUT, "amd_df amd_df", "0-1", "0x7000002c7 0x800000287", 8 },
	    { ANY, "amd_df amd_df", "0-1", "0x3807 0x1000038c7", 16 } } },
	{ "zen3",
	  { { OUT, "amd_df amd_df", "0-1", "0x7000002c7 0x800000287", 8 },
	    { ANY, "amd_df amd_df", "0-1", "0x3807 0x1000038c7", 16 } } },
};

static void older_families_are_counted_with_their_makers_codes(void **state)
{
	const struct host *files = *state;

	write_cpus(files, 2, 1);
	write_pmu(files, "uncore_qpi_0", 10, "cpumask", "0-1\n");
	write_pmu(files, "uncore_qpi_1", 11, "cpumask", "0-1\n");
	write_pmu(files, "uncore_imc", 12, "cpumask", "0-1\n");
	write_pmu(files, "amd_df", 13, "cpumask", "0-1\n");
	host_write(files, SHOWN "/uncore_qpi_0/format/event", "config:0-7,21\n");
	host_write(files, SHOWN "/uncore_qpi_1/format/event", "config:0-7,21\n");
	host_write(files, SHOWN "/amd_df/format/event", "config:0-7,32-35,59-60\n");
	for (size_t i = 0; i < sizeof(old_families) / sizeof(old_families[0]); i++) {
		const struct old_family *family = &old_families[i];
		struct nc_host *host = load(files->dir, NULL);
		struct nc_counters counters;

		check_case("%s", family->name);
		if (!is_built_in(host, family->name)) {
			print_message("skipped: no family %s is built in\n", family->name);
			nc_host_free(host);
			continue;
		}
		host->family = nc_tables_find_name(nc_host_tables(host), family->name);
		counters = find(host, NC_CLASSES_DEFAULT);
		assert_number(counters.problem_count, 0);
		for (const struct expectation *wanted = family->wanted; wanted->sockets; wanted++)
			check_expectation(&counters, wanted);
		nc_counters_release(&counters);
		nc_host_free(host);
	}
}

/* No look-alike is taken in, and no box is counted twice on a die. */
static void captured_hosts_have_each_counter_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(captured) / sizeof(captured[0]); i++) {
		char root[512];
		struct nc_counters counters;
		struct nc_host *host;

		snprintf(root, sizeof(root), FIXTURES "/%s", captured[i].name);
		host = load(root, NULL);
		check_case("%s", captured[i].name);
		counters = find(host, NC_CLASSES_DEFAULT);
		for (size_t a = 0; a < counters.count; a++) {
			const struct nc_counter *x = &counters.items[a];

			assert_has_not(x->box, "m3upi");
			assert_has_not(x->box, "free_running");
			assert_has_not(x->box, "b2upi");
			for (size_t b = 0; b < a; b++) {
				const struct nc_counter *y = &counters.items[b];

				assert_false(x->event == y->event && x->pmu == y->pmu &&
				             x->socket == y->socket && x->die == y->die);
				assert_true(x->group != y->group ||
				            (x->pmu == y->pmu && x->cpu == y->cpu));
			}
		}
		nc_counters_release(&counters);
		nc_host_free(host);
	}
}

/* Each end of each link is the other's: what crosses one way is what arrives the other way. */
static void links_of_captured_hosts_end_at_each_other(void **state)
{
	static const struct {
		const char *name;
		unsigned ends;
	} cases[] = { { "icx-2s", 6 }, { "spr-4s", 12 }, { "clx-ap", 12 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const struct nc_event events[] = {
			EVENT("tx", NC_CLASS_INTERCONNECT_OUT, "uncore_upi_#", "event=2"),
		};
		struct nc_family family = family_of(events, 1);
		struct nc_counters counters;
		struct nc_host *host;
		char root[512];

		snprintf(root, sizeof(root), FIXTURES "/%s", cases[i].name);
		host = load(root, NULL);
		host->family = &family;
		counters = find(host, EVERYTHING);
		check_case("%s", cases[i].name);
		assert_number(nc_host_note_count(host), 0);
		assert_number(counters.count, cases[i].ends);
		for (size_t a = 0; a < counters.count; a++) {
			const struct nc_counter *end = &counters.items[a];
			bool found = false;

			assert_true(end->has_peer);
			for (size_t b = 0; b < counters.count && !found; b++)
				found = b != a && counters.items[b].socket == end->peer &&
				        counters.items[b].link == end->peer_link &&
				        counters.items[b].peer == end->socket &&
				        counters.items[b].peer_link == end->link;
			assert_true(found);
		}
		nc_counters_release(&counters);
		nc_host_free(host);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(each_event_is_counted_on_each_pmu_and_cpu_of_its_mask),
		host_test(a_group_holds_as_many_as_the_box_can_count),
		host_test(loads_are_of_cores_and_all_else_of_boxes),
		host_test(links_are_numbered_by_pmu_by_event_or_within_the_socket),
		host_test(an_event_is_left_to_the_pmu_that_is_better),
		host_test(what_cannot_be_counted_is_told_once_with_the_reason),
		cmocka_unit_test(an_unknown_processor_has_no_counters_and_a_remedy),
		host_test(a_family_may_have_no_events),
		host_test(a_counter_may_be_of_no_socket),
		host_test(a_link_is_believed_when_both_ends_say_the_same),
		host_test(where_dies_cannot_be_told_apart_no_link_has_an_end),
		cmocka_unit_test(libpfm4_answers_where_it_agrees_with_the_format_files),
		cmocka_unit_test(captured_hosts_are_counted_with_their_makers_codes),
		host_test(older_families_are_counted_with_their_makers_codes),
		cmocka_unit_test(captured_hosts_have_each_counter_once),
		cmocka_unit_test(links_of_captured_hosts_end_at_each_other),
	};

	return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
