#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# The JSON contract: every document that the programs print about every host at hand is one that its
# schema in docs/schema allows.

# shellcheck disable=SC2016,SC2153

load common
load counting

COUNTERS=$NUMAKIT_SOURCE/tests/fixtures/counters

setup() {
	documents=$BATS_TEST_TMPDIR
	count=0
}

# keep COMMAND...: its document, when it prints one, for validating.
keep() {
	count=$((count + 1))
	"$@" >"$documents/$count.json" 2>/dev/null || true
	[[ -s $documents/$count.json ]] || rm "$documents/$count.json"
}

# wants_document COMMAND...: the same of one that must print a document, whatever its exit status.
wants_document() {
	keep "$@"
	[[ -e $documents/$count.json ]] || fail "$*: no document"
}

# The names of the devices in the report that was kept last.
devices() {
	"$PYTHON" -c 'import json, sys
for device in json.load(open(sys.argv[1]))["devices"]: print(device["name"])' \
		"$documents/$count.json"
}

# keep_service LINE OPTION...: the plan for a service of roles, two of them with that line in them.
keep_service() {
	local line=$1 file=$documents/service.ini

	shift
	cat >"$file" <<-END
		[role server]
		$line
		count = 1
		mem = local
		command = ./server 'a b'
		[role client]
		$line
		count = 1
		after = server
		instances = 2
		far = yes
		command = ./client
		[role rest]
		command = ./rest
	END
	keep "$NUMARUN" "$@" --dry-run --roles "$file"
}

# document_all OPTION...: everything there is to print about one host.
document_all() {
	local device

	keep "$NUMAPROBE" report "$@" --json
	[[ -e $documents/$count.json ]] || fail "numaprobe report $* --json: no document"
	for device in $(devices); do
		keep_service "near = $device" "$@"
		keep "$NUMAPROBE" rank "$@" --json "$device"
		keep "$NUMARUN" "$@" --dry-run --near "$device" -- ./server "$device"
		keep "$NUMARUN" "$@" --dry-run --near "$device" --count 3 --smt --far
		keep "$NUMASTORE" "$@" --dry-run --numa "$device" --memory 64M --sub-memory 32M --place a/=far
	done
	keep "$NUMASTORE" "$@" --dry-run --memory 64M
	keep_service "" "$@"
	keep "$NUMARUN" "$@" --dry-run -N all -m all -b
	keep "$NUMARUN" "$@" --dry-run -C +0 -i all
	keep "$NUMARUN" "$@" --dry-run -p +0
	keep "$NUMARUN" "$@" --dry-run -P all
	keep "$NUMARUN" "$@" --dry-run -w all
	keep "$NUMARUN" "$@" --dry-run -l
	keep "$NUMARUN" "$@" --dry-run
}

validate_all() {
	validates "$documents"/*.json
	echo "# $(find "$documents" -name '*.json' | wc -l) documents" >&3
}

@test "the schemas are schemas, and describe every key" {
	local interpreter

	interpreter=$(python_with_jsonschema) || skip "no python3 here has jsonschema"
	"$interpreter" - "$NUMAKIT_SOURCE"/docs/schema/*.json <<-'EOF' >&2
		import json, sys
		from jsonschema import Draft202012Validator

		def check(where, schema):
		    if schema.get("type") == "object":
		        if schema.get("additionalProperties") is not False:
		            sys.exit(f"{where}: additionalProperties is not false")
		        for key, value in schema["properties"].items():
		            if not value.get("description"):
		                sys.exit(f"{where}.{key}: not described")
		    for part in list(schema.get("properties", {}).items()) + \
		            list(schema.get("$defs", {}).items()) + \
		            [("[]", schema[key]) for key in ("items",) if key in schema]:
		        check(f"{where}.{part[0]}", part[1])

		for file in sys.argv[1:]:
		    schema = json.load(open(file, encoding="utf-8"))
		    Draft202012Validator.check_schema(schema)
		    check(file, schema)
	EOF
}

@test "a document that is not allowed is found out" {
	local document=$documents/wrong.json

	"$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --json | sed 's/"cpus": "80-87"/"cpus": "80-"/' >"$document"
	python_with_jsonschema >/dev/null || skip "no python3 here has jsonschema"

	run validates "$document"
	[[ $status -ne 0 && $output == *"tiers[0].cpus"* ]] || fail "$output"
}

@test "documents about the captured hosts" {
	local host

	for host in "$HOSTS"/*/sys; do
		document_all --root "${host%/sys}"
	done
	wants_document "$NUMASTORE" --root "$EJFAT2" --dry-run --numa "$NIC" --memory 64M --perverse
	validate_all
}

@test "documents about this host" {
	document_all
	wants_document "$NUMASTORE" --dry-run --numa "$(first_memory_node)" --memory 64M --perverse --cores 3 \
		--place a/=local --place b/=far --place c/="node:$(first_memory_node)"
	validate_all
}

@test "documents about programs that were run here" {
	local cpu

	cpu=$(allowed_cpus | head -n 1)
	cd "$documents"
	printf '%s\n' '[role one]' 'command = sleep 0.2' '[role two]' 'command = false' >service.ini
	run "$NUMARUN" --verify=one.json -- sleep 0.2
	run "$NUMARUN" --verify=two.json -C "$cpu" -m "$(first_memory_node)" -- sleep 0.2
	run "$NUMARUN" --verify=three.json -C "$cpu" -- sh -c 'kill -KILL $$'
	run -127 "$NUMARUN" --verify=four.json -C "$cpu" -- ./missing $'\xff'
	run "$NUMARUN" --verify=five.json --roles service.ini
	[[ -s one.json && -s three.json && -s four.json && -s five.json ]]
	# Where memory policies are refused nothing was run, and nothing written.
	[[ -s two.json ]] || rm two.json
	validate_all
}

@test "documents about a card whose node is unknown" {
	local host=$BATS_TEST_TMPDIR/host file

	cp -R --no-dereference "$EJFAT2" "$host"
	while read -r file; do
		echo -1 >"$file"
		echo 0-127 >"${file%numa_node}local_cpulist"
	done < <(find "$host/sys/devices/pci0000:c0" -name numa_node)

	document_all --root "$host"
	keep "$NUMAPROBE" rank --root "$host" --json "$NIC" --node 3
	keep "$NUMAPROBE" rank --root "$host" --json lo --node 3
	validate_all
}

@test "documents about bonds" {
	host_with_bond "$BATS_TEST_TMPDIR/host"
	document_all --root "$BATS_TEST_TMPDIR/host"
	validate_all
}

# document_counters OPTION...: what there is to print about the counters of one host.
document_counters() {
	wants_document "$NUMACOUNT" explain "$@" --json
	wants_document "$NUMACOUNT" list "$@" --json
	keep "$NUMACOUNT" list "$@" --counters --json
}

@test "documents about the counters of captured hosts" {
	local host

	for host in "$COUNTERS"/*/sys "$HOSTS"/*/sys; do
		document_counters --root "${host%/sys}"
	done
	# As another family, whose PMUs are not there.
	for host in "$COUNTERS"/{icx-2s,unknown-cpu}; do
		document_counters --root "$host" --family zen4
		document_counters --root "$host" --family spr
	done
	wants_document "$NUMACOUNT" list --families --json
	validate_all
}

@test "documents about this host's counters" {
	local source

	document_counters
	keep "$NUMACOUNT" stat --json --duration 0.05
	keep "$NUMACOUNT" stat --json --home -- true
	keep "$NUMACOUNT" stat --json --allow-fallback -- true
	for source in uncore resctrl core numastat; do
		keep "$NUMACOUNT" stat --json --source "$source" -- true
	done
	keep "$NUMACOUNT" matrix --json -- true
	validate_all
}

@test "documents about what was counted here" {
	cd "$documents"
	write_links
	needs_counting
	wants_document "$NUMACOUNT" stat --json --events software.ini --family software -I 10 -- sleep 0.1
	wants_document "$NUMACOUNT" stat --json --events links.ini --family links --peak 4 --duration 0.05
	wants_document "$NUMACOUNT" stat --json --events links.ini --family links -- sh -c 'kill -KILL $$'
	wants_document "$NUMACOUNT" stat --json --events links.ini --family links -- sh -c : $'\xff'
	wants_document "$NUMACOUNT" matrix --json --events links.ini --family links -- true
	wants_document "$NUMACOUNT" explain --json --events links.ini --family links
	wants_document "$NUMACOUNT" list --json --events links.ini --family links
	validate_all
}

@test "rows of what was counted here" {
	local python

	cd "$documents"
	write_links
	needs_counting
	"$NUMACOUNT" record --events software.ini --family software -I 10 --duration 0.05 -o one.jsonl 2>&1
	"$NUMACOUNT" record --events links.ini --family links --peak 4 -I 10 -o two.jsonl -- sleep 0.05 2>&1
	"$NUMACOUNT" record --source numastat -I 10 -o three.jsonl --duration 0.05 2>&1 || rm -f three.jsonl
	python=$(python_with_jsonschema) || skip "no python3 here has jsonschema"
	"$python" - "$NUMAKIT_SOURCE/docs/schema/record-1.json" ./*.jsonl <<-'EOF' >&2
		import json, sys
		from jsonschema import Draft202012Validator

		schema = json.load(open(sys.argv[1], encoding="utf-8"))
		header, row = (Draft202012Validator({**schema, "anyOf": [{"$ref": f"#/$defs/{name}"}]})
		               for name in ("header", "row"))
		for file in sys.argv[2:]:
		    lines = open(file, encoding="utf-8").read().splitlines()
		    assert len(lines) > 1, file
		    for number, line in enumerate(lines):
		        (row if number else header).validate(json.loads(line))
	EOF
}

@test "documents about other machines' hwloc exports" {
	local xml

	[[ -d $NUMAKIT_TOPOLOGIES ]] || skip "no topologies: NUMAKIT_TOPOLOGIES is '$NUMAKIT_TOPOLOGIES'"

	for xml in "$NUMAKIT_TOPOLOGIES"/*.xml "$NUMAKIT_TOPOLOGIES"/*/*.xml; do
		[[ ! -e $xml ]] || document_all --xml "$xml"
	done
	validate_all
}

@test "an argument that is no UTF-8 is escaped, not a broken document" {
	keep "$NUMARUN" --dry-run -- ./server $'\xff'

	output=$(<"$documents/1.json")
	json_is "['./server', '\\\\xff']" 'd["command"]'
	validate_all
}

@test "the sequence of keys is told as its schema says" {
	wants_document "$NUMALAT" sequence --json
	wants_document "$NUMALAT" sequence --json --seed 0 -k 1 -n 1 --workers 3
	validate_all
	refuses 2 "--print or --json, not both" "$NUMALAT" sequence --json --print 1
}
