#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numaprobe over captured hosts: every document byte for byte, and what it says to wrong input.

# shellcheck disable=SC2016

load common

# A copy of ejfat-2 in which the firmware does not tell where the card is.
host_without_numa_node() {
	local host=$BATS_TEST_TMPDIR/host file

	cp -R --no-dereference "$EJFAT2" "$host"
	while read -r file; do
		echo -1 >"$file"
		echo 0-127 >"${file%numa_node}local_cpulist"
	done < <(find "$host/sys/devices/pci0000:c0" -name numa_node)
	echo "$host"
}

@test "every captured host gives its expected documents" {
	local file host device want compared=0 differ=0
	local got=$BATS_TEST_TMPDIR/got.json errors=$BATS_TEST_TMPDIR/errors

	cd "$HOSTS"
	for file in */expect.*.json; do
		host=${file%%/*}
		case $file in
		*/expect.report.json) set -- report ;;
		*/expect.rank.*)
			device=${file#*/expect.rank.}
			set -- rank "${device%.json}"
			;;
		*) fail "$file: which document is it?" ;;
		esac
		status=0
		"$NUMAPROBE" "$@" --root "$host" --json >"$got" 2>"$errors" || status=$?

		# A device whose node is unknown has no tiers, and status 1.
		want=0
		! grep -q '^  "tiers": \[\]' "$file" || want=1
		compared=$((compared + 1))
		[[ $status -eq $want ]] && diff -u "$file" "$got" >&2 && continue
		echo "$file: status $status, wanted $want; $(<"$errors")" >&2
		differ=$((differ + 1))
	done
	[[ $compared -gt 0 ]] || fail "no expect.*.json in $HOSTS"
	[[ $differ -eq 0 ]] ||
		fail "$differ of $compared differ; if that is right, run tests/fixtures/update_expect.sh"
}

@test "a host with expectations has one for each of its devices" {
	local report expected

	cd "$HOSTS"
	for report in */expect.report.json; do
		output=$(<"$report")
		expected=$(find "${report%/*}" -name 'expect.rank.*.json' -printf '%f\n' |
			sed 's/^expect\.rank\.//; s/\.json$//' | sort)
		diff -u --label "$report" --label "expect.rank.*" \
			<(json '"\n".join(sorted(x["name"] for x in d["devices"]))') \
			<(echo "$expected") >&2 || fail "run tests/fixtures/update_expect.sh ${report%/*}"
	done
}

@test "the ranking for the EJFAT host's card is the published one" {
	local published='
{"schema":"numakit/rank/1",
 "device":{"name":"enp193s0f1np1","kind":"net","pci":"0000:c1:00.1","nodes":"10","evidence":"numa_node"},
 "tiers":[{"tier":1,"distance":10,"nodes":"10","cpus":"80-87"},
          {"tier":2,"distance":11,"nodes":"11","cpus":"88-95"},
          {"tier":3,"distance":12,"nodes":"8-9,12-15","cpus":"64-79,96-127"},
          {"tier":4,"distance":32,"nodes":"0-7","cpus":"0-63"}],
 "excluded":[]}'

	run --separate-stderr "$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --json

	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	diff <("$PYTHON" -m json.tool <<<"$published") <("$PYTHON" -m json.tool <<<"$output") >&2
}

@test "--cpus prints the lists alone" {
	gives 80-87 "$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --tier 1 --cpus
	gives 88-95 "$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --tier 2 --cpus
	gives 64-79,96-127 "$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --tier 3 --cpus
	gives 0-63 "$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --tier 4 --cpus
	gives $'80-87\n88-95\n64-79,96-127\n0-63' "$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --cpus
}

@test "--tier with --json gives that tier alone" {
	run --separate-stderr "$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --tier 3 --json

	json_is "['64-79,96-127']" '[tier["cpus"] for tier in d["tiers"]]'
}

@test "an hwloc XML of the same host gives the same tiers" {
	local xml=$NUMAKIT_TOPOLOGIES/seed003-ejfat2-16n.xml

	[[ -e $xml ]] || skip "no seed003-ejfat2-16n.xml: NUMAKIT_TOPOLOGIES is '$NUMAKIT_TOPOLOGIES'"

	gives $'80-87\n88-95\n64-79,96-127\n0-63' "$NUMAPROBE" rank --xml "$xml" "$NIC" --cpus
}

@test "common options may stand before the command" {
	gives 80-87 "$NUMAPROBE" --root "$EJFAT2" rank "$NIC" --tier 1 --cpus
	run --separate-stderr "$NUMAPROBE" --json --root="$EJFAT2" rank "$NIC"
	[[ $status -eq 0 ]] || fail "$(told)"
	json_is numakit/rank/1 'd["schema"]'
}

@test "report is the default command" {
	gives "$("$NUMAPROBE" report --root "$EJFAT2")" "$NUMAPROBE" --root "$EJFAT2"
	gives "$("$NUMAPROBE" report --root "$EJFAT2" --json)" "$NUMAPROBE" --root "$EJFAT2" --json
}

@test "a device can be named by interface, PCI address and numactl's prefixes" {
	local name

	for name in "$NIC" "netdev:$NIC" 0000:c1:00.1 c1:00.1 C1:00.1 pci:c1:00.1 pci:0000:c1:00.1 \
		pci:c1:00; do
		gives 80-87 "$NUMAPROBE" rank --root "$EJFAT2" "$name" --tier 1 --cpus
	done
}

@test "an unknown device is refused, and those that are there are named" {
	refuses 1 "no network interface 'eth7'; there are: enp193s0f0np0, enp193s0f1np1" \
		"$NUMAPROBE" rank --root "$EJFAT2" eth7
	refuses 1 "no network interface 'eth7'" "$NUMAPROBE" rank --root "$EJFAT2" netdev:eth7 --json
	refuses 1 "c2:00.0" "$NUMAPROBE" rank --root "$EJFAT2" c2:00.0
	refuses 1 "block:sda" "$NUMAPROBE" rank --root "$EJFAT2" block:sda
}

@test "what is no device specification is refused" {
	local text

	for text in '' netdev: usb:3 ../../etc netdev:../lo pci:c1 pci:zz:00.0; do
		refuses 1 "device '$text'" "$NUMAPROBE" rank --root "$EJFAT2" "$text"
	done
}

@test "a virtual device is refused, unless --node says where it is" {
	refuses 1 "virtual" "$NUMAPROBE" rank --root "$EJFAT2" lo
	gives 24-31 "$NUMAPROBE" rank --root "$EJFAT2" lo --node 3 --tier 1 --cpus
}

@test "a bond or a VLAN is where its cards are, and it is said when they are on several nodes" {
	local host=$BATS_TEST_TMPDIR/bond name

	host_with_bond "$host"
	gives $'80-87\n88-95\n64-79,96-127\n0-63' "$NUMAPROBE" rank --root "$host" bond0 --cpus
	for name in bond1 bond1.7; do
		gives 24-31,80-87 "$NUMAPROBE" rank --root "$host" "$name" --tier 1 --cpus
		run --separate-stderr "$NUMAPROBE" rank --root "$host" "$name"
		[[ $output == "$name: spans nodes 3,10 (evidence: numa_node)"$'\n'* ]] || fail "$(told)"
		run --separate-stderr "$NUMAPROBE" rank --root "$host" "$name" --json
		json_is "['3,10', 'numa_node', None]" \
			'[d["device"][key] for key in ("nodes", "evidence", "pci")]'
	done

	run --separate-stderr "$NUMAPROBE" report --root "$host"
	[[ $output == *$'\nnote: bond1: spans nodes 3,10 '* ]] || fail "$(told)"
	[[ $output != *"note: bond0"* ]] || fail "$(told)"
}

@test "file: and ip: are refused for another host" {
	refuses 1 "looked up on this machine" "$NUMAPROBE" rank --root "$EJFAT2" file:/
	refuses 1 "looked up on this machine" "$NUMAPROBE" rank --root "$EJFAT2" ip:127.0.0.1
}

@test "a tier that does not exist is refused, and the last one is named" {
	refuses 1 "no tier 9, the last one is 4" "$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --tier 9
	refuses 1 "no tier 5, the last one is 4" \
		"$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --tier 5 --json
}

@test "--node overrides the host, and the host's word is shown" {
	run --separate-stderr "$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --node 0 --json
	[[ $status -eq 0 ]] || fail "$(told)"
	json_is "('0', 'override', {'evidence': 'numa_node', 'nodes': '10'}, '0-7')" \
		'(*(d["device"][key] for key in ("nodes", "evidence", "disagrees")), d["tiers"][0]["cpus"])'
	refuses 1 "node 16" "$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --node 16
}

@test "a card whose node is unknown has no tiers, status 1, and a document all the same" {
	local host

	host=$(host_without_numa_node)
	run --separate-stderr "$NUMAPROBE" rank --root "$host" "$NIC" --json
	[[ $status -eq 1 ]] || fail "$(told)"
	[[ $stderr == "numaprobe: $NIC: "*"--node"* && $stderr != *$'\n'* ]] || fail "$(told)"
	json_is "(None, 'unknown', [])" 'd["device"]["nodes"], d["device"]["evidence"], d["tiers"]'

	refuses 1 "--node" "$NUMAPROBE" rank --root "$host" "$NIC"
	refuses 1 "--node" "$NUMAPROBE" rank --root "$host" "$NIC" --cpus
	gives 80-87 "$NUMAPROBE" rank --root "$host" "$NIC" --node 10 --tier 1 --cpus
	run --separate-stderr "$NUMAPROBE" report --root "$host" --json
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	json_is "[[], []]" '[device["tiers"] for device in d["devices"]]'
}

@test "asymmetric distances are read from the row of the device's node" {
	# Node 1 to 3 is 40, back it is 12.
	gives $'2,4,6-7\n8-11\n0-1\n12-15' "$NUMAPROBE" rank --root "$ODD" eth0 --cpus
	gives $'12-15\n2,4,6-7\n0-1,8-11' "$NUMAPROBE" rank --root "$ODD" eth0 --node 3 --cpus
}

@test "offline and isolated CPUs are in no tier, and listed with the reason" {
	run --separate-stderr "$NUMAPROBE" rank --root "$ODD" eth1 --json
	json_is "[('3', 'offline'), ('5', 'isolated')]" \
		'[(x["cpus"], x["reason"]) for x in d["excluded"]]'
}

@test "a card on a node without CPUs has tiers all the same" {
	gives $'12-15\n0-2,4,6-7\n8-11' "$NUMAPROBE" rank --root "$ODD" eth2 --cpus
}

@test "a folder that is no host is refused" {
	refuses 1 "/nowhere" "$NUMAPROBE" --root "$BATS_TEST_TMPDIR/nowhere"
	refuses 1 "sys/devices/system/cpu" "$NUMAPROBE" --root "$BATS_TEST_TMPDIR"
	refuses 1 "README.md" "$NUMAPROBE" --root "$EJFAT2/README.md"
}

@test "a damaged file is named and quoted" {
	local host=$BATS_TEST_TMPDIR/host

	cp -R --no-dereference "$EJFAT2" "$host"
	echo '10 2x' >"$host/sys/devices/system/node/node5/distance"
	refuses 1 "node5/distance: '10 2x'" "$NUMAPROBE" --root "$host"
	cp "$EJFAT2/sys/devices/system/node/node5/distance" "$host/sys/devices/system/node/node5/"
	printf '7-\e[31m' >"$host/sys/devices/system/cpu/online"
	refuses 1 'cpu/online' "$NUMAPROBE" --root "$host"
	[[ $stderr != *$'\e'* ]] || fail "$(told)" "the escape sequence came through"
}

@test "what is no hwloc XML is refused, and the reason told" {
	cd "$BATS_TEST_TMPDIR"
	: >empty.xml
	echo 'To whom it may concern' >text.xml
	printf '%s\n' '<?xml version="1.0" encoding="UTF-8"?>' \
		'<!DOCTYPE topology SYSTEM "hwloc2.dtd">' \
		'<topology version="3.0">' '</topology>' >v3.xml
	printf '%s\n' '<?xml version="1.0"?>' '<topology version="2.0"><object type="Machine"' >cut.xml

	refuses 1 "empty.xml: an empty file" "$NUMAPROBE" --xml empty.xml
	refuses 1 "text.xml: not a" "$NUMAPROBE" --xml text.xml
	refuses 1 "cut.xml: not a" "$NUMAPROBE" --xml cut.xml
	refuses 1 "v3.xml: an export of hwloc 3" "$NUMAPROBE" --xml v3.xml
	refuses 1 "missing.xml: No such file" "$NUMAPROBE" --xml missing.xml
	refuses 1 "Is a directory" "$NUMAPROBE" --xml .
	refuses 1 "text.xml: not a" "$NUMAPROBE" rank --xml text.xml eth0 --json
}

@test "options that contradict each other are refused" {
	refuses 2 "--root and --xml" "$NUMAPROBE" --root "$EJFAT2" --xml x
	refuses 2 "--root and --xml" "$NUMAPROBE" rank --root "$EJFAT2" --xml x "$NIC"
	refuses 2 "--cpus and --json" "$NUMAPROBE" rank --root "$EJFAT2" "$NIC" --cpus --json
}

@test "a wrong number of arguments is refused" {
	refuses 2 "'frob' is no command" "$NUMAPROBE" frob
	refuses 2 "which device?" "$NUMAPROBE" rank
	refuses 2 "one device" "$NUMAPROBE" rank eth0 eth1
	refuses 2 "no argument" "$NUMAPROBE" report eth0
}

@test "output that cannot be written is an error" {
	[[ -c /dev/full ]] || skip "no /dev/full here"

	run --separate-stderr bash -c '"$NUMAPROBE" --root "$1" >/dev/full' bash "$EJFAT2"
	[[ $status -eq 1 && $stderr == "numaprobe: standard output: "* ]] || fail "$(told)"
	run --separate-stderr bash -c '"$NUMAPROBE" --root "$1" --json >/dev/full' bash "$EJFAT2"
	[[ $status -eq 1 && $stderr == "numaprobe: standard output: "* ]] || fail "$(told)"
}

@test "this host can be reported without options" {
	run --separate-stderr "$NUMAPROBE"
	[[ $status -eq 0 && $output == "host:  this host"* && -z $stderr ]] || fail "$(told)"
}
