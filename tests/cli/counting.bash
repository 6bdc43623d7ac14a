# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# For the tests that count: the kernel's software events, which every host has, in place of PMUs of
# memory controllers and links.

# Writes software.ini: its events under their own names.
write_software() {
	cat >software.ini <<-'END'
		[family software]
		title = software events
		cpu = GenuineIntel 255/255
		counters = 64
		source = include/uapi/linux/perf_event.h
		[event cpu_clock]
		class = other
		pmu = software
		terms = config=0x0
		units = 1/1
		source = include/uapi/linux/perf_event.h
		[event page_faults]
		class = other
		pmu = software
		terms = config=0x2
		units = 1/1
		source = include/uapi/linux/perf_event.h
	END
}

# Writes links.ini, where a nanosecond of a CPU is a byte sent and a byte read: what must come out is
# known, without asking anyone.
write_links() {
	cat >links.ini <<-'END'
		[family links]
		title = made-up links
		cpu = GenuineIntel 255/254
		counters = 64
		source = include/uapi/linux/perf_event.h
		[event sent]
		class = interconnect_out
		pmu = software
		terms = config=0x0
		units = 1/1
		source = include/uapi/linux/perf_event.h
		[event read]
		class = memory_read
		pmu = software
		terms = config=0x0
		units = 1/1
		source = include/uapi/linux/perf_event.h
	END
}

# Wants to count the whole machine.
# shellcheck disable=SC2154
needs_counting() {
	[[ -e software.ini ]] || write_software
	run --separate-stderr "$NUMACOUNT" record --events software.ini --family software -I 10 --duration 0.01 -o probe.csv
	[[ $status -ne 0 ]] || return 0
	[[ $status -eq 1 && $stderr =~ perf_event_paranoid|CAP_PERFMON|container ]] || fail "$(told)"
	skip "may not count here: $stderr"
}

# Wants a host where no uncore counter can be had, for one reason or another.
needs_no_uncore() {
	run "$NUMACOUNT" explain --json
	[[ $status -eq 1 ]] || skip "this host has uncore counters"
}

# As needs_no_uncore, and page allocations to fall back on.
needs_fallback() {
	needs_no_uncore
	[[ $(json '[s["available"] for s in d["sources"] if s["source"] == "numastat"]') == "[True]" ]] ||
		skip "no numastat here"
}
