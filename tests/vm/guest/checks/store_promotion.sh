# shellcheck shell=dash disable=SC2086,SC2154 # options in one word; status is lib.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# Heads that are read much come to the node that serves them, while they are read.

hot_objects=64
hot_bytes=$((hot_objects * 65536))
hot="--keys $hot_objects --size 64K --prefix hot/"
load_s=4

# The hot set is stored far away by a rule, which is then taken back: what it says is never moved.
start_with_hot_far() { # OPTION...
	start_store --numa 0 --memory 64M --sub-memory 64M --block 2M --ram-head 64K --cores 1 \
		--place hot/=far "$@"
	run_at_most 120 numarun -C 6 -- numalat populate -s "$STORE_SERVER" $hot --check
	expect_status 0
	expect_equal "heads on nodes 0 and 2" "0 $hot_objects" "$(store_arena 0 heads) $(store_arena 2 heads)"
	expect_equal "answer to place" OK "$(store_say 'place none')"
}

# Some seconds of load; its p99 in ns.
load_p99() {
	run_at_most 60 numarun -C 6 -- numalat load -s "$STORE_SERVER" $hot -c 4 --duration "$load_s" \
		--warmup 0 --verify stamp --json
	expect_status 0
	jq -r '[.. | objects | select(has("p99_ns")) | .p99_ns][0]' "$TMP/out"
}

served() {
	echo "$(store_stat placement served:0:0) $(store_stat placement served:0:2)"
}

# It takes reads to become hot.
hot_set_is_local() {
	[ "$(store_arena 2 heads)" = 0 ] || { load_p99 >/dev/null && false; }
}

check "without promotion a hot set stays where it is"
	start_with_hot_far --no-numa-promotion
	p99_without=$(load_p99)
	expect_equal "heads on nodes 0 and 2" "0 $hot_objects" "$(store_arena 0 heads) $(store_arena 2 heads)"
	expect_equal "promotions" 0 "$(store_stat '' promotions)"
	stop_store

check "a hot set on the far node comes to the serving one under load"
	start_with_hot_far --promotion-rate 0
	p99_with=$(load_p99)
	poll hot_set_is_local || fault "all heads on node 0" "$(store_arena 0 heads) of $hot_objects"
	expect_equal "heads on nodes 0 and 2" "$hot_objects 0" "$(store_arena 0 heads) $(store_arena 2 heads)"
	expect_equal "promotions" "$hot_objects" "$(store_stat '' promotions)"
	expect_equal "bytes promoted" "$hot_bytes" "$(store_stat '' promoted_bytes)"
	echo "p99 of GET: $p99_without ns without promotion, $p99_with ns while it promotes"

check "then less than one percent of the bytes served are remote"
	before=$(served)
	load_p99 >/dev/null
	after=$(served)
	near=$((${after% *} - ${before% *}))
	far=$((${after#* } - ${before#* }))
	echo "bytes served in the last $load_s s: $near local, $far remote"
	check_expected=$((check_expected + 1))
	if [ "$near" -le 0 ] || [ $((far * 100)) -ge $((near + far)) ]; then
		fault "less than 1 % remote" "$far of $((near + far)) bytes"
	fi

check "numa_maps and the bytes themselves agree that it is local, and every byte is right"
	expect_nearly "bytes of objects on node 0" "$hot_bytes" "$(bytes_on 0)"
	expect_equal "arenas in numa_maps" "bind:0 N0=32,bind:1 N1=32,bind:2 N2=32,bind:3 N3=32" \
		"$(huge_mappings | cut -d ' ' -f 2- | sort | xargs -n 2 | paste -sd ,)"
	run_at_most 120 numarun -C 6 -- numalat run -s "$STORE_SERVER" $hot -n 200 --warmup 0 --noise 0 \
		--verify all -o /tmp/promoted.nlt
	expect_status 0
	stop_store
