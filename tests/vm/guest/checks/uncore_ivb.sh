# shellcheck shell=dash disable=SC2034,SC2154 # the variables are uncore.sh's and lib.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# Ivy Bridge-EP: four sockets of two cores in a ring, QPI links 0 and 1, channels 0 and 4. CPUs 2 S
# and 2 S + 1 are socket S. And what can go wrong while counting: counters in other hands, registers
# that wrap, CPUs and PMUs that go, a kernel that refuses.

# shellcheck source=/dev/null
. /lib.sh
# shellcheck source=/dev/null
. /uncore.sh

SOCKETS=4
DIES="0"
BOXES="0 1"
LINK_NUMBERS="0 1"
MEMORY="read write"
LINK="out in"

paranoid=/proc/sys/kernel/perf_event_paranoid
cpus=/sys/devices/system/cpu

as_user() { # PROGRAM ARGUMENT...
	local program

	program=$(command -v "$1")
	shift
	run start-stop-daemon -S -c 1000:1000 -x "$program" -- "$@"
}

check "the module counts as its table says"
	expect_counts uncore_qpi_0 0 0x200,0x201,0x600,0x14 80000000 96000000 120000000 1000000000
	expect_counts uncore_qpi_1 3 0x200,0x200802,0x200403 96000000 60000000 20000000
	expect_counts uncore_imc_4 6 0x304,0xc04 83000000 34000000
	expect_counts uncore_ha_1 2 0x101,0x201,0x401,0x801 34000000 9000000 13000000 5000000

. /checks/uncore_common.sh

check "the clock tells what a link can carry"
	run numacount stat --json -- sleep 2
	expect_status 0
	# 8.0 GT/s, 2 bytes each.
	expect_equal "nominal peak" 16000000000 \
		"$(link_json 1 0 .out.nominal_bytes_per_s)"

check "without a map of the links the matrix has sums alone"
	run numacount matrix --json --duration 2
	expect_status 0
	expect_equal "inferred" true "$(json .inferred)"
	expect_equal "bytes from 0 to 1" null "$(json '.bytes[0][1]')"
	for socket in $(sockets); do
		expect_near "sent by $socket" \
			"$(in_ns "$(bytes_of out "$socket")" "$(json .elapsed_ns)")" \
			"$(json ".sent_bytes[$socket]")"
	done

check "a rival for the counters makes an estimate of it, and that is said"
	start_rival uncore_qpi_0 2 0x200,0x201,0x14
	run numacount stat --json -- sleep 4
	expect_status 0
	expect_stat_socket 1 100000
	expect_between "coverage of the socket" 0.1 0.9 "$(socket_json 1 .coverage)"
	expect_between "coverage of another" 0.999 1 "$(socket_json 2 .coverage)"
	expect_stat_socket 2
	run numacount stat -- sleep 2
	cat "$TMP/err" >>"$TMP/out"
	expect_stdout_match "estimate"
	run numacount record -I 500 -o /tmp/rows.jsonl --duration 3
	row_sums /tmp/rows.jsonl
	expect_equal "note of the rows" multiplexed \
		"$(row_sum interconnect_out 1 0 notes)"
	release_rival

check "events that do not fit at once take turns, and that is said"
	set_parameter taken 2
	run numacount stat --json -- sleep 4
	expect_status 0
	for socket in $(sockets); do
		expect_stat_socket "$socket" 100000
		expect_between "coverage of the socket" 0.3 0.9 "$(socket_json "$socket" .coverage)"
		expect_equal "whether it is an estimate" true \
			"$(socket_json "$socket" .is_estimate)"
	done
	expect_equal "notes that say so" true "$(json '[.notes[] | test("take turns")] | any')"
	set_parameter taken 0

check "counters that others hold give no number"
	set_parameter taken 4
	run numacount stat --json -- sleep 1
	expect_status 1
	expect_equal "bytes" "null" "$(socket_json 1 .memory_read_bytes)"
	expect_stderr "nothing was counted: .*other events"
	expect_no_json '"memory_read_bytes":0'
	set_parameter taken 0

for wrap in fold raw; do
	reload wrap=$wrap wrap_ms=1500
	numacount stat --json -- sleep 4 >"/tmp/stat-$wrap" 2>&1
	numacount record -I 200 -o "/tmp/rows-$wrap.jsonl" --duration 4
done
reload

expect_no_jump() { # WRAP
	cp "/tmp/stat-$1" "$TMP/out"
	row_sums "/tmp/rows-$1.jsonl"
	for socket in $(sockets); do
		expect_stat_socket "$socket"
		expect_row_sums "$socket"
		expect_between "socket $socket: the fastest row" 1 \
			"$(in_ns "$(bytes_of read "$socket")" 1500000000)" \
			"$(row_sum memory_read "$socket" - max)"
	done
}

check "a register that wraps in the driver makes no jump"
	expect_no_jump fold

check "a register of 48 bits that wraps before our eyes makes no jump"
	expect_no_jump raw

check "when the owner goes offline the series goes on"
	start_record /tmp/rows.jsonl 6
	sleep 2
	echo 0 >$cpus/cpu4/online
	finish
	echo 1 >$cpus/cpu4/online
	expect_status 0
	row_sums /tmp/rows.jsonl
	expect_equal "cpumask" 0,2,5-6 "$(cat "$PMUS/uncore_imc_0/cpumask")"
	expect_row_sums 2 50000
	expect_row_sums 1
	expect_row_sums 3
	expect_between "unknown rows" 0 2 "$(row_sum memory_read 2 - unknown)"
	expect_equal "a row with the note 'moved'" 1 \
		"$(row_sum memory_read 2 - notes | grep -cw moved)"

check "where a driver moves nothing the socket is unknown until its CPU is back"
	reload migrate=0
	start_record /tmp/rows.jsonl 8
	sleep 2
	echo 0 >$cpus/cpu4/online
	sleep 2
	echo 1 >$cpus/cpu4/online
	finish
	expect_status 0
	expect_stderr "socket 2: opening the counters again on CPU 5 failed: No such device"
	expect_stderr "socket 2 counts again, on CPU 4"
	row_sums /tmp/rows.jsonl
	expect_row_sums 2 100000
	expect_row_sums 1
	expect_between "unknown rows" 6 20 "$(row_sum memory_read 2 - unknown)"
	reload

check "when a whole socket goes offline its rows are unknown and the others go on"
	start_record /tmp/rows.jsonl 6
	sleep 2
	echo 0 >$cpus/cpu6/online
	echo 0 >$cpus/cpu7/online
	finish
	echo 1 >$cpus/cpu6/online
	echo 1 >$cpus/cpu7/online
	expect_status 0
	row_sums /tmp/rows.jsonl
	expect_row_sums 1
	expect_row_sums 2
	expect_between "unknown rows" 8 30 "$(row_sum memory_read 3 - unknown)"
	expect_equal "a row with the note 'offline'" 1 \
		"$(row_sum memory_read 3 - notes | grep -cw offline)"
	expect_row_sum read 3 "" 100000

check "when the socket comes back it is counted again"
	start_record /tmp/rows.jsonl 8
	sleep 2
	echo 0 >$cpus/cpu6/online
	echo 0 >$cpus/cpu7/online
	sleep 2
	echo 1 >$cpus/cpu6/online
	echo 1 >$cpus/cpu7/online
	finish
	expect_status 0
	row_sums /tmp/rows.jsonl
	expect_between "unknown rows" 6 18 "$(row_sum memory_read 3 - unknown)"
	expect_row_sum read 3 "" 100000
	expect_row_sums 2
	expect_near "the last row" "$(in_ns "$(bytes_of read 3)" 200000000)" \
		"$(jq -r 'select(.class == "memory_read" and .socket == 3) | .value * 200000000 /
			.interval_ns | floor' /tmp/rows.jsonl | tail -n 1)"

check "when a PMU is unregistered its rows say so and the others go on"
	start_record /tmp/rows.jsonl 6
	sleep 2
	set_parameter unregister uncore_qpi_1
	finish
	expect_status 0
	set_parameter register uncore_qpi_1
	row_sums /tmp/rows.jsonl
	for socket in $(sockets); do
		expect_between "unknown rows of link 1" 8 30 \
			"$(row_sum interconnect_out "$socket" 1 unknown)"
		expect_equal "a row with the note 'gone'" 1 \
			"$(row_sum interconnect_out "$socket" 1 notes | grep -cw gone)"
		expect_equal "unknown rows of link 0" 0 \
			"$(row_sum interconnect_out "$socket" 0 unknown)"
		expect_row_sum out "$socket" 0
		expect_row_sum read "$socket" ""
	done

check "stat names a PMU that went while it counted"
	run numacount stat -- sh -c "sleep 1; echo uncore_imc_4 >$MODULE_PARAMETERS/unregister; sleep 1"
	cat "$TMP/err" >>"$TMP/out"
	expect_stdout_match "uncore_imc_4"
	set_parameter register uncore_imc_4

check "a kernel that says busy is quoted"
	set_parameter refuse 16
	run numacount stat -- true
	expect_status 1
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	expect_stderr "busy|in use|hold"
	set_parameter refuse 0

check "an ordinary user may list and explain, and is told what stat needs"
	echo 2 >$paranoid
	as_user numacount list
	expect_status 0
	expect_stdout_match "uncore_qpi/"
	as_user numacount explain
	expect_status 1
	expect_stdout_match "perf_event_paranoid"
	as_user numacount stat -- true
	expect_status 1
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	expect_stderr "perf_event_paranoid"
	expect_stderr "CAP_PERFMON"

check "an ordinary user may count when the kernel permits it"
	echo 0 >$paranoid
	as_user numacount stat --json -- sleep 2
	expect_status 0
	expect_stat_socket 3
	echo 3 >$paranoid

check "without the PMUs nothing is counted, and a fallback has to be asked for"
	rmmod uncore_test
	run numacount stat -- true
	expect_status 1
	expect_stderr "uncore"
	run numacount stat --json --allow-fallback -- true
	expect_equal "source" numastat "$(json .source)"
	expect_no_json '"memory_read_bytes":0'
