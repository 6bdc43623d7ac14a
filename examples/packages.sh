# shellcheck shell=bash disable=SC2034 # the lists are used by those who source this
# Debian packages by name, for quickstart.sh and tests/run.sh; sourced by both.

# What a build needs.
build_packages=(gcc libc6-dev cmake make pkg-config libhwloc-dev libinih-dev libjansson-dev
	libmicrohttpd-dev libpfm4-dev libsmartcols-dev liburing-dev libxxhash-dev zlib1g-dev)

# What the tests need besides: peers, emulator, kernel, checkers.
test_packages=(g++ libcmocka-dev bats numactl hwloc memcached libmemcached-tools nginx-light wrk jq python3
	python3-jsonschema python3-pymemcache curl python3-scipy bsdextrautils
	clang clang-format clang-tidy libclang-rt-dev llvm shellcheck codespell mandoc man-db groff
	qemu-system-x86 gcc-12 libelf1 gnuplot-nox prometheus linux-perf busybox-static cpio xz-utils bzip2 util-linux iproute2 binutils file procps
	git)

# install_packages NAME...: installs those that are missing, as root or through sudo.
install_packages() {
	local missing=() name sudo=()
	for name in "$@"; do
		dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' ||
			missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || {
			echo "these packages are missing, and there is no sudo to install them: ${missing[*]}" >&2
			return 1
		}
		sudo=(sudo)
	fi
	echo "installing: ${missing[*]}"
	"${sudo[@]}" apt-get update -qq || echo "apt-get update failed; trying with the lists at hand" >&2
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
