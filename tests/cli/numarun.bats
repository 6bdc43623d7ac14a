#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# numarun on this host, as far as it has the hardware, and its plans for the captured EJFAT host.

# shellcheck disable=SC2016,SC2030,SC2031

load common

setup() {
	ran=$BATS_TEST_TMPDIR/ran
	cpu=$(allowed_cpus | head -n 1)
	node=$(first_memory_node)
	ejfat2=("$NUMARUN" --root "$EJFAT2" --dry-run)
}

# not_run TEXT OPTION...: with these options numarun refuses, and the program is not started.
not_run() {
	local text=$1

	shift
	refuses 125 "$text" "$NUMARUN" "$@" -- touch "$ran"
	[[ ! -e $ran ]] || fail "$(told)" "the program was run all the same"
}

# ---- exit statuses ----

@test "the program's status is numarun's" {
	local want

	for want in 0 1 7 125 255; do
		run --separate-stderr "$NUMARUN" -- sh -c "exit $want"
		[[ $status -eq $want && -z $output && -z $stderr ]] || fail "$(told)"
	done
}

@test "a program that a signal kills is seen as killed" {
	run "$NUMARUN" -- sh -c 'kill -TERM $$'
	[[ $status -eq 143 ]] || fail "$(told)"
	run "$NUMARUN" -- sh -c 'kill -KILL $$'
	[[ $status -eq 137 ]] || fail "$(told)"
}

@test "a program that is not there is status 127" {
	# Of its own PATH: a folder that may not be searched is "Permission denied", as for env.
	refuses 127 "no-such-program: program not found in PATH" env PATH=/usr/bin:/bin "$NUMARUN" no-such-program
	refuses 127 "./missing: program not found" "$NUMARUN" -- ./missing --option
	refuses 127 "not found" "$NUMARUN" /etc/passwd/missing
	refuses 127 "not found" "$NUMARUN" ''
	refuses 127 "not found" env PATH=/nonexistent "$NUMARUN" sh
}

@test "a program that cannot be executed is status 126" {
	cd "$BATS_TEST_TMPDIR"
	echo 'echo ran >ran' >script
	refuses 126 "./script: Permission denied" "$NUMARUN" ./script
	refuses 126 "Permission denied" "$NUMARUN" .

	chmod +x script
	refuses 126 "./script: not a program" "$NUMARUN" ./script
	[[ ! -e ran ]] || fail "a shell ran the script"
}

@test "a script whose interpreter is missing is told from a script that is missing" {
	cd "$BATS_TEST_TMPDIR"
	printf '%s\n' '#!/no/such/interpreter' >script
	chmod +x script

	refuses 127 "./script: its interpreter" "$NUMARUN" ./script
}

@test "numarun's own failures are status 125" {
	not_run "unknown option" --bogus
	not_run "does not exist" --physcpubind 9999
	refuses 125 "which program?" "$NUMARUN"
	refuses 125 "which program?" "$NUMARUN" --
	refuses 125 "which program?" "$NUMARUN" --membind "$node" --
}

# ---- what the program gets ----

@test "arguments are passed on untouched" {
	local want

	want=$(printf '<%s>\n' 'a b' '' "it's" '"' '*' "\$HOME" $'new\nline' -C --near -- ';')

	gives "$want" "$NUMARUN" -C "$cpu" -- printf '<%s>\n' \
		'a b' '' "it's" '"' '*' "\$HOME" $'new\nline' -C --near -- ';'
	# Without -- the options end at the program.
	gives $'<-l>\n<--far>' "$NUMARUN" -C "$cpu" printf '<%s>\n' -l --far
}

@test "no process of numarun stays behind" {
	run bash -c '"$NUMARUN" -- sh -c "echo \$\$" & echo $!; wait'
	[[ $status -eq 0 && ${#lines[@]} -eq 2 && ${lines[0]} == "${lines[1]}" ]] || fail "$(told)"
}

@test "standard input is the program's" {
	gives "from stdin" bash -c 'echo "from stdin" | "$NUMARUN" -- cat'
}

@test "the environment tells CPUs, nodes and memory, and nothing of a run around it" {
	run --separate-stderr env NUMARUN_ROLE=stale NUMARUN_NEAR=stale NUMARUN_CPUS=stale OTHER=kept \
		"$NUMARUN" -C "$cpu" -- sh -c 'env | grep -E "^(NUMARUN_|OTHER)" | sort'
	[[ $status -eq 0 ]] || fail "$(told)"
	[[ ${lines[0]} == "NUMARUN_CPUS=$cpu" ]] || fail "$(told)"
	[[ ${lines[1]} == NUMARUN_MEM=inherited ]] || fail "$(told)"
	[[ ${lines[2]} == NUMARUN_NODES=[0-9]* ]] || fail "$(told)"
	[[ ${lines[3]} == OTHER=kept && ${#lines[@]} -eq 4 ]] || fail "$(told)"
}

@test "the environment tells the memory policy that was set" {
	needs_memory_policy

	gives "bind:$node" "$NUMARUN" -m "$node" -- printenv NUMARUN_MEM
	gives local "$NUMARUN" -l -- printenv NUMARUN_MEM
	# One inside the other: the inner one's words.
	gives local "$NUMARUN" -m "$node" -- "$NUMARUN" -l -- printenv NUMARUN_MEM
}

# where_is TEXT OPTION...: what examples/where says when it runs under these options.
where_is() {
	local want=$1

	shift
	run --separate-stderr "$NUMARUN" "$@" -- "$WHERE"
	[[ $status -eq 0 && -z $stderr ]] || fail "$(told)"
	grep -qxF -e "$want" <<<"$output" || fail "$(told)" "wanted the line: $want"
}

@test "the affinity is what -C asks for" {
	where_is "cpus: $cpu" -C "$cpu"
	where_is "cpus: $cpu" --physcpubind="$cpu"
	where_is "cpus: $cpu" -C +0
	where_is "cpus: $cpu" -C "$cpu,$cpu-$cpu"
	# The last one counts.
	where_is "cpus: $cpu" -C all -C "$cpu"
	where_is "cpus: $(taskset -c "$cpu" "$WHERE" | sed -n 's/^cpus: //p')" -N all -C "$cpu"
}

@test "a set with ! is all but its members" {
	local rest

	rest=$(allowed_cpus | sed 1d | paste -sd,)
	[[ -n $rest ]] || skip "one CPU only"

	where_is "$(taskset -c "$rest" "$WHERE" | grep '^cpus: ')" -C "!$cpu"
	where_is "$(taskset -c "$rest" "$WHERE" | grep '^cpus: ')" -C '!+0'
}

@test "-C stays within the inherited affinity, unless --all is before it" {
	local other

	other=$(allowed_cpus | sed -n 2p)
	[[ -n $other ]] || skip "one CPU only"

	refuses 125 "outside the inherited affinity mask" \
		taskset -c "$cpu" "$NUMARUN" -C "$other" -- touch "$ran"
	[[ ! -e $ran ]]
	run taskset -c "$cpu" "$NUMARUN" --all -C "$other" -- "$WHERE"
	[[ $status -eq 0 && $output == "cpus: $other"* ]] || fail "$(told)"
	run taskset -c "$cpu" "$NUMARUN" -C "$other" --all -- "$WHERE"
	[[ $status -eq 125 ]] || fail "$(told)"
}

@test "the memory policy is what is asked for" {
	needs_memory_policy

	where_is "policy: local" -l
	where_is "policy: bind:$node" -m "$node"
	where_is "policy: bind:$node" --membind="$node"
	where_is "policy: interleave:$node" -i "$node"
	where_is "policy: preferred:$node" -p "$node"
	where_is "policy: default"
}

@test "'same' stands for the nodes of the option before it" {
	needs_memory_policy

	where_is "policy: bind:$node" -N "$node" -m same
	not_run "'same'" -m same
}

@test "pages are where the policy says" {
	needs_memory_policy

	run --separate-stderr "$NUMARUN" -m "$node" -- "$WHERE" --touch 4
	[[ $status -eq 0 && $output == *"pages: N$node=1024" ]] || fail "$(told)"
}

@test "a policy that this kernel lacks is refused with the version that has it" {
	needs_memory_policy
	run --separate-stderr "$NUMARUN" -w "$node" -- touch "$ran"
	[[ $status -eq 125 ]] || skip "this kernel has weighted interleave"

	[[ $stderr == *"Linux 6.9"* && ! -e $ran ]] || fail "$(told)"
}

# ---- in a container ----

# filtered COMMAND...: under a seccomp filter like those of containers, which answers memory policy
# calls with EPERM. The numbers are x86-64's, of mbind, set_mempolicy and get_mempolicy.
filtered() {
	[[ $(uname -m) == x86_64 ]] || skip "the filter is written for x86-64"

	run --separate-stderr "$PYTHON" -c '
import ctypes, os, struct, sys
LOAD, EQUAL, RETURN, ALLOW, ERRNO, EPERM = 0x20, 0x15, 0x06, 0x7fff0000, 0x00050000, 1
code = [(LOAD, 0, 0, 0), (EQUAL, 3, 0, 237), (EQUAL, 2, 0, 238), (EQUAL, 1, 0, 239),
        (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | EPERM)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = ctypes.create_string_buffer(struct.pack("HL", 6, ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program):  # no new privileges; the filter
    sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])' "$@"
}

@test "a filter that refuses memory policies is named, and nothing is run" {
	filtered "$NUMARUN" -m "$node" -- touch "$ran"
	[[ $status -eq 125 && $stderr == "numarun: "*"seccomp"* && $stderr != *$'\n'* ]] ||
		fail "$(told)"
	[[ ! -e $ran ]] || fail "$(told)"
}

@test "a filter that refuses memory policies does not hinder CPUs" {
	filtered "$NUMARUN" -C "$cpu" -- printenv NUMARUN_CPUS NUMARUN_MEM
	[[ $status -eq 0 && $output == "$cpu"$'\n'inherited && -z $stderr ]] || fail "$(told)"
}

@test "near a device under such a filter the inherited policy stays, and with --strict it fails" {
	local device

	run --separate-stderr "$NUMAPROBE" --json
	device=$(json 'next((x["name"] for x in d["devices"] if x["tiers"]), "")')
	[[ -n $device ]] || skip "no network card whose node is known"

	filtered "$NUMARUN" --near "$device" -- printenv NUMARUN_NEAR NUMARUN_MEM
	[[ $status -eq 0 && $output == "$device"$'\n'inherited ]] || fail "$(told)"
	[[ $stderr == "numarun: "*"seccomp"* && $stderr != *$'\n'* ]] || fail "$(told)"

	filtered "$NUMARUN" --near "$device" --strict -- touch "$ran"
	[[ $status -eq 125 && $stderr == *"seccomp"* && ! -e $ran ]] || fail "$(told)"
}

# ---- refusals ----

@test "two memory policies are refused" {
	not_run "--membind and --interleave" -m "$node" -i "$node"
	not_run "--localalloc and --membind" -l -m "$node"
	not_run "--preferred and --preferred-many" -p "$node" -P "$node"
	not_run "--membind and --far" -m "$node" --far
	not_run "--membind and --membind" -m "$node" -m "$node"
}

@test "CPUs and nodes that are not there are refused" {
	not_run "CPU 9999 does not exist" -C 9999
	not_run "CPU 9999 does not exist" -C "$cpu,9999"
	not_run "node 777 does not exist" -m 777
	not_run "node 777 does not exist" -m "$node,777"
	not_run "node 777 does not exist" -N 777
	not_run "beyond" -C +9999
	# Also where a later option overrides it.
	not_run "CPU 9999 does not exist" -C 9999 -C "$cpu"
}

@test "empty sets are refused" {
	not_run "--physcpubind" -C ''
	not_run "--membind" -m ''
	not_run "--cpunodebind" -N ''
	not_run "--interleave" -i ''
	not_run "empty set" -C '!all'
	not_run "empty set" -m '!all'
}

@test "what is no set is refused" {
	local text

	for text in x 1- -1 '0,' ',0' 0-1-2 1-0 + 0x0 00 0:1 ' ' 0--1 99999999999999999999 '!!0'; do
		not_run "--physcpubind: " "--physcpubind=$text"
	done
	not_run "--membind: " -m 1-0
	not_run "--cpunodebind: " -N eth0
}

@test "a set that inverts nothing is refused, as an empty variable behind the ! makes it" {
	not_run "--physcpubind: " -C '!'
	not_run "--membind: " -m '!+'
}

@test "options that need another one are refused without it" {
	not_run "--tier needs --near" --tier 1
	not_run "--count needs --near" --count 1
	not_run "--near-node needs --near" --near-node 0
	not_run "--smt needs --count" --near eth0 --smt
	not_run "--balancing needs --membind" -b
	not_run "--balancing counts for the --membind behind it: put it first" -m "$node" -b
	not_run "--all counts for the options behind it: put it first" -C "$cpu" -a
	not_run "--balancing needs --membind" -b -i "$node"
}

@test "--near with -N or -C is refused" {
	not_run "--near and --cpunodebind" --near eth0 -N 0
	not_run "--near and --physcpubind" -C 0 --near eth0
}

@test "--near an unknown or virtual device is refused" {
	not_run "no network interface 'nosuch0'" --near nosuch0
	not_run "virtual" --near lo
	not_run "no network interface 'nosuch0'" -N netdev:nosuch0
}

@test "another machine's description is refused when something would be run" {
	not_run "--root describes another machine" --root "$EJFAT2" --near "$NIC"
	not_run "--root describes another machine" --root "$EJFAT2"
	not_run "--xml describes another machine" --xml host.xml --near "$NIC"
	refuses 125 "--root describes another machine" "$NUMARUN" --root "$EJFAT2" --show
	refuses 125 "--root and --xml" "$NUMARUN" --root "$EJFAT2" --xml host.xml --dry-run
}

# ---- plans ----

# plans OPTION...: the plan for the EJFAT host, in $output.
plans() {
	run --separate-stderr "${ejfat2[@]}" "$@"
	[[ $status -eq 0 ]] || fail "$(told)"
}

@test "--dry-run runs nothing and prints a plan that the schema allows" {
	run --separate-stderr "$NUMARUN" --dry-run -C "$cpu" -- touch "$ran"
	[[ $status -eq 0 && -z $stderr && ! -e $ran ]] || fail "$(told)"
	json_is "('$cpu', ['touch', '$ran'])" 'd["cpus"], d["command"]'
	echo "$output" >"$BATS_TEST_TMPDIR/plan.json"
	validates "$BATS_TEST_TMPDIR/plan.json"
}

@test "twelve cores near a card whose node has eight spill to the next tier, and it is said" {
	local warning="$NIC: spilled from tier 1 to tier 2 for 4 of the 12 cores asked for: CPUs 88-91 at distance 11"

	plans --near "$NIC" --count 12 -- ./server --port 80

	[[ $stderr == "numarun: $warning" ]] || fail "$(told)"
	json_is "('80-91', '10-11', True, ['./server', '--port', '80'], ['$warning'])" \
		'd["cpus"], d["nodes"], d["spilled"], d["command"], d["warnings"]'
	json_is "([(1, 8, '80-87'), (2, 4, '88-91')], 'local', None)" \
		'[(pick["tier"], pick["cores"], pick["cpus"]) for pick in d["picks"]], d["memory"]["policy"], d["memory"]["nodes"]'
	echo "$output" >"$BATS_TEST_TMPDIR/plan.json"
	validates "$BATS_TEST_TMPDIR/plan.json"
}

@test "--strict refuses to spill" {
	refuses 125 "tier 1 has 8 of the 12 cores" "${ejfat2[@]}" --near "$NIC" --count 12 --strict
	plans --near "$NIC" --count 8 --strict
	json_is "('80-87', False)" 'd["cpus"], d["spilled"]'
}

@test "more cores than there are are refused" {
	refuses 125 "129 cores asked for, 128 can be used" "${ejfat2[@]}" --near "$NIC" --count 129
	refuses 125 "113 cores asked for, 112 can be used" \
		"${ejfat2[@]}" --near "$NIC" --count 113 --tier 3
	refuses 125 "no tier 5, the last one is 4" "${ejfat2[@]}" --near "$NIC" --tier 5
}

@test "--tier begins farther away" {
	plans --near "$NIC" --tier 2
	json_is 88-95 'd["cpus"]'
	plans --near "$NIC" --tier 4 --count 9
	json_is 0-8 'd["cpus"]'
}

@test "--far binds memory to the lowest of the farthest nodes" {
	plans --near "$NIC" --far
	[[ -z $stderr ]] || fail "$(told)"
	json_is "('80-87', 'bind', '0', 32)" \
		'(d["cpus"], *[d["memory"][key] for key in ("policy", "nodes", "far_distance")])'

	plans -N 3 --far
	json_is "('24-31', '8')" 'd["cpus"], d["memory"]["nodes"]'
}

@test "--near-node overrides where the device is" {
	plans --near "$NIC" --near-node 3
	json_is "('24-31', 'override')" 'd["cpus"], d["near"]["evidence"]'
	refuses 125 "node 16" "${ejfat2[@]}" --near "$NIC" --near-node 16
}

@test "a set of nodes can be given by a device" {
	plans -N "netdev:$NIC" -m same
	json_is "('80-87', '10')" 'd["cpus"], d["memory"]["nodes"]'
	plans -b -m "!pci:c1:00.1"
	json_is "('0-9,11-15', True)" 'd["memory"]["nodes"], d["memory"]["balancing"]'
}

@test "an hwloc XML of the same host gives the same plan" {
	local xml=$NUMAKIT_TOPOLOGIES/seed003-ejfat2-16n.xml

	[[ -e $xml ]] || skip "no seed003-ejfat2-16n.xml: NUMAKIT_TOPOLOGIES is '$NUMAKIT_TOPOLOGIES'"

	run --separate-stderr "$NUMARUN" --xml "$xml" --dry-run --near "$NIC" --count 12
	json_is "('80-91', True)" 'd["cpus"], d["spilled"]'
}

@test "--explain speaks on standard error only" {
	local plain

	plain=$("${ejfat2[@]}" --near "$NIC" --count 4)
	plans --near "$NIC" --count 4 --explain
	[[ $output == "$plain" ]] || fail "$(told)"
	[[ $stderr == *"numa_node"*"CPUs 80-83"*"memory: local"* ]] || fail "$(told)"

	run --separate-stderr "$NUMARUN" --explain -C "$cpu" -- echo mine
	[[ $status -eq 0 && $output == mine ]] || fail "$(told)"
	[[ $stderr == *"verified: the kernel has CPU $cpu"* ]] || fail "$(told)"
}

# ---- plans for a host that is not as one thinks: see its README ----

# odd_cpus TEXT OPTION...: the CPUs in the plan for it.
odd_cpus() {
	local want=$1

	shift
	run --separate-stderr "$NUMARUN" --root "$ODD" --dry-run "$@"
	[[ $status -eq 0 ]] || fail "$(told)"
	json_is "$want" 'd["cpus"]'
}

@test "a node without memory can be run on, and not allocated from" {
	odd_cpus 8-11 -N 2
	odd_cpus 8-11 --near eth1
	refuses 125 "node 2 has no memory" "$NUMARUN" --root "$ODD" --dry-run -m 2
	refuses 125 "node 2 has no memory" "$NUMARUN" --root "$ODD" --dry-run -i 0-4
}

@test "a node without CPUs can be allocated from, and not run on" {
	refuses 125 "node 4 has no CPUs" "$NUMARUN" --root "$ODD" --dry-run -N 4
	odd_cpus 0-1 -N 0 -m 4
}

@test "--count takes one CPU of each core, and with --smt all" {
	odd_cpus 8,10 --near eth1 --count 2
	odd_cpus 8-11 --near eth1 --count 2 --smt
	odd_cpus 8-9 --near eth1 --count 1 --smt
	# CPU 3 is offline and 5 isolated, so that two of the cores have one CPU to give.
	odd_cpus 2,4,6-7 --near eth0 --count 3 --smt
}

@test "near a card on a node without CPUs the nearest node is taken, and it is said" {
	odd_cpus 12-15 --near eth2
	[[ $stderr == "numarun: eth2: "*"node 3"* ]] || fail "$(told)"
	refuses 125 "--strict" "$NUMARUN" --root "$ODD" --dry-run --near eth2 --strict
}

@test "near a card whose node is unknown is refused, unless --near-node says where it is" {
	refuses 125 "eth3: its NUMA node is unknown" "$NUMARUN" --root "$ODD" --dry-run --near eth3
	refuses 125 "eth3: its NUMA node is unknown" "$NUMARUN" --root "$ODD" --dry-run -N netdev:eth3
	odd_cpus 12-15 --near eth3 --near-node 3
}

@test "an isolated CPU is left out, unless it is named" {
	odd_cpus 2,4,6-7 --near eth0
	refuses 125 "CPU 5 is isolated" "$NUMARUN" --root "$ODD" --dry-run -C 5
	odd_cpus 5 --all -C 5
	odd_cpus 2,4-7 -N 1
	[[ $stderr == "numarun: "*isolated* ]] || fail "$(told)"
}

@test "an offline CPU is refused, and said to be offline" {
	refuses 125 "CPU 3 is offline" "$NUMARUN" --root "$ODD" --dry-run -C 3
	refuses 125 "CPU 3 is offline" "$NUMARUN" --root "$ODD" --dry-run -C 0-7
}

# ---- as numactl ----

@test "--show agrees with numactl's" {
	local option

	command -v numactl >/dev/null || skip "numactl is not installed"

	diff -u <(numactl --show) <("$NUMARUN" --show) >&2
	diff -u <(numactl -C "$cpu" numactl -s) <("$NUMARUN" -C "$cpu" -s) >&2
	needs_memory_policy
	# Not -l: numactl 2.0.16 forgets to say "current", and the end of that line.
	for option in -m"$node" -i"$node" -p"$node" -P"$node"; do
		diff -u --label "numactl $option" --label "numarun $option" \
			<(numactl "$option" numactl -s) <("$NUMARUN" "$option" -s) >&2
	done
}

@test "--hardware agrees with numactl's" {
	command -v numactl >/dev/null || skip "numactl is not installed"

	# What is free changes from one moment to the next.
	diff -u <(numactl --hardware | grep -v ' free: ') \
		<("$NUMARUN" --hardware | grep -v ' free: ') >&2
}

@test "--hardware of another host is that host's" {
	run --separate-stderr "$NUMARUN" --hardware --root "$EJFAT2"
	[[ $status -eq 0 && ${lines[0]} == "available: 16 nodes (0-15)" && -z $stderr ]] ||
		fail "$(told)"
	grep -qx "node 10 size: 32252 MB" <<<"$output" || fail "$(told)"
	grep -qE '^ 10:( +32){8} +12 +12 +10 +11( +12){4} *$' <<<"$output" || fail "$(told)"
}

@test "output that cannot be written is an error" {
	[[ -c /dev/full ]] || skip "no /dev/full here"

	run --separate-stderr bash -c '"$NUMARUN" --show >/dev/full'
	[[ $status -eq 125 && $stderr == "numarun: standard output: "* ]] || fail "$(told)"
	run --separate-stderr bash -c '"$NUMARUN" --dry-run >/dev/full'
	[[ $status -eq 125 && $stderr == "numarun: standard output: "* ]] || fail "$(told)"
}
