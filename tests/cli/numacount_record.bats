#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numacount record as a user runs it: files, rows, ends and exit statuses. It counts the kernel's
# software events here, which every host has.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154

load common
load counting

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	write_software
	record=("$NUMACOUNT" record --events software.ini --family software)
}

teardown() {
	stop_started
}

# rows FILE EXPRESSION: that Python expression over rows, the file's rows as dicts (None for unknown),
# and head, the first line of JSON lines.
rows() {
	"$PYTHON" - "$1" "$2" <<-'EOF'
		import csv, json, sys

		name, expression = sys.argv[1:]
		head = None
		with open(name, encoding="utf-8", newline="") as file:
		    text = file.read()
		assert text.endswith("\n"), "the last row is cut"
		if name.endswith(".jsonl"):
		    head, *rows = map(json.loads, text.splitlines())
		else:
		    rows = [{key: value or None for key, value in row.items()}
		            for row in csv.DictReader(text.splitlines())]
		print(eval(expression))
	EOF
}

rows_are() {
	local got

	got=$(rows "$2" "$3")
	[[ $got == "$1" ]] || fail "$2: $3 is '$got', wanted '$1'" "$(head -n 5 "$2")"
}

@test "what is no file to record into is refused, as wrong usage" {
	refuses 2 "into which file? -o FILE.csv" "${record[@]}"
	refuses 2 "'out.txt': its end must tell the format: .csv, or .jsonl" "${record[@]}" -o out.txt -- touch ran
	refuses 2 "-o FILE.jsonl" "${record[@]}" -o out.csv --json -- touch ran
	refuses 2 "--interval: '0' is not a number in 1..3600000" "${record[@]}" -I 0 -o out.csv -- touch ran
	refuses 2 "--interval: '3600001'" "${record[@]}" -I 3600001 -o out.csv -- touch ran
	[[ ! -e ran && ! -e out.csv ]]
}

@test "a file that cannot be written is refused before anything is run" {
	needs_counting
	refuses 1 "missing/out.csv: No such file or directory" "${record[@]}" -o missing/out.csv -- touch ran
	mkdir folder.csv
	refuses 1 "folder.csv: Is a directory" "${record[@]}" -o folder.csv -- touch ran
	ln -s /dev/full full.csv
	refuses 1 "full.csv: No space left on device" "${record[@]}" -o full.csv -- touch ran
	[[ ! -e ran ]]
}

@test "without a counter nothing is recorded, and the reason is given" {
	echo "what was there" >out.csv
	mkdir empty
	run -1 --separate-stderr "$NUMACOUNT" record --root empty -o out.csv -- touch ran
	[[ -z $output && $stderr == "numacount: "* && ! -e ran && $(<out.csv) == "what was there" ]] ||
		fail "$(told)"
}

@test "a row for each event and interval, whose values add up" {
	needs_counting
	run --separate-stderr "${record[@]}" -I 20 -o out.csv -- sleep 0.3
	[[ $status -eq 0 && -z $output && $stderr == *"numacount: "*" intervals in "*" rows in out.csv"* ]] ||
		fail "$(told)"
	rows_are "['cpu_clock', 'page_faults']" out.csv 'sorted(set(row["name"] for row in rows))'
	rows_are True out.csv 'len(rows) >= 4 and len(rows) % len(set((row["name"], row["socket"]) for row in rows)) == 0'
	rows_are "{('other', 'counts', None, '1.000000', None, 'uncore')}" out.csv \
		'set((row["class"], row["unit"], row["bytes_per_s"], row["coverage"], row["note"], row["source"]) for row in rows)'
	# cpu_clock counts nanoseconds on each CPU: known without asking anyone.
	rows_are True out.csv 'all(
		0.5 < sum(int(row["value"]) for row in rows if row["name"] == "cpu_clock" and row["time_ns"] == time)
		/ int(interval) / os.sysconf("SC_NPROCESSORS_ONLN") < 2
		for time, interval in set((row["time_ns"], row["interval_ns"]) for row in rows)
		for os in [__import__("os")] if int(interval) > 10000000)'
	rows_are True out.csv 'all(
		sum(int(row["value"]) for row in rows if key(row) == one) ==
		[int(row["total"]) for row in rows if key(row) == one][-1]
		for key in [lambda row: (row["name"], row["socket"])] for one in set(map(key, rows)))'
	rows_are True out.csv '[int(row["elapsed_ns"]) for row in rows] == sorted(int(row["elapsed_ns"]) for row in rows)'
}

@test "JSON lines say the same as CSV, and are what the schema allows" {
	local python

	needs_counting
	gives "" bash -c '"$@" 2>/dev/null' - "${record[@]}" -I 20 --duration 0.1 -o out.jsonl
	gives "" bash -c '"$@" 2>/dev/null' - "${record[@]}" -I 20 --duration 0.1 -o out.csv
	rows_are "('numakit/record/1', 'software', 'uncore', 20000000)" out.jsonl \
		'head["schema"], head["family"], head["source"], head["interval_ns"]'
	rows_are True out.jsonl 'len(rows) % head["series"] == 0'
	rows_are "$(rows out.csv 'list(rows[0])')" out.jsonl 'list(rows[0])'
	python=$(python_with_jsonschema) || skip "no python3 here has jsonschema"
	"$python" - "$NUMAKIT_SOURCE/docs/schema/record-1.json" out.jsonl <<-'EOF'
		import json, sys
		from jsonschema import Draft202012Validator

		schema = json.load(open(sys.argv[1], encoding="utf-8"))
		header, row = ({**schema, "anyOf": [{"$ref": f"#/$defs/{name}"}]} for name in ("header", "row"))
		for number, line in enumerate(open(sys.argv[2], encoding="utf-8")):
		    Draft202012Validator(row if number else header).validate(json.loads(line))
		assert list(json.loads(line)) == schema["$defs"]["row"]["required"]
	EOF
}

@test "rows go to standard output, and a reader that goes is an error" {
	needs_counting
	run --separate-stderr "${record[@]}" -I 10 --duration 0.05 -o -
	[[ $status -eq 0 && ${lines[0]} == time_ns,elapsed_ns,* && ${#lines[@]} -ge 3 ]] || fail "$(told)"
	[[ $stderr == *"rows in standard output"* ]] || fail "$(told)"

	run bash -c 'set -o pipefail; "$@" -I 10 --duration 20 -o - | head -n 1' - "${record[@]}"
	[[ $status -eq 1 && $output == *"numacount: standard output: Broken pipe"* ]] || fail "$output"
}

@test "the program's exit status is passed on" {
	needs_counting
	run -0 "${record[@]}" -o out.csv -- true
	run -7 "${record[@]}" -o out.csv -- sh -c 'exit 7'
	run -143 "${record[@]}" -o out.csv -- sh -c 'kill -TERM $$'
	refuses 127 "./missing: " "${record[@]}" -o out.csv -- ./missing
	refuses 126 "Permission denied" "${record[@]}" -o out.csv -- ./software.ini
}

@test "a full disk ends it with one line, and what was written stays" {
	needs_counting
	run -1 --separate-stderr bash -c 'trap "" XFSZ; ulimit -f 8; exec "$@"' - "${record[@]}" -I 10 --duration 20 -o out.csv
	[[ $stderr == "numacount: out.csv: File too large" ]] || fail "$(told)"
	[[ $(head -n 1 out.csv) == time_ns,* && $(stat -c %s out.csv) -eq 8192 ]] || fail "$(ls -l out.csv)"
}

@test "with a full disk the program goes on, and its failure is still its own" {
	needs_counting
	run -3 --separate-stderr bash -c 'trap "" XFSZ; ulimit -f 8; exec "$@"' - "${record[@]}" -I 1 -o out.csv -- \
		sh -c 'while [ "$(stat -c %s out.csv)" -lt 8192 ]; do sleep 0.01; done; echo done >ran; exit 3'
	[[ -s ran && $stderr == *"numacount: out.csv: File too large" ]] || fail "$(told)"
}

# Whether the file that is recorded into has rows.
has_rows() {
	[[ $(wc -l <"$1") -gt 4 ]]
}

@test "INT, TERM and HUP end it with whole rows and status 0" {
	local signal

	needs_counting
	for signal in INT TERM HUP; do
		start "${record[@]}" -I 5 -o "$signal.csv"
		eventually test -s "$signal.csv"
		eventually has_rows "$signal.csv"
		kill -"$signal" "$pid"
		ends 0
		grep -q "stopped by SIG$signal" "$errs" || fail "$(cat "$errs")"
		rows_are "$(rows "$signal.csv" 'len(rows)')" "$signal.csv" \
			'sum(len(row) == 18 and row["source"] == "uncore" for row in rows)'
	done
}

@test "a reader that slept is told how long the interval was" {
	needs_counting
	start "${record[@]}" -I 20 -o out.csv
	eventually test -s out.csv
	eventually has_rows out.csv
	kill -STOP "$pid"
	sleep 0.3
	kill -CONT "$pid"
	kill -INT "$pid"
	ends 0
	rows_are True out.csv 'max(int(row["interval_ns"]) for row in rows) >= 200000000'
	grep -q 'intervals lost, read too late' "$errs" || fail "$(cat "$errs")"
}

@test "a file that is there is replaced" {
	needs_counting
	seq 100000 >out.csv
	run -0 "${record[@]}" -I 10 --duration 0.02 -o out.csv
	rows_are True out.csv '0 < len(rows) < 100'
}

@test "a very short interval works, with a warning" {
	needs_counting
	run -0 --separate-stderr "${record[@]}" -I 1 --duration 0.1 -o out.csv
	[[ $stderr == *"warning: -I 1:"*"coverage"* ]] || fail "$(told)"
	rows_are True out.csv 'len(rows) > 4'
}

@test "progress is shown on a terminal, and nowhere else" {
	needs_counting
	run -0 --separate-stderr "${record[@]}" -I 500 --duration 1.2 -o out.csv
	[[ $stderr != *$'\r'* ]] || fail "$(told)"
	run -0 "$PYTHON" -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))' \
		"${record[@]}" -I 500 --duration 1.2 -o out.csv
	[[ $output == *$'\r'"0:00:01 "*" intervals"* ]] || fail "$output"
}

@test "--charts draws the run" {
	needs_counting
	command -v gnuplot >/dev/null || skip "no gnuplot here"
	run -0 --separate-stderr "${record[@]}" -I 10 --duration 0.1 -o out.jsonl --charts pictures
	[[ -s pictures/other.svg && -s pictures/other.png && -s pictures/charts.gnuplot ]] || fail "$(told)" "$(ls pictures)"
	[[ $(head -c 8 pictures/other.png | od -An -tx1) == " 89 50 4e 47 0d 0a 1a 0a" ]]
}

@test "--charts without gnuplot, or into what is no directory, is refused before anything is run" {
	mkdir none
	refuses 1 "install gnuplot-nox" env PATH="$PWD/none" "${record[@]}" -o out.csv --charts pictures -- /bin/touch ran
	command -v gnuplot >/dev/null || skip "no gnuplot here"
	refuses 1 "software.ini: Not a directory" "${record[@]}" -o out.csv --charts software.ini -- touch ran
	[[ ! -e ran && ! -e pictures && ! -e out.csv ]]
}
