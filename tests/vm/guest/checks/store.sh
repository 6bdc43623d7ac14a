# shellcheck shell=dash disable=SC2086,SC2154 # options in one word; status is lib.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# Where numastore's heads are, on four nodes: by its own account, by numa_maps and by where the bytes
# of the objects can be found.

# shellcheck source=/dev/null
. /lib.sh
# shellcheck source=/dev/null
. /store.sh

# Four arenas of 32 blocks, heads packed eight a block, one worker, heads stay.
layout="--numa 0 --memory 64M --sub-memory 64M --block 2M --ram-head 256K"
seed_options="$layout --cores 1 --no-numa-promotion"
# Of 256 KiB each; an arena has room for 256.
objects=240
stored=$((objects * 262144))

populate() { # OPTION...
	run_at_most 120 numarun -C 6 -- numalat populate -s "$STORE_SERVER" --size 256K "$@"
	expect_status 0
}

# Those of its threads that are bound to one.
worker_cpus() {
	cat "/proc/$store_pid"/task/*/status | sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' |
		grep -x '[0-9]*' | sort -u | xargs
}

# The part of the arena that is not of HugeTLB pages begins where that part ends.
rest_start() {
	printf '%x' $((0x$(huge_mappings | awk '$2 == "bind:0" { print $1 }') + 10 * 2097152))
}

rest_of_arena() { # NODE
	awk -v start="$(rest_start)" -v node="$1" '$1 == start {
		for (i = 3; i <= NF; i++) {
			split($i, pair, "=")
			if (pair[1] == node)
				print pair[2]
		}
	}' "/proc/$store_pid/numa_maps"
}

thp_blocks() {
	awk -v start="$(rest_start)-" '
		index($1, "-") && NF >= 5 { here = index($1, start) == 1 }
		here && $1 == "AnonHugePages:" { print int($2 / 2048); exit }' "/proc/$store_pid/smaps"
}

check "heads of the seed's command line lie on the serving node"
	for node in 0 1 2 3; do
		huge_pages "$node" 40
	done
	start_store $seed_options
	populate -k "$objects" --check
	expect_equal "arenas in numa_maps" \
		"bind:0 N0=32,bind:1 N1=32,bind:2 N2=32,bind:3 N3=32" \
		"$(huge_mappings | cut -d ' ' -f 2- | sort | xargs -n 2 | paste -sd ,)"
	expect_nearly "bytes of objects on node 0" "$stored" "$(bytes_on 0)"
	for node in 1 2 3; do
		expect_equal "bytes of objects on node $node" 0 "$(bytes_on "$node")"
		expect_equal "other pages on node $node" 0 "$(own_pages_on "$node")"
	done
	expect_equal "heads by its own account" "240 0 0 0" "$(store_arena 0 heads) \
$(store_arena 1 heads) $(store_arena 2 heads) $(store_arena 3 heads)"
	echo "numa_maps: $(huge_mappings | paste -sd ';')"
	own_at_start=$(own_pages_on 0)
	stop_store

check "the table at the start tells of the arenas, nearest first"
	expect_equal "nodes" "0 1 3 2" "$(awk '$4 ~ /^[0-9]+M$/ && $1 ~ /^[0-9]$/ { print $2 }' "$STORE_OUT" | xargs)"
	expect_equal "distances" "10 20 20 30" "$(awk '$4 ~ /^[0-9]+M$/ && $1 ~ /^[0-9]$/ { print $3 }' "$STORE_OUT" | xargs)"
	expect_equal "blocks of HugeTLB pages" "32 32 32 32" \
		"$(store_cell 0 HUGETLB) $(store_cell 1 HUGETLB) $(store_cell 2 HUGETLB) $(store_cell 3 HUGETLB)"
	expect_equal "lines that say verified" 4 "$(grep -c ' all on node ' "$STORE_OUT")"

check "perverse heads lie two hops away and nothing else does"
	start_store $seed_options --perverse
	populate -k "$objects" --check
	expect_nearly "bytes of objects on node 2" "$stored" "$(bytes_on 2)"
	for node in 0 1 3; do
		expect_equal "bytes of objects on node $node" 0 "$(bytes_on "$node")"
	done
	for node in 1 2 3; do
		expect_equal "other pages on node $node" 0 "$(own_pages_on "$node")"
	done
	expect_equal "heads by its own account" "0 240" "$(store_arena 0 heads) $(store_arena 2 heads)"
	expect_equal "first arena of the table" 2 "$(awk '$1 == "0" { print $2 }' "$STORE_OUT")"
	expect_equal "CPUs that its worker may use" 0 "$(worker_cpus)"
	echo "own pages on node 0: $own_at_start, perverse $(own_pages_on 0)"
	stop_store

check "keys under two prefixes live on two nodes of one process"
	start_store $layout --cores 1 --no-numa-promotion --place a/=local --place b/=far
	arms="near=a/@$STORE_SERVER,far=b/@$STORE_SERVER"
	run_at_most 120 numarun -C 6 -- numalat populate --arms "$arms" -k 64 --size 256K --check
	expect_status 0
	expect_nearly "bytes of objects on node 0" $((64 * 262144)) "$(bytes_on 0)"
	expect_nearly "bytes of objects on node 2" $((64 * 262144)) "$(bytes_on 2)"
	expect_equal "bytes of objects on the others" "0 0" "$(bytes_on 1) $(bytes_on 3)"
	expect_equal "heads by its own account" "64 64" "$(store_arena 0 heads) $(store_arena 2 heads)"

check "bytes served are counted by the node they came from"
	near=$(store_stat placement served:0:0)
	far=$(store_stat placement served:0:2)
	run_at_most 120 numarun -C 6 -- numalat run --arms "$arms" -k 64 --size 256K \
		--seed 0x243f6a8885a308d3 -n 200 --warmup 0 --noise 0 --verify all -o /tmp/places.nlt
	expect_status 0
	expect_equal "bytes from node 0" $((200 * 262144)) $(($(store_stat placement served:0:0) - near))
	expect_equal "bytes from node 2" $((200 * 262144)) $(($(store_stat placement served:0:2) - far))
	expect_equal "bytes from the others" "0 0" \
		"$(store_stat placement served:0:1) $(store_stat placement served:0:3)"

check "arms on two nodes of one server get equal counts and the sequence of the seed"
	run numalat sequence --seed 0x243f6a8885a308d3 --keys 64 --requests 200
	hash=$(cat "$TMP/out")
	run numalat show --json /tmp/places.nlt
	expect_status 0
	expect_equal "samples of each arm" "200 200" "$(jq -r '.traces[0].arms[].samples' "$TMP/out" | xargs)"
	expect_equal "hash of each arm" "$hash $hash" \
		"$(jq -r '.traces[0].arms[].key_sequence_hash' "$TMP/out" | xargs)"

check "rules change while it runs"
	expect_equal "answer to place" OK "$(store_say 'place c/=node:3 c/near=local')"
	populate -k 8 --prefix c/
	populate -k 4 --prefix c/near-
	expect_equal "heads on nodes 0, 2 and 3" "68 64 8" \
		"$(store_arena 0 heads) $(store_arena 2 heads) $(store_arena 3 heads)"
	stop_store

check "an arena larger than its node's pool is mixed and says so"
	huge_pages 0 10
	start_store $seed_options
	populate -k "$objects" --check
	expect_equal "blocks of HugeTLB pages" "10 32" "$(store_cell 0 HUGETLB) $(store_cell 2 HUGETLB)"
	expect_equal "all blocks" 32 \
		$(($(store_cell 0 HUGETLB) + $(store_cell 0 THP) + $(store_cell 0 PLAIN)))
	expect_equal "pages of HugeTLB on node 0 in numa_maps" "bind:0 N0=10" \
		"$(huge_mappings | grep bind:0 | cut -d ' ' -f 2-)"
	expect_equal "other pages of the arena on node 0" $((22 * 512)) "$(rest_of_arena N0)"
	expect_equal "THP blocks as smaps has them" "$(thp_blocks)" "$(store_cell 0 THP)"
	expect_equal "blocks in stats placement" \
		"$(store_cell 0 HUGETLB) $(store_cell 0 THP) $(store_cell 0 PLAIN)" \
		"$(store_arena 0 hugetlb_blocks) $(store_arena 0 thp_blocks) $(store_arena 0 plain_blocks)"
	expect_equal "bytes elsewhere or unknown" "0 0" \
		"$(store_arena 0 elsewhere_bytes) $(store_arena 0 unknown_bytes)"
	stop_store

check "a server that must have huge pages refuses to start without"
	run numastore -p "$STORE_PORT" --http-port 0 $seed_options --require-huge
	expect_status 1
	expect_stdout ""
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	expect_stderr "^numastore: node 0: only 10 of 32 blocks are of HugeTLB pages"
	cat "$TMP/err"

check "with enough of them it starts"
	huge_pages 0 32
	start_store $seed_options --require-huge
	expect_equal "blocks of HugeTLB pages" "32" "$(store_cell 0 HUGETLB)"
	stop_store

check "an arena larger than the node is refused with what the node has"
	run numastore -p "$STORE_PORT" --http-port 0 --numa 0 --memory 4G
	expect_status 1
	expect_stderr "^numastore: node 0 has [0-9]+ MiB of memory in all, too little for an arena of 4096 MiB"
	# All that there is but for a little, of which the kernel has more; an even number.
	# shellcheck disable=SC2017
	most=$(($(awk '$3 == "MemTotal:" { print $4 }' /sys/devices/system/node/node0/meminfo) / 2048 * 2 - 4))
	run numastore -p "$STORE_PORT" --http-port 0 --numa 0 --memory "${most}M"
	expect_status 1
	expect_stderr "^numastore: node 0 has not the memory for an arena of $most MiB: 64 MiB in HugeTLB pages and [0-9]+ MiB in others"
	cat "$TMP/err"

check "where memory policies are refused it serves and says that"
	start_refused() {
		empty_store_files
		deny_mempolicy --all numastore -p "$STORE_PORT" --http-port 0 $layout --cores 1 </dev/null \
			>"$STORE_OUT" 2>"$STORE_ERR" 3>&- &
		store_pid=$!
		poll store_listens_or_ended
		cat "$STORE_ERR" "$STORE_OUT"
	}
	start_refused
	expect_equal "blocks whose place is known" 0 "$(store_arena 0 unknown_bytes)"
	expect_equal "notes of it" 1 "$(grep -c '^numastore: memory policies are refused' "$STORE_ERR")"
	populate -k 8 --check
	stop_store

. /checks/store_promotion.sh
