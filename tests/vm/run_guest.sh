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
# Status 77 means that this host cannot emulate the machine; results.txt is then "skipped: why".
#
# The kernel is the one that fetch_kernel.sh put into $NUMAKIT_VM_KERNEL, else BUILD_DIR/vm/kernel, the
# module what build_module.sh put into $NUMAKIT_VM_MODULE, else BUILD_DIR/vm/module.
# Software emulation, so no /dev/kvm and no root are needed; QEMU is killed at the machine's limit.
# A card with several queues hangs on a tap device, which is made in a network namespace of QEMU's
# own and is gone with it.
set -euo pipefail

# From the build: file in the build directory. Each goes to /usr/bin.
readonly BUILT=(
	probe/numaprobe launcher/numarun counters/numacount server/numastore server/client/numalat examples/where
	tests/vm/threads
	tests/vm/perf_read tests/deny_mempolicy
)
# What these load when they need it, which ldd does not tell.
readonly LOADED=(libpfm.so.4 libsmartcols.so.1)
# From the host: the peers that the checks compare with, a server to be placed, a reader of JSON.
readonly PEERS=(numactl hwloc-bind memcached jq)

readonly CONSOLE_LINES=60

fail() {
	echo "run_guest.sh: $*" >&2
	exit 1
}

# Ends as a test that cannot run here.
skip() {
	echo "skipped: $*" | tee "$out/results.txt"
	exit 77
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
guest_module=
host_taps=()
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
machine_nic() { # NAME [node=ID bus=HEX] [queues=COUNT]
	local n=$((++nic_count)) name=$1 node='' bridge_bus='' queues='' mac bus=pcie.0 bridge word
	shift

	for word in "$@"; do
		case $word in
		node=*) node=${word#node=} ;;
		bus=*) bridge_bus=${word#bus=} ;;
		queues=*) queues=${word#queues=} ;;
		*) fail "$file: nic $name: unknown word '$word'" ;;
		esac
	done

	mac=$(printf '52:54:00:00:00:%02x' "$n")
	if [ -n "$node" ]; then
		bridge=id=bridge$n,bus=pcie.0,numa_node=$node,bus_nr=$bridge_bus
		qemu_args+=(
			-device "pxb-pcie,$bridge"
			-device "pcie-root-port,id=port$n,bus=bridge$n,chassis=$n,slot=$n"
		)
		bus=port$n
	fi
	nic_backend "$n" "$queues"
	qemu_args+=(
		-device "virtio-net-pci,netdev=net$n,bus=$bus,mac=$mac,romfile=$nic_options"
	)
	guest_nics+=("$name=$mac")
}

# What the card is plugged into; leaves what the card must know of it in $nic_options. Only a tap
# device has several queues. A card has two interrupts a queue, one for receiving and one for
# sending, and one each for its configuration and its control queue.
nic_backend() { # NUMBER QUEUES
	local tap=numakit$1

	nic_options=
	if [ -z "$2" ]; then
		qemu_args+=(-netdev "user,id=net$1,restrict=on")
		return
	fi
	qemu_args+=(-netdev "tap,id=net$1,ifname=$tap,queues=$2,script=no,downscript=no,vhost=off")
	nic_options=,mq=on,vectors=$((2 * $2 + 2))
	host_taps+=("$tap")
}

read_machine() {
	local line key words

	while read -r line || [ -n "$line" ]; do
		line=${line%%#*}
		read -r key line <<<"$line" || true
		read -r -a words <<<"$line"
		case $key in
		'') ;;
		model) qemu_args+=(-cpu "${words[0]}") ;;
		module) guest_module="${words[*]}" ;;
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

# The same for a library, to the path where the host has it.
add_library() { # NAME
	local path

	# To the end: who closes a pipe early makes the one before it fail now and then.
	path=$(/sbin/ldconfig -p | awk -v name="$1" '$1 == name && !path { path = $NF } END { print path }')
	[ -n "$path" ] || fail "$1: not found (apt-get install libpfm4 libsmartcols1)"
	install -D -m 755 "$(readlink -f "$path")" "$tree$path"
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
				"cpio numactl hwloc memcached jq)"
	done
	if ldd "$(command -v busybox)" >/dev/null 2>&1; then
		fail "$(command -v busybox): not a static program (apt-get install busybox-static)"
	fi
	[ -f "$kernel/version" ] ||
		fail "$kernel: no kernel there (run tests/vm/fetch_kernel.sh $kernel)"
}

make_tree() {
	local program library

	mkdir -p "$tree"/{bin,dev,etc,proc,run,sys,tmp,modules,checks}
	install -m 755 "$(command -v busybox)" "$tree/bin/busybox"
	ln -s busybox "$tree/bin/sh"
	for program in "${BUILT[@]}"; do
		add_program "$build/$program"
	done
	for program in "${PEERS[@]}"; do
		add_program "$(command -v "$program")"
	done
	for library in "${LOADED[@]}"; do
		add_library "$library"
	done

	install -m 755 "$here/guest/init" "$tree/init"
	install -m 644 "$here/guest"/*.sh "$tree/"
	install -m 644 "$here/guest/checks"/*.sh "$tree/checks/"
	install -m 644 "$kernel/modules"/*.ko "$tree/modules/"
	if [ -n "$guest_module" ]; then
		install -m 644 "$module_dir/${guest_module%% *}.ko" "$tree/modules/" ||
			fail "run tests/vm/build_module.sh $kernel $module_dir"
	fi
	install -m 755 "$here/../integration"/numactl_*.sh "$tree/"

	printf '%s\n' root:x:0:0::/:/bin/sh user:x:1000:1000::/:/bin/sh \
		nobody:x:65534:65534::/:/bin/sh >"$tree/etc/passwd"
	cat >"$tree/machine.env" <<-END
		MACHINE_CHECKS=/checks/$checks
		MACHINE_NICS="${guest_nics[*]}"
		MACHINE_OFFLINE="$guest_offline"
		MACHINE_MODULE="$guest_module"
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

# Runs a command in a network namespace of its own with the machine's tap devices in it, the first of
# which answers at 192.0.2.1 (a network for documentation, RFC 5737); it all ends with the command.
# Without tap devices the command runs as it is.
among_taps() { # COMMAND...
	local as_root=()

	if [ ${#host_taps[@]} -eq 0 ]; then
		"$@"
		return
	fi
	[ "$(id -u)" -eq 0 ] || as_root=(--map-root-user)
	# shellcheck disable=SC2016 # for the inner shell to expand
	TAPS=${host_taps[*]} unshare --net "${as_root[@]}" sh -c '
		for tap in $TAPS; do
			ip tuntap add dev "$tap" mode tap multi_queue && ip link set "$tap" up || exit
		done
		ip address add 192.0.2.1/24 dev "${TAPS%% *}" || exit
		exec "$@"' sh "$@"
}

require_taps() {
	local why

	[ ${#host_taps[@]} -gt 0 ] || return 0
	command -v ip >/dev/null || skip "$machine: no tap device without ip (apt-get install iproute2)"
	command -v unshare >/dev/null || skip "$machine: no network namespace without unshare"
	[ -c /dev/net/tun ] || skip "$machine: no tap device without /dev/net/tun"
	why=$(among_taps true 2>&1) ||
		skip "$machine: no tap device can be made here: $(head -n 1 <<<"$why")"
}

# The guest's serial ports: console, results, capture. All its CPUs share one thread: with a thread
# for each, now and then one runs code that another has just patched, and the kernel panics (QEMU
# 7.2); and it is no slower, as guests wait more than they compute.
boot() {
	local status=0

	among_taps timeout --kill-after=5 "$limit_s" qemu-system-x86_64 \
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
readonly module_dir=${NUMAKIT_VM_MODULE:-$build/vm/module}
readonly tree=$out/tree

[ -f "$file" ] || fail "$file: no such machine"
find_programs
read_machine
mkdir -p "$out"
rm -rf "$out"/{capture,capture.b64,console.log,qemu.log,results.txt}
require_taps
touch "$out"/{capture.b64,console.log,qemu.log,results.txt}
make_initramfs
boot
unpack_capture
rm -f "$out/initramfs"

echo "$machine: $(grep -c '^ok ' "$out/results.txt") checks ok," \
	"$(grep -c '^not ok ' "$out/results.txt") not ok, after $SECONDS s"
