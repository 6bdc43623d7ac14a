#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numarun --exclusive and --slots: two runs never share cores, and nothing stays taken. In registries
# of the tests' own; unit/test_slots.c has the rest.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cpu=$(allowed_cpus | head -n 1)
	mkdir slots
	exclusive=("$NUMARUN" --exclusive --registry slots)
	holds=("${exclusive[@]}" -C "$cpu" --)
}

teardown() {
	stop_started
}

slots() {
	"$NUMARUN" --slots --registry slots
}

# Whether nobody holds a core.
nobody_holds() {
	[[ $(slots 2>&1) == "no cores are held" ]]
}

# Whether the next one gets what was held, and leaves nothing behind. Other programs of this host may
# be pinned there too, which is said and does not matter.
is_free_again() {
	run --separate-stderr "${holds[@]}" echo ran
	[[ $status -eq 0 && $output == ran ]] || fail "$(told)"
	nobody_holds || fail "$(slots 2>&1)"
	[[ $(ls slots) == slots ]] || fail "$(ls slots)"
}

# is_listed STATE PROGRAM: --slots has a line of this numarun, for its CPU.
is_listed() {
	slots | grep -qE "^$cpu +$pid [^ ]+ +[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} +$1 +$2\$"
}

@test "who holds cores is listed, as long as the program runs" {
	is_free_again
	start "${holds[@]}" sleep 100
	eventually is_listed running sleep
	[[ $(slots | head -n 1) == "CPUS "*"PID USER "*"SINCE "*"STATE "*"PROGRAM" ]]
	[[ $(slots | wc -l) -eq 2 ]] || fail "$(slots)"
	kill -TERM "$pid"
	ends 143
	is_free_again
}

@test "cores that are held are refused, with who holds them" {
	start "${holds[@]}" sleep 100
	eventually is_listed running sleep
	refuses 125 "--exclusive: CPU $cpu is held by numarun PID $pid (sleep), user $(id -u), since " \
		"${holds[@]}" touch ran
	[[ ! -e ran ]]
	refuses 125 "CPU $cpu is held by numarun PID $pid" "${exclusive[@]}" -N all -- touch ran
	[[ ! -e ran ]]
	# Those who do not ask are not refused.
	gives ran "$NUMARUN" -C "$cpu" -- echo ran
}

@test "two runs on different cores go on side by side" {
	needs_two_cpus
	start "${holds[@]}" sleep 100
	eventually is_listed running sleep
	run --separate-stderr "${exclusive[@]}" -C "$other" -- "$NUMARUN" --slots --registry slots
	# Two CPUs can be one core.
	[[ $status -ne 125 || $stderr != *"is held by"* ]] || skip "CPUs $cpu and $other are one core"
	[[ $status -eq 0 && ${#lines[@]} -eq 3 && ${lines[1]} == "$cpu "* && ${lines[2]} == "$other "* ]] ||
		fail "$(told)"
}

@test "the next one may as soon as the first has ended, whatever its end" {
	local command

	for command in true false 'kill -KILL $$' 'exit 7'; do
		run "${holds[@]}" sh -c "$command"
		[[ $(ls slots) == slots ]] || fail "after $command: $(ls slots)"
		is_free_again
	done
	run -127 "${holds[@]}" ./missing
	is_free_again
}

@test "kill -9 frees the cores" {
	start "${holds[@]}" sh -c 'echo $$ >program.pid; exec sleep 100'
	eventually test -s program.pid
	kill -KILL "$pid"
	eventually is_gone "$(<program.pid)"
	eventually nobody_holds
	is_free_again
}

@test "a program that outlives its numarun keeps its cores" {
	start "${holds[@]}" sh -c 'trap "" TERM; echo $$ >program.pid; while :; do sleep 0.05; done'
	eventually test -s program.pid
	kill -KILL "$pid"
	eventually is_listed "without its numarun" sh
	refuses 125 "CPU $cpu is held by " "${holds[@]}" touch ran
	[[ ! -e ran ]]
	kill -KILL "$(<program.pid)"
	# Its last child may hold them for a moment more.
	eventually nobody_holds
	is_free_again
}

@test "what a program leaves running keeps its cores" {
	run "${holds[@]}" sh -c 'sleep 100 >/dev/null 2>&1 3>&- & echo $! >left.pid'
	[[ $status -eq 0 ]] || fail "$(told)"
	grep -q "^$cpu .* held by what it left behind *sh\$" <<<"$(slots)" || fail "$(slots)"
	refuses 125 "CPU $cpu is held by " "${holds[@]}" touch ran
	[[ ! -e ran ]]
	kill -KILL "$(<left.pid)"
	eventually nobody_holds
	is_free_again
}

# contend SECONDS: one of several that want the same core; what holds it says when it is not alone.
contend() {
	start "${holds[@]}" flock --no-fork --nonblock --conflict-exit-code 99 alone sleep "$1"
}

@test "runs that want the same core at once, some of them killed, never share it" {
	local round number got won=0
	local -a numbers

	command -v flock >/dev/null || skip "flock is not installed"
	for round in {1..20}; do
		numbers=()
		for _ in 1 2 3; do
			contend 0.0$((RANDOM % 3))
			numbers+=("$pid")
		done
		sleep 0.0$((RANDOM % 3))
		kill -KILL "${numbers[RANDOM % 3]}" 2>/dev/null || true
		for number in "${numbers[@]}"; do
			got=0
			wait "$number" || got=$?
			case $got in
			0) won=$((won + 1)) ;;
			125 | 137) ;;
			*) fail "round $round: status $got" ;;
			esac
		done
	done
	[[ $won -gt 0 ]]
	eventually nobody_holds
	is_free_again
}

@test "processes that are pinned there already are named, and go on" {
	needs_two_cpus
	start taskset -c "$cpu" sleep 100
	eventually runs_on "$pid" "$cpu"
	run --separate-stderr "${holds[@]}" echo ran
	[[ $status -eq 0 && $output == ran ]] || fail "$(told)"
	grep -qx "numarun: process $pid (sleep) is pinned to CPU $cpu too, and is no numarun" <<<"$stderr" ||
		fail "$(told)"
	kill -TERM "$pid"
	ends 143
	run --separate-stderr "${holds[@]}" echo ran
	[[ $stderr != *"process $pid "* ]] || fail "$(told)"
}

@test "--exclusive needs cores to be named" {
	refuses 125 "--exclusive: which cores?" "${exclusive[@]}" -- touch ran
	refuses 125 "--exclusive: which cores?" "${exclusive[@]}" --localalloc -- touch ran
	[[ ! -e ran ]]
}

@test "--slots and --irq-restore run no program" {
	refuses 125 "--slots runs no program" "$NUMARUN" --slots --registry slots -- touch ran
	refuses 125 "--irq-restore runs no program" "$NUMARUN" --irq-restore --registry slots -- touch ran
	[[ ! -e ran ]]
}

@test "a plan for cores takes none" {
	run --separate-stderr "${exclusive[@]}" -C "$cpu" --dry-run -- true
	[[ $status -eq 0 && -z $stderr && -z $(ls slots) ]] || fail "$(told)"
	run --separate-stderr "${exclusive[@]}" -C "$cpu" --export taskset -- true
	[[ $status -eq 0 && -z $(ls slots) ]] || fail "$(told)"
}

@test "roles hold the cores of all of them" {
	cat >service.ini <<-'END'
		[role server]
		command = sh -c 'echo $$ >server.pid; exec sleep 100'
		[role other]
		command = sleep 100
	END
	start "${exclusive[@]}" --roles service.ini
	eventually test -s server.pid
	grep -qE "^[0-9,-]+ +$pid .* running +service.ini\$" <<<"$(slots)" || fail "$(slots)"
	refuses 125 "is held by numarun PID $pid (service.ini)" "${holds[@]}" touch ran
	# Roles that want what is left, where nothing is.
	run -125 --separate-stderr "${exclusive[@]}" --roles service.ini
	[[ $stderr == "numarun: "* && $stderr != *$'\n'* ]] || fail "$(told)"
	kill -INT "$pid"
	ends 130
	is_free_again
}

@test "a registry that cannot be used is refused" {
	local -a elsewhere=("$NUMARUN" -C "$cpu" --exclusive --registry)

	refuses 125 "--exclusive: slot registry nowhere: No such file" "${elsewhere[@]}" nowhere -- touch ran
	refuses 125 "slot registry nowhere: No such file" "$NUMARUN" --slots --registry nowhere
	: >file
	refuses 125 "slot registry file: Not a directory" "${elsewhere[@]}" file -- touch ran
	mkdir -p folder/slots link
	refuses 125 "folder/slots: it is a folder: remove it" "${elsewhere[@]}" folder -- touch ran
	ln -s /etc/passwd link/slots
	refuses 125 "link/slots: it is a symbolic link: remove it" "${elsewhere[@]}" link -- touch ran
	[[ ! -e ran ]]
	if [[ $(id -u) -ne 0 ]]; then
		mkdir -m 500 closed
		refuses 125 "closed: make 'slots' there: Permission denied" "${elsewhere[@]}" closed -- touch ran
	fi
}

@test "a registry that was damaged by hand costs nobody a core, and gives none away" {
	start "${holds[@]}" sleep 100
	eventually is_listed running sleep
	# Garbage in the file of locks, and as a record.
	printf 'garbage\377\0' >slots/slots
	echo garbage >slots/run-1-2-3
	printf '\0\0' >slots/run-x
	mkdir slots/run-4-5-6
	run --separate-stderr slots
	[[ $status -eq 0 && $output == *" $pid "*" running "* && $stderr == *"numarun: slots/run-1-2-3: "*"passed over"* ]] ||
		fail "$(told)"
	refuses 125 "CPU $cpu is held by numarun PID $pid" "${holds[@]}" touch ran
	# Without the file of locks the record counts.
	rm slots/slots
	refuses 125 "CPU $cpu is held by numarun PID $pid" "${holds[@]}" touch ran
	[[ ! -e ran ]]
	kill -TERM "$pid"
	ends 143
	run --separate-stderr "${holds[@]}" echo ran
	[[ $status -eq 0 && $output == ran ]] || fail "$(told)"
}

@test "without its record the lock counts" {
	start "${holds[@]}" sleep 100
	eventually is_listed running sleep
	rm slots/run-*
	refuses 125 "CPU $cpu is held" "${holds[@]}" touch ran
	[[ ! -e ran && $(slots) == *$'\n'"$cpu "* ]] || fail "$(slots)"
}

@test "users share a registry" {
	[[ $(id -u) -eq 0 ]] || skip "only root can be two users"
	chmod 1777 slots
	chmod 755 "$BATS_TEST_TMPDIR"
	local -a as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	"${as[@]}" test -x "$NUMARUN" -a -w slots 2>/dev/null || skip "other users cannot run $NUMARUN or reach $PWD"

	start "${as[@]}" "${holds[@]}" sleep 100
	eventually is_listed running sleep
	refuses 125 "CPU $cpu is held by numarun PID $pid (sleep), user 65534" "${holds[@]}" touch ran
	kill -TERM "$pid"
	ends 143
	start "${holds[@]}" sleep 100
	eventually is_listed running sleep
	refuses 125 "CPU $cpu is held by numarun PID $pid (sleep), user 0" "${as[@]}" "${holds[@]}" touch ran
	kill -TERM "$pid"
	ends 143
	[[ ! -e ran ]]
	is_free_again
}
