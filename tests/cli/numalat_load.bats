#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numalat load against memcached and nginx: what it asks for, what it counts, and how it ends.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154

load common
load servers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	KEYS=500
}

teardown() {
	# Servers first: what ends the others waits for all that are left.
	stop_servers
	stop_started
}

# populated [OPTION...]: memcached, with objects in it; $load asks for those.
populated() {
	start_memcached
	server=127.0.0.1:$MEMCACHED_PORT
	"$NUMALAT" populate -s "$server" -k "$KEYS" "$@"
	load=("$NUMALAT" load -s "$server" -k "$KEYS" --warmup 0 "$@")
}

# loads STATUS COMMAND...: the command ends so; its document is in $output, and kept for the last test.
loads() {
	local want=$1

	shift
	run "-$want" --separate-stderr "$@" --json
	keep
}

keep() {
	KEPT=$((${KEPT:-0} + 1))
	printf '%s' "$output" >"$BATS_FILE_TMPDIR/$BATS_TEST_NUMBER-$KEPT.json"
}

# stat_of NAME: memcached's own count.
stat_of() {
	local name value

	exec 4<>"/dev/tcp/127.0.0.1/$MEMCACHED_PORT"
	printf 'stats\r\nquit\r\n' >&4
	while read -r _ name value; do
		[[ $name != "$1" ]] || printf '%s\n' "${value%$'\r'}"
	done <&4
	exec 4>&-
}

@test "what cannot be meant is refused, as wrong usage" {
	refuses 2 "--connections: '0' is not a number in 1..65536" "$NUMALAT" load -c 0
	refuses 2 "--threads: 3 threads for 2 connections" "$NUMALAT" load -c 2 -t 3
	refuses 2 "--duration: '0' is not a number of seconds in 0.001..1000000" "$NUMALAT" load --duration 0
	refuses 2 "--duration or --requests, not both" "$NUMALAT" load --duration 1 -n 5
	refuses 2 "--warmup: '-1'" "$NUMALAT" load --warmup -1
	refuses 2 "--rate: '1G' is not a rate in" "$NUMALAT" load --rate 1G
	refuses 2 "--arrivals: 'even' is not fixed or poisson" "$NUMALAT" load --rate 1K --arrivals even
	refuses 2 "--arrivals: a closed loop has none" "$NUMALAT" load --arrivals fixed
	refuses 2 "--key-dist: 'zipf' is none of uniform, zipf:THETA" "$NUMALAT" load --key-dist zipf
	refuses 2 "--set: '1.1' is not a share in 0..1" "$NUMALAT" load --set 1.1
	refuses 2 "--cpus: 1 CPUs for 2 threads" "$NUMALAT" load -t 2 --cpus 0
	refuses 2 "--cpus: " "$NUMALAT" load --cpus x
	refuses 2 "--verify: 'all' is not stamp or off" "$NUMALAT" load --verify all
	refuses 2 "--misses: 'no' is not ok or fail" "$NUMALAT" load --misses no
	refuses 2 "load: 'x': it takes no argument" "$NUMALAT" load x
}

@test "a server that is not there is one line" {
	port=$(free_port)
	refuses 1 "127.0.0.1:$port" "$NUMALAT" load -s "127.0.0.1:$port"
	refuses 1 "127.0.0.1:$port" "$NUMALAT" load -s "127.0.0.1:$port" -c 8 -t 4 --rate 100
}

@test "as many requests as were asked for are made, counted and told" {
	populated
	before=$(stat_of cmd_get)
	loads 0 "${load[@]}" -n 2003 -c 7 -t 3 --verify stamp
	[[ -z $stderr ]]
	json_is "(2003, 2003, 2003, 2051072)" \
		'(d["requests"], d["verbs"][0]["latency"]["count"], d["verbs"][0]["service"]["count"], d["bytes"])'
	json_is "['GET']" '[verb["verb"] for verb in d["verbs"]]'
	json_is "(True, None, 'closed', None, None, None, None)" \
		'(d["complete"], d["why"], d["loop"], d["arrivals"], d["lag"], d["backlog"], d["is_overloaded"])'
	json_is "(None, 2003)" '(d["duration_asked_ns"], d["requests_asked"])'
	json_is True '0 < d["verbs"][0]["latency"]["min_ns"] <= d["verbs"][0]["latency"]["p50_ns"] <= d["verbs"][0]["latency"]["max_ns"] <= d["elapsed_ns"]'
	[[ $(($(stat_of cmd_get) - before)) -eq 2003 ]]
	[[ $(stat_of get_misses) -eq 0 ]]
}

@test "the warm-up is not counted, and lasts" {
	populated
	before=$(stat_of cmd_get)
	loads 0 "${load[@]}" --warmup 0.3 --duration 0.3
	json_is 300000000 'd["warmup_ns"]'
	json_is True 'd["elapsed_ns"] >= 300000000 and d["requests"] > 0'
	[[ $(($(stat_of cmd_get) - before)) -gt $(json 'd["requests"]') ]]
}

@test "the text has a row for each verb and each time, and says what they are" {
	populated
	run -0 --separate-stderr "${load[@]}" -n 500
	[[ -z $stderr ]]
	[[ $output == *"closed loop; 16 connections on 1 thread; keys uniform"* ]]
	[[ $output =~ GET\ +latency\ +500\  ]]
	[[ $output != *service* && $output != *SET* && $output != *lag* ]]
	run -0 --separate-stderr "${load[@]}" -n 500 --rate 5K --set 0.5 --key-dist hot:0.1:0.9
	[[ $output == *"open loop, 5000 requests/s, poisson"*"keys hot:0.1:0.9, 50 % SET"* ]]
	[[ $output =~ GET\ +latency.*GET\ +service.*SET\ +latency.*SET\ +service.*lag ]]
	[[ $output == *"rate     asked 5000, due "* ]]
}

@test "an open loop makes the requests of its schedule" {
	populated
	loads 0 "${load[@]}" --rate 2K --arrivals fixed --duration 1 -t 2
	json_is True '1998 <= d["requests_due"] <= 2002'
	json_is True 'd["requests"] + d["backlog"] == d["requests_due"]'
	json_is "('open', 'fixed', 2000.0)" '(d["loop"], d["arrivals"], d["rate_asked_per_s"])'
	json_is True 'd["verbs"][0]["latency"]["mean_ns"] >= d["verbs"][0]["service"]["mean_ns"] > 0'
	loads 0 "${load[@]}" --rate 2K --duration 1
	# Five standard deviations of a Poisson process.
	json_is True '2000 - 224 < d["requests_due"] < 2000 + 224'
	json_is poisson 'd["arrivals"]'
	loads 0 "${load[@]}" --rate 10K -n 1000
	json_is "(1000, 1000, 0)" '(d["requests"], d["requests_due"], d["backlog"])'
}

@test "the same seed asks for the same keys at the same times" {
	populated --size 100:1,200:1,300:1
	loads 0 "${load[@]}" -n 1000 --rate 20K --seed 5 -c 2
	first=$(json 'd["bytes"]')
	loads 0 "${load[@]}" -n 1000 --rate 20K --seed 5 -c 2
	json_is "$first" 'd["bytes"]'
	loads 0 "${load[@]}" -n 1000 --rate 20K --seed 6 -c 2
	[[ $(json 'd["bytes"]') != "$first" ]]
}

@test "more than the server can do is said to be so" {
	populated
	loads 0 "${load[@]}" --rate 100M --duration 0.5 -c 4
	json_is "(True, True)" '(d["complete"], d["is_overloaded"])'
	json_is True 'd["backlog"] > 1000000 and d["backlog_oldest_ns"] > 400000000'
	run -0 --separate-stderr "${load[@]}" --rate 100M --duration 0.5 -c 4
	[[ $output == *" due ones not sent at the end, the first 0."*" s late"* ]]
	[[ $(grep -c '^overload ' <<<"$output") -eq 1 ]]
}

@test "GETs and SETs are mixed, and what is stored is what populate stores" {
	populated
	loads 0 "${load[@]}" -n 4000 --set 0.25 --verify stamp
	json_is "['GET', 'SET']" '[verb["verb"] for verb in d["verbs"]]'
	json_is 4000 'sum(verb["requests"] for verb in d["verbs"])'
	json_is True '860 < d["verbs"][1]["requests"] < 1140'
	json_is True 'd["verbs"][1]["bytes"] == 1024 * d["verbs"][1]["requests"]'
}

# value KEY: its bytes' sum, as memcached on $MEMCACHED_PORT has them.
value() {
	"$PYTHON" - "$MEMCACHED_PORT" "$1" <<-'EOF'
		import hashlib, socket, sys
		connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		connection.sendall(b"get %s\r\nquit\r\n" % sys.argv[2].encode())
		print(hashlib.sha256(connection.makefile("rb").read()).hexdigest())
	EOF
}

@test "large values are stored in pieces, and come in pieces" {
	KEYS=3
	start_memcached -m 64
	server=127.0.0.1:$MEMCACHED_PORT
	load=("$NUMALAT" load -s "$server" -k 3 --warmup 0 --size 900000)
	# So many that each key's turn came.
	loads 0 "${load[@]}" -n 200 --set 1 -c 3
	json_is "[('SET', 180000000)]" '[(verb["verb"], verb["bytes"]) for verb in d["verbs"]]'
	stored=$(for key in 0 1 2; do value numalat-$key; done)
	loads 0 "${load[@]}" -n 200 -c 3 --verify stamp
	json_is 180000000 'd["bytes"]'
	"$NUMALAT" populate -s "$server" -k 3 --size 900000
	[[ $(for key in 0 1 2; do value numalat-$key; done) == "$stored" ]]
}

@test "keys are asked for by zipf, and the hot ones most" {
	populated
	loads 0 "${load[@]}" -n 2000 --key-dist zipf:0.99
	json_is zipf:0.99 'd["key_distribution"]'
	# Key 0 alone is there.
	loads 0 "${load[@]}" -n 2000 -k 1000000 --key-dist zipf:10 --misses ok
	json_is True 'd["verbs"][0]["misses"] < 10'
	loads 0 "${load[@]}" -n 2000 -k 5000 --key-dist hot:0.1:0.9 --misses ok
	json_is True '130 < d["verbs"][0]["misses"] < 270'
}

@test "misses are counted, and a failure unless they are ok" {
	populated
	loads 1 "${load[@]}" -n 1000 -k 1000
	[[ $stderr == "numalat: load: "*" of 1000 GETs were misses: 'numalat populate' stores the objects; --misses ok only counts them" ]]
	json_is True '350 < d["verbs"][0]["misses"] < 650 and d["complete"]'
	json_is True 'd["bytes"] == 1024 * (1000 - d["verbs"][0]["misses"])'
	loads 0 "${load[@]}" -n 1000 -k 1000 --misses ok
	[[ -z $stderr ]]
	run -0 "${load[@]}" -n 1000 -k 1000 --misses ok
	[[ $output == *"misses   "*" of 1000 GETs"* ]]
}

@test "values that populate did not store end the run, where they are looked at" {
	populated
	loads 0 "${load[@]}" -n 1000 --prefix numalat- --verify stamp
	"$NUMALAT" populate -s "$server" -k "$KEYS" --size 1000
	loads 1 "${load[@]}" -n 1000 --verify stamp
	[[ $stderr == *"'numalat-"*"': a value of 1000 bytes came, 1024 were expected" ]]
	json_is False 'd["complete"]'
	loads 0 "${load[@]}" -n 1000
	json_is "(1000000, 1000)" '(d["bytes"], d["verbs"][0]["other_sizes"])'
	run -0 "${load[@]}" -n 1000
	[[ $output == *"sizes    1000 of 1000 values had another size than --size tells"* ]]
	# Objects of others: their index is another one.
	"$NUMALAT" populate -s "$server" -k 50 --prefix numalat-1
	loads 1 "${load[@]}" -n 100 -k 1 --prefix numalat-11 --verify stamp
	[[ $stderr == *"'numalat-110': byte 0 of the value is not what numalat populate stored" ]]
}

@test "what the server refuses is counted, with its words" {
	start_memcached
	loads 1 "$NUMALAT" load -s "127.0.0.1:$MEMCACHED_PORT" --warmup 0 --size 2M -k 3 --set 1 -n 20 -c 2
	[[ $stderr == "numalat: load: the server refused 20 of 20 requests: SERVER_ERROR object too large for cache" ]]
	json_is "(True, 20, 20, 0)" \
		'(d["complete"], d["requests"], d["verbs"][0]["refused"], d["verbs"][0]["bytes"])'
	json_is "SERVER_ERROR object too large for cache" 'd["refusal"]'
}

@test "a server that speaks another protocol is told so" {
	mkdir www
	start_nginx "$PWD/www"
	loads 1 "$NUMALAT" load -s "127.0.0.1:$NGINX_PORT" --warmup 0 -n 10
	[[ $stderr == "numalat: load: not complete: 127.0.0.1:$NGINX_PORT: "*"HTTP"* && $stderr != *$'\n'* ]]
	json_is "(False, 0)" '(d["complete"], d["requests"])'
	start_memcached
	loads 1 "$NUMALAT" load -P http -s "127.0.0.1:$MEMCACHED_PORT" --warmup 0 -n 10
	json_is False 'd["complete"]'
}

@test "HTTP connections that the server closes after a reply are opened anew" {
	mkdir www
	"$NUMALAT" populate -P http --directory www -k 20
	start_nginx "$PWD/www" "keepalive_requests 100;"
	load=("$NUMALAT" load -P http -s "127.0.0.1:$NGINX_PORT" -k 20 --warmup 0)
	loads 0 "${load[@]}" -n 5000 -c 2 --verify stamp
	json_is "(5000, 5120000)" '(d["requests"], d["bytes"])'
	json_is True '40 <= d["reconnects"] <= 60'
	loads 0 "${load[@]}" -n 1000 -c 2 --rate 5K
	json_is 1000 'd["requests"]'
	loads 1 "${load[@]}" -n 100 -k 40
	[[ $stderr == *" of 100 GETs were misses"* ]]
}

@test "HTTP connections that the server gave up while idle are opened anew" {
	mkdir www
	"$NUMALAT" populate -P http --directory www -k 20
	start_nginx "$PWD/www" "keepalive_timeout 100ms;"
	loads 0 "$NUMALAT" load -P http -s "127.0.0.1:$NGINX_PORT" -k 20 --warmup 0 -c 2 -n 12 --rate 4 --arrivals fixed
	json_is 12 'd["requests"]'
	json_is True 'd["reconnects"] > 5'
}

# run_teller PORT: says 404 with a page whose length it does not tell.
run_teller() {
	teller=127.0.0.1:$1
	start_server "$1" "$PYTHON" -c 'import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection = listener.accept()[0]
    if connection.recv(4096):
        connection.sendall(b"HTTP/1.1 404 Not Found\r\n\r\nas long as you like")
    connection.close()' "$1"
}

@test "a page of an error ends with its connection where its length is not told" {
	try_ports run_teller
	loads 0 "$NUMALAT" load -P http -s "$teller" --warmup 0 -n 50 -c 1 --misses ok
	json_is "(50, 50, True)" '(d["requests"], d["verbs"][0]["misses"], d["reconnects"] >= 49)'
}

@test "HTTP objects are stored by PUT" {
	nginx_has http_dav_module || skip "this nginx has no PUT"
	mkdir www
	start_nginx "$PWD/www" "dav_methods PUT; client_max_body_size 10m;"
	load=("$NUMALAT" load -P http -s "127.0.0.1:$NGINX_PORT" -k 5 --warmup 0 --size 300K)
	loads 0 "${load[@]}" -n 100 --set 1
	loads 0 "${load[@]}" -n 100 --set 0.3 --verify stamp
	json_is 100 'd["requests"]'
}

@test "a server on a unix socket" {
	command -v memcached >/dev/null || skip "no memcached here"
	user=()
	[[ $(id -u) -ne 0 ]] || user=(-u root)
	start memcached "${user[@]}" -s "$PWD/socket" -t 1
	eventually test -S socket
	loads 0 "$NUMALAT" load -s "unix:$PWD/socket" -k 5 --warmup 0 -n 200 --set 0.5 --misses ok
	json_is "(200, 'unix:$PWD/socket')" '(d["requests"], d["server"])'
}

@test "a server that dies in the middle ends the run, and what was counted is told" {
	populated
	start "${load[@]}" --duration 60 --json
	before=$(stat_of cmd_get)
	eventually eval '[[ $(stat_of cmd_get) -gt $((before + 100)) ]]'
	kill -KILL "$MEMCACHED_PID"
	ends 1
	[[ $(cat "$errs") == "numalat: load: not complete: $server: "* && $(wc -l <"$errs") -eq 1 ]]
	output=$(cat "$out")
	keep
	json_is False 'd["complete"]'
	json_is True 'd["requests"] > 100 and d["why"].startswith("127.0.0.1:") and d["elapsed_ns"] < 60e9'
}

@test "a server that stops answering ends the run at the deadline" {
	populated
	start "${load[@]}" --duration 60 --deadline 0.3 --rate 1K
	before=$(stat_of cmd_get)
	eventually eval '[[ $(stat_of cmd_get) -gt $((before + 10)) ]]'
	kill -STOP "$MEMCACHED_PID"
	ends 1
	[[ $(cat "$errs") == "numalat: load: not complete: $server: no reply within 0.300 s (--deadline)" ]]
	prints "NOT COMPLETE: $server: no reply within 0.300 s"
	prints "due ones not sent at the end"
}

@test "a signal ends the run, and what was counted is told" {
	populated
	for options in "" "--rate 1K"; do
		# shellcheck disable=SC2086
		start "${load[@]}" --duration 60 --json -t 2 $options
		before=$(stat_of cmd_get)
		eventually eval '[[ $(stat_of cmd_get) -gt $((before + 100)) ]]'
		kill -INT "$pid"
		ends 1
		[[ $(cat "$errs") == "numalat: load: not complete: interrupted by SIGINT" ]]
		output=$(cat "$out")
		keep
		json_is "(False, 'interrupted by SIGINT')" '(d["complete"], d["why"])'
		json_is True 'd["requests"] > 100'
	done
}

# stalled OPTION...: the load while memcached stands still for 100 ms once.
stalled() {
	start "${load[@]}" --json --duration 1.5 "$@"
	before=$(stat_of cmd_get)
	eventually eval '[[ $(stat_of cmd_get) -gt $((before + 100)) ]]'
	kill -STOP "$MEMCACHED_PID"
	sleep 0.1 # is what is tested
	kill -CONT "$MEMCACHED_PID"
	ends 0
	output=$(cat "$out")
}

@test "an open loop counts a stall for all requests that were due meanwhile, a closed one hides it" {
	populated
	stalled --rate 2K --arrivals fixed
	json_is True 'd["verbs"][0]["latency"]["p99_ns"] >= 50e6'
	json_is True 'd["verbs"][0]["latency"]["max_ns"] >= 95e6'
	# One request of each connection has it.
	stalled
	json_is True 'd["verbs"][0]["latency"]["max_ns"] >= 95e6'
	json_is True 'd["verbs"][0]["latency"]["p99_ns"] < 50e6'
}

# pinned CPU: the process $pid has a thread that may run nowhere else.
pinned() {
	local status

	for status in /proc/"$pid"/task/*/status; do
		! grep -q "^Cpus_allowed_list:[[:space:]]*$1$" "$status" || return 0
	done
	return 1
}

@test "threads run on the CPUs that they were given" {
	needs_two_cpus
	populated
	start "${load[@]}" --json -t 2 --cpus "$cpu,$other" --duration 60
	eventually pinned "$cpu"
	eventually pinned "$other"
	kill -INT "$pid"
	ends 1
	output=$(cat "$out")
	[[ $(json 'd["cpus"]') == "$cpu"[-,]"$other" ]]
	refuses 1 "--cpus: CPU 32767: " "${load[@]}" --cpus 32767 -n 1
}

@test "more connections than files may be open are refused, with what would help" {
	populated
	refuses 1 "--connections: 5000: at most 1000 files may be open here: 'ulimit -Hn' as root" \
		bash -c 'ulimit -n 1000; exec "$@"' - "${load[@]}" -c 5000
	# The soft limit is raised.
	run -0 bash -c 'ulimit -Sn 50; exec "$@"' - "${load[@]}" -c 200 -n 1000
}

@test "a pipe that closes is an error, and a full disk" {
	populated
	[[ -e /dev/full ]] || skip "no /dev/full here"
	run -1 --separate-stderr bash -c '"$@" >/dev/full' - "${load[@]}" -n 10
	[[ $stderr == "numalat: standard output: No space left on device" ]]
}

@test "all the documents above are as the schema says" {
	compgen -G "$BATS_FILE_TMPDIR/*.json" >/dev/null || skip "no documents: run the other tests too"
	validates "$BATS_FILE_TMPDIR"/*.json
}
