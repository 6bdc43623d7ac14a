/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts from hwloc XML exports, which hwloc itself makes here from a line that describes them.
 */
#include "host.h"

#include "../../probe/lib/topology_data.h"

#include <errno.h>
#include <hwloc.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPUS(topology, which) np_topology_cpus((topology), NP_CPUS_##which)
#define NODES(topology, which) np_topology_nodes((topology), NP_NODES_##which)

/* Two packages that are a node each, with two L3 of two cores. */
#define TWO_NODES "pack:2 [numa(memory=1GB)] l3:2 core:2 pu:1"

/* A matrix to put into the export; NULL name = nameless. */
struct matrix {
	const char *name;
	unsigned long kind;
	uint64_t values[4];
};

static void add_matrix(hwloc_topology_t hwloc, const struct matrix *matrix)
{
	hwloc_obj_t nodes[2] = { hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, 0),
		                 hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, 1) };
	hwloc_distances_add_handle_t handle =
		hwloc_distances_add_create(hwloc, matrix->name, matrix->kind, 0);
	uint64_t values[4];

	memcpy(values, matrix->values, sizeof(values));
	assert_non_null(handle);
	assert_number(hwloc_distances_add_values(hwloc, handle, 2, nodes, values, 0), 0);
	assert_number(hwloc_distances_add_commit(hwloc, handle, 0), 0);
}

/* Writes the export of what @synthetic describes to "host.xml". */
static void export(const struct host *host, const char *synthetic, const struct matrix *matrices,
                   size_t count)
{
	hwloc_topology_t hwloc;
	char path[PATH_MAX];

	assert_number(hwloc_topology_init(&hwloc), 0);
	assert_number(hwloc_topology_set_synthetic(hwloc, synthetic), 0);
	assert_number(hwloc_topology_load(hwloc), 0);
	for (size_t i = 0; i < count; i++)
		add_matrix(hwloc, &matrices[i]);
	snprintf(path, sizeof(path), "%s/host.xml", host->dir);
	assert_number(hwloc_topology_export_xml(hwloc, path, 0), 0);
	hwloc_topology_destroy(hwloc);
}

static int load(const struct host *host, unsigned scope, const char *const devices[],
                struct np_topology **ret, struct np_error *err)
{
	char path[PATH_MAX];
	struct np_topology_source source = { .hwloc_xml = path,
		                             .scope = scope,
		                             .devices = devices };

	snprintf(path, sizeof(path), "%s/host.xml", host->dir);
	while (devices && devices[source.device_count])
		source.device_count++;
	return np_topology_load(&source, ret, err);
}

static struct np_topology *must_load(const struct host *host, unsigned scope,
                                     const char *const devices[])
{
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };

	assert_np_ok(load(host, scope, devices, &topology, &err), &err);
	return topology;
}

/* Puts @snippet into the export, behind the tag that begins with @marker. */
static void insert(const struct host *host, const char *marker, const char *snippet)
{
	struct np_error err = { 0 };
	char *text = NULL;
	char *grown;
	char *at;

	assert_np_ok(np_sysroot_read(&host->root, "host.xml", &text, &err), &err);
	at = strstr(text, marker);
	assert_non_null(at);
	at = strchr(at, '>') + 1;
	assert_true(asprintf(&grown, "%.*s%s%s", (int)(at - text), text, snippet, at) > 0);
	host_write(host, "host.xml", grown);
	free(grown);
	free(text);
}

static void an_export_is_described_by_its_sets(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	export(host, TWO_NODES, NULL, 0);
	topology = must_load(host, NP_TOPOLOGY_ALL, NULL);
	assert_false(np_topology_is_live(topology));
	assert_has(np_topology_origin(topology), "/host.xml");
	assert_set(CPUS(topology, ONLINE), "0-7");
	assert_set(CPUS(topology, USABLE), "0-7");
	assert_set(NODES(topology, WITH_CPUS), "0-1");
	assert_set(NODES(topology, WITH_MEMORY), "0-1");
	assert_set(&np_topology_node(topology, 1)->cpus, "4-7");
	assert_number(np_topology_node(topology, 1)->memory_bytes, 1000000000);
	assert_number(np_topology_group_count(topology, NP_LEVEL_PACKAGE), 2);
	assert_number(np_topology_group_count(topology, NP_LEVEL_L3), 4);
	assert_number(np_topology_group_count(topology, NP_LEVEL_CORE), 8);
	assert_set(&np_topology_group_of(topology, NP_LEVEL_L3, 5)->cpus, "4-5");
	assert_number(np_topology_device_count(topology), 0);
	np_topology_free(topology);
}

#define LATENCY (HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY)
#define BANDWIDTH (HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_BANDWIDTH)

static const struct {
	const char *name;
	struct matrix matrices[3];
	size_t count;
	unsigned there; /* 0 = unknown */
	unsigned back;
} matrix_cases[] = {
	{ "none", { { 0 } }, 0, 0, 0 },
	{ "the firmware's", { { "NUMALatency", LATENCY, { 10, 21, 20, 10 } } }, 1, 21, 20 },
	{ "a nameless one", { { NULL, LATENCY, { 10, 31, 30, 10 } } }, 1, 31, 30 },
	{ "a bandwidth", { { "NUMABandwidth", BANDWIDTH, { 99, 12, 12, 99 } } }, 1, 0, 0 },
	{ "a benchmark's", { { "MyBenchmark", LATENCY, { 90, 290, 290, 90 } } }, 1, 0, 0 },
	{ "the firmware's behind others",
	  { { "MyBenchmark", LATENCY, { 90, 290, 290, 90 } },
	    { NULL, LATENCY, { 10, 31, 30, 10 } },
	    { "NUMALatency", LATENCY, { 10, 21, 20, 10 } } },
	  3,
	  21,
	  20 },
};

static void the_firmwares_matrix_is_chosen(void **state)
{
	struct host *host = *state;

	for (size_t i = 0; i < sizeof(matrix_cases) / sizeof(matrix_cases[0]); i++) {
		struct np_topology *topology;
		unsigned there = 0;
		unsigned back = 0;

		check_case("%s", matrix_cases[i].name);
		export(host, TWO_NODES, matrix_cases[i].matrices, matrix_cases[i].count);
		topology = must_load(host, 0, NULL);
		np_topology_node_distance(topology, 0, 1, &there);
		np_topology_node_distance(topology, 1, 0, &back);
		assert_number(there, matrix_cases[i].there);
		assert_number(back, matrix_cases[i].back);
		np_topology_free(topology);
	}
}

#define CARD(bus, name)                                                                            \
	"<object type=\"Bridge\" gp_index=\"1" bus "0\" bridge_type=\"0-1\" depth=\"0\" "          \
	"bridge_pci=\"0000:[" bus "-" bus "]\">"                                                   \
	"<object type=\"PCIDev\" gp_index=\"1" bus "1\" pci_busid=\"0000:" bus ":00.0\" "          \
	"pci_type=\"0200 [1234:0001] [0000:0000] 01\" pci_link_speed=\"0.0\">"                     \
	"<object type=\"OSDev\" gp_index=\"1" bus "2\" name=\"" name "\" osdev_type=\"2\"/>"       \
	"</object></object>"

static void cards_sit_at_the_object_that_holds_them(void **state)
{
	static const char *const asked[] = { "81:00.0", "net0", NULL };
	struct host *host = *state;
	struct np_topology *topology;

	export(host, TWO_NODES, NULL, 0);
	insert(host, "<object type=\"L3Cache\" cpuset=\"0x00000030\"", CARD("81", "eth0"));
	insert(host, "<object type=\"Package\" os_index=\"1\"", CARD("91", "net0"));
	insert(host, "<info name=\"ProcessName\"", CARD("01", "eth10"));
	topology = must_load(host, NP_TOPOLOGY_ALL, NULL);
	assert_number(np_topology_device_count(topology), 3);

	assert_text(np_topology_device(topology, 0)->name, "eth0");
	assert_text(np_topology_device(topology, 0)->pci, "0000:81:00.0");
	assert_text(np_evidence_name(np_topology_device(topology, 0)->locality.evidence), "cache");
	assert_set(&np_topology_device(topology, 0)->locality.nodes, "1");
	assert_set(&np_topology_device(topology, 0)->locality.cpus, "4-5");

	assert_text(np_topology_device(topology, 1)->name, "eth10");
	assert_text(np_evidence_name(np_topology_device(topology, 1)->locality.evidence),
	            "unknown");

	assert_text(np_topology_device(topology, 2)->name, "net0");
	assert_text(np_evidence_name(np_topology_device(topology, 2)->locality.evidence),
	            "local_cpus");
	assert_set(&np_topology_device(topology, 2)->locality.nodes, "1");
	np_topology_free(topology);

	topology = must_load(host, 0, asked);
	assert_text(np_device_kind_name(np_topology_device(topology, 0)->kind), "pci");
	assert_set(&np_topology_device(topology, 0)->locality.cpus, "4-5");
	assert_text(np_topology_device(topology, 1)->name, "net0");
	np_topology_free(topology);
}

static const struct {
	const char *device;
	int code;
	const char *part;
} missing[] = {
	{ "eth9", -ENOENT, "no network interface 'eth9'; there are: eth0" },
	{ "91:00.0", -ENOENT, "0000:91:00.0" },
	{ "block:sda", -ENOENT, "sda" },
	{ "block:eth0", -ENOENT, "eth0" },
	{ "ip:127.0.0.1", -EINVAL, "on this machine" },
	{ "file:/", -EINVAL, "on this machine" },
	{ "netdev:\033[31m\n", -ENOENT, "\\x1b[31m\\x0a" },
	{ "block:\033[31m\n", -ENOENT, "\\x1b[31m\\x0a" },
};

static void devices_that_are_not_in_the_export_are_named(void **state)
{
	struct host *host = *state;

	export(host, TWO_NODES, NULL, 0);
	insert(host, "<object type=\"Package\" os_index=\"1\"", CARD("81", "eth0"));
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		const char *const devices[] = { missing[i].device, NULL };
		struct np_topology *topology = NULL;
		struct np_error err = { 0 };

		check_case("%s", missing[i].device);
		assert_fails(load(host, 0, devices, &topology, &err), missing[i].code, &err,
		             missing[i].part);
		assert_null(topology);
	}
}

static const struct {
	const char *name;
	const char *content;
	const char *part;
} bad_files[] = {
	{ "empty", "", "empty" },
	{ "text", "4 bananas\n", "not a" },
	{ "XML of something else", "<?xml version=\"1.0\"?><html><body/></html>\n", "not a" },
	{ "hwloc 3's", "<?xml version=\"1.0\"?>\n<topology version=\"3.0\">\n</topology>\n",
	  "hwloc 3" },
	{ "no objects", "<topology version=\"2.0\"></topology>\n", "host.xml" },
	{ "cut", "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n<object type=\"Mach",
	  "host.xml" },
};

static void files_that_are_no_export_are_explained(void **state)
{
	struct host *host = *state;
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };

	for (size_t i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++) {
		err = (struct np_error){ 0 };
		check_case("%s", bad_files[i].name);
		host_write(host, "host.xml", bad_files[i].content);
		assert_fails(load(host, NP_TOPOLOGY_ALL, NULL, &topology, &err), -EINVAL, &err,
		             bad_files[i].part);
		assert_has(err.text, "/host.xml");
		assert_null(topology);
	}
	host_remove(host, "host.xml");
	assert_fails(load(host, 0, NULL, &topology, &err), -ENOENT, &err, "/host.xml");
	host_mkdir(host, "host.xml");
	assert_fails(load(host, 0, NULL, &topology, &err), -EISDIR, &err, "/host.xml");
}

/* Loads in a child; the signal that ended it, or 0. */
static int signal_of_load(const struct host *host)
{
	int status = 0;
	pid_t pid;

	pid = fork_child();
	if (pid == 0) {
		struct np_topology *topology = NULL;
		struct np_error err = { 0 };

		if (load(host, NP_TOPOLOGY_ALL, NULL, &topology, &err) == 0)
			np_topology_free(topology);
		_exit(0);
	}
	assert_number(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? SIGABRT : 0; /* a sanitizer's word */
	return WTERMSIG(status);
}

/* hwloc 2.9 itself falls over some of these; a user sees numaprobe end without a word. */
static void an_export_that_lacks_a_set_crashes_nothing(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	unsigned crashes = 0;
	char *text = NULL;

	export(host, "numa:2 core:1 pu:2", NULL, 0);
	assert_np_ok(np_sysroot_read(&host->root, "host.xml", &text, &err), &err);
	/* Each set of an object, ' cpuset="0x3"' and its like, is left out in turn. */
	for (char *at = strstr(text, "<object"); at && (at = strstr(at, "set=\""));) {
		char *end = strchr(at + strlen("set=\""), '"') + 1;
		char *start = at;
		char *cut;

		while (*start != ' ')
			start--;
		assert_true(asprintf(&cut, "%.*s%s", (int)(start - text), text, end) > 0);
		host_write(host, "host.xml", cut);
		free(cut);
		if (signal_of_load(host) != 0) {
			print_error("crashes without %.*s\n", (int)(end - start), start);
			crashes++;
		}
		at = end;
	}
	free(text);
	assert_number(crashes, 0);
}

static void a_node_without_cpus_is_a_node(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	/* Node 2 is memory at the whole machine, as CXL is. */
	export(host, "[numa(memory=4GB)] pack:2 [numa(memory=1GB)] core:2 pu:1", NULL, 0);
	topology = must_load(host, 0, NULL);
	assert_number(np_bitmap_count(NODES(topology, ONLINE)), 3);
	assert_number(np_bitmap_count(NODES(topology, WITH_CPUS)), 2);
	assert_number(np_bitmap_count(NODES(topology, WITH_MEMORY)), 3);
	assert_set(CPUS(topology, WITHOUT_NODE), "");
	np_topology_free(topology);
}

/* ---- this machine's hwloc, where its word is finer than sysfs's ---- */

/* The same host as TWO_NODES in sysfs, which puts eth0 on node 1 as a whole. */
static struct np_topology *load_sysfs(const struct host *host, bool one_cache)
{
	static const struct host_shape shape = {
		.node_count = 2,
		.cores_per_node = 4,
		.nics = { { "eth0", "0000:81:00.0", 1, "4-7\n" } },
	};
	static const char *const caches[] = { "0-1\n", "2-3\n", "4-5\n", "6-7\n" };

	host_build(host, &shape);
	for (unsigned cpu = 0; cpu < 8 && !one_cache; cpu++)
		host_write_cpu(host, cpu, "cache/index3/shared_cpu_list", caches[cpu / 2]);
	return host_load(host, NP_TOPOLOGY_ALL, NULL);
}

/* Makes hwloc take the export for this machine, or for another one. */
static void pretend(const struct host *host, const char *is_this_system)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/host.xml", host->dir);
	assert_number(setenv("HWLOC_XMLFILE", path, 1), 0);
	assert_number(setenv("HWLOC_THISSYSTEM", is_this_system, 1), 0);
}

static int stop_pretending(void **state)
{
	unsetenv("HWLOC_XMLFILE");
	unsetenv("HWLOC_THISSYSTEM");
	return host_destroy(state);
}

static const struct {
	const char *name;
	const char *card; /* in hwloc's view */
	const char *is_this_system;
	bool one_cache;
	const char *evidence;
	const char *cpus;
} refinements[] = {
	{ "at one of its node's caches", CARD("81", "eth0"), "1", false, "cache", "4-5" },
	{ "hwloc does not know the card", CARD("82", "eth0"), "1", false, "numa_node", "" },
	{ "hwloc describes another machine", CARD("81", "eth0"), "0", false, "numa_node", "" },
	{ "a node is one cache", CARD("81", "eth0"), "1", true, "numa_node", "" },
};

static void hwloc_refines_what_sysfs_says(void **state)
{
	struct host *host = *state;

	for (size_t i = 0; i < sizeof(refinements) / sizeof(refinements[0]); i++) {
		struct np_topology *topology;
		struct np_error err = { 0 };

		check_case("%s", refinements[i].name);
		export(host, TWO_NODES, NULL, 0);
		insert(host, "<object type=\"L3Cache\" cpuset=\"0x00000030\"", refinements[i].card);
		topology = load_sysfs(host, refinements[i].one_cache);
		pretend(host, refinements[i].is_this_system);
		assert_np_ok(np_hwloc_refine(topology, &err), &err);
		assert_text(np_evidence_name(np_topology_device(topology, 0)->locality.evidence),
		            refinements[i].evidence);
		assert_set(&np_topology_device(topology, 0)->locality.nodes, "1");
		assert_set(&np_topology_device(topology, 0)->locality.cpus, refinements[i].cpus);
		np_topology_free(topology);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(an_export_is_described_by_its_sets),
		host_test(the_firmwares_matrix_is_chosen),
		host_test(cards_sit_at_the_object_that_holds_them),
		host_test(devices_that_are_not_in_the_export_are_named),
		host_test(files_that_are_no_export_are_explained),
		host_test(an_export_that_lacks_a_set_crashes_nothing),
		host_test(a_node_without_cpus_is_a_node),
		cmocka_unit_test_setup_teardown(hwloc_refines_what_sysfs_says, host_create,
		                                stop_pretending),
	};

	return cmocka_run_group_tests_name("hwloc", tests, NULL, NULL);
}
