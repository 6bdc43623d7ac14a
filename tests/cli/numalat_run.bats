#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numalat run as a user runs it: against real servers, which also die, stall and lie.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154

load common
load servers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cpu=$(allowed_cpus | tail -n 1)
}

teardown() {
	stop_servers
	stop_started
}

# with_memcached [KEYS]: one that holds that many objects of 1 KiB, and $run to ask it.
with_memcached() {
	keys=${1:-100}
	start_memcached
	"$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" -k "$keys" >/dev/null
	run=("$NUMALAT" run -s "127.0.0.1:$MEMCACHED_PORT" -k "$keys" --cpu "$cpu" --noise 0)
}

# rows FILE EXPRESSION: that Python expression over rows, the trace's rows as dicts (numbers where
# they are some).
rows() {
	local csv=rows-$BATS_TEST_NUMBER.csv

	case $1 in
	*.csv) cp "$1" "$csv" ;;
	*) "$NUMALAT" convert --force "$1" "$csv" >/dev/null ;;
	esac
	"$PYTHON" - "$csv" "$2" <<-'EOT'
		import csv, sys

		def value(text):
		    return int(text) if text.isdigit() else text

		with open(sys.argv[1], encoding="ascii", newline="") as file:
		    rows = [{key: value(cell) for key, cell in row.items()} for row in csv.DictReader(file)]
		keys = [row["key_index"] for row in rows]
		arms = [row.get("arm", "") for row in rows]
		def keys_of(arm): return [key for key, name in zip(keys, arms) if name == arm]
		print(eval(sys.argv[2]))
	EOT
}

rows_are() {
	local got

	got=$(rows "$2" "$3")
	[[ $got == "$1" ]] || fail "$2: $3 is '$got', wanted '$1'"
}

# The first keys of the sequence.
sequence() {
	"$NUMALAT" sequence "$@" --print 1000000 | head -n -1 | tr '\n' ' '
}

# is_partial FILE PART: its trace is marked as not complete, for that reason.
is_partial() {
	run --separate-stderr "$NUMALAT" show --json "$1"
	[[ $output == *"$2"* ]] || fail "$(told)"
}

# The address sanitizer needs addresses of its own, and makes mlock(2) do nothing.
is_sanitized() {
	grep -q __asan_init "$NUMALAT"
}

@test "wrong usage is refused before anything is sent" {
	run=("$NUMALAT" run -s 127.0.0.1:1)
	refuses 2 "into which file? -o FILE.nlt" "${run[@]}"
	refuses 2 "-: its name must end in .nlt, .csv or .csv.gz" "${run[@]}" -o -
	refuses 2 "out.txt" "${run[@]}" -o out.txt
	refuses 2 "--requests: '0' is not a number in 1.." "${run[@]}" -o out.nlt -n 0
	refuses 2 "more than the 2147483648 rows" "${run[@]}" -o out.nlt -n 2000000000 --arms a=x,b=y
	refuses 2 "--block: '0' is not a number in 1.." "${run[@]}" -o out.nlt --block 0
	refuses 2 "--order: 'baab' is none of random, abba, fixed" "${run[@]}" -o out.nlt --order baab
	refuses 2 "--verify: 'some' is none of stamp, all, off" "${run[@]}" -o out.nlt --verify some
	refuses 2 "--noise: '-1' is not a number of seconds in 0..3600" "${run[@]}" -o out.nlt --noise -1
	refuses 2 "--arms: 'a' and 'b' ask for the same objects" "${run[@]}" -o out.nlt --arms a=x,b=x
	refuses 2 "'now': it takes no argument" "${run[@]}" -o out.nlt now
	[[ ! -e out.nlt && ! -e out.txt ]]
}

@test "a file that cannot be written is refused before anything is sent" {
	run=("$NUMALAT" run -s 127.0.0.1:1 --cpu "$cpu" --noise 0)
	refuses 1 "missing/out.nlt: No such file or directory" "${run[@]}" -o missing/out.nlt
	mkdir folder.nlt
	refuses 1 "folder.nlt: Is a directory" "${run[@]}" -o folder.nlt
	ln -s /dev/full full.nlt
	refuses 1 "full.nlt: it is no plain file" "${run[@]}" -o full.nlt --force
	echo "what was there" >there.nlt
	refuses 1 "there.nlt: it is there already; --force replaces it" "${run[@]}" -o there.nlt
	# Not even then before there is something to put in its place.
	refuses 1 "Connection refused" "${run[@]}" -o there.nlt --force
	[[ $(<there.nlt) == "what was there" ]]
	[[ $(id -u) -ne 0 ]] || return 0
	mkdir -m 555 closed
	refuses 1 "closed/out.nlt: Permission denied" "${run[@]}" -o closed/out.nlt
}

@test "rows that do not fit into memory are refused before anything is sent" {
	run=("$NUMALAT" run -s 127.0.0.1:1 --cpu "$cpu" --noise 0 -o out.nlt)
	if ! is_sanitized; then
		refuses 1 "20000000 requests need 640 MB of memory for their rows: ulimit -v is 409 MB" \
			bash -c 'ulimit -v 400000; exec "$@"' limited "${run[@]}" -n 20000000
	fi
	[[ $(awk '/^MemTotal:/ { print $2 }' /proc/meminfo) -lt 60000000 ]] || return 0
	refuses 1 "2000000000 requests need 64000 MB of memory for their rows" "${run[@]}" -n 2000000000
	[[ ! -e out.nlt ]]
}

@test "a CPU that cannot be had is refused" {
	refuses 1 "--cpu: CPU 32000 cannot be had" \
		"$NUMALAT" run -s 127.0.0.1:1 -o out.nlt --noise 0 --cpu 32000
}

@test "all requests of the seed's sequence are in the trace, in their order" {
	with_memcached
	run -0 --separate-stderr "${run[@]}" -o out.nlt -n 500 --seed 0x243f6a8885a308d3
	[[ -z $stderr && $output == *"rows      500 of 500 in out.nlt"*"hash $("$NUMALAT" sequence -k 100 -n 500 --seed 0x243f6a8885a308d3)"* ]] ||
		fail "$(told)"
	rows_are "$(sequence -k 100 -n 500 --seed 0x243f6a8885a308d3)" out.nlt "' '.join(map(str, keys)) + ' '"
	rows_are True out.nlt "all(0 < row['response_ttfb_ns'] <= row['payload_ttfb_ns'] <= row['complete_ns'] for row in rows)"
	rows_are True out.nlt \
		"all(a['query_start_ns'] + a['complete_ns'] <= b['query_start_ns'] for a, b in zip(rows, rows[1:]))"
	# Nothing is left beside it.
	[[ $(ls) == *out.nlt* && $(find . -name '*out.nlt*' | wc -l) -eq 1 ]]
}

@test "the trace can be CSV or gzip, and replaces an older one only by force" {
	with_memcached
	run -0 "${run[@]}" -o out.csv -n 50
	run -0 "${run[@]}" -o out.csv.gz -n 60
	rows_are 50 out.csv "len(rows)"
	rows_are 60 out.csv.gz "len(rows)"
	refuses 1 "out.csv: it is there already" "${run[@]}" -o out.csv -n 70
	run -0 "${run[@]}" -o out.csv -n 70 --force
	rows_are 70 out.csv "len(rows)"
}

@test "the JSON document tells how the run went, and its schema allows it" {
	with_memcached
	run -0 --separate-stderr "${run[@]}" -o out.nlt -n 1000 --noise 0.01 --seed 7 --json
	json_is "('numakit/run/1', 1000, True, None)" "(d['schema'], d['rows'], d['complete'], d['why'])"
	json_is "$cpu" "d['details']['cpu']"
	json_is "$("$NUMALAT" sequence -k 100 -n 1000 --seed 7)" "d['outcome']['key_hashes'][0]"
	json_is "0x0000000000000007" "d['details']['seed']"
	json_is "100" "d['details']['warmup']"
	json_is "True" "d['details']['noise_before']['reads'] > 0 and d['outcome']['noise_after']['reads'] > 0"
	json_is "True" "d['outcome']['elapsed_ns'] > 0 and d['outcome']['voluntary_switches'] >= 0"
	printf '%s\n' "$output" >one.json
	run -0 --separate-stderr "${run[@]}" -o arms.nlt -n 3 --arms a=numalat-,b=numalat-1 -k 9 --verify off --json
	printf '%s\n' "$output" >arms.json
	validates one.json arms.json
}

@test "arms get the same keys, in turns, as often each" {
	with_memcached
	"$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" -k 100 --prefix far- >/dev/null
	run -0 --separate-stderr "${run[@]}" -o out.nlt -n 300 --arms near=numalat- --arms far=far-
	[[ $output == *"Do the arms differ? numalat analyze out.nlt" ]] || fail "$(told)"
	rows_are "600 300" out.nlt "f'{len(rows)} {arms.count(\"far\")}'"
	rows_are "$(sequence -k 100 -n 300)" out.nlt "' '.join(map(str, keys_of('near'))) + ' '"
	rows_are True out.nlt "keys_of('near') == keys_of('far')"
	# Each key of one is a neighbour of the other's, and either is first now and then.
	rows_are True out.nlt "all(a == b for a, b in zip(keys[::2], keys[1::2]))"
	rows_are True out.nlt "100 < arms[::2].count('near') < 200"
}

@test "blocks and orders of arms are as told" {
	with_memcached
	"$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" -k 100 --prefix b- >/dev/null
	run -0 "${run[@]}" -o abba.nlt -n 6 --arms a=numalat-,b=b- --order abba --block 2
	rows_are aabbbbaaaabb abba.nlt "''.join(arms)"
	run -0 "${run[@]}" -o fixed.nlt -n 5 --arms a=numalat-,b=b- --order fixed --block 2
	rows_are aabbaabbab fixed.nlt "''.join(arms)"
	run -0 "${run[@]}" -o one.nlt -n 40 --arms a=numalat-,b=b- --seed 1
	run -0 "${run[@]}" -o two.nlt -n 40 --arms a=numalat-,b=b- --seed 1
	run -0 "${run[@]}" -o three.nlt -n 40 --arms a=numalat-,b=b- --seed 2
	[[ $(rows one.nlt "''.join(arms)") == "$(rows two.nlt "''.join(arms)")" ]]
	[[ $(rows one.nlt "''.join(arms)") != "$(rows three.nlt "''.join(arms)")" ]]
}

@test "arms can be at two servers" {
	with_memcached
	first=$MEMCACHED_PORT
	with_memcached
	run -0 --separate-stderr "${run[@]}" -o out.nlt -n 200 --order abba --block 10 --json \
		--arms "one=numalat-@127.0.0.1:$first,two=numalat-"
	json_is "['127.0.0.1:$first', '127.0.0.1:$MEMCACHED_PORT']" "[a['server'] for a in d['details']['arms']]"
	rows_are "200 200" out.nlt "f'{arms.count(\"one\")} {arms.count(\"two\")}'"
	run -0 --separate-stderr "$NUMALAT" analyze out.nlt
}

@test "HTTP is asked in the same way" {
	start_nginx "$PWD/www" "dav_methods PUT; create_full_put_path on; client_max_body_size 8m;"
	mkdir www
	nginx_has http_dav_module || skip "this nginx takes no PUT"
	"$NUMALAT" populate -P http -s "127.0.0.1:$NGINX_PORT" -k 50 --size 200K >/dev/null
	run -0 --separate-stderr "$NUMALAT" run -P http -s "127.0.0.1:$NGINX_PORT" -k 50 --size 200K \
		-o out.nlt -n 2500 --cpu "$cpu" --noise 0 --verify all --json
	# It ends a connection after a thousand requests, which is no fault.
	json_is "http 2500 True" "' '.join(map(str, (d['details']['protocol'], d['rows'], d['outcome']['reconnects'] > 0)))"
}

@test "a miss ends the run, and what was measured is kept" {
	with_memcached 1000
	refuses 1 "row 0: 127.0.0.1:$MEMCACHED_PORT: key nobody-" "${run[@]}" -o none.nlt --prefix nobody- --warmup 0
	refuses 1 ": not there; numalat populate stores it" "${run[@]}" -o none.nlt --prefix nobody- --warmup 0
	refuses 1 "warming up: row 0: " "${run[@]}" -o none.nlt --prefix nobody-
	[[ ! -e none.nlt ]]
	run -1 --separate-stderr "${run[@]}" -o out.nlt -k 1030 -n 100000 --warmup 0
	[[ $stderr =~ ^"numalat: row "([0-9]+)": 127.0.0.1:$MEMCACHED_PORT: key numalat-"10[0-9][0-9]": not there; numalat populate stores it; "([0-9]+)" of 100000 rows are in out.nlt"$ ]] ||
		fail "$(told)"
	[[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
	rows_are "${BASH_REMATCH[1]}" out.nlt "len(rows)"
	is_partial out.nlt "not there"
}

@test "objects of another size end the run" {
	with_memcached
	refuses 1 "1024 bytes, where 2048" "${run[@]}" -o out.nlt --size 2K
	[[ ! -e out.nlt ]]
}

# set_object KEY TEXT
set_object() {
	exec 4<>"/dev/tcp/127.0.0.1/$MEMCACHED_PORT"
	printf 'set %s 0 0 %d\r\n%s\r\n' "$1" "${#2}" "$2" >&4
	head -n 1 <&4 >/dev/null
	exec 4>&-
}

@test "wrong bytes end the run, unless nobody looks" {
	with_memcached 10
	set_object numalat-3 "$(printf '%01024d' 7)"
	run -1 --separate-stderr "${run[@]}" -o out.nlt -n 1000 --warmup 0
	[[ $stderr =~ "key numalat-3: wrong bytes from offset "[0-9]+" of 1024 on; numalat populate stores the right ones; " ]] ||
		fail "$(told)"
	run -0 "${run[@]}" -o off.nlt -n 1000 --verify off
}

@test "only --verify all sees what is behind the stamp" {
	with_memcached 10
	exec 4<>"/dev/tcp/127.0.0.1/$MEMCACHED_PORT"
	printf 'get numalat-3\r\n' >&4
	"$PYTHON" -c 'import os, re, sys
def receive(size):
    data = b""
    while len(data) < size:
        data += os.read(4, size - len(data))
    return data
head = b"VALUE numalat-3 0 1024\r\n"
value = bytearray(receive(len(head) + 1024 + 7)[len(head):len(head) + 1024])
value[1000] ^= 1
os.write(4, b"set numalat-3 0 0 1024\r\n" + bytes(value) + b"\r\n")
assert receive(8) == b"STORED\r\n"'
	exec 4>&-
	run -0 "${run[@]}" -o stamp.nlt -n 1000
	run -1 --separate-stderr "${run[@]}" -o all.nlt -n 1000 --warmup 0 --verify all
	[[ $stderr == *"key numalat-3: wrong bytes from offset 1000 of 1024 on"* ]] || fail "$(told)"
}

# Whether the program with number $pid has done many context switches, as one that waits for a server.
# is_in_state NUMBER LETTER: as ps(1) names states.
is_in_state() {
	grep -q "^State:[[:blank:]]*$2" "/proc/$1/status"
}

is_under_way() {
	local switches

	switches=$(sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$pid/status")
	[[ ${switches:-0} -gt 500 ]]
}

@test "a server that is killed ends the run, and what was measured is kept" {
	with_memcached
	start "${run[@]}" -o out.nlt -n 1000000 --warmup 0
	eventually is_under_way
	kill -KILL "$MEMCACHED_PID"
	ends 1
	grep -Eq "^numalat: row [0-9]+: .* of 1000000 rows are in out.nlt$" "$errs" || fail "$(<"$errs")"
	[[ $(wc -l <"$errs") -eq 1 ]]
	rows_are True out.nlt "len(rows) > 100"
	is_partial out.nlt "127.0.0.1:$MEMCACHED_PORT"
}

@test "a server that stalls ends the run at the deadline" {
	with_memcached
	start "${run[@]}" -o out.nlt -n 1000000 --warmup 0 --deadline 0.3
	eventually is_under_way
	kill -STOP "$MEMCACHED_PID"
	ends 1
	says "within the deadline of 0.3 s; "
	says "of 1000000 rows are in out.nlt"
	rows_are True out.nlt "len(rows) > 100"
}

@test "a signal ends the run, and what was measured is kept" {
	with_memcached
	for signal in INT TERM HUP; do
		start "${run[@]}" -o "$signal.nlt" -n 1000000 --warmup 0
		eventually is_under_way
		kill -"$signal" "$pid"
		ends 1
		grep -Eq "^numalat: stopped by SIG$signal; [0-9]+ of 1000000 rows are in $signal.nlt$" "$errs" ||
			fail "$(<"$errs")"
		prints "1000000 in $signal.nlt, not complete"
		is_partial "$signal.nlt" "stopped by SIG$signal"
	done
}

@test "a run that is suspended while it waits goes on afterwards" {
	with_memcached
	start "${run[@]}" -o out.nlt -n 1000000 --warmup 0
	eventually is_under_way
	kill -STOP "$MEMCACHED_PID"
	eventually is_in_state "$pid" S
	kill -STOP "$pid"
	eventually is_in_state "$pid" T
	kill -CONT "$pid"
	eventually is_in_state "$pid" S
	kill -CONT "$MEMCACHED_PID"
	kill -INT "$pid"
	ends 1
	grep -q "^numalat: stopped by SIGINT; " "$errs" || fail "$(<"$errs")"
}

@test "a file that meets its limit is an error, and leaves nothing behind" {
	with_memcached
	run -1 --separate-stderr bash -c 'ulimit -f 8; exec "$@"' - "${run[@]}" -o out.nlt -n 5000
	[[ $stderr == "numalat: out.nlt: File too large" && -z $(ls out.nlt* 2>/dev/null) ]] || fail "$stderr"
}

@test "a signal in the warm-up leaves no file" {
	with_memcached
	start "${run[@]}" -o out.nlt --warmup 1000000
	eventually is_under_way
	kill -INT "$pid"
	ends 1
	says "numalat: warming up: stopped by SIGINT"
	[[ ! -e out.nlt && ! -s $out ]]
}

@test "whoever may be moved is told so" {
	needs_two_cpus
	with_memcached
	run -0 --separate-stderr "$NUMALAT" run -s "127.0.0.1:$MEMCACHED_PORT" -k 100 -n 100 --noise 0 -o out.nlt --json
	[[ $stderr == "numalat: warning: the client may move between CPUs "*": --cpu N or numarun keeps it on one" ]] ||
		fail "$(told)"
	json_is "None False" "' '.join(map(str, (d['details']['cpu'], d['details']['pinned'])))"
	run -0 --separate-stderr "$NUMARUN" -C "$cpu" -- "$NUMALAT" run -s "127.0.0.1:$MEMCACHED_PORT" -k 100 -n 100 \
		--noise 0 -o pinned.nlt --json
	[[ -z $stderr ]] || fail "$(told)"
	json_is "$cpu False" "' '.join(map(str, (d['details']['cpu'], d['details']['pinned'])))"
}

@test "rows that cannot be locked are told, and the run goes on" {
	! is_sanitized || skip "the sanitizer locks nothing"
	with_memcached
	command=("${run[@]}" -o out.nlt -n 100000 --json)
	[[ $(id -u) -ne 0 ]] || {
		chmod 777 .
		command=(setpriv --reuid 65534 --regid 65534 --clear-groups "${command[@]}")
		setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$NUMALAT" || skip "nobody cannot run it"
	}
	run -0 --separate-stderr bash -c 'ulimit -l 64; exec "$@"' limited "${command[@]}"
	[[ $stderr == "numalat: warning: "*" are not locked and could be swapped out: ulimit -l is 64 KiB; raise it, or give CAP_IPC_LOCK" ]] ||
		fail "$(told)"
	json_is False "d['details']['memory']['locked']"
}

@test "progress is shown on a terminal and nowhere else" {
	needs_two_cpus
	command -v script >/dev/null || skip "no script(1) here"
	with_memcached
	# exec: a shell in between, which not every /bin/sh leaves out, would get the signal in its stead.
	start script -qec "exec $(printf '%q ' "${run[@]}" -o out.nlt -n 1000000 --warmup 0)" /dev/null
	eventually grep -q "% of 1000000 requests, .* requests/s, .* left" "$out"
	kill -INT "$(children_of "$pid")"
	eventually is_gone "$pid"
	rows_are True out.nlt "len(rows) > 0"
}
