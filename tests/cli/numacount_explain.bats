#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numacount explain: what can be counted, and why not more; on this host, on hosts made up, and with
# the kernel's own clock in place of a PMU.

load common

PMUS=sys/bus/event_source/devices

setup() {
	host=$BATS_TEST_TMPDIR/host
	# A folder that any user can look into.
	open=$(mktemp -d)
	chmod 755 "$open"
}

teardown() {
	rm -rf "$open"
}

# put TEXT FILE: writes a file of the host that is made up.
put() {
	mkdir -p "$(dirname "$host/$2")"
	printf '%b\n' "$1" >"$host/$2"
}

# make_host SOCKETS MODEL FLAGS: one with two CPUs a socket.
make_host() {
	local cpu

	put "0-$(($1 * 2 - 1))" sys/devices/system/cpu/online
	for ((cpu = 0; cpu < $1 * 2; cpu++)); do
		put $((cpu / 2)) "sys/devices/system/cpu/cpu$cpu/topology/physical_package_id"
		put 0 "sys/devices/system/cpu/cpu$cpu/topology/die_id"
	done
	put "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: $2\nmodel name\t: Intel(R) Xeon(R)\nstepping\t: 4\nflags\t\t: fpu $3" \
		proc/cpuinfo
	put ext4 proc/filesystems
	put "" proc/modules
}

# make_pmu NAME TYPE MASK
make_pmu() {
	put "$2" "$PMUS/$1/type"
	put "$3" "$PMUS/$1/cpumask"
	put config:0-7 "$PMUS/$1/format/event"
	put config:8-15,32-43,45-55 "$PMUS/$1/format/umask"
}

# The kernel's clock as a family of its own: a PMU that every machine has.
make_clock() {
	[[ -e /$PMUS/software/type ]] || skip "the kernel here has no PMUs at all"
	cat >"$open/clock.ini" <<-'END'
		[family clock]
		title = the kernel's clock
		cpu = GenuineIntel 255/255
		counters = 4
		misses = All but time.
		source = perf_event_open(2)
		[event cpu_clock]
		class = other
		pmu = software
		terms = config=0x0
		units = 1
		source = include/uapi/linux/perf_event.h
	END
}

# explains STATUS OPTION...: its document in $output, valid, with nothing on standard error.
explains() {
	local want=$1

	shift
	run "-$want" --separate-stderr "$NUMACOUNT" explain --json "$@"
	[[ -z $stderr ]] || fail "$(told)"
	echo "$output" >"$BATS_TEST_TMPDIR/document.json"
	validates "$BATS_TEST_TMPDIR/document.json"
}

# source_has NAME KEY TEXT: the document says so of a source.
source_has() {
	local got

	got=$(json "[s['$2'] for s in d['sources'] if s['source'] == '$1'][0]")
	[[ $got == *"$3"* ]] || fail "$(told)" "$1.$2 is '$got', wanted '$3' in it"
}

@test "this host: each source is available, or has a reason" {
	local status_wanted=0

	run --separate-stderr "$NUMACOUNT" explain --json
	[[ $(json 'd["sources"][0]["available"]') == True ]] || status_wanted=1
	explains $status_wanted
	json_is "['uncore', 'resctrl', 'core', 'numastat']" '[s["source"] for s in d["sources"]]'
	json_is True 'all(s["available"] == (s["reason"] is None) for s in d["sources"])'
	json_is True 'all(s["found"] for s in d["sources"] if s["available"])'
}

@test "this host: a guest without uncore PMUs is told so" {
	grep -q '^flags.* hypervisor' /proc/cpuinfo || skip "no guest"
	! compgen -G "/$PMUS/uncore_*" >/dev/null || skip "it has uncore PMUs"
	! compgen -G "/$PMUS/amd_*" >/dev/null || skip "it has uncore PMUs"

	explains 1
	source_has uncore reason "this is a virtual machine"
	source_has uncore remedy "on the host itself"
}

@test "this host: page allocations stand under their own name" {
	[[ -e /sys/devices/system/node/node0/numastat ]] || skip "no NUMA nodes here"
	[[ $(cat /proc/sys/vm/numa_stat 2>/dev/null) != 0 ]] || skip "vm.numa_stat is 0"

	run "$NUMACOUNT" explain
	[[ $output == *$'\nnumastat: available\n    counts     page allocations'* ]] || fail "$(told)"
}

@test "without a command it is explain" {
	local text

	text=$("$NUMACOUNT" explain) || true
	run --separate-stderr "$NUMACOUNT"
	[[ $output == "$text" && -n $output ]] || fail "$(told)"
}

@test "lines fit 80 columns" {
	make_host 2 85 hypervisor

	run "$NUMACOUNT" explain
	! grep -nE '^.{81}' <<<"$output" >&2 || fail "lines above are too long"
	run "$NUMACOUNT" explain --root "$host"
	! grep -nE '^.{81}' <<<"$output" >&2 || fail "lines above are too long"
}

@test "boxes that have two names, or addresses for names, are told by kind" {
	local counters=$NUMAKIT_SOURCE/tests/fixtures/counters

	explains 0 --root "$counters/spr-4s"
	json_is '22 uncore_imc on sockets 0-3, 3 uncore_upi on each of sockets 0-3' 'd["sources"][0]["found"]'
	explains 0 --root "$counters/spr-aliases"
	json_is '2 uncore_imc and 2 uncore_upi on each of sockets 0-1' 'd["sources"][0]["found"]'
	explains 0 --root "$counters/altra-2s"
	source_has uncore found '2 arm_dmc620 on each of sockets 0-1; links are not counted'
}

@test "a host whose links alone can be counted is not taken for one that has it all" {
	cp -R "$NUMAKIT_SOURCE/tests/fixtures/counters/icx-2s" "$host"
	rm -r "$host/sys/bus/event_source/devices"/uncore_imc_*

	explains 0 --root "$host"
	source_has uncore found '3 uncore_upi on each of sockets 0-1; no event of memory'
}

@test "what can be opened is available, and ends with status 0" {
	make_clock
	[[ $(id -u) -eq 0 ]] || skip "not root"
	run "$NUMACOUNT" explain --json --events "$open/clock.ini" --family clock
	[[ $(json 'd["sources"][0]["reason"]') != *seccomp* ]] || skip "a filter refuses perf here"

	explains 0 --events "$open/clock.ini" --family clock
	json_is True 'd["sources"][0]["available"]'
	json_is "All but time." 'd["sources"][0]["misses"]'
	json_is "{'source': 'uncore', 'option': None}" 'd["stat"]'
	run -0 "$NUMACOUNT" explain --events "$open/clock.ini" --family clock
	[[ $output == *"numacount stat counts from uncore." ]] || fail "$(told)"
}

@test "an ordinary user is told the level and the capability" {
	local nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)

	make_clock
	[[ $(id -u) -eq 0 ]] || skip "not root: cannot become another user"
	[[ $(cat /proc/sys/kernel/perf_event_paranoid) -gt 0 ]] || skip "everybody may count here"
	"${nobody[@]}" test -x "$NUMACOUNT" || skip "an ordinary user cannot run $NUMACOUNT"

	run -1 --separate-stderr "${nobody[@]}" "$NUMACOUNT" explain --json --events "$open/clock.ini" --family clock
	[[ -z $stderr ]] || fail "$(told)"
	source_has uncore reason "perf_event_paranoid is "
	source_has uncore reason CAP_PERFMON
	source_has uncore remedy "sysctl kernel.perf_event_paranoid=0"
}

@test "a captured host that has its PMUs is not tried, and ends with status 0" {
	make_host 2 85 ""
	make_pmu uncore_upi_0 20 0,2
	make_pmu uncore_upi_1 21 0,2
	make_pmu uncore_imc_0 22 0,2

	explains 0 --root "$host"
	json_is None 'd["sources"][0]["available"]'
	json_is skx 'd["family"]["name"]'
	json_is True 'len(d["sources"][0]["misses"]) > 0'
	source_has uncore found "2 uncore_upi"
	source_has uncore found "1 uncore_imc"
	source_has uncore found "on each of sockets 0-1"
	source_has uncore reason "captured host"
	run -0 "$NUMACOUNT" --root "$host" explain
	[[ $output == *"counts from uncore there, if the kernel permits it." ]] || fail "$(told)"
}

@test "a machine of one socket has no links, and that is no lack" {
	make_host 1 85 ""
	make_pmu uncore_imc_0 22 0

	explains 0 --root "$host"
	source_has uncore found "one socket, so no links"
}

@test "a driver that is not loaded is named" {
	make_host 2 85 ""

	explains 1 --root "$host"
	source_has uncore reason "the module intel_uncore, is not loaded"
	source_has uncore remedy "modprobe intel_uncore"
	json_is None 'd["stat"]'
	run -1 "$NUMACOUNT" explain --root "$host"
	[[ $output == *"numacount stat has nothing to count from." ]] || fail "$(told)"
}

@test "an unknown processor is named, and --family helps" {
	make_host 2 254 ""
	make_pmu uncore_upi_0 20 0,2

	explains 1 --root "$host"
	json_is None 'd["family"]'
	source_has uncore reason "no event table knows this processor, GenuineIntel 6/254/4"
	source_has uncore remedy "--family NAME"
	explains 0 --root "$host" --family skx
	source_has uncore found "1 uncore_upi"
}

@test "resctrl that is not mounted has its remedy" {
	make_host 2 85 "cqm_mbm_total cqm_mbm_local"
	put "nodev\tresctrl" proc/filesystems

	explains 1 --root "$host"
	source_has resctrl remedy "mount -t resctrl resctrl /sys/fs/resctrl"
}

@test "the best source below takes --allow-fallback" {
	make_host 2 85 hypervisor
	put "local_node 5\nother_node 6" sys/devices/system/node/node0/numastat

	explains 1 --root "$host"
	json_is "{'source': 'numastat', 'option': '--allow-fallback'}" 'd["stat"]'
	run -1 "$NUMACOUNT" explain --root "$host"
	[[ $output == *"numacount stat --allow-fallback counts from numastat there, if the kernel permits it." ]] ||
		fail "$(told)"
}

@test "what a captured file says does not reach the terminal raw" {
	make_host 2 254 ""
	sed -i $'s/Xeon/\e[31mXeon/' "$host/proc/cpuinfo"

	run "$NUMACOUNT" explain --root "$host"
	[[ $output != *$'\e'* ]] || fail "$(told)"
}

@test "wrong usage and what cannot be read are one line" {
	refuses 2 "'eth0': it takes no argument" "$NUMACOUNT" explain eth0
	refuses 2 "unknown option '--bogus'" "$NUMACOUNT" explain --bogus
	refuses 1 "/nonexistent" "$NUMACOUNT" explain --root /nonexistent
	refuses 1 "no family 'bogus'" "$NUMACOUNT" explain --family bogus
}

@test "a full disk is an error" {
	[[ -w /dev/full ]] || skip "no /dev/full"
	run bash -c '"$NUMACOUNT" explain 2>&1 >/dev/full'
	[[ $status -eq 1 && $output == "numacount: standard output: "* ]] || fail "$(told)"
	run bash -c '"$NUMACOUNT" explain --json 2>&1 >/dev/full'
	[[ $status -eq 1 && $output == "numacount: standard output: "* ]] || fail "$(told)"
}
