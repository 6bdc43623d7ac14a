#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numalat analyze: what it takes, what it refuses and in which words, and what it writes.

setup() {
	load common
	mkdir "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || exit
}

# csv FILE ROWS FACTOR [START]: a trace of a serial run, as goblin-bench writes it: latencies of about
# FACTOR times 100 us, the same each time.
csv() {
	"$PYTHON" - "$@" <<-'EOF'
		import gzip, random, sys

		path, rows, factor = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
		start = int(sys.argv[4]) if len(sys.argv) > 4 else 10**12
		rng = random.Random(f"{rows} {factor}")
		opened = gzip.open if path.endswith(".gz") else open
		with opened(path, "wt", encoding="ascii", newline="\n") as out:
		    out.write("worker,sample,key_index,query_start_ns,response_first_byte_ns,response_ttfb_ns,"
		              "payload_first_byte_ns,payload_ttfb_ns,complete_ns\n")
		    for i in range(rows):
		        response = int(1e5 * factor * rng.lognormvariate(0, 0.05))
		        payload, total = response + 20000 + rng.randrange(500), response + 90000 + rng.randrange(999)
		        out.write(f"0,{i},{i * 7 % 100},{start},{start + response},{response},{start + payload},"
		                  f"{payload},{total}\n")
		        start += total + 300
	EOF
}

# two FACTOR: a.csv, and b.csv whose latencies are FACTOR times as long, later.
two() {
	csv a.csv 500 1
	csv b.csv 500 "$1" 2000000000000
}

# run_directory DIR [CASE...]: a run directory with these cases, or all.
run_directory() {
	local dir=$1 name

	shift
	[[ $# -gt 0 ]] || set -- 01-normal-memcache 02-normal-http 03-perverse-memcache 04-perverse-http
	for name in "$@"; do
		mkdir -p "$dir/$name"
		case $name in
		*normal*) csv "$dir/$name/samples.csv.gz" 300 1 "${name:1:1}000000000000" ;;
		*) csv "$dir/$name/samples.csv.gz" 300 1.1 "${name:1:1}000000000000" ;;
		esac
	done
}

# arms FILE NAME...: a trace with these arms, one request of each in turn.
arms() {
	local file=$1

	shift
	"$PYTHON" - "$@" >arms.csv <<-'EOF'
		import sys

		start = 10**12
		print("worker,sample,key_index,query_start_ns,response_first_byte_ns,response_ttfb_ns,"
		      "payload_first_byte_ns,payload_ttfb_ns,complete_ns,arm")
		for i in range(200):
		    for place, arm in enumerate(sys.argv[1:]):
		        total = 1000 + 100 * place + i * 37 % 100
		        print(f"0,{i * len(sys.argv[1:]) + place},{i},{start},{start + 500},500,{start + 600},600,{total},{arm}")
		        start += total + 1
	EOF
	"$NUMALAT" convert arms.csv "$file"
}

# ---- what it says ----

@test "two traces are compared" {
	two 1.1
	run --separate-stderr "$NUMALAT" analyze a.csv b.csv
	[[ $status -eq 0 && -z $stderr && $output == *"total download"* && $output == *p99.99* ]] ||
		fail "$(told)"
	[[ ! -e analysis && $(ls) == $'a.csv\nb.csv' ]] || fail "it wrote: $(ls)"
}

@test "JSON follows its schema, and tells that the first is faster" {
	two 1.1
	run --separate-stderr "$NUMALAT" analyze a.csv b.csv --json
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	json_is numakit/analysis/1 'd["schema"]'
	json_is True 'all(p["metrics"]["complete"]["A_local_faster"] > 0.8 for p in d["protocols"].values())'
	json_is 500 'list(d["protocols"].values())[0]["sample_count"]'
	printf '%s\n' "$output" >analysis.json
	[[ -e $NUMAKIT_SOURCE/docs/schema/analysis-1.json ]] || skip "no docs/schema/analysis-1.json"
	validates analysis.json
}

@test "--format is text, markdown, csv or json" {
	two 1.1
	run "$NUMALAT" analyze a.csv b.csv --format markdown
	[[ $status -eq 0 && $output == *"| --"* || $output == *"|--"* || $output == *"| :-"* ]] || fail "$output"
	run "$NUMALAT" analyze a.csv b.csv --format csv
	[[ $status -eq 0 && ${lines[0]} == protocol,metric,samples_per_placement,A_local_faster,* ]] ||
		fail "$output"
	[[ ${#lines[@]} -eq 4 ]] || fail "$output"
	run "$NUMALAT" analyze a.csv b.csv --format json
	json_is numakit/analysis/1 'd["schema"]'
	refuses 2 "--format: 'xml' is none of text, markdown, csv, json" \
		"$NUMALAT" analyze a.csv b.csv --format xml
	refuses 2 "--json and --format csv: one of them" "$NUMALAT" analyze a.csv b.csv --json --format csv
}

@test "a seed is repeatable, and another gives other intervals" {
	two 1.01
	run "$NUMALAT" analyze a.csv b.csv --format csv
	first=$output
	run "$NUMALAT" analyze a.csv b.csv --format csv --seed 0x9e3779b97f4a7c15
	[[ $output == "$first" ]] || fail "$first" "$output"
	run "$NUMALAT" analyze a.csv b.csv --format csv --seed 7
	[[ $output != "$first" ]] || fail "the same with another seed"
	run "$NUMALAT" analyze a.csv b.csv --format csv --repetitions 100
	[[ $output != "$first" ]] || fail "the same with fewer repetitions"
}

@test "labels stand in the text" {
	two 1.1
	run "$NUMALAT" analyze a.csv b.csv --labels here,there
	[[ $status -eq 0 && $output == *here* && $output == *there* ]] || fail "$output"
	refuses 2 "--labels: 'x' is not two names" "$NUMALAT" analyze a.csv b.csv --labels x
	refuses 2 "--labels: 'x' twice" "$NUMALAT" analyze a.csv b.csv --labels x,x
	refuses 2 "is longer than 24 characters" \
		"$NUMALAT" analyze a.csv b.csv --labels "a,$(printf '%025d' 1)"
}

@test "--output-dir keeps the figures in files, under goblin-store's names" {
	two 1.1
	run --separate-stderr "$NUMALAT" analyze a.csv b.csv --output-dir kept
	[[ $status -eq 0 ]] || fail "$(told)"
	[[ $(ls kept) == $'latency_analysis.json\nlatency_analysis.md\nlatency_effects.csv\nlatency_percentiles.csv' ]] ||
		fail "$(ls kept)"
	[[ $(wc -l <kept/latency_percentiles.csv) -eq 16 ]] || fail "$(cat kept/latency_percentiles.csv)"
}

@test "a directory that cannot be written to is told before the work" {
	two 1.1
	refuses 1 "a.csv/x: Not a directory" "$NUMALAT" analyze a.csv b.csv --output-dir a.csv/x
	refuses 1 "nowhere/x: No such file or directory" "$NUMALAT" analyze a.csv b.csv --output-dir nowhere/x
}

@test "nothing is left of a directory for figures that there are not" {
	two 1.1
	csv b.csv 499 1 2000000000000
	refuses 1 "500 requests in A, 499 in B" "$NUMALAT" analyze a.csv b.csv --output-dir kept
	[[ ! -e kept ]] || fail "kept is there: $(ls kept)"
	command -v gnuplot >/dev/null || skip "no gnuplot"
	refuses 1 "500 requests in A, 499 in B" "$NUMALAT" analyze a.csv b.csv --charts drawn
	[[ ! -e drawn ]] || fail "drawn is there: $(ls drawn)"
}

@test "--charts draws, or says that gnuplot is missing" {
	two 1.1
	command -v gnuplot >/dev/null || skip "no gnuplot"
	run --separate-stderr "$NUMALAT" analyze a.csv b.csv --charts pictures
	[[ $status -eq 0 ]] || fail "$(told)"
	[[ -n $(find pictures -name '*.svg' -o -name '*.png') ]] || fail "$(ls pictures)"
}

# ---- run directories ----

@test "a run directory is analysed into its analysis folder" {
	run_directory run
	run --separate-stderr "$NUMALAT" analyze run --json
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	json_is "['memcache', 'http']" 'sorted(d["protocols"], reverse=True)'
	json_is 300 'd["sample_count_per_case"]'
	[[ -s run/analysis/latency_analysis.json && -s run/analysis/latency_effects.csv ]] ||
		fail "$(ls run/analysis)"
}

@test "a protocol that was not run is left out, with a line" {
	run_directory run 02-normal-http 04-perverse-http
	run --separate-stderr "$NUMALAT" analyze run --json
	[[ $status -eq 0 ]] || fail "$(told)"
	[[ $stderr == "numalat: memcache is left out: neither 01-normal-memcache nor 03-perverse-memcache has a trace" ]] ||
		fail "$(told)"
	json_is "['http']" 'list(d["protocols"])'
}

@test "half a pair is left out, with a line and status 1" {
	run_directory run 01-normal-memcache 02-normal-http 04-perverse-http
	run --separate-stderr "$NUMALAT" analyze run --json
	[[ $status -eq 1 ]] || fail "$(told)"
	[[ $stderr == "numalat: memcache is left out: 03-perverse-memcache has no trace" ]] || fail "$(told)"
	json_is "['http']" 'list(d["protocols"])'
}

@test "a bad pair does not keep the other from being analysed" {
	run_directory run
	csv run/03-perverse-memcache/samples.csv 299 1.1
	run --separate-stderr "$NUMALAT" analyze run --json
	[[ $status -eq 1 ]] || fail "$(told)"
	[[ $stderr == "numalat: memcache: 300 requests in local, 299 in remote: --common "* ]] || fail "$(told)"
	json_is "['http']" 'list(d["protocols"])'
}

@test "a trace that cannot be opened does not keep the other pair from being analysed" {
	run_directory run
	rm run/04-perverse-http/samples.csv.gz
	printf 'junk\n' >run/04-perverse-http/samples.csv
	run --separate-stderr "$NUMALAT" analyze run --json
	[[ $status -eq 1 ]] || fail "$(told)"
	[[ $stderr == "numalat: run/04-perverse-http/samples.csv: no trace: "* && $stderr != *$'\n'* ]] || fail "$(told)"
	json_is "['memcache']" 'list(d["protocols"])'
}

@test "a directory without a whole pair is refused" {
	mkdir empty
	refuses 1 "empty: no run directory: neither 01-normal-memcache and 03-perverse-memcache" \
		"$NUMALAT" analyze empty
	run_directory run 01-normal-memcache 04-perverse-http
	refuses 1 "run: no run directory" "$NUMALAT" analyze run
	run_directory run
	refuses 1 "--arms: the cases of a run directory have one arm each" "$NUMALAT" analyze run --arms a,b
}

# ---- arms ----

@test "the two arms of a trace are compared" {
	arms two.nlt local far
	run --separate-stderr "$NUMALAT" analyze two.nlt --json
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	json_is interleaved 'list(d["protocols"].values())[0]["design"]'
	json_is "('local', 'far')" 'tuple(list(d["protocols"].values())[0][s]["label"] for s in ("local", "remote"))'
	json_is 1.0 'list(d["protocols"].values())[0]["metrics"]["complete"]["A_local_faster"]'
	run "$NUMALAT" analyze two.nlt --arms far,local --json
	json_is 0.0 'list(d["protocols"].values())[0]["metrics"]["complete"]["A_local_faster"]'
}

@test "two arms of a file are of one run, however often it is named" {
	arms two.nlt local far
	run --separate-stderr "$NUMALAT" analyze two.nlt two.nlt --arms local,far --json
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	json_is "('interleaved', 400)" 'tuple(list(d["protocols"].values())[0][k] for k in ("design", "turns"))'
}

@test "arms that came one after the other are not called interleaved" {
	arms two.nlt local far
	"$PYTHON" - <<-'EOF'
		with open("arms.csv", encoding="ascii") as file:
		    head, *rows = file.read().splitlines()
		start, moved = 10**12, []
		for arm in ("local", "far"):
		    for row in (row.split(",") for row in rows if row.endswith(arm)):
		        moved.append(f"0,{len(moved)},{row[2]},{start},{start + 500},500,{start + 600},600,{row[8]},{arm}")
		        start += int(row[8]) + 1
		with open("apart.csv", "w", encoding="ascii") as file:
		    file.write("\n".join([head, *moved]) + "\n")
	EOF
	run --separate-stderr "$NUMALAT" analyze apart.csv
	[[ $status -eq 0 && $output == *"in the same run"* && $output != *interleaved* ]] || fail "$(told)"
}

@test "of more than two arms, two are to be named" {
	arms three.nlt x y z
	refuses 1 "three.nlt has 3 arms: --arms NAME,NAME tells which two; there are: x, y, z" \
		"$NUMALAT" analyze three.nlt
	refuses 1 "three.nlt: --arms: there is no arm 'w'; there are: x, y, z" \
		"$NUMALAT" analyze three.nlt --arms x,w
	refuses 1 "three.nlt: --arms: 'x' twice" "$NUMALAT" analyze three.nlt --arms x,x
	run --separate-stderr "$NUMALAT" analyze three.nlt --arms x,z
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
}

@test "one arm alone is for show" {
	two 1.1
	refuses 1 "a.csv has one arm, and nothing to compare it with: numalat show describes it" \
		"$NUMALAT" analyze a.csv
}

# ---- bad input ----

@test "unequal lengths are compared by --common alone" {
	two 1.1
	csv b.csv 400 1.1 2000000000000
	refuses 1 "500 requests in A, 400 in B: --common compares those that both have" \
		"$NUMALAT" analyze a.csv b.csv
	run --separate-stderr "$NUMALAT" analyze a.csv b.csv --common --json
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	json_is 400 'list(d["protocols"].values())[0]["sample_count"]'
	json_is True 'list(d["protocols"].values())[0]["rows_left_out"]'
}

@test "other keys are compared by --unpaired alone" {
	two 1.1
	sed -i '102s/^\([0-9]*,[0-9]*\),[0-9]*/\1,99/' b.csv
	refuses 1 "keys differ from row 100 on: 0 in A, 99 in B" "$NUMALAT" analyze a.csv b.csv
	run --separate-stderr "$NUMALAT" analyze a.csv b.csv --unpaired --json
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	json_is None 'list(d["protocols"].values())[0]["metrics"]["complete"]["paired_local_faster_probability"]'
}

@test "a trace that was cut off is analysed as far as it goes, marked, status 1" {
	two 1.1
	"$NUMALAT" convert a.csv a.nlt
	"$NUMALAT" convert b.csv b.nlt
	truncate -s -40 b.nlt
	run --separate-stderr "$NUMALAT" analyze a.nlt b.nlt --common --blocks 10 --json
	[[ $status -eq 1 && $stderr == "numalat: "*b.nlt* && $stderr != *$'\n'* ]] || fail "$(told)"
	[[ -z $output ]] || json_is True 'list(d["protocols"].values())[0]["partial"]'
}

@test "damage is told with its place" {
	two 1.1
	"$NUMALAT" convert b.csv b.nlt
	"$PYTHON" - b.nlt <<-'EOF'
		import sys

		with open(sys.argv[1], "r+b") as file:
		    data = bytearray(file.read())
		    data[len(data) // 2] ^= 0x55
		    file.seek(0)
		    file.write(data)
	EOF
	refuses 1 "b.nlt" "$NUMALAT" analyze a.csv b.nlt
}

@test "rows that are no serial run are told" {
	two 1.1
	awk -F , -v OFS=, 'NR == 9 { start = $4 } NR == 10 { $4 = start - 5 } { print }' b.csv >reordered.csv
	refuses 1 "reordered.csv: row 8" "$NUMALAT" analyze a.csv reordered.csv
	sed '50s/,[0-9]*$/,1/' b.csv >short.csv
	refuses 1 "row 48" "$NUMALAT" analyze a.csv short.csv
}

@test "huge and hostile bytes get one line" {
	two 1.1
	sed '$s/,[0-9]*$/,9223372036854775807/' b.csv >huge.csv
	refuses 1 "more than 73 years" "$NUMALAT" analyze a.csv huge.csv
	sed '50s/,[0-9]*$/,99999999999999999999999999/' b.csv >huge.csv
	refuses 1 "huge.csv" "$NUMALAT" analyze a.csv huge.csv
	printf 'not a trace\n' >text
	refuses 1 "text" "$NUMALAT" analyze a.csv text
	head -c 65536 /dev/urandom >noise
	refuses 1 "noise" "$NUMALAT" analyze a.csv noise
	: >empty
	refuses 1 "empty" "$NUMALAT" analyze empty a.csv
	head -n 1 a.csv >none.csv
	refuses 1 "A has no request" "$NUMALAT" analyze none.csv none.csv
	refuses 1 "nowhere.csv: No such file or directory" "$NUMALAT" analyze a.csv nowhere.csv
}

@test "a few requests are compared, and what they do not tell is not told" {
	two 1.1
	run --separate-stderr "$NUMALAT" analyze <(head -n 2 a.csv) <(head -n 2 b.csv) --json
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	json_is "(1.0, 2, 2, None, None)" 'tuple(list(d["protocols"].values())[0]["metrics"]["complete"][k] for k in
		("A_local_faster", "A_numerator", "A_denominator", "correlated_A_ci_low", "merged_blocks"))'
	printf '%s\n' "$output" >analysis.json
	validates analysis.json
	run --separate-stderr "$NUMALAT" analyze <(head -n 4 a.csv) <(head -n 4 b.csv)
	[[ $status -eq 0 && $output == *"With 3 blocks"* ]] || fail "$(told)"
}

@test "wrong usage is status 2" {
	refuses 2 "analyze: an empty name" "$NUMALAT" analyze '' b
	refuses 2 "--output-dir: an empty name" "$NUMALAT" analyze a b --output-dir ''
	refuses 2 "--charts: an empty name" "$NUMALAT" analyze a b --charts ''
	refuses 2 "analyze: of what? two traces" "$NUMALAT" analyze
	refuses 2 "'c': it takes two traces" "$NUMALAT" analyze a b c
	refuses 2 "--blocks: '1' is not a number in 2..10000" "$NUMALAT" analyze a b --blocks 1
	refuses 2 "--bootstrap-reps: '99' is not a number in 100..10000000" \
		"$NUMALAT" analyze a b --bootstrap-reps 99
	refuses 2 "--level: '1' is not a share in 0.5..0.9999" "$NUMALAT" analyze a b --level 1
	refuses 2 "--seed: '-1' is not a number" "$NUMALAT" analyze a b --seed -1
	refuses 2 "--frobnicate" "$NUMALAT" analyze a b --frobnicate
}
