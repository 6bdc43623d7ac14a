# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of the command lines share. ctest says which programs to test; by hand it is the
# build in build/dev.

bats_require_minimum_version 1.5.0

: "${NUMAKIT_SOURCE:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
: "${NUMAPROBE:=$NUMAKIT_SOURCE/build/dev/probe/numaprobe}"
: "${NUMARUN:=$NUMAKIT_SOURCE/build/dev/launcher/numarun}"
: "${WHERE:=$NUMAKIT_SOURCE/build/dev/examples/where}"
: "${NUMAKIT_TOPOLOGIES:=}"
export NUMAKIT_SOURCE NUMAPROBE NUMARUN WHERE NUMAKIT_TOPOLOGIES
export LC_ALL=C

# Debian's, which starts faster than the wrappers that may come first in PATH.
PYTHON=/usr/bin/python3
[[ -x $PYTHON ]] || PYTHON=python3

HOSTS=$NUMAKIT_SOURCE/tests/fixtures/hosts
EJFAT2=$HOSTS/ejfat-2
ODD=$HOSTS/vm-odd
NIC=enp193s0f1np1
export PYTHON HOSTS EJFAT2 ODD NIC

fail() {
	printf '%s\n' "$@" >&2
	return 1
}

# What the last command did, for a failing test.
# shellcheck disable=SC2154
told() {
	printf 'command: %s\nstatus: %s\nstdout:\n%s\nstderr:\n%s\n' \
		"${BATS_RUN_COMMAND-}" "$status" "$output" "$stderr"
}

# gives TEXT COMMAND...: the command succeeds, prints just TEXT, and nothing on standard error.
gives() {
	local want=$1

	shift
	run --separate-stderr "$@"
	[[ $status -eq 0 && $output == "$want" && -z $stderr ]] ||
		fail "$(told)" "wanted: status 0 and just this:" "$want"
}

# refuses STATUS TEXT COMMAND...: the command ends with STATUS, prints nothing on standard output, and
# on standard error one line, "program: ...", with TEXT in it.
refuses() {
	local want=$1 text=$2

	shift 2
	run "-$want" --separate-stderr "$@"
	[[ -z $output ]] || fail "$(told)" "wanted: nothing on standard output"
	[[ $stderr == numa*": "*"$text"* && $stderr != *$'\n'* ]] ||
		fail "$(told)" "wanted: one line on standard error with '$text' in it"
}

# json EXPRESSION: that Python expression over d, the document in $output.
json() {
	"$PYTHON" -c 'import json, sys; d = json.loads(sys.argv[1]); print(eval(sys.argv[2]))' \
		"$output" "$1"
}

# json_is TEXT EXPRESSION: it prints as TEXT.
json_is() {
	local got

	got=$(json "$2")
	[[ $got == "$1" ]] || fail "$(told)" "$2 is '$got', wanted '$1'"
}

# The python3 that has jsonschema: Debian's, or else the one in PATH.
python_with_jsonschema() {
	local python

	for python in "$PYTHON" python3; do
		if "$python" -c 'import jsonschema' 2>/dev/null; then
			echo "$python"
			return
		fi
	done
	return 1
}

# validates FILE...: each holds a document that its schema in docs/schema allows.
validates() {
	local python

	python=$(python_with_jsonschema) || skip "no python3 here has jsonschema"
	"$python" - "$NUMAKIT_SOURCE/docs/schema" "$@" <<-'EOF'
		import json, sys
		from jsonschema import Draft202012Validator

		folder, *files = sys.argv[1:]
		bad = 0
		for file in files:
		    document = json.load(open(file, encoding="utf-8"))
		    project, name, version = document["schema"].split("/")
		    schema = json.load(open(f"{folder}/{name}-{version}.json", encoding="utf-8"))
		    for error in Draft202012Validator(schema).iter_errors(document):
		        bad += 1
		        print(f"{file}: {error.json_path}: {error.message}", file=sys.stderr)
		sys.exit(bad > 0)
	EOF
}

# This host refuses memory policies in some containers; what needs one cannot be tested there.
needs_memory_policy() {
	run "$NUMARUN" --localalloc -- true
	[[ $status -eq 0 ]] || skip "no memory policies here: $output"
}

# The CPUs this process may use, one a line.
allowed_cpus() {
	local list range

	list=$(sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status)
	for range in ${list//,/ }; do
		seq "${range%-*}" "${range#*-}"
	done
}

# The first node this process may allocate from.
first_memory_node() {
	sed -n 's/^Mems_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status
}
