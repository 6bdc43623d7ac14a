#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numastore's options of promotion: what is refused, and with what words; and that what was given is told.

# shellcheck disable=SC2154

load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	stop_started
}

@test "numbers that are none are refused before anything starts" {
	local option value words
	while read -r option value words; do
		run -2 "$NUMASTORE" "$option" "$value"
		[[ $output == "numastore: $option: '$value' $words" ]] ||
			fail "$option $value said:" "$output"
	done <<-'EOT'
		--increment x is no number
		--increment 1x is no number
		--increment 0x10 is no number
		--increment inf is no number
		--increment 0 is not a finite number above 0
		--increment -1 is not a finite number above 0
		--increment 1e999 is not a finite number above 0
		--decay nan is no number
		--decay 0 is not a number above 0 and below 1
		--decay 1 is not a number above 0 and below 1
		--decay 1.5 is not a number above 0 and below 1
		--promotion-rate x is not a size: a number above 0, with K, M, G or T (powers of 1024) or bytes
		--promotion-rate -1 is not a size: a number above 0, with K, M, G or T (powers of 1024) or bytes
	EOT
}

is_ready_or_gone() {
	grep -q '^memcache listens on ' "$out" || is_gone "$pid"
}

@test "settings tell what was given, and one arena has no thread of promotion" {
	start "$NUMASTORE" -p -1 --http-port 0 -m 8 --block 64K --ram-head 4K -t 1 \
		--increment 2.5 --decay 0.25 --promotion-rate 1M
	eventually is_ready_or_gone
	! grep -q 'policy calls are refused' "$errs" || skip "no memory policies here: $(cat "$errs")"
	! is_gone "$pid" || fail "it ended:" "$(cat "$errs")"
	port=$(sed -n 's/^memcache listens on [^ ]*://p' "$out")
	run "$PYTHON" - "$port" <<-'EOT'
		import socket, sys
		s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		s.sendall(b"stats settings\r\nstats\r\nstats placement\r\nquit\r\n")
		print(s.makefile().read())
	EOT
	[[ $output == *"STAT increment 2.5"* && $output == *"STAT decay 0.25"* ]] || fail "$output"
	[[ $output == *"STAT promotion_rate 1048576"* ]] || fail "$output"
	[[ $output == *"STAT promotion_scans 0"* && $output == *"STAT demotions 0"* ]] || fail "$output"
	[[ $output == *"STAT served_heads:"* ]] || fail "$output"
	! grep -q ns-promotion "/proc/$pid/task/"*/comm || fail "it has a thread of promotion"
}
