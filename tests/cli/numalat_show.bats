#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numalat show: traces of all forms, whole, cut short, with arms, and what is none.

load common

HEADER=worker,sample,key_index,query_start_ns,response_first_byte_ns,response_ttfb_ns,payload_first_byte_ns,payload_ttfb_ns,complete_ns

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# write_csv FILE ROWS: latencies from 10.00 to 19.99 us in steps of 10 ns, and again.
write_csv() {
	{
		echo "$HEADER"
		awk -v rows="$2" 'BEGIN { for (i = 0; i < rows; i++) {
			start = 1000000 + i * 100000; t = 10000 + i % 1000 * 10
			printf "0,%d,%d,%.0f,%.0f,%d,%.0f,%d,%d\n", i, i % 7, start, start + t, t,
				start + 2 * t, 2 * t, 3 * t } }'
	} >"$1"
}

# write_arms FILE: two arms in turn, 200 rows each.
write_arms() {
	write_csv all.csv 400
	awk -F, -v OFS=, 'NR == 1 { print $0, "arm"; next } { print $0, NR % 2 ? "far" : "near" }' \
		all.csv >"$1"
}

@test "a trace is told with the percentiles of each metric" {
	write_csv a.csv 1000

	run --separate-stderr "$NUMALAT" show a.csv
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	[[ $output == *"rows      1000, complete"* ]] || fail "$(told)"
	# The 500th, the 999th and the last of 1000.
	[[ $output =~ p50\ +14\.990\ .*\ 29\.980\ .*\ 44\.970\  ]] || fail "$(told)"
	[[ $output =~ p99\.9\ +19\.980\  && $output =~ p99\.99\ +19\.990\  ]] || fail "$(told)"
	[[ $output =~ "response TTFB  "\ *10\.000\ +14\.995\ +19\.990 ]] || fail "$(told)"
}

@test "every form is shown alike" {
	local form

	write_csv a.csv 500
	gzip -k a.csv
	"$NUMALAT" convert a.csv a.nlt
	for form in csv csv.gz nlt; do
		run --separate-stderr "$NUMALAT" show "a.$form"
		[[ $status -eq 0 && $output == *"form      $form, protocol unknown"* ]] || fail "$(told)"
		tail -n +4 <<<"$output" >"$form.text"
	done
	diff csv.text csv.gz.text >&2
	diff csv.text nlt.text >&2
}

@test "each arm is shown, or the one that is asked for" {
	write_arms arms.csv

	run --separate-stderr "$NUMALAT" show arms.csv
	[[ $status -eq 0 && $output == *"arm near: 200 requests"*"arm far: 200 requests"* ]] ||
		fail "$(told)"
	run --separate-stderr "$NUMALAT" show --arm far arms.csv
	[[ $status -eq 0 && $output != *"arm near:"* && $output == *"arm far: 200 requests"* ]] ||
		fail "$(told)"
	refuses 1 "--arm: 'farr' is no arm of arms.csv; there are: near, far" \
		"$NUMALAT" show --arm farr arms.csv
}

@test "a trace that was cut short is shown as far as it goes, with status 1" {
	write_csv a.csv 300000
	"$NUMALAT" convert a.csv whole.nlt
	head -c $(($(stat -c %s whole.nlt) * 2 / 3)) whole.nlt >cut.nlt

	run --separate-stderr "$NUMALAT" show cut.nlt
	[[ $status -eq 1 && -z $stderr ]] || fail "$(told)"
	[[ $output == *", NOT COMPLETE: "*p99.9* ]] || fail "$(told)"
	run --separate-stderr "$NUMALAT" show --json cut.nlt
	[[ $status -eq 1 ]] || fail "$(told)"
	json_is "(False, True)" \
		'(d["traces"][0]["complete"], 0 < d["traces"][0]["rows"] < 300000)'
	json_is True 'len(d["traces"][0]["why_not_complete"]) > 5'
}

@test "what is no trace does not hide the others" {
	write_csv a.csv 500
	echo nonsense >b.csv

	run --separate-stderr "$NUMALAT" show missing.nlt b.csv a.csv
	[[ $status -eq 1 && $output == *"500 requests"* ]] || fail "$(told)"
	[[ $(wc -l <<<"$stderr") -eq 2 ]] || fail "$(told)"
	[[ $stderr == "numalat: missing.nlt: "*$'\n'"numalat: b.csv: "* ]] || fail "$(told)"
	refuses 1 "missing.nlt: No such file or directory" "$NUMALAT" show missing.nlt
}

@test "of one row there are no percentiles" {
	write_csv one.csv 1

	run --separate-stderr "$NUMALAT" show one.csv
	[[ $status -eq 0 && $output == *"Too few rows for percentiles."* ]] || fail "$(told)"
}

@test "a wrong command line is refused" {
	refuses 2 "show: which trace?" "$NUMALAT" show
	refuses 2 "--json" "$NUMALAT" show --json=3 x
}

@test "documents about traces, and about two" {
	write_csv a.csv 600
	write_csv one.csv 1
	write_arms arms.csv
	"$NUMALAT" show --json a.csv one.csv arms.csv >show.json
	"$NUMALAT" analyze --json a.csv a.csv >same.json || true
	"$NUMALAT" analyze --json --unpaired arms.csv >arms.json
	[[ -s same.json ]] || rm same.json

	validates ./*.json
}
