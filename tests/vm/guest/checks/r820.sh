# shellcheck shell=dash
# SPDX-License-Identifier: BSD-3-Clause
#
# Four sockets in a ring, the card on node 2: where memory really lands under each policy, what an
# outside reader sees, and cpusets.

# shellcheck source=/dev/null
. /lib.sh
# shellcheck source=/dev/null
. /checks/common.sh

weights=/sys/kernel/mm/mempolicy/weighted_interleave

echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control

# A cgroup "box" that may use the CPUs and the memory of nodes 0 and 1 only.
make_box() {
	mkdir /sys/fs/cgroup/box
	echo 0-3 >/sys/fs/cgroup/box/cpuset.cpus
	echo 0-1 >/sys/fs/cgroup/box/cpuset.mems
}

check "rank orders the ring by hops"
	run numaprobe rank eth0 --json
	expect_status 0
	expect_json '{"tier":1,"distance":10,"nodes":"2","cpus":"4-5"}'
	expect_json '{"tier":2,"distance":20,"nodes":"1,3","cpus":"2-3,6-7"}'
	expect_json '{"tier":3,"distance":30,"nodes":"0","cpus":"0-1"}'

check "the report counts cores, packages and caches"
	run numaprobe report
	expect_stdout_match "8 online \(0-7\), 8 cores, 4 packages, 4 L3"

check "an outside reader finds the CPUs and every page where they were bound"
	hold numarun --near eth0 -m 2 -- where --touch 64 --hold
	expect_held_status Cpus_allowed_list 4-5
	expect_held_pages 16384 "bind:2 N2=16384"
	expect_line "pages: N2=16384"

check "near without a memory option allocates locally, whatever was inherited"
	run numactl -m 0 numarun --near eth0 -- where --touch 16
	expect_line "cpus: 4-5"
	expect_line "policy: local"
	expect_line "pages: N2=4096"

check "an ordinary user needs no privilege"
	run start-stop-daemon -S -c 1000:1000 -x /usr/bin/numarun -- \
		--near eth0 -m 1 -- sh -c 'id -u; where --touch 16'
	expect_status 0
	expect_line "1000"
	expect_line "cpus: 4-5"
	expect_line "policy: bind:1"
	expect_line "pages: N1=4096"

check "near far puts the memory two hops away"
	run numarun --near eth0 --far -- where --touch 64
	expect_status 0
	expect_line "cpus: 4-5"
	expect_line "policy: bind:0"
	expect_line "pages: N0=16384"

check "hwloc-bind finds the same CPUs near the card"
	run hwloc-bind os=eth0 -- where
	expect_line "cpus: 4-5"

check "weighted interleave shares pages by the weights in sysfs"
	echo 3 >"$weights/node1"
	run numarun -w all -- where --touch 64
	echo 1 >"$weights/node1"
	expect_status 0
	expect_line "policy: weighted-interleave:0-3"
	expect_pages 0 2731 512
	expect_pages 1 8192 512
	expect_pages 2 2731 512
	expect_pages 3 2731 512

check "interleave gives every node the same share"
	run numarun -i all -- where --touch 64
	expect_status 0
	expect_line "policy: interleave:0-3"
	expect_pages 0 4096 64
	expect_pages 1 4096 64
	expect_pages 2 4096 64
	expect_pages 3 4096 64

check "interleave over two nodes leaves the others alone"
	run numarun -i 1,3 -- where --touch 64
	expect_line "policy: interleave:1,3"
	expect_pages 1 8192 64
	expect_pages 3 8192 64
	expect_pages 0 0 0
	expect_pages 2 0 0

check "preferred many keeps to its nodes while they have room"
	run numarun -P 1,3 -- where --touch 64
	expect_status 0
	expect_line "policy: preferred-many:1,3"
	expect_equal "pages on nodes 1 and 3" 16384 $(($(pages_on 1) + $(pages_on 3)))

check "preferred takes its one node"
	run numarun -N 2 -p 1 -- where --touch 64
	expect_status 0
	expect_line "cpus: 4-5"
	expect_line "policy: preferred:1"
	expect_line "pages: N1=16384"

check "local allocation follows the CPUs"
	run numarun -N 3 -l -- where --touch 64
	expect_status 0
	expect_line "cpus: 6-7"
	expect_line "policy: local"
	expect_line "pages: N3=16384"

check "bind with balancing reaches the kernel with both"
	run numarun -b -m 2 -- where --touch 16
	expect_status 0
	expect_line "policy: bind:2"
	expect_line "flags: numa-balancing"
	expect_line "pages: N2=4096"

check "the program is told its placement in the environment"
	run numarun --near eth0 -m 2 -- env
	expect_line "NUMARUN_CPUS=4-5"
	expect_line "NUMARUN_NODES=2"
	expect_line "NUMARUN_MEM=bind:2"
	expect_line "NUMARUN_NEAR=eth0"

check "a nested run does not show its parent's environment"
	run numarun --near eth0 -m 2 -- numarun -C 4 -- env
	expect_line "NUMARUN_CPUS=4"
	expect_equal "lines with NUMARUN_NEAR" 0 "$(grep -c NUMARUN_NEAR "$TMP/out")"

check "children of the program inherit the placement"
	run numarun --near eth0 -m 1 -- sh -c 'where --touch 16; true'
	expect_line "cpus: 4-5"
	expect_line "pages: N1=4096"

check "a dry run tells the CPUs and the memory that a run would get"
	run numarun --near eth0 --far --dry-run -- where
	expect_json '"cpus":"4-5"'
	expect_json '"nodes":"0"'

make_box

check "rank inside a cpuset starts with the CPUs that it leaves"
	run_in_cgroup box numaprobe rank eth0 --json
	expect_status 0
	expect_json '{"tier":1,"distance":20,"nodes":"1","cpus":"2-3"}'
	expect_json '{"tier":2,"distance":30,"nodes":"0","cpus":"0-1"}'
	expect_json '{"cpus":"4-7","reason":"cpuset"}'

check "near inside a cpuset takes the nearest CPUs allowed and says so"
	run_in_cgroup box numarun --near eth0 -- where
	expect_status 0
	expect_line "cpus: 2-3"
	expect_stderr "^numarun: .*(node 2|distance 20|cpuset)"

check "memory outside the cpuset is refused by the name of the limit"
	run_in_cgroup box numarun -m 2 -- touch "$TMP/mark"
	expect_refusal 125 "Mems_allowed"

check "memory partly outside the cpuset is refused, not cut down"
	run_in_cgroup box numarun -m 1,2 -- touch "$TMP/mark"
	expect_refusal 125 "Mems_allowed"

check "a CPU outside the cpuset is refused by the name of the limit"
	run_in_cgroup box numarun -C 4 -- touch "$TMP/mark"
	expect_refusal 125 "cpuset"

check "all inside a cpuset means what the cpuset leaves"
	run_in_cgroup box numarun -i all -- where --touch 16
	expect_status 0
	expect_line "cpus: 0-3"
	expect_line "policy: interleave:0-1"
	expect_pages 0 2048 64
	expect_pages 1 2048 64

check "relative CPUs count within the cpuset"
	run_in_cgroup box numarun -C +2 -- where
	expect_status 0
	expect_line "cpus: 2"

rmdir /sys/fs/cgroup/box

# A partition, which takes its CPUs away from everybody else.
make_island() {
	mkdir /sys/fs/cgroup/island
	echo 4-5 >/sys/fs/cgroup/island/cpuset.cpus
	echo root >/sys/fs/cgroup/island/cpuset.cpus.partition
}

make_island

check "CPUs in another's partition are excluded from the ranking"
	run numaprobe rank eth0 --json
	expect_json '{"tier":1,"distance":20,"nodes":"1,3","cpus":"2-3,6-7"}'
	expect_json '{"cpus":"4-5","reason":"cpuset"}'

check "inside the partition near finds its CPUs"
	run_in_cgroup island numarun --near eth0 -- where
	expect_status 0
	expect_line "cpus: 4-5"

rmdir /sys/fs/cgroup/island

check "an inherited affinity limits near, and it is said"
	run taskset -c 0-3 numarun --near eth0 -- where
	expect_status 0
	expect_line "cpus: 2-3"
	expect_stderr "^numarun: .*(node 2|distance 20|affinity)"

check "numactl and numarun read the same command lines alike"
	run_at_most 300 /numactl_table.sh numactl numarun where
	expect_status 0
	expect_equal "lines that begin with 'not ok'" "" "$(grep '^not ok' "$TMP/out")"
	expect_stdout_match "^ok "

# shellcheck source=/dev/null
. /checks/latency.sh
