# shellcheck shell=dash
# SPDX-License-Identifier: BSD-3-Clause
#
# What a check script is written with. It sources this file; then, for each check,
#
#	check "what the user may rely on"
#	run PROGRAM ARGUMENT...
#	expect_status 0
#	expect_line "cpus: 4-5"
#
# A check lasts until the next one or the end of the script. It is ok when all that it expected was
# so, and it must expect something. Each is one line for the host, "ok NAME" or "not ok NAME"; after
# the latter come lines with "# ": what was expected, what was seen, what the command printed.
#
# "check" stands at the start of a line and its name is a literal without ";": CMake reads the names
# from there.

TMP=/tmp/check
RUN_LIMIT_S=60

check_name=
command=
status=
pid=

mkdir -p "$TMP"
trap check_script_ended EXIT

# --- checks ---------------------------------------------------------------------------------------

check() { # NAME
	check_end
	check_name=$1
	check_expected=0
	echo "check $1" # on the console, to see which one hangs
	command=
	: >"$TMP/faults"
	: >"$TMP/out"
	: >"$TMP/err"
	rm -f "$TMP/mark"
}

check_end() {
	[ -n "$check_name" ] || return 0
	release KILL
	[ "$check_expected" -gt 0 ] || fault "something to be expected" "nothing"

	if [ -s "$TMP/faults" ]; then
		report "not ok $check_name"
		report "$(sed 's/^/# /' "$TMP/faults")"
	else
		report "ok $check_name"
	fi
	check_name=
}

# A script that stops early must not look like one that has fewer checks.
check_script_ended() {
	local rc=$?

	[ "$rc" -eq 0 ] || [ -z "$check_name" ] || fault "the check script to go on" "status $rc"
	check_end
}

report() { # TEXT
	echo "$1"
	echo "$1" >&3
}

# Notes that the running check failed. The command's own words follow, once for each command.
fault() { # EXPECTED GOT
	{
		echo "expected $1"
		echo "got      $2"
	} >>"$TMP/faults"
	[ -n "$command" ] || return 0
	{
		echo "command  $command"
		echo "status   $status"
		head -n 40 "$TMP/out" | sed 's/^/stdout   /'
		head -n 40 "$TMP/err" | sed 's/^/stderr   /'
	} >>"$TMP/faults"
	command=
}

# --- running --------------------------------------------------------------------------------------

# Runs a command to its end: $status, and what it printed in $TMP/out and $TMP/err.
run() { # PROGRAM ARGUMENT...
	run_at_most "$RUN_LIMIT_S" "$@"
}

run_at_most() { # SECONDS PROGRAM ARGUMENT...
	local seconds=$1
	shift

	command=$*
	status=0
	timeout -k 5 "$seconds" "$@" </dev/null >"$TMP/out" 2>"$TMP/err" 3>&- || status=$?
}

# The same from within a cgroup, /sys/fs/cgroup/NAME.
run_in_cgroup() { # NAME PROGRAM ARGUMENT...
	# shellcheck disable=SC2016 # for the inner shell to expand
	run sh -c 'echo $$ >"/sys/fs/cgroup/$0/cgroup.procs" && exec "$@"' "$@"
}

# Starts a command: $pid. It is ended by release, or with the check. Its files are empty at once, not only when the
# new process gets to it: what the last one printed is not taken for its words.
start() { # PROGRAM ARGUMENT...
	command="$* &"
	status="still running"
	: >"$TMP/out"
	: >"$TMP/err"
	"$@" </dev/null >"$TMP/out" 2>"$TMP/err" 3>&- &
	pid=$!
}

# Starts a command that ends in "where --hold" and waits until it holds.
hold() { # PROGRAM ARGUMENT...
	start "$@"
	poll holds_or_ended ||
		fault "the command to print 'holding'" "no such line in $RUN_LIMIT_S s"
}

holds_or_ended() {
	grep -qx holding "$TMP/out" || ! [ -d "/proc/$pid" ]
}

# Tries a command until it succeeds; false when it does not in time.
poll() { # COMMAND...
	local waited=0

	while ! "$@"; do
		[ $((waited += 1)) -le $((RUN_LIMIT_S * 20)) ] || return 1
		usleep 50000
	done
}

# Ends what start or hold started, by SIGNAL, and leaves its $status.
release() { # SIGNAL
	[ -n "$pid" ] || return 0
	kill "-$1" "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	status=$?
	pid=
}

# --- expectations ---------------------------------------------------------------------------------

expect_equal() { # WHAT EXPECTED GOT
	check_expected=$((check_expected + 1))
	[ "$2" = "$3" ] || fault "$1: $2" "$3"
}

# That a command comes to succeed.
expect_soon() { # WHAT COMMAND...
	local what=$1
	shift

	check_expected=$((check_expected + 1))
	poll "$@" || fault "$what" "nothing of the kind in $RUN_LIMIT_S s"
}

expect_status() { # STATUS
	expect_equal "status" "$1" "$status"
}

# A line of stdout, whole.
expect_line() { # TEXT
	check_expected=$((check_expected + 1))
	grep -qxF -- "$1" "$TMP/out" || fault "on stdout the line '$1'" "no such line"
}

# All of stdout.
expect_stdout() { # TEXT
	expect_equal "stdout" "$1" "$(cat "$TMP/out")"
}

# A line of stdout that matches, without regard to case.
expect_stdout_match() { # EXTENDED_REGEX
	check_expected=$((check_expected + 1))
	grep -qiE -- "$1" "$TMP/out" || fault "on stdout a line like /$1/" "no such line"
}

# stdout, with white space left out so that the layout of JSON does not matter.
expect_json() { # TEXT
	check_expected=$((check_expected + 1))
	tr -d ' \t\n' <"$TMP/out" | grep -qF -- "$1" ||
		fault "in the JSON on stdout $1" "no such text"
}

expect_no_json() { # TEXT
	check_expected=$((check_expected + 1))
	! tr -d ' \t\n' <"$TMP/out" | grep -qF -- "$1" ||
		fault "no $1 in the JSON on stdout" "it is there"
}

# A line of stderr that matches, without regard to case.
expect_stderr() { # EXTENDED_REGEX
	check_expected=$((check_expected + 1))
	grep -qiE -- "$1" "$TMP/err" || fault "on stderr a line like /$1/" "no such line"
}

expect_no_stderr() {
	expect_equal "lines on stderr" 0 "$(wc -l <"$TMP/err")"
}

# A field of /proc/PID/status of the held process.
expect_held_status() { # FIELD VALUE
	expect_equal "$1 in /proc/$pid/status" "$2" "$(held_status "$1")"
}

held_status() { # FIELD
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$pid/status"
}

# The pages per node of the held process's one mapping of at least PAGES written pages, as numa_maps
# shows it to anybody: "bind:2 N2=16384".
expect_held_pages() { # PAGES TEXT
	expect_equal "policy and pages in /proc/$pid/numa_maps" "$2" "$(held_pages "$1")"
}

held_pages() { # PAGES
	awk -v least="$1" '{
		text = $2
		pages = 0
		for (i = 3; i <= NF; i++) {
			if ($i ~ /^anon=/)
				pages = substr($i, 6)
			if ($i ~ /^N[0-9]+=/)
				text = text " " $i
		}
		if (pages + 0 >= least)
			print text
	}' "/proc/$pid/numa_maps"
}

# The pages of "where --touch" on NODE, within TOLERANCE of PAGES.
expect_pages() { # NODE PAGES TOLERANCE
	local got

	got=$(pages_on "$1")
	check_expected=$((check_expected + 1))
	if [ "$got" -lt $(($2 - $3)) ] || [ "$got" -gt $(($2 + $3)) ]; then
		fault "pages on node $1: $2, give or take $3" "$got"
	fi
}

pages_on() { # NODE
	awk -v node="N$1" '
		/^pages:/ {
			for (i = 2; i <= NF; i++) {
				split($i, pair, "=")
				if (pair[1] == node)
					count = pair[2]
			}
		}
		END { print count + 0 }' "$TMP/out"
}

# That numarun with these options fails as a launcher should: this status, one line on stderr with
# its name and a reason like REGEX, and nothing run.
refuses() { # STATUS REGEX OPTION...
	local expected=$1 reason=$2
	shift 2

	rm -f "$TMP/mark"
	run numarun "$@" -- touch "$TMP/mark"
	expect_refusal "$expected" "$reason"
}

expect_refusal() { # STATUS REGEX
	expect_status "$1"
	expect_equal "lines on stderr" 1 "$(wc -l <"$TMP/err")"
	expect_stderr "^numarun: .*($2)"
	expect_not_run
}

# That the program, which was to touch $TMP/mark, never started.
expect_not_run() {
	check_expected=$((check_expected + 1))
	[ ! -e "$TMP/mark" ] || fault "nothing to be run" "the program ran"
}
