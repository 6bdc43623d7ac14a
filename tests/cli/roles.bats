#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numarun --roles: a server and its clients in one go. What the values of the keys mean is tested in
# unit/test_roles.c; here is what becomes of them.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cpu=$(allowed_cpus | head -n 1)

	# serve NAME: says that it is up, waits, and tells in the file "order" that it was started and
	# that it was stopped. Its number is in NAME.pid.
	cat >serve <<-'END'
		trap 'echo "stop $1" >>order; exit 0' TERM
		echo "start $1" >>order
		echo $$ >"$1.pid"
		echo "$1 is up"
		sleep 100 &
		wait
	END
	# stubborn NAME: cannot be stopped but by killing it.
	cat >stubborn <<-'END'
		trap '' TERM INT
		echo $$ >"$1.pid"
		echo "$1 is up"
		while :; do sleep 0.05; done
	END
}

teardown() {
	stop_started
}

# service [OPTION... -- ROLE...]: runs the role file from standard input to its end.
service() {
	cat >service.ini
	run --separate-stderr timeout 20 "$NUMARUN" --roles service.ini "$@"
}

# start_service: begins it, as start does.
start_service() {
	cat >service.ini
	start "$NUMARUN" --roles service.ini "$@"
}

# ended STATUS STDOUT STDERR: how the service that was run did.
ended() {
	[[ $status -eq $1 && $output == "$2" && $stderr == "$3" ]] ||
		fail "$(told)" "wanted: status $1" "stdout:" "$2" "stderr:" "$3"
}

# order_is WORDS: what is in the file "order", in a line.
order_is() {
	[[ $(paste -sd' ' order) == "$1" ]] || fail "order: $(paste -sd' ' order)" "wanted: $1"
}

# Nothing that the service started is left.
nothing_is_left() {
	local file

	for file in *.pid; do
		[[ -e $file ]] || continue
		is_gone "$(<"$file")" || fail "$file is still there"
	done
}

# ---- order ----

@test "roles start when those before them are ready, and stop in reverse" {
	start_service <<-'END'
		[role client]
		after = proxy
		command = sh serve client
		[role proxy]
		after = server
		ready = file:proxy.pid
		command = sh serve proxy
		[role server]
		ready = file:server.pid
		command = sh serve server
	END
	prints "client: client is up"
	kill -TERM "$pid"
	ends 143
	order_is "start server start proxy start client stop client stop proxy stop server"
	nothing_is_left
}

@test "a service ends when all that nobody comes after have ended" {
	service <<-'END'
		[role server]
		ready = file:server.pid
		command = sh serve server
		[role client]
		after = server
		instances = 2
		command = sh -c 'echo work'
	END
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	[[ $(sort <<<"$output") == $'client.1: work\nclient.2: work\nserver: server is up' ]] || fail "$(told)"
	order_is "start server stop server"
	nothing_is_left
}

@test "roles that nobody comes after are waited for, all of them" {
	service <<-'END'
		[role quick]
		command = true
		[role slow]
		command = sh -c 'sleep 0.3; echo done'
	END
	ended 0 "slow: done" ""
}

@test "the roles that are named are started, the others are not" {
	cat >service.ini <<-'END'
		[role server]
		ready = file:never
		command = sh serve server
		[role client]
		after = server
		command = echo client
		[role other]
		command = echo other
	END
	run --separate-stderr "$NUMARUN" --roles service.ini client
	[[ $status -eq 0 && $output == "client: client" ]] || fail "$(told)"
	[[ $stderr == "numarun: client: comes after server, which is not started here" ]] || fail "$(told)"
	gives $'client: client\nother: other' bash -c '"$NUMARUN" --roles service.ini other client 2>/dev/null | sort'
	[[ ! -e order ]]
	refuses 125 "service.ini: there is no role 'nosuch' in it" "$NUMARUN" --roles service.ini client nosuch
	refuses 125 "there is no role 'klient' in it: did you mean 'client'?" "$NUMARUN" --roles service.ini klient
	refuses 125 "'--explain': options stand before the roles" "$NUMARUN" --roles service.ini client --explain
}

# ---- ready ----

@test "ready = file: waits for the file" {
	service <<-'END'
		[role server]
		ready = file:sign
		command = sh -c 'sleep 0.2; echo server >>order; : >sign; exec sleep 100'
		[role client]
		after = server
		command = sh -c 'echo client >>order'
	END
	ended 0 "" ""
	order_is "server client"
}

# listen ADDRESS: the program of a server that is slow to take connections.
write_listener() {
	cat >listen <<-'END'
		import socket, sys, time
		time.sleep(0.2)
		name = sys.argv[1]
		unix = "/" in name
		listener = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
		listener.bind(name if unix else ("127.0.0.1", int(name)))
		open("order", "a").write("server\n")
		listener.listen()
		time.sleep(100)
	END
}

free_port() {
	"$PYTHON" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

@test "ready = tcp: waits until it takes connections" {
	local port

	port=$(free_port)
	write_listener
	service <<-END
		[role server]
		ready = tcp:127.0.0.1:$port, 15
		command = $PYTHON listen $port
		[role client]
		after = server
		command = bash -c 'echo client >>order; : </dev/tcp/127.0.0.1/$port'
	END
	ended 0 "" ""
	order_is "server client"
}

@test "ready = unix: waits until it takes connections" {
	write_listener
	service <<-END
		[role server]
		ready = unix:./socket, 15
		command = $PYTHON listen ./socket
		[role client]
		after = server
		command = sh -c 'echo client >>order; test -S socket'
	END
	ended 0 "" ""
	order_is "server client"
}

@test "ready = delay: waits for that long" {
	service <<-'END'
		[role server]
		ready = delay:0.3
		command = sh -c 'cut -d. -f1,2 /proc/uptime | cut -d" " -f1 >>order; exec sleep 100'
		[role client]
		after = server
		command = sh -c 'cut -d" " -f1 /proc/uptime >>order'
	END
	ended 0 "" ""
	"$PYTHON" -c 'first, second = map(float, open("order"))
assert second - first > 0.2, second - first'
}

@test "a role that never gets ready ends the service, and nothing is left" {
	service <<-'END'
		[role before]
		ready = file:before.pid
		command = sh serve before
		[role never]
		after = before
		ready = file:nowhere, 0.2
		command = sh serve never
		[role behind]
		after = never
		command = sh serve behind
	END
	[[ $status -eq 125 && $stderr == "numarun: never: not ready after 0.2 s (file:nowhere): "* && $stderr != *$'\n'* ]] ||
		fail "$(told)"
	order_is "start before start never stop never stop before"
	nothing_is_left
}

@test "a role that ends before it is ready ends the service" {
	service <<-'END'
		[role never]
		ready = file:nowhere
		command = true
		[role behind]
		after = never
		command = sh serve behind
	END
	[[ $status -eq 125 && $stderr == "numarun: never: "*"before it was ready"* && $stderr != *$'\n'* ]] ||
		fail "$(told)"
	[[ ! -e order ]]

	# What it does last may be what makes it ready.
	service <<-'END'
		[role prepare]
		ready = file:sign
		command = touch sign
		[role behind]
		after = prepare
		command = echo behind
	END
	ended 0 "behind: behind" ""
}

# ---- failures ----

@test "when a role fails the others are stopped, and its status is numarun's" {
	service <<-'END'
		[role server]
		ready = file:server.pid
		command = sh serve server
		[role client]
		after = server
		command = sh -c 'exit 9'
		[role other]
		after = server
		command = sh serve other
	END
	[[ $status -eq 9 && $stderr == "numarun: client: failed: exit status 9; the others are stopped" ]] ||
		fail "$(told)"
	[[ $(tail -n 1 order) == "stop server" ]] || fail "$(<order)"
	nothing_is_left
}

@test "when a signal kills a role the status is as a shell's, and it is said" {
	service <<-'END'
		[role server]
		command = sh serve server
		[role client]
		command = sh -c 'kill -KILL $$'
	END
	[[ $status -eq 137 && $stderr == *"numarun: client: failed: killed by signal 9 (Killed); the others are stopped" ]] ||
		fail "$(told)"
	nothing_is_left
}

@test "when a role cannot be started, those that were are stopped" {
	local command want

	while read -r want command; do
		cat >service.ini <<-END
			[role server]
			ready = file:server.pid
			command = sh serve server
			[role client]
			after = server
			command = $command
		END
		run "-$want" --separate-stderr "$NUMARUN" --roles service.ini
		[[ $stderr == "numarun: client: $command: "* && $stderr != *$'\n'* ]] || fail "$(told)"
		order_is "start server stop server"
		nothing_is_left
		rm order ./*.pid
	done <<-'END'
		127 ./missing
		126 /
	END
}

@test "a role that does not stop in time is killed, and it is said" {
	service <<-'END'
		[role stubborn]
		ready = file:stubborn.pid
		stop = TERM, 0.2
		command = sh stubborn stubborn
		[role client]
		after = stubborn
		command = true
	END
	ended 0 "stubborn: stubborn is up" "numarun: stubborn: did not stop within 0.2 s: killed"
	nothing_is_left
}

@test "stop names the signal" {
	service <<-'END'
		[role server]
		ready = file:server.pid
		stop = USR1
		command = sh -c 'trap "echo usr1; exit 0" USR1; echo $$ >server.pid; while :; do sleep 0.01; done'
		[role client]
		after = server
		command = true
	END
	[[ $status -eq 0 && $output == "server: usr1" ]] || fail "$(told)"
}

@test "what roles leave behind is ended with the service" {
	service <<-'END'
		[role leaves]
		command = sh -c 'sleep 100 & echo $! >one.pid; setsid sleep 100 & echo $! >two.pid'
		[role deeper]
		command = sh -c '(sh -c "sleep 100 & echo \$! >three.pid")'
	END
	ended 0 "" ""
	[[ -s one.pid && -s two.pid && -s three.pid ]]
	nothing_is_left
}

@test "what they leave behind and cannot be told to end is killed" {
	service <<-'END'
		[role leaves]
		command = sh -c 'setsid sh stubborn left >/dev/null 2>&1 & while ! test -s left.pid; do sleep 0.01; done'
	END
	ended 0 "" ""
	nothing_is_left
}

# ---- signals ----

@test "Ctrl-C, HUP, QUIT and TERM stop all, and numarun dies of that signal" {
	local signal

	for signal in INT HUP QUIT TERM; do
		start_service <<-'END'
			[role server]
			ready = file:server.pid
			command = sh serve server
			[role client]
			after = server
			instances = 2
			command = sh -c 'echo $$ >$NUMARUN_ROLE.pid; echo up; sleep 100'
		END
		prints "client.1: up"
		prints "client.2: up"
		kill -"$signal" "$pid"
		ends $((128 + $(kill -l "$signal")))
		order_is "start server stop server"
		nothing_is_left
		rm order ./*.pid
	done
}

@test "asked twice, numarun has no more patience" {
	start_service <<-'END'
		[role stubborn]
		stop = TERM, 60
		command = sh stubborn stubborn
	END
	prints "stubborn is up"
	kill -INT "$pid"
	kill -TERM "$pid"
	ends 130
	nothing_is_left
}

@test "a signal while a role is not ready yet stops what was started" {
	start_service <<-'END'
		[role never]
		ready = file:nowhere, 60
		command = sh serve never
		[role behind]
		after = never
		command = sh serve behind
	END
	prints "never is up"
	kill -INT "$pid"
	ends 130
	order_is "start never stop never"
	nothing_is_left
}

@test "a numarun that is killed takes its roles with it" {
	start_service <<-'END'
		[role server]
		command = sh serve server
		[role client]
		command = sh -c 'echo $$ >client.pid; exec sleep 100'
	END
	eventually test -s server.pid
	eventually test -s client.pid
	kill -KILL "$pid"
	eventually is_gone "$(<server.pid)"
	eventually is_gone "$(<client.pid)"
}

# ---- output and input ----

@test "each line of a role begins with its name, on standard output and error" {
	service <<-'END'
		[role talks]
		command = sh -c 'printf "one\n\ntwo without an end"; echo oops >&2'
	END
	ended 0 $'talks: one\ntalks: \ntalks: two without an end' "talks: oops"
}

@test "long lines are cut, and what is no text stays as it is" {
	cat >bytes.py <<-'END'
		import os
		os.write(1, b"x" * 10000 + b"\n" + bytes(range(256)) + b"\n")
	END
	service <<-END
		[role big]
		command = $PYTHON bytes.py
	END
	"$NUMARUN" --roles service.ini >lines
	"$PYTHON" -c '
import sys
data = open("lines", "rb").read()
assert data.endswith(b"\n") and all(line.startswith(b"big: ") for line in data[:-1].split(b"\n")), data
text = b"".join(line[5:] for line in data[:-1].split(b"\n"))
assert text == b"x" * 10000 + bytes(b for b in range(256) if b != 10), text
assert max(map(len, data.split(b"\n"))) <= 4096 + 5'
}

@test "no line is lost or torn, however much is printed at once" {
	cat >service.ini <<-'END'
		[role a]
		command = seq 50000
		[role b]
		command = seq 50000
		[role c]
		command = sh -c 'seq 50000 >&2'
	END
	"$NUMARUN" --roles service.ini >lines 2>errors
	seq 50000 >wanted
	cmp <(sed -n 's/^a: //p' lines) wanted
	cmp <(sed -n 's/^b: //p' lines) wanted
	cmp <(sed -n 's/^c: //p' errors) wanted
	[[ $(wc -l <lines) -eq 100000 && $(wc -l <errors) -eq 50000 ]]
}

@test "when nobody reads what is printed the service ends" {
	cat >service.ini <<-'END'
		[role a]
		command = sh -c 'echo $$ >a.pid; exec yes'
		[role b]
		command = sh serve b
	END
	run bash -c '"$NUMARUN" --roles service.ini | head -n 1; echo "${PIPESTATUS[0]}"'
	[[ ${lines[1]} -eq 141 ]] || fail "$output"
	nothing_is_left
}

@test "roles read nothing" {
	cat >service.ini <<-'END'
		[role reads]
		command = wc -c
	END
	gives "reads: 0" bash -c 'echo text | "$NUMARUN" --roles service.ini'
}

# ---- environment and commands ----

@test "roles find their name, their CPUs and their variables in the environment" {
	cat >service.ini <<-'END'
		[role one]
		env = A='b c' EMPTY= OTHER=changed
		command = env
		[role two]
		instances = 2
		command = printenv NUMARUN_ROLE
	END
	run --separate-stderr env OTHER=kept MORE=kept NUMARUN_NEAR=stale NUMARUN_ROLE=stale \
		"$NUMARUN" --roles service.ini one
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	grep -qx "one: NUMARUN_ROLE=one" <<<"$output" || fail "$(told)"
	grep -qx "one: NUMARUN_CPUS=$("$NUMARUN" -N all -- printenv NUMARUN_CPUS)" <<<"$output" || fail "$(told)"
	grep -qx "one: A=b c" <<<"$output" || fail "$(told)"
	grep -qx "one: EMPTY=" <<<"$output" || fail "$(told)"
	grep -qx "one: OTHER=changed" <<<"$output" || fail "$(told)"
	grep -qx "one: MORE=kept" <<<"$output" || fail "$(told)"
	! grep -q NUMARUN_NEAR <<<"$output" || fail "$(told)"
	gives $'two.1: two.1\ntwo.2: two.2' bash -c '"$NUMARUN" --roles service.ini two | sort'
}

@test "a command is split as a shell would, and no shell reads it" {
	service <<-'END'
		[role a]
		command = printf <%s> 'a b' "it's" \* $HOME ''
	END
	[[ $output == 'a: <a b><it'"'"'s><*><$HOME><>' ]] || [[ $status -eq 125 ]] || fail "$(told)"
	service <<-'END'
		[role a]
		command = printf '<%s>' 'a b' "it's" \* $HOME ''
	END
	ended 0 'a: <a b><it'"'"'s><*><$HOME><>' ""
}

# ---- placement ----

@test "no core is given twice" {
	needs_two_cpus
	service <<-'END'
		[role one]
		count = 1
		command = printenv NUMARUN_CPUS
		[role two]
		count = 1
		command = printenv NUMARUN_CPUS
	END
	# Two CPUs can be one core.
	[[ $status -eq 0 ]] || skip "$stderr"
	[[ ${lines[0]##*: } != "${lines[1]##*: }" ]] || fail "$(told)"
}

@test "more cores than there are are refused, and nothing is run" {
	service <<-'END'
		[role first]
		command = touch ran
		[role many]
		count = 4096
		command = touch ran
	END
	[[ $status -eq 125 && $stderr == "numarun: service.ini: "*many* && $stderr != *$'\n'* && ! -e ran ]] || fail "$(told)"
}

@test "--dry-run prints the whole plan and runs nothing" {
	cat >service.ini <<-END
		[role server]
		near = $NIC
		count = 4
		command = touch ran
		[role client]
		near = $NIC
		tier = 2
		count = 2
		instances = 2
		after = server
		command = touch ran
		[role rest]
		command = touch ran
	END
	run --separate-stderr "$NUMARUN" --root "$EJFAT2" --roles service.ini --dry-run
	[[ $status -eq 0 && -z $stderr && ! -e ran ]] || fail "$(told)"
	json_is "[('server', 1, '80-83'), ('client', 1, '88-89'), ('client', 2, '90-91'), ('rest', 1, '0-79,84-87,92-127')]" \
		'[(x["role"], x["instance"], x["cpus"]) for x in d["programs"]]'
	json_is "[[], ['server'], ['server'], []]" '[x["after"] for x in d["programs"]]'
	echo "$output" >plan.json
	validates plan.json

	refuses 125 "--root describes another machine" "$NUMARUN" --root "$EJFAT2" --roles service.ini
	run --separate-stderr "$NUMARUN" --root "$EJFAT2" --roles service.ini --export taskset client
	[[ $status -eq 0 && $(grep -c '^taskset -c 88-89 touch ran$' <<<"$output") -eq 1 &&
		$(grep -c '^# role client.[12]$' <<<"$output") -eq 2 && $output != *80-83* ]] || fail "$(told)"
}

@test "--strict refuses a role that spills" {
	cat >service.ini <<-END
		[role server]
		near = $NIC
		count = 12
		command = true
	END
	run --separate-stderr "$NUMARUN" --root "$EJFAT2" --roles service.ini --dry-run
	[[ $status -eq 0 && $stderr == "numarun: server: $NIC: spilled from tier 1 to tier 2 for 4 of the 12 cores"* ]] ||
		fail "$(told)"
	refuses 125 "--strict does not allow that" \
		"$NUMARUN" --root "$EJFAT2" --roles service.ini --dry-run --strict
}

@test "--verify looks at all roles" {
	service --verify=look.json <<-'END'
		[role server]
		ready = file:server.pid
		command = sh serve server
		[role client]
		after = server
		instances = 2
		command = sleep 0.2
	END
	[[ $status -eq 0 ]] || fail "$(told)"
	validates look.json
	output=$(<look.json)
	json_is "(True, [('server', True), ('client.1', True), ('client.2', True)])" \
		'd["ok"], [(x["role"], x["ok"]) for x in d["programs"]]'
	json_is "[0, 0, 0]" '[x["end"]["exit_status"] for x in d["programs"]]'
}

@test "a role whose binding is lost is named, and with --strict all are stopped" {
	needs_two_cpus
	start_service --strict --verify-every 0.1 <<-END
		[role server]
		count = 1
		command = sh serve server
		[role client]
		command = sh serve client
	END
	eventually test -s server.pid
	eventually test -s client.pid
	eventually runs_on "$(<server.pid)" "$(tr '\0' '\n' <"/proc/$(<server.pid)/environ" | sed -n 's/^NUMARUN_CPUS=//p')"
	if runs_on "$(<server.pid)" "$cpu"; then
		taskset -cp "$other" "$(<server.pid)" >/dev/null
	else
		taskset -cp "$cpu" "$(<server.pid)" >/dev/null
	fi
	ends 125
	grep -q "^numarun: server: binding lost at .* thread $(<server.pid) (sh), CPUs: " "$errs" || fail "$(<"$errs")"
	nothing_is_left
}

# ---- files that are none ----

@test "a role file that is wrong is one line with its place, and nothing is run" {
	local text

	cat >good.ini <<-'END'
		[role good]
		command = touch ran
	END
	while IFS='|' read -r want text; do
		{
			cat good.ini
			printf '%b\n' "$text"
		} >service.ini
		refuses 125 "$want" "$NUMARUN" --roles service.ini
		[[ ! -e ran ]] || fail "$(told)"
	done <<-'END'
		service.ini:4: no key 'comand': did you mean 'command'?|[role x]\ncomand = true
		service.ini:3: role x has no 'command'|[role x]
		service.ini:4: after: there is no role 'god': did you mean 'good'?|[role x]\nafter = god\ncommand = true
		service.ini:4: after: these wait for each other: x -> y -> x|[role x]\nafter = y\ncommand = true\n[role y]\nafter = x\ncommand = true
		service.ini:4: after: x is this role itself|[role x]\nafter = x\ncommand = true
		service.ini:3: a second role good|[role good]\ncommand = true
		service.ini:4: count: |[role x]\ncount = 0\ncommand = true
		service.ini:4: count: |[role x]\ncount = many\ncommand = true
		service.ini:4: ready: |[role x]\nready = http://x\ncommand = true
		service.ini:4: ready: |[role x]\nready = tcp:127.0.0.1:99999\ncommand = true
		service.ini:4: stop: |[role x]\nstop = NOSUCH\ncommand = true
		service.ini:4: stop: |[role x]\nstop = TERM, never\ncommand = true
		service.ini:4: env: |[role x]\nenv = 1=2\ncommand = true
		service.ini:4: command: |[role x]\ncommand = a | b
		service.ini:4: command: |[role x]\ncommand = a 'b
		service.ini:4: smt|[role x]\nsmt = maybe\ncommand = true
		no network interface 'nosuch0'|[role x]\nnear = nosuch0\ncommand = true
		node 777 does not exist|[role x]\nmem = bind:777\ncommand = true
		service.ini:3: |nonsense = 1
	END
	refuses 125 "role file nowhere: No such file or directory" "$NUMARUN" --roles nowhere
	refuses 125 "role file .: Is a directory" "$NUMARUN" --roles .
	: >empty
	refuses 125 "empty: no '[role NAME]' in it" "$NUMARUN" --roles empty
}

# ---- a real server ----

@test "memcached beside two clients: placed as planned, and stopped by a Ctrl-C within two seconds" {
	local port user="" thread begin want

	command -v memcached >/dev/null || skip "memcached is not installed"
	[[ $(id -u) -ne 0 ]] || user="-u nobody"
	port=$(free_port)
	cat >client <<-'END'
		echo $$ >$NUMARUN_ROLE.pid
		exec 3<>/dev/tcp/127.0.0.1/$1
		printf 'set %s 0 0 5\r\nhello\r\nget %s\r\n' $NUMARUN_ROLE $NUMARUN_ROLE >&3
		for _ in 1 2 3 4; do
			read -r line <&3
			echo "${line%$'\r'}"
		done
		exec sleep 100
	END
	start_service --verify=look.json --verify-every 0.2 <<-END
		[role cache]
		count = 1
		ready = tcp:127.0.0.1:$port, 15
		stop = TERM, 5
		command = memcached -l 127.0.0.1 -p $port -U 0 -m 16 -t 2 $user
		[role client]
		after = cache
		instances = 2
		command = bash client $port
	END
	for want in client.1 client.2; do
		prints "$want: STORED"
		prints "$want: VALUE $want 0 5"
		prints "$want: hello"
		prints "$want: END"
	done
	output=$(<look.json)
	json 'd["programs"][0]["pid"]' >cache.pid
	want=$(json 'd["programs"][0]["asked"]["cpus"]')
	for thread in /proc/"$(<cache.pid)"/task/*; do
		[[ $(sed -n 's/^Cpus_allowed_list:[^0-9]*//p' "$thread/status") == "$want" ]] ||
			fail "$thread: $(grep ^Cpus_allowed_list "$thread/status"), wanted $want"
	done
	begin=$SECONDS
	kill -INT "$pid"
	ends 130
	[[ $((SECONDS - begin)) -le 2 ]] || fail "it took $((SECONDS - begin)) s"
	nothing_is_left
	[[ ! -s $errs ]] || fail "$(<"$errs")"
	output=$(<look.json)
	json_is "(True, True)" 'd["ok"], len(d["programs"][0]["threads"]) >= 3'
	validates look.json
}
