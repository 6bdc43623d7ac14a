# shellcheck shell=dash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sixteen nodes, four distances, the card on node 10: tiers, and how a count goes from one to the
# next.

# shellcheck source=/dev/null
. /lib.sh
# shellcheck source=/dev/null
. /checks/common.sh

check "rank finds the four tiers of the card"
	run numaprobe rank eth0 --json
	expect_status 0
	expect_no_stderr
	expect_json '"schema":"numakit/rank/1"'
	expect_json '{"tier":1,"distance":10,"nodes":"10","cpus":"20-21"}'
	expect_json '{"tier":2,"distance":11,"nodes":"11","cpus":"22-23"}'
	expect_json '{"tier":3,"distance":12,"nodes":"8-9,12-15","cpus":"16-19,24-31"}'
	expect_json '{"tier":4,"distance":32,"nodes":"0-7","cpus":"0-15"}'
	expect_no_json '"tier":5'
	expect_json '"excluded":[]'

check "the report counts cores, packages and caches"
	run numaprobe report
	expect_stdout_match "32 online \(0-31\), 32 cores, 2 packages, 16 L3"
	expect_stdout_match "eth0 .* 20-21 / 22-23 / 16-19,24-31 / 0-15"

check "rank says which card it is and what its place rests on"
	run numaprobe rank eth0 --json
	expect_json '"name":"eth0","kind":"net","pci":"0000:c1:00.0","nodes":"10","evidence":"numa_node"'

check "rank prints the CPUs of one tier alone for scripts"
	run numaprobe rank eth0 --tier 1 --cpus
	expect_stdout "20-21"
	run numaprobe rank eth0 --tier 2 --cpus
	expect_stdout "22-23"
	run numaprobe rank eth0 --tier 3 --cpus
	expect_stdout "16-19,24-31"
	run numaprobe rank eth0 --tier 4 --cpus
	expect_stdout "0-15"

check "rank knows the card by its PCI address too"
	run numaprobe rank c1:00.0 --tier 1 --cpus
	expect_stdout "20-21"
	run numaprobe rank 0000:c1:00.0 --tier 1 --cpus
	expect_stdout "20-21"

check "near takes all CPUs of the best tier"
	run numarun --near eth0 -- where
	expect_status 0
	expect_line "cpus: 20-21"
	expect_no_stderr

check "hwloc-bind finds the same CPUs near the card"
	run hwloc-bind os=eth0 -- where
	expect_line "cpus: 20-21"

check "a count that the tier can hold does not spill"
	run numarun --near eth0 --count 2 -- where
	expect_status 0
	expect_line "cpus: 20-21"
	expect_no_stderr

check "a count of one takes the first core"
	run numarun --near eth0 --count 1 -- where
	expect_status 0
	expect_line "cpus: 20"

check "a larger count spills into the next tier and says so"
	run numarun --near eth0 --count 4 -- where
	expect_status 0
	expect_line "cpus: 20-23"
	expect_stderr "^numarun: .*tier 1.*tier 2"

check "a count of twelve spills over three tiers in order of distance"
	run numarun --near eth0 --count 12 -- where
	expect_status 0
	expect_line "cpus: 16-27"

check "all cores can be counted and not one more"
	run numarun --near eth0 --count 32 -- where
	expect_status 0
	expect_line "cpus: 0-31"
	refuses 125 "33|32" --near eth0 --count 33

check "strict refuses to spill"
	refuses 125 "tier 1" --near eth0 --count 4 --strict

check "strict is content with what the tier holds"
	run numarun --near eth0 --count 2 --strict -- where
	expect_status 0
	expect_line "cpus: 20-21"

check "tier chooses the tier to begin with"
	run numarun --near eth0 --tier 3 -- where
	expect_status 0
	expect_line "cpus: 16-19,24-31"
	run numarun --near eth0 --tier 2 --count 1 -- where
	expect_status 0
	expect_line "cpus: 22"

check "near knows the card by its PCI address and by numactl's names"
	for name in c1:00.0 0000:c1:00.0 pci:c1:00.0 netdev:eth0; do
		run numarun --near "$name" -- where
		expect_line "cpus: 20-21"
	done

check "far binds memory to the other socket"
	run numarun --near eth0 --far -- where --touch 16
	expect_status 0
	expect_line "cpus: 20-21"
	expect_line "policy: bind:0"
	expect_line "pages: N0=4096"

check "a node of the device as numactl names it"
	run numarun -N netdev:eth0 -m netdev:eth0 -- where --touch 16
	expect_status 0
	expect_line "cpus: 20-21"
	expect_line "policy: bind:10"
	expect_line "pages: N10=4096"
