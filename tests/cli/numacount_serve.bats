#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numacount serve as a user and as clients see it, good ones and bad ones. It counts the kernel's
# software events here, which every host has; integration/prometheus.sh has a real Prometheus.

# shellcheck disable=SC2030,SC2031,SC2154

load common

: "${NUMACOUNT:=$NUMAKIT_SOURCE/build/dev/counters/numacount}"

OPENMETRICS='Accept: application/openmetrics-text; version=1.0.0'

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cat >software.ini <<-'EOT'
		[family software]
		title = The kernel's software events
		cpu = GenuineIntel 6/0
		[event cpu_clock]
		class = other
		pmu = software
		terms = config=0x0
	EOT
	serve=("$NUMACOUNT" serve --events software.ini --family software)
}

teardown() {
	stop_started
}

# serves [OPTION...]: starts it on a port that the kernel chooses; its address is $url.
serves() {
	serves_at --listen 127.0.0.1:0 "$@"
}

serves_at() {
	start "${serve[@]}" "$@"
	eventually is_ready_or_gone
	! grep -qE 'perf_event_paranoid|CAP_PERFMON|Permission denied' "$errs" || skip "may not count here: $(cat "$errs")"
	url=$(sed -n 's|^numacount: serving on \(http://[^,]*\)/metrics, .*|\1|p' "$errs")
	[[ -n $url ]] || fail "not ready" "$(cat "$errs")"
}

is_ready_or_gone() {
	grep -q '^numacount: serving on ' "$errs" || is_gone "$pid"
}

# status_of URL [CURL OPTION...]: the status of the answer, its headers in ./head, its body in ./body.
status_of() {
	curl --silent --show-error --max-time 8 --dump-header head --output body \
		--write-out '%{http_code}\n' "$@"
}

# answers STATUS URL [CURL OPTION...]
answers() {
	local want=$1 got

	shift
	got=$(status_of "$@") || fail "curl $*: failed, after '$got'"
	[[ $got == "$want" ]] || fail "curl $*: status $got, wanted $want" "$(cat head body)"
}

has_header() {
	tr -d '\r' <./head | grep -qixF -e "$1" || fail "no header '$1' in:" "$(cat head)"
}

@test "addresses that are none are refused, before anything is opened" {
	local address

	for address in '' : x 127.0.0.1 127.0.0.1: 127.0.0.1:http 127.0.0.1:65536 :-1; do
		refuses 2 "is no port in 0..65535" "${serve[@]}" --listen "$address"
	done
	refuses 2 "an IPv6 address wants brackets" "${serve[@]}" --listen ::1:9914
	refuses 2 "--listen: at most 8 times" "${serve[@]}" --listen={1,2,3,4,5,6,7,8,9}
}

@test "what serve does not take is refused" {
	refuses 2 "'true': it takes no program to run" "${serve[@]}" true
	refuses 2 "--json: metrics have a format of their own" "${serve[@]}" --json
	refuses 2 "-I: 99 is not a number in 100..60000" "${serve[@]}" -I 99
	refuses 2 "-I: 60001 is not" "${serve[@]}" -I 60001
	refuses 2 "--peak and --measured: give one" "${serve[@]}" --peak 1 --measured x
	refuses 2 "--source and --allow-fallback: give one" "${serve[@]}" --source core --allow-fallback
}

@test "a port that is taken and an address that is not ours end it with one line" {
	serves
	refuses 1 "port ${url##*:} of 127.0.0.1 is in use by another program" \
		"${serve[@]}" --listen "${url#http://}"
	# TEST-NET-1 of RFC 5737: nobody has it.
	refuses 1 "192.0.2.1: no interface of this host has that address" \
		"${serve[@]}" --listen 192.0.2.1:0
	refuses 1 "'host.invalid': " "${serve[@]}" --listen host.invalid:1
	# The first one goes on.
	answers 200 "$url/metrics"
}

@test "the ready line tells address, source and counters" {
	serves
	[[ $(cat "$errs") =~ ^numacount:\ serving\ on\ http://127.0.0.1:[1-9][0-9]*/metrics,\ source\ uncore,\ [1-9][0-9]*\ counters$ ]] ||
		fail "$(cat "$errs")"
}

@test "several addresses are served, IPv6 too" {
	grep -q ' lo$' /proc/net/if_inet6 2>/dev/null || skip "no IPv6 here"
	serves_at --listen '[::1]:0' --listen 0
	answers 200 "$url/metrics"
	[[ $url == 'http://[::1]:'* ]]
	answers 200 "$(sed -n 's|.* \(http://127.0.0.1:[0-9]*/metrics\), .*|\1|p' "$errs")"
}

@test "classic text is served, and OpenMetrics to those who ask for it" {
	serves
	answers 200 "$url/metrics"
	has_header 'Content-Type: text/plain; version=0.0.4; charset=utf-8'
	grep -q '^# TYPE numacount_events_total counter$' body
	grep -qE '^numacount_events_total\{event="cpu_clock",socket="[0-9]+",source="uncore"\} [0-9]+$' body ||
		fail "$(cat body)"
	run ! grep -q '^# EOF' body
	answers 200 -H "$OPENMETRICS" "$url/metrics"
	has_header 'Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8'
	grep -q '^# TYPE numacount_events counter$' body
	[[ $(tail -n 1 body) == '# EOF' ]]
}

@test "promtool has nothing to say against the page" {
	command -v promtool >/dev/null || skip "promtool is not installed"
	serves
	answers 200 "$url/metrics"
	run promtool check metrics <body
	[[ $status -eq 0 && -z $output ]] || fail "$(told)" "$(cat body)"
}

@test "each sample of the page is of a metric that --list-metrics tells" {
	local name

	serves
	answers 200 "$url/metrics"
	"$NUMACOUNT" serve --list-metrics >listed
	[[ $(head -n 1 listed) == METRIC*TYPE*HELP* ]]
	while read -r name; do
		grep -qE "^$name +(counter|gauge|info) +[A-Z0-9]" listed || fail "$name is not in:" "$(cat listed)"
	done < <(sed -n 's/^\([a-z_]*\)[{ ].*/\1/p' body | sort -u)
}

@test "HEAD has the headers alone, / links the page, all else is refused" {
	serves
	answers 200 --head "$url/metrics"
	[[ $(grep -ci '^content-length: [1-9]' head) -eq 1 ]]
	answers 200 "$url/"
	grep -q '<a href="/metrics">' body
	answers 404 "$url/metrics/"
	answers 404 "$url/favicon.ico"
	answers 405 --request POST --data x=1 "$url/metrics"
	has_header 'Allow: GET, HEAD'
	answers 405 --request DELETE "$url/nothing"
	answers 413 --request GET --data x=1 "$url/metrics"
	answers 200 "$url/metrics?any=thing"
}

@test "requests beyond all measure are refused, and the next client is served" {
	local long

	serves
	long=$(head -c 20000 /dev/zero | tr '\0' a)
	answers 431 --header "X-Long: $long" "$url/metrics"
	answers 414 "$url/$long"
	"$PYTHON" - "${url##*:}" <<-'EOT'
		import os, socket, sys
		for request in (b"", b"\r\n\r\n", b"GARBAGE\r\n\r\n", b"GET\0/metrics\r\n\r\n", os.urandom(4000)):
		    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as client:
		        client.sendall(request)
	EOT
	answers 200 "$url/metrics"
}

@test "a client that is slow does not hold up another" {
	serves
	"$PYTHON" - "${url##*:}" <<-'EOT'
		import socket, sys
		address = ("127.0.0.1", int(sys.argv[1]))
		slow = socket.create_connection(address)
		slow.sendall(b"GET /metrics HT")
		lazy = socket.create_connection(address)  # asks and does not read
		lazy.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
		for _ in range(20):
		    with socket.create_connection(address, timeout=8) as quick:
		        quick.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
		        assert quick.makefile("rb").readline().startswith(b"HTTP/1.1 200 "), "held up"
		slow.sendall(b"TP/1.0\r\n\r\n")
		slow.settimeout(8)
		assert slow.makefile("rb").readline().startswith(b"HTTP/1.1 200 "), "forgotten"
	EOT
}

@test "connections of one address beyond its share are closed, and others are served" {
	serves
	"$PYTHON" - "${url##*:}" <<-'EOT'
		import socket, sys
		address = ("127.0.0.1", int(sys.argv[1]))

		def get(source):
		    with socket.create_connection(address, timeout=8, source_address=(source, 0)) as client:
		        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
		        return client.makefile("rb").readline()

		def is_closed(client):
		    client.settimeout(8)
		    try:
		        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
		        return client.recv(1) == b""
		    except ConnectionError:
		        return True

		crowd = [socket.create_connection(address) for _ in range(60)]
		assert get("127.0.0.2").startswith(b"HTTP/1.1 200 "), "another address is not served"
		closed = sum(is_closed(client) for client in crowd)
		assert closed == 60 - 16, f"{closed} of 60 were closed"
		for client in crowd:
		    client.close()
	EOT
	answers 200 --retry 5 --retry-all-errors "$url/metrics"
}

@test "many clients at once get whole pages, and totals never fall" {
	serves
	"$PYTHON" - "$url/metrics" <<-'EOT'
		import re, sys, threading, urllib.request

		def total():
		    with urllib.request.urlopen(sys.argv[1], timeout=8) as page:
		        text = page.read().decode()
		    assert text.endswith("\n")
		    return sum(map(int, re.findall(r"^numacount_events_total\{.*\} (\d+)$", text, re.M)))

		bad = []

		def client():
		    try:
		        before = 0
		        for _ in range(50):
		            now = total()
		            if now < before or now == 0:
		                bad.append((before, now))
		            before = now
		    except Exception as error:
		        bad.append(error)

		threads = [threading.Thread(target=client) for _ in range(8)]
		for thread in threads:
		    thread.start()
		for thread in threads:
		    thread.join()
		assert not bad, bad
	EOT
}

@test "signals that stop end it with status 0, also amid a request" {
	local signal

	for signal in TERM INT HUP; do
		serves
		exec {half}<>"/dev/tcp/127.0.0.1/${url##*:}"
		printf 'GET /metr' >&"$half"
		kill -"$signal" "$pid"
		ends 0
		exec {half}>&-
		[[ $(wc -l <"$errs") -eq 1 ]] || fail "$(cat "$errs")"
	done
}

@test "under nohup it outlives its terminal" {
	serve=(env --ignore-signal=HUP "${serve[@]}")
	serves
	kill -HUP "$pid"
	answers 200 "$url/metrics"
	kill -TERM "$pid"
	ends 0
}

@test "it can be started again at once on the same port" {
	local address

	serves
	answers 200 "$url/metrics"
	address=${url#http://}
	kill -TERM "$pid"
	ends 0
	serves_at --listen "$address"
	answers 200 "$url/metrics"
}

@test "--duration ends it" {
	serves --duration 0.2
	ends 0
}

# status_field NAME: of /proc/PID/status.
status_field() {
	sed -n "s/^$1:[[:space:]]*\(.*[^[:space:]]\)[[:space:]]*\$/\1/p" "/proc/$pid/status"
}

# Numbers of all four kinds.
is_user() {
	[[ $(status_field Uid) == "$1"$'\t'"$1"$'\t'"$1"$'\t'"$1" ]] || fail "$(cat "/proc/$pid/status")"
}

@test "started as root it becomes nobody, with CAP_PERFMON at most" {
	local effective

	[[ $EUID -eq 0 ]] || skip "not root"
	serves
	is_user "$(id -u nobody)"
	[[ -z $(status_field Groups) && $(status_field NoNewPrivs) -eq 1 ]] ||
		fail "$(cat "/proc/$pid/status")"
	effective=$(status_field CapEff)
	[[ $effective == 0000004000000000 || $effective == 0000000000000000 ]] ||
		fail "CapEff: $effective"
	[[ $(status_field CapPrm) == "$effective" && $(status_field CapInh) == 0000000000000000 &&
		$(status_field CapAmb) == 0000000000000000 ]] || fail "$(cat "/proc/$pid/status")"
	# And so do its threads.
	[[ $(cat /proc/"$pid"/task/*/status | sed -n 's/^CapEff:[[:space:]]*//p' | sort -u) == "$effective" ]]
	answers 200 "$url/metrics"
}

@test "--user names another one, and root stays root" {
	[[ $EUID -eq 0 ]] || skip "not root"
	serves --user 4321
	is_user 4321
	kill -TERM "$pid"
	ends 0
	serves --user root
	is_user 0
	refuses 1 "--user 'no-such-user': there is no such user here" \
		"${serve[@]}" --listen 0 --user no-such-user
}

@test "where root may not become another user it does not go on as root" {
	[[ $EUID -eq 0 ]] || skip "not root"
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	serves
	refuses 1 "Operation not permitted (--user root stays root)" \
		setpriv --bounding-set -setuid,-setgid "${serve[@]}" --listen 0
}

@test "systemd is told when it is ready" {
	cat >listen.py <<-'EOT'
		import socket
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind("notify")
		open("bound", "w").close()
		s.settimeout(10)
		print(s.recv(100).decode(), flush=True)
	EOT
	"$PYTHON" listen.py >told 3>&- &
	STARTED+=("$!")
	eventually test -e bound
	# Who it becomes otherwise may not reach into this folder.
	NOTIFY_SOCKET=$PWD/notify serves --user "$(id -un)"
	eventually grep -qx READY=1 told
}

@test "the systemd unit is one that systemd understands" {
	command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed"
	# With a program that is there; the man page need not be installed.
	sed "s|^ExecStart=[^ ]*|ExecStart=$(realpath "$NUMACOUNT")|; /^Documentation=/d" \
		"$NUMAKIT_SOURCE/examples/systemd/numacount.service" >numacount.service
	run systemd-analyze verify ./numacount.service
	[[ $status -eq 0 && -z $output ]] || fail "$(told)"
}
