# shellcheck shell=dash disable=SC2034 # the variables are uncore.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# Zen 4: two sockets, each with a data fabric that counts eight links, and memory channels with a PMU
# of their own: amd_umc_0 and 1 in socket 0, 12 and 13 in socket 1.

# shellcheck source=/dev/null
. /lib.sh
# shellcheck source=/dev/null
. /uncore.sh

SOCKETS=2
DIES="0"
BOXES="0 1"
LINK_NUMBERS="0 1 2 3 4 5 6 7"
MEMORY="read write"
LINK="out"

check "the module counts as its table says"
	expect_counts amd_df 2 0xb0f003e5f,0xd0f003e1f 20000000 15000000
	expect_counts amd_umc_1 0 0x10a,0x20a 23000000 10000000
	expect_counts amd_umc_12 2 0x10a,0x20a 40000000 16000000

check "a channel of one socket is refused on the other"
	run perf_read amd_umc_12 0 0x10a
	expect_status 1
	expect_stderr ENODEV

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
