#!/bin/bash
# Does it matter on which node a cache's objects lie? The experiment of two hosts and one night, made
# small: one host, loopback, minutes.
#
#   examples/latency.sh [DIRECTORY]     KEYS=2000 SIZE=256K REQUESTS=50000 change its size
#
# 1. As it is usually done: a memcached with its memory near, a run; a memcached with its memory far,
#    a run. Whatever else differed between the two runs cannot be told from the memory.
# 2. Both at once on the same CPU, and their requests interleaved at random in one run.
#
# The server gets the first CPU that may be used, the client the last. On a host with one node, near and
# far are the same, and no difference should be told. Traces and reports are left in DIRECTORY.
set -euo pipefail
cd "$(dirname "$0")/.."

keys=${KEYS:-2000} size=${SIZE:-256K} requests=${REQUESTS:-50000}
near_port=${NEAR_PORT:-11311} far_port=${FAR_PORT:-11312}
seed=0x243f6a8885a308d3
pids=()

fail() {
	echo "latency.sh: $*" >&2
	exit 1
}

# Shows a command as it would be typed, then runs it.
run() {
	printf '\n$ %s\n' "$(basename "$1") ${*:2}"
	"$@"
}

find_program() { # NAME FOLDER
	local preset

	for preset in release dev; do
		[ ! -x "build/$preset/$2/$1" ] || {
			echo "$PWD/build/$preset/$2/$1"
			return
		}
	done
	command -v "$1" || fail "$1: not built; examples/quickstart.sh builds it"
}

# The CPUs that we may use, one a line.
cpus() {
	local range

	for range in $(taskset -cp $$ | sed 's/.*: //; s/,/ /g'); do
		seq "${range%-*}" "${range#*-}"
	done
}

# A memcached on the server's CPU, large enough for all objects; the rest are numarun's options.
start_cache() { # PORT OPTION...
	local port=$1
	shift

	"$numarun" -C "$server_cpu" "$@" -- memcached -u "$(id -un)" -t 1 -U 0 -l 127.0.0.1 \
		-p "$port" -m "$megabytes" -I 8m -c 64 &
	pids+=($!)
	for _ in $(seq 100); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
		kill -0 "$!" 2>/dev/null || fail "memcached on port $port did not start"
		sleep 0.1
	done
	fail "memcached does not answer on port $port"
}

stop_caches() {
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
	wait
	pids=()
}
trap stop_caches EXIT

numarun=${NUMARUN:-$(find_program numarun launcher)}
numalat=${NUMALAT:-$(find_program numalat server/client)}
command -v memcached >/dev/null || fail "memcached: not found (apt-get install memcached)"
directory=${1:-$(mktemp -d /var/tmp/numalat.XXXXXX)}
mapfile -t allowed < <(cpus)
server_cpu=${allowed[0]}
client_cpu=${allowed[-1]}
# Objects of that size take up to half as much again in memcached's slabs.
megabytes=$(($(numfmt --from=iec "$size") * keys * 3 / 2 / 1048576 + 128))
far=(--far)
if ! "$numarun" -C "$server_cpu" --far --dry-run -- true >/dev/null 2>&1; then
	far=()
	echo "This host has one node with memory: near and far are the same."
fi
data=(--keys "$keys" --size "$size")
sequence=(--seed "$seed" --requests "$requests")

echo "1. One placement after the other"
for place in 01-normal-memcache 03-perverse-memcache; do
	mkdir -p "$directory/apart/$place"
	where=()
	[ "$place" = 01-normal-memcache ] || where=("${far[@]}")
	start_cache "$near_port" "${where[@]}"
	run "$numalat" populate -s "127.0.0.1:$near_port" "${data[@]}"
	run "$numalat" run -s "127.0.0.1:$near_port" "${data[@]}" "${sequence[@]}" --cpu "$client_cpu" \
		-o "$directory/apart/$place/samples.nlt" --force
	stop_caches
done
run "$numalat" analyze "$directory/apart"

echo
echo "2. Interleaved"
arms=near=near-@127.0.0.1:$near_port,far=far-@127.0.0.1:$far_port
start_cache "$near_port"
start_cache "$far_port" "${far[@]}"
run "$numalat" populate --arms "$arms" "${data[@]}"
run "$numalat" run --arms "$arms" "${data[@]}" "${sequence[@]}" --cpu "$client_cpu" \
	-o "$directory/interleaved.nlt" --force
stop_caches
run "$numalat" analyze "$directory/interleaved.nlt" --output-dir "$directory/interleaved"
echo
echo "Traces and reports are in $directory"
