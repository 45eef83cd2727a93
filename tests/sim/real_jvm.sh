#!/bin/bash
# real_jvm.sh - the model of a server beside real JVMs that had the same calls at the same moments
# (traces/jvm_COLLECTOR_seedN.csv, recorded by tests/lab/jvm_trace/record.sh).
#
# usage: real_jvm.sh [TRACE...]     CALLROUTER_BUILD: the build folder, default build/release
#
# Columns: the JVM; the model with the same seed; the least, the median and the most of the model with
# seeds 1 .. 20: how much of a difference is chance of the calls.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
build=${CALLROUTER_BUILD:-$here/../../build/release}
export ROUTESIM_PLUGINS=$build/plugins.d
tmp=$(mktemp -d "${TMPDIR:-/tmp}/real_jvm.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
[ $# -gt 0 ] || set -- "$here"/traces/jvm_*.csv

# model COLLECTOR SEED: its figures.
model()
{
	"$build/routesim" --scenario "$here/scenarios/real_jvm.conf" --set "gc=$1" --seeds "$2" \
		--series "$tmp/series" >"$tmp/out"
	awk -v from_s=20 -f "$here/series.awk" "$tmp/series"
}

for trace; do
	name=$(basename "$trace" .csv)
	gc=${name#jvm_}
	gc=${gc%_seed*}
	for seed in {1..20}; do
		model "$gc" "$seed"
	done >"$tmp/range"
	awk -f "$here/series.awk" "$trace" >"$tmp/real"
	model "$gc" "${name##*seed}" >"$tmp/same"
	printf '%s\n%-36s %9s %9s %9s %9s %9s\n' "$name" '' JVM model least median most
	awk -F '\t' '
		FILENAME ~ /real$/ { order[++n] = $1; real[$1] = $2; next }
		FILENAME ~ /same$/ { same[$1] = $2; next }
		{
			k = ++seen[$1]
			for (; k > 1 && value[$1, k - 1] > $2; k--)
				value[$1, k] = value[$1, k - 1]
			value[$1, k] = $2
		}
		END {
			for (i = 1; i <= n; i++) {
				of = order[i]
				k = seen[of]
				printf "%-36s %9.3f %9.3f %9.3f %9.3f %9.3f\n", of, real[of], same[of],
					value[of, 1], (value[of, int((k + 1) / 2)] + value[of, int(k / 2) + 1]) / 2,
					value[of, k]
			}
			print ""
		}' "$tmp/real" "$tmp/same" "$tmp/range"
done
