#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# numarun called under the name numactl, through a link: runs each command line with the real numactl
# and with the link, and compares whether it is refused, what the program under it sees, and what
# becomes of shared memory. What numactl refuses must be refused with status 1 and in one line. At the
# end stand the lines where the two differ on purpose.
#
#   numactl_name.sh NUMACTL NUMARUN WHERE [TABLE]
#
# TABLE is numactl_table.sh, which is run for the link too.
# Prints "ok LINE" or "not ok LINE" for each; status 1 when one is not ok. Runs under any sh, with
# busybox in the guests too.
set -u
real=$1
where=$3
table=${4-}
failed=0
dir=$(mktemp -d)
# Shared memory needs a tmpfs. Where /tmp is one, as in the guests, there may be no /dev/shm.
shm=$(mktemp -d /dev/shm/numactl_name.XXXXXX 2>/dev/null || mktemp -d)
link=$dir/numactl
ln -s "$(readlink -f "$2")" "$link"
trap 'remove_segments; rm -rf "$dir" "$shm"' EXIT

# The segments that the key files stand for, by ftok(3)'s rule. %d is the device's number.
remove_segments() {
	for key in "$shm"/*.key; do
		[ -e "$key" ] || continue
		for id in 0 3 4; do
			ipcrm -M "$(printf '0x%x' $((id << 24 | ($(stat -c %d "$key") & 255) << 16 | ($(stat -c %i "$key") & 65535))))"
		done 2>/dev/null
		rm -f "$key"
	done
}

say() { # RESULT LINE EXPECTED GOT
	if [ "$1" = ok ]; then
		echo "ok $2"
		return
	fi
	echo "not ok $2"
	printf '%s\n' "$3" | sed 's/^/#   expected: /'
	printf '%s\n' "$4" | sed 's/^/#   got:      /'
	sed 's/^/#   on stderr: /' "$dir/err"
	failed=1
}

# "$@" and its answer: "refused", or its status and output, less what differs from run to run.
answer() {
	"$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	if [ "$1" = "$link" ] && [ $status -eq 1 ] &&
		{ [ "$(wc -l <"$dir/err")" -ne 1 ] || ! grep -q '^numactl: ' "$dir/err"; }; then
		echo "status 1, but not one line that begins with 'numactl: '"
	elif [ $status -eq 1 ]; then
		echo refused
	else
		echo "status $status"
		grep -v -e '^running on' -e ' free: ' "$dir/out"
	fi
}

same() { # OPTION... PROGRAM
	theirs=$(answer "$real" "$@")
	ours=$(answer "$link" "$@")
	if [ "$theirs" = "$ours" ]; then
		say ok "$* -> $(echo "$ours" | tr '\n' ' ')"
	else
		say no "$*" "$theirs" "$ours"
	fi
}

# What ours alone answers: where the real one differs, or is too old to know the option.
ours() { # NAME EXPECTED OPTION...
	name=$1
	expected=$2
	shift 2
	got=$(answer "$link" "$@")
	if [ "$got" = "$expected" ]; then
		say ok "$name"
	else
		say no "$name: numactl $*" "$expected" "$got"
	fi
}

# ---- programs ----

while read -r line; do
	case $line in '' | '#'*) continue ;; esac
	eval "set -- $line"
	same "$@" "$where"
done <<'TABLE'
# forms of an option
-N0
-C0
-m0
-c 0
-aC0
-aN0 -m0
-bm0
--cpunodebind 0
--cpunodebind=0
--cpubind=0
--physc 0
--memb 0
--inter=0
--preferred-m=0
--local
--
-N 0 --
# what goes without a meaning
-b
-b -l
-b -i 0
-b -p 0
-l -a
-t
-t -m 0
--strict -N 0
-I 5
# the order of --all and of --balancing
-a -m 0
-a -C 0 -m 0
-m 0 -a
-C 0 -a
-N 0 -a
-m 0 -b
-l -b
# the last set of CPUs counts
-N 0 -C 1
-C 0 -N 0
# two policies
-m 0 -m 0
-i 0 -m 0
-l -l
# options of shared memory for a program
-L 1m
-L 1m -C 0
-C 0 -L 1m
-M 600
-o 4k
-u
-d
-D
-T
-V
--touch -m 0
# shortened too far
--pref=0
--cpu 0
--l
--shm
# numarun's own
--near eth0
--near=eth0
--tier 1
--count 1
--smt
--near-node 0
--far
--dry-run
--explain
--root /
--xml host.xml
--usage
-?
-Z
TABLE

for line in "-s" "--show" "-H" "--hardware" "-C 1 -s" "-m 0 -s" "-i 0 -s" "-p 0 -s" "-N 0 -m 0 --show" \
	"-s -m 99" "-s --bogus" "-s $where" "-H -C 0 $where" "-H $where"; do
	# shellcheck disable=SC2086 # words
	same $line
done
same -m 0
same -m 0 --
same -C 0 -- /nowhere/program
same -C 0 no-such-program
same -C 0 "$dir"
same ""
same -C 0 -- sh -c 'exit 7'
same -C 0 -- sh -c 'kill -9 $$'
same -C 0 echo -m 77 --near eth9
same -C 0 -- echo 'a b' '' '*'

# ---- shared memory ----

# Each line is a series of command lines upon one file or segment, $F or $K. The answers to all of
# them are compared and, when none is refused, what the file is like afterwards.
series() { # PROGRAM NAME LINE
	F=$shm/$2.file
	# shellcheck disable=SC2034 # the lines use it
	K=$shm/$2.key
	printf '%s\n' "$3" | tr '|' '\n' | while read -r part; do
		eval "set -- \"$1\" $part"
		answer "$@"
	done >"$dir/series"
	if [ -e "$F" ] && ! grep -q refused "$dir/series"; then
		stat -c '%s bytes, mode %a' "$F"
	fi
	cat "$dir/series"
	remove_segments
	rm -f "$F"
}

while read -r line; do
	case $line in '' | '#'*) continue ;; esac
	theirs=$(series "$real" theirs "$line")
	ours=$(series "$link" ours "$line")
	if [ "$theirs" = "$ours" ]; then
		say ok "$line -> $(echo "$ours" | tr '\n' ' ')"
	else
		say no "$line" "$theirs" "$ours"
	fi
done <<'TABLE'
-L 1m -f "$F" -m 0 -d -D
--length=1m --file="$F" --membind=0 --dump --dump-nodes
--length 64k --file "$F" --interleave 0 --touch --dump --dump-nodes
-L 1m -f "$F" -d
-L 1m -f "$F" | -L 1m -f "$F" -d -m 0 -d
-L 1m -f "$F" -i all -T -d
-L 1m -f "$F" -l -T -d | -L 1m -f "$F" -d
-L 1m -M 640 -f "$F" -i 0 | -L 1m -f "$F" -d -D
-L 1m -M 0604 -f "$F" -m 0
-L 64k -f "$F" | -L 1m -f "$F" -d
-L 1m -f "$F" | -L 64k -f "$F" -m 0 -d | -L 1m -f "$F" -m 0 -d
-L 1m -f "$F" -m 0 | -L 64k -o 512k -f "$F" -i 0 -d -D | -L 1m -f "$F" -d -D
-L 1m -f "$F" -m 0 | -o 0x10000 -L 0x1000 -f "$F" -i 0 -d
-L 1048576 -f "$F" -m 0 -d
-L 1024k -f "$F" -m 0 -d
-L 1M -f "$F" -m 0 -d
-L 1MB -f "$F" -m 0 -d
-t -L 1m -f "$F" -m 0 -T -d
-L 1m -f "$F" -m 0 -T | -t -L 1m -f "$F" -T -m 0 -d
-L 1m -f "$F" -m 0 -V
-b -L 1m -f "$F" -m 0 -d
-a -L 1m -f "$F" -m 0 -d
-u -L 1m -f "$F" -m 0 -d
-L 1m -f "$F" -m 0 | -L 1m -f "$F" -s
-L 1m -f "$F" -d -H
-L 1m -S "$K" -m 0 -d -D | -S "$K" -d -D
-L 1m -S "$K" -I 3 -i all -T | -S "$K" -d
-I 3 -L 1m -S "$K" -m 0 | -I 3 -S "$K" -d | -I 4 -S "$K" -d
-I 3 -L 1m -S "$K" -m 0 | -I 4 -L 64k -S "$K" -i 0 -d | -I 3 -S "$K" -d
-L 1m -S "$K" -m 0 | -L 64k -o 64k -S "$K" -i 0 -d | -S "$K" -d
-L 1m -S "$K" -l -d | -S "$K" -d | -S "$K" -i 0 -d
-L 1m -S "$K" | -L 2m -S "$K" -d
--shmmode=0640 --shmid=3 --length=1m --shm="$K" --membind=0 --strict --touch --dump
# what cannot be
-f "$F" -m 0
-S "$K" -d
-L 5 -f "$F" -m 0
-L x -f "$F"
-L 1m -o 5 -f "$F" -m 0
-L 1m -f /nowhere/file -m 0
-L 1m -S /nowhere/key -m 0
-L 1m -f "$F" -m 99
-L 1m -f "$F" -m 0 -i 0
-m 0 -L 1m -f "$F"
-N 0 -L 1m -f "$F" -m 0
-L 1m -N 0 -f "$F" -m 0
-L 1m -f "$F" -N 0
-f "$F" -L 1m -m 0
-L 1m -f "$F" -o 4k
-L 1m -f "$F" -M 600
-L 1m -f "$F" -u
-M 648 -L 1m -f "$F"
-M x -L 1m -f "$F"
-I x -L 1m -S "$K"
-T -L 1m -f "$F"
-d -L 1m -f "$F"
-L 1m -f "$F" -V
-L 1m -f "$F" -V -m 0
-L 1m -f "$F" -l -V
-L 1m -f "$F" --near eth0
TABLE

# ---- where the two differ ----

F=$shm/ours.file
refused=refused
printf 'echo hello\n' >"$dir/script"
chmod +x "$dir/script"
ours "a script without #! is refused" "$refused" -C 0 "$dir/script"
ours "--version begins with that of the options" \
	"status 0
$("$link" --version)" --version
case $("$link" --version) in
2.*.*" (numarun "*) say ok "--version names numarun too" ;;
*) say no "--version names numarun too" "2.0.19 (numarun ...)" "$("$link" --version)" ;;
esac
for line in "" --help; do
	# shellcheck disable=SC2086 # none or one
	"$link" $line >"$dir/out" 2>"$dir/err"
	if [ $? -ne 1 ] || [ -s "$dir/out" ] || ! grep -q -e --dump-nodes "$dir/err"; then
		say no "numactl $line prints its usage on stderr, status 1" "" "$(cat "$dir/out")"
	else
		say ok "numactl $line prints its usage on stderr, status 1"
	fi
done
if "$link" -l -s | grep -qx 'preferred node: current'; then
	say ok "-l -s ends each line"
else
	say no "-l -s ends each line" "preferred node: current" "$("$link" -l -s)"
fi
ours "a range that is longer than the file makes it longer" \
	"status 0
0000000000010000-0000000000020000: bind : 0 " -L 64k -o 64k -f "$F" -m 0 -d
ours "without a length, all of a file that is there" \
	"status 0
0000000000010000-0000000000020000: bind : 0 " -f "$F" -d
ours "--preferred for a file" \
	"status 0
0000000000000000-0000000000020000: preferred : 0 " -f "$F" -p 0 -d
ours "a file elsewhere keeps no policy" "$refused" -L 64k -f "/proc/self/mem" -m 0
ours "a program beside shared memory is refused before anything is made" "$refused" \
	-L 1m -f "$shm/new.file" -m 0 "$where"
ours "two files are refused" "$refused" -L 1m -f "$shm/new.file" -f "$shm/newer.file"
ours "a node that is not there leaves no file behind" "$refused" -L 1m -f "$shm/new.file" -m 99
if [ -e "$shm/new.file" ]; then
	say no "nothing was made" "no $shm/new.file" "$(ls -l "$shm")"
else
	say ok "nothing was made"
fi

if [ -n "$table" ]; then
	sh "$table" "$real" "$link" "$where" || failed=1
fi
exit $failed
