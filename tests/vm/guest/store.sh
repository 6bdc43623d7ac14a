# shellcheck shell=dash disable=SC2034,SC2154 # status, pid are lib.sh's
# SPDX-License-Identifier: BSD-3-Clause
#
# A numastore under test: started and stopped, asked for its statistics, and looked at from outside.

STORE_PORT=11411
STORE_OUT=/tmp/store.out
STORE_ERR=/tmp/store.err
STORE_SERVER=127.0.0.1:$STORE_PORT

store_pid=

# Before it starts: what the last one printed is not taken for its words.
empty_store_files() {
	: >"$STORE_OUT"
	: >"$STORE_ERR"
}

# Starts it from a CPU of node 0, so that what it has before it knows its place is there too.
start_store() { # OPTION...
	empty_store_files
	numarun -C 0-1 -- numastore -p "$STORE_PORT" --http-port 0 "$@" </dev/null >"$STORE_OUT" \
		2>"$STORE_ERR" 3>&- &
	store_pid=$!
	poll store_listens_or_ended
	grep -q '^memcache listens on ' "$STORE_OUT" ||
		fault "numastore to listen" "$(cat "$STORE_ERR")"
	cat "$STORE_ERR" "$STORE_OUT" # on the console
}

store_listens_or_ended() {
	grep -q '^memcache listens on ' "$STORE_OUT" || ! [ -d "/proc/$store_pid" ]
}

stop_store() {
	local rc=0

	kill "$store_pid" 2>/dev/null
	wait "$store_pid" || rc=$?
	expect_equal "status of numastore" 0 "$rc"
	[ "$rc" -eq 0 ] || cat "$STORE_ERR" # on the console
	store_pid=
}

store_say() { # LINE
	printf '%s\r\nquit\r\n' "$1" | nc 127.0.0.1 "$STORE_PORT" | tr -d '\r'
}

# The value of a line of stats, "" without it.
store_stat() { # KIND NAME
	store_say "stats $1" | awk -v name="$2" '$1 == "STAT" && $2 == name { print $3; exit }'
}

# A field of an arena's line of stats placement, by the arena's node.
store_arena() { # NODE FIELD
	store_say "stats placement" | awk -v node="node=$1" -v field="$2" '
		$2 ~ /^arena:/ {
			count = split($3, words, ",")
			if (words[1] != node)
				next
			for (i = 1; i <= count; i++) {
				split(words[i], pair, "=")
				if (pair[1] == field)
					print pair[2]
			}
		}'
}

# A cell of the table that it printed at its start, by the arena's node.
store_cell() { # NODE COLUMN
	awk -v node="$1" -v column="$2" '
		$1 == "ARENA" { for (i = 1; i <= NF; i++) if ($i == column) at = i; next }
		at && $2 == node && $1 ~ /^[0-9]+$/ { print $at; exit }' "$STORE_OUT"
}

# The mappings of HugeTLB pages as numa_maps shows them to anybody: "START POLICY PAGES-BY-NODE".
huge_mappings() {
	awk '/ huge / {
		text = $1 " " $2
		for (i = 3; i <= NF; i++)
			if ($i ~ /^N[0-9]+=/)
				text = text " " $i
		print text
	}' "/proc/$store_pid/numa_maps"
}

# Its own pages on a NODE, but for those of HugeTLB: "pages" in mappings without a file, and what it
# has written to of files.
own_pages_on() { # NODE
	awk -v node="N$1" '! / huge / && / anon=/ && ! / file=/ {
		for (i = 3; i <= NF; i++) {
			split($i, pair, "=")
			if (pair[1] == node)
				count += pair[2]
		}
	}
	END { print count + 0 }' "/proc/$store_pid/numa_maps"
}

# How many bytes other than 0 lie in its HugeTLB pages on that NODE: as arenas begin empty and objects
# are of random bytes, about as many as are stored there.
bytes_on() { # NODE
	local start sum=0 pages

	for start in $(huge_mappings | awk -v node="N$1" '{
		split($3, pair, "=")
		if (NF == 3 && pair[1] == node)
			print $1 ":" pair[2]
	}'); do
		pages=${start#*:}
		start=${start%:*}
		sum=$((sum + $(dd if="/proc/$store_pid/mem" bs=2097152 skip="$((0x$start / 2097152))" \
			count="$pages" 2>/dev/null | tr -d '\000' | wc -c)))
	done
	echo "$sum"
}

# That a number is at least 99 % of another and at most that.
expect_nearly() { # WHAT EXPECTED GOT
	check_expected=$((check_expected + 1))
	if [ "$3" -gt "$2" ] || [ $((${3} * 100)) -lt $((${2} * 99)) ]; then
		fault "$1: $2, or up to 1 % less" "$3"
	fi
}

huge_pages() { # NODE COUNT
	echo "$2" >"/sys/devices/system/node/node$1/hugepages/hugepages-2048kB/nr_hugepages"
	expect_equal "huge pages that node $1 reserves" "$2" \
		"$(cat "/sys/devices/system/node/node$1/hugepages/hugepages-2048kB/nr_hugepages")"
}
