# shellcheck shell=dash
# SPDX-License-Identifier: BSD-3-Clause
#
# What holds on every machine: how numarun fails, and that a program under it is the same program.
# Each guest has an eth0, a CPU 0 and a node 0 with memory.

check "an unknown device is refused and those that exist are named"
	refuses 125 "eth9" --near eth9
	expect_stderr "eth0"

check "a device without hardware is refused as virtual"
	refuses 125 "virtual" --near lo

check "a CPU that does not exist is refused by its number"
	refuses 125 "999" -C 999

check "a list is not silently cut down to the CPUs that exist"
	refuses 125 "999" -C 0,999

check "a node that does not exist is refused by its number"
	refuses 125 "77" -m 77
	refuses 125 "77" -N 77
	refuses 125 "77" -i 0,77
	refuses 125 "77" -p 77

check "an empty set is refused"
	refuses 125 "empty|''" -C ''
	refuses 125 "empty|''" -m ''
	refuses 125 "empty|''" -N ''

check "a set that is not one is refused and quoted"
	refuses 125 "0-x" -C 0-x
	refuses 125 "3-1" -C 3-1
	refuses 125 "banana" -m banana

check "two memory policies are refused"
	refuses 125 "polic|conflict|one" -m 0 -i 0
	refuses 125 "polic|conflict|one" -l -p 0

check "an unknown option is refused"
	refuses 125 "frobnicate" --frobnicate

check "a tier that the device does not have is refused"
	refuses 125 "tier" --near eth0 --tier 99
	refuses 125 "tier" --near eth0 --tier 0

check "options of near without near are refused, not ignored"
	refuses 125 "near" --count 1
	refuses 125 "near" --tier 1

check "a program that is not there gives 127"
	run numarun -C 0 -- /nowhere/program
	expect_refusal 127 "/nowhere/program"
	run numarun -C 0 -- no-such-program
	expect_refusal 127 "no-such-program"

check "a program that cannot be executed gives 126"
	run numarun -C 0 -- /machine.env
	expect_refusal 126 "/machine.env"
	run numarun -C 0 -- /proc
	expect_refusal 126 "/proc"

check "no program at all is refused"
	run numarun -C 0
	expect_refusal 125 "program|command|run"

check "the program gets its arguments untouched"
	# shellcheck disable=SC2016 # for the inner shell to expand
	run numarun -C 0 -- sh -c 'printf "[%s]" "$@"' sh 'a b' '' '*' 'a"b' -N --near --
	expect_status 0
	expect_stdout '[a b][][*][a"b][-N][--near][--]'

check "options after the program are the program's own"
	run numarun -C 0 echo -m 77 --near eth9
	expect_status 0
	expect_stdout "-m 77 --near eth9"

check "the program reads numarun's standard input"
	run sh -c 'echo hello | numarun -C 0 -- cat'
	expect_stdout "hello"

check "the program takes over numarun's process"
	# shellcheck disable=SC2016 # for the inner shells to expand
	run sh -c 'echo $$; exec numarun -C 0 -- sh -c "echo \$\$"'
	expect_status 0
	expect_equal "different PIDs" 1 "$(sort -u "$TMP/out" | wc -l)"

check "the exit status of the program is passed on"
	run numarun -C 0 -- sh -c 'exit 7'
	expect_status 7

check "a program ended by a signal gives 128 and the signal"
	hold numarun -C 0 -- where --hold
	release TERM
	expect_status 143

check "a dry run prints a plan and runs nothing"
	run numarun --near eth0 --dry-run -- touch "$TMP/mark"
	expect_status 0
	expect_json '"schema":"numakit/plan/1"'
	expect_no_stderr
	expect_not_run

check "explain says on stderr what is done, and the program still runs"
	run numarun --near eth0 --explain -- where
	expect_status 0
	expect_stderr "eth0"
	expect_line "policy: local"

check "the report names the network card and its place"
	run numaprobe report
	expect_status 0
	expect_no_stderr
	expect_stdout_match "eth0.*[0-9a-f]+:[0-9a-f]+:00.0"

check "rank refuses an unknown device in one line"
	run numaprobe rank eth9
	expect_status 1
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	expect_stderr "^numaprobe: .*eth9.*eth0"

check "rank says the same of this machine and of its capture"
	for nic in $MACHINE_NICS; do
		nic=${nic%%=*}
		numaprobe rank "$nic" --json >"$TMP/live" 2>/dev/null
		run numaprobe rank "$nic" --json --root /tmp/capture
		expect_stdout "$(cat "$TMP/live")"
		expect_json "\"name\":\"$nic\""
	done

check "the report counts the same in this machine and in its capture"
	run numaprobe report --root /tmp/capture
	expect_line "$(numaprobe report | grep '^cpus:')"
	expect_line "$(numaprobe report | grep '^nodes:')"
