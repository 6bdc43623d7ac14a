#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# lookup.sh RESULTS NAME: the verdict on one check of a guest, as an exit status. RESULTS is the
# results.txt of run_guest.sh; when the check failed, its own words are printed. 77: the machine cannot
# be emulated here.
set -euo pipefail

fail() {
	echo "lookup.sh: $*" >&2
	exit 1
}

[ $# -eq 2 ] || fail "usage: lookup.sh RESULTS NAME"
readonly results=$1 name=$2

[ -f "$results" ] || fail "$results: no such file (the guest has not been run)"
if grep '^skipped: ' "$results"; then
	exit 77
fi
if grep -qxF -- "not ok $name" "$results"; then
	NAME=$name awk '/^(not )?ok / { mine = $0 == "not ok " ENVIRON["NAME"] } mine' "$results"
	exit 1
fi
grep -qxF -- "ok $name" "$results" || fail "the guest never reached this check"
