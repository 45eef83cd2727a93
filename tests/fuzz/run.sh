#!/bin/bash
# run.sh - runs the fuzz harnesses, two at a time, and says of each what came of it. Called by
# ./run fuzz, which builds them first.
#
# usage: run.sh SECONDS [NAME...]; without names: all of them. Exit status 2 for an unknown name, 1 if
# something was found: what made it fall is in build/fuzz/found, and tests/fuzz/README.md says what to
# do with it.
set -uo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=build/fuzz
seconds=$1
shift
# Files that harnesses write: in memory where that can be.
tmp=$(mktemp -d -p /dev/shm callrouter-fuzz.XXXXXX 2>/dev/null || mktemp -d -t callrouter-fuzz.XXXXXX) || exit 1
trap 'rm -rf "$tmp"' EXIT
most=8192 # bytes of an input: enough for what costs the square of it to be seen
export ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS="suppressions=$PWD/tests/lint/lsan.supp:print_suppressions=0"

# The last number that libFuzzer printed after a word.
figure()
{
	grep -oE "$1:? +[0-9]+" "$log" | tail -n 1 | grep -oE '[0-9]+$' || echo 0
}

# fuzz NAME: one harness, one line.
fuzz()
{
	local name=$1 kept=$build/corpus/$1 log=$build/$1.log before words status dict=()

	mkdir -p "$kept" "$build/found"
	before=$(find "$kept" -type f | wc -l)
	[ ! -e "tests/fuzz/$name.dict" ] || dict=("-dict=tests/fuzz/$name.dict")
	TMPDIR=$tmp "$build/fuzzers/fuzz_$name" "${dict[@]}" -max_total_time="$seconds" \
		-max_len=$most -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=1 \
		-artifact_prefix="$build/found/$name-" "$kept" "tests/fuzz/corpus/$name" >"$log" 2>&1 \
		</dev/null
	status=$?
	words="$(figure 'stat::number_of_executed_units') runs, $(figure stat::average_exec_per_sec) a second"
	words+=", coverage $(figure cov) edges, slowest $(figure stat::slowest_unit_time_sec) s"
	words+=", $(($(find "$kept" -type f | wc -l) - before)) new inputs kept"
	if [ $status -eq 0 ]; then
		printf '%-12s %s\n' "$name" "$words"
		return 0
	fi
	printf '%-12s FOUND: %s\n' "$name" "$(grep -m 1 -E 'FINDING|ERROR|runtime error' "$log")"
	printf '%-12s see %s, try %s %s\n' "" "$log" "$build/fuzzers/fuzz_$name" \
		"$(grep -oE "$build/found/[^ ]+" "$log" | tail -n 1)"
	return 1
}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
	for harness in "$build"/fuzzers/fuzz_*; do
		names+=("${harness##*/fuzz_}")
	done
fi
failed=0
running=0
for name in "${names[@]}"; do
	if [ ! -x "$build/fuzzers/fuzz_$name" ]; then
		echo "there is no harness \"$name\": see tests/fuzz/fuzz_*.c" >&2
		exit 2
	fi
done
for name in "${names[@]}"; do
	if [ $running -ge 2 ]; then
		wait -n || failed=1
		running=$((running - 1))
	fi
	fuzz "$name" &
	running=$((running + 1))
done
while [ $running -gt 0 ]; do
	wait -n || failed=1
	running=$((running - 1))
done
exit $failed
