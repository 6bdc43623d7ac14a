# shellcheck shell=dash
# SPDX-License-Identifier: BSD-3-Clause
#
# A node without memory (2), one without CPUs (4), an offline CPU (3) and an isolated one (5) next
# to the card, two threads a core, a lopsided distance matrix, and a card of unknown place.

# shellcheck source=/dev/null
. /lib.sh
# shellcheck source=/dev/null
. /checks/common.sh

# How many CPUs "where" named.
cpus_used() {
	sed -n 's/^cpus: //p' "$TMP/out" | tr ',' '\n' |
		awk -F - '{ count += (NF == 2 ? $2 - $1 : 0) + 1 } END { print count + 0 }'
}

# Those of CPUs 3 and 5 that it named.
bad_cpus_used() {
	sed -n 's/^cpus: //p' "$TMP/out" | tr ',' '\n' |
		awk -F - '{
			for (cpu = $1; cpu <= (NF == 2 ? $2 : $1); cpu++)
				if (cpu == 3 || cpu == 5)
					print cpu
		}' | xargs
}

check "rank goes by the row of the card's node"
	run numaprobe rank eth0 --json
	expect_status 0
	expect_json '{"tier":1,"distance":10,"nodes":"1","cpus":"2,4,6-7"}'
	expect_json '{"tier":2,"distance":12,"nodes":"2","cpus":"8-11"}'
	expect_json '{"tier":3,"distance":20,"nodes":"0","cpus":"0-1"}'
	expect_json '{"tier":4,"distance":40,"nodes":"3","cpus":"12-15"}'
	expect_no_json '"tier":5'

check "rank excludes the offline and the isolated CPU with the reason"
	run numaprobe rank eth0 --json
	expect_json '{"cpus":"3","reason":"offline"}'
	expect_json '{"cpus":"5","reason":"isolated"}'

check "the report counts what is online and flags the lopsided distances"
	run numaprobe report
	expect_stdout_match "15 online \(0-2,4-15\), 8 cores, 2 packages, 4 L3"
	expect_stdout_match "asymmetric|not symmetric|differ"

check "rank for a card on the node without CPUs starts with the nearest CPUs"
	run numaprobe rank eth2 --json
	expect_status 0
	expect_json '"nodes":"4","evidence":"numa_node"'
	expect_json '{"tier":1,"distance":20,"nodes":"3","cpus":"12-15"}'
	expect_json '{"tier":2,"distance":32,"nodes":"0-1","cpus":"0-2,4,6-7"}'
	expect_json '{"tier":3,"distance":40,"nodes":"2","cpus":"8-11"}'

check "a card of unknown place is not ranked but said to be unknown"
	run numaprobe rank eth3
	expect_status 1
	expect_stderr "^numaprobe: .*eth3.*unknown"
	run numaprobe rank eth3 --json
	expect_json '"evidence":"unknown"'
	expect_json '"tiers":[]'

check "near a card of unknown place is refused, not guessed"
	refuses 125 "unknown" --near eth3

check "a bond is on the nodes of its cards"
	run sh -c "insmod /modules/tls.ko && insmod /modules/bonding.ko max_bonds=0 &&
		echo +bond0 >/sys/class/net/bonding_masters"
	expect_status 0
	for card in eth0 eth1; do
		echo "+$card" >/sys/class/net/bond0/bonding/slaves
	done
	run numaprobe rank bond0 --json
	expect_status 0
	expect_json '"pci":null,"nodes":"1-2","evidence":"numa_node"'
	expect_json '{"tier":1,"distance":10,"nodes":"1-2","cpus":"2,4,6-11"}'
	run numaprobe rank bond0
	expect_stdout_match "^bond0: spans nodes 1-2 "
	run numarun --near bond0 -- where
	expect_line "cpus: 2,4,6-11"
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	expect_stderr "^numarun: bond0: spans nodes 1-2"

check "interrupts of a bond are refused, and its cards named"
	run numarun --near bond0 --irq -- touch "$TMP/mark"
	expect_status 125
	expect_stderr "^numarun: --irq: bond0: .*cards under it: eth0, eth1"
	expect_not_run
	echo -bond0 >/sys/class/net/bonding_masters
	run numaprobe rank bond0
	expect_status 1

check "the user can tell the node of a card of unknown place"
	run numaprobe rank eth3 --node 3 --tier 1 --cpus
	expect_stdout "12-15"
	run numarun --near eth3 --near-node 3 -- where
	expect_line "cpus: 12-15"

check "numactl refuses to run on the node without memory"
	run numactl -N 2 touch "$TMP/mark"
	expect_equal "numactl ran the program" no "$([ -e "$TMP/mark" ] && echo yes || echo no)"

check "numarun runs on the node without memory"
	run numarun -N 2 -- where
	expect_status 0
	expect_line "cpus: 8-11"
	expect_line "policy: default"

check "near a card on the node without memory runs there"
	run numarun --near eth1 -- where --touch 16
	expect_status 0
	expect_line "cpus: 8-11"
	expect_equal "pages on nodes 0, 1, 3 and 4" 4096 \
		$(($(pages_on 0) + $(pages_on 1) + $(pages_on 3) + $(pages_on 4)))

check "memory of the node without memory is refused with the reason"
	refuses 125 "node 2.*memory" -m 2
	refuses 125 "node 2.*memory" -m 1,2
	refuses 125 "node 2.*memory" -i 0-2
	refuses 125 "node 2.*memory" -p 2

check "running on the node without CPUs is refused with the reason"
	refuses 125 "node 4.*CPU" -N 4
	refuses 125 "node 4.*CPU" -N 3,4

check "memory of the node without CPUs can be used"
	run numarun -m 4 -- where --touch 64
	expect_status 0
	expect_line "policy: bind:4"
	expect_line "pages: N4=16384"

check "all nodes means those that have what is asked for"
	run numarun -i all -- where --touch 16
	expect_status 0
	expect_line "policy: interleave:0-1,3-4"
	run numarun -N all -- where
	expect_status 0
	expect_equal "CPUs offline but used" "" "$(bad_cpus_used | tr -d 5)"

check "near takes neither the offline nor the isolated CPU"
	run numarun --near eth0 -- where
	expect_status 0
	expect_line "cpus: 2,4,6-7"

check "count takes one CPU a core and never a bad one"
	for count in 1 2 3 4 5 6 7 8; do
		run numarun --near eth0 --count "$count" -- where
		expect_status 0
		expect_equal "CPUs for --count $count" "$count" "$(cpus_used)"
		expect_equal "bad CPUs for --count $count" "" "$(bad_cpus_used)"
	done

check "count goes by cores in order of distance"
	run numarun --near eth0 --count 3 -- where
	expect_line "cpus: 2,4,6"
	expect_no_stderr
	run numarun --near eth0 --count 5 -- where
	expect_line "cpus: 2,4,6,8,10"
	expect_stderr "^numarun: .*tier 1.*tier 2"
	run numarun --near eth0 --count 8 -- where
	expect_line "cpus: 0,2,4,6,8,10,12,14"

check "a count beyond the usable cores is refused"
	refuses 125 "9|8" --near eth0 --count 9

check "smt takes every usable thread of the cores counted"
	run numarun --near eth0 --count 3 --smt -- where
	expect_line "cpus: 2,4,6-7"
	run numarun --near eth0 --count 4 --smt -- where
	expect_line "cpus: 2,4,6-9"
	run numarun --near eth1 --count 1 --smt -- where
	expect_line "cpus: 8-9"
	run numarun --near eth0 --count 8 --smt -- where
	expect_line "cpus: 0-2,4,6-15"

check "an offline CPU is refused as offline"
	refuses 125 "3.*offline|offline.*3" -C 3
	refuses 125 "3.*offline|offline.*3" -C 2-4

# As in numactl, -C stays inside the inherited affinity, and isolcpus= keeps CPU 5 out of it.
check "an isolated CPU is refused as isolated, with the option that takes it"
	refuses 125 "5.*isolated.*--all" -C 5
	refuses 125 "5.*isolated.*--all" -C 4,5
	run numactl -C 5 touch "$TMP/mark"
	expect_equal "numactl ran the program" no "$([ -e "$TMP/mark" ] && echo yes || echo no)"

check "an isolated CPU can be had by explicit wish"
	run numarun --all -C 5 -- where
	expect_status 0
	expect_line "cpus: 5"

check "numactl and numarun agree around the oddities"
	for line in '-N 1' '-N 0,3' '-C all' '-C +2' '-C !0' '-a -C 5' '-m 4' '-m all' '-i all' \
		'-i 3-4' '-p 4' '-P 3,4' '-N 3 -m 4' '-N 1 -l' '-m +3'; do
		# shellcheck disable=SC2086 # a line is several words
		numactl $line where 2>&1 | grep -v '^running on' >"$TMP/numactl"
		# shellcheck disable=SC2086
		run numarun $line where
		expect_equal "what where says under $line" "$(cat "$TMP/numactl")" \
			"$(grep -v '^running on' "$TMP/out")"
	done

# numactl leaves the last node out here.
check "all nodes but one includes the last"
	run numarun -m !0 -- where
	expect_line "policy: bind:1,3-4"

check "far goes by the distance from the CPUs"
	run numarun --near eth0 --far -- where --touch 16
	expect_status 0
	expect_line "policy: bind:3"
	expect_line "pages: N3=4096"

check "far can be a node without CPUs"
	run numarun --near eth1 --far -- where --touch 16
	expect_status 0
	expect_line "policy: bind:4"
	expect_line "pages: N4=4096"

check "far is never the node without memory"
	run numarun -C 12 --far -- where --touch 16
	expect_status 0
	expect_line "policy: bind:0"
