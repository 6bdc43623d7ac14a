#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# The options stand in three places, --help (from the table that is parsed), the man page and the
# completion; here they are held against each other.

load common

PROBE_MAN=$BATS_TEST_DIRNAME/../../probe/numaprobe.1
PROBE_COMPLETION=$BATS_TEST_DIRNAME/../../probe/numaprobe.bash-completion
RUN_MAN=$BATS_TEST_DIRNAME/../../launcher/numarun.1
RUN_COMPLETION=$BATS_TEST_DIRNAME/../../launcher/numarun.bash-completion
COUNT_MAN=$BATS_TEST_DIRNAME/../../counters/numacount.1
COUNT_COMPLETION=$BATS_TEST_DIRNAME/../../counters/numacount.bash-completion
LAT_MAN=$BATS_TEST_DIRNAME/../../server/client/numalat.1
LAT_COMPLETION=$BATS_TEST_DIRNAME/../../server/client/numalat.bash-completion

STORE_MAN=$BATS_TEST_DIRNAME/../../server/numastore.1
STORE_COMPLETION=$BATS_TEST_DIRNAME/../../server/numastore.bash-completion

# Each program, and each of its commands.
COMMANDS=("NUMAPROBE" "NUMAPROBE report" "NUMAPROBE rank" "NUMARUN" "NUMACOUNT" "NUMACOUNT explain"
	"NUMACOUNT list" "NUMACOUNT stat" "NUMACOUNT record" "NUMACOUNT serve" "NUMACOUNT matrix"
	"NUMALAT" "NUMALAT populate" "NUMALAT run" "NUMALAT load" "NUMALAT noise" "NUMALAT sequence"
	"NUMALAT convert" "NUMALAT show" "NUMALAT analyze" "NUMASTORE")

# help_options COMMAND...: the options that its --help lists, short and long.
help_options() {
	"$@" --help | grep -oE '^ +(-[^ ,-], )?--[a-z-]+' | tr -s ' ,' '\n' | grep '^-' | sort
}

# man_options PAGE HEADING: those tagged in the OPTIONS section, under the headings that match.
man_options() {
	awk -v heading="$2" '
		/^\.Sh/ { in_options = /OPTIONS/ }
		/^\.Ss/ { wanted = $0 ~ heading }
		in_options && wanted && sub(/^\.It Fl /, "") {
			sub(/ (Ar|Cm) .*/, "")
			gsub(/\\&/, "")
			for (n = split($0, names, / , /); n > 0; n--)
				print "-" names[n]
		}' "$1" | sort
}

# completions FILE WORD... CURRENT: what is offered for the last word, which can be empty.
completions() {
	bash -c '
		source "$1"
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		"_$1"
		((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]}"' completions "$@" | sort
}

same() { # WHAT A WHAT B
	diff -u --label "$1" --label "$3" <(echo "$2") <(echo "$4") >&2 || fail "$1 and $3 differ"
}

@test "help, man page and completion of numaprobe name the same options" {
	local options

	options=$(help_options "$NUMAPROBE")

	[[ -n $options ]]
	same "numaprobe --help" "$options" "numaprobe.1" "$(man_options "$PROBE_MAN" every)"
	same "numaprobe --help" "$options" completion "$(completions "$PROBE_COMPLETION" numaprobe -)"
}

@test "help, man page and completion of numaprobe report name the same options" {
	local options

	options=$(help_options "$NUMAPROBE" report)

	same "report --help" "$options" "numaprobe.1" "$(man_options "$PROBE_MAN" every)"
	same "report --help" "$options" completion \
		"$(completions "$PROBE_COMPLETION" numaprobe report -)"
}

@test "help, man page and completion of numaprobe rank name the same options" {
	local options

	options=$(help_options "$NUMAPROBE" rank)

	same "rank --help" "$options" "numaprobe.1" "$(man_options "$PROBE_MAN" 'every|rank')"
	same "rank --help" "$options" completion \
		"$(completions "$PROBE_COMPLETION" numaprobe rank -)"
}

@test "help, man page and completion of numarun name the same options" {
	local options

	options=$(help_options "$NUMARUN")

	[[ -n $options ]]
	# The deprecated --cpubind is taken and documented, but not offered.
	same "numarun --help" "$options" "numarun.1 without -c, --cpubind" \
		"$(man_options "$RUN_MAN" . | grep -vxE -e '-c|--cpubind')"
	man_options "$RUN_MAN" . | grep -qxe --cpubind
	same "numarun --help" "$options" completion "$(completions "$RUN_COMPLETION" numarun -)"
}

# Of each command: the headings of its options in the man page.
declare -gA COUNT_HEADINGS=(
	[explain]="Of every command\$"
	[list]="Of (every command|list)\$"
	[stat]="Of (every command|stat, record, serve and matrix|stat)\$"
	[record]="Of (every command|stat, record, serve and matrix|record)\$"
	[serve]="Of (every command|stat, record, serve and matrix|serve)\$"
	[matrix]="Of (every command|stat, record, serve and matrix)\$"
)

declare -gA LAT_HEADINGS=(
	[populate]="Of (every command|populate, run and load|populate)\$"
	[run]="Of (every command|populate, run and load|run)\$"
	[load]="Of (every command|populate, run and load|load)\$"
	[noise]="Of (every command|noise)\$"
	[sequence]="Of (every command|sequence)\$"
	[convert]="Of (every command|convert)\$"
	[show]="Of (every command|show)\$"
	[analyze]="Of (every command|analyze)\$"
)

# options_agree NAME PROGRAM PAGE COMPLETION HEADINGS: help, man page and completion of a program with commands
# name the same options. HEADINGS is an array: of each command, the headings of its options in the page.
options_agree() {
	local name=$1 program=$2 page=$3 completion=$4 options command
	local -n headings=$5

	options=$(help_options "$program")
	[[ -n $options ]]
	same "$name --help" "$options" "$name.1" "$(man_options "$page" "every command$")"
	same "$name --help" "$options" completion "$(completions "$completion" "$name" -)"
	for command in "${!headings[@]}"; do
		options=$(help_options "$program" "$command")
		same "$command --help" "$options" "$name.1" "$(man_options "$page" "${headings[$command]}")"
		same "$command --help" "$options" completion "$(completions "$completion" "$name" "$command" -)"
	done
}

# The same for the names of the commands.
commands_agree() { # NAME PROGRAM PAGE COMPLETION HEADINGS
	local name=$1 program=$2 page=$3 completion=$4 commands
	local -n headings=$5

	commands=$("$program" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | sort)
	same headings "$(printf '%s\n' "${!headings[@]}" | sort)" "$name --help" "$commands"
	same "$name --help" "$commands" "$name.1" \
		"$(awk '/^\.Sh/ { inside = /COMMANDS/ } inside && sub(/^\.It Cm /, "")' "$page" | sort)"
	same "$name --help" "$commands" completion "$(completions "$completion" "$name" '')"
}

@test "help, man page and completion of numacount and its commands name the same options" {
	[[ ${#COUNT_HEADINGS[@]} -eq 6 ]]
	options_agree numacount "$NUMACOUNT" "$COUNT_MAN" "$COUNT_COMPLETION" COUNT_HEADINGS
}

@test "help, man page and completion of numacount name the same commands" {
	commands_agree numacount "$NUMACOUNT" "$COUNT_MAN" "$COUNT_COMPLETION" COUNT_HEADINGS
	refuses 2 "'bogus' is no command; there are: explain, list, stat, record, serve, matrix" "$NUMACOUNT" bogus
}

@test "help, man page and completion of numalat and its commands name the same options" {
	[[ ${#LAT_HEADINGS[@]} -eq 8 ]]
	options_agree numalat "$NUMALAT" "$LAT_MAN" "$LAT_COMPLETION" LAT_HEADINGS
}

@test "help, man page and completion of numalat name the same commands" {
	commands_agree numalat "$NUMALAT" "$LAT_MAN" "$LAT_COMPLETION" LAT_HEADINGS
	refuses 2 "'bogus' is no command; there are: populate, run, load, noise," "$NUMALAT" bogus
}

@test "help, man page and completion of numastore name the same options" {
	local options

	# Some have a short form alone, as memcached's.
	options=$("$NUMASTORE" --help | grep -oE '^ +(-[^ ,-]|(-[^ ,-], )?--[a-z-]+)' | tr -s ' ,' '\n' | grep '^-' | sort)
	[[ -n $options ]]
	same "numastore --help" "$options" "numastore.1" "$(man_options "$STORE_MAN" .)"
	same "numastore --help" "$options" completion "$(completions "$STORE_COMPLETION" numastore -)"
	same wanted $'auto\nthreads\nuring' offered "$(completions "$STORE_COMPLETION" numastore --io = '')"
}

@test "help is on standard output, fits 80 columns and ends with status 0" {
	local words
	local -a command

	# The programs may stand in a folder with spaces in its name.
	for words in "${COMMANDS[@]}"; do
		read -ra command <<<"$words"
		command[0]=${!command[0]}
		run --separate-stderr "${command[@]}" --help
		[[ $status -eq 0 && -n $output && -z $stderr ]] || fail "$(told)"
		! grep -nE ' $' <<<"$output" >&2 || fail "$words --help: lines above end in spaces"
		! grep -nE '^.{81}' <<<"$output" >&2 || fail "$words --help: lines above are too long"
	done
}

@test "-? is --help, and --usage is short" {
	local words
	local -a command

	for words in "${COMMANDS[@]}"; do
		read -ra command <<<"$words"
		command[0]=${!command[0]}
		gives "$("${command[@]}" --help)" "${command[@]}" '-?'
		run --separate-stderr "${command[@]}" --usage
		[[ $status -eq 0 && $output == "Usage: "* && -z $stderr ]] || fail "$(told)"
	done
}

@test "the version is the project's" {
	local version

	version=$(sed -n 's/^project(numakit VERSION \([0-9.]*\).*/\1/p' "$NUMAKIT_SOURCE/CMakeLists.txt")

	[[ -n $version ]]
	gives "numaprobe $version" "$NUMAPROBE" --version
	gives "numaprobe $version" "$NUMAPROBE" rank --version
	gives "numarun $version" "$NUMARUN" --version
	gives "numacount $version" "$NUMACOUNT" --version
	gives "numacount $version" "$NUMACOUNT" stat --version
	gives "numalat $version" "$NUMALAT" --version
	gives "numalat $version" "$NUMALAT" run --version
	gives "numastore $version" "$NUMASTORE" --version
}

@test "an unknown option is one line on standard error, and status 2 or 125" {
	local command

	refuses 2 "unknown option '--bogus'" "$NUMAPROBE" --bogus
	refuses 2 "unknown option '--bogus'" "$NUMAPROBE" report --bogus
	refuses 2 "unknown option '--bogus'" "$NUMAPROBE" rank --bogus
	refuses 2 "unknown option '-Z'" "$NUMAPROBE" -Z
	refuses 2 "unknown option '-Z'" "$NUMAPROBE" rank -Z eth0
	refuses 2 "unknown option '--bogus'" "$NUMACOUNT" --bogus
	refuses 2 "unknown option '-Z'" "$NUMACOUNT" -Z stat
	for command in "${!COUNT_HEADINGS[@]}"; do
		refuses 2 "unknown option '--bogus'" "$NUMACOUNT" "$command" --bogus
		refuses 2 "unknown option '-Z'" "$NUMACOUNT" "$command" -Z
	done
	for command in "${!LAT_HEADINGS[@]}"; do
		refuses 2 "unknown option '--bogus'" "$NUMALAT" "$command" --bogus
		refuses 2 "unknown option '-Z'" "$NUMALAT" "$command" -Z
	done
	refuses 2 "unknown option '--bogus'" "$NUMASTORE" --bogus
	refuses 125 "unknown option '--bogus'" "$NUMARUN" --bogus -- true
	refuses 125 "unknown option '-Z'" "$NUMARUN" -aZ true
}

@test "an option without its value is refused and its value is named" {
	refuses 2 "--root DIR" "$NUMAPROBE" --root
	refuses 2 "--tier N" "$NUMAPROBE" rank eth0 --tier
	refuses 2 "--family NAME" "$NUMACOUNT" --family
	refuses 2 "-I MS" "$NUMACOUNT" stat -I
	refuses 2 "--peak GB/S" "$NUMACOUNT" matrix --peak
	refuses 2 "-o FILE" "$NUMACOUNT" record -o
	refuses 2 "--listen ADDRESS" "$NUMACOUNT" serve --listen
	refuses 2 "-o FILE" "$NUMALAT" run -o
	refuses 2 "--blocks N" "$NUMALAT" analyze --blocks
	refuses 2 "--memory SIZE" "$NUMASTORE" --memory
	refuses 125 "-C CPUS" "$NUMARUN" -C
	refuses 125 "--near DEV" "$NUMARUN" --near
}

@test "a value for an option that takes none is refused" {
	refuses 2 "takes no value" "$NUMAPROBE" --json=3
	refuses 2 "takes no value" "$NUMACOUNT" stat --home=3
	refuses 125 "takes no value" "$NUMARUN" --far=3 -- true
}

@test "an option cut short is taken as long as it is unambiguous" {
	gives "$("$NUMAPROBE" --version)" "$NUMAPROBE" --vers
	refuses 125 "ambiguous: --preferred, --preferred-many" "$NUMARUN" --pref 0 -- true
	refuses 2 "ambiguous: --listen, --list-metrics" "$NUMACOUNT" serve --lis 1
}

@test "numbers out of range are refused with the range" {
	refuses 2 "--tier: '0' is not a number in 1.." "$NUMAPROBE" rank eth0 --tier 0
	refuses 2 "--node: '-1' is not a number in 0.." "$NUMAPROBE" rank eth0 --node -1
	refuses 125 "--count: '4x' is not a number in 1.." "$NUMARUN" --near eth0 --count 4x -- true
	refuses 125 "--tier: '' is not a number in 1.." "$NUMARUN" --near eth0 --tier '' -- true
}

@test "completion offers commands, interfaces and nodes, of the captured host too" {
	same wanted $'rank\nreport' offered "$(completions "$PROBE_COMPLETION" numaprobe '')"
	same wanted $'enp193s0f0np0\nenp193s0f1np1' offered \
		"$(completions "$PROBE_COMPLETION" numaprobe rank --root = "$EJFAT2" '')"
	same wanted $'enp193s0f0np0\nenp193s0f1np1' offered \
		"$(completions "$RUN_COMPLETION" numarun --root "$EJFAT2" --near = '')"
	same wanted $'9' offered \
		"$(completions "$PROBE_COMPLETION" numaprobe --root "$EJFAT2" rank --node 9)"
	same wanted all offered "$(completions "$RUN_COMPLETION" numarun -aN al)"
}

@test "completion offers folders for --root and files for --xml" {
	cd "$BATS_TEST_TMPDIR"
	mkdir host
	touch host.xml

	same wanted host offered "$(completions "$PROBE_COMPLETION" numaprobe --root ho)"
	same wanted $'host\nhost.xml' offered "$(completions "$RUN_COMPLETION" numarun --xml = ho)"
}

@test "completion behind the program's name is the program's" {
	local offered

	offered=$(completions "$RUN_COMPLETION" numarun --near eth0 -aC 0 -- tru)
	grep -qx true <<<"$offered" || fail "$offered"
	# bash-completion's function is handed the place of the program.
	offered=$(bash -c '
		source "$1"
		_command_offset() { echo "offset $1"; }
		COMP_WORDS=(numarun --membind = 0 -C0 git commit --am) COMP_CWORD=7
		_numarun' completions "$RUN_COMPLETION")
	[[ $offered == "offset 5" ]] || fail "$offered"
}

@test "completion of numacount offers commands, sources, and files where they belong" {
	cd "$BATS_TEST_TMPDIR"
	mkdir host
	touch host.ini

	same wanted $'core\nnumastat\nresctrl\nuncore' offered "$(completions "$COUNT_COMPLETION" numacount stat --source '')"
	same wanted uncore offered "$(completions "$COUNT_COMPLETION" numacount stat --source = un)"
	same wanted host offered "$(completions "$COUNT_COMPLETION" numacount --root = ho)"
	same wanted host offered "$(completions "$COUNT_COMPLETION" numacount record --charts ho)"
	same wanted $'host\nhost.ini' offered "$(completions "$COUNT_COMPLETION" numacount list --events ho)"
	same wanted $'host\nhost.ini' offered "$(completions "$COUNT_COMPLETION" numacount stat --json --measured = ho)"
	same wanted "" offered "$(completions "$COUNT_COMPLETION" numacount stat -I '')"
	same wanted --list-metrics offered "$(completions "$COUNT_COMPLETION" numacount --json serve --list-)"
	"$NUMACOUNT" list --families --json >families.json
	output=$(<families.json)
	same families "$(json '"\n".join(sorted(f["name"] for f in d["families"]))')" \
		offered "$(PATH=$(dirname "$NUMACOUNT"):$PATH completions "$COUNT_COMPLETION" numacount list --family '')"
}

@test "completion behind a program of numacount is the program's" {
	local offered command

	for command in stat record matrix; do
		offered=$(completions "$COUNT_COMPLETION" numacount "$command" --source uncore -- tru)
		grep -qx true <<<"$offered" || fail "$command: $offered"
		offered=$(completions "$COUNT_COMPLETION" numacount "$command" tru)
		grep -qx true <<<"$offered" || fail "$command: $offered"
	done
	# bash-completion's function is handed the place of the program.
	offered=$(bash -c '
		source "$1"
		_command_offset() { echo "offset $1"; }
		COMP_WORDS=(numacount --family = icx stat -I 100 git commit --am) COMP_CWORD=9
		_numacount' completions "$COUNT_COMPLETION")
	[[ $offered == "offset 7" ]] || fail "$offered"
}

@test "the completions pass shellcheck" {
	command -v shellcheck >/dev/null || skip "shellcheck is not installed"

	shellcheck "$PROBE_COMPLETION" "$RUN_COMPLETION" "$COUNT_COMPLETION" "$LAT_COMPLETION" "$STORE_COMPLETION" >&2
}
