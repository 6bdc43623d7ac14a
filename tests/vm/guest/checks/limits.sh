# shellcheck shell=dash disable=SC2154 # pid is lib.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# What will not fit is refused beforehand when it is told, else explained afterwards; and memory
# policies that a filter refuses.

pen=/sys/fs/cgroup/pen

check "a strict bind larger than the node is refused beforehand"
	refuses 125 "node 2 has [0-9.]+ MiB, 1 GiB are asked for.*--preferred 2" \
		-m 2 --mem-size 1G
	run numarun -m 2 --mem-size 64M -- where
	expect_status 0
	expect_no_stderr

check "a strict bind larger than what is free is refused beforehand"
	hold numactl -m 3 where --touch 300 --hold
	refuses 125 "node 3 has [0-9.]+ MiB free of [0-9.]+ MiB, 350 MiB are asked for.*--preferred 3" \
		-m 3 --mem-size 350M
	run numarun -p 3 --mem-size 350M -- where
	expect_status 0
	expect_line "policy: preferred:3"
	expect_stderr "memory preferred:3: node 3 has"

check "a strict bind that ran out of memory is explained"
	run numarun -m 1 --verify -- where --touch 600
	expect_status 137
	expect_stderr "^numarun: where: killed by SIGKILL.*bind:1 allows node 1 only.*--preferred 1"

check "without a bind the same fits"
	run numarun -p 1 --verify -- where --touch 600
	expect_status 0
	expect_equal "pages" $((600 * 256)) \
		$(($(pages_on 0) + $(pages_on 1) + $(pages_on 2) + $(pages_on 3)))

check "huge pages that the node does not have are refused beforehand"
	refuses 125 "node 1 has 0 free huge pages of 2048 kB, 1 is asked for" -m 1 --huge-pages 1
	expect_stderr "echo 1 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"
	refuses 125 "node 2 has 3 free huge pages" -m 2 --huge-pages 4
	run numarun -m 2 --huge-pages 3 -- where --touch 6 --hugetlb
	expect_status 0
	expect_line "pages: N2=1536"

check "a huge page that the node does not have is explained when it was touched"
	run numarun -m 1 --verify -- threads --touch 2 --hugetlb --noreserve
	expect_status 135
	expect_stderr "^numarun: threads: killed by SIGBUS: node 1 has no free huge page of 2048 kB"

check "another death by SIGBUS is not put down to huge pages"
	run numarun -C 4 --verify -- sh -c 'kill -BUS $$'
	expect_status 135
	expect_equal "lines about huge pages" 0 "$(grep -c "huge" "$TMP/err")"

mkdir "$pen"

check "a cgroup's memory limit is refused beforehand and explained afterwards"
	echo 64M >"$pen/memory.max"
	run_in_cgroup pen numarun -m 2 --mem-size 128M -- touch "$TMP/mark"
	expect_refusal 125 "this cgroup may have 64 MiB \(/sys/fs/cgroup/pen/memory.max\).*128 MiB"
	run_in_cgroup pen numarun -m 2 --verify -- where --touch 128
	expect_status 137
	expect_stderr "killed by SIGKILL.*/sys/fs/cgroup/pen/memory.max is 64 MiB"
	# The same when it is that of a cgroup above.
	mkdir "$pen/inner"
	run_in_cgroup pen/inner numarun -m 2 --mem-size 128M -- touch "$TMP/mark"
	expect_refusal 125 "this cgroup may have 64 MiB \(/sys/fs/cgroup/pen/memory.max\)"
	rmdir "$pen/inner"
	echo max >"$pen/memory.max"

check "a cgroup's limit of huge pages is refused beforehand and explained afterwards"
	echo 2M >"$pen/hugetlb.2MB.max"
	run_in_cgroup pen numarun -m 2 --huge-pages 2 -- touch "$TMP/mark"
	expect_refusal 125 "this cgroup may have 2 MiB|hugetlb.2MB.max"
	run_in_cgroup pen numarun -m 2 --verify -- where --touch 4 --hugetlb
	expect_status 135
	expect_stderr "killed by SIGBUS.*/sys/fs/cgroup/pen/hugetlb.2MB.max"

rmdir "$pen"

check "where policies are refused, fail runs nothing"
	for fallback in "" --mem-fallback=fail; do
		rm -f "$TMP/mark"
		# shellcheck disable=SC2086 # none or one word
		run deny_mempolicy numarun -m 1 $fallback -- touch "$TMP/mark"
		expect_refusal 125 "seccomp filter refuses.*SYS_NICE"
	done

check "where policies are refused, warn runs without one and says so"
	run deny_mempolicy numarun -N 1 -m 1 --mem-fallback=warn -- where
	expect_status 0
	expect_line "cpus: 2-3"
	expect_line "policy: default"
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	expect_stderr "^numarun: .*seccomp filter refuses memory policies"

check "where policies are refused, cpu-only runs without one and is silent"
	run deny_mempolicy numarun -N 1 -m 1 --mem-fallback=cpu-only -- where
	expect_status 0
	expect_line "cpus: 2-3"
	expect_line "policy: default"
	expect_no_stderr

check "where policies are refused, near binds the CPUs and says that the policy stays"
	run deny_mempolicy numarun --near eth0 -- where
	expect_status 0
	expect_line "cpus: 4-5"
	expect_line "policy: default"
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	run deny_mempolicy numarun --near eth0 --strict -- touch "$TMP/mark"
	expect_refusal 125 "seccomp filter refuses"

check "where policies are refused, a verified run does not ask for what was not to be had"
	run deny_mempolicy numarun -N 1 -m 1 --mem-fallback=cpu-only --verify -- where
	expect_status 0
	expect_stderr "^numarun: verified: CPUs 2-3"
