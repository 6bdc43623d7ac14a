#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# The man pages' examples: each line "$ command" in a literal display is run, and what follows it up
# to the next one or the end of the display must be what it prints, errors included.

load common

PROBE_MAN=$BATS_TEST_DIRNAME/../../probe/numaprobe.1
RUN_MAN=$BATS_TEST_DIRNAME/../../launcher/numarun.1
COUNT_MAN=$BATS_TEST_DIRNAME/../../counters/numacount.1
LAT_MAN=$BATS_TEST_DIRNAME/../../server/client/numalat.1
STORE_MAN=$BATS_TEST_DIRNAME/../../server/numastore.1

setup() {
	mkdir "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/examples"
	ln -s "$(realpath "$NUMAPROBE")" "$BATS_TEST_TMPDIR/bin/numaprobe"
	ln -s "$(realpath "$NUMARUN")" "$BATS_TEST_TMPDIR/bin/numarun"
	ln -s "$(realpath "$NUMACOUNT")" "$BATS_TEST_TMPDIR/bin/numacount"
	ln -s "$(realpath "$NUMALAT")" "$BATS_TEST_TMPDIR/bin/numalat"
	ln -s "$(realpath "$NUMASTORE")" "$BATS_TEST_TMPDIR/bin/numastore"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
	cd "$HOSTS" || return
}

# Writes the examples of PAGE to N.command and N.wanted, as a reader sees them.
extract() { # PAGE
	awk -v folder="$BATS_TEST_TMPDIR/examples" '
		/^\.Ed/ { inside = 0 }
		inside {
			gsub(/\\-/, "-")
			gsub(/\\\(aq/, "\047")
			gsub(/\\&/, "")
			gsub(/\\e/, "\\")
			if (sub(/^\$ /, ""))
				print >(folder "/" ++count ".command")
			else if (count)
				print >(folder "/" count ".wanted")
		}
		/^\.Bd -literal/ { inside = 1 }' "$1"
}

# check_examples PAGE
check_examples() {
	local file command differ=0 count=0

	extract "$1"
	for file in "$BATS_TEST_TMPDIR"/examples/*.command; do
		[[ -e $file ]] || fail "$1: no example"
		command=$(<"$file")
		touch "${file%.command}.wanted"
		count=$((count + 1))
		diff -u --label "$1: $command" "${file%.command}.wanted" --label "what it prints" \
			<(bash -c "$command" 2>&1) >&2 || differ=$((differ + 1))
	done
	[[ $differ -eq 0 ]] || fail "$differ of $count examples differ"
}

@test "the examples of numaprobe(1) are true" {
	check_examples "$PROBE_MAN"
}

@test "the examples of numarun(1) are true" {
	check_examples "$RUN_MAN"
}

@test "the examples of numacount(1) are true" {
	cd "$NUMAKIT_SOURCE/tests/fixtures/counters"
	check_examples "$COUNT_MAN"
}

@test "the examples of numalat(1) are true" {
	check_examples "$LAT_MAN"
}

@test "the examples of numastore(1) are true" {
	check_examples "$STORE_MAN"
}

@test "the man pages have the sections that a reader looks for" {
	local page section

	for page in "$PROBE_MAN" "$RUN_MAN" "$COUNT_MAN" "$LAT_MAN" "$STORE_MAN"; do
		for section in NAME SYNOPSIS DESCRIPTION OPTIONS OUTPUT FILES "EXIT STATUS" \
			PRIVILEGES EXAMPLES "SEE ALSO"; do
			grep -qx "\.Sh $section" "$page" || fail "$page: no section $section"
		done
	done
	for page in "$PROBE_MAN" "$RUN_MAN"; do
		grep -qx "\.Sh DEVICES" "$page" || fail "$page: no section DEVICES"
	done
	for section in COMMANDS TRACES; do
		grep -qx "\.Sh $section" "$LAT_MAN" || fail "$LAT_MAN: no section $section"
	done
	for section in COMMANDS SOURCES "EVENT TABLES"; do
		grep -qx "\.Sh $section" "$COUNT_MAN" || fail "$COUNT_MAN: no section $section"
	done
}

@test "mandoc has no warning about the man pages" {
	command -v mandoc >/dev/null || skip "mandoc is not installed"

	run mandoc -T lint -W warning "$PROBE_MAN" "$RUN_MAN" "$COUNT_MAN" "$LAT_MAN" "$STORE_MAN"
	[[ $status -eq 0 ]] || fail "$output"
}

@test "man has no warning about the man pages" {
	local page warnings

	man --version >/dev/null 2>&1 || skip "man is not installed"

	for page in "$PROBE_MAN" "$RUN_MAN" "$COUNT_MAN" "$LAT_MAN" "$STORE_MAN"; do
		warnings=$(MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -l "$page" 2>&1 >/dev/null)
		[[ -z $warnings ]] || fail "$page: $warnings"
	done
}
