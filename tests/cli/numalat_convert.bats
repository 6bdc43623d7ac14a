#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numalat convert as a user runs it: forms, arms, what is incomplete, what is refused; and the files it
# writes against docs/trace-format.md, by a reader that knows nothing but that page.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154

load common

HEADER=worker,sample,key_index,query_start_ns,response_first_byte_ns,response_ttfb_ns
HEADER+=,payload_first_byte_ns,payload_ttfb_ns,complete_ns

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	{
		echo "$HEADER"
		echo 0,0,7,1000,1077,77,1135,135,338
		echo 0,1,9,2000,2080,80,2140,140,5000000000
		echo 0,2,7,6000000000,6000000079,79,6000000138,138,339
	} >one.csv
	{
		echo "$HEADER,arm"
		echo 0,0,7,1000,1077,77,1135,135,338,far
		echo 0,1,9,2000,2080,80,2140,140,340,local
		echo 0,2,7,3000,3079,79,3138,138,339,far
	} >arms.csv
}

# texts FILE: its head and its end, one JSON text a line, by the page's own rules.
texts() {
	"$PYTHON" - "$1" <<-'EOF'
		import struct, sys

		data = open(sys.argv[1], "rb").read()
		assert data[:8] == b"\x89NLT\r\n\x1a\n" and struct.unpack_from("<I", data, 8) == (1,)
		size, = struct.unpack_from("<I", data, 12)
		print(data[32:32 + size].decode())
		at, rows = 32 + size, 0
		while data[at:at + 8] == b"NLTROWS\n":
		    first, count = struct.unpack_from("<QI", data, at + 8)
		    assert first == rows
		    at += 128 + sum(struct.unpack_from("<7I", data, at + 32))
		    rows += count
		assert data[at:at + 8] == b"NLT END\n" and struct.unpack_from("<Q", data, at + 8) == (rows,)
		size, = struct.unpack_from("<I", data, at + 16)
		print(data[at + 40:at + 40 + size].decode())
		assert len(data) == at + 40 + size
	EOF
}

@test "there and back again, nothing has changed" {
	local file

	for file in one arms; do
		gives "" "$NUMALAT" convert $file.csv $file.nlt
		gives "" "$NUMALAT" convert $file.nlt $file.csv.gz
		gives "" "$NUMALAT" convert $file.csv.gz again.nlt
		gives "" "$NUMALAT" convert again.nlt again.csv
		cmp $file.csv again.csv
		cmp $file.nlt again.nlt
		gzip -dc $file.csv.gz | cmp $file.csv
		rm again.*
	done
}

@test "a stream on standard output, and from a pipe" {
	"$NUMALAT" convert one.csv one.nlt
	"$NUMALAT" convert one.csv - --to nlt | cmp one.nlt
	"$NUMALAT" convert --to csv one.nlt - | cmp one.csv
	"$NUMALAT" convert one.nlt - --to csv.gz | gzip -dc | cmp one.csv
	gives "" "$NUMALAT" convert <(cat one.nlt) again.nlt
	cmp one.nlt again.nlt
	gives "" "$NUMALAT" convert <(gzip -c one.csv) again2.nlt
	cmp one.nlt again2.nlt
	gives "" "$NUMALAT" convert one.nlt data --to csv
	cmp one.csv data
}

@test "one arm alone" {
	gives "" "$NUMALAT" convert arms.csv far.csv --arm far
	gives "$HEADER
0,0,7,1000,1077,77,1135,135,338
0,1,7,3000,3079,79,3138,138,339" cat far.csv
	gives "" "$NUMALAT" convert arms.csv local.nlt --arm local
	texts local.nlt | head -n 1 | grep -qF '"arms":[""],"order":null,"block":null'
	texts local.nlt | head -n 1 | grep -qF '"details":{"arm":"local"}'
	refuses 1 "arms.csv: --arm: there is no 'near', but: far, local" "$NUMALAT" convert arms.csv a.nlt --arm near
	refuses 1 "one.csv: --arm: it has a single arm, ''" "$NUMALAT" convert one.csv a.nlt --arm near
	[[ ! -e a.nlt ]]
}

@test "what is there is not replaced unasked" {
	echo "what was there" >a.nlt
	refuses 1 "a.nlt: it is there already; --force replaces it" "$NUMALAT" convert one.csv a.nlt
	[[ $(<a.nlt) == "what was there" ]]
	refuses 1 "one: No such file" "$NUMALAT" convert one a.nlt --force
	[[ $(<a.nlt) == "what was there" ]]
	gives "" "$NUMALAT" convert one.csv a.nlt --force
	gives "" "$NUMALAT" convert a.nlt a.nlt --force
	gives "" "$NUMALAT" convert a.nlt a.csv
	cmp a.csv one.csv
	gives "./a.csv ./a.nlt ./arms.csv ./one.csv " printf '%s ' ./*.*
}

@test "a trace that ends early is converted as far as it goes, and status 1" {
	"$NUMALAT" convert one.csv one.nlt
	head -c -20 one.csv >cut.csv
	refuses 1 "cut.csv: not complete: the file ends early, within row 2 (line 4); 2 rows were converted" \
		"$NUMALAT" convert cut.csv cut.nlt
	texts cut.nlt | tail -n 1 | grep -qF '{"complete":false,"why":"the file ends early, within row 2 (line 4)"'
	refuses 1 "cut.nlt: not complete: the file ends early, within row 2 (line 4); 2 rows were converted, and a CSV cannot tell" \
		"$NUMALAT" convert cut.nlt again.csv
	head -n 3 one.csv | cmp again.csv
	head -c -20 one.nlt >cut.nlt
	refuses 1 "cut.nlt: not complete: the file ends early, at offset" "$NUMALAT" convert cut.nlt whole.csv
	cmp one.csv whole.csv
	gzip -c one.csv | head -c -4 >cut.csv.gz
	refuses 1 "cut.csv.gz: not complete: the gzip stream ends early, before row 3; 3 rows" \
		"$NUMALAT" convert cut.csv.gz packed.csv
	cmp one.csv packed.csv
}

@test "what is no trace is refused, and nothing is written" {
	echo hello >hello.csv
	refuses 1 "hello.csv: no trace: neither numalat's own form (.nlt) nor a CSV that begins with the line worker," \
		"$NUMALAT" convert hello.csv a.nlt
	sed '3s/,80,/,81,/' one.csv >wrong.csv
	refuses 1 "wrong.csv: row 1 (line 3): response_first_byte_ns is not" "$NUMALAT" convert wrong.csv a.nlt
	{ cat one.csv; sed '1d; s/^0/1/' one.csv; } >workers.csv
	refuses 1 "row 3 (line 5): is of worker 1, but a trace of numalat holds one connection" \
		"$NUMALAT" convert workers.csv a.nlt
	awk -F, 'NR == 1 || $1 == 1' workers.csv >worker1.csv
	gives "" "$NUMALAT" convert worker1.csv worker1.nlt
	"$NUMALAT" convert one.csv one.nlt
	cp one.nlt bad.nlt
	printf '\1' | dd of=bad.nlt bs=1 seek=$(($(stat -c %s bad.nlt) - 140)) conv=notrunc status=none
	refuses 1 "bad.nlt: rows 0-2 (at offset " "$NUMALAT" convert bad.nlt a.csv
	refuses 1 ".: Is a directory" "$NUMALAT" convert . a.csv
	ln -s /dev/full full.csv
	refuses 1 "/dev/full: No space left on device" "$NUMALAT" convert one.nlt full.csv
	[[ ! -e a.nlt && ! -e a.csv && -e /dev/full ]]
	[[ -z $(find . -name '*.??????') ]]
}

@test "wrong usage" {
	refuses 2 "convert: which traces? convert FROM TO" "$NUMALAT" convert one.csv
	refuses 2 "convert: 'c': it takes two arguments" "$NUMALAT" convert a b c
	refuses 2 "convert: a.txt: its name must end in .nlt, .csv or .csv.gz" "$NUMALAT" convert one.csv a.txt
	refuses 2 "convert: -: in which form?" "$NUMALAT" convert one.csv -
	refuses 2 "--to: 'json' is not nlt, csv or csv.gz" "$NUMALAT" convert one.csv - --to json
	refuses 2 "--to: '../x.nlt' is not" "$NUMALAT" convert one.csv - --to ../x.nlt
	refuses 2 "convert: --json: there is nothing to print" "$NUMALAT" convert one.csv a.nlt --json
}

@test "a terminal is told what was written" {
	command -v script >/dev/null || skip "there is no script(1) here"
	run script -qec "'$NUMALAT' convert one.csv one.nlt" /dev/null
	[[ $status -eq 0 && $output == "3 rows, "*" bytes in one.nlt"* ]] || fail "$output"
}

# is_writing PID: it has begun to, or is over.
is_writing() {
	compgen -G 'a.csv.gz.??????' >/dev/null || [[ ! -e /proc/$1 ]]
}

@test "a signal leaves the old file" {
	local pid status=0

	awk -v header="$HEADER" 'BEGIN {
		print header
		for (i = 0; i < 500000; i++) {
			start = 1000000 + i * 400000
			printf "0,%d,%d,%.0f,%.0f,%d,%.0f,%d,%d\n", i, i * 7919 % 16000, start, start + 77000,
				77000, start + 135000, 135000, 338000 + i * 31 % 1009
		}
	}' >long.csv
	echo "what was there" >a.csv.gz
	"$NUMALAT" convert long.csv a.csv.gz --force 2>errors 3>&- &
	pid=$!
	eventually is_writing "$pid"
	kill "$pid" 2>/dev/null || true
	wait "$pid" || status=$?
	[[ $status -ne 0 ]] || skip "it was done before the signal came"
	[[ $status -eq 1 && $(<errors) == "numalat: a.csv.gz: not written: stopped by SIGTERM" ]] ||
		fail "$status: $(<errors)"
	gives "what was there" cat a.csv.gz
	run ! compgen -G 'a.csv.gz.??????'
}

@test "the texts are those of docs/schema/trace-1.json" {
	local python

	"$NUMALAT" convert one.csv one.nlt
	"$NUMALAT" convert arms.csv arms.nlt
	"$NUMALAT" convert arms.csv far.nlt --arm far
	head -c -20 one.csv >cut.csv
	run -1 "$NUMALAT" convert cut.csv cut.nlt
	for file in one arms far cut; do
		texts "$file.nlt" >>lines
	done
	python=$(python_with_jsonschema) || skip "no python3 here has jsonschema"
	"$python" - "$NUMAKIT_SOURCE/docs/schema/trace-1.json" lines <<-'EOF' >&2
		import json, sys
		from jsonschema import Draft202012Validator

		schema = json.load(open(sys.argv[1], encoding="utf-8"))
		head, end = (Draft202012Validator({**schema, "anyOf": [{"$ref": f"#/$defs/{name}"}]})
		             for name in ("head", "end"))
		lines = open(sys.argv[2], encoding="utf-8").read().splitlines()
		assert len(lines) == 8
		for number, line in enumerate(lines):
		    (end if number % 2 else head).validate(json.loads(line))
	EOF
}

@test "the example of docs/trace-format.md is what the program writes" {
	local page=$NUMAKIT_SOURCE/docs/trace-format.md

	sed -n '/^```csv$/,/^```$/p' "$page" | sed '1d;$d' >example.csv
	sed -n '/^```hex$/,/^```$/p' "$page" | sed '1d;$d' >wanted
	[[ -s example.csv && -s wanted ]]
	"$NUMALAT" convert example.csv example.nlt
	od -A x -t x1z -v example.nlt >found
	diff wanted found
}

@test "the reader of docs/trace-format.md reads what the program writes" {
	local page=$NUMAKIT_SOURCE/docs/trace-format.md

	sed -n '/^```python$/,/^```$/p' "$page" | sed '1d;$d' >reader.py
	"$NUMALAT" convert arms.csv arms.nlt
	"$NUMALAT" convert one.csv one.nlt
	gives "$(sed 1d one.csv | awk -F, '{ print $4, $6, $8, $9, $3, 0 }')" "$PYTHON" reader.py one.nlt
	gives "$(sed 1d arms.csv | awk -F, '{ print $4, $6, $8, $9, $3, $10 == "far" ? 0 : 1 }')" \
		"$PYTHON" reader.py arms.nlt
}
