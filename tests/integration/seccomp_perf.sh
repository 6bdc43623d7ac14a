#!/bin/bash
# In a container whose seccomp filter refuses perf_event_open(2): numacount names the filter, and not
# perf_event_paranoid, whatever the filter answers. What is counted is the kernel's own clock, so that
# a PMU is there on every machine.
#
#   seccomp_perf.sh DENY_PERF
set -u
deny=$1
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/clock.ini" <<-'END'
	[family clock]
	title = the kernel's clock
	cpu = GenuineIntel 255/255
	counters = 4
	misses = all but time
	source = perf_event_open(2)
	[event cpu_clock]
	class = other
	pmu = software
	terms = config=0x0
	units = 1
	source = include/uapi/linux/perf_event.h
END
if [ ! -e /sys/bus/event_source/devices/software/type ]; then
	echo "skipped: the kernel here has no PMUs at all"
	exit 77
fi

# explains NAME STATUS KEY TEXT COMMAND...: the document's uncore source has TEXT at KEY.
explains() {
	local name=$1 status=$2 key=$3 text=$4 got found
	shift 4
	"$@" explain --json --events "$dir/clock.ini" --family clock >"$dir/out" 2>"$dir/err"
	got=$?
	if [ $got -eq 77 ]; then
		cat "$dir/err"
		exit 77
	fi
	found=$(jq -r ".sources[0].$key" "$dir/out")
	if [ $got -eq "$status" ] && [ ! -s "$dir/err" ] && grep -qe "$text" <<<"$found"; then
		echo "ok $name"
	else
		echo "not ok $name"
		echo "#   status $got, expected $status; $key: $found; expected: $text"
		sed 's/^/#   /' "$dir/err"
		failed=1
	fi
}

# refuses NAME COMMAND...: nothing is counted or run, and one line says that a filter does not permit it.
refuses() {
	local name=$1 got
	shift
	"$@" --events "$dir/clock.ini" --family clock -- touch "$dir/ran" >"$dir/out" 2>"$dir/err"
	got=$?
	if [ $got -eq 1 ] && [ ! -s "$dir/out" ] && [ ! -e "$dir/ran" ] && [ "$(wc -l <"$dir/err")" -eq 1 ] &&
		grep -q '^numacount: .*a seccomp filter, as containers have it, .*--cap-add PERFMON' "$dir/err"; then
		echo "ok $name"
	else
		echo "not ok $name"
		echo "#   status $got, expected 1 and one line"
		sed 's/^/#   /' "$dir/out" "$dir/err"
		failed=1
	fi
}

for code in EPERM ENOSYS; do
	explains "a filter that answers $code is named" 1 reason "^a seccomp filter, as containers have it" \
		"$deny" $code "$NUMACOUNT"
	explains "a filter that answers $code has its remedy" 1 remedy "--cap-add PERFMON" \
		"$deny" $code "$NUMACOUNT"
	refuses "stat names a filter that answers $code, and runs nothing" "$deny" $code "$NUMACOUNT" stat
	refuses "record names a filter that answers $code, and runs nothing" \
		"$deny" $code "$NUMACOUNT" record -o "$dir/rows.csv"
done
if [ "$(id -u)" -eq 0 ]; then
	explains "without a filter it is available" 0 available true "$NUMACOUNT"
fi
exit $failed
