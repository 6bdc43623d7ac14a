# shellcheck shell=dash disable=SC2153,SC2154,SC2034 # status, pid, TMP are lib.sh's; others use these
# SPDX-License-Identifier: BSD-3-Clause
#
# What the checks with uncore PMUs share: the rates of module/layouts.h once more, by its table and
# not by its code; where numacount's output has them; comparisons. A script sets
#
#	SOCKETS       how many there are
#	DIES          the positions of dies in a socket
#	BOXES         the positions of memory PMUs, or of memory channels, in a socket
#	LINK_NUMBERS  the numbers of links by position: those of the first die, then of the second ...
#	MEMORY        what is counted of memory: "read write", or "any" for both together
#	LINK          what is counted of links: "out in", or "out" alone

LINE_BYTES=64000000 # of 10^6 lines
TOLERANCE_PPM=5000

MODULE_PARAMETERS=/sys/module/uncore_test/parameters
PMUS=/sys/bus/event_source/devices

# --- what the module counts -----------------------------------------------------------------------

# The bytes a second of WHAT (read, write, any, out, in) of a socket; of some boxes, in all its dies, or
# of some links, when their POSITIONS are given.
bytes_of() { # WHAT SOCKET [POSITIONS]
	local positions=$3

	if [ -z "$positions" ]; then
		case $1 in
		out | in) positions=$(link_positions) ;;
		*) positions=$BOXES ;;
		esac
	fi
	awk -v what="$1" -v s="$2" -v n="$SOCKETS" -v dies="$DIES" -v positions="$positions" \
		-v links="$(echo "$LINK_NUMBERS" | wc -w)" -v line="$LINE_BYTES" '
		function sent(s, l, d) {
			return (l % 2 == 0 ? 10 * (s + 1) : 5 * (s + 1) + 2) + int(l / 2) + d
		}
		function lines(j, d) {
			if (what == "read")
				return 20 * (s + 1) + 3 * j + d
			if (what == "write")
				return 8 * (s + 1) + 2 * j + d
			if (what == "any")
				return 28 * (s + 1) + 5 * j + 2 * d
			if (what == "out")
				return sent(s, j, d)
			if (j % 2 == 0)
				return sent((s + 1) % n, j + 1, d)
			return sent((s + n - 1) % n, j - 1, d)
		}
		BEGIN {
			count = split(positions, position, " ")
			die_count = split(dies, die, " ")
			of_die = what == "out" || what == "in" ? links / die_count : 0
			for (i = 1; i <= count; i++)
				for (k = 1; k <= die_count; k++)
					if (!of_die)
						sum += lines(position[i], die[k])
					else if (int(position[i] / of_die) == k - 1)
						sum += lines(position[i] % of_die, die[k])
			printf "%.0f\n", sum * line
		}'
}

# Where a link ends.
peer_of() { # SOCKET POSITION
	echo $((($1 + ($2 % 2 ? SOCKETS - 1 : 1)) % SOCKETS))
}

sockets() {
	seq 0 $((SOCKETS - 1))
}

link_positions() {
	seq 0 $(($(echo "$LINK_NUMBERS" | wc -w) - 1))
}

link_number() { # POSITION
	echo "$LINK_NUMBERS" | cut -d ' ' -f $(($1 + 1))
}

# --- numacount's words ----------------------------------------------------------------------------

class_of() { # WHAT
	case $1 in
	read | write | any) echo "memory_$1" ;;
	out | in) echo "interconnect_$1" ;;
	esac
}

# The JSON keys of a socket, and of one of its links, in numakit/stat/1.
socket_key() { # WHAT
	echo "$(class_of "$1")_bytes"
}

link_key() { # WHAT
	echo "$1.bytes"
}

# A value of the JSON that the last command printed; "null" when it is unknown.
json() { # FILTER
	jq -r "$1" "$TMP/out"
}

socket_json() { # SOCKET FILTER
	json ".sockets[] | select(.socket == $1) | $2"
}

link_json() { # SOCKET POSITION FILTER
	socket_json "$1" ".links[] | select(.link == $(link_number "$2")) | $3"
}

# --- comparing ------------------------------------------------------------------------------------

# A number within parts per million of what it should be.
expect_near() { # WHAT EXPECTED GOT [PPM]
	local ppm=${4:-$TOLERANCE_PPM}

	check_expected=$((check_expected + 1))
	awk -v want="$2" -v got="$3" -v ppm="$ppm" 'BEGIN {
		off = got - want
		if (off < 0)
			off = -off
		exit !(got ~ /^-?[0-9]/ && off * 1e6 <= want * ppm)
	}' || fault "$1: $2, within $ppm ppm" "${3:-nothing}"
}

# LEAST <= GOT <= MOST.
expect_between() { # WHAT LEAST MOST GOT
	check_expected=$((check_expected + 1))
	awk -v least="$2" -v most="$3" -v got="$4" 'BEGIN {
		exit !(got ~ /^-?[0-9]/ && got + 0 >= least + 0 && got + 0 <= most + 0)
	}' || fault "$1: $2 to $3" "${4:-nothing}"
}

# That a command fails.
expect_not() { # WHAT COMMAND...
	local what=$1
	shift

	check_expected=$((check_expected + 1))
	! "$@" || fault "not: $what" "it is so"
}

# BYTES_PER_S in NS nanoseconds.
in_ns() {
	awk -v rate="$1" -v ns="$2" 'BEGIN { printf "%.0f\n", rate * ns / 1e9 }'
}

# What "stat --json" printed of one socket.
expect_stat_socket() { # SOCKET [PPM]
	local what elapsed_ns

	elapsed_ns=$(json .elapsed_ns)
	for what in $MEMORY $LINK; do
		expect_near "socket $1: $(socket_key "$what")" \
			"$(in_ns "$(bytes_of "$what" "$1")" "$elapsed_ns")" \
			"$(socket_json "$1" ".$(socket_key "$what")")" "$2"
	done
}

# --- rows -----------------------------------------------------------------------------------------

# Of a file of "record": a line for each class, socket and link, with what its rows add up to, the
# time that they are of, how many they are, how many of them are unknown, the greatest value per
# second, and their notes: "memory_read 0 - VALUE NS ROWS UNKNOWN MAX NOTES". NS is of the known ones.
row_sums() { # FILE
	jq -rs '
		map(select(.class)) | group_by([.class, .socket, .link])[] |
		(map(select(.value != null))) as $known |
		[.[0].class, .[0].socket, (.[0].link // "-"),
		 ($known | map(.value) | add // 0), ($known | map(.interval_ns) | add // 0),
		 length, length - ($known | length),
		 ($known | map(.value * 1e9 / .interval_ns) | max // 0 | floor),
		 (map(.note // "" | select(. != "")) | unique | join(",") | if . == "" then "-" else . end)] |
		join(" ")' "$1" >"$TMP/rows"
}

# A field of that: value ns rows unknown max notes.
row_sum() { # CLASS SOCKET LINK FIELD
	awk -v class="$1" -v socket="$2" -v link="$3" -v field="$4" '
		BEGIN { place["value"] = 4; place["ns"] = 5; place["rows"] = 6
			place["unknown"] = 7; place["max"] = 8; place["notes"] = 9 }
		$1 == class && $2 == socket && $3 == link { print $place[field] }' "$TMP/rows"
}

# That the rows add up to rate times time, whatever part of the time is known.
expect_row_sum() { # WHAT SOCKET [POSITION] [PPM]
	local what=$1 socket=$2 position=$3 link=-

	[ -z "$position" ] || link=$(link_number "$position")
	set -- "$(class_of "$what")" "$socket" "$link" "$4"
	expect_near "$1, socket $2, link $3" \
		"$(in_ns "$(bytes_of "$what" "$socket" "$position")" "$(row_sum "$1" "$2" "$3" ns)")" \
		"$(row_sum "$1" "$2" "$3" value)" "$4"
}

# All rows of a socket.
expect_row_sums() { # SOCKET [PPM]
	local what position

	for what in $MEMORY; do
		expect_row_sum "$what" "$1" "" "$2"
	done
	for what in $LINK; do
		for position in $(link_positions); do
			expect_row_sum "$what" "$1" "$position" "$2"
		done
	done
}

# Starts "record" and waits for its first rows.
start_record() { # FILE SECONDS
	rm -f "$1"
	start numacount record -I 200 -o "$1" --duration "$2"
	poll has_rows_or_ended "$1" || fault "rows in $1" "none"
}

has_rows_or_ended() { # FILE
	grep -q '"class"' "$1" 2>/dev/null || has_ended
}

# Whether what was started has ended: its entry may still be there, as nobody has waited for it.
has_ended() {
	! grep -q '^State:[[:space:]]*[^Z[:space:]]' "/proc/$pid/status" 2>/dev/null
}

# Waits for the end of what was started: $status.
finish() {
	wait "$pid"
	status=$?
	pid=
}

# --- the module -----------------------------------------------------------------------------------

# Loads the module anew, with other parameters.
reload() { # [PARAMETER=VALUE...]
	local name=${MACHINE_MODULE%% *}

	rmmod "$name" || fault "the module to go" "it is in use"
	# shellcheck disable=SC2086 # words
	insmod "/modules/$name.ko" ${MACHINE_MODULE#"$name"} "$@" || fault "the module with $*" "none"
}

set_parameter() { # NAME VALUE
	echo "$2" >"$MODULE_PARAMETERS/$1"
}

# --- perf_read, whose lines are: ns enabled running count... --------------------------------------

# What event NUMBER of the last run counted in a second.
perf_rate() { # NUMBER
	awk -v f=$(($1 + 3)) '
		/^[0-9]/ && !ns { ns = $1; first = $f }
		/^[0-9]/ { last_ns = $1; last = $f }
		END { printf "%.0f\n", (last - first) * 1e9 / (last_ns - ns) }' "$TMP/out"
}

# The share of the time in which it counted.
perf_coverage() {
	awk '/^[0-9]/ { share = $2 > 0 ? $3 / $2 : 0 } END { printf "%.3f\n", share }' "$TMP/out"
}

# That perf_read gets these counts a second, one for each config.
expect_counts() { # PMU CPU CONFIGS RATE...
	local pmu=$1 cpu=$2 configs=$3 i=0 rate
	shift 3

	run perf_read "$pmu" "$cpu" "$configs" 1000
	expect_status 0
	for rate in "$@"; do
		i=$((i + 1))
		expect_near "$pmu cpu $cpu $configs, event $i" "$rate" "$(perf_rate "$i")"
	done
}

# Counts in the background, so that it takes counters away; end it with release_rival.
start_rival() { # PMU CPU CONFIGS
	: >"$TMP/rival"
	perf_read "$1" "$2" "$3" 100000 0 >"$TMP/rival" 2>&1 3>&- &
	rival=$!
	poll test -s "$TMP/rival" || fault "a rival that counts" "none"
}

release_rival() {
	kill "$rival"
	wait "$rival"
}
