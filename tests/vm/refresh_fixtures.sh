#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# refresh_fixtures.sh BUILD_DIR: makes the captures that the last VM tests in BUILD_DIR took the
# fixtures tests/fixtures/hosts/vm-MACHINE. Files there that are no part of a capture (README, what
# a test expects) stay.
set -euo pipefail

fail() {
	echo "refresh_fixtures.sh: $*" >&2
	exit 1
}

[ $# -eq 1 ] || fail "usage: refresh_fixtures.sh BUILD_DIR"
here=$(cd "$(dirname "$0")" && pwd)
readonly here build=$1

for file in "$here"/machines/*.machine; do
	machine=$(basename "$file" .machine)
	capture=$build/vm/$machine/capture
	fixture=$here/../fixtures/hosts/vm-$machine

	[ -d "$capture/sys" ] || fail "$capture: no capture (run ctest -L vm in $build first)"
	mkdir -p "$fixture"
	rm -rf "$fixture/sys" "$fixture/proc"
	cp -R --no-dereference --preserve=links "$capture/sys" "$capture/proc" "$fixture/"
	echo "$(realpath --relative-to="$PWD" "$fixture"): $(find "$fixture" | wc -l) entries"
done
