#!/bin/bash
# In a container whose seccomp filter refuses set_mempolicy(2): what asks for a policy is refused with
# the reason, unless --mem-fallback says otherwise; what does not runs.
#
#   seccomp.sh DENY_MEMPOLICY
set -u
deny=$1
failed=0
err=$(mktemp)
trap 'rm -f "$err"' EXIT

check() { # NAME EXPECTED-STATUS TEXT-ON-STDERR COMMAND...
	local name=$1 status=$2 text=$3 got
	shift 3
	"$deny" "$@" >/dev/null 2>"$err"
	got=$?
	if [ $got -eq 77 ]; then
		cat "$err"
		exit 77
	fi
	if [ $got -eq "$status" ] && { [ -z "$text" ] || grep -q -- "$text" "$err"; } && [ "$(wc -l <"$err")" -le 1 ]; then
		echo "ok $name"
	else
		echo "not ok $name"
		echo "#   status $got, expected $status; expected on stderr: $text; got:"
		sed 's/^/#   /' "$err"
		failed=1
	fi
}

for option in "-m 0" "-i 0" "-p 0" "-P 0" -l; do
	# shellcheck disable=SC2086 # two words
	check "numarun $option names the filter" 125 "seccomp filter refuses.*--cap-add SYS_NICE" "$NUMARUN" $option -- true
done
check "numarun -N without a policy runs" 0 "" "$NUMARUN" -N "$(cut -d, -f1 /sys/devices/system/node/has_cpu | cut -d- -f1)" -- true
nic=$("$NUMAPROBE" report --json | jq -r '[.devices[] | select(.nodes != null)][0].name // empty')
if [ -n "$nic" ]; then
	check "numarun --near runs with the inherited policy, and says so" 0 "the inherited one stays" "$NUMARUN" --near "$nic" -- true
	check "numarun --near --strict is refused" 125 "seccomp filter refuses" "$NUMARUN" --near "$nic" --strict -- true
fi

# ---- --mem-fallback ----

dir=$(mktemp -d)
trap 'rm -rf "$err" "$dir"' EXIT
cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
printf '[role one]\nmem = bind:0\ncommand = printenv NUMARUN_MEM\n' >"$dir/roles.ini"

# prints NAME TEXT COMMAND...: under the filter, on standard output; whatever the other stream has.
prints() {
	local name=$1 text=$2 got
	shift 2
	got=$("$deny" "$@" 2>"$err")
	if [ "$got" = "$text" ]; then
		echo "ok $name"
	else
		echo "not ok $name"
		echo "#   expected: $text; got: $got"
		sed 's/^/#   /' "$err"
		failed=1
	fi
}

# With a parent that stays and without one.
for options in "" "--repin"; do
	# shellcheck disable=SC2086 # one word, or none
	for memory in "-m 0" "-i 0" -l; do
		name="numarun $options -C $cpu $memory"
		check "$name is refused, and nothing is run" 125 "seccomp filter refuses" \
			"$NUMARUN" $options -C "$cpu" $memory -- touch "$dir/ran"
		check "$name --mem-fallback fail is refused, and nothing is run" 125 "seccomp filter refuses" \
			"$NUMARUN" $options -C "$cpu" $memory --mem-fallback fail -- touch "$dir/ran"
		if [ -e "$dir/ran" ]; then
			echo "not ok $name: the program was run"
			failed=1
		fi
		check "$name --mem-fallback warn runs, and says so" 0 "seccomp filter refuses.*the inherited one stays" \
			"$NUMARUN" $options -C "$cpu" $memory --mem-fallback warn -- true
		check "$name --mem-fallback cpu-only runs, and says nothing" 0 "" \
			"$NUMARUN" $options -C "$cpu" $memory --mem-fallback cpu-only -- test ! -s "$err"
		for fallback in warn cpu-only; do
			prints "$name --mem-fallback $fallback keeps the CPUs, and tells the program" "$cpu
inherited" "$NUMARUN" $options -C "$cpu" $memory --mem-fallback $fallback -- printenv NUMARUN_CPUS NUMARUN_MEM
		done
	done
done
check "numarun --mem-fallback warn --strict is still what was asked for" 0 "the inherited one stays" \
	"$NUMARUN" -m 0 --strict --mem-fallback warn -- true
check "a role that binds memory is refused" 125 "seccomp filter refuses" "$NUMARUN" --roles "$dir/roles.ini"
prints "a role with --mem-fallback warn runs" "one: inherited" "$NUMARUN" --roles "$dir/roles.ini" --mem-fallback warn
prints "a role with --mem-fallback cpu-only runs" "one: inherited" "$NUMARUN" --roles "$dir/roles.ini" --mem-fallback cpu-only
"$deny" "$NUMARUN" -C "$cpu" -m 0 --mem-fallback cpu-only --verify="$dir/look.json" -- sleep 0.2 2>"$err"
if jq -e '.ok and .programs[0].asked.policy == null and .programs[0].asked.cpus == "'"$cpu"'"' "$dir/look.json" >/dev/null; then
	echo "ok what was given up is not verified, the rest is"
else
	echo "not ok what was given up is not verified, the rest is"
	cat "$dir/look.json" "$err"
	failed=1
fi
exit $failed
