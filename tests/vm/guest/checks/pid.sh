# shellcheck shell=dash disable=SC2154 # pid is lib.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# Processes that run already are moved: four sockets in a ring, the card on node 2 (CPUs 4-5).
#
# "The process is never stopped for longer than 50 ms at a time" is measured inside the process by
# threads.c, as held_max_ms: the time in which a thread that touched a page neither ran nor waited
# for a CPU. The plain gap between two ticks says little here: the emulated CPUs take turns of up to
# 100 ms and the host has other work, so that it is 20 to 50 ms before anything is moved. All that
# can only add to held_max_ms, never take from it. Hence what was seen just before the move is
# allowed for, and of three moves of 256 MiB, some hundred system calls each, one has to pass.

pid_box=/sys/fs/cgroup/pid_box

# The process writes to what was $TMP/out when it was started: keeps that file apart from run's.
hold_apart() { # PROGRAM ARGUMENT...
	hold "$@"
	mv "$TMP/out" "$TMP/held"
	: >"$TMP/out"
}

# Has the held process report, and waits for that: the worst of KEY since the last time.
held_report() { # KEY
	local before waited=0

	before=$(grep -c "^held_max_ms:" "$TMP/held")
	kill -USR1 "$pid"
	while [ "$(grep -c "^held_max_ms:" "$TMP/held")" = "$before" ] && [ $waited -lt 100 ]; do
		usleep 100000
		waited=$((waited + 1))
	done
	sed -n "s/^$1: //p" "$TMP/held" | tail -n 1
}

# How many threads of the held process may run on CPUS and no others.
threads_on() { # CPUS
	cat "/proc/$pid"/task/*/status | grep -cx "Cpus_allowed_list:[[:space:]]*$1"
}

# The anonymous memory of the held process on NODE, in kB: what it touched and a little beside.
held_kb_on() { # NODE
	awk -v node="N$1" '
		/ anon=/ {
			kb = 0
			pages = 0
			for (i = 3; i <= NF; i++) {
				split($i, pair, "=")
				if (pair[1] == node)
					pages = pair[2]
				if (pair[1] == "kernelpagesize_kB")
					kb = pair[2]
			}
			sum += pages * kb
		}
		END { print sum + 0 }' "/proc/$pid/numa_maps"
}

expect_at_least() { # WHAT LEAST GOT
	check_expected=$((check_expected + 1))
	[ "$3" -ge "$2" ] || fault "$1: at least $2" "$3"
}

# Are GOT ms at most MOST more than CALM?
is_at_most() { # CALM MOST GOT
	awk -v calm="$1" -v most="$2" -v got="$3" \
		'BEGIN { exit !(got != "" && got + 0 <= calm + most) }'
}

check "a running process is moved near the card, all threads and pages"
	hold_apart numactl -N 0 -m 0 threads --touch 256 --gap --hold
	usleep 2000000
	calm=$(held_report held_max_ms)
	run numarun --pid "$pid" --near eth0 --migrate
	expect_status 0
	expect_equal "threads on CPUs 4-5" 9 "$(threads_on 4-5)"
	expect_at_least "kB on node 2" $((256 * 1024 * 99 / 100)) "$(held_kb_on 2)"
	held=$(held_report held_max_ms)
	for node in 1 2; do
		! is_at_most "$calm" 50 "$held" || break
		echo "held up for $held ms at a time ($calm ms before): once more"
		usleep 2000000
		calm=$(held_report held_max_ms)
		run numarun --pid "$pid" -N "$node" -m "$node" --migrate
		held=$(held_report held_max_ms)
	done
	echo "held up for $held ms at a time ($calm ms before)"
	expect_equal "held up for at most 50 ms at a time, beside the $calm ms before" yes \
		"$(is_at_most "$calm" 50 "$held" && echo yes || echo "$held ms")"

check "a running process whose policy points elsewhere is told so"
	hold_apart numactl -N 0 -m 0 threads --touch 8 --hold
	run numarun --pid "$pid" --near eth0 --migrate
	expect_status 0
	expect_stderr "its policy is bind:0, which cannot be changed from outside"

check "a running process is moved to CPUs and nodes that are named"
	hold_apart numactl -N 0 -m 0 threads --touch 64 --hold
	run numarun --pid "$pid" -C 2,7 -m 1,3 --migrate
	expect_status 0
	expect_equal "threads on CPUs 2 and 7" 9 "$(threads_on 2,7)"
	expect_at_least "kB on node 1" $((64 * 1024 * 45 / 100)) "$(held_kb_on 1)"
	expect_at_least "kB on node 3" $((64 * 1024 * 45 / 100)) "$(held_kb_on 3)"

check "without --migrate a running process keeps its pages"
	hold_apart numactl -N 0 -m 0 threads --touch 64 --hold
	run numarun --pid "$pid" --near eth0
	expect_status 0
	expect_equal "threads on CPUs 4-5" 9 "$(threads_on 4-5)"
	expect_at_least "kB on node 0" $((64 * 1024)) "$(held_kb_on 0)"

check "huge pages of a running process move as a whole"
	echo 16 >/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages
	echo 16 >/sys/devices/system/node/node2/hugepages/hugepages-2048kB/nr_hugepages
	hold_apart numactl -N 0 -m 0 threads --touch 32 --hugetlb --hold
	run numarun --pid "$pid" --near eth0 --migrate
	expect_status 0
	expect_at_least "kB on node 2" $((32 * 1024)) "$(held_kb_on 2)"
	release KILL
	echo 0 >/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages
	echo 0 >/sys/devices/system/node/node2/hugepages/hugepages-2048kB/nr_hugepages

check "transparent huge pages of a running process stay huge"
	echo always >/sys/kernel/mm/transparent_hugepage/enabled
	hold_apart numactl -N 0 -m 0 where --huge --touch 64 --hold
	huge=$(grep AnonHugePages "/proc/$pid/smaps_rollup")
	run numarun --pid "$pid" --near eth0 --migrate
	expect_status 0
	expect_at_least "kB on node 2" $((64 * 1024)) "$(held_kb_on 2)"
	expect_equal "huge pages" "$huge" "$(grep AnonHugePages "/proc/$pid/smaps_rollup")"
	echo madvise >/sys/kernel/mm/transparent_hugepage/enabled

check "a node that gets full stops the move and says so"
	: >"$TMP/filler"
	numactl -m 2 where --touch 330 --hold >"$TMP/filler" &
	filler=$!
	while ! grep -qx holding "$TMP/filler" && [ -d "/proc/$filler" ]; do
		usleep 100000
	done
	hold_apart numactl -N 0 -m 0 threads --touch 256 --hold
	run numarun --pid "$pid" --near eth0 --migrate
	kill -KILL "$filler"
	wait "$filler" 2>/dev/null
	expect_status 1
	expect_stderr "stopped: process $pid: node 2: no free memory left there"
	expect_equal "the process is still there" yes "$([ -d "/proc/$pid" ] && echo yes)"

check "a running process of another user is refused by the user's name"
	hold_apart threads --touch 8 --hold
	before=$(held_status Cpus_allowed_list)
	run start-stop-daemon -S -c 1000:1000 -x /usr/bin/numarun -- \
		--pid "$pid" --near eth0 --migrate
	expect_refusal 125 "user 0 \(root\).*CAP_SYS_NICE"
	expect_held_status Cpus_allowed_list "$before"

mkdir "$pid_box"
echo 0-3 >"$pid_box/cpuset.cpus"
echo 0-1 >"$pid_box/cpuset.mems"

check "a running process inside a cpuset is not moved out of it"
	# shellcheck disable=SC2016 # for the inner shell to expand
	hold_apart sh -c 'echo $$ >"$0/cgroup.procs" && exec threads --touch 8 --hold' "$pid_box"
	run numarun --pid "$pid" --near eth0 --migrate
	expect_refusal 125 "cpuset"
	expect_held_status Cpus_allowed_list 0-3

check "kernel threads and absent processes are refused"
	run numarun --pid 2 --near eth0
	expect_refusal 125 "process 2 is a kernel thread"
	run numarun --pid 99999 --near eth0
	expect_refusal 125 "process 99999: no such process"
