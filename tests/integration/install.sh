#!/bin/bash
# Installs into a new folder and uses what is there as a stranger would: each header alone as C99 and
# as C++, the libraries through pkg-config and through CMake, the programs; and compares the symbols
# that are visible with the headers.
#
#   install.sh BUILD_DIR SOURCE_DIR [C compiler flags]
#
# shellcheck disable=SC2317 # what "check" calls
set -euo pipefail
build=$1
source=$2
flags=${3:-}
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

check() { # NAME COMMAND...
	local name=$1
	shift
	if "$@" >"$dir/log" 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name"
		sed 's/^/#   /' "$dir/log"
		failed=1
	fi
}

# Symbols of a sanitizer come with the program.
is_complete() { # LIBRARY
	! ldd -r "$1" 2>&1 | grep -E 'undefined symbol|not found' | grep -vE '__(asan|tsan|ubsan)_'
}

cmake --install "$build" --prefix "$dir/usr" >"$dir/log" 2>&1 || {
	cat "$dir/log"
	echo "not ok install"
	exit 1
}
lib=$(dirname "$(find "$dir/usr" -name libnumarun.so)")
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib

while read -r header; do
	name=${header#"$dir/usr/include/"}
	printf '#include <%s>\nint use(void);\nint use(void) { return 0; }\n' "$name" >"$dir/one.c"
	check "<$name> alone as C99" gcc -std=c99 -Wall -Wextra -Werror -pedantic -I"$dir/usr/include" -c "$dir/one.c" -o "$dir/one.o"
	check "<$name> alone as C++" g++ -Wall -Wextra -Werror -I"$dir/usr/include" -x c++ -c "$dir/one.c" -o "$dir/one.o"
done < <(find "$dir/usr/include" -name '*.h' | sort)

# Every function that a header declares is exported, and nothing else is but what our own libraries
# have from each other, under a version of its own.
for library in numaprobe numarun numacount numastore; do
	nm -D --defined-only "$lib/lib$library.so" | awk '$2 == "T" && !/@@.*_PRIVATE$/ { sub(/@.*/, "", $3); print $3 }' | sort >"$dir/exported"
	grep -hoE '\bn[prcs]_[a-z0-9_]+\(' "$dir/usr/include/$library"/*.h | tr -d '(' | sort -u |
		grep -vE '^np_bitmap_for_each$|_fn$' >"$dir/named"
	# Comments of one library's headers may speak of the other's functions.
	prefix=np_
	[ $library != numarun ] || prefix=nr_
	[ $library != numacount ] || prefix=nc_
	[ $library != numastore ] || prefix=ns_
	grep "^$prefix" "$dir/named" | grep -vE '_$' >"$dir/declared"
	check "lib$library exports what its headers declare" diff "$dir/declared" "$dir/exported"
	check "lib$library finds all that it calls" is_complete "$lib/lib$library.so"
done

# shellcheck disable=SC2046,SC2086 # words
check "an example through pkg-config" gcc $flags "$source/examples/rank_nic.c" -o "$dir/rank_nic" $(pkg-config --cflags --libs libnumaprobe)
# shellcheck disable=SC2046,SC2086 # words
check "an example of libnumacount through pkg-config" gcc $flags "$source/examples/count.c" -o "$dir/count" $(pkg-config --cflags --libs libnumacount)
# shellcheck disable=SC2046,SC2086 # words
check "an embedded server through pkg-config" gcc $flags "$source/examples/embed_server.c" -o "$dir/embed_server" $(pkg-config --cflags --libs libnumastore) -pthread
# What the program stores by a call, a client gets over HTTP; it ends when its input does.
serves_itself() { # EXAMPLE
	local pid line='' status=0

	coproc embedded { exec "$1"; }
	pid=$!
	read -r -t 60 line <&"${embedded[0]}" && read -r -t 60 line <&"${embedded[0]}" || status=1
	[ "$(curl -sf --max-time 30 "${line%%,*}")" = "Hello from the program itself" ] || status=1
	echo "$line"
	eval "exec ${embedded[1]}>&-"
	wait "$pid" && return "$status"
}
mkdir "$dir/project"
cp "$source/examples/rank_nic.c" "$source/examples/count.c" "$source/examples/embed_server.c" "$dir/project/"
cat >"$dir/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(stranger C)
find_package(numarun REQUIRED)
add_executable(rank_nic rank_nic.c)
target_link_libraries(rank_nic numakit::numarun numakit::numaprobe)
find_package(numacount REQUIRED)
add_executable(count count.c)
target_link_libraries(count numakit::numacount)
find_package(numastore REQUIRED)
find_package(Threads REQUIRED)
add_executable(embed_server embed_server.c)
target_link_libraries(embed_server numakit::numastore Threads::Threads)
CMAKE
check "an example through CMake: configure" cmake -S "$dir/project" -B "$dir/project/build" -DCMAKE_PREFIX_PATH="$dir/usr" -DCMAKE_C_FLAGS="$flags"
check "an example through CMake: build" cmake --build "$dir/project/build"
if [ -x "$dir/rank_nic" ]; then
	nic=$("$dir/usr/bin/numaprobe" report --json | jq -r '[.devices[] | select(.nodes != null)][0].name // empty')
	if [ -n "$nic" ]; then
		check "the example ranks $nic as numaprobe does" test \
			"$("$dir/rank_nic" "$nic" | sed 's/^tier [0-9]*: //')" = "$("$dir/usr/bin/numaprobe" rank "$nic" --cpus)"
	fi
fi
# What numacount counts here, the example does; where nothing can be counted, both say the same.
counts_alike() { # EXAMPLE
	local want got status=0

	want=$("$dir/usr/bin/numacount" stat --allow-fallback --duration 0.1 --json 2>&1) || status=$?
	got=$("$1" 2>&1) || [ $? -eq "$status" ] || return 1
	echo "$got"
	if [ "$status" -eq 0 ]; then
		[ "$(grep -c '^socket ' <<<"$got")" -eq "$(jq '[.sockets[] | select(.socket != null)] | length' <<<"$want")" ] &&
			grep -qE '^  [a-z_]+: [0-9]+ [a-z]+, counted [0-9.]+ % of the time$' <<<"$got"
	else
		[ "${got#count: }" = "${want#numacount: }" ]
	fi
}
for count in "$dir/count" "$dir/project/build/count"; do
	[ ! -x "$count" ] || check "the example counts, or says why not, as numacount does: ${count#"$dir/"}" counts_alike "$count"
done
for embedded in "$dir/embed_server" "$dir/project/build/embed_server"; do
	check "the embedded server serves what the program stored: ${embedded#"$dir/"}" serves_itself "$embedded"
done
check "the installed numarun runs" "$dir/usr/bin/numarun" -C "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" -- true
for file in {bin,share/bash-completion/completions}/{numaprobe,numarun,numacount,numalat,numastore} \
	share/man/man1/{numaprobe,numarun,numacount,numalat,numastore}.1; do
	check "$file is installed" test -s "$dir/usr/$file"
done
exit $failed
