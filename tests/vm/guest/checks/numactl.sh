# shellcheck shell=dash disable=SC2154 # status and pid are lib.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# numarun under the name numactl, on four nodes of two CPUs: what users and other projects' suites rely
# on numactl for, as tables. "numactl" is ours here, first in PATH; $real is numactl itself.

# shellcheck source=/dev/null
. /lib.sh

real=/usr/bin/numactl
mkdir -p /tmp/as /tmp/huge
ln -sf /usr/bin/numarun /tmp/as/numactl
PATH=/tmp/as:$PATH
hugetlb=hugepages/hugepages-2048kB

# Runs a table of "OPTIONS | CPUS | POLICY | PAGES-PER-NODE": what where, touching 16 MiB, must tell
# under numactl with these options. "-" for what is not compared.
where_table() {
	local options cpus policy pages

	while IFS='|' read -r options cpus policy pages; do
		# shellcheck disable=SC2086 # words
		run numactl $options where --touch 16
		expect_status 0
		expect_no_stderr
		expect_field cpus "$cpus"
		expect_field policy "$policy"
		expect_field pages "$pages"
	done
}

expect_field() { # NAME VALUE
	local value

	value=$(echo "$2" | xargs)
	[ "$value" = - ] || expect_line "$1: $value"
}

check "cpunodebind with membind places CPUs and every page"
	where_table <<-'TABLE'
	--cpunodebind=0 --membind=0     | 0-1 | bind:0 | N0=4096
	--cpunodebind=1 --membind=1     | 2-3 | bind:1 | N1=4096
	--cpunodebind=2 --membind=2     | 4-5 | bind:2 | N2=4096
	--cpunodebind=3 --membind=3     | 6-7 | bind:3 | N3=4096
	--cpunodebind=0 --membind=3     | 0-1 | bind:3 | N3=4096
	-N 1,3 -m 2                     | 2-3,6-7 | bind:2 | N2=4096
	-N 0 -m 2-3                     | 0-1 | bind:2-3 | -
	-N 2 -m same                    | 4-5 | bind:2 | N2=4096
	-N !0-2 -m !0,2,3               | 6-7 | bind:1 | N1=4096
	-N +1 -m +2                     | 2-3 | bind:2 | N2=4096
	-N netdev:eth0 -m netdev:eth0   | 4-5 | bind:2 | N2=4096
	TABLE

check "preferred takes its node while it has room"
	where_table <<-'TABLE'
	--preferred=0           | 0-7 | preferred:0 | N0=4096
	--preferred=1           | 0-7 | preferred:1 | N1=4096
	-p 2                    | 0-7 | preferred:2 | N2=4096
	-N 0 -p 3               | 0-1 | preferred:3 | N3=4096
	-p +1                   | 0-7 | preferred:1 | N1=4096
	-C 6 --preferred-many=1 | 6 | preferred-many:1 | N1=4096
	TABLE

check "preferred goes elsewhere when its node is full"
	run numactl -N 1 --preferred=1 where --touch 700
	expect_status 0
	expect_equal "some pages on other nodes" yes \
		"$([ "$(pages_on 1)" -gt 50000 ] && [ "$(pages_on 1)" -lt 179200 ] && echo yes)"

check "interleave shares pages evenly over its nodes"
	run numactl --interleave=all where --touch 64
	expect_status 0
	for node in 0 1 2 3; do
		expect_pages $node 4096 64
	done
	run numactl --interleave=0,3 where --touch 64
	expect_pages 0 8192 64
	expect_pages 3 8192 64
	run numactl -N 1 -i '!1' where --touch 48
	expect_line "cpus: 2-3"
	for node in 0 2 3; do
		expect_pages $node 4096 64
	done

check "an interleaved hog of memory fills all nodes alike"
	run numactl --interleave=all where --touch 1024
	expect_status 0
	for node in 0 1 2 3; do
		expect_pages $node 65536 512
	done

check "weighted interleave follows the weights"
	echo 3 >/sys/kernel/mm/mempolicy/weighted_interleave/node1
	run numactl --weighted-interleave=0,1 where --touch 64
	echo 1 >/sys/kernel/mm/mempolicy/weighted_interleave/node1
	expect_status 0
	expect_pages 0 4096 512
	expect_pages 1 12288 512

check "physcpubind takes CPUs by number"
	where_table <<-'TABLE'
	--physcpubind=0       | 0 | default | N0=4096
	--physcpubind=3       | 3 | default | N1=4096
	--physcpubind=7       | 7 | default | N3=4096
	-C 4,5                | 4-5 | default | N2=4096
	-C 0-2,7              | 0-2,7 | default | -
	-C +3                 | 3 | default | N1=4096
	-C !0-5               | 6-7 | default | N3=4096
	-C all                | 0-7 | default | -
	-C 5 --membind=0      | 5 | bind:0 | N0=4096
	TABLE

check "localalloc follows the CPUs"
	where_table <<-'TABLE'
	-N 0 --localalloc | 0-1 | local | N0=4096
	-N 1 --localalloc | 2-3 | local | N1=4096
	-C 5 -l           | 5 | local | N2=4096
	-N 3 -l           | 6-7 | local | N3=4096
	TABLE

# Each node's numa_hit and interleave_hit grow by what was allocated under a policy, and only there.
numastat_of() { # NODE FIELD
	sed -n "s/^$2 //p" "/sys/devices/system/node/node$1/numastat"
}

check "the kernel's own counters per node tell the same"
	for node in 0 1 2 3; do
		before=$(numastat_of $node numa_hit)
		run numactl -m $node where --touch 64
		grown=$(($(numastat_of $node numa_hit) - before))
		expect_equal "node $node: numa_hit grew by at least 16384 pages" yes \
			"$([ $grown -ge 16384 ] && echo yes || echo "by $grown")"
	done
	before=$(numastat_of 3 interleave_hit)
	run numactl -i 2-3 where --touch 64
	grown=$(($(numastat_of 3 interleave_hit) - before))
	expect_equal "node 3: interleave_hit grew by 8192 pages or little more" yes \
		"$([ $grown -ge 8100 ] && [ $grown -le 9000 ] && echo yes || echo "by $grown")"

check "hardware lists nodes, CPUs, sizes and distances for those who parse it"
	run numactl --hardware
	expect_status 0
	expect_line "available: 4 nodes (0-3)"
	expect_line "node 2 cpus: 4 5"
	expect_stdout_match "^node 3 size: [0-9]+ MB$"
	expect_stdout_match "^node 3 free: [0-9]+ MB$"
	expect_line "node distances:"
	expect_line "node   0   1   2   3 "
	expect_line "  0:  10  20  30  20 "
	expect_line "  3:  20  30  20  10 "
	expect_equal "--hardware less the free memory" "$($real -H | grep -v free)" \
		"$(numactl -H | grep -v free)"

mask_next() {
	sed -e 's/^preferred node: [0-9]* (interleave next)$/preferred node: N (interleave next)/' \
		-e 's/^interleavenode: [0-9]*$/interleavenode: N/'
}

check "show tells the state that the other options make"
	for options in "" "-m 1" "-m 0,2" "-i 1-3" "-p 2" "-P 0,2" "-C 2,5" "-N 2 -m 3" "-N 0,2"; do
		# shellcheck disable=SC2086 # words
		run numactl $options numactl --show
		expect_status 0
		# The node that is next moves on with each page that the process has had.
		# shellcheck disable=SC2086
		expect_equal "state with '$options'" "$($real $options $real --show | mask_next)" "$(mask_next <"$TMP/out")"
	done

check "all must stand before the sets that it counts for"
	for options in "-a -C 4" "-a -N 2" "-a -m 1" "-a -i 1,2" "-a -p 3" "-a -C 0 -m 1"; do
		# shellcheck disable=SC2086 # words
		run taskset 3 numactl $options where
		expect_status 0
	done
	for options in "-C 0 -a" "-N 0 -a" "-m 1 -a" "-i 1,2 -a" "-p 3 -a" "-C 4" "-C 0,4"; do
		# shellcheck disable=SC2086 # words
		run taskset 3 numactl $options where
		expect_status 1
		expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
		expect_stderr "^numactl: "
	done

check "options that numarun alone has are refused"
	for option in --near=eth0 --tier=1 --count=1 --far --dry-run --explain --root=/ --xml=x; do
		run numactl $option where
		expect_status 1
		expect_stderr "^numactl: unrecognized option '$option'"
	done

check "pools of huge pages are used on the nodes of the policy"
	for node in 0 1 2 3; do
		echo 8 >/sys/devices/system/node/node$node/$hugetlb/nr_hugepages
	done
	for node in 0 1 2 3; do
		run numactl -N 0 --membind=$node where --touch 8 --hugetlb
		expect_status 0
		expect_line "pages: N$node=2048"
		run numactl -N 0 --preferred=$node where --touch 8 --hugetlb
		expect_line "pages: N$node=2048"
	done
	run numactl --interleave=all where --touch 32 --hugetlb
	for node in 0 1 2 3; do
		expect_pages $node 2048 0
	done

check "a huge page bound to an empty pool is not taken from another"
	echo 0 >/sys/devices/system/node/node3/$hugetlb/nr_hugepages
	run numactl -m 3 where --touch 4 --hugetlb
	expect_equal "the program to fail" yes "$([ "$status" -ne 0 ] && echo yes)"
	echo 8 >/sys/devices/system/node/node3/$hugetlb/nr_hugepages

# The held process's transparent huge pages in kB.
held_huge() {
	awk '/^AnonHugePages:/ { sum += $2 } END { print sum + 0 }' "/proc/$pid/smaps"
}

check "transparent huge pages follow the policy"
	echo always >/sys/kernel/mm/transparent_hugepage/enabled
	for node in 1 3; do
		hold numactl -N 0 -m $node where --touch 32 --huge --hold
		expect_line "pages: N$node=8192"
		expect_equal "huge pages of node $node" yes \
			"$([ "$(held_huge)" -ge 16384 ] && echo yes || echo "$(held_huge) kB")"
		release KILL
	done
	run numactl -i 0,2 where --touch 64 --huge
	expect_pages 0 8192 1024
	expect_pages 2 8192 1024

check "a file in tmpfs keeps its policy for all who write it"
	run numactl --length=8m --file /tmp/shared --membind=2 --dump
	expect_status 0
	expect_stdout "0000000000000000-0000000000800000: bind : 2 "
	run dd if=/dev/zero of=/tmp/shared bs=1M count=8 conv=notrunc
	run numactl -L 8m -f /tmp/shared --dump-nodes
	expect_stdout "0000000000000000-0000000000800000: 2"
	run $real -L 8m -f /tmp/shared -D
	expect_stdout "0000000000000000-0000000000800000: 2"
	rm /tmp/shared

check "ranges of a file have policies of their own"
	run numactl -L 4m -f /tmp/shared -m 1
	run numactl -o 4m -L 4m -f /tmp/shared -m 3
	run numactl -o 8m -L 1m -f /tmp/shared -i 0,2 -T
	run numactl -f /tmp/shared -d
	expect_stdout "0000000000000000-0000000000400000: bind : 1 
0000000000400000-0000000000800000: bind : 3 
0000000000800000-0000000000900000: interleave : 0 2 "
	run numactl -L 8m -f /tmp/shared --touch --dump-nodes
	expect_stdout "0000000000000000-0000000000400000: 1
0000000000400000-0000000000800000: 3"
	run numactl -o 8m -f /tmp/shared -D
	expect_equal "pages of node 0 and of node 2, one by one" "128 128" \
		"$(grep -c ': 0$' "$TMP/out") $(grep -c ': 2$' "$TMP/out")"
	rm /tmp/shared

check "strict sees the pages that others left on another node"
	run numactl -L 1m -f /tmp/shared -m 1 -T
	run numactl --strict -L 1m -f /tmp/shared -m 2
	expect_status 1
	expect_stderr "^numactl: /tmp/shared: memory policy bind: pages that are there already lie outside node 2"
	run numactl -L 1m -f /tmp/shared -d
	expect_stdout "0000000000000000-0000000000100000: bind : 1 "
	run numactl -L 1m -f /tmp/shared -m 2
	expect_status 0
	run numactl -L 1m -f /tmp/shared -m 1 -V
	expect_status 0
	run numactl -L 1m -f /tmp/shared -m 2 -V
	expect_status 1
	expect_stderr "are on node 1, not on node 2"
	rm /tmp/shared

check "a SysV segment has one policy for numactl and for ours"
	run numactl --length=4m --shm=/tmp/key --interleave=1,3 --touch
	expect_status 0
	run $real --shm=/tmp/key --dump
	expect_stdout "0000000000000000-0000000000400000: interleave : 1 3 "
	run numactl -S /tmp/key -D
	expect_equal "pages of node 1 and of node 3" "512 512" \
		"$(grep -c ': 1$' "$TMP/out") $(grep -c ': 3$' "$TMP/out")"
	run $real --length=1m --shmid=7 --shm=/tmp/key --membind=2
	run numactl --shmid=7 --shm=/tmp/key --touch --dump --dump-nodes
	expect_stdout "0000000000000000-0000000000100000: bind : 2 
0000000000000000-0000000000100000: 2"

check "preferred and preferred-many hold for shared memory too"
	for policy in "-p 3 preferred" "-P 3 preferred-many"; do
		# shellcheck disable=SC2086 # words
		set -- $policy
		run numactl -L 1m -f /tmp/shared "$1" "$2" -T -d -D
		expect_status 0
		expect_stdout "0000000000000000-0000000000100000: $3 : 3 
0000000000000000-0000000000100000: 3"
		rm /tmp/shared
	done

check "a SysV segment of huge pages is filled by the policy"
	run numactl --huge --length=8m --shmid=5 --shm=/tmp/key --membind=3 --touch --dump-nodes
	expect_status 0
	expect_stdout "0000000000000000-0000000000800000: 3"
	expect_equal "free huge pages of node 3" 4 \
		"$(cat /sys/devices/system/node/node3/$hugetlb/free_hugepages)"

check "a file in hugetlbfs is filled by the policy, which must be said"
	mount -t hugetlbfs none /tmp/huge
	run numactl -L 4m -f /tmp/huge/file -m 1
	expect_status 0
	expect_stderr "^numactl: the kernel keeps no policy with huge pages"
	run numactl -L 4m -f /tmp/huge/file -m 1 -T -D
	expect_status 0
	expect_no_stderr
	expect_stdout "0000000000000000-0000000000400000: 1"
	run numactl -L 2m -o 1m -f /tmp/huge/file -m 1
	expect_status 1
	expect_stderr "multiples of its page size, 2097152 bytes"
	rm /tmp/huge/file

check "a pool that is empty ends in an error, not in a signal"
	echo 0 >/sys/devices/system/node/node1/$hugetlb/nr_hugepages
	run numactl -L 2m -f /tmp/huge/other -m 1 -T
	expect_status 1
	expect_stderr "^numactl: /tmp/huge/other: no page can be had at offset 0"
	rm -f /tmp/huge/other

umount /tmp/huge
for node in 0 1 2 3; do
	echo 0 >/sys/devices/system/node/node$node/$hugetlb/nr_hugepages
done

check "the same answers as numactl, line by line"
	run_at_most 300 /numactl_name.sh $real /usr/bin/numarun /usr/bin/where
	expect_status 0
	expect_equal "lines that begin with 'not ok'" "" "$(grep '^not ok' "$TMP/out")"
	expect_stdout_match "^ok "
