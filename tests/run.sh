#!/bin/bash
# Installs the test packages, builds, and passes every test; the same command on a laptop and in CI.
#
#   tests/run.sh          all of it: checks of the text and the code, the presets clang and tsan with
#                         the unit tests, asan with all but the emulated machines, a short fuzzing,
#                         and dev with everything
#   tests/run.sh dev      one preset
set -euo pipefail
cd "$(dirname "$0")/.."
. examples/packages.sh
jobs=$(nproc)
start=$SECONDS

step() { printf '\n== [%3d s] %s\n' $((SECONDS - start)) "$*"; }

build() { # PRESET
	step "build $1"
	if ! configure_and_make "$1" >"build/$1.log" 2>&1; then
		tail -n 60 "build/$1.log" >&2
		return 1
	fi
}

configure_and_make() {
	cmake --preset "$1" && cmake --build --preset "$1" --parallel "$jobs"
}

# Runs a preset's tests; their whole output is in build/PRESET.tests.log.
run_tests() { # PRESET [ctest argument...]
	local preset=$1
	shift
	step "tests $preset"
	ctest --preset "$preset" "$@" 2>&1 | tee "build/$preset.tests.log"
}

check_text() {
	step "format, scripts, man pages, words"
	git ls-files -z '*.c' '*.h' | xargs -0 clang-format --dry-run -Werror
	git ls-files -z '*.sh' '*.bash' .ci/run tests/fuzz/smoke | xargs -0 shellcheck -x
	git ls-files -z 'probe/*.1' 'launcher/*.1' 'counters/*.1' 'server/*.1' | xargs -0 mandoc -T lint -W warning
	git ls-files -z ':!tests/fixtures' ':!tests/fuzz/corpus' | xargs -0 codespell -L nd,titel # a macro of mdoc's, a misspelling that a test needs
	# The host is a parameter: only paths relative to a root may be in the libraries.
	if git grep -nE '"/(sys|proc)(/|")' -- 'probe/lib' 'probe/base' 'launcher/lib' 'counters/lib' 'server/*.c'; then
		echo "these paths do not go through a root (see probe/base/sysroot.h)" >&2
		return 1
	fi
}

check_code() {
	step "clang-tidy"
	git ls-files -z 'probe/*.c' 'launcher/*.c' 'counters/*.c' 'server/*.c' 'examples/*.c' |
		xargs -0 -n 4 -P "$jobs" clang-tidy -p build/clang --quiet 2>/dev/null
}

# The number of skipped tests and why, then ctest's own summary once more as the last lines.
summary() { # PRESET
	local log=build/$1.tests.log
	printf '\n== [%3d s] done\n' $((SECONDS - start))
	printf 'skipped tests: %d\n' "$(grep -c '\*\*\*Skipped' "$log" || true)"
	grep -h '^ *skipped: ' build/*.tests.log build/*/Testing/Temporary/LastTest.log 2>/dev/null | sort -u || true
	sed -n '/tests passed/,$p' "$log"
}

if ! git rev-parse --git-dir >/dev/null 2>&1; then
	echo "tests/run.sh: this is no git checkout, and git tells what there is to check" >&2
	exit 1
fi
mkdir -p build
install_packages "${build_packages[@]}" "${test_packages[@]}"
if [ $# -gt 0 ]; then
	build "$1"
	status=0
	run_tests "$1" || status=$?
	summary "$1"
	exit $status
fi
check_text
build clang
check_code
run_tests clang -L unit
build tsan
run_tests tsan -L unit
build asan
run_tests asan
build fuzz
step "fuzz, a short while for each target"
tests/fuzz/smoke 5
build dev
status=0
run_tests dev || status=$?
summary dev
exit $status
