#!/bin/bash
# The main job in one go: an object server near a network card, and a client that times every request,
# placed, verified and counted by numarun (examples/roles/store.ini), with a summary at the end.
#
# usage: examples/main_job.sh [DEVICE]      the first card on hardware unless given; none: anywhere
#
# The programs are those in PATH. Files of the run stay in the directory that is told at the end. It takes less
# than a minute, and is ended after ten.
set -euo pipefail
roles=$(dirname "$0")/roles/store.ini
device=${1-}

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

free_port() {
	local port
	for port in $(shuf -i 20000-30000 -n 50); do
		if ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			echo "$port"
			return
		fi
	done
	echo "main_job.sh: no free port" >&2
	return 1
}

[ -n "$device" ] || device=$(first_nic)
dir=$(mktemp -d "${TMPDIR:-/tmp}/main_job.XXXXXX")
port=$(free_port)
if [ -n "$device" ]; then
	card="s/^near = .*/near = $device/"
else
	card="/^near = /d"
fi
sed -e "$card" -e "s/127.0.0.1:11211/127.0.0.1:$port/; s/-p 11211/-p $port/" \
	-e "s/numalat \(populate\|run\)/& -s 127.0.0.1:$port/; s|both.nlt|$dir/both.nlt|" "$roles" >"$dir/store.ini"

options=(--roles "$dir/store.ini" --verify="$dir/verify.json")
if why=$(numacount stat -- true 2>&1); then
	options+=("--counters=$dir/counters.jsonl")
	why=
fi
echo "\$ numarun ${options[*]}"
status=0
timeout --foreground -k 30 600 numarun "${options[@]}" 2>&1 | tee "$dir/log" || status=$?
if [ $status -ne 0 ]; then
	echo "main_job.sh: the run failed (files are in $dir)" >&2
	exit $status
fi

numalat analyze "$dir/both.nlt" >"$dir/analysis"

# What stands behind a role's label in the log.
of_role() { sed -n "s/^$1: //p" "$dir/log"; }

# What the analysis says of the whole requests, in one line.
verdict() {
	awk '/^- total download: / { said = substr($0, 19); next }
		said != "" && /^  / { said = said " " substr($0, 3); next }
		said != "" { exit }
		END { print said }' "$dir/analysis"
}

echo
echo "Summary"
echo "  card      ${device:-none on hardware: placed without one}"
grep -o '"role": "[^"]*"\|"cpus": "[^"]*"' "$dir/verify.json" | awk -F'"' '
	$2 == "role" { role = $4; next }
	role != "" { printf "  %-9s on CPU%s %s\n", role, $4 ~ /[-,]/ ? "s" : "", $4; role = "" }'
if grep -q '^  "ok": true' "$dir/verify.json"; then
	echo "  verified  every thread and policy of both was where it should be, at each look"
else
	echo "  verified  NOT: see $dir/verify.json"
fi
of_role store | awk '/^ARENA/ { print "  memory    " $0; heads = 1; next }
	heads && $1 ~ /^[0-9]+$/ && NF > 8 { print "            " $0; next } { heads = 0 }'
of_role store | sed -n "s/^keys that begin with '\(.*\)-' live on /            \1: /p"
if of_role store | grep -q "^numastore: --place 'far-=far': "; then
	echo "            near and far are one node: this host has no other with memory, and no difference is to be found"
fi
for arm in near far; do
	of_role client | awk -v arm="$arm" '
		$1 == "arm" { here = ($2 == arm ":") }
		here && /^p(50|90|99|99\.9) / { times[++n] = $1 " " $(NF - 2) }
		END { printf "  %-9s total download, us:", arm; for (i = 1; i <= n; i++) printf " %s%s", times[i], i < n ? "," : "\n" }'
done
echo "  verdict   $(verdict)"
if [ -z "$why" ]; then
	echo "  bytes     of memory and links, by socket: $dir/counters.jsonl, and above"
else
	echo "  bytes     not counted: ${why##*: uncore: }"
fi
echo "  files     $dir"
