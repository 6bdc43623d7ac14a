#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# run_guest.sh MACHINE BUILD_DIR OUT_DIR: boots the emulated machine machines/MACHINE.machine with
# the programs of BUILD_DIR and runs its checks there.
#
# It writes into OUT_DIR, and nowhere else:
#   results.txt  "ok NAME" or "not ok NAME" for each check, the latter with "# " lines saying why
#   console.log  what the guest printed
#   capture/     the guest's own /sys and /proc, as far as numaprobe reads them
# Status 0 means that the guest ran to its end, not that its checks passed: results.txt says that.
#
# The kernel is the one that fetch_kernel.sh put into $NUMAKIT_VM_KERNEL, else BUILD_DIR/vm/kernel.
# Software emulation, so no /dev/kvm and no root are needed; QEMU is killed at the machine's limit.
set -euo pipefail

# From the build: file in the build directory. Each goes to /usr/bin.
readonly BUILT=(probe/numaprobe launcher/numarun examples/where)
# From the host: the peers that the checks compare with.
readonly PEERS=(numactl hwloc-bind)

readonly CONSOLE_LINES=60

fail() {
	echo "run_guest.sh: $*" >&2
	exit 1
}

# fail, with the end of what the guest said.
fail_guest() {
	{
		echo "run_guest.sh: $machine: $*"
		echo "--- the last lines of $out/console.log:"
		tail -n "$CONSOLE_LINES" "$out/console.log"
		tail -n 10 "$out/qemu.log" | sed 's/^/qemu: /'
		echo "--- checks done so far: $(grep -c '^ok \|^not ok ' "$out/results.txt")"
	} >&2
	exit 1
}

# --- the machine file -----------------------------------------------------------------------------

# What the file says, for QEMU, for the kernel and for the guest's own scripts.
qemu_args=()
# lpj and tsc spare each emulated CPU the measuring of its clock, which a busy host draws out.
kernel_args=(console=ttyS0 panic=-1 quiet mitigations=off lpj=4000000 tsc=reliable)
guest_nics=()
guest_offline=
memory_mib=0
nic_count=0
limit_s=
checks=

machine_node() { # ID [cpus=LIST] [memory=MIB]
	local id=$1 word node
	shift

	node="node,nodeid=$id"
	for word in "$@"; do
		case $word in
		cpus=*)
			node+=",cpus=${word#cpus=}"
			;;
		memory=*)
			qemu_args+=(-object "memory-backend-ram,id=mem$id,size=${word#memory=}M")
			node+=",memdev=mem$id"
			memory_mib=$((memory_mib + ${word#memory=}))
			;;
		*)
			fail "$file: node $id: unknown word '$word'"
			;;
		esac
	done
	qemu_args+=(-numa "$node")
}

machine_distance() { # ID D0 D1 ...
	local from=$1 to=0
	shift

	for distance in "$@"; do
		# QEMU knows the 10 of a node to itself, and refuses to be told.
		[ "$to" -eq "$from" ] || qemu_args+=(-numa "dist,src=$from,dst=$to,val=$distance")
		to=$((to + 1))
	done
}

# A card knows its node from the host bridge above it. The guest names cards by their MAC address.
machine_nic() { # NAME [node=ID bus=HEX]
	local n=$((++nic_count)) mac bus=pcie.0 bridge

	mac=$(printf '52:54:00:00:00:%02x' "$n")
	if [ $# -eq 3 ]; then
		bridge=id=bridge$n,bus=pcie.0,numa_node=${2#node=},bus_nr=${3#bus=}
		qemu_args+=(
			-device "pxb-pcie,$bridge"
			-device "pcie-root-port,id=port$n,bus=bridge$n,chassis=$n,slot=$n"
		)
		bus=port$n
	fi
	qemu_args+=(
		-netdev "user,id=net$n,restrict=on"
		-device "virtio-net-pci,netdev=net$n,bus=$bus,mac=$mac,romfile="
	)
	guest_nics+=("$1=$mac")
}

read_machine() {
	local line key words

	while read -r line || [ -n "$line" ]; do
		line=${line%%#*}
		read -r key line <<<"$line" || true
		read -r -a words <<<"$line"
		case $key in
		'') ;;
		cpus) qemu_args+=(-smp "$(IFS=,; echo "${words[*]}")") ;;
		node) machine_node "${words[@]}" ;;
		distance) machine_distance "${words[@]}" ;;
		nic) machine_nic "${words[@]}" ;;
		offline) guest_offline="${words[*]}" ;;
		append) kernel_args+=("${words[@]}") ;;
		timeout) limit_s=${words[0]} ;;
		checks) checks=${words[0]} ;;
		*) fail "$file: unknown word '$key'" ;;
		esac
	done <"$file"

	[ -n "$limit_s" ] || fail "$file: no timeout"
	[ -f "$here/guest/checks/$checks" ] || fail "$file: no guest/checks/$checks"
}

# --- the initramfs --------------------------------------------------------------------------------

# Copies a program to /usr/bin of the guest and its libraries to the paths where it looks for them,
# which for a program of the build tree may be inside the build tree.
add_program() { # FILE
	local library libraries

	install -D -m 755 "$1" "$tree/usr/bin/$(basename "$1")"

	libraries=$(ldd "$1") || fail "$1: ldd cannot name its libraries"
	case $libraries in
	*"not found"*) fail "$1: $(grep -m 1 'not found' <<<"$libraries" | xargs)" ;;
	esac
	while read -r library; do
		[ -e "$tree$library" ] || install -D -m 755 "$library" "$tree$library"
	done < <(sed -n 's/^[^/]*\(\/[^ ]*\) (0x.*/\1/p' <<<"$libraries")
}

find_programs() {
	local program

	for program in "${BUILT[@]}"; do
		[ -x "$build/$program" ] ||
			fail "$build/$program: not found (build the project first)"
	done
	for program in "${PEERS[@]}" busybox cpio qemu-system-x86_64 ldd base64; do
		command -v "$program" >/dev/null ||
			fail "$program: not found (apt-get install qemu-system-x86 busybox-static" \
				"cpio numactl hwloc)"
	done
	if ldd "$(command -v busybox)" >/dev/null 2>&1; then
		fail "$(command -v busybox): not a static program (apt-get install busybox-static)"
	fi
	[ -f "$kernel/version" ] ||
		fail "$kernel: no kernel there (run tests/vm/fetch_kernel.sh $kernel)"
}

make_tree() {
	local program

	mkdir -p "$tree"/{bin,dev,etc,proc,sys,tmp,modules,checks}
	install -m 755 "$(command -v busybox)" "$tree/bin/busybox"
	ln -s busybox "$tree/bin/sh"
	for program in "${BUILT[@]}"; do
		add_program "$build/$program"
	done
	for program in "${PEERS[@]}"; do
		add_program "$(command -v "$program")"
	done

	install -m 755 "$here/guest/init" "$tree/init"
	install -m 644 "$here/guest"/*.sh "$tree/"
	install -m 644 "$here/guest/checks"/*.sh "$tree/checks/"
	install -m 644 "$kernel/modules"/*.ko "$tree/modules/"
	if [ -f "$here/../integration/numactl_table.sh" ]; then
		install -m 755 "$here/../integration/numactl_table.sh" "$tree/"
	fi

	printf '%s\n' root:x:0:0::/:/bin/sh user:x:1000:1000::/:/bin/sh >"$tree/etc/passwd"
	cat >"$tree/machine.env" <<-END
		MACHINE_CHECKS=/checks/$checks
		MACHINE_NICS="${guest_nics[*]}"
		MACHINE_OFFLINE="$guest_offline"
	END
}

# Not compressed: the emulated CPU is slower at unpacking than QEMU is at loading.
make_initramfs() {
	rm -rf "$tree"
	make_tree
	(cd "$tree" && find . -print0 | LC_ALL=C sort -z |
		cpio --quiet --null --create --format=newc --owner=0:0) >"$out/initramfs"
	rm -rf "$tree"
}

# --- the run --------------------------------------------------------------------------------------

# The guest's serial ports: console, results, capture. All its CPUs share one thread: with a thread
# for each, now and then one runs code that another has just patched, and the kernel panics (QEMU
# 7.2); and it is no slower, as guests wait more than they compute.
boot() {
	local status=0

	timeout --kill-after=5 "$limit_s" qemu-system-x86_64 \
		-accel tcg,thread=single -machine q35 -no-user-config -nodefaults \
		-display none -no-reboot -m "${memory_mib}M" "${qemu_args[@]}" \
		-serial "file:$out/console.log" -serial "file:$out/results.txt" \
		-serial "file:$out/capture.b64" \
		-kernel "$kernel/vmlinuz" -initrd "$out/initramfs" -append "${kernel_args[*]}" \
		</dev/null >"$out/qemu.log" 2>&1 || status=$?

	sed -i 's/\r$//' "$out/console.log" "$out/results.txt" "$out/capture.b64"
	case $status in
	0) ;;
	124 | 137) fail_guest "killed: it was not done after $limit_s s" ;;
	*) fail_guest "QEMU ended with status $status" ;;
	esac
	[ "$(tail -n 1 "$out/results.txt")" = "done" ] ||
		fail_guest "it stopped before its checks were done"
	sed -i '$d' "$out/results.txt"
}

unpack_capture() {
	mkdir "$out/capture"
	base64 -d "$out/capture.b64" | tar -xzf - -C "$out/capture" ||
		fail_guest "the capture of its /sys and /proc did not arrive whole"
	rm -f "$out/capture.b64"
}

[ $# -eq 3 ] || fail "usage: run_guest.sh MACHINE BUILD_DIR OUT_DIR"
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath -m "$2")
out=$(realpath -m "$3")
readonly here build out machine=$1
readonly file=$here/machines/$machine.machine
readonly kernel=${NUMAKIT_VM_KERNEL:-$build/vm/kernel}
readonly tree=$out/tree

[ -f "$file" ] || fail "$file: no such machine"
find_programs
read_machine
mkdir -p "$out"
rm -rf "$out"/{capture,capture.b64,console.log,qemu.log,results.txt}
touch "$out"/{capture.b64,console.log,qemu.log,results.txt}
make_initramfs
boot
unpack_capture
rm -f "$out/initramfs"

echo "$machine: $(grep -c '^ok ' "$out/results.txt") checks ok," \
	"$(grep -c '^not ok ' "$out/results.txt") not ok, after $SECONDS s"
