/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files that tell why something cannot be counted, and those that are counted from. The input's
 * parts, divided by '|', become the files below in that order; "~" leaves a file out, and files
 * behind the last part stay as they are on a host that is in order.
 */
#include "fuzz.h"
#include "tree.h"

#include "../../counters/lib/backend.h"

#include <errno.h>
#include <numacount/source.h>
#include <stdlib.h>
#include <string.h>

#define DOMAIN "sys/fs/resctrl/mon_data/mon_L3_00/"

enum { READINGS_MAX = 16 };

static const struct tree_file files[] = {
	{ "sys/devices/system/node/node0/numastat", "local_node 5\nother_node 6\n" },
	{ DOMAIN "mbm_total_bytes", "10\n" },
	{ DOMAIN "mbm_local_bytes", "6\n" },
	{ "proc/cpuinfo", "flags\t\t: fpu hypervisor cqm_mbm_total\n" },
	{ "proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t2\n" },
	{ "proc/self/uid_map", "0 0 4294967295\n" },
	{ "proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "proc/sys/kernel/cap_last_cap", "40\n" },
	{ "sys/kernel/security/lockdown", "none [integrity] confidentiality\n" },
	{ "proc/modules", "intel_uncore 1 0 - Live 0x0\n" },
	{ "proc/sys/kernel/osrelease", "6.1.0\n" },
	{ "lib/modules/6.1.0/modules.builtin", "kernel/arch/x86/events/intel/intel-uncore.ko\n" },
	{ "proc/filesystems", "nodev\tresctrl\n" },
	{ "proc/sys/vm/numa_stat", "1\n" },
	{ "sys/devices/system/cpu/cpu0/cache/index3/id", "0\n" },
};

enum { FILE_COUNT = sizeof(files) / sizeof(files[0]) };

static const int open_codes[] = { ENODATA, ENOENT, EISDIR, EINVAL, 0 };

static size_t put_parts(const char *input, size_t size)
{
	const char *end = input + size;
	size_t count = 0;

	while (count < FILE_COUNT && input < end) {
		const char *bar = memchr(input, '|', (size_t)(end - input));
		size_t len = (size_t)((bar ? bar : end) - input);
		bool is_left_out = len == 1 && *input == '~';

		tree_put(files[count++].path, is_left_out ? NULL : input, is_left_out ? 0 : len);
		input = bar ? bar + 1 : end;
	}
	return count;
}

static void check_states(const struct nc_host *host)
{
	struct nc_source_state states[NC_SOURCE_COUNT];
	struct np_error err = { 0 };

	if (nc_sources_look(host, states, &err) < 0)
		fuzz_fail("looking failed", err.text);
	for (int i = 0; i < NC_SOURCE_COUNT; i++) {
		if (states[i].availability == NC_AVAILABLE)
			fuzz_fail("a captured host can be counted on", states[i].finds);
		if (!*states[i].reason)
			fuzz_fail("no reason", nc_source_name((enum nc_source)i));
	}
}

static void check_refusals(const struct nc_host *host)
{
	static const int codes[] = { EACCES, EPERM, ENOSYS, ENOENT };
	static const struct nc_counter counter = { .name = "event" };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		char reason[512];
		char remedy[256];

		nc_perf_explain(host, codes[i], &counter, reason, remedy);
		if (!*reason || !*remedy)
			fuzz_fail("a refusal without reason or remedy", reason);
	}
}

typedef int open_fn(const struct nc_host *host, struct nc_counters *ret_counters,
                    struct nc_backend **ret, struct np_error *err);

static void check_backend(const struct nc_host *host, open_fn *open)
{
	struct nc_reading readings[READINGS_MAX];
	struct nc_counters counters = { 0 };
	struct nc_backend *backend = NULL;
	struct np_error err = { 0 };
	int rc = open(host, &counters, &backend, &err);

	fuzz_check(rc, &err, open_codes);
	if (rc == 0) {
		if (counters.count > READINGS_MAX)
			fuzz_fail("more counters than files", counters.items[0].box);
		if (backend->ops->read(backend, UINT64_MAX / 2, readings, &err) < 0)
			fuzz_fail("reading failed", err.text);
		for (size_t i = 0; i < counters.count; i++)
			if (readings[i].note != NC_NOTE_NONE && readings[i].note != NC_NOTE_FAILED)
				fuzz_fail("an odd note", counters.items[i].name);
		backend->ops->close(backend);
	}
	nc_counters_release(&counters);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nc_host_source from = { .root = tree_root() };
	static bool is_built;
	struct nc_host *host;
	struct np_error err = { 0 };
	size_t count;

	if (!is_built) {
		tree_put_host();
		for (size_t i = 0; i < FILE_COUNT; i++)
			tree_put_back(&files[i]);
	}
	is_built = true;
	count = put_parts((const char *)data, size);
	if (nc_host_load(&from, &host, &err) < 0)
		fuzz_fail("loading failed", err.text);
	check_states(host);
	check_refusals(host);
	check_backend(host, nc_resctrl_open);
	check_backend(host, nc_numastat_open);
	nc_host_free(host);
	while (count-- > 0)
		tree_put_back(&files[count]);
	return 0;
}
