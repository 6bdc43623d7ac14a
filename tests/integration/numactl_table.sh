#!/bin/sh
# Runs each command line with numactl and with numarun, and compares what the program under it sees:
# its CPUs and its memory policy. Where numactl refuses, numarun must refuse too, but for the lines at
# the end, where the two differ on purpose.
#
#   numactl_table.sh NUMACTL NUMARUN WHERE
#
# Prints "ok LINE" or "not ok LINE" for each; status 1 when one is not ok. Runs under any sh, with
# busybox in the guests too.
set -u
numactl=$1
numarun=$2
where=$3
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Runs "$@" and prints its status, and what where said but the CPU that it happened to be on.
outcome() {
	"$@" >"$dir/out" 2>"$dir/err"
	status=$?
	if [ $status -ne 0 ]; then
		echo refused
		return
	fi
	echo "$status $(grep -v '^running on' "$dir/out" | tr '\n' ' ')"
}

say() { # RESULT LINE EXPECTED GOT
	if [ "$1" = ok ]; then
		echo "ok $2"
		return
	fi
	echo "not ok $2"
	echo "#   numactl: $3"
	echo "#   numarun: $4"
	sed 's/^/#   numarun said: /' "$dir/err"
	failed=1
}

# One line of the table; $before is what runs it (taskset), $line the options.
same() { # LINE
	line=$1
	eval "set -- $line"
	# shellcheck disable=SC2086 # two words
	theirs=$(outcome $before "$numactl" "$@" "$where")
	# shellcheck disable=SC2086
	ours=$(outcome $before "$numarun" "$@" "$where")
	if [ "$theirs" = "$ours" ]; then
		say ok "${before:+($before) }$line -> $theirs"
	else
		say no "${before:+($before) }$line" "$theirs" "$ours"
	fi
}

# Both answers are known, and differ.
differ() { # THEIRS OURS OPTION...
	expected_theirs=$1
	expected_ours=$2
	shift 2
	theirs=$(outcome "$numactl" "$@" "$where")
	ours=$(outcome "$numarun" "$@" "$where")
	case $theirs in
	"$expected_theirs"*) ;;
	*) theirs="$theirs ($expected_theirs expected)" ;;
	esac
	case $ours in
	"$expected_ours"*) say ok "$* -> numactl: $theirs, numarun: $ours" ;;
	*) say no "$*" "$theirs" "$ours ($expected_ours expected)" ;;
	esac
}

before=
while read -r line; do
	case $line in '' | '#'*) continue ;; esac
	same "$line"
done <<'TABLE'
# CPUs by node
-N 0
-N 1
-N all
-N 0,1
-N 0-1
-N 1-2
-N +0
-N +1
-N '!0'
-N '!1'
-N '!+0'
-N '!all'
-c 0
--cpunodebind=0
--cpunodebind 1
--cpubind=0
-a -N 0
# CPUs by number
-C 0
-C 1
-C 0-1
-C 0,1
-C 3,5
-C 2-4,7
-C +0
-C +1
-C +0,+1
-C all
-C '!0'
-C '!+1'
-C '!0-1'
-C '!all'
-a -C 1
-a -C all
--physcpubind=1
--physcpubind 0
# the last of several counts
-N 0 -C 1
-C 0 -N 1
-C 0 -C 1
-N 1 -N 0
# memory
-m 0
-m 1
-m 0,1
-m 0-2
-m all
-m +0
-m +1
-m '!0'
-m '!+1'
-m '!all'
-a -m 0
--membind=0
-i 0
-i all
-i 0,1
-i 1-3
-i +0
--interleave=all
--interleave 0
-p 0
-p 1
-p +0
-p 0,1
-p 1-3
-p all
--preferred=0
-P 0
-P 0,1
-P 1,3
-P all
--preferred-many=0
-l
--localalloc
-b -m 0
--balancing --membind=0
# together
-N 0 -m 0
-N 0 -l
-N 1 -m same
-N 0 -p 0
-N 1 -i all
-C 1 -m 0
-C 1 -i 0,1
-m 1 -N 0
-i all -C 0
--cpunodebind=1 --membind=2
--physcpubind=1 --interleave=all
-aN0 -m0
-lC1
# what cannot be
-N 77
-C 999
-C 0,999
-C 0-999
-C +77
-m 77
-m 0,77
-i 77
-p 77
-P 77
-N ''
-C ''
-m ''
-N x
-C x
-m x
-m 0,
-m -1
-C -1
-m same
-m 0,same
-m netdev:nosuchdevice
-N netdev:lo
-m 0 -m 0
-m 0 -i 0
-i 0 -l
-l -p 0
-p 0 -P 0
--nosuchoption
-Z
-m
TABLE

# The inherited affinity: -C stays inside it, -N does not.
before="taskset 2"
for line in "-C 0" "-C 1" "-C +0" "-C +1" "-C all" "-C '!1'" "-C '!0'" "-C '!+0'" "-a -C 0" "-a -C all" "-N 0" "-m 0"; do
	same "$line"
done
before=

# What is printed, but for the free memory, which changes from one moment to the next.
for line in "-s" "-H" "-m 0 -s" "-i 0 -s" "-p 0 -s" "-P 0 -s" "-C 1 -s" "-N 0 -s" "--show" "--hardware"; do
	eval "set -- $line"
	theirs=$("$numactl" "$@" 2>&1 | grep -v ' free: ')
	ours=$("$numarun" "$@" 2>"$dir/err" | grep -v ' free: ')
	if [ "$theirs" = "$ours" ]; then
		say ok "$line prints the same"
	else
		say no "$line" "$theirs" "$ours"
	fi
done

# Where the two differ on purpose. An empty set is refused, where numactl drops the policy; a number
# that C would read as octal or hexadecimal is refused; so is a range that runs backwards.
differ "0 " refused -C 1-0
differ "0 " refused -C 01
differ "0 " refused -m 0x0
if [ "$(cat /sys/devices/system/node/online)" != 0 ]; then
	same "-i '!0'"
else
	differ "0 " refused -i '!0'
	# Where a card's node is not told but there is only one, the answer is certain.
	for link in /sys/class/net/*; do
		nic=${link##*/}
		node=$(cat "$link/device/numa_node" "$link/device/../numa_node" 2>/dev/null | tail -n 1)
		case $(readlink "$link") in */virtual/*) continue ;; esac
		[ "$node" = -1 ] || continue
		differ refused "0 cpus: " -N "netdev:$nic"
		differ refused "0 cpus: " -m "netdev:$nic"
		break
	done
fi
exit $failed
