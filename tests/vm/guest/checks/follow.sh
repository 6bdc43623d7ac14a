# shellcheck shell=dash disable=SC2154 # pid is lib.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# A placement that is lost while the program runs: what took it is named at the next look, and --repin
# takes it back.

every=0.3
# What is told later than a look and this, in hundredths of a second, is late: the emulated CPUs take
# turns, and the host has other work.
late_cs=200

box=/sys/fs/cgroup/box
other=/sys/fs/cgroup/other

make_boxes() {
	for group in "$box" "$other"; do
		mkdir "$group"
		echo 0-7 >"$group/cpuset.cpus"
		echo 0-3 >"$group/cpuset.mems"
	done
	echo 0-1 >"$other/cpuset.cpus"
}

# Runs a program that holds in the cgroup, under supervision: $pid is numarun's, $program its.
follow() { # OPTION... -- PROGRAM ARGUMENT...
	rm -f "$TMP/verify"
	# shellcheck disable=SC2016 # for the inner shell to expand
	hold sh -c 'echo $$ >"$0/cgroup.procs" && exec numarun "$@"' "$box" \
		--verify="$TMP/verify" --verify-every "$every" "$@"
	program=$(xargs <"/proc/$pid/task/$pid/children")
	changed=$(now_cs)
}

# Changes something below /sys, and notes when that was done.
change() { # FILE TEXT
	echo "$2" >"$1" || fault "$1 to take $2" "a refusal"
	changed=$(now_cs)
}

# A line on stderr that tells of what was changed last, in time.
expect_told() { # EXTENDED_REGEX
	local took

	expect_soon "on stderr a line like /$1/" grep -qiE -- "$1" "$TMP/err"
	took=$(($(now_cs) - changed))
	echo "told after $took/100 s: $1"
	expect_equal "told within $every s and a little" yes \
		"$([ "$took" -le $((30 + late_cs)) ] && echo yes || echo "after $took/100 s")"
}

# The same in the file, where white space does not count.
expect_event() { # TEXT
	expect_soon "in the file $1" event_is_there "$1"
}

event_is_there() { # TEXT
	tr -d ' \t\n' <"$TMP/verify" | grep -qF -- "$1"
}

set_online() { # CPU 0|1
	change "/sys/devices/system/cpu/cpu$1/online" "$2"
}

allowed() { # PID
	sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$1/status"
}

has_cpus() { # PID CPUS
	[ "$(allowed "$1")" = "$2" ]
}

make_boxes

check "a cpuset that shrinks and widens is told, and the CPUs come back"
	follow -C 4-5 -- where --hold
	change "$box/cpuset.cpus" 0-4
	expect_told "binding lost at .*thread $program \(where\), CPUs: 4 instead of 4-5: the cpuset is now CPUs 0-4"
	expect_event '"change":"lost","item":"cpus","thread":'"$program"',"name":"where","asked":"4-5","kernel":"4","cause":"cpuset"'
	change "$box/cpuset.cpus" 0-7
	expect_told "binding is back at .*thread $program \(where\), CPUs: 4-5$"
	expect_event '"change":"back"'
	release TERM
	expect_status 143
	expect_event '"was_lost":true'
	expect_event '"ok":false'

check "a cpuset that has none of the CPUs left is told as the cause"
	follow -C 4-5 -- where --hold
	change "$box/cpuset.cpus" 0-1
	expect_told "binding lost.*CPUs: 0-1 instead of 4-5: the cpuset is now CPUs 0-1"
	change "$box/cpuset.cpus" 0-7
	expect_soon "the kernel to give the CPUs back" has_cpus "$program" 4-5
	expect_told "binding is back"

check "a program that is moved into another cgroup is told with its cpuset"
	follow -C 4-5 -- where --hold
	change "$other/cgroup.procs" "$program"
	expect_told "binding lost.*CPUs: 0-1 instead of 4-5: the cpuset is now CPUs 0-1"
	change "$box/cgroup.procs" "$program"
	expect_told "binding is back"

check "a cpuset that loses the memory's node is told, and its policy does not come back"
	follow -m 2 -- where --hold
	change "$box/cpuset.mems" 0-1
	expect_told "binding lost.*thread $program \(where\), memory: bind:0 instead of bind:2: the cpuset's memory is now nodes 0-1"
	expect_event '"item":"policy","thread":'"$program"',"name":"where","asked":"bind:2","kernel":"bind:0","cause":"cpuset"'
	change "$box/cpuset.mems" 0-3
	expect_equal "policy that the kernel left" bind:0 \
		"$(cut -d ' ' -f 2 "/proc/$program/numa_maps" | sort -u | xargs)"
	release TERM
	expect_event '"ok":false'

check "a CPU that goes offline is told, and back when it is online again"
	follow -C 4-5 -- where --hold
	set_online 5 0
	expect_told "binding lost.*CPUs: 4 instead of 4-5: CPU 5 went offline"
	expect_event '"kernel":"4","cause":"offline","detail":"CPU5wentoffline"'
	set_online 5 1
	expect_told "binding is back"

check "a program whose only CPU goes offline is told, and repin takes it back"
	follow -C 5 --repin -- where --hold
	set_online 5 0
	expect_told "binding lost.*CPUs: 0-4,6-7 instead of 5: CPU 5 went offline"
	set_online 5 1
	expect_told "(pinned again|binding is back) at .*CPUs: 5$"
	expect_soon "the CPU to be the program's" has_cpus "$program" 5

check "a thread that resets its own mask is told, and the others are not"
	follow -C 4-5 -- threads --count 3 --reset-after 1500 --hold
	changed=$((changed + 150))
	expect_told "binding lost.*thread [0-9]+ \(threads\), CPUs: 0-7 instead of 4-5: the thread set its own mask"
	expect_event '"kernel":"0-7","cause":"own"'
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	expect_equal "CPUs of its threads" "0-7 4-5" "$(cpus_of_threads "$program")"

check "with repin a thread that resets its own mask is pinned again"
	follow -C 4-5 --repin -- threads --count 3 --reset-after 1500 --hold
	changed=$((changed + 150))
	expect_told "binding lost.*the thread set its own mask"
	expect_told "pinned again at .*CPUs: 4-5$"
	expect_event '"change":"repinned"'
	expect_equal "CPUs of its threads" 4-5 "$(cpus_of_threads "$program")"

check "a program without a cpuset of its own that loses its only CPU is told"
	hold numarun -C 5 --verify="$TMP/verify" --verify-every "$every" -- where --hold
	set_online 5 0
	expect_told "binding lost.*CPUs: none instead of 5: CPU 5 went offline"
	set_online 5 1
	expect_told "binding is back at .*CPUs: 5$"

check "a process that the program starts is watched like itself"
	follow -C 4-5 -- sh -c 'taskset ff where --hold; true'
	started=$(pidof where)
	# Whether the look comes before or after its exec decides the name.
	expect_told "binding lost.*thread $started \((sh|taskset|where)\), CPUs: 0-7 instead of 4-5"
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	kill -KILL "$started"

check "what another process sets is told and pinned again"
	follow -C 4-5 --repin -- where --hold
	changed=$(now_cs)
	taskset -p f "$program" >/dev/null
	expect_told "binding lost.*CPUs: 0-3 instead of 4-5: .* or another process did"
	expect_told "pinned again"
	expect_equal "Cpus_allowed_list in /proc/$program/status" 4-5 "$(allowed "$program")"

check "a thread that keeps to some of its CPUs has lost nothing"
	follow -C 4-5 --strict -- where --hold
	taskset -p 10 "$program" >/dev/null
	expect_told "narrowed at .*CPUs: 4 instead of 4-5"
	expect_event '"ok":true'
	release TERM
	expect_status 143

check "with strict a lost binding ends the run"
	follow -C 4-5 --strict -- where --hold
	change "$box/cpuset.cpus" 0-4
	expect_told "binding lost"
	expect_told "--strict ends the run"
	release CONT
	expect_status 125
	expect_gone where
	expect_event '"ok":false'
	change "$box/cpuset.cpus" 0-7
	follow -m 2 --strict -- where --hold
	change "$box/cpuset.mems" 0-1
	expect_told "--strict ends the run"
	release CONT
	expect_status 125
	expect_gone where
	change "$box/cpuset.mems" 0-3

check "a placement that holds is verified, with every page on its node"
	follow -C 4-5 -m 2 -- threads --count 7 --touch 16 --hold
	release TERM
	expect_status 0
	expect_no_stderr
	expect_event '"schema":"numakit/verify/1","ok":true'
	expect_event '"outside_bytes":0'
	expect_equal "threads in the file" 8 "$(grep -c '"thread":' "$TMP/verify")"

rmdir "$box" "$other"
