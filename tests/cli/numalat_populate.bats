#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numalat populate into real servers: what they hold afterwards, and what is said when they refuse.

# shellcheck disable=SC2030,SC2031,SC2154

load common
load servers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	stop_servers
	stop_started
}

# memcache_value KEY: a value as memcached gives it to anybody, into ./value.
memcache_value() {
	"$PYTHON" - "$MEMCACHED_PORT" "$1" >value <<-'EOT'
		import socket, sys
		s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		s.sendall(f"get {sys.argv[2]}\r\nquit\r\n".encode())
		reply = b""
		while chunk := s.recv(65536):
		    reply += chunk
		head, rest = reply.split(b"\r\n", 1)
		size = int(head.split()[3])
		assert rest[size:] == b"\r\nEND\r\n", rest[size:]
		sys.stdout.buffer.write(rest[:size])
	EOT
}

# is_object FILE INDEX SIZE: its first 16 bytes are index and size, as far as it has them.
is_object() {
	"$PYTHON" - "$@" <<-'EOT'
		import struct, sys
		value = open(sys.argv[1], "rb").read()
		index, size = int(sys.argv[2]), int(sys.argv[3])
		assert len(value) == size, len(value)
		assert value[:16] == struct.pack("<QQ", index, size)[:size], value[:16]
	EOT
}

@test "memcached holds what was stored" {
	start_memcached

	run --separate-stderr "$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" -k 300 --size 64:1,1K:1,100K:1 --check
	[[ $status -eq 0 && -z $stderr && $output =~ ^"300 objects, "[0-9]+" bytes, stored in "[0-9.]+" s, "[0-9.]+" MB/s; read back and right, in "[0-9.]+" s"$ ]] || fail "$(told)"

	memcache_value numalat-7
	is_object value 7 "$(stat -c %s value)"
}

@test "an object may be larger than what memcached takes by itself" {
	start_memcached -I 4m

	run --separate-stderr "$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" -k 3 --size 3M --check
	[[ $status -eq 0 && $output == "3 objects, 9437184 bytes"* ]] || fail "$(told)"
	refuses 1 "key numalat-0: the server says: SERVER_ERROR object too large for cache: memcached takes larger ones when it is started with -I, as -I 4m" \
		"$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" -k 3 --size 5M
}

@test "a unix socket is a server too" {
	local user=()

	command -v memcached >/dev/null || skip "no memcached here"
	[[ $(id -u) -ne 0 ]] || user=(-u root)
	start memcached "${user[@]}" -s "$PWD/socket" -t 1
	eventually test -S socket

	run --separate-stderr "$NUMALAT" populate -s "unix:$PWD/socket" -k 10 --check
	[[ $status -eq 0 && $output == "10 objects, 10240 bytes"* ]] || fail "$(told)"
}

@test "arms are prefixes at one server or several" {
	local first second

	start_memcached
	first=$MEMCACHED_PORT
	start_memcached
	second=$MEMCACHED_PORT

	run --separate-stderr "$NUMALAT" populate -s "127.0.0.1:$first" -k 5 --json --check \
		--arms "near=n-,far=f-@127.0.0.1:$second"
	[[ $status -eq 0 ]] || fail "$(told)"
	json_is 10 'd["stored"]["objects"]'
	json_is "[('near', 'n-'), ('far', 'f-')]" '[(a["name"], a["prefix"]) for a in d["arms"]]'
	json_is "True" "[a['server'] for a in d['arms']] == ['127.0.0.1:$first', '127.0.0.1:$second']"
	printf '%s' "$output" >populate.json
	validates populate.json

	memcache_value f-4
	is_object value 4 1024
	MEMCACHED_PORT=$first
	memcache_value n-4
	is_object value 4 1024
}

@test "what memcached has evicted is found by --check" {
	start_memcached -m 64

	refuses 1 "is not there: the server has evicted it? it needs room for 209715200 bytes" \
		"$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" -k 400 --size 512K --check
}

@test "memcached that evicts nothing has no room" {
	start_memcached -m 64 -M

	refuses 1 ": memcached has more with -m MEGABYTES; " \
		"$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" -k 400 --size 512K
	[[ $stderr =~ "SERVER_ERROR "[Oo]"ut of memory".*"; "[0-9]+" of 400 objects are stored"$ ]] || fail "$stderr"
}

@test "files that nginx serves" {
	mkdir root
	start_nginx "$PWD/root"

	run --separate-stderr "$NUMALAT" populate -s "127.0.0.1:$NGINX_PORT" -k 1500 --size 1,4K \
		--directory root --prefix a/b/x- --check --json
	[[ $status -eq 0 ]] || fail "$(told)"
	json_is "http root 1500" '"%s %s %d" % (d["protocol"], d["directory"], d["checked"]["objects"])'
	# nginx ends a connection after 1000 requests, and says so.
	json_is 1 'd["reconnects"]'
	printf '%s' "$output" >populate.json
	is_object root/a/b/x-1499 1499 "$(stat -c %s root/a/b/x-1499)"
	[[ $(find root -type f | wc -l) -eq 1500 ]]
	validates populate.json
}

@test "files that nginx does not serve are found by --check" {
	mkdir root other
	start_nginx "$PWD/other"

	refuses 1 "key /numalat-0 is not there: does the server serve the files in root?" \
		"$NUMALAT" populate -s "127.0.0.1:$NGINX_PORT" -k 3 --directory root --check
	printf 'x%.0s' {1..1024} >other/numalat-0
	refuses 1 "key /numalat-0: byte 0 is not what was stored" \
		"$NUMALAT" populate -s "127.0.0.1:$NGINX_PORT" -k 3 --directory root --check
	printf x >other/numalat-0
	refuses 1 "key /numalat-0: the value has 1 bytes, where 1024 were expected" \
		"$NUMALAT" populate -s "127.0.0.1:$NGINX_PORT" -k 3 --directory root --check
}

@test "nginx takes PUT where it is told to" {
	nginx_has http_dav_module || skip "this nginx was built without http_dav_module"
	mkdir root
	start_nginx "$PWD/root" "dav_methods PUT; create_full_put_path on;"

	run --separate-stderr "$NUMALAT" populate -P http -s "127.0.0.1:$NGINX_PORT" -k 20 --prefix deep/er/ --size 300K --check
	[[ $status -eq 0 && $output == "20 objects, 6144000 bytes"* ]] || fail "$(told)"
	is_object root/deep/er/19 19 307200
	refuses 1 "413 Request Entity Too Large: nginx takes larger ones with client_max_body_size" \
		"$NUMALAT" populate -P http -s "127.0.0.1:$NGINX_PORT" -k 2 --size 2M
}

@test "nginx that takes no PUT is told of, with the way around" {
	mkdir root
	start_nginx "$PWD/root"

	refuses 1 "the server says: HTTP/1.1 405 Not Allowed: it takes no PUT; --directory DIR writes files" \
		"$NUMALAT" populate -P http -s "127.0.0.1:$NGINX_PORT" -k 2
}

@test "the other protocol's server is named" {
	mkdir root
	start_nginx "$PWD/root"
	start_memcached

	refuses 1 "is HTTP: -P http speaks it" "$NUMALAT" populate -s "127.0.0.1:$NGINX_PORT" -k 2
	refuses 1 "127.0.0.1:$MEMCACHED_PORT: key /numalat-0: the server ended the connection after 0 bytes" \
		"$NUMALAT" populate -P http -s "127.0.0.1:$MEMCACHED_PORT" -k 2
}

@test "no prefix leads out of the folder" {
	local prefix

	for prefix in ../x /../x a/../x a/./x a//../x; do
		refuses 2 "--directory: prefix '$prefix': " \
			"$NUMALAT" populate --directory root --prefix "$prefix" -k 2
	done
	refuses 2 "mean something else in a URL" "$NUMALAT" populate --directory root --prefix 'a%2e' -k 2
	refuses 2 "mean something else in a URL" "$NUMALAT" populate --directory root --arms 'a=a,b=b?' -k 2
	[[ ! -e root && ! -e x0 ]]

	# These are names as any other.
	run --separate-stderr "$NUMALAT" populate --directory root --prefix /a/.. -k 1
	[[ $status -eq 0 && -e root/a/..0 ]] || fail "$(told)"
}

@test "a file that cannot be written is named" {
	mkdir -p root/numalat-1
	refuses 1 "root: file numalat-1: Is a directory; 1 of 2 objects are stored" \
		"$NUMALAT" populate --directory root -k 2
	refuses 1 "/dev/null: Not a directory" "$NUMALAT" populate --directory /dev/null -k 2
}

@test "a server that stands still meets the deadline" {
	start_memcached
	kill -STOP "$MEMCACHED_PID"

	refuses 1 "key numalat-0: 0 bytes of a reply within the deadline of 0.2 s" \
		"$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" --deadline 0.2
}

@test "a server that dies is told of" {
	start_memcached
	start "$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" -k 4000000
	eventually has_key numalat-10
	kill -KILL "$MEMCACHED_PID"

	ends 1
	grep -qE '^numalat: populate: .*(the server ended the connection after|Broken pipe).*; [0-9]+ of 4000000 objects are stored$' "$errs" ||
		fail "$(cat "$errs")"
}

has_key() {
	memcache_value "$1" 2>/dev/null
}

@test "a signal stops it, and it says how far it came" {
	start_memcached
	start "$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" -k 4000000
	eventually has_key numalat-10
	kill -INT "$pid"

	ends 1
	grep -qE '^numalat: populate: stopped by SIGINT: [0-9]+ of 4000000 objects are stored$' "$errs" ||
		fail "$(cat "$errs")"
	[[ $(wc -l <"$errs") -eq 1 && ! -s $out ]]
}

@test "a signal stops it while it waits" {
	start_memcached
	kill -STOP "$MEMCACHED_PID"
	start "$NUMALAT" populate -s "127.0.0.1:$MEMCACHED_PORT" -k 10
	eventually is_asleep "$pid"
	kill -TERM "$pid"

	ends 1
	grep -q '^numalat: populate: stopped by SIGTERM: 0 of 10 objects are stored$' "$errs" || fail "$(cat "$errs")"
}

# Whether it waits for a socket.
is_asleep() {
	grep -q '^State:.S' "/proc/$1/status" && grep -q socket: <(ls -l "/proc/$1/fd" 2>/dev/null)
}

@test "progress is for a terminal" {
	command -v script >/dev/null || skip "no script(1) here"
	start_memcached

	run script -qec "$NUMALAT populate -s 127.0.0.1:$MEMCACHED_PORT -k 30000" /dev/null
	[[ $status -eq 0 && $output == *"30000 objects, 30720000 bytes, stored in"* ]] || fail "$output"
	[[ $output == *$'\r'*" of 30000 objects stored, "*" MB/s, "*" s left"* ]] || fail "$output"
}

@test "a wrong command line is one line, with status 2" {
	refuses 2 "populate: 'x': it takes no argument" "$NUMALAT" populate x
	refuses 2 "--protocol: 'ftp' is not memcache or http" "$NUMALAT" populate -P ftp
	refuses 2 "--server: 'a:b': the port is not a number" "$NUMALAT" populate -s a:b
	refuses 2 "unknown option '--chek'" "$NUMALAT" populate --chek
	refuses 1 "no server listens there: Connection refused" "$NUMALAT" populate -s "127.0.0.1:$(free_port)"
}
