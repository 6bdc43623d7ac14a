#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# examples/roles/store.ini and examples/main_job.sh: server and client placed, verified, counted if that can be, and
# measured, in one go. quickstart.sh ends with it.

# shellcheck disable=SC2030,SC2031,SC2154

load common

setup() {
	local program

	mkdir "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/files"
	for program in "$NUMAPROBE" "$NUMARUN" "$NUMACOUNT" "$NUMALAT" "$NUMASTORE"; do
		ln -s "$(realpath "$program")" "$BATS_TEST_TMPDIR/bin/${program##*/}"
	done
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
	export TMPDIR=$BATS_TEST_TMPDIR/files
}

# Both together are more than the machines of some of us have.
needs_memory() { # MIB
	local free

	free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
	[[ $((free / 1024)) -ge $1 ]] || skip "less than $1 MiB of memory"
}

# has_line REGEX: the summary has it.
has_line() {
	sed -n '/^Summary$/,$p' <<<"$output" | grep -qE -e "$1" || fail "$(told)" "no line: $1"
}

# Nothing listens where the server did.
port_is_free() {
	local port

	port=$(sed -n 's/^store: memcache listens on [^ ]*://p' <<<"$output")
	[[ -n $port ]] || fail "$(told)" "no port"
	run ! bash -c ": </dev/tcp/127.0.0.1/$port" 2>/dev/null
}

@test "the main job places, verifies and measures, and ends with one summary" {
	local arm

	needs_two_cpus
	needs_memory 2048
	run --separate-stderr "$NUMAKIT_SOURCE/examples/main_job.sh"
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	has_line '^  card      '
	has_line '^  store     on CPU [0-9]+$'
	has_line '^  client    on CPU [0-9]+$'
	has_line '^  verified  every thread'
	has_line '^  memory    ARENA NODE .* VERIFIED'
	has_line '^ +0 +[0-9]+ +10 256M '
	has_line '^ +far: node [0-9]+'
	[[ $(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' | wc -l) -gt 1 ]] ||
		has_line '^ +near and far are one node: '
	for arm in near far; do
		has_line "^  $arm +total download, us: p50 [0-9.]+, p90 [0-9.]+, p99 [0-9.]+, p99.9 [0-9.]+\$"
	done
	has_line '^  verdict   .*(faster|told)'
	has_line '^  bytes     (of memory and links|not counted: .+)'
	has_line "^  files     $TMPDIR/main_job"
	port_is_free
	# What it says is in the files that it leaves.
	output=$(<"$(echo "$TMPDIR"/main_job.*/verify.json)")
	json_is "(True, ['store', 'client'])" "(d['ok'], [p['role'] for p in d['programs']])"
	run "$NUMALAT" show "$TMPDIR"/main_job.*/both.nlt
	[[ $status -eq 0 ]] || fail "$(told)"
}

@test "a main job whose server cannot start fails, and leaves nothing" {
	needs_two_cpus
	rm "$BATS_TEST_TMPDIR/bin/numastore"
	printf '#!/bin/sh\necho "no memory today" >&2\nexit 1\n' >"$BATS_TEST_TMPDIR/bin/numastore"
	chmod +x "$BATS_TEST_TMPDIR/bin/numastore"
	run --separate-stderr "$NUMAKIT_SOURCE/examples/main_job.sh"
	[[ $status -ne 0 && $output == *"store: no memory today"* && $output != *Summary* ]] || fail "$(told)"
	[[ $stderr == *"main_job.sh: the run failed"* ]] || fail "$(told)"
}

@test "the roles near a card are on its node, the server first" {
	cd "$BATS_TEST_TMPDIR"
	sed "s/eth0/$NIC/" "$NUMAKIT_SOURCE/examples/roles/store.ini" >store.ini
	run --separate-stderr "$NUMARUN" --roles store.ini --dry-run --root "$EJFAT2"
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	json_is "[('store', '80', '10'), ('client', '81', '10')]" \
		"[(p['role'], p['cpus'], p['nodes']) for p in d['programs']]"
	# The plan of the server's memory, with the options that the file has.
	run --separate-stderr "$NUMASTORE" --dry-run --root "$EJFAT2" --numa "$NIC" \
		--cores 1 --memory 256M --sub-memory 256M --place near-=local --place far-=far
	[[ $status -eq 0 ]] || fail "$(told)"
	json_is "[80] 16 [10, 32] [10, 7]" \
		"' '.join(map(str, [d['workers'], len(d['arenas']), [d['arenas'][i]['distance'] for i in (0, -1)], [p['node'] for p in d['places']]]))"
}
