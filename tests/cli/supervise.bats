#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numarun as a parent that stays, with one program: what it passes on, what it looks at and says; what
# it checks before the start; and what it does to a process that runs.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load common
load counting

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cpu=$(allowed_cpus | head -n 1)
	node=$(first_memory_node)
	# Each makes a parent stay.
	staying=(--verify --verify=look.json "--verify-every 5" --repin
		"--exclusive --registry . -C $cpu")
}

teardown() {
	stop_started
}

# not_run TEXT OPTION...: with these options numarun refuses, and the program is not started.
not_run() {
	local text=$1

	shift
	refuses 125 "$text" "$NUMARUN" "$@" -- touch ran
	[[ ! -e ran ]] || fail "$(told)" "the program was run all the same"
}

# ---- what a parent passes on ----

@test "with a parent too, the program's status is numarun's" {
	local options want

	for options in "${staying[@]}"; do
		for want in 0 7; do
			# shellcheck disable=SC2086 # words
			run --separate-stderr "$NUMARUN" $options -- sh -c "exit $want"
			[[ $status -eq $want && -z $output ]] || fail "$(told)"
		done
	done
}

@test "with a parent too, a program that a signal kills is seen as killed" {
	local signal

	for signal in TERM KILL USR1 HUP INT; do
		# A shell cannot tell 143 from killed by TERM; Python does.
		gives "-$(kill -l "$signal")" "$PYTHON" -c '
import os, signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
print(subprocess.run([os.environ["NUMARUN"], "--verify-every", "5", "--", "sh", "-c",
                      "kill -%s $$" % sys.argv[1]]).returncode)' "$signal"
	done
	run --separate-stderr "$NUMARUN" --verify-every 5 -- sh -c 'kill -TERM $$'
	[[ $status -eq 143 ]] || fail "$(told)"
}

@test "with a parent too, what cannot be executed is 126, and what is not there 127" {
	local options

	for options in "${staying[@]}"; do
		# shellcheck disable=SC2086 # words
		refuses 127 "./missing: program not found" "$NUMARUN" $options -- ./missing
		# shellcheck disable=SC2086
		refuses 126 "Permission denied" "$NUMARUN" $options -- .
	done
}

@test "with a parent too, arguments, standard input, environment and umask are the program's" {
	gives $'<a b>\n<>\n<-C>' "$NUMARUN" --repin -C "$cpu" -- printf '<%s>\n' 'a b' '' -C
	gives "from stdin" bash -c 'echo "from stdin" | "$NUMARUN" --repin -- cat'
	gives "$cpu" "$NUMARUN" --repin -C "$cpu" -- printenv NUMARUN_CPUS
	gives 0027 bash -c 'umask 27; "$NUMARUN" --repin -- sh -c umask'
	# No descriptor more, and no signal blocked or switched off.
	gives "" bash -c '
		without=$(ls /proc/self/fd)
		[[ $("$NUMARUN" --repin -- ls /proc/self/fd) == "$without" ]]'
	gives "$(grep ^SigBlk /proc/self/status)" "$NUMARUN" --repin -- grep ^SigBlk /proc/self/status
	gives "$(grep ^SigIgn /proc/self/status)" "$NUMARUN" --repin -- grep ^SigIgn /proc/self/status
}

@test "signals are passed on to the program" {
	local signal

	start "$NUMARUN" --repin -- sh -c '
		for signal in INT HUP QUIT USR1 USR2 WINCH CONT; do
			trap "echo $signal" $signal
		done
		trap "echo TERM; exit 3" TERM
		echo up
		while :; do sleep 0.01; done'
	prints up
	for signal in HUP INT QUIT USR1 USR2 WINCH CONT TERM; do
		kill -"$signal" "$pid"
		eventually grep -qx "$signal" "$out"
	done
	ends 3
	[[ $(sort <"$out") == $'CONT\nHUP\nINT\nQUIT\nTERM\nUSR1\nUSR2\nWINCH\nup' ]] ||
		fail "each once, but:" "$(<"$out")"
}

@test "a Ctrl-C at the terminal reaches the program once" {
	# The terminal sends it to both; numarun must not send it on.
	gives $'int\nusr1' timeout 20 "$PYTHON" -c '
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "--repin", "--", "sh", "-c", """
        trap "echo int" INT
        trap "echo usr1; exit" USR1
        echo "up $$"
        while :; do sleep 0.01; done"""])
text = b""
def until(word):
    global text
    while word not in text:
        text += os.read(terminal, 1000)
until(b"\n")
os.write(terminal, b"\x03")
until(b"int\r\n")
# numarun has had its own by the time that it passes this one on.
os.kill(pid, 10)
until(b"usr1\r\n")
os.waitpid(pid, 0)
print("\n".join(line for line in text.decode().replace("^C", "").split("\r\n")
                if line in ("int", "usr1")))' "$NUMARUN"
}

# Whether the only child of numarun is its program.
has_one_child() {
	[[ $(children_of "$pid" | wc -l) -eq 1 ]]
}

@test "what the program's children leave behind is waited for" {
	start "$NUMARUN" --repin -- sh -c '
		(sh -c "sleep 0.05 & echo \$! >left.pid" &)
		echo up
		exec sleep 100'
	prints up
	eventually test -s left.pid
	# It came to numarun when its own parent ended, and is no zombie after its end.
	eventually test ! -e "/proc/$(<left.pid)"
	eventually has_one_child
	kill -TERM "$pid"
	ends 143
}

@test "a program does not outlive a numarun that is killed" {
	start "$NUMARUN" --repin -- sh -c 'echo $$ >program.pid; exec sleep 100'
	eventually test -s program.pid
	kill -KILL "$pid"
	eventually is_gone "$(<program.pid)"
}

@test "what a program leaves running is left alone" {
	run --separate-stderr "$NUMARUN" --repin -- sh -c 'sleep 100 >/dev/null 2>&1 3>&- & echo $! >left.pid'
	[[ $status -eq 0 ]] || fail "$(told)"
	run -1 is_gone "$(<left.pid)"
}

# ---- verification ----

# look_is TEXT EXPRESSION: over the document in look.json the expression gives that.
look_is() {
	output=$(<look.json)
	json_is "$@"
}

@test "--verify says what was seen, --verify=FILE writes it" {
	run --separate-stderr "$NUMARUN" --verify -C "$cpu" -- sleep 0.2
	[[ $status -eq 0 && $stderr == "numarun: verified: CPU $cpu, memory inherited; "*" looks, at last 1 thread"* ]] ||
		fail "$(told)"

	gives "" "$NUMARUN" --verify=look.json -C "$cpu" -- sleep 0.2
	look_is "(True, True, False, ['$cpu', None])" \
		'd["ok"], d["programs"][0]["ok"], d["programs"][0]["was_lost"], list(d["programs"][0]["asked"].values())'
	look_is "(['sleep', '0.2'], 0, None)" \
		'd["programs"][0]["command"], d["programs"][0]["end"]["exit_status"], d["programs"][0]["end"]["signal"]'
	look_is "[('$cpu', '$cpu', True)]" \
		'[tuple(thread["cpus"].values()) for thread in d["programs"][0]["threads"]]'
	look_is True 'd["programs"][0]["looks"] >= 2'
	look_is "$(cat /proc/sys/kernel/numa_balancing 2>/dev/null || echo None)" 'd["numa_balancing"]'
	validates look.json
}

@test "--verify sees the memory policy and the pages" {
	needs_memory_policy

	gives "" "$NUMARUN" --verify=look.json -m "$node" -- sh -c 'sleep 0.2; exit 3' || [[ $status -eq 3 ]]
	look_is "(True, 'bind:$node', 3)" \
		'd["ok"], d["programs"][0]["asked"]["policy"], d["programs"][0]["end"]["exit_status"]'
	look_is True \
		'all(thread["policy"]["ok"] in (True, None) for thread in d["programs"][0]["threads"])'
	# Memory files of other users' programs cannot be read; ours can.
	look_is "([$node], 0)" \
		'[x["node"] for x in d["programs"][0]["pages"]["nodes"]], d["programs"][0]["pages"]["outside_bytes"]'
	validates look.json
}

@test "--verify=FILE of programs that fail, are killed or are not there" {
	run "$NUMARUN" --verify=look.json -- sh -c 'kill -KILL $$'
	look_is "(None, 9)" '(d["programs"][0]["end"]["exit_status"], d["programs"][0]["end"]["signal"])'
	mv look.json killed.json
	run "$NUMARUN" --verify=look.json -C "$cpu" -- true
	look_is 0 'd["programs"][0]["end"]["exit_status"]'
	mv look.json short.json
	run -127 "$NUMARUN" --verify=look.json -C "$cpu" -- ./missing
	look_is "(False, None, 127, './missing: program not found')" \
		'd["ok"], d["programs"][0]["pid"], d["programs"][0]["end"]["exit_status"], d["programs"][0]["end"]["reason"]'
	validates killed.json short.json look.json
}

@test "--verify=FILE follows a program that runs" {
	start "$NUMARUN" --verify=look.json -C "$cpu" -- sleep 100
	eventually test -s look.json
	look_is "(True, None)" 'd["ok"], d["programs"][0]["end"]'
	kill -TERM "$pid"
	ends 143
	look_is 15 'd["programs"][0]["end"]["signal"]'
	[[ $(echo look.json*) == look.json ]]
}

@test "a file that cannot be written is refused before anything runs" {
	not_run "--verify: nowhere/look.json: No such file or directory" --verify=nowhere/look.json
	not_run "Is a directory" --verify=.
	mkfifo pipe
	not_run "pipe: nobody reads this pipe" --verify=pipe
	[[ -e /dev/full ]] || skip "no /dev/full here"
	run -125 --separate-stderr "$NUMARUN" --strict --verify=/dev/full -- true
	[[ $stderr == "numarun: --verify: /dev/full: No space left on device" ]] || fail "$(told)"
}

# What was lost is said with this.
own="the thread set its own mask, or another process did"

@test "a binding that is lost is named with time, thread and cause, and so is its return" {
	local program

	needs_two_cpus
	start "$NUMARUN" --verify=look.json --verify-every 0.2 -C "$cpu" -- sleep 100
	eventually test -s look.json
	program=$(children_of "$pid")

	taskset -cp "$other" "$program" >/dev/null
	says "binding lost at "
	grep -qE "^numarun: binding lost at [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z, [0-9.]+ s: thread $program \(sleep\), CPUs: $other instead of $cpu: $own\$" "$errs" ||
		fail "$(<"$errs")"
	look_is "(False, False, [('lost', 'cpus', $program, 'sleep', '$cpu', '$other', 'own')])" \
		'd["ok"], d["programs"][0]["ok"], [tuple(event[key] for key in ("change", "item", "thread", "name", "asked", "kernel", "cause")) for event in d["programs"][0]["events"]]'

	taskset -cp "$cpu" "$program" >/dev/null
	says "binding is back at "
	# Said once, however often it is looked at.
	[[ $(grep -c "binding lost" "$errs") -eq 1 ]] || fail "$(<"$errs")"
	kill -TERM "$pid"
	ends 143
	look_is "(False, True, True)" 'd["ok"], d["programs"][0]["ok"], d["programs"][0]["was_lost"]'
	look_is "['lost', 'back']" '[event["change"] for event in d["programs"][0]["events"]]'
	validates look.json
}

@test "one thread of several that loses its CPUs is named, with its name" {
	local thread

	needs_two_cpus
	start "$NUMARUN" --verify-every 0.1 -C "$cpu" -- "$PYTHON" -c '
import threading, time
def work():
    open("/proc/self/task/%d/comm" % threading.get_native_id(), "w").write("worker 1")
    print(threading.get_native_id(), flush=True)
    time.sleep(100)
threading.Thread(target=work, daemon=True).start()
time.sleep(100)'
	eventually test -s "$out"
	thread=$(<"$out")
	taskset -cp "$other" "$thread" >/dev/null
	says "thread $thread (worker 1), CPUs: $other instead of $cpu: $own"
	[[ $(grep -c "binding lost" "$errs") -eq 1 ]] || fail "$(<"$errs")"
}

@test "the processes that the program starts are looked at too" {
	needs_two_cpus
	start "$NUMARUN" --verify-every 0.1 -C "$cpu" -- sh -c '
		sleep 100 & echo $! >child.pid; wait'
	eventually test -s child.pid
	eventually grep -qx sleep "/proc/$(<child.pid)/comm"
	taskset -cp "$other" "$(<child.pid)" >/dev/null
	says "thread $(<child.pid) (sleep), CPUs: $other instead of $cpu: $own"
}

@test "a thread that keeps to some of its CPUs breaks no promise" {
	needs_two_cpus
	start "$NUMARUN" --strict --verify=look.json --verify-every 0.1 -C "$cpu,$other" -- sleep 100
	eventually test -s look.json
	taskset -cp "$other" "$(children_of "$pid")" >/dev/null
	says "narrowed at "
	kill -TERM "$pid"
	ends 143
	look_is "(True, False, ['narrowed'])" \
		'd["ok"], d["programs"][0]["was_lost"], [event["change"] for event in d["programs"][0]["events"]]'
}

@test "--repin pins threads again" {
	local program

	needs_two_cpus
	start "$NUMARUN" --repin --verify=look.json --verify-every 0.1 -C "$cpu" -- sleep 100
	eventually test -s look.json
	program=$(children_of "$pid")
	taskset -cp "$other" "$program" >/dev/null
	says "pinned again at "
	runs_on "$program" "$cpu" || fail "it runs on $(cpus_of "$program")"
	# And again.
	taskset -cp "$other" "$program" >/dev/null
	eventually runs_on "$program" "$cpu"
	kill -TERM "$pid"
	ends 143
	look_is "['lost', 'repinned', 'lost', 'repinned']" \
		'[event["change"] for event in d["programs"][0]["events"]]'
	look_is "(True, True)" 'd["programs"][0]["ok"], d["programs"][0]["was_lost"]'
}

@test "--repin together with --strict goes on where pinning again helps" {
	local program

	needs_two_cpus
	start "$NUMARUN" --repin --strict --verify-every 0.1 -C "$cpu" -- sleep 100
	eventually has_one_child
	program=$(children_of "$pid")
	taskset -cp "$other" "$program" >/dev/null
	says "pinned again at "
	run -1 is_gone "$pid"
	kill -TERM "$pid"
	ends 143
}

@test "with --strict a placement that is lost ends the run with 125" {
	needs_two_cpus
	start "$NUMARUN" --strict --verify=look.json --verify-every 0.1 -C "$cpu" -- \
		sh -c 'trap "echo told; exit 0" TERM; echo $$ >program.pid; while :; do sleep 0.01; done'
	eventually test -s program.pid
	taskset -cp "$other" "$(<program.pid)" >/dev/null
	ends 125
	grep -qx "numarun: the placement is not what was asked for, and --strict ends the run" "$errs" ||
		fail "$(<"$errs")"
	[[ $(<"$out") == told ]] || fail "$(<"$out")"
	is_gone "$(<program.pid)"
	look_is "(False, 0)" 'd["ok"], d["programs"][0]["end"]["exit_status"]'
}

@test "a program that sets its own memory policy is found out" {
	needs_memory_policy

	start "$NUMARUN" --verify=look.json --verify-every 0.1 -m "$node" -- "$NUMARUN" -l -- sleep 100
	says "memory: local instead of bind:$node: the program set its own policy"
	look_is "[('lost', 'policy', 'bind:$node', 'own')]" \
		'[tuple(event[key] for key in ("change", "item", "asked", "cause")) for event in d["programs"][0]["events"]]'
	kill -TERM "$pid"
	ends 143
}

@test "numbers of seconds that are none are refused" {
	local text

	for text in 0 -1 x '' 1s 0x 0.01 86401 1e9 nan inf; do
		not_run "--verify-every: '$text' is not a number of seconds" --verify-every "$text"
	done
}

@test "with --explain a parent says what the kernel has" {
	run --separate-stderr "$NUMARUN" --explain --repin -C "$cpu" -- echo mine
	[[ $status -eq 0 && $output == mine && $stderr == *"verified: the kernel has CPU $cpu"* ]] ||
		fail "$(told)"
}

# ---- before it starts ----

@test "--mem-size of what there is lets the program run, and of more does not" {
	gives ran "$NUMARUN" --mem-size 1M -C "$cpu" -- echo ran
	gives ran "$NUMARUN" --mem-size 4096 --repin -- echo ran
	not_run "1000 TiB are asked for" --mem-size 1000T -C "$cpu"
	needs_memory_policy
	not_run "node $node has " --mem-size 1000T -m "$node"
	not_run "1000 TiB are asked for" --mem-size 1000T -i all
}

@test "--mem-size on a node that is too small names a policy that would do" {
	refuses 125 "1 GiB are asked for and --membind allows no other: --preferred 0 " \
		"$NUMARUN" --root "$ODD" --dry-run --mem-size 1G -m 0
	run --separate-stderr "$NUMARUN" --root "$ODD" --dry-run --mem-size 300M -p 0
	[[ $status -eq 0 && $stderr == "numarun: memory preferred:0: node 0 has "*" come from node 1 (distance 20)" ]] ||
		fail "$(told)"
}

@test "sizes that are none are refused" {
	local text

	for text in 0 -1 x '' 1X 1.5G 1GG ' 1' 0x10; do
		not_run "--mem-size: '$text' is not a size" --mem-size "$text"
	done
	not_run "--mem-size: '99999999999T' is too large" --mem-size 99999999999T
	for text in 0 -1 x '' :2M 1: 1:x 1:0; do
		not_run "--huge-pages: " --huge-pages "$text"
	done
}

@test "--huge-pages of more than there are, or of a size that does not exist, are refused" {
	compgen -G '/sys/devices/system/node/node*/hugepages/hugepages-*' >/dev/null ||
		skip "no huge pages here"

	not_run "free huge pages of " --huge-pages 100000000 -C "$cpu"
	not_run "this host has no huge pages of 3072 kB; it has " --huge-pages 1:3M -C "$cpu"
}

@test "--mem-fallback takes three words" {
	local text

	for text in '' x Fail cpu; do
		not_run "--mem-fallback: '$text' is not one of fail, warn, cpu-only" --mem-fallback "$text"
	done
	for text in fail warn cpu-only; do
		gives ran "$NUMARUN" --mem-fallback "$text" -- echo ran
	done
}

# ---- scheduling policies ----

# The policy's name as chrt(1) has it, of what runs under numarun with these options.
policy_is() {
	local want=$1

	shift
	run --separate-stderr "$NUMARUN" "$@" -- sh -c 'chrt -p $$'
	[[ $status -eq 0 && ${lines[0]} == *": $want" ]] || fail "$(told)" "wanted: $want"
}

@test "--sched sets the scheduling policy, with a parent and without" {
	policy_is SCHED_BATCH --sched batch
	policy_is SCHED_BATCH --sched batch --repin -C "$cpu"
	policy_is SCHED_IDLE --sched idle -C "$cpu"
	policy_is SCHED_OTHER --sched other
}

@test "scheduling policies that are none are refused" {
	local text

	for text in '' x fifo:0 fifo:100 fifo: fifo:x batch:1 FIFO rr:-1 fifo:1:2; do
		not_run "--sched: '$text' is not a scheduling policy" --sched "$text" -C "$cpu"
	done
	not_run "--force needs --sched" --force
}

@test "what starves a program's own threads or the kernel's is refused, unless it is forced" {
	not_run "--sched: fifo with CPU $cpu alone: " --sched fifo -C "$cpu"
	not_run "--sched: rr with CPU $cpu alone: " --sched rr:10 -C "$cpu"
	not_run "--sched: fifo:50 is above the kernel's threads that serve interrupts" --sched fifo:50 -N all

	run --separate-stderr "$NUMARUN" --sched fifo:50 --force -C "$cpu" -- sh -c 'chrt -p $$'
	[[ $status -ne 125 || $stderr != *"not permitted"* ]] || skip "no real-time policies here: $stderr"
	[[ $status -eq 0 && $output == *"SCHED_FIFO"*"priority: 50"* ]] || fail "$(told)"
	[[ $stderr == *"numarun: fifo:50 is above "*"numarun: fifo with CPU $cpu alone"* ]] || fail "$(told)"
}

@test "a real-time policy without the right to it is refused, with what would give it" {
	local -a without=()

	needs_two_cpus
	if [[ $(id -u) -eq 0 ]]; then
		without=(setpriv --inh-caps=-sys_nice --bounding-set=-sys_nice)
		"${without[@]}" true 2>/dev/null || skip "setpriv cannot take CAP_SYS_NICE away here"
	fi
	run -125 --separate-stderr prlimit --rtprio=0 "${without[@]}" \
		"$NUMARUN" --sched fifo:1 -C "$cpu,$other" -- touch ran
	# Before it there is what holds such programs back, on most hosts.
	[[ ${stderr##*$'\n'} == "numarun: "*"not permitted: it needs CAP_SYS_NICE"* && ! -e ran ]] ||
		fail "$(told)"
}

# ---- export ----

# exports FORM OPTION...: prints lines that a shell runs, to the same effect as numarun itself.
exports() {
	local form=$1
	shift
	local lines

	run --separate-stderr "$NUMARUN" --export "$form" "$@" -- "$WHERE"
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	lines=$output
	run --separate-stderr bash -c "$lines"
	[[ $status -eq 0 ]] || fail "$(told)"
	[[ $(grep -v '^running on' <<<"$output") == "$("$NUMARUN" "$@" -- "$WHERE" | grep -v '^running on')" ]] ||
		fail "$(told)" "of the lines:" "$lines"
}

@test "--export prints lines that do the same" {
	exports taskset -C "$cpu"
	exports taskset -N all
	command -v numactl >/dev/null || skip "numactl is not installed"
	exports numactl -C "$cpu"
	needs_memory_policy
	exports numactl -C "$cpu" -m "$node"
	exports numactl -i all
	exports numactl -l
}

@test "--export quotes a command for the shell, and for units" {
	local text

	for text in taskset numactl; do
		output=$("$NUMARUN" --export "$text" -C "$cpu" -- printf '<%s>\n' 'a b' "it's" '' '$HOME')
		[[ $text != numactl ]] || command -v numactl >/dev/null || continue
		[[ $(bash -c "$output") == $'<a b>\n<it\'s>\n<>\n<$HOME>' ]] || fail "$output"
	done
	output=$("$NUMARUN" --export systemd -C "$cpu" -- /bin/echo 'a b' 50%)
	grep -qx "CPUAffinity=$cpu" <<<"$output" || fail "$output"
	grep -qxF 'ExecStart=/bin/echo "a b" "50%%"' <<<"$output" || fail "$output"
}

@test "--export says what a form cannot express, and runs nothing" {
	for form in systemd taskset numactl slurm docker; do
		run --separate-stderr "$NUMARUN" --export "$form" --root "$EJFAT2" --near "$NIC" --count 4 -- touch ran
		[[ $status -eq 0 && -z $stderr && $output == *"# not expressed: "* ]] || fail "$(told)"
		[[ $output == *80-83* || $output == *0xf00000000000000000000* ]] || fail "$(told)"
	done
	[[ ! -e ran ]]
	not_run "--export: 'x' is no format: systemd, taskset, numactl, slurm or docker" --export x
	not_run "--export and --dry-run are two things to do" --export taskset --dry-run
}

# ---- a process that runs ----

@test "--pid moves all threads of a process that runs" {
	local thread

	needs_two_cpus
	start "$PYTHON" -c '
import threading, time
for _ in range(3): threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
print("up", flush=True)
time.sleep(100)'
	prints up
	run --separate-stderr "$NUMARUN" --pid "$pid" -C "$other"
	[[ $status -eq 0 && -z $output && $stderr == "numarun: process $pid: 4 threads on CPU $other" ]] ||
		fail "$(told)"
	for thread in /proc/"$pid"/task/*; do
		runs_on "$pid/task/${thread##*/}" "$other" || fail "$thread: $(grep ^Cpus_allowed_list "$thread/status")"
	done
}

@test "--pid with --dry-run moves nothing" {
	needs_two_cpus
	start taskset -c "$cpu" sleep 100
	eventually runs_on "$pid" "$cpu"
	run --separate-stderr "$NUMARUN" --pid "$pid" -C "$other" --dry-run
	[[ $status -eq 0 ]] || fail "$(told)"
	json_is "$other" 'd["cpus"]'
	runs_on "$pid" "$cpu"
}

@test "--pid with --migrate moves pages too, and says that the policy stays" {
	needs_memory_policy
	start sleep 100
	eventually grep -q sleep "/proc/$pid/comm"
	run --separate-stderr "$NUMARUN" --pid "$pid" -m "$node" --migrate
	[[ $status -ne 125 || $stderr != *"not permitted"* ]] || skip "no moving of pages here: $stderr"
	[[ $status -eq 0 && $stderr == *"process $pid: "*" pages on node $node ("*"the memory policy of a running process cannot be changed from outside"* ]] ||
		fail "$(told)"
	refuses 125 "--membind: the memory policy of a running process cannot be changed from outside" \
		"$NUMARUN" --pid "$pid" -m "$node"
}

@test "--pid refuses what is no process, and what makes no sense with it" {
	local text

	for text in 0 -1 x '' 1x 99999999999; do
		refuses 125 "--pid: '$text' is not a number in 1..2147483647" "$NUMARUN" --pid "$text" -C "$cpu"
	done
	refuses 125 "process 2147483647: no such process" "$NUMARUN" --pid 2147483647 -C "$cpu"
	refuses 125 "--pid: where to?" "$NUMARUN" --pid $$
	refuses 125 "--pid: where to?" "$NUMARUN" --pid $$ --migrate
	not_run "--pid moves a process that runs already: 'touch' is too much" --pid $$ -C "$cpu"
	refuses 125 "--pid and --export are two things to do" "$NUMARUN" --pid $$ -C "$cpu" --export numactl
	not_run "--migrate needs --pid PID" --migrate
	for text in --verify --repin --exclusive "--sched batch" "--verify-every 1" "--mem-size 1G" "--huge-pages 1"; do
		# shellcheck disable=SC2086 # words
		refuses 125 "and --pid: that is for a program to be started" "$NUMARUN" --pid $$ -C "$cpu" $text
	done
}

@test "--pid refuses a kernel thread, and another user's process" {
	local -a as=()

	if [[ $(tr '\0' x </proc/2/cmdline 2>/dev/null | wc -c) -eq 0 && -r /proc/2/status ]]; then
		refuses 125 "process 2 is a kernel thread: it is not ours to move" "$NUMARUN" --pid 2 -C "$cpu"
	fi
	if [[ $(id -u) -eq 0 ]]; then
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		"${as[@]}" "$NUMARUN" --version >/dev/null 2>&1 || skip "other users cannot run $NUMARUN"
	fi
	run -125 --separate-stderr "${as[@]}" "$NUMARUN" --pid 1 -C "$cpu"
	[[ $stderr == "numarun: "*"process 1"* && $stderr != *$'\n'* ]] || fail "$(told)"
}

# ---- interrupts, as far as nothing is steered ----

@test "--irq is refused without a card, and with what it does not know" {
	not_run "--irq needs --near DEV" --irq
	not_run "--irq needs --near DEV" --irq -C "$cpu"
	not_run "--irq: 'x' is unknown, there is --irq and --irq=beside" --irq=x --near eth0
	refuses 125 "--near and --roles" "$NUMARUN" --irq --near eth0 --roles x
	refuses 125 "--irq and --roles: steering is for a run of one program" "$NUMARUN" --irq --roles x
}

@test "--irq-restore where nothing was left steered has nothing to do" {
	run --separate-stderr "$NUMARUN" --irq-restore --registry "$BATS_TEST_TMPDIR"
	[[ $status -eq 0 && -z $output ]] || fail "$(told)"
}

@test "options that need another one, or contradict it" {
	not_run "--registry needs --exclusive, --slots or --irq" --registry .
	refuses 125 "option '--repin=3' takes no value" "$NUMARUN" --repin=3 -- true
	refuses 125 "--physcpubind and --roles" "$NUMARUN" --roles x -C "$cpu"
	refuses 125 "--membind and --roles" "$NUMARUN" --roles x -m "$node"
	refuses 125 "--mem-size and --roles" "$NUMARUN" --roles x --mem-size 1G
	refuses 125 "--huge-pages and --roles" "$NUMARUN" --roles x --huge-pages 1
	refuses 125 "--roles and --pid" "$NUMARUN" --roles x --pid 1
	refuses 125 "--show and --roles" "$NUMARUN" --roles x --show
	refuses 125 "--hardware and --roles" "$NUMARUN" --roles x --hardware
}

# ---- --counters: what is counted is tested on emulated machines, and by unit.counters.counting ----

@test "--counters on a host without such counters is refused with the reason, and nothing is run" {
	local option

	needs_no_uncore
	printf '%s\n' '[role one]' 'command = touch ran' >service.ini
	for option in --counters --counters=out.csv --counters=out.jsonl "--counters --explain" "--counters -C $cpu"; do
		# shellcheck disable=SC2086 # words
		run -125 --separate-stderr "$NUMARUN" $option -- touch ran
		[[ -z $output && ! -e ran && ! -e out.csv && ! -e out.jsonl ]] || fail "$(told)"
		[[ $(tail -n 1 <<<"$stderr") == "numarun: --counters: uncore: "* ]] || fail "$(told)"
	done
	not_run "--counters: uncore: " --counters
	# The same reason that numacount has.
	output=$("$NUMACOUNT" explain --json) || true
	[[ $stderr == *"$(json '[s["reason"] for s in d["sources"] if s["source"] == "uncore"][0]')"* ]] || fail "$(told)"
	refuses 125 "--counters: uncore: " "$NUMARUN" --counters --roles service.ini
	[[ ! -e ran ]]
}

@test "a file for --counters whose name tells no format is refused before all else" {
	local file

	printf '%s\n' '[role one]' 'command = touch ran' >service.ini
	for file in out.txt out '' out.csv.gz; do
		not_run "--counters: '$file': its end must tell the format: .csv, or .jsonl" "--counters=$file"
	done
	refuses 125 "--counters: 'out.txt': its end" "$NUMARUN" --counters=out.txt --roles service.ini
	[[ ! -e ran && ! -e out.txt ]]
}

@test "--counters where nothing is run is refused, and a plan can be had without" {
	refuses 125 "--counters and --pid" "$NUMARUN" --counters --pid $$
	refuses 125 "--counters and --show" "$NUMARUN" --counters --show
	run -0 --separate-stderr "$NUMARUN" --counters --dry-run -- touch ran
	json_is numakit/plan/1 'd["schema"]'
	[[ ! -e ran ]]
}
