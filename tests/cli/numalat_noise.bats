#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numalat noise as a user runs it.

# shellcheck disable=SC2030,SC2031,SC2153,SC2154

load common

setup() {
	cpu=$(allowed_cpus | tail -n 1)
}

teardown() {
	stop_started
}

@test "wrong usage is refused" {
	refuses 2 "--duration: '0' is not a number of seconds in 0.001..86400" "$NUMALAT" noise --duration 0
	refuses 2 "--cpu: '-1' is not a number" "$NUMALAT" noise --cpu -1
	refuses 2 "'now': it takes no argument" "$NUMALAT" noise now
	refuses 1 "--cpu: CPU 32000 cannot be had: it is offline, not there, or outside of the cpuset" \
		"$NUMALAT" noise --cpu 32000
	refuses 1 "/missing: No such file or directory" "$NUMALAT" noise --root /missing
}

@test "it says what the host takes away from a CPU, and what that means" {
	run -0 --separate-stderr "$NUMALAT" noise --duration 0.2 --cpu "$cpu"
	[[ -z $stderr && $output == "CPU $cpu, "*"one reading of the clock takes "*"taken away  "*"waking      "* ]] || fail "$(told)"
	[[ ${lines[-1]} == "The host "*"this CPU "* ]] || fail "$(told)"
}

@test "the JSON document is one that its schema allows" {
	run -0 --separate-stderr "$NUMALAT" noise --duration 0.05 --cpu "$cpu" --json
	json_is "$cpu" "d['cpu']"
	json_is "True" "d['reads'] > 0 and d['threshold_ns'] >= 1000 and d['wakeups'] <= 17"
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/noise.json"
	validates "$BATS_TEST_TMPDIR/noise.json"
}

@test "what a host does not tell of stolen time is null" {
	mkdir "$BATS_TEST_TMPDIR/root"
	run -0 --separate-stderr "$NUMALAT" noise --duration 0.05 --cpu "$cpu" --json --root "$BATS_TEST_TMPDIR/root"
	json_is "None" "d['steal_ns']"
	run -0 --separate-stderr "$NUMALAT" noise --duration 0.05 --cpu "$cpu" --root "$BATS_TEST_TMPDIR/root"
	[[ $output == *"by the hypervisor: not known"* ]] || fail "$(told)"
}

# Whether the program has a handler of SIGINT by now.
catches_interrupts() {
	local caught

	caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$pid/status")
	[[ -n $caught ]] && ((16#$caught & 2))
}

@test "a signal ends it early, with what was seen until then" {
	start "$NUMALAT" noise --duration 3600 --cpu "$cpu" --json
	eventually catches_interrupts
	kill -INT "$pid"
	ends 0
	output=$(<"$out")
	json_is "True" "0 < d['duration_ns'] < 3600e9 and d['reads'] > 0"
}
