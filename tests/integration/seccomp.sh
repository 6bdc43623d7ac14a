#!/bin/bash
# In a container whose seccomp filter refuses set_mempolicy(2): what asks for a policy is refused with
# the reason, what does not runs.
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
exit $failed
