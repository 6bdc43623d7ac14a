# shellcheck shell=dash disable=SC2034 # the variables are uncore.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# Skylake-SP: four sockets of two dies in a ring, channels 0, 1 and 4, UPI links 0 and 2 in each die:
# numacount calls those of the second die 3 and 5. The kernel tells where the links end. CPU N is die N,
# CPUs 2 S and 2 S + 1 are socket S; the card is on node 2.

# shellcheck source=/dev/null
. /lib.sh
# shellcheck source=/dev/null
. /uncore.sh

SOCKETS=4
DIES="0 1"
BOXES="0 1 2"
LINK_NUMBERS="0 2 3 5"
MEMORY="read write"
LINK="out in"

check "the module counts as its table says"
	expect_counts uncore_upi_0 0 0xf02,0xf03,0x1 90000000 108000000 1300000000
	expect_counts uncore_upi_0 1 0xf02 99000000
	expect_counts uncore_upi_2 0 0xf02,0xf03 63000000 360000000
	expect_counts uncore_imc_4 7 0x304,0xc04 87000000 37000000

check "the module refuses as the real driver does"
	run perf_read uncore_upi_0 0 0xf02,0xf03,0x1,0x9702,0x9703
	expect_status 1
	expect_stderr EINVAL

. /checks/uncore_common.sh

check "list shows the links by their numbers, and no other boxes"
	run numacount list
	expect_status 0
	expect_stdout_match "^interconnect_out +txl_flits_all_data +0,2 +0-3 +16 +uncore_upi/"
	expect_stdout_match "^memory_read +cas_count_read +0-1,4 +0-3 +24 +uncore_imc/"
	expect_not "m3upi in the list" grep -q m3upi "$TMP/out"

check "explain says that the uncore is available"
	run numacount explain
	expect_status 0
	expect_stdout_match "uncore.*available"

check "the clock tells what a link can carry"
	run numacount stat --json -- sleep 2
	expect_status 0
	# 10.4 GT/s, 2 bytes each; of both dies.
	for position in $(link_positions); do
		expect_equal "nominal peak of link $(link_number "$position")" 20800000000 \
			"$(link_json 1 "$position" .out.nominal_bytes_per_s)"
	done

check "each link is told the socket where it ends"
	run numacount stat --json -- sleep 1
	expect_status 0
	for socket in $(sockets); do
		for position in $(link_positions); do
			expect_equal "peer of socket $socket, link $(link_number "$position")" \
				"$(peer_of "$socket" "$position")" \
				"$(link_json "$socket" "$position" .peer)"
		done
	done

check "what is sent is what is received"
	run numacount stat --json -- sleep 3
	expect_status 0
	for socket in $(sockets); do
		for position in $(link_positions); do
			expect_near "sent over link $(link_number "$position") of socket $socket" \
				"$(link_json "$socket" "$position" .out.bytes)" \
				"$(link_json "$(peer_of "$socket" "$position")" $((position ^ 1)) .in.bytes)"
		done
	done
	expect_between "consistency figures" 1 100 "$(json '.consistency | length')"

check "the matrix has what goes from each socket to its neighbours"
	run numacount matrix --json --duration 2
	expect_status 0
	expect_equal "what it rests on" "link map" "$(json .basis)"
	for socket in $(sockets); do
		for position in 0 1; do
			peer=$(peer_of "$socket" "$position")
			both="$position $((position + 2))"
			expect_near "from $socket to $peer" \
				"$(in_ns "$(bytes_of out "$socket" "$both")" "$(json .elapsed_ns)")" \
				"$(json ".bytes[$socket][$peer]")"
		done
		expect_equal "to the opposite socket" null \
			"$(json ".bytes[$socket][$(((socket + 2) % SOCKETS))]")"
	done

check "without the map of the links the peers are unknown and the bytes are there"
	reload map=0
	run numacount stat --json -- sleep 2
	expect_stat_socket 1
	expect_equal "peer" null "$(link_json 1 0 .peer)"
	reload

check "numarun reports placement, verification and the bytes of each socket"
	run numarun --near eth0 --counters -- sleep 2
	expect_status 0
	cat "$TMP/err" >>"$TMP/out"
	expect_stdout_match "cpus.*4-5"
	expect_stdout_match "verif"
	expect_stdout_match "^numarun: counted on the whole machine"
	for socket in $(sockets); do
		expect_near "read by socket $socket" "$(bytes_of read "$socket")" \
			"$(awk -v s="$socket" '$1 == s && $3 == "GB/s" { print $2 * 1e9; exit }' "$TMP/out")"
	done
