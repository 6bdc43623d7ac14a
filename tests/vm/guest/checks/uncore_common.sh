# shellcheck shell=dash disable=SC2154 # the variables are uncore.sh's and the machine's script's
# SPDX-License-Identifier: BSD-3-Clause
#
# What holds on every machine with uncore PMUs, whatever their layout: what numacount reports of each
# socket, link and direction is what the module counts there.

check "stat reports each socket's bytes"
	run numacount stat --json -- sleep 3
	expect_status 0
	expect_equal "schema" numakit/stat/1 "$(json .schema)"
	expect_equal "source" uncore "$(json .source)"
	for socket in $(sockets); do
		expect_stat_socket "$socket"
		expect_between "socket $socket: coverage" 0.999 1 "$(socket_json "$socket" .coverage)"
	done
	expect_equal "sockets" "$SOCKETS" "$(json '.sockets | length')"

check "stat reports each link's bytes"
	run numacount stat --json -- sleep 3
	expect_status 0
	for socket in $(sockets); do
		for position in $(link_positions); do
			for what in $LINK; do
				expect_near "socket $socket, link $(link_number "$position"), $what" \
					"$(in_ns "$(bytes_of "$what" "$socket" "$position")" \
						"$(json .elapsed_ns)")" \
					"$(link_json "$socket" "$position" ".$(link_key "$what")")"
			done
		done
	done

check "the totals are the sums of the sockets"
	run numacount stat --json -- sleep 1
	expect_status 0
	for what in $MEMORY $LINK; do
		key=$(socket_key "$what")
		expect_equal "total $key" "$(json "[.sockets[].$key] | add")" "$(json ".total.$key")"
	done

check "the rows of record add up to rate times time"
	run numacount record -I 200 -o /tmp/rows.jsonl --duration 4
	expect_status 0
	row_sums /tmp/rows.jsonl
	for socket in $(sockets); do
		expect_row_sums "$socket"
	done
	expect_equal "unknown rows" 0 "$(awk '{ n += $7 } END { print n + 0 }' "$TMP/rows")"

check "record writes the same as CSV"
	run numacount record -I 200 -o /tmp/rows.csv --duration 1
	expect_status 0
	expect_equal "rows without a value" 0 \
		"$(awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "value") f = i }
			NR > 1 && $f == "" { n++ } END { print n + 0 }' /tmp/rows.csv)"
	expect_between "rows" $((SOCKETS * 2)) 100000 "$(wc -l </tmp/rows.csv)"

# The growth of a counter between two pages, per second in which it was counted; by class, socket and
# link: "memory_read 0 - RATE".
metric_rates() { # PAGE PAGE
	awk '
		function label(name) {
			if (!match($0, "[{,]" name "=\"[^\"]*\""))
				return "-"
			return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
		}
		/^#/ { next }
		/^numacount_counted_seconds_total/ {
			key = label("class") " " label("socket") " " label("link")
			seconds[FILENAME, key] = $NF
			keys[key]
			next
		}
		/^numacount_(memory|interconnect)[a-z_]*_bytes_total/ {
			name = $0
			sub(/^numacount_/, "", name)
			sub(/_bytes_total.*/, "", name)
			if (name == "memory")
				name = "memory_any"
			bytes[FILENAME, name " " label("socket") " " label("link")] = $NF
		}
		END {
			for (key in keys) {
				time = seconds[ARGV[2], key] - seconds[ARGV[1], key]
				if (time > 0)
					printf "%s %.0f\n", key, (bytes[ARGV[2], key] - bytes[ARGV[1], key]) / time
			}
		}' "$1" "$2"
}

metric_rate() { # CLASS SOCKET LINK
	sed -n "s/^$1 $2 $3 //p" "$TMP/metrics"
}

scrape() { # FILE
	wget -q -O "$1" http://127.0.0.1:9914/metrics 2>/dev/null
}

scraped_or_ended() { # FILE
	scrape "$1" || has_ended
}

check "the counters of serve grow as the module counts"
	start numacount serve --listen 127.0.0.1:9914
	expect_soon "a page of metrics" scraped_or_ended /tmp/before
	sleep 3
	scrape /tmp/after
	metric_rates /tmp/before /tmp/after >"$TMP/metrics"
	for socket in $(sockets); do
		for what in $MEMORY; do
			expect_near "socket $socket, $what" "$(bytes_of "$what" "$socket")" \
				"$(metric_rate "$(class_of "$what")" "$socket" -)"
		done
		for position in $(link_positions); do
			for what in $LINK; do
				expect_near "socket $socket, link $(link_number "$position"), $what" \
					"$(bytes_of "$what" "$socket" "$position")" \
					"$(metric_rate "$(class_of "$what")" "$socket" "$(link_number "$position")")"
			done
		done
	done
	release TERM
