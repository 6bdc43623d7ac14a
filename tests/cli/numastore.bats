#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numastore as whoever starts and stops it sees it: options, start-up, sockets, users, signals. What it
# answers to clients is tested elsewhere.

# shellcheck disable=SC2030,SC2031,SC2154

load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	# On whatever ports are free, and small.
	serve=("$NUMASTORE" -p -1 --http-port 0 -m 8 --block 64K --ram-head 4K -t 1)
}

teardown() {
	stop_started
}

# serves [OPTION...]: starts it; $port is memcache's, if it has one.
serves() {
	start "${serve[@]}" "$@"
	eventually is_ready_or_gone
	! grep -q 'policy calls are refused' "$errs" || skip "no memory policies here: $(cat "$errs")"
	! is_gone "$pid" || fail "it ended:" "$(cat "$errs")"
	port=$(sed -n 's/^listening on memcache on [^ ]* port //p' "$out" | head -n 1)
}

is_ready_or_gone() {
	grep -q '^listening on ' "$out" || is_gone "$pid"
}

# ask TEXT [PORT]: what the server says to TEXT and the end of it, without carriage returns.
ask() {
	"$PYTHON" - "$1" "${2:-$port}" <<-'EOT'
		import socket, sys
		text, where = sys.argv[1:]
		if "/" in where:
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(where)
		else:
		    s = socket.create_connection(("127.0.0.1", int(where)), timeout=8)
		s.settimeout(8)
		s.sendall(text.encode() + b"\r\n")
		s.shutdown(socket.SHUT_WR)
		print(s.makefile("rb").read().decode().replace("\r", ""), end="")
	EOT
}

# answers WANT TEXT [PORT]
answers() {
	local want=$1 got

	shift
	got=$(ask "$@") || fail "no answer to '$1'" "$(cat "$errs")"
	[[ $got == "$want" ]] || fail "'$1' was answered with:" "$got" "wanted:" "$want"
}

status_field() {
	sed -n "s/^$1:[[:space:]]*\(.*[^[:space:]]\)[[:space:]]*\$/\1/p" "/proc/$pid/status"
}

is_user() {
	[[ $(status_field Uid) == "$1"$'\t'"$1"$'\t'"$1"$'\t'"$1" ]] || fail "$(cat "/proc/$pid/status")"
}

# ---- options ----

@test "--help and --version go to standard output" {
	run --separate-stderr "$NUMASTORE" --help
	[[ $status -eq 0 && $output == *"--steer=HOW"*"-p PORT"* && -z $stderr ]] || fail "$(told)"
	run ! grep -qE '.{81}' <<<"$output"
	run --separate-stderr "$NUMASTORE" --version
	[[ $status -eq 0 && $output == "numastore "[0-9]* && -z $stderr ]] || fail "$(told)"
}

@test "options that are wrong are refused in one line, before anything is done" {
	local line

	while read -r -a line; do
		[[ ${#line[@]} -gt 0 ]] || continue
		refuses 2 "${line[0]}" "$NUMASTORE" "${line[@]}"
	done <<-'EOT'
		-p 65536
		-p x
		-p -2
		--http-port 70000
		--admin-port 1.5
		-U 11211
		-a 888
		-a 7777
		-m 0
		-m 1G
		-I x
		-c 0
		-c 1048577
		-t 0
		-t 1025
		--cores 0
		--memory 1Q
		--block x
		--max-objects 0
		--place a
		--place a=near
		--place a=node:x
		--steer cpus
		--poll-us -1
		--poll-us 10001
		-o modern
		-o idle_timeout=x
		-o idle_timeout=86401
		-R 0
		-b x
		-n 0
		-B binary
	EOT
	refuses 2 "'word': it takes options alone" "$NUMASTORE" word
	refuses 2 "-l: an empty address" "$NUMASTORE" -l ""
	refuses 2 "--no-such" "$NUMASTORE" --no-such
}

@test "what memcached has and we have not is refused with what to do instead" {
	refuses 2 "-d: it stays in the foreground: let systemd run it" "$NUMASTORE" -d
	refuses 2 "-P: there is no background process" "$NUMASTORE" -P pid
	[[ ! -e pid ]]
	refuses 2 "-A: there is no shutdown command: SIGTERM ends it" "$NUMASTORE" -A
	refuses 2 "-S: there is no SASL" "$NUMASTORE" -S
	refuses 2 "-Z: there is no TLS" "$NUMASTORE" -Z
	refuses 2 "-F: flush_all cannot be turned off" "$NUMASTORE" -F
	refuses 2 "-D: there are no statistics by prefix" "$NUMASTORE" -D :
	refuses 2 "-e: memory is not kept in a file" "$NUMASTORE" -e file
	refuses 2 "-r: core files are the shell's" "$NUMASTORE" -r
}

@test "memcached's options that change nothing here are taken" {
	serves -v -vv -k -L -C -X -W -R 20 -b 1024 -f 1.25 -n 48 -B ascii -B auto -U 0
	answers $'VERSION 1.6.18-numastore-0.1.0' version
}

@test "sizes that contradict each other are refused" {
	refuses 1 "objects of 8192 bytes are longer than a head of 4096" "${serve[@]}" --max-object-size 8K
	refuses 1 "block" "${serve[@]}" --block 100K
	refuses 1 "polling for 10 us keeps a CPU busy for each worker" "${serve[@]}" --poll-us 10 -t 1000
}

# ---- start ----

@test "the start-up table tells arenas, workers and addresses" {
	serves --http-port -1 --admin-port -1
	grep -qE '^ARENA +NODE +DISTANCE +SIZE +BLOCKS +HUGETLB +PAGE +THP +PLAIN +VERIFIED +LOCKED$' "$out" || fail "$(cat "$out")"
	grep -qE '^ +0 +[0-9]+ +[0-9]+ +8M ' "$out" || fail "$(cat "$out")"
	grep -qE '^1 worker on CPU [0-9]+ of node [0-9]+' "$out" || fail "$(cat "$out")"
	grep -qE '^listening on memcache on 127\.0\.0\.1 port [1-9][0-9]*$' "$out"
	grep -qE '^listening on HTTP on 127\.0\.0\.1 port [1-9][0-9]*$' "$out"
	grep -qE '^listening on admin on 127\.0\.0\.1 port [1-9][0-9]*$' "$out"
	[[ ! -s $errs ]] || fail "$(cat "$errs")"
}

@test "a start-up table that nobody can read ends it" {
	run bash -c 'exec "$@" >/dev/full' to-full "${serve[@]}"
	[[ $status -eq 1 && $output == "numastore: "*"No space left on device"* ]] || fail "$(told)"
}

@test "each worker has a CPU of its own, one of each core first" {
	needs_two_cpus
	serves -t 2
	grep -qE '^2 workers on CPUs [0-9,-]+' "$out" || fail "$(cat "$out")"
	[[ $(cat /proc/"$pid"/task/*/status | grep -c '^Cpus_allowed_list:[[:space:]]*[0-9]*$') -ge 2 ]]
}

@test "huge pages that are not there are missed only when they are required" {
	local free

	free=$(cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/free_hugepages 2>/dev/null | paste -sd+ - | bc 2>/dev/null)
	[[ ${free:-0} -eq 0 ]] || skip "$free huge pages are free here"
	serve=("$NUMASTORE" -p -1 --http-port 0 -m 8 -t 1)
	serves
	refuses 1 "0 of 4 blocks are of HugeTLB pages: reserve more of them on that node" \
		"${serve[@]}" --require-huge
}

@test "--perverse on a host of one node says that it changes nothing" {
	[[ $(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' | wc -l) -eq 1 ]] || skip "more than one node"
	serves --perverse
	[[ $(wc -l <"$errs") -eq 1 ]] && grep -q '^numastore: .*perverse' "$errs" || fail "$(cat "$errs")"
}

@test "memory that a node has not is refused, and nothing stays behind" {
	refuses 1 "node" "$NUMASTORE" -s socket --http-port 0 --memory 100000G
	[[ ! -e socket ]]
}

# ---- addresses ----

@test "a port that is taken is refused with what to do" {
	serves
	refuses 1 "port $port of 127.0.0.1 is in use by another program: choose another one" \
		"${serve[@]}" -p "$port"
	refuses 1 "port $port of 127.0.0.1 is in use" "${serve[@]}" --http-port "$port"
	answers $'VERSION 1.6.18-numastore-0.1.0' version
}

@test "addresses that are not ours, or none, are refused" {
	# TEST-NET-1 of RFC 5737: nobody has it.
	refuses 1 "192.0.2.1: no interface of this host has that address" "${serve[@]}" -l 192.0.2.1
	refuses 1 "'host.invalid': " "${serve[@]}" -l host.invalid
	refuses 1 "'0' is no port in 1..65535" "${serve[@]}" -l 127.0.0.1:0
	refuses 1 "an empty address" "${serve[@]}" -l 127.0.0.1,
}

@test "ports below 1024 are explained to those who may not have them" {
	[[ $EUID -ne 0 ]] || skip "root may"
	[[ $(cat /proc/sys/net/ipv4/ip_unprivileged_port_start) -gt 1 ]] || skip "everybody may"
	refuses 1 "CAP_NET_BIND_SERVICE" "${serve[@]}" -p 1
}

@test "several addresses are listened on, given in one or one by one" {
	serves -l 127.0.0.1,127.0.0.2 -l 127.0.0.3 -l 127.0.0.1
	[[ $(grep -c '^listening on memcache on 127.0.0.[123] port ' "$out") -eq 3 ]] || fail "$(cat "$out")"
}

@test "a server can be started again at once on the same port" {
	local first

	serves
	first=$port
	ask "version" >/dev/null
	kill -TERM "$pid"
	ends 0
	serves -p "$first"
	answers $'VERSION 1.6.18-numastore-0.1.0' version
}

@test "a unix socket takes the memcache port's place, and is gone at the end" {
	serve=("$NUMASTORE" --http-port 0 -m 8 --block 64K --ram-head 4K -t 2 -s "$PWD/socket" -u "$(id -un)")
	serves -a 707
	[[ -z $port ]]
	[[ $(stat -c %a socket) == 707 ]]
	answers $'VERSION 1.6.18-numastore-0.1.0' version "$PWD/socket"
	refuses 1 "it is in use or no socket" "${serve[@]}"
	answers $'VERSION 1.6.18-numastore-0.1.0' version "$PWD/socket"
	kill -TERM "$pid"
	ends 0
	[[ ! -e socket ]]
}

@test "the socket of a server that was killed is replaced, another file is not" {
	serve=("$NUMASTORE" --http-port 0 -m 8 --block 64K --ram-head 4K -t 1 -s "$PWD/socket" -u "$(id -un)")
	serves
	kill -KILL "$pid"
	eventually is_gone "$pid"
	[[ -S socket ]]
	serves
	answers $'VERSION 1.6.18-numastore-0.1.0' version "$PWD/socket"
	kill -TERM "$pid"
	ends 0
	echo precious >socket
	refuses 1 "it is in use or no socket" "${serve[@]}"
	[[ $(cat socket) == precious ]]
}

@test "the auth file is looked at before anything else, and -Y is another name for it" {
	: >empty
	printf 'user:pa\0ss\n' >nul
	echo user:pass >good
	refuses 1 "it is empty" "${serve[@]}" --auth-file empty
	refuses 1 "NUL bytes in it" "${serve[@]}" --auth-file nul
	refuses 1 "No such file" "${serve[@]}" -Y nowhere
	serves -Y good
	answers "CLIENT_ERROR unauthenticated" "get a"
}

# ---- limits ----

@test "connections beyond -c are told so and closed, and others go on" {
	serves -c 2
	"$PYTHON" - "$port" <<-'EOT'
		import socket, sys
		def connect():
		    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=8)
		    s.settimeout(8)
		    return s
		def version(s):
		    s.sendall(b"version\r\n")
		    return s.recv(100)
		a, b = connect(), connect()
		assert version(a).startswith(b"VERSION") and version(b).startswith(b"VERSION")
		c = connect()
		assert c.makefile("rb").read() == b"ERROR Too many open connections\r\n"
		assert version(a).startswith(b"VERSION")
	EOT
}

@test "the limit of open files is raised for -c, and one that cannot be is told" {
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	start bash -c 'ulimit -Sn 40 && exec "$@"' - "${serve[@]}" -c 60
	eventually is_ready_or_gone
	! is_gone "$pid" || fail "$(cat "$errs")"
	[[ $(awk '/^Max open files/ { print $4 }' "/proc/$pid/limits") -gt 60 ]]
	kill -TERM "$pid"
	ends 0
	# Root may raise the hard one too, unless that was taken away.
	local as=()
	[[ $EUID -ne 0 ]] || as=(setpriv --bounding-set -sys_resource)
	refuses 1 "open files, more than this process may have: fewer by -c" \
		"${as[@]}" bash -c 'ulimit -n 64 && exec "$@"' - "${serve[@]}" -c 1000
}

@test "-o idle_timeout closes a connection that says nothing" {
	serves -o idle_timeout=1
	"$PYTHON" - "$port" <<-'EOT'
		import socket, sys
		s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=30)
		s.settimeout(30)
		assert s.recv(1) == b""
	EOT
	ask stats | grep -qx "STAT idle_kicks 1"
}

@test "steering and polling are told in the statistics; on loopback there is no queue" {
	serves --steer napi --poll-us 100
	answers $'STORED\nVALUE a 0 2\nhi\nEND' $'set a 0 0 2\r\nhi\r\nget a'
	ask "stats settings" | grep -qx "STAT steer napi"
	ask "stats settings" | grep -qx "STAT poll_us 100"
	ask stats | grep -qx "STAT connections_handed 0"
	ask stats | grep -qE "^STAT connections_unsteered [1-9][0-9]*$"
	kill -TERM "$pid"
	ends 0
	serves --steer cpu
	ask stats | grep -qE "^STAT connections_unsteered [0-9]+$"
	kill -TERM "$pid"
	ends 0
	serves
	run ! grep -q connections_unsteered <<<"$(ask stats)"
}

# ---- users ----

@test "started as root it becomes nobody" {
	[[ $EUID -eq 0 ]] || skip "not root"
	serves
	is_user "$(id -u nobody)"
	[[ -z $(status_field Groups) && $(status_field NoNewPrivs) -eq 1 ]] || fail "$(cat "/proc/$pid/status")"
	# And so do its threads, which come later.
	[[ $(cat /proc/"$pid"/task/*/status | sed -n 's/^Uid:[[:space:]]*\([0-9]*\).*/\1/p' | sort -u) == "$(id -u nobody)" ]]
	answers $'VERSION 1.6.18-numastore-0.1.0' version
}

@test "-u names another user, to whom the socket is given too; root stays root" {
	[[ $EUID -eq 0 ]] || skip "not root"
	serves -u 4321 -s "$PWD/socket"
	is_user 4321
	[[ $(stat -c %u:%g socket) == 4321:4321 ]]
	kill -TERM "$pid"
	ends 0
	serves --user root
	is_user 0
	refuses 1 "'no-such-user': there is no such user here" "${serve[@]}" -u no-such-user
}

@test "who is not root cannot become somebody else" {
	[[ $EUID -ne 0 ]] || skip "root can"
	refuses 1 "only root can become another user" "${serve[@]}" -u root
}

@test "where root may not become another user it does not go on as root" {
	[[ $EUID -eq 0 ]] || skip "not root"
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	serves
	refuses 1 "Operation not permitted (--user root stays root)" \
		setpriv --bounding-set -setuid,-setgid "${serve[@]}"
}

# ---- signals ----

@test "SIGTERM and SIGINT end it with status 0, with idle connections at once" {
	local signal idle

	for signal in TERM INT; do
		serves
		exec {idle}<>"/dev/tcp/127.0.0.1/$port"
		kill -"$signal" "$pid"
		ends 0
		exec {idle}>&-
		[[ ! -s $errs ]] || fail "$(cat "$errs")"
	done
}

@test "a request that has begun is answered before it ends" {
	local half line

	serves
	exec {half}<>"/dev/tcp/127.0.0.1/$port"
	printf 'version\r\n' >&"$half"
	read -r line <&"$half"
	printf 'set a 0 0 5\r\nab' >&"$half"
	eventually bytes_are_read
	kill -TERM "$pid"
	eventually is_refused
	printf 'cde\r\n' >&"$half"
	read -r line <&"$half"
	[[ $line == STORED* ]] || fail "answered: '$line'"
	ends 0
}

# 9 of version and 15 of the set, and 7 of each question before this one and of this one.
bytes_are_read() {
	QUESTIONS=$((${QUESTIONS:-0} + 1))
	[[ $(ask stats | sed -n 's/^STAT bytes_read //p') -ge $((9 + 15 + 7 * QUESTIONS)) ]]
}

is_refused() {
	! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null
}

@test "a second signal does not wait for who is in the middle of something" {
	local half line

	serves
	exec {half}<>"/dev/tcp/127.0.0.1/$port"
	printf 'version\r\n' >&"$half"
	read -r line <&"$half"
	printf 'set a 0 0 5\r\nab' >&"$half"
	eventually bytes_are_read
	kill -TERM "$pid"
	eventually is_refused
	kill -TERM "$pid"
	ends 0
	exec {half}>&-
}

@test "SIGHUP and SIGPIPE do not end it" {
	serves
	kill -HUP "$pid"
	kill -PIPE "$pid"
	answers $'VERSION 1.6.18-numastore-0.1.0' version
}

@test "it outlives readers that go away in the middle of an answer" {
	serves
	"$PYTHON" - "$port" <<-'EOT'
		import socket, struct, sys
		for _ in range(20):
		    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=8)
		    s.sendall(b"set a 0 0 4000\r\n" + b"x" * 4000 + b"\r\n" + b"get a a a a a a a a\r\n" * 2000)
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
		    s.close()
	EOT
	answers $'VERSION 1.6.18-numastore-0.1.0' version
}

# ---- systemd ----

@test "systemd is told when it is ready, where it serves, and that it stops" {
	cat >listen.py <<-'EOT'
		import socket
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind("notify")
		open("bound", "w").close()
		s.settimeout(30)
		for _ in range(2):
		    print(s.recv(2000).decode(), flush=True)
	EOT
	"$PYTHON" listen.py >notes 3>&- &
	STARTED+=("$!")
	eventually test -e bound
	# Who it becomes otherwise may not reach into this folder.
	NOTIFY_SOCKET=$PWD/notify serves --user "$(id -un)"
	eventually grep -qx READY=1 notes
	grep -qx "STATUS=serving memcache on 127.0.0.1 port $port" notes
	kill -TERM "$pid"
	ends 0
	eventually grep -qx STOPPING=1 notes
}

@test "the systemd unit is one that systemd understands" {
	command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed"
	# With a program that is there; the man page need not be installed.
	sed "s|^ExecStart=[^ ]*|ExecStart=$(realpath "$NUMASTORE")|; /^Documentation=/d" \
		"$NUMAKIT_SOURCE/examples/systemd/numastore.service" >numastore.service
	run systemd-analyze verify ./numastore.service
	[[ $status -eq 0 && -z $output ]] || fail "$(told)"
}
