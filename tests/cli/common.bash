# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of the command lines share. ctest says which programs to test; by hand it is the
# build in build/dev.

bats_require_minimum_version 1.5.0

: "${NUMAKIT_SOURCE:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
: "${NUMAPROBE:=$NUMAKIT_SOURCE/build/dev/probe/numaprobe}"
: "${NUMARUN:=$NUMAKIT_SOURCE/build/dev/launcher/numarun}"
: "${NUMACOUNT:=$NUMAKIT_SOURCE/build/dev/counters/numacount}"
: "${NUMALAT:=$NUMAKIT_SOURCE/build/dev/server/client/numalat}"
: "${NUMASTORE:=$NUMAKIT_SOURCE/build/dev/server/numastore}"
: "${WHERE:=$NUMAKIT_SOURCE/build/dev/examples/where}"
: "${NUMAKIT_TOPOLOGIES:=}"
export NUMAKIT_SOURCE NUMAPROBE NUMARUN NUMACOUNT NUMALAT NUMASTORE WHERE NUMAKIT_TOPOLOGIES
export LC_ALL=C
export SHELL=/bin/sh # script(1) takes it, and refuses an empty one

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

# host_with_bond DIR: a copy of ejfat-2 in DIR with bond0 on its two cards, bond1 on one of them and
# eth2 of node 3, and bond1.7 on bond1.
host_with_bond() {
	local card=pci0000:20/0000:21:00.0 link name net=$1/sys/devices/virtual/net

	cp -R --no-dereference "$EJFAT2" "$1"
	mkdir -p "$1/sys/devices/$card/net/eth2" "$net"/{bond0,bond1,bond1.7}
	echo 3 >"$1/sys/devices/$card/numa_node"
	ln -s "../../devices/$card/net/eth2" "$1/sys/class/net/eth2"
	for name in bond0 bond1 bond1.7; do
		ln -s "../../devices/virtual/net/$name" "$1/sys/class/net/$name"
	done
	for name in enp193s0f0np0 "$NIC"; do
		link=$(readlink "$1/sys/class/net/$name")
		ln -s "../../../${link#../../devices/}" "$net/bond0/lower_$name"
	done
	ln -s "../../../${link#../../devices/}" "$net/bond1/lower_$NIC"
	ln -s "../../../$card/net/eth2" "$net/bond1/lower_eth2"
	ln -s ../bond1 "$net/bond1.7/lower_bond1"
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
# on standard error one line, "program: ...", with TEXT in it. What --exclusive says besides of tests that
# run at the same time does not count.
refuses() {
	local want=$1 text=$2

	shift 2
	run "-$want" --separate-stderr "$@"
	stderr=$(grep -v ' is pinned to CPU.* too, and is no numarun$' <<<"$stderr" || true)
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

# Wants CPU $cpu and another one, $other, to move things to.
# shellcheck disable=SC2034
needs_two_cpus() {
	cpu=$(allowed_cpus | sed -n 1p)
	other=$(allowed_cpus | sed -n 2p)
	[[ -n $other ]] || skip "one CPU only"
}

# ---- programs that run while a test looks at them ----

# start COMMAND...: runs it in the background; its number is $pid, and what it prints goes to the
# files $out and $errs. The signals that a shell switches off for what it starts so are switched on.
start() {
	STARTED_COUNT=$((${STARTED_COUNT:-0} + 1))
	out=$BATS_TEST_TMPDIR/started-$STARTED_COUNT.out
	errs=$BATS_TEST_TMPDIR/started-$STARTED_COUNT.err
	env --default-signal=INT,QUIT "$@" >"$out" 2>"$errs" 3>&- </dev/null &
	pid=$!
	STARTED+=("$pid")
}

# For teardown: ends what a test started and did not end, and the processes whose numbers are in the
# *.pid files that its programs wrote.
stop_started() {
	local number file

	for number in "${STARTED[@]}"; do
		kill -KILL "$number" 2>/dev/null || true
	done
	for file in "$BATS_TEST_TMPDIR"/*.pid; do
		[[ -s $file ]] || continue
		while read -r number; do
			kill -KILL "$number" 2>/dev/null || true
		done <"$file"
	done
	wait
}

# eventually COMMAND...: it succeeds, within ten seconds.
eventually() {
	local end=$((SECONDS + 10))

	while [[ $SECONDS -le $end ]]; do
		! "$@" || return 0
		sleep 0.01
	done
	fail "never came true: $*" "stdout:" "$(cat "${out:-/dev/null}")" "stderr:" "$(cat "${errs:-/dev/null}")"
}

# Whether a process is gone. One that has ended and is not waited for yet is.
is_gone() {
	local stat

	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	[[ ${stat##*) } == [ZX]* ]]
}

# ends STATUS: what start began last ends by itself, within ten seconds, with that status.
ends() {
	local got=0

	eventually is_gone "$pid"
	wait "$pid" || got=$?
	[[ $got -eq $1 ]] ||
		fail "status $got, wanted $1" "stdout:" "$(cat "$out")" "stderr:" "$(cat "$errs")"
}

# says TEXT, prints TEXT: what start began last does, on standard error or output, sooner or later.
says() {
	eventually grep -qF -e "$1" "$errs"
}

prints() {
	eventually grep -qF -e "$1" "$out"
}

# The CPUs that a process or thread may use, as the kernel writes them.
cpus_of() {
	sed -n 's/^Cpus_allowed_list:[^0-9]*//p' "/proc/$1/status"
}

# Whether they are these.
runs_on() {
	[[ $(cpus_of "$1") == "$2" ]]
}

# The processes that one has started and that are still there, one a line.
children_of() {
	cat /proc/[0-9]*/stat 2>/dev/null | sed -n "s/^\([0-9]*\) (.*) [^ ]* $1 .*/\1/p"
}
