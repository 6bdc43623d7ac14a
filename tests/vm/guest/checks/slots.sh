# shellcheck shell=dash disable=SC2154 # pid is lib.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# Exclusive cores: two runs at once, again and again, while one or the other is killed.

rounds=50
seed=20240
slots_dir=/run/numarun

# A number below LIMIT in $random, the same ones in every run.
draw() { # LIMIT
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	random=$((seed / 65536 % $1))
}

# A run of a number of cores near the card, or of the card's own two: $started.
start_exclusive() { # NAME
	local where
	draw 3
	case $random in
	0) where="-C 4-5" ;;
	*) where="--near eth0 --count $random" ;;
	esac
	: >"$TMP/$1"
	# shellcheck disable=SC2086 # words
	numarun --exclusive $where -- where --hold >"$TMP/$1" 2>"$TMP/$1.err" 3>&- &
	started=$!
}

# It holds, or was refused.
has_started() { # NAME PID
	grep -qx holding "$TMP/$1" || ended "$2"
}

# CPUs that more than one program may use. One on its way out has given its cores up already.
overlap() {
	local files=

	for program in $(pidof where); do
		files="$files /proc/$program/status"
	done
	# shellcheck disable=SC2086 # words
	cat $files 2>/dev/null | awk '
		/^State:/ { lives = $2 !~ /[ZX]/ }
		/^Cpus_allowed_list:/ && lives {
			count = split($2, ranges, ",")
			for (i = 1; i <= count; i++) {
				split(ranges[i] "-" ranges[i], ends, "-")
				for (cpu = ends[1]; cpu <= ends[2]; cpu++)
					if (seen[cpu]++ == 1)
						print cpu
			}
		}'
}

expect_no_overlap() {
	local common
	common=$(overlap)
	[ -z "$common" ] || usleep 300000
	[ -z "$common" ] || common=$(overlap)
	expect_equal "CPUs that several programs have in round $round" "" "$common"
}

# Kills a numarun or its program, at random.
kill_one() { # PID
	local victim=$1
	draw 2
	[ "$random" -eq 0 ] || victim=$(cat "/proc/$1/task/$1/children")
	# shellcheck disable=SC2086 # there may be none
	kill -KILL ${victim:-$1} 2>/dev/null
}

# Two start at once beside what the last round has left; then one of them is killed, which may go on
# for a while, and the other is left for the next round.
play_round() {
	local left=$1 first second

	start_exclusive first
	first=$started
	start_exclusive second
	second=$started
	poll has_started first "$first"
	poll has_started second "$second"
	expect_no_overlap
	for name in first second; do
		grep -qx holding "$TMP/$name" && held=$((held + 1))
		grep -q "held by" "$TMP/$name.err" && refused=$((refused + 1))
	done
	[ -z "$left" ] || kill -TERM "$left" 2>/dev/null
	draw 2
	if [ "$random" -eq 0 ]; then
		kill_one "$first"
		survivor=$second
	else
		kill_one "$second"
		survivor=$first
	fi
}

no_program_runs() {
	[ -z "$(pidof where numarun)" ]
}

# The program of what hold started is gone, and only what it started is left.
shell_is_gone() {
	[ "$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$(pidof where)/status")" = 1 ]
}

three_hold() {
	[ "$(grep -c ': holding$' "$TMP/out")" -eq 3 ]
}

check "of two exclusive runs at once none gets the other's cores, whoever is killed"
	survivor=
	held=0
	refused=0
	begin=$(now_cs)
	for round in $(seq "$rounds"); do
		play_round "$survivor"
	done
	kill -TERM "$survivor" 2>/dev/null
	poll no_program_runs
	wait
	echo "$rounds rounds in $((($(now_cs) - begin) / 100)) s: $held runs held cores, $refused were refused"
	expect_equal "every run held cores or was refused" $((2 * rounds)) $((held + refused))
	run numarun --slots
	expect_stdout "no cores are held"
	run numarun --exclusive -C 0-7 -- true
	expect_status 0
	expect_equal "records" "" "$(find "$slots_dir" -type f -name 'run-*')"

check "slots names who holds which cores"
	hold numarun --exclusive --near eth0 --count 1 -- where --hold
	run numarun --slots
	expect_stdout_match "^4 +$pid +root .* running +where"
	refuses 125 "CPU 4 is held by numarun PID $pid \(where\)" --exclusive -C 4

check "a program that outlives its numarun keeps its cores"
	hold numarun --exclusive -C 4 -- sh -c 'trap "" TERM; exec where --hold'
	program=$(pidof where)
	release KILL
	run numarun --slots
	expect_stdout_match "^4 .* without its numarun +sh"
	refuses 125 "CPU 4 is held by" --exclusive -C 4
	run numarun --exclusive --near eth0 --count 1 -- where
	expect_line "cpus: 5"
	kill -KILL "$program"
	poll no_program_runs
	run numarun --exclusive -C 4 -- where
	expect_line "cpus: 4"

check "what a program started keeps its cores when both are gone"
	hold numarun --exclusive -C 4 -- sh -c 'where --hold; true'
	release KILL
	expect_soon "the program to be gone too" shell_is_gone
	run numarun --slots
	expect_stdout_match "^4 .* held by what it left behind +sh"
	refuses 125 "CPU 4 is held by what numarun PID [0-9]+ \(sh\) started and left behind" \
		--exclusive -C 4
	kill -KILL "$(pidof where)"
	poll no_program_runs
	run numarun --slots
	expect_stdout "no cores are held"

check "users share the registry"
	hold start-stop-daemon -S -c 1000:1000 -x /usr/bin/numarun -- \
		--exclusive --near eth0 --count 1 -- where --hold
	expect_line "cpus: 4"
	run numarun --exclusive --near eth0 --count 1 -- where
	expect_line "cpus: 5"

check "the cores of a service are its own"
	cat >/tmp/exclusive.ini <<-'END'
		[role one]
		near = eth0
		count = 1
		command = where --hold
		[role two]
		near = eth0
		count = 2
		instances = 2
		command = where --hold
	END
	start numarun --exclusive --roles /tmp/exclusive.ini
	expect_soon "three programs to hold" three_hold
	expect_no_overlap
	run numarun --slots
	expect_stdout_match "^2,4-7 +$pid +root .* running +/tmp/exclusive.ini"
	refuses 125 "4 cores asked for, 3 can be used.*others have the rest" --exclusive --near eth0 --count 4
	run numarun --exclusive --near eth0 --count 1 -- where
	expect_line "cpus: 3"

check "a process that is pinned to the cores is named"
	hold taskset -c 4 where --hold
	run numarun --exclusive --near eth0 -- true
	expect_status 0
	expect_stderr "process $pid \(where\) is pinned to CPU 4"

check "a record that is damaged by hand is passed over and named"
	hold numarun --exclusive -C 4 -- where --hold
	for record in "$slots_dir"/*; do
		case $record in
		*/slots | */lock) ;;
		*) echo "banana" >"$record" ;;
		esac
	done
	run numarun --slots
	expect_status 0
	expect_stderr "passed over"
	refuses 125 "CPU 4 is held by a process that left no record" --exclusive -C 4
	release TERM
	expect_status 143
