#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numacount stat and matrix as a user runs them: totals, where they go, exit statuses, and what is
# refused before anything is run. They count the kernel's software events here, which every host has.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load common
load counting

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	write_software
	write_links
	stat=("$NUMACOUNT" stat --events software.ini --family software)
	links=("$NUMACOUNT" stat --events links.ini --family links)
	matrix=("$NUMACOUNT" matrix --events links.ini --family links)
}

teardown() {
	stop_started
	[[ -z ${public-} ]] || rm -r "$public"
}

# not_run STATUS TEXT COMMAND...: it refuses, and its program, touch ran, is not run.
not_run() {
	refuses "$@"
	[[ ! -e ran ]] || fail "$(told)" "the program was run all the same"
}

# Wants the document in $output to be valid.
is_valid() {
	echo "$output" >document.json
	validates document.json
}

# ---- what is counted ----

@test "the totals are those of the program's run, on all CPUs" {
	needs_counting
	run -0 --separate-stderr "${stat[@]}" --json -- sleep 1
	is_valid
	# cpu_clock counts nanoseconds on each CPU, whoever runs there.
	json_is True "__import__('math').isclose(sum(e['count'] for s in d['sockets'] for e in s['events']
		if e['name'] == 'cpu_clock'), d['elapsed_ns'] * __import__('os').sysconf('SC_NPROCESSORS_ONLN'), rel_tol=0.01)"
	json_is True '1e9 <= d["elapsed_ns"]'
	json_is "['sleep', '1']" 'd["command"]'
	json_is "('uncore', 'software', False, 1.0)" 'd["source"], d["family"], d["untested"], d["coverage"]'
	json_is "{(1.0, False, None)}" '{(s["coverage"], s["is_estimate"], s["note"]) for s in d["sockets"]}'
}

@test "the program's own work is in the totals" {
	needs_counting
	# 64 MiB written page by page; without huge pages that is a fault for each.
	run -0 --separate-stderr "${stat[@]}" --json -- "$PYTHON" -c '
import mmap
pages = mmap.mmap(-1, 64 << 20)
pages.madvise(15)
for at in range(0, len(pages), mmap.PAGESIZE): pages[at] = 1'
	json_is True 'sum(e["count"] for s in d["sockets"] for e in s["events"] if e["name"] == "page_faults"
		) >= (64 << 20) // __import__("mmap").PAGESIZE'
}

@test "bytes of memory and links: totals, rates, the busiest interval and percentages" {
	needs_counting
	run -0 --separate-stderr "${links[@]}" --json --peak 1000 -I 50 -- sleep 0.5
	[[ -n $stderr ]]
	is_valid
	json_is True 'abs(d["total"]["memory_read_bytes"] / d["total"]["interconnect_out_bytes"] - 1) < 0.01'
	json_is True 'abs(d["total"]["memory_read_bytes"] * 1e9 / d["elapsed_ns"] / d["total"]["memory_read_bytes_per_s"] - 1) < 1e-9'
	json_is True 'd["total"]["memory_read_busiest_bytes_per_s"] >= 0.999 * d["total"]["memory_read_bytes_per_s"]'
	json_is True '0 < d["total"]["memory_read_busiest_bytes_at_ns"] <= d["elapsed_ns"]'
	json_is True 'all(sum(s[key] for s in d["sockets"]) == d["total"][key]
		for key in ("memory_read_bytes", "interconnect_out_bytes"))'
	json_is True 'all(abs(link["out"]["percent_of_measured"] - link["out"]["bytes_per_s"] / 1e10) < 1e-6
		and link["out"]["percent_of_nominal"] is None and link["in"] is None and link["peer"] is None
		for s in d["sockets"] for link in s["links"])'
	json_is True 'sum(len(s["links"]) for s in d["sockets"]) == len(d["sockets"]) > 0'
	json_is 50000000 'd["interval_ns"]'

	run -0 --separate-stderr "${links[@]}" --peak 1000 --duration 0.1
	[[ $output =~ SOCKET\ MEM-READ\ LINK-OUT\ REMOTE && $output == *%MEASURED* && $output != *LINK-IN* ]] || fail "$(told)"
	grep -qE '^ +[0-9]+ +0 +- out +[0-9.]+ MB +[0-9.]+ [MGT]B/s +[0-9.]+ [MGT]B/s +- +[0-9]+\.[0-9]$' <<<"$output" ||
		fail "$(told)"
}

@test "--duration ends it without a program" {
	needs_counting
	run -0 --separate-stderr "${stat[@]}" --json --duration 0.2
	[[ -z $stderr ]] || fail "$(told)"
	json_is True 'd["elapsed_ns"] >= 200000000'
	json_is None 'd["command"]'
}

@test "-I shows each interval, on standard error" {
	needs_counting
	run -0 --separate-stderr "${stat[@]}" -I 50 --duration 0.3
	[[ $(grep -cE '^ +0\.[0-9]{3} s  socket 0  cpu_clock [0-9.]+ [MG]/s  page_faults ' <<<"$stderr") -ge 3 ]] || fail "$(told)"
	[[ $output == *"cpu_clock"* && $output != *"socket 0  "* ]] || fail "$(told)"
	run -0 --separate-stderr "${stat[@]}" --duration 0.1
	[[ -z $stderr ]] || fail "$(told)"
}

# ---- where it goes ----

@test "tables are on standard error with a program, whose output is its own, and on standard output without" {
	needs_counting
	run -0 --separate-stderr "${stat[@]}" -- echo "the program's"
	[[ $output == "the program's" && $stderr == *" s, "*"(software events)"$'\n'*" counters, counted all the time"* ]] || fail "$(told)"
	[[ $stderr == *"SOCKET EVENT "*"COUNT "*"RATE"* && $stderr == *" cpu_clock "* ]] || fail "$(told)"
	run -0 --separate-stderr "${stat[@]}" --duration 0.05
	[[ $output == *" cpu_clock "* && -z $stderr ]] || fail "$(told)"
	run -0 --separate-stderr "${stat[@]}" --json -- true
	[[ -z $stderr ]] || fail "$(told)"
	json_is numakit/stat/1 'd["schema"]'
}

@test "-o writes the result to a file, and nothing elsewhere" {
	needs_counting
	gives "the program's" "${stat[@]}" -o out.txt -- echo "the program's"
	[[ $(<out.txt) == *" cpu_clock "* ]] || fail "$(<out.txt)"
	gives "" "${stat[@]}" --json -o out.json --duration 0.05
	validates out.json
	not_run 1 "missing/out.txt: No such file or directory" "${stat[@]}" -o missing/out.txt -- touch ran
	not_run 1 ".: Is a directory" "${stat[@]}" -o . -- touch ran
}

@test "arguments and standard input are the program's" {
	needs_counting
	gives $'<a b>\n<>\n<--json>' "${stat[@]}" -o out -- printf '<%s>\n' 'a b' '' --json
	gives $'<--duration>\n<-I>' "${stat[@]}" -o out printf '<%s>\n' --duration -I
	gives "from stdin" bash -c 'echo "from stdin" | "$@" -o out -- cat' - "${stat[@]}"
	# No descriptor more, and no signal blocked or switched off.
	gives "" bash -c 'without=$(ls /proc/self/fd; grep -E "^Sig(Blk|Ign|Cgt)" /proc/self/status)
		with=$("$@" -o out -- sh -c "ls /proc/self/fd; exec grep -E \"^Sig(Blk|Ign|Cgt)\" /proc/self/status")
		[[ $with == "$without" ]] || echo "with: $with" "without: $without"' - "${stat[@]}"
}

@test "output that cannot be written is an error" {
	local command

	needs_counting
	for command in stat matrix; do
		run -1 bash -c '"$@" --duration 0.05 2>&1 >/dev/full' - "$NUMACOUNT" $command --events links.ini --family links
		[[ $output == "numacount: standard output: No space left on device" ]] || fail "$output"
		run -1 bash -c '"$@" --json --duration 0.05 2>&1 >/dev/full' - "$NUMACOUNT" $command --events links.ini --family links
		[[ $output == "numacount: standard output: No space left on device" ]] || fail "$output"
		run -1 bash -c '"$@" --duration 0.05 2>&1 >&-' - "$NUMACOUNT" $command --events links.ini --family links
		[[ $output == "numacount: standard output: Bad file descriptor" ]] || fail "$output"
	done
	refuses 1 "/dev/full: No space left on device" "${stat[@]}" -o /dev/full -- true
	run -1 bash -c '"$@" -- true 2>/dev/full' - "${stat[@]}"
	# What the program says goes before.
	refuses 3 "/dev/full: No space left on device" "${stat[@]}" -o /dev/full -- sh -c 'exit 3'
}

@test "started without standard descriptors it writes into no file of its own" {
	needs_counting
	run -1 bash -c '"$@" <&- >&- 2>&-' - "${stat[@]}" -I 10 --duration 0.1
	run -1 bash -c '"$@" <&- >&- 2>&-' - "${stat[@]}" -I 10 -o out.json --json --duration 0.1
	[[ ! -s out.json ]] || validates out.json
	run -0 bash -c '"$@" <&- >&- 2>&-' - "${stat[@]}" -o out.json --json --duration 0.1
	validates out.json
}

# ---- how it ends ----

@test "the program's exit status is passed on" {
	local name
	local -a command

	needs_counting
	for name in stat matrix; do
		command=("$NUMACOUNT" "$name" --events links.ini --family links)
		run -0 "${command[@]}" -- true
		run -7 "${command[@]}" -- sh -c 'exit 7'
		run -143 "${command[@]}" -- sh -c 'kill -TERM $$'
		run -137 "${command[@]}" -- sh -c 'kill -KILL $$'
		refuses 127 "./missing: No such file or directory" "${command[@]}" -- ./missing
		refuses 126 "./software.ini: Permission denied" "${command[@]}" -- ./software.ini
		refuses 126 ".: Permission denied" "${command[@]}" -- .
	done
}

@test "TERM, INT and HUP are passed on to the program, which is counted until its end" {
	local signal

	needs_counting
	for signal in TERM INT HUP; do
		start "${stat[@]}" --json -- sh -c "trap 'sleep 0.3; touch $signal; exit 5' $signal
			touch up; while :; do sleep 0.01; done"
		eventually test -e up
		rm up
		kill -$signal "$pid"
		ends 5
		[[ -e $signal ]] || fail "the program has had no SIG$signal"
		output=$(<"$out") status=5 stderr=$(<"$errs")
		json_is True 'd["elapsed_ns"] >= 300000000'
	done
}

@test "a program that ends by the signal that was passed on is told from one that goes on" {
	needs_counting
	start "${stat[@]}" -- sleep 60
	eventually has_child
	kill -TERM "$pid"
	ends 143
	grep -q ' cpu_clock ' "$errs" || fail "no totals:" "$(<"$errs")"
}

has_child() {
	[[ -n $(children_of "$pid") ]]
}

@test "without a program INT, TERM and HUP end it with the totals and status 0" {
	local signal

	needs_counting
	for signal in INT TERM HUP; do
		start "${stat[@]}" -I 10
		eventually test -s "$errs"
		kill -$signal "$pid"
		ends 0
		grep -q ' cpu_clock ' "$out" || fail "no totals:" "$(<"$out")"
	done
}

@test "a Ctrl-C at the terminal reaches the program once, and the totals are still told" {
	needs_counting
	# The terminal sends it to both; numacount must not send it on.
	run -4 timeout 20 "$PYTHON" -c '
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:] + ["--", "sh", "-c", """
        trap "echo int" INT
        trap "echo hup; exit 4" HUP
        echo up
        while :; do sleep 0.01; done"""])
text = b""
def until(word):
    global text
    while word not in text:
        text += os.read(terminal, 1000)
until(b"up\r\n")
os.write(terminal, b"\x03")
until(b"int\r\n")
# numacount has had its own by the time that it passes this one on.
os.kill(pid, 1)
until(b"page_faults")
print(text.decode().replace("\r", ""), end="")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "${stat[@]}"
	[[ $(grep -c 'int$' <<<"$output") -eq 1 && $output == *hup* && $output == *" cpu_clock "* ]] || fail "$output"
}

@test "a Ctrl-C without a program ends it with the totals" {
	needs_counting
	run -0 timeout 20 "$PYTHON" -c '
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:] + ["-I", "20"])
text = b""
def until(word):
    global text
    while word not in text:
        text += os.read(terminal, 1000)
until(b"socket 0")
os.write(terminal, b"\x03")
until(b"COUNT")
print(text.decode().replace("\r", ""), end="")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "${stat[@]}"
}

@test "a SIGHUP that nohup switched off stays so" {
	needs_counting
	start nohup "${stat[@]}" -I 10 --duration 0.5
	eventually grep -q socket "$errs"
	kill -HUP "$pid"
	ends 0
	output=$(<"$out")
	[[ $output =~ (^|$'\n')(0\.[5-9]|[1-9]) ]] || fail "ended before:" "$output"
}

# ---- sources ----

@test "without an uncore counter: status 1, one line with reason and remedy, and nothing is run" {
	local command

	needs_no_uncore
	for command in stat matrix; do
		not_run 1 "uncore: " "$NUMACOUNT" $command -- touch ran
		not_run 1 "uncore: " "$NUMACOUNT" $command --source uncore -- touch ran
	done
	! grep -q '^flags.* hypervisor' /proc/cpuinfo ||
		[[ $stderr == *"virtual machine"*"count on the host itself"* ]] || fail "$(told)"
	needs_fallback
	refuses 1 "; numacount with --allow-fallback would count by " "$NUMACOUNT" stat
}

@test "page allocations are told under their own name, and never called bandwidth" {
	local options

	needs_fallback
	for options in --allow-fallback "--source numastat"; do
		# shellcheck disable=SC2086 # words
		run -0 --separate-stderr "$NUMACOUNT" stat $options -- sleep 0.1
		[[ $stderr == *" s, page allocations, by local and remote CPU"* && $stderr == *LOCAL-PAGES*REMOTE-PAGES* ]] || fail "$(told)"
		! grep -qiE 'bandwidth|MEM-READ|[0-9] [kMG]?B' <<<"${stderr//$'\n'note: */}" || fail "$(told)"
		# shellcheck disable=SC2086
		run -0 --separate-stderr "$NUMACOUNT" stat $options --json -- sleep 0.1
		is_valid
		json_is numastat 'd["source"]'
		json_is [] '[key for key in d["total"] if "bytes" in key]'
	done
	json_is True 'd["total"]["pages_local"] >= 0'
	# With the fallback the reason is told, too.
	run -0 "$NUMACOUNT" stat --allow-fallback -- true
	[[ $output == *"note: "*"numastat "*"better source is not there: uncore: "* ]] || fail "$output"
}

@test "a source that is not there is refused with its reason" {
	needs_no_uncore
	[[ $(json '[s["available"] for s in d["sources"] if s["source"] == "resctrl"]') == "[False]" ]] ||
		skip "this host has resctrl"
	not_run 1 "resctrl: " "$NUMACOUNT" stat --source resctrl -- touch ran
}

@test "an ordinary user is told the level and the capability, and nothing is run" {
	local command

	[[ $(id -u) -eq 0 ]] || skip "not root: cannot become another user"
	[[ $(cat /proc/sys/kernel/perf_event_paranoid) -gt 0 ]] || skip "everybody may count here"
	needs_counting
	# Where everybody may go, which the tests' own folders are not.
	public=$(mktemp -d)
	chmod 755 "$public"
	cp "$NUMACOUNT" software.ini links.ini "$public"
	chmod 644 "$public"/*.ini
	mkdir "$public/place"
	chown 65534 "$public/place"
	cd "$public/place"
	for command in stat matrix; do
		not_run 1 "perf_event_paranoid is " \
			setpriv --reuid 65534 --regid 65534 --clear-groups "$public/numacount" "$command" \
			--events ../links.ini --family links -- touch ran
		[[ $stderr == *"CAP_PERFMON"*"sysctl kernel.perf_event_paranoid=0"* ]] || fail "$(told)"
	done
}

@test "a captured host is refused, and nothing is run" {
	local command captured=$NUMAKIT_SOURCE/tests/fixtures/counters/icx-2s

	for command in stat matrix "record -o out.csv"; do
		# shellcheck disable=SC2086 # words
		not_run 1 "icx-2s: a captured host can be looked at, and not be counted on" \
			"$NUMACOUNT" --root "$captured" $command -- touch ran
	done
	refuses 1 "a captured host" "$NUMACOUNT" serve --root "$captured"
	refuses 1 "/nonexistent" "$NUMACOUNT" stat --root /nonexistent
	needs_counting
	run -0 "${stat[@]}" --root / -- true
}

# ---- peaks and options that are wrong ----

# peaks STATUS TEXT CONTENT: with a file that holds it for --measured.
peaks() {
	printf '%s\n' "$3" >measured.json
	not_run "$1" "$2" "${links[@]}" --measured measured.json -- touch ran
}

@test "a measured matrix that is none is refused, and nothing is run" {
	needs_counting
	not_run 1 "missing.json: No such file or directory" "${links[@]}" --measured missing.json -- touch ran
	not_run 1 ".: Is a directory" "${links[@]}" --measured . -- touch ran
	peaks 1 "measured.json:" ""
	peaks 1 "measured.json:2:" '{'
	# What it holds does not reach the terminal raw.
	peaks 1 "measured.json:1:" $'\e[31m'
	[[ $stderr != *$'\e'* ]] || fail "$(told)"
	peaks 1 "not a measurement of numaprobe" '[]'
	peaks 1 "not a measurement of numaprobe" '{"schema": "numakit/rank/1"}'
	peaks 1 '"nodes" is no list of nodes' '{"schema": "numakit/measure/1", "nodes": []}'
	peaks 1 "one row for each node" '{"schema": "numakit/measure/1", "nodes": [0], "read_bytes_per_s": []}'
	peaks 1 "one number for each node" '{"schema": "numakit/measure/1", "nodes": [0], "read_bytes_per_s": [[]]}'
	peaks 1 "holds something that is no node" '{"schema": "numakit/measure/1", "nodes": [-1], "read_bytes_per_s": [[1]]}'
	peaks 1 "it is of another host" '{"schema": "numakit/measure/1", "nodes": [1023], "read_bytes_per_s": [[1]]}'
}

@test "a measured matrix of this host is taken" {
	needs_counting
	[[ -e /sys/devices/system/node/node0/cpulist ]] || skip "no NUMA nodes here"
	echo '{"schema": "numakit/measure/1", "nodes": [0], "read_bytes_per_s": [[1e10]]}' >measured.json
	run -0 --separate-stderr "${links[@]}" --measured measured.json --json --duration 0.05
	is_valid
}

@test "numbers and names that are none are refused with what is" {
	local text

	for text in 0 -1 x '' 1e99 nan inf 5s; do
		not_run 2 "--duration: '$text' is not a number in 0.001.." "${stat[@]}" --duration "$text"
		not_run 2 "--peak: '$text' is not a number in 0.001.." "${stat[@]}" --peak "$text" -- touch ran
	done
	not_run 2 "--interval: '0' is not a number in 1..3600000" "${stat[@]}" -I 0 -- touch ran
	not_run 2 "--interval: '1.5' is not a number in" "${stat[@]}" -I 1.5 -- touch ran
	not_run 2 "--source: 'upi' is none of uncore, resctrl, core, numastat" "${stat[@]}" --source upi -- touch ran
	not_run 1 "no family 'bogus'; there are: " "$NUMACOUNT" stat --family bogus -- touch ran
	not_run 1 "missing.ini: No such file" "$NUMACOUNT" stat --events missing.ini -- touch ran
	echo "[event" >bad.ini
	not_run 1 "bad.ini:1" "$NUMACOUNT" stat --events bad.ini -- touch ran
}

@test "options that contradict each other are refused, as wrong usage" {
	local name
	local -a command

	for name in stat matrix record; do
		command=("$NUMACOUNT" "$name")
		[[ $name != record ]] || command+=(-o out.csv)
		not_run 2 "--duration and a program both say when to end: give one" "${command[@]}" --duration 1 -- touch ran
		not_run 2 "--peak and --measured: give one" "${command[@]}" --peak 1 --measured x -- touch ran
		not_run 2 "--source and --allow-fallback: give one" "${command[@]}" --source core --allow-fallback -- touch ran
	done
	not_run 2 "unknown option '--output" "${matrix[@]}" --output out.txt -- touch ran
	[[ ! -e out.csv ]]
}

# ---- charts ----

@test "--charts draws the run" {
	needs_counting
	command -v gnuplot >/dev/null || skip "no gnuplot here"
	run -0 --separate-stderr "${links[@]}" -o out.txt -I 10 --charts pictures -- sleep 0.2
	[[ -s pictures/charts.gnuplot && $(head -c 8 pictures/memory.png | od -An -tx1) == " 89 50 4e 47 0d 0a 1a 0a" ]] ||
		fail "$(told)" "$(ls pictures)"
	run -6 "${links[@]}" -o out.txt --charts pictures -- sh -c 'sleep 0.05; exit 6'
}

@test "--charts without gnuplot, or into what is no directory, is refused before anything is run" {
	mkdir none
	not_run 1 "install gnuplot-nox" env PATH="$PWD/none" "${stat[@]}" --charts pictures -- /bin/touch ran
	command -v gnuplot >/dev/null || skip "no gnuplot here"
	not_run 1 "software.ini: Not a directory" "${stat[@]}" --charts software.ini -- touch ran
	[[ ! -e pictures ]]
}

# ---- matrix ----

@test "without links there is no matrix, and nothing is run for it" {
	needs_counting
	not_run 1 "no link between sockets is counted here" "$NUMACOUNT" matrix --events software.ini --family software -- touch ran
	not_run 1 "no link between sockets is counted here" "$NUMACOUNT" matrix --source numastat -- touch ran
}

@test "a matrix whose pairs are unknown is marked as inferred" {
	local sockets

	needs_counting
	sockets=$(cat /sys/devices/system/cpu/cpu*/topology/physical_package_id | sort -u | wc -l)
	[[ $sockets -ne 2 ]] || skip "two sockets are a pair"
	run -0 --separate-stderr "${matrix[@]}" --duration 0.1
	[[ $output == "GB/s of data from socket to socket, over 0."*" s; inferred: "* && -z $stderr ]] || fail "$(told)"
	grep -qE '^ +FROM.TO .* SENT$' <<<"$output" || fail "$(told)"
	run -0 --separate-stderr "${matrix[@]}" -- echo "the program's"
	[[ $output == "the program's" && $stderr == *inferred* ]] || fail "$(told)"
	run -0 --separate-stderr "${matrix[@]}" --json
	is_valid
	json_is "(True, None)" 'd["inferred"], d["basis"]'
	# Nobody counts what came in: unknown, and not zero.
	json_is "{None}" 'set(d["received_bytes"])'
	json_is True "__import__('math').isclose(sum(d['sent_bytes']),
		d['elapsed_ns'] * __import__('os').sysconf('SC_NPROCESSORS_ONLN'), rel_tol=0.01)"
}

# ---- what goes wrong on the way ----

@test "where the file takes no more the program runs on, and a signal still reaches it" {
	needs_counting
	mkfifo rows.csv
	start "$NUMACOUNT" record --events software.ini --family software -I 10 -o rows.csv -- sleep 60
	head -n 1 rows.csv >/dev/null
	says "rows.csv: Broken pipe"
	kill -TERM "$pid"
	ends 143
}

@test "a file at its limit is an error and no signal" {
	needs_counting
	run --separate-stderr bash -c 'ulimit -f 1; exec "$@"' - "$NUMACOUNT" record --events software.ini --family software -I 1 \
		-o rows.csv --duration 5
	[[ $status -eq 1 && $stderr == *"rows.csv: File too large"* ]] || fail "$(told)"
}

@test "a program gets the signals and, but for what is needed, the limits that we had" {
	local soft

	needs_counting
	run --separate-stderr bash -c 'ulimit -Sn 12; exec "$@"' - "${stat[@]}" -- sh -c 'ulimit -Sn'
	[[ $status -eq 0 ]] || fail "$(told)"
	soft=$output
	[[ $soft -lt $(ulimit -Hn) && $soft -lt 4096 ]] || fail "the program has $soft"
	run --separate-stderr "${stat[@]}" -- grep -E '^Sig(Blk|Ign)' /proc/self/status
	[[ $output == *SigBlk:*0000000000000000* ]] || fail "$(told)"
}
