#!/bin/bash
# bits.sh - the simulator prints the same figures, to the last digit, whatever compiled it and runs it:
# gcc and clang, without optimising and for this very processor, libm with and without FMA.
# Status 77: there is no clang here.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
command -v clang >/dev/null || { echo "clang is not here" && exit 77; }
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bits.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp
cd "$root"

common=(-std=gnu11 -D_GNU_SOURCE -DCALLROUTER_VERSION='"0"' -fPIC -ffp-contract=off -Iinclude
	-Icore -w)

# build NAME CC OPTION...: the simulator and the routers; core computes with integers only.
build()
{
	local out=$tmp/$1 cc=$2 router

	mkdir -p "$out"
	"$cc" "${common[@]}" "${@:3}" -o "$out/routesim" tests/sim/*.c "$tmp"/core/*.o -ldl -lpthread &
	for router in headroom hash hot_cold weighted_least_connections round_robin; do
		"$cc" "${common[@]}" "${@:3}" -shared -o "$out/$router.so" "routers/$router.c" -lm
	done
	wait $!
}

# run NAME: B1 cut short, with noise, bursts and both kinds of hints.
run()
{
	local out=$tmp/$1 router

	for router in headroom hash:mode=maglev hot_cold weighted_least_connections; do
		"$out/routesim" --scenario tests/sim/scenarios/B1.conf --plugins "$out" \
			--routers "$router+peers" --seeds 11-12 --no-header \
			--set duration=120 --set poll_noise=0.05 --set burst_factor=1.5 \
			--set hint_wrong=0.1
	done
}

status=0
compare()
{
	run "$2" >"$tmp/$1.csv"
	[ -s "$tmp/$1.csv" ] || { echo "$1: no figures" && status=1; }
	cmp "$tmp/$1.csv" "$tmp/first.csv" && return
	echo "$1: other figures than gcc -O2"
	diff "$tmp/first.csv" "$tmp/$1.csv" || status=1
}

mkdir "$tmp/core"
(cd "$tmp/core" && gcc "${common[@]/#-I/-I$root/}" -O2 -c "$root"/core/*.c)
build gcc2 gcc -O2
run gcc2 >"$tmp/first.csv"
compare again gcc2
build gcc0 gcc -O0
compare gcc-O0 gcc0
build native gcc -O3 -march=native
compare gcc-native native
build clang2 clang -O2
compare clang-O2 clang2
build clang3 clang -O3 -march=native
compare clang-native clang3
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-FMA_Usable,-AVX2_Usable
compare libm-without-fma gcc2
wc -l <"$tmp/first.csv" | xargs echo "lines compared:"
exit $status
