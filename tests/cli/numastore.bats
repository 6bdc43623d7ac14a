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
	port=$(sed -n 's/^memcache listens on [^/]*://p' "$out" | head -n 1)
}

is_ready_or_gone() {
	grep -q ' listens on ' "$out" || is_gone "$pid"
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
	[[ $status -eq 0 && $output == *"--steer=HOW"*"-p, --port=PORT"* && -z $stderr ]] || fail "$(told)"
	gives "$output" "$NUMASTORE" -h
	run ! grep -qE '.{81}' <<<"$output"
	run --separate-stderr "$NUMASTORE" --version
	[[ $status -eq 0 && $output == "numastore "[0-9]* && -z $stderr ]] || fail "$(told)"
	gives "$output" "$NUMASTORE" -V
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
	refuses 2 "--place: 'a=node:x' is not PREFIX=local" "$NUMASTORE" --place a=node:x
	refuses 2 "--decay: '1' is not a number above 0 and below 1" "$NUMASTORE" --decay 1
	refuses 2 "'modern' is unknown: there is idle_timeout=SECONDS alone" "$NUMASTORE" -o modern
	refuses 2 "--numa: an empty name" "$NUMASTORE" --numa ''
	refuses 2 "nobody could be served" "$NUMASTORE" -p 0 --http-port 0 --admin-port -1
	refuses 2 "IPv6 with a port is [ADDRESS]:PORT" "$NUMASTORE" -l ::1:11211
	refuses 2 "-s: a path of 108 bytes: a unix socket's has 1 to 107" "$NUMASTORE" -s "$(printf '%108s' '' | tr ' ' s)"
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

@test "memcached's long options are known too" {
	serve=("$NUMASTORE" --port=-1 --http-port 0 --block 64K --ram-head 4K --threads=1)
	serves --memory-limit=8 --listen=127.0.0.1 --conn-limit=7 --disable-evictions --max-item-size=2k \
		--extended=idle_timeout=9 --udp-port=0 --user "$(id -un)" --lock-memory --verbose --disable-cas
	ask "stats settings" >settings
	grep -qx "STAT maxbytes 8388608" settings
	grep -qx "STAT maxconns 7" settings
	grep -qx "STAT evictions off" settings
	grep -qx "STAT item_size_max 2048" settings
	grep -qx "STAT idle_timeout 9" settings
	grep -qx "STAT objects_max unlimited" settings
	refuses 2 "-d: it stays in the foreground" "$NUMASTORE" --daemon
	refuses 2 "-A: there is no shutdown command" "$NUMASTORE" --enable-shutdown
	refuses 2 "unknown option '--license'" "$NUMASTORE" --license
}

@test "sizes that contradict each other are refused" {
	refuses 1 "--max-object-size 8K is longer than a head of 4K" "${serve[@]}" --max-object-size 8K
	refuses 1 "--block 100K: it must be a power of two" "${serve[@]}" --block 100K
	refuses 1 "--ram-head 128K: it must be a power of two, from 4K to the 64K of a block" "${serve[@]}" --ram-head 128K
	refuses 1 "--memory 32K is less than a block of 64K" "${serve[@]}" --memory 32K
	refuses 1 "--poll-us 10 keeps a CPU busy for each worker" "${serve[@]}" --poll-us 10 -t 1000
}

# ---- start ----

@test "the start-up table tells arenas, workers and addresses" {
	serves --http-port -1 --admin-port -1
	grep -qE '^ARENA +NODE +DISTANCE +SIZE +BLOCKS +HUGETLB +PAGE +THP +PLAIN +VERIFIED +LOCKED$' "$out" || fail "$(cat "$out")"
	grep -qE '^ +0 +[0-9]+ +[0-9]+ +8M ' "$out" || fail "$(cat "$out")"
	grep -qE '^1 worker on CPU [0-9]+ of node [0-9]+' "$out" || fail "$(cat "$out")"
	grep -qE '^memcache listens on 127\.0\.0\.1:[1-9][0-9]*$' "$out"
	grep -qE '^HTTP listens on 127\.0\.0\.1:[1-9][0-9]*$' "$out"
	grep -qE '^admin listens on 127\.0\.0\.1:[1-9][0-9]*$' "$out"
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

@test "what has no effect, or stays open, is said at the start" {
	local cpus nodes

	nodes=$(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' | wc -l)
	cpus=$(nproc)
	echo user:pass >auth
	serve=("$NUMASTORE" -p -1 -m 8 --block 64K --ram-head 4K)
	serves --http-port -1 -Y auth --place a=far --cores $((cpus + 1))
	grep -q '^numastore: --auth-file asks for a password over memcache alone: over HTTP whoever reaches it can read and change' "$errs" ||
		fail "$(cat "$errs")"
	grep -qE "^numastore: --place 'a=far': these keys lie on node [0-9]+, as it alone has an arena \(--sub-memory gives others one\)\$" "$errs" ||
		fail "$(cat "$errs")"
	grep -qE "^numastore: [0-9]+ workers share [0-9]+ CPUs? of node [0-9]+: --cores" "$errs" || fail "$(cat "$errs")"
	[[ $(wc -l <"$errs") -eq 3 ]] || fail "$(cat "$errs")"
	kill -TERM "$pid"
	ends 0
	[[ $nodes -eq 1 ]] || return 0
	serves --http-port 0 -Y auth --sub-memory 8M
	grep -qx 'numastore: --sub-memory changes nothing: no other node has memory' "$errs" || fail "$(cat "$errs")"
	[[ $(wc -l <"$errs") -eq 1 ]] || fail "$(cat "$errs")"
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
	refuses 2 "-l: an empty address" "${serve[@]}" -l 127.0.0.1,
}

@test "ports below 1024 are explained to those who may not have them" {
	[[ $EUID -ne 0 ]] || skip "root may"
	[[ $(cat /proc/sys/net/ipv4/ip_unprivileged_port_start) -gt 1 ]] || skip "everybody may"
	refuses 1 "CAP_NET_BIND_SERVICE" "${serve[@]}" -p 1
}

@test "several addresses are listened on, given in one or one by one" {
	serves -l 127.0.0.1,127.0.0.2 -l 127.0.0.3 -l 127.0.0.1
	[[ $(grep -c '^memcache listens on 127\.0\.0\.[123]:' "$out") -eq 3 ]] || fail "$(cat "$out")"
}

@test "an address of IPv6 is told in brackets, as it is given with a port" {
	"$PYTHON" -c 'import socket; socket.socket(socket.AF_INET6).bind(("::1", 0))' 2>/dev/null || skip "no IPv6 here"
	serves -l '[::1]'
	grep -qE '^memcache listens on \[::1\]:[1-9][0-9]*$' "$out" || fail "$(cat "$out")"
}

@test "pools are made before they are used, and it is said how" {
	refuses 1 "--ssd-dir nowhere: there is no such directory: numastore --prepare-pool nowhere makes it" \
		"${serve[@]}" --ssd-dir nowhere
	refuses 1 "--prepare-pool nowhere/pool: the directory that it is to be made in is not there" \
		"$NUMASTORE" --prepare-pool nowhere/pool
	mkdir other
	refuses 1 "--ssd-dir: other is no pool" "${serve[@]}" --ssd-dir other
	run "$NUMASTORE" --prepare-pool pool
	[[ $status -eq 0 ]] || fail "$(told)"
	serves --ssd-dir pool --user "$(id -un)" --io threads
	grep -qE '^pool in pool, by threads, (past|through) the page cache$' "$out" || fail "$(cat "$out")"
}

@test "what is asked for over HTTP is counted with what is asked for over memcache" {
	local http

	serves --http-port -1
	http=$(sed -n 's/^HTTP listens on .*://p' "$out")
	"$PYTHON" - "$http" <<-'EOT'
		import http.client, sys
		for method, path in (("PUT", "/a"), ("GET", "/a"), ("HEAD", "/a"), ("GET", "/none")):
		    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=8)
		    c.request(method, path, b"1" if method == "PUT" else None)
		    c.getresponse().read()
	EOT
	ask $'get none none\r\nstats' >stats
	grep -qx "STAT cmd_get 4" stats && grep -qx "STAT get_hits 1" stats && grep -qx "STAT get_misses 3" stats || fail "$(cat stats)"
	grep -qx "STAT http_requests 4" stats && grep -qx "STAT cmd_set 0" stats && grep -qx "STAT total_items 1" stats || fail "$(cat stats)"
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
	printf 'user:pass\n\nsecret\n' >no-colon
	printf ':pass\n' >no-user
	printf '\nuser:pass\r\n' >good
	refuses 1 "it is empty" "${serve[@]}" --auth-file empty
	refuses 1 "NUL bytes in it" "${serve[@]}" --auth-file nul
	refuses 1 "auth file no-colon: line 3 is not user:password" "${serve[@]}" --auth-file no-colon
	refuses 1 "auth file no-user: line 1 is not user:password" "${serve[@]}" --auth-file no-user
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
	ask stats | grep -qx "STAT connections_timed_out 1"
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
	# Before anything else, which may take long.
	refuses 1 "'no-such-user': there is no such user here" "${serve[@]}" -u no-such-user -l 192.0.2.1
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

@test "SIGTERM, SIGINT and SIGUSR1 end it with status 0, with idle connections at once" {
	local signal idle

	for signal in TERM INT USR1; do
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
	grep -qx "STATUS=memcache listens on 127.0.0.1:$port" notes
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
