#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# build_module.sh KERNEL_DIR OUT_DIR: builds module/uncore_test.c for the guests' kernel, against the
# headers that fetch_kernel.sh put into KERNEL_DIR; OUT_DIR/uncore_test.ko is what comes of it.
#
# Needs make, gcc-12, the compiler of that kernel, and libelf1 for a tool of the kernel's that checks
# the code. A second call with the same source and kernel returns at once.
set -euo pipefail

fail() {
	echo "build_module.sh: $*" >&2
	exit 1
}

[ $# -eq 2 ] || fail "usage: build_module.sh KERNEL_DIR OUT_DIR"
here=$(cd "$(dirname "$0")" && pwd)
kernel=$(realpath -m "$1")
mkdir -p "$2"
out=$(realpath "$2")
readonly here kernel out

[ -f "$kernel/version" ] ||
	fail "$kernel: no kernel there (run tests/vm/fetch_kernel.sh $kernel)"
for tool in make gcc-12; do
	command -v "$tool" >/dev/null || fail "$tool: not found (apt-get install make gcc-12 libelf1)"
done

exec 9>"$out/.lock"
flock 9

# What it would be built from.
stamp=$(cat "$kernel/version" "$here"/module/* | sha256sum)
if [ -e "$out/uncore_test.ko" ] && [ "$(cat "$out/stamp" 2>/dev/null)" = "$stamp" ]; then
	exit 0
fi

rm -rf "$out/source" "$out/stamp"
cp -R "$here/module" "$out/source"
headers=("$kernel"/headers/src/linux-headers-*-cloud-amd64)
make -C "${headers[0]}" M="$out/source" KCFLAGS=-Werror modules >"$out/build.log" 2>&1 || {
	tail -n 20 "$out/build.log" >&2
	fail "the module does not build"
}
mv "$out/source/uncore_test.ko" "$out/uncore_test.ko"
rm -rf "$out/source"
echo "$stamp" >"$out/stamp"
