/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ladder of sources: what each finds here, and why it cannot be had.
 */
#include "sources.h"
#include "../../probe/base/array.h"
#include "backend.h"
#include "machine.h"
#include "pmu.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_SIZE = 64, CPU_TEXT_SIZE = 192, NAME_SIZE = 64 };

#define FIRMWARE_REMEDY                                                                              \
	"look in the firmware's setup for what hides uncore or performance monitoring devices, and " \
	"try a newer kernel"

#define CAPTURED_REASON                                                                             \
	"what it needs is there; whether the kernel would permit it cannot be tried on a captured " \
	"host"

static const struct source_words {
	const char *name;
	const char *title;
} sources[NC_SOURCE_COUNT] = {
	[NC_SOURCE_UNCORE] = { "uncore", "bytes through memory controllers and the links between "
	                                 "sockets" },
	[NC_SOURCE_RESCTRL] = { "resctrl",
	                        "bytes that CPUs moved to and from memory, by L3 cache" },
	[NC_SOURCE_CORE] = { "core", "loads that missed all caches, by local and remote memory" },
	[NC_SOURCE_NUMASTAT] = { "numastat", "page allocations, by local and remote CPU" },
};

const char *nc_source_name(enum nc_source source)
{
	return source < NC_SOURCE_COUNT ? sources[source].name : "none";
}

const char *nc_source_title(enum nc_source source)
{
	return source < NC_SOURCE_COUNT ? sources[source].title : "";
}

enum nc_source nc_source_find(const char *name)
{
	unsigned i = 0;

	while (i < NC_SOURCE_COUNT && strcmp(sources[i].name, name) != 0)
		i++;
	return (enum nc_source)i;
}

int nc_refuse(struct nc_source_state *state, const char *remedy, const char *fmt, ...)
{
	va_list args;

	state->availability = NC_UNAVAILABLE;
	va_start(args, fmt);
	vsnprintf(state->reason, sizeof(state->reason), fmt, args);
	va_end(args);
	snprintf(state->remedy, sizeof(state->remedy), "%s", remedy);
	return -ENODATA;
}

int nc_refused(const struct nc_source_state *state, struct np_error *err)
{
	return np_error_set(err, ENODATA, "%s%s%s", state->reason, *state->remedy ? ": " : "",
	                    state->remedy);
}

int nc_append_counter(struct nc_counters *counters, const struct nc_counter *counter,
                      struct np_error *err)
{
	void *items = counters->items;

	if (np_array_grow(&items, counters->count, sizeof(*counter)) < 0)
		return np_error_sys(err, ENOMEM, "counters");
	counters->items = items;
	counters->items[counters->count++] = *counter;
	return 0;
}

/* ---- what was found, in words ---- */

/* PMUs of one kind, "uncore_upi", and the sockets that they count on. */
struct kind {
	char name[NAME_SIZE];
	struct np_bitmap sockets;
	unsigned boxes;     /* PMUs times sockets */
	unsigned of_socket; /* of each socket; 0 = not the same of all */
};

struct kinds {
	struct kind *items;
	size_t count;
};

static void kinds_release(struct kinds *kinds)
{
	for (size_t i = 0; i < kinds->count; i++)
		np_bitmap_release(&kinds->items[i].sockets);
	free(kinds->items);
}

/* The event's patterns stand between commas: the first that the PMU's name or alias is of. */
static void find_pattern(const struct nc_counter *counter, char pattern[NAME_SIZE])
{
	const char *at = counter->event->pmu;
	unsigned number;

	for (;;) {
		size_t len = strcspn(at, ",");

		snprintf(pattern, NAME_SIZE, "%.*s", (int)len, at);
		if (!at[len] || nc_pmu_is_of(counter->pmu, pattern, &number))
			return;
		at += len + 1;
	}
}

/* "uncore_upi_#" names the kind, "uncore_upi", whatever the kernel calls the PMU itself. */
static void kind_name(const struct nc_counter *counter, char name[NAME_SIZE])
{
	char pattern[NAME_SIZE];
	size_t len = 0;

	find_pattern(counter, pattern);
	memset(name, 0, NAME_SIZE);
	for (const char *at = pattern; *at; at++) {
		bool is_number = *at == '#';

		if (is_number && at[1] == 'x')
			at++;
		if (!is_number)
			name[len++] = *at;
		else if (at[1])
			name[len++] = '*';
	}
	if (len > 1 && pattern[len] && name[len - 1] == '_')
		name[len - 1] = '\0';
}

static struct kind *find_kind(struct kinds *kinds, const struct nc_counter *counter)
{
	char name[NAME_SIZE];
	struct kind *grown;

	kind_name(counter, name);
	for (size_t i = 0; i < kinds->count; i++)
		if (strcmp(kinds->items[i].name, name) == 0)
			return &kinds->items[i];
	grown = reallocarray(kinds->items, kinds->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	kinds->items = grown;
	grown = &kinds->items[kinds->count++];
	*grown = (struct kind){ 0 };
	memcpy(grown->name, name, sizeof(name));
	return grown;
}

/* Whether a counter before @index stands for the same PMU on the same socket. */
static bool is_counted(const struct nc_counters *counters, size_t index)
{
	const struct nc_counter *counter = &counters->items[index];

	for (size_t i = 0; i < index; i++)
		if (counters->items[i].pmu == counter->pmu &&
		    counters->items[i].socket == counter->socket)
			return true;
	return false;
}

static unsigned boxes_on(const struct nc_counters *counters, const char *kind, unsigned socket)
{
	unsigned boxes = 0;

	for (size_t i = 0; i < counters->count; i++) {
		char name[NAME_SIZE];

		kind_name(&counters->items[i], name);
		boxes += counters->items[i].socket == socket && strcmp(name, kind) == 0 &&
		         !is_counted(counters, i);
	}
	return boxes;
}

static int find_kinds(const struct nc_counters *counters, struct kinds *kinds)
{
	for (size_t i = 0; i < counters->count; i++) {
		struct kind *kind = find_kind(kinds, &counters->items[i]);

		if (!kind || np_bitmap_add(&kind->sockets, counters->items[i].socket) == -ENOMEM)
			return -ENOMEM;
	}
	for (size_t i = 0; i < kinds->count; i++) {
		struct kind *kind = &kinds->items[i];

		np_bitmap_for_each (socket, &kind->sockets) {
			unsigned boxes = boxes_on(counters, kind->name, socket);

			if (kind->boxes == 0)
				kind->of_socket = boxes;
			else if (kind->of_socket != boxes)
				kind->of_socket = 0;
			kind->boxes += boxes;
		}
	}
	return 0;
}

static void NP_PRINTF(3, 4) add_text(char *buf, size_t size, const char *fmt, ...)
{
	size_t len = strlen(buf);
	va_list args;

	va_start(args, fmt);
	vsnprintf(buf + len, size - len, fmt, args);
	va_end(args);
}

/* How many of the kinds after @index are on the same sockets, each socket alike. */
static bool continues(const struct kinds *kinds, size_t index)
{
	return index + 1 < kinds->count && kinds->items[index].of_socket &&
	       kinds->items[index + 1].of_socket &&
	       np_bitmap_equal(&kinds->items[index].sockets, &kinds->items[index + 1].sockets);
}

/* "3 uncore_upi and 6 uncore_imc on each of sockets 0-1". */
static void print_kinds(const struct kinds *kinds, char *buf, size_t size)
{
	*buf = '\0';
	for (size_t i = 0; i < kinds->count; i++) {
		const struct kind *kind = &kinds->items[i];
		char named[LIST_SIZE];
		bool is_each = kind->of_socket && np_bitmap_count(&kind->sockets) > 1;

		add_text(buf, size, "%u %s", kind->of_socket ? kind->of_socket : kind->boxes,
		         kind->name);
		if (continues(kinds, i)) {
			add_text(buf, size, "%s", continues(kinds, i + 1) ? ", " : " and ");
			continue;
		}
		np_cpulist_named("socket", &kind->sockets, named, sizeof(named));
		add_text(buf, size, " on %s%s%s", is_each ? "each of " : "", named,
		         i + 1 < kinds->count ? ", " : "");
	}
}

/* ---- uncore: why there are none ---- */

static bool is_uncore_class(enum nc_class what)
{
	return what != NC_CLASS_LOADS_LOCAL && what != NC_CLASS_LOADS_REMOTE;
}

static bool is_link_class(enum nc_class what)
{
	return what == NC_CLASS_INTERCONNECT_OUT || what == NC_CLASS_INTERCONNECT_IN;
}

/* The drivers of PMUs, by the beginning of a PMU's name; as modules they may not be loaded. */
static const struct driver {
	const char *pmu;
	const char *module;
} drivers[] = {
	{ "uncore_ccpi2", "thunderx2_pmu" },
	{ "uncore_dmc", "thunderx2_pmu" },
	{ "uncore_", "intel_uncore" },
	{ "amd_", "amd_uncore" },
	{ "arm_cmn", "arm_cmn" },
	{ "arm_dmc620", "arm_dmc620_pmu" },
	{ "nvidia_", "nvidia_cspmu" },
	{ "ampere_", "ampere_cspmu" },
	{ "hisi_", "hisi_uncore_pmu" },
};

static const struct driver *find_driver(const char *pattern)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strncmp(pattern, drivers[i].pmu, strlen(drivers[i].pmu)) == 0)
			return &drivers[i];
	return NULL;
}

/* The first event of the family that an uncore PMU counts. */
static const struct nc_event *first_uncore_event(const struct nc_family *family)
{
	for (size_t i = 0; i < family->event_count; i++)
		if (is_uncore_class(family->events[i].what))
			return &family->events[i];
	return NULL;
}

static int refuse_virtual(const struct nc_host *host, struct nc_source_state *ret)
{
	static const char remedy[] = "count on the host itself, for all its guests together";

	if (nc_host_cpu(host)->vendor == NC_VENDOR_INTEL)
		return nc_refuse(ret, remedy,
		                 "this is a virtual machine: the kernel's intel_uncore "
		                 "driver never loads in one, whatever the hypervisor offers");
	return nc_refuse(ret, remedy,
	                 "this is a virtual machine: its hypervisor offers no PMUs of memory "
	                 "controllers and links");
}

static int refuse_unknown_cpu(const struct nc_host *host, struct nc_source_state *ret)
{
	char cpu[CPU_TEXT_SIZE];

	return nc_refuse(ret,
	                 "--family NAME where it is like a family that is known, or "
	                 "--events FILE with a table of your own",
	                 "no event table knows this processor, %s",
	                 nc_cpu_text(nc_host_cpu(host), cpu, sizeof(cpu)));
}

/* The family is known, and none of its PMUs is there. */
static int refuse_absent(const struct np_sysroot *root, const struct nc_family *family,
                         struct nc_source_state *ret)
{
	const struct nc_event *event = first_uncore_event(family);
	const struct driver *driver = event ? find_driver(event->pmu) : NULL;
	enum nc_module module = NC_MODULE_BUILT_IN;
	char remedy[sizeof(ret->remedy)];

	if (!event)
		return nc_refuse(ret, "--events FILE with a table of your own",
		                 "the table of %s has no events of memory controllers or links",
		                 family->name);
	if (driver)
		module = nc_machine_module(root, driver->module);
	if (module == NC_MODULE_NOT_LOADED) {
		snprintf(remedy, sizeof(remedy), "as root: modprobe %s", driver->module);
		return nc_refuse(ret, remedy,
		                 "the kernel has no PMU %s: its driver, the module %s, is not "
		                 "loaded",
		                 event->pmu, driver->module);
	}
	return nc_refuse(ret, FIRMWARE_REMEDY,
	                 "the kernel has no PMU %s: %s%sthe firmware hides its devices, or "
	                 "this kernel does not know the processor yet",
	                 event->pmu, driver ? driver->module : "",
	                 !driver                        ? ""
	                 : module == NC_MODULE_BUILT_IN ? " is built in, but found nothing: "
	                                                : " is loaded, but found nothing: ");
}

/* Whether the host has a PMU that an event of these classes is of. */
static bool has_pmu_of(const struct nc_host *host, bool (*wants)(enum nc_class what))
{
	const struct nc_family *family = nc_host_family(host);

	for (size_t i = 0; i < family->event_count; i++)
		for (size_t j = 0; wants(family->events[i].what) && j < nc_host_pmu_count(host);
		     j++) {
			const struct nc_pmu *pmu = nc_host_pmu(host, j);
			unsigned number;

			if (nc_pmu_matches(family->events[i].pmu, pmu->name, &number) ||
			    (pmu->alias &&
			     nc_pmu_matches(family->events[i].pmu, pmu->alias, &number)))
				return true;
		}
	return false;
}

static int refuse_uncore(const struct np_sysroot *root, const struct nc_host *host,
                         const struct nc_counters *counters, struct nc_source_state *ret)
{
	const struct nc_family *family = nc_host_family(host);

	if (family && has_pmu_of(host, is_uncore_class))
		return nc_refuse(ret, "--events FILE with a table of your own",
		                 "the PMUs are there, but none of their events can be had: %s",
		                 counters->problem_count ? counters->problems[0]
		                                         : "no CPU counts for them");
	if (nc_machine_is_virtual(root))
		return refuse_virtual(host, ret);
	if (!family)
		return refuse_unknown_cpu(host, ret);
	return refuse_absent(root, family, ret);
}

/* ---- uncore and core: what there is ---- */

/* Opens a counter of each kind of PMU for a moment. */
static int try_kinds(const struct nc_host *host, const struct nc_counters *counters,
                     struct nc_source_state *ret)
{
	char last[NAME_SIZE] = "";

	for (size_t i = 0; i < counters->count; i++) {
		const struct nc_counter *counter = &counters->items[i];
		char name[NAME_SIZE];
		int rc;

		kind_name(counter, name);
		if (strcmp(name, last) == 0)
			continue;
		memcpy(last, name, sizeof(last));
		rc = nc_perf_try(counter);
		if (rc == 0)
			continue;
		ret->availability = NC_UNAVAILABLE;
		nc_perf_explain(host, -rc, counter, ret->reason, ret->remedy);
		return -ENODATA;
	}
	ret->availability = NC_AVAILABLE;
	return 0;
}

static void try_out(const struct nc_host *host, const struct nc_counters *counters,
                    struct nc_source_state *ret)
{
	if (nc_host_is_live(host)) {
		try_kinds(host, counters, ret);
		return;
	}
	ret->availability = NC_UNTRIED;
	snprintf(ret->reason, sizeof(ret->reason), "%s", CAPTURED_REASON);
}

static bool is_memory_class(enum nc_class what)
{
	return what == NC_CLASS_MEMORY_READ || what == NC_CLASS_MEMORY_WRITE ||
	       what == NC_CLASS_MEMORY_ANY;
}

/* Links may be counted where memory is not. */
static void add_missing_memory(const struct nc_counters *counters, struct nc_source_state *ret)
{
	for (size_t i = 0; i < counters->count; i++)
		if (is_memory_class(counters->items[i].what))
			return;
	add_text(ret->finds, sizeof(ret->finds), "; no event of memory (numacount list: why)");
}

/* What is known about links where no counter is of one. */
static void add_missing_links(const struct nc_host *host, const struct nc_counters *counters,
                              struct nc_source_state *ret)
{
	const struct nc_family *family = nc_host_family(host);

	for (size_t i = 0; i < counters->count; i++)
		if (is_link_class(counters->items[i].what))
			return;
	if (np_bitmap_count(nc_host_sockets(host)) < 2) {
		add_text(ret->finds, sizeof(ret->finds), "; one socket, so no links");
	} else if (family->link_name) {
		add_text(ret->finds, sizeof(ret->finds), "; no PMU of the %s links",
		         family->link_name);
		snprintf(ret->remedy, sizeof(ret->remedy), "%s", FIRMWARE_REMEDY);
	} else {
		add_text(ret->finds, sizeof(ret->finds), "; links are not counted on this family");
	}
}

static int look_at_uncore(const struct np_sysroot *root, const struct nc_host *host,
                          struct nc_source_state *ret, struct np_error *err)
{
	struct nc_counters counters = { 0 };
	struct kinds kinds = { 0 };
	int rc = nc_counters_find(host, NC_CLASSES_DEFAULT, &counters, err);

	if (rc < 0)
		return rc;
	if (counters.count == 0) {
		refuse_uncore(root, host, &counters, ret);
	} else if (find_kinds(&counters, &kinds) < 0) {
		rc = np_error_sys(err, ENOMEM, "sources");
	} else {
		print_kinds(&kinds, ret->finds, sizeof(ret->finds));
		add_missing_memory(&counters, ret);
		add_missing_links(host, &counters, ret);
		try_out(host, &counters, ret);
	}
	kinds_release(&kinds);
	nc_counters_release(&counters);
	return rc;
}

static const struct nc_event *first_load_event(const struct nc_family *family)
{
	for (size_t i = 0; i < family->event_count; i++)
		if (!is_uncore_class(family->events[i].what))
			return &family->events[i];
	return NULL;
}

static bool is_load_class(enum nc_class what)
{
	return !is_uncore_class(what);
}

static int refuse_core(const struct np_sysroot *root, const struct nc_host *host,
                       const struct nc_counters *counters, struct nc_source_state *ret)
{
	const struct nc_family *family = nc_host_family(host);
	const struct nc_event *event = family ? first_load_event(family) : NULL;

	if (!family)
		return refuse_unknown_cpu(host, ret);
	if (!event)
		return nc_refuse(ret, "",
		                 "the table of %s has no event that tells loads of remote "
		                 "memory apart",
		                 family->name);
	if (has_pmu_of(host, is_load_class))
		return nc_refuse(
			ret, "--events FILE with a table of your own",
			"the PMU %s is there, but its events cannot be had: %s", event->pmu,
			counters->problem_count ? counters->problems[0] : "no CPU counts for it");
	if (nc_machine_is_virtual(root))
		return nc_refuse(ret,
		                 "give the guest a PMU (QEMU: -cpu host,pmu=on; libvirt: <pmu "
		                 "state='on'/>), or count on the host",
		                 "this is a virtual machine without a PMU for its CPUs (no %s)",
		                 event->pmu);
	return nc_refuse(ret,
	                 "look in the firmware's setup for what switches performance "
	                 "monitoring off",
	                 "the kernel has no PMU %s for the CPUs", event->pmu);
}

static int look_at_core(const struct np_sysroot *root, const struct nc_host *host,
                        struct nc_source_state *ret, struct np_error *err)
{
	struct nc_counters counters = { 0 };
	int rc = nc_counters_find(host, NC_CLASSES_LOADS, &counters, err);

	if (rc < 0)
		return rc;
	if (counters.count == 0) {
		refuse_core(root, host, &counters, ret);
	} else {
		char named[LIST_SIZE];

		snprintf(ret->finds, sizeof(ret->finds), "%s on %s", counters.items[0].pmu->name,
		         np_cpulist_named("CPU", nc_host_online(host), named, sizeof(named)));
		try_out(host, &counters, ret);
	}
	nc_counters_release(&counters);
	return rc;
}

/* Of a captured host nothing can be counted, whatever files it has. */
static void mark_captured(const struct nc_host *host, struct nc_source_state *state)
{
	if (nc_host_is_live(host) || state->availability != NC_AVAILABLE)
		return;
	state->availability = NC_UNTRIED;
	snprintf(state->reason, sizeof(state->reason), "%s", CAPTURED_REASON);
}

int nc_sources_look(const struct nc_host *host, struct nc_source_state ret[NC_SOURCE_COUNT],
                    struct np_error *err)
{
	struct np_sysroot root;
	int rc = np_sysroot_open(nc_host_root(host), &root, err);

	if (rc < 0)
		return rc;
	memset(ret, 0, NC_SOURCE_COUNT * sizeof(*ret));
	rc = look_at_uncore(&root, host, &ret[NC_SOURCE_UNCORE], err);
	if (rc == 0)
		rc = look_at_core(&root, host, &ret[NC_SOURCE_CORE], err);
	if (rc == 0)
		rc = nc_resctrl_look(host, &ret[NC_SOURCE_RESCTRL], err);
	if (rc == 0)
		rc = nc_numastat_look(host, &ret[NC_SOURCE_NUMASTAT], err);
	np_sysroot_close(&root);
	if (rc < 0)
		return rc;
	mark_captured(host, &ret[NC_SOURCE_RESCTRL]);
	mark_captured(host, &ret[NC_SOURCE_NUMASTAT]);
	return 0;
}
