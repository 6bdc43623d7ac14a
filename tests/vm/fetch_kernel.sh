#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fetch_kernel.sh DIR: puts Debian's 6.12 cloud kernel into DIR, for run_guest.sh.
#
# The package is downloaded and unpacked, never installed, so no root is needed. DIR then holds
#   vmlinuz       the kernel
#   modules/*.ko  what the guests may load, decompressed
#   headers/      what modules are built with (build_module.sh)
#   version       the package they came from; written last, so it says that the rest is whole
# A second call for the same kernel returns at once.
set -euo pipefail

readonly META=linux-image-6.12-cloud-amd64

# What the headers of a kernel are made of, RELEASE standing for its name without the flavour.
readonly HEADERS=(
	linux-headers-RELEASE-cloud-amd64 linux-headers-RELEASE-common linux-kbuild-RELEASE
)

# What the guests' network cards need, and bonds of them; a module after those it needs itself.
readonly MODULES=(
	net/core/failover drivers/net/net_failover drivers/net/virtio_net
	net/tls/tls drivers/net/bonding/bonding
)

fail() {
	echo "fetch_kernel.sh: $*" >&2
	exit 1
}

# Prints the package that holds the kernel: the metapackage depends on it by its full version.
resolve() {
	apt-cache show --no-all-versions "$META" 2>/dev/null |
		sed -n 's/^Depends: *\(linux-image-[^ ,]*\).*/\1/p'
}

download() { # PACKAGE DIRECTORY
	local sandbox=()

	# apt drops root for the download and then could not write here.
	[ "$(id -u)" -ne 0 ] || sandbox=(-o APT::Sandbox::User=root)
	(cd "$2" && apt-get "${sandbox[@]}" -qq download "$1") >"$2/apt.log" 2>&1 ||
		fail "apt-get download $1: $(tail -n 1 "$2/apt.log")" \
			"(are the package lists old? run apt-get update)"
}

# Takes what the guests need out of the unpacked package FROM, into TO.
keep() { # FROM TO
	local release module

	release=$(basename "$1"/lib/modules/*)
	mkdir "$2/modules"
	mv "$1/boot/vmlinuz-$release" "$2/vmlinuz"
	for module in "${MODULES[@]}"; do
		xz -dc "$1/lib/modules/$release/kernel/$module.ko.xz" \
			>"$2/modules/$(basename "$module").ko" ||
			fail "$release has no module $module"
	done
}

# Puts the headers for the kernel PACKAGE into TO/headers: their packages' /usr, which are joined by
# relative links but for one Makefile. vmlinux is there for type information, which our modules do not
# have.
fetch_headers() { # PACKAGE WORK TO
	local release=${1#linux-image-} package
	release=${release%-cloud-amd64}

	mkdir "$2/headers"
	for package in "${HEADERS[@]/RELEASE/$release}"; do
		download "$package" "$2/headers"
		dpkg -x "$2/headers/$package"_*.deb "$2/headers/unpacked" ||
			fail "$package: dpkg could not unpack it"
	done
	mv "$2/headers/unpacked/usr" "$3/headers"
	rm -rf "$3/headers/share" "$3/headers/src/linux-headers-$release-cloud-amd64/vmlinux"
	sed -i "s,/usr/src/,../," "$3/headers/src/linux-headers-$release-cloud-amd64/Makefile"
}

[ $# -eq 1 ] || fail "usage: fetch_kernel.sh DIR"
readonly dir=$1
readonly wanted="$META ${MODULES[*]} ${HEADERS[*]}"

mkdir -p "$dir" || exit 1
exec 9>"$dir/.lock"
flock 9 # builds that share a cache fetch once

if [ -e "$dir/version" ] && [ "$(sed -n 2p "$dir/version")" = "$wanted" ]; then
	exit 0
fi

for tool in apt-get apt-cache dpkg xz; do
	command -v "$tool" >/dev/null ||
		fail "$tool: not found (the kernel comes from a Debian package)"
done

package=$(resolve)
[ -n "$package" ] ||
	fail "apt knows no $META (Debian 12 with its security archive has it; run apt-get update)"

work=$(mktemp -d "$dir/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/new"

download "$package" "$work"
dpkg -x "$work/$package"_*.deb "$work/unpacked" || fail "$package: dpkg could not unpack it"
keep "$work/unpacked" "$work/new"
fetch_headers "$package" "$work" "$work/new"

rm -rf "$dir/version" "$dir/modules" "$dir/headers" "$dir/vmlinuz"
mv "$work/new"/* "$dir"
printf '%s\n%s\n' "$package" "$wanted" >"$dir/version"
