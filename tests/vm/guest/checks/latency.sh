# shellcheck shell=dash disable=SC2086,SC2154 # options in one word; status is lib.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# One client, two caches on one CPU beside the card: the memory of one is there, that of the other two
# hops away, and the requests to both are interleaved.

near_port=11311
far_port=11312
arms=near=n-@127.0.0.1:$near_port,far=f-@127.0.0.1:$far_port
objects="--keys 64 --size 64K"
seed=0x243f6a8885a308d3

# The two run until stop_caches: longer than one check.
start_caches() {
	numarun -C 4 -m 2 -- memcached -u root -t 1 -m 64 -U 0 -l 127.0.0.1 -p "$near_port" 3>&- &
	near_pid=$!
	numarun -C 4 --far -- memcached -u root -t 1 -m 64 -U 0 -l 127.0.0.1 -p "$far_port" 3>&- &
	far_pid=$!
	poll caches_answer || echo "the caches do not answer"
}

caches_answer() {
	printf 'version\r\nquit\r\n' | nc 127.0.0.1 "$near_port" | grep -q VERSION &&
		printf 'version\r\nquit\r\n' | nc 127.0.0.1 "$far_port" | grep -q VERSION
}

stop_caches() {
	kill "$near_pid" "$far_pid"
	wait "$near_pid" "$far_pid"
}

# The nodes with at least PAGES written pages of the process, most of its own data.
nodes_of() { # PID PAGES
	awk -v least="$2" '/ anon=/ {
		for (i = 3; i <= NF; i++)
			if ($i ~ /^N[0-9]+=/) {
				split(substr($i, 2), pair, "=")
				pages[pair[1]] += pair[2]
			}
	}
	END { for (node in pages) if (pages[node] >= least) print node }' "/proc/$1/numa_maps" | sort -n | xargs
}

start_caches

check "the objects of two arms lie on the near and on the far node"
	run numarun -C 5 -- numalat populate --arms "$arms" $objects
	expect_status 0
	# 64 objects of 64 KiB are 1024 pages.
	expect_equal "nodes of the near cache" 2 "$(nodes_of "$near_pid" 1024)"
	expect_equal "nodes of the far cache" 0 "$(nodes_of "$far_pid" 1024)"

check "interleaved arms get equal counts and the sequence of the seed"
	run numarun -C 5 -- numalat run --arms "$arms" $objects --seed "$seed" -n 500 --noise 0.2 -o /tmp/arms.nlt
	expect_status 0
	run numalat sequence --seed "$seed" --keys 64 --requests 500
	hash=$(cat "$TMP/out")
	run numalat show --json /tmp/arms.nlt
	expect_status 0
	expect_equal "samples of each arm" "500 500" "$(jq -r '.traces[0].arms[].samples' "$TMP/out" | xargs)"
	expect_equal "hash of each arm" "$hash $hash" "$(jq -r '.traces[0].arms[].key_sequence_hash' "$TMP/out" | xargs)"

check "the samples lie on the client's node"
	run numalat show --json /tmp/arms.nlt
	expect_equal "CPU and node of the client" "5 2" \
		"$(jq -r '.traces[0].details | "\(.cpu) \(.node)"' "$TMP/out")"
	expect_equal "nodes of its samples" 2 "$(jq -r '.traces[0].details.memory.nodes' "$TMP/out")"

check "the analysis says that the arms were interleaved"
	run numalat analyze /tmp/arms.nlt --blocks 20
	expect_status 0
	expect_stdout_match "interleaved"
	run numalat analyze /tmp/arms.nlt --blocks 20 --json
	expect_status 0

stop_caches
