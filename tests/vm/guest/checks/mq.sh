# shellcheck shell=dash
# SPDX-License-Identifier: BSD-3-Clause
#
# A card with four queues on node 1 (CPUs 4-7, one L3): its interrupts and its choice of transmit
# queues are where they were asked to be while a program runs, and as they were before afterwards,
# however it ends.

# shellcheck source=/dev/null
. /lib.sh

ip address add 192.0.2.2/24 dev eth0
ip link set eth0 up

# Of each queue's interrupts, in their order, the CPUs in /proc/irq/N/FILE: "input.0=4 output.0=4 …".
queue_cpus() { # FILE
	local handler

	for handler in /proc/irq/*/virtio0-*put.*; do
		echo "${handler##*-}=$(cat "${handler%/*}/$1")"
	done | xargs
}

# The masks of the transmit queues, "10 20 10 20".
xps_masks() {
	cat /sys/class/net/eth0/queues/tx-*/xps_cpus | xargs
}

# All that may be steered, and the control interrupt, which may not.
steering() {
	cat /proc/irq/*/virtio0-config/../smp_affinity_list
	queue_cpus smp_affinity_list
	xps_masks
}

# Sends from the CPUs 4-7 through this and that queue, each time answered on the same queue, until
# the kernel has moved all interrupts to where they are to be: it moves one when that next fires.
settle() { # EXPECTED
	local tries=0 mask

	while [ "$(queue_cpus effective_affinity_list)" != "$1" ] && [ "$tries" -lt 50 ]; do
		for mask in 10 20 40 80; do
			taskset "$mask" nc -w 1 192.0.2.1 9 2>/dev/null
		done
		tries=$((tries + 1))
	done
}

expect_before() {
	expect_equal "interrupts and queues" "$before" "$(steering)"
	expect_equal "state files" "" "$(find /run/numarun -name 'irq-*')"
}

# Two program CPUs, or two others, take turns.
turns() { # CPU CPU
	echo "input.0=$1 output.0=$1 input.1=$2 output.1=$2" \
		"input.2=$1 output.2=$1 input.3=$2 output.3=$2"
}

before=$(steering)
control=$(cat /proc/irq/*/virtio0-config/../smp_affinity_list)

check "the card has interrupts for each of four queues"
	expect_equal "queue interrupts" 8 "$(find /proc/irq -name 'virtio0-*put.*' | wc -l)"
	expect_equal "transmit queues" 4 "$(xps_masks | wc -w)"

check "irq brings interrupts and transmit queues to the program's CPUs"
	hold numarun --near eth0 --count 2 --irq -- where --hold
	expect_line "cpus: 4-5"
	expect_equal "CPUs asked for" "$(turns 4 5)" "$(queue_cpus smp_affinity_list)"
	settle "$(turns 4 5)"
	expect_equal "CPUs that get them" "$(turns 4 5)" "$(queue_cpus effective_affinity_list)"
	expect_equal "masks of the transmit queues" "10 20 10 20" "$(xps_masks)"
	expect_equal "CPUs of the control interrupt" "$control" \
		"$(cat /proc/irq/*/virtio0-config/../smp_affinity_list)"
	release TERM
	expect_status 143
	expect_before

check "with more CPUs than queues each CPU has one transmit queue"
	hold numarun --near eth0 --count 6 --irq -- where --hold
	expect_line "cpus: 0-1,4-7"
	expect_equal "masks of the transmit queues" "41 82 10 20" "$(xps_masks)"
	release TERM
	expect_before

check "after a normal end all is as it was before"
	# shellcheck disable=SC2016 # for the inner shell to expand
	run numarun --near eth0 --count 2 --irq -- \
		sh -c 'cat /sys/class/net/eth0/queues/tx-*/xps_cpus; exit 7'
	expect_status 7
	expect_equal "masks while it ran" "10 20 10 20" "$(xargs <"$TMP/out")"
	expect_before

check "after the program's own failing to start all is as it was before"
	run numarun --near eth0 --count 2 --irq -- /nowhere/program
	expect_status 127
	expect_before

check "after a kill of numarun irq-restore puts all back"
	hold numarun --near eth0 --count 2 --irq -- where --hold
	# shellcheck disable=SC2154 # hold sets it
	killed=$pid
	release KILL
	killall -q -KILL where
	expect_equal "masks that are left" "10 20 10 20" "$(xps_masks)"
	run numarun --irq-restore
	expect_status 0
	expect_stdout_match "eth0: put back 12 settings that process $killed had left"
	expect_before

check "irq-restore with nothing to do says nothing"
	run numarun --irq-restore
	expect_status 0
	expect_stdout ""
	expect_no_stderr

check "the next run repairs what a killed one has left"
	hold numarun --near eth0 --count 2 --irq -- where --hold
	release KILL
	killall -q -KILL where
	run numarun --near eth0 --count 1 --irq -- true
	expect_status 0
	expect_stderr "put back 12 settings"
	expect_before

check "irq-restore leaves a running program's interrupts alone"
	hold numarun --near eth0 --count 2 --irq -- where --hold
	run numarun --irq-restore
	expect_status 0
	expect_stdout_match "process $pid, which runs"
	expect_equal "masks of the transmit queues" "10 20 10 20" "$(xps_masks)"
	release TERM
	expect_before

check "a second run on the same card is refused by the name of the first"
	hold numarun --near eth0 --count 2 --irq -- where --hold
	refuses 125 "process $pid" --near eth0 --count 1 --irq
	expect_equal "CPUs asked for" "$(turns 4 5)" "$(queue_cpus smp_affinity_list)"
	release TERM
	expect_before

check "beside takes other cores of the same cache"
	hold numarun --near eth0 --count 2 --irq=beside -- where --hold
	expect_line "cpus: 4-5"
	expect_equal "CPUs asked for" "$(turns 6 7)" "$(queue_cpus smp_affinity_list)"
	settle "$(turns 6 7)"
	expect_equal "CPUs that get them" "$(turns 6 7)" "$(queue_cpus effective_affinity_list)"
	# CPUs 6 and 7, which complete what is sent, and 4 and 5, which send.
	expect_equal "masks of the transmit queues" "50 a0 40 80" "$(xps_masks)"
	release TERM
	expect_before

check "beside is refused where the program takes all cores of the cache"
	refuses 125 "without =beside" --near eth0 --irq=beside
	expect_before

check "what somebody else has set meanwhile is left as it is"
	hold numarun --near eth0 --count 2 --irq -- where --hold
	echo 3 >/sys/class/net/eth0/queues/tx-1/xps_cpus
	release TERM
	expect_stderr "transmit queue 1: left at CPUs '0-1'"
	expect_equal "masks of the transmit queues" "03 03 30 c0" "$(xps_masks)"
	echo c >/sys/class/net/eth0/queues/tx-1/xps_cpus
	expect_before

check "a running irqbalance is warned of"
	cp /usr/bin/where "$TMP/irqbalance"
	hold "$TMP/irqbalance" --hold
	run numarun --near eth0 --count 2 --irq -- true
	expect_status 0
	expect_stderr "irqbalance \(process $pid\)"

check "an ordinary user is refused and nothing is changed"
	run start-stop-daemon -S -c 1000:1000 -x /usr/bin/numarun -- \
		--near eth0 --count 2 --irq -- touch "$TMP/mark"
	expect_status 125
	expect_stderr "needs root"
	expect_not_run
	expect_before
