# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Servers of other people that numalat is tried on, each on a port that was free: for tests that load
# common.bash too. stop_servers belongs in teardown, before stop_started, which waits for all there is.

# free_port: a port of 127.0.0.1 that nobody listens on.
free_port() {
	"$PYTHON" -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# is_listening PORT
is_listening() {
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

is_listening_or_gone() {
	is_listening "$1" || is_gone "$2"
}

# start_server PORT COMMAND...: runs it, and waits until it listens; its number is $server_pid. Fails
# when it ends instead, as when somebody else was faster to take the port.
start_server() {
	local port=$1 log

	shift
	log=$BATS_TEST_TMPDIR/server-$port.log
	"$@" >"$log" 2>&1 3>&- </dev/null &
	server_pid=$!
	SERVERS+=("$server_pid")
	eventually is_listening_or_gone "$port" "$server_pid"
	! is_gone "$server_pid"
}

# try_ports FUNCTION ARGUMENT...: calls it with a free port, and with another one if that failed.
try_ports() {
	local function=$1 tries port

	shift
	for tries in 1 2 3; do
		port=$(free_port)
		! "$function" "$port" "$@" || return 0
	done
	fail "$function does not start ($tries tries):" "$(cat "$BATS_TEST_TMPDIR/server-$port.log")"
}

# start_memcached [OPTION...]: with one thread; $MEMCACHED_PORT, $MEMCACHED_PID.
# shellcheck disable=SC2034
start_memcached() {
	command -v memcached >/dev/null || skip "no memcached here"
	try_ports run_memcached "$@"
	MEMCACHED_PID=$server_pid
}

run_memcached() {
	local user=()

	MEMCACHED_PORT=$1
	shift
	# It runs as root only when it is told to.
	[[ $(id -u) -ne 0 ]] || user=(-u root)
	start_server "$MEMCACHED_PORT" \
		memcached "${user[@]}" -l 127.0.0.1 -p "$MEMCACHED_PORT" -U 0 -t 1 "$@"
}

# start_nginx DIR [LINE...]: serves the files in DIR; the lines go into its location. $NGINX_PORT,
# $NGINX_PID.
# shellcheck disable=SC2034
start_nginx() {
	PATH=$PATH:/usr/sbin command -v nginx >/dev/null || skip "no nginx here"
	try_ports run_nginx "$@"
	NGINX_PID=$server_pid
}

run_nginx() {
	local dir=$2 home=$BATS_TEST_TMPDIR/nginx-$1 user_line=

	NGINX_PORT=$1
	shift 2
	mkdir -p "$home"
	# Its workers are to read what we wrote.
	[[ $(id -u) -ne 0 ]] || user_line="user root;"
	cat >"$home/nginx.conf" <<-EOT
		daemon off;
		$user_line
		worker_processes 1;
		error_log stderr;
		pid $home/pid;
		events { worker_connections 256; }
		http {
			access_log off;
			client_body_temp_path $home/body;
			proxy_temp_path $home/proxy;
			fastcgi_temp_path $home/fastcgi;
			uwsgi_temp_path $home/uwsgi;
			scgi_temp_path $home/scgi;
			sendfile on;
			server {
				listen 127.0.0.1:$NGINX_PORT;
				root $dir;
				location / { $* }
			}
		}
	EOT
	PATH=$PATH:/usr/sbin start_server "$NGINX_PORT" nginx -p "$home" -c "$home/nginx.conf" -e stderr
}

# Whether this nginx was built with a module.
nginx_has() {
	PATH=$PATH:/usr/sbin nginx -V 2>&1 | grep -q -e "--with-$1"
}

# Ends them. nginx's master takes its workers with it when it is asked to end.
stop_servers() {
	local number

	for number in "${SERVERS[@]}"; do
		kill -CONT "$number" 2>/dev/null || true
		kill -TERM "$number" 2>/dev/null || true
	done
	for number in "${SERVERS[@]}"; do
		wait "$number" || true
	done
	SERVERS=()
}
