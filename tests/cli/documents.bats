#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What the documents show: each line "$ command" in a block of README.md is run in the root of the
# source, and what follows it up to the next one or the end of the block must be what it prints,
# errors included. And what they point to is there.

load common

setup() {
	mkdir "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/examples" "$BATS_TEST_TMPDIR/root"
	ln -s "$(realpath "$NUMAPROBE")" "$BATS_TEST_TMPDIR/bin/numaprobe"
	ln -s "$(realpath "$NUMARUN")" "$BATS_TEST_TMPDIR/bin/numarun"
	ln -s "$(realpath "$NUMACOUNT")" "$BATS_TEST_TMPDIR/bin/numacount"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
	# As the root of the source, where files may be written.
	ln -s "$NUMAKIT_SOURCE/tests" "$BATS_TEST_TMPDIR/root/tests"
}

# Writes the examples of README.md to N.command and N.wanted.
extract() {
	awk -v folder="$BATS_TEST_TMPDIR/examples" '
		/^```/ { inside = !inside; shown = 0 }
		inside && sub(/^\$ /, "") { print >(folder "/" ++count ".command"); shown = 1; next }
		inside && shown { print >(folder "/" count ".wanted") }' "$NUMAKIT_SOURCE/README.md"
}

@test "the examples of README.md are true" {
	local file command differ=0

	extract
	cd "$BATS_TEST_TMPDIR/root"
	for file in "$BATS_TEST_TMPDIR"/examples/*.command; do
		[[ -e $file ]] || fail "no example"
		command=$(<"$file")
		touch "${file%.command}.wanted"
		diff -u --label "README.md: $command" "${file%.command}.wanted" --label "what it prints" \
			<(bash -c "$command" 2>&1) >&2 || differ=$((differ + 1))
	done
	[[ $differ -eq 0 ]] || fail "$differ examples differ"
}

@test "links in the documents lead somewhere" {
	local file target bad=0

	cd "$NUMAKIT_SOURCE"
	while IFS=: read -r file target; do
		target=${target#](}
		target=${target%)}
		[[ $target == http*:* || $target == "#"* || -e ${file%/*}/${target%%#*} ]] && continue
		echo "$file: $target" >&2
		bad=$((bad + 1))
	done < <(grep -oHE '\]\([^)]+\)' ./*.md docs/*.md docs/decisions/*.md tests/*.md)
	[[ $bad -eq 0 ]] || fail "$bad links lead nowhere"
}

@test "each decision is told of where the code is explained, or by another document" {
	local page

	cd "$NUMAKIT_SOURCE"
	for page in docs/decisions/*.md; do
		grep -rqF "${page##*/}" README.md CONTRIBUTING.md docs/*.md docs/decisions counters launcher probe server \
			--include='*.md' --include='*.[ch]' --include=CMakeLists.txt --exclude="${page##*/}" ||
			fail "nothing leads to $page"
	done
}

@test "files that the tour names are there" {
	local name bad=0
	local files

	cd "$NUMAKIT_SOURCE"
	files=$(find ./probe ./launcher ./counters ./server -type f)
	while read -r name; do
		[[ $files == *"/$name"* ]] && continue
		echo "docs/tour.md: $name" >&2
		bad=$((bad + 1))
	done < <(grep -oE '`[a-z0-9_/]+\.(c|h|cmake)`' docs/tour.md | tr -d '`' | sort -u)
	[[ $bad -eq 0 ]] || fail "$bad files are not there"
}
