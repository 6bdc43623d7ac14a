#!/bin/bash
# From a fresh Debian 12 to a program pinned near a network card: installs what a build needs,
# builds a release in build/release, and runs the main job. As root or with sudo; safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
. examples/packages.sh

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

# Shows a command as it would be typed, then runs it.
run() {
	say "\$ $*"
	"$@"
}

# The first network interface that stands on hardware.
first_nic() {
	local link
	for link in /sys/class/net/*; do
		case $(readlink "$link") in
		*/virtual/* | '') ;;
		*)
			basename "$link"
			return
			;;
		esac
	done
}

say "1. Packages and build"
install_packages "${build_packages[@]}"
mkdir -p build
build() {
	cmake --preset release && cmake --build --preset release --parallel "$(nproc)"
}
if ! build >build/quickstart.log 2>&1; then
	tail -n 30 build/quickstart.log >&2
	echo "quickstart.sh: the build failed; the whole log is in build/quickstart.log" >&2
	exit 1
fi
built=$PWD/build/release
PATH=$built/probe:$built/launcher:$built/counters:$built/server:$built/server/client:$built/examples:$PATH
echo "built: build/release/probe/numaprobe, build/release/launcher/numarun, build/release/counters/numacount, build/release/server/numastore, build/release/server/client/numalat"

say "2. What this host looks like"
run numaprobe report

say "3. Which cores are best for a card, on a host with 16 nodes (a fixture)"
run numaprobe rank enp193s0f1np1 --root tests/fixtures/hosts/ejfat-2

say "4. A program near this host's card, verified"
nic=$(first_nic)
if [ -n "$nic" ]; then
	run numarun --near "$nic" --explain -- where
else
	echo "this host shows no network card on hardware; by node instead:"
	run numarun -N 0 --explain -- where
fi

say "5. What this host can count, and why not more"
run numacount explain || true # 1 says that memory controllers and links cannot be counted here

say "6. The main job at small size: server and client placed, verified, counted, measured"
run examples/main_job.sh "$nic"
