#!/bin/bash
# lint.sh - what can be said about the code without running it. Called by ./run lint, which builds
# build/release (gcc) and build/dev-clang first.
#
# usage: lint.sh [STEP...]; without steps: all of them. Exit status 1 if one found something.
set -uo pipefail
export LC_ALL=C.UTF-8
shopt -s nullglob globstar

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
jobs=${JOBS:-$(nproc)}
release=build/release
clang=build/dev-clang
product=(include core routers collectors daemon dataplanes plugins.d)

# Lists the C files of these folders.
c_files()
{
	find "$@" -name '*.[ch]' -type f 2>/dev/null | sort
}

# Includes must be findable by a compiler that is called directly.
include_flags()
{
	echo -Iinclude -Icore -Idaemon -Icollectors -Icollectors/source -Icollectors/resolve
	pkg-config --cflags netsnmp libevent_core jansson yaml-0.1 libcurl expat
}

step_format()
{
	c_files "${product[@]}" tests | xargs -d '\n' clang-format --dry-run -Werror
}

step_layers()
{
	bash tests/layers.sh && bash tests/lint/layers_test.sh
}

step_scripts()
{
	shellcheck -S warning -e SC1091 run .ci/run tests/*.sh tests/**/*.sh docs/plots/*.sh
}

# Functions of the product by length: median <= 15, 90th percentile <= 40, none over 60; files of
# all kinds <= 500 lines.
step_sizes()
{
	local status=0 long

	long=$(c_files "${product[@]}" tests | xargs -d '\n' wc -l | awk '$2 != "total" && $1 > 500')
	if [ -n "$long" ]; then
		echo "longer than 500 lines:"
		echo "$long"
		status=1
	fi
	c_files "${product[@]}" |
		ctags -x --_xformat='%{end} %n %N %F' --fields=+ne --kinds-C=f --languages=C -L - |
		awk '{ print $1 - $2 + 1, $3, $4 }' | sort -n | awk '
			{ length_of[NR] = $1; if ($1 > 60) { print "over 60 lines: " $0; bad = 1 } }
			END {
				median = length_of[int((NR + 1) / 2)]; tenth = length_of[int(NR * 0.9 + 0.5)]
				printf "%d functions: median %d lines, 90th percentile %d, longest %d\n",
					NR, median, tenth, length_of[NR]
				exit bad || median > 15 || tenth > 40
			}' || status=1
	return $status
}

# Functions that are unsafe, not thread-safe, or only seem to check.
step_banned()
{
	local names='sprintf|vsprintf|strcpy|strcat|stpcpy|gets|strtok|atoi|atol|atoll|atof|strerror|gmtime'
	names+='|localtime|ctime|asctime|alloca|tmpnam|tempnam|mktemp|rand|srand|gethostbyname|inet_ntoa'
	names+='|system|popen|setjmp|longjmp|usleep|vfork'

	# Comments and texts may name them.
	c_files "${product[@]}" | xargs -d '\n' awk -v "names=(^|[^A-Za-z0-9_.>])($names)[ \t]*[(]" '
		{
			gsub(/"([^"\\]|\\.)*"/, "\"\""); sub(/\/\/.*/, ""); gsub(/\/\*.*\*\//, "")
			sub(/^[ \t]*\*.*/, ""); sub(/\/\*.*/, "")
		}
		$0 ~ names { print FILENAME ":" FNR ": banned function: " $0; found = 1 }
		END { exit found }'
}

# Nothing of the repository may depend on where somebody's copy of it lies, or tell it.
step_paths()
{
	local found

	found=$(find . \( -path ./.git -o -path ./build \) -prune -o -type f -print0 |
		xargs -0 grep -nIE '(^|[^A-Za-z0-9_.$}*])/(work|root|home)/[A-Za-z0-9]')
	[ -z "$found" ] || { echo "$found"; return 1; }
}

# Public headers alone, in every language that may include them; our own in ours.
step_headers()
{
	local header standard language status=0 flags
	local strict="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude"

	# shellcheck disable=SC2086
	for header in include/callrouter/*.h; do
		for standard in c11 c17 c++11 c++20; do
			language=c
			[[ $standard != c++* ]] || language=c++
			echo "#include <${header#include/}>" | g++ -x $language -std=$standard $strict - || {
				echo "$header does not compile alone in $standard"
				status=1
			}
		done
	done
	flags=$(include_flags)
	# shellcheck disable=SC2086
	for header in core/*.h daemon/*.h collectors/*.h collectors/*/*.h; do
		echo "#include \"${header##*/}\"" | gcc -x c -std=gnu11 -D_GNU_SOURCE $strict -I"${header%/*}" \
			$flags - || {
			echo "$header does not compile alone"
			status=1
		}
	done
	return $status
}

step_tidy()
{
	local log=$clang/tidy.log pattern

	[ -e $clang/compile_commands.json ] || { echo "$clang is not configured"; return 1; }
	pattern="^$(printf '%s' "$PWD" | sed 's/[][\.*^$+?(){}|]/\\&/g')/(core|routers|collectors|daemon|dataplanes|plugins\.d)/"
	run-clang-tidy -quiet -p $clang -j "$jobs" "$pattern" >$log 2>&1 && return 0
	sed 's/\x1b\[[0-9;]*m//g' $log | grep -E '(error|warning): .*\[' -A 2 | head -n 200
	return 1
}

step_cppcheck()
{
	local flags

	flags=$(include_flags | tr ' ' '\n' | grep '^-I[^/]' | tr '\n' ' ')
	# shellcheck disable=SC2086
	cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -j "$jobs" -D_GNU_SOURCE \
		--enable=warning,performance,portability --library=posix,gnu \
		--suppressions-list=tests/lint/cppcheck.supp $flags \
		core routers collectors daemon dataplanes plugins.d
}

# The names that a shared object exports, without the version.
exported()
{
	nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}

needed()
{
	readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

step_symbols()
{
	local object name symbols extra status=0

	for object in $release/plugins.d/*.so; do
		name=$(basename "$object" .so)
		symbols=$(exported "$object" | tr '\n' ' ')
		case $symbols in
		"cr_router_1 ") extra=$(needed "$object" | grep -vxE 'libc\.so\.6|libm\.so\.6') ;;
		"cr_collector_1 ") extra= ;;
		*) extra="exports \"$symbols\", not exactly one plugin symbol" ;;
		esac
		[ -z "$extra" ] || { echo "$name: $extra: a router needs libc and libm alone"; status=1; }
	done
	[ -n "$(echo $release/plugins.d/*.so)" ] || { echo "no plugins in $release/plugins.d"; status=1; }
	object=$release/libcallrouter.so
	diff <(sed -n 's/^[[:space:]]*\(cr_[a-z_]*\);/\1/p' core/libcallrouter.map | sort) <(exported $object) || {
		echo "$object does not export exactly what core/libcallrouter.map lists"
		status=1
	}
	extra=$(needed $object | grep -vx 'libc\.so\.6')
	[ -z "$extra" ] || { echo "$object needs $extra: libc alone is allowed in other people's processes"; status=1; }
	return $status
}

failed=()
steps=("$@")
[ $# -gt 0 ] || steps=(format layers sizes banned paths scripts headers symbols cppcheck tidy)
for step in "${steps[@]}"; do
	started=$SECONDS
	if "step_$step"; then
		echo "lint: $step: good ($((SECONDS - started)) s)"
	else
		echo "lint: $step: FOUND SOMETHING (see above)"
		failed+=("$step")
	fi
done
[ ${#failed[@]} -eq 0 ] || { echo "lint: failed: ${failed[*]}"; exit 1; }
echo "lint: all good"
