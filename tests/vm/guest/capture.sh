#!/bin/sh
# shellcheck shell=dash
# SPDX-License-Identifier: BSD-3-Clause
#
# Prints, as base64 of a compressed tar, this machine's /sys and /proc as far as numaprobe reads
# them: the CPUs, the nodes, the network cards with every device above them, the PCI devices.
# Links stay links, so the tree can stand in for the machine (numaprobe --root); it is left in
# /tmp/capture.

tree=/tmp/capture

# The NAMEs that DIR has, as paths without the leading slash.
files() { # DIR NAME...
	local dir=$1 name
	shift

	for name in "$@"; do
		[ ! -f "$dir/$name" ] || echo "${dir#/}/$name"
	done
}

list_cpus() {
	local cpu cache

	files /sys/devices/system/cpu online offline possible present isolated nohz_full
	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		files "$cpu/topology" physical_package_id die_id core_id package_cpus_list \
			core_cpus_list thread_siblings_list
		for cache in "$cpu"/cache/index*; do
			files "$cache" level type size id shared_cpu_list
		done
	done
}

list_nodes() {
	local node

	files /sys/devices/system/node online possible has_cpu has_memory
	for node in /sys/devices/system/node/node[0-9]*; do
		files "$node" cpulist meminfo distance
	done
}

list_devices() {
	local device

	for device in /sys/bus/pci/devices/* /sys/class/net/*/device; do
		device=$(readlink -f "$device")
		while [ "$device" != /sys/devices ]; do
			files "$device" numa_node local_cpulist class vendor device
			device=${device%/*}
		done
	done
	for device in /sys/class/net/*; do
		files "$(readlink -f "$device")" operstate speed address type mtu
	done
}

# One awk for all, since a process for each file takes the emulated machine half a minute. A file
# that cannot be read now (the speed of a card that is down) is left out.
copy_files() {
	awk -v tree="$tree" '{
		from = "/" $0
		to = tree "/" $0
		got = (getline line <from)
		if (got < 0)
			next
		printf "" >to
		while (got > 0) {
			print line >to
			got = (getline line <from)
		}
		close(from)
		close(to)
	}'
}

copy_links() {
	local link device

	mkdir -p "$tree/sys/class/net" "$tree/sys/bus/pci/devices"
	cp -P /sys/class/net/* "$tree/sys/class/net/"
	cp -P /sys/bus/pci/devices/* "$tree/sys/bus/pci/devices/"
	for link in /sys/class/net/*/device; do
		device=$(readlink -f "${link%/device}")
		cp -P "$device/device" "$tree$device/"
	done
}

copy_proc() {
	mkdir -p "$tree/proc/self"
	grep -E '^(Name|Cpus_allowed_list|Mems_allowed_list):' /proc/$$/status \
		>"$tree/proc/self/status"
	cat /proc/self/cgroup >"$tree/proc/self/cgroup"
	cat /proc/version >"$tree/proc/version"
	cat /proc/cmdline >"$tree/proc/cmdline"
}

mkdir -p "$tree"
{
	list_cpus
	list_nodes
	list_devices
} | sort -u >/tmp/capture.list
sed "s,^,$tree/,; s,/[^/]*\$,," /tmp/capture.list | sort -u | xargs mkdir -p
copy_files </tmp/capture.list
copy_links
copy_proc
tar -czf - -C "$tree" sys proc | base64
