#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numacount list: what the PMUs of captured hosts and of this one can count.

load common

setup() {
	: "${NUMACOUNT:=$NUMAKIT_SOURCE/build/dev/counters/numacount}"
	COUNTERS=$NUMAKIT_SOURCE/tests/fixtures/counters
}

teardown() {
	[[ -z ${public-} ]] || rm -r "$public"
}

list() {
	local host=$1

	shift
	run --separate-stderr "$NUMACOUNT" list --root "$COUNTERS/$host" "$@"
}

# write_family LINE...: ours.ini, with one event of class other that has these lines.
write_family() {
	printf '%s\n' '[family ours]' 'title = ours' 'cpu = GenuineIntel 6/254' 'counters = 4' \
		'[event one]' 'class = other' "$@" >"$BATS_TEST_TMPDIR/ours.ini"
}

# row CLASS EVENT: the line of the table about it, its spaces made one.
row() {
	tr -s ' ' <<<"$output" | sed -n "s/^$1 $2 //p"
}

# row_is TEXT CLASS EVENT
row_is() {
	[[ $(row "$2" "$3") == "$1" ]] || fail "$(told)" "the row of $2 $3 is '$(row "$2" "$3")', wanted '$1'"
}

@test "a line for each event and kind of PMU, as perf would take it" {
	list icx-2s
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	[[ $output == *"family:    icx, "* ]]
	row_is "0-2 0-1 6 uncore_upi/event=0x2,umask=0xf/ 0xf02 format 64/9 bytes" \
		interconnect_out txl_flits_all_data
	row_is "0-3 0-1 8 uncore_imc/event=0x4,umask=0xf/ 0xf04 format 64 bytes" \
		memory_read cas_count_read
}

@test "sparse numbers and sockets of four" {
	list spr-4s
	row_is "0-2,4-6 0-3 22 uncore_imc/event=0x5,umask=0xcf/ 0xcf05 format 64 bytes" \
		memory_read cas_count_read
	list power9-2s
	[[ $output == *"sockets:   0,8"* ]] || fail "$(told)"
}

@test "a PMU that has its name by alias is shown by its own" {
	list spr-aliases
	row_is "0,2 0-1 4 uncore_type_8/event=0x2,umask=0xf/ 0xf02 format 64/9 bytes" \
		interconnect_out txl_flits_all_data
}

@test "four sockets of three links and six controllers fit on a screen" {
	list spr-4s
	[[ $(wc -l <<<"$output") -le 24 ]] || fail "$(told)"
}

@test "every counter, with link and peer" {
	list spr-4s --counters
	[[ $status -eq 0 ]] || fail "$(told)"
	tr -s ' ' <<<"$output" | grep -qE '^uncore_upi_2 6 3 0 2 0 [0-9]+ interconnect_out ' || fail "$(told)"
	[[ $(grep -c '^uncore_imc_6 ' <<<"$output") -eq 6 ]] || fail "$(told)"
}

@test "the same as JSON, with null for what is not known" {
	list grace-2s --json
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	json_is "numakit/list/1" 'd["schema"]'
	json_is "neoverse-v2 True" '"%s %s" % (d["family"]["name"], d["family"]["untested"])'
	json_is "[('nvidia_scf_pmu_0', 0, 0, 0), ('nvidia_scf_pmu_1', 2, 1, 0)]" \
		'[(c["pmu"], c["cpu"], c["socket"], c["link"]) for c in d["counters"] if c["class"] == "interconnect_in"]'
	json_is "{'0x1a2'} {(32, 1)} {None}" '"%s %s %s" % tuple({f(c) for c in d["counters"]
		if c["class"] == "interconnect_in"} for f in
		(lambda c: c["config"], lambda c: tuple(c["units"]), lambda c: c["peer"]))'
}

@test "each captured host has a document that its schema allows" {
	local host

	for host in "$COUNTERS"/*/sys; do
		host=${host%/sys}
		"$NUMACOUNT" list --root "$host" --json >"$BATS_TEST_TMPDIR/${host##*/}.json" 2>/dev/null || true
	done
	"$NUMACOUNT" list --json >"$BATS_TEST_TMPDIR/here.json" 2>/dev/null || true
	"$NUMACOUNT" list --families --json >"$BATS_TEST_TMPDIR/families.json"
	validates "$BATS_TEST_TMPDIR"/*.json
}

@test "an unknown processor: said, with how to go on" {
	list unknown-cpu
	[[ $status -eq 1 && $stderr == "numacount: no PMU of this host can count"*"numacount explain"* ]] || fail "$(told)"
	[[ $output == *"no table knows this processor, GenuineIntel 6/254/0"*"(--family)"*"(--events)"* ]] || fail "$(told)"
	[[ $output == *"families "*" icx "*" spr "* ]] || fail "$(told)"

	list unknown-cpu --family spr
	[[ $status -eq 0 && $output == *"family:    spr, "* ]] || fail "$(told)"
	refuses 1 "no family 'nehalem'; there are: " "$NUMACOUNT" list --root "$COUNTERS/unknown-cpu" --family nehalem
}

@test "what is damaged is left out and named, and the rest is counted" {
	list damaged
	[[ $status -eq 0 ]] || fail "$(told)"
	row_is "0 0-1 2 uncore_upi/event=0x2,umask=0xf/ 0xf02 format 64/9 bytes" \
		interconnect_out txl_flits_all_data
	[[ $output == *"note: uncore_upi_1 is left out: "*"format/umask"* ]] || fail "$(told)"
	[[ $output == *"note: uncore_imc_1 is left out: "*"cpumask"* ]] || fail "$(told)"
	[[ $output == *"note: uncore_imc_3: CPU 9 of its mask is not online"* ]] || fail "$(told)"
}

@test "the families, in words and as JSON" {
	run --separate-stderr "$NUMACOUNT" list --families
	[[ $status -eq 0 && $output == *"FAMILY "*"skx "* ]] || fail "$(told)"
	run --separate-stderr "$NUMACOUNT" list --families --json
	json_is "numakit/families/1" 'd["schema"]'
	json_is "True" '{"snbep", "ivbep", "hswep", "bdx", "skx", "icx", "spr", "gnr", "zen1", "zen2",
		"zen3", "zen4", "zen5", "neoverse-v2", "neoverse-n1", "power9"} <= {f["name"] for f in d["families"]}'
}

@test "this host, as an ordinary user too" {
	run --separate-stderr "$NUMACOUNT" list
	[[ $status -le 1 && $output == "processor: "* ]] || fail "$(told)"
	[[ $status -eq 0 || $stderr == "numacount: no PMU of this host can count"* ]] || fail "$(told)"
	[[ $(id -u) -eq 0 ]] || return 0
	# Where everybody may go, which the tests' own folders are not.
	public=$(mktemp -d)
	chmod 755 "$public"
	cp "$NUMACOUNT" "$public/numacount"
	local want=$output

	run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$public/numacount" list
	[[ $output == "$want" ]] || fail "$(told)" "as root it is:" "$want"
}

@test "a missing libpfm4 is no error" {
	local library

	library=$(ldconfig -p | sed -n 's/.*libpfm\.so\.4 .* => //p' | head -n 1)
	[[ -n $library ]] || skip "libpfm.so.4 is not installed: all other tests are this one"
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
	write_family 'pmu = software' 'terms = config=2' 'pfm = perf::PERF_COUNT_SW_PAGE_FAULTS'

	run --separate-stderr "$NUMACOUNT" list --events "$BATS_TEST_TMPDIR/ours.ini" --family ours
	[[ $status -eq 0 && $output == *" libpfm4 "* ]] || fail "$(told)"
	# shellcheck disable=SC2016
	run --separate-stderr unshare -m sh -c 'mount --bind /dev/null "$0" && exec "$@"' \
		"$(readlink -f "$library")" "$NUMACOUNT" list --events "$BATS_TEST_TMPDIR/ours.ini" --family ours
	[[ $status -eq 0 && -z $stderr && $output == *" format "* ]] || fail "$(told)"
}

@test "wrong usage is one line and status 2" {
	refuses 2 "--families and --counters: give one" "$NUMACOUNT" list --families --counters
	refuses 2 "'upi': takes options alone" "$NUMACOUNT" list upi
	refuses 2 "unknown option '--bogus'" "$NUMACOUNT" list --bogus
	refuses 1 "no host's root: " "$NUMACOUNT" list --root "$COUNTERS"
	refuses 1 "No such file" "$NUMACOUNT" list --root /nonexistent
}

@test "the encodings are those that perf makes of the same terms" {
	local events=/sys/bus/event_source/devices got

	command -v perf >/dev/null || skip "no perf"
	[[ -d $events/msr ]] || skip "no PMU 'msr' here"
	write_family 'pmu = msr' 'terms = event=0x4'
	run --separate-stderr "$NUMACOUNT" list --events "$BATS_TEST_TMPDIR/ours.ini" --family ours --json
	got=$(json '"type %d config %s" % (d["counters"][0]["type"], d["counters"][0]["config"])')
	run perf stat -vv -e msr/event=0x4/ true
	[[ $output == *perf_event_attr* ]] || skip "perf shows no codes here: $output"
	tr -s ' \n' '  ' <<<"$output" | grep -qE "${got/ config/ .*config}" || fail "wanted: $got" "$output"
}
