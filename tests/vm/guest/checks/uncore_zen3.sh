# shellcheck shell=dash disable=SC2034 # the variables are uncore.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# Zen 3: two sockets, each with a data fabric that counts four links and eight channels by an event
# for each. Its four counters are too few for these twelve; with sixteen they are all counted.

# shellcheck source=/dev/null
. /lib.sh
# shellcheck source=/dev/null
. /uncore.sh

SOCKETS=2
DIES="0"
BOXES="0 1 2 3 4 5 6 7"
LINK_NUMBERS="0 1 2 3"
MEMORY="any"
LINK="out"

check "the module counts as its table says"
	expect_counts amd_df 0 0x7000002c7,0x800000207 20000000 14000000
	expect_counts amd_df 3 0x800000247,0x3807,0x1000038c7 42000000 56000000 91000000

check "too few counters make estimates of it all, and that is said"
	run numacount stat --json -- sleep 6
	expect_status 0
	for socket in $(sockets); do
		expect_stat_socket "$socket" 100000
		expect_between "coverage" 0.15 0.6 "$(socket_json "$socket" .coverage)"
	done
	run numacount stat -- sleep 2
	cat "$TMP/err" >>"$TMP/out"
	expect_stdout_match "estimate"

reload counters=16

. /checks/uncore_common.sh

check "between two sockets the matrix needs no map"
	run numacount matrix --json --duration 2
	expect_status 0
	expect_equal "what it rests on" "two sockets" "$(json .basis)"
	expect_near "from 0 to 1" "$(in_ns "$(bytes_of out 0)" "$(json .elapsed_ns)")" \
		"$(json '.bytes[0][1]')"
	expect_near "from 1 to 0" "$(in_ns "$(bytes_of out 1)" "$(json .elapsed_ns)")" \
		"$(json '.bytes[1][0]')"
