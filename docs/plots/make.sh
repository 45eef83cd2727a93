#!/bin/bash
# make.sh - runs the simulations that docs/routing.md rests on and draws docs/plots/*.svg.
#
# usage: make.sh           some minutes on two cores; JOBS: how many runs at once
#        make.sh --draw    only draws, from the figures of the last time (build/plots/*.csv)
#
# The same build gives the same pictures to the last byte. CALLROUTER_BUILD: default build/release,
# with routesim (./run sim builds it). Python 3 draws, with nothing but its standard library.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$here/../..
build=${CALLROUTER_BUILD:-$root/build/release}
scenarios=$root/tests/sim/scenarios
traces=$root/tests/sim/traces
out=$root/build/plots
jobs=${JOBS:-$(nproc)}
export ROUTESIM_PLUGINS=$build/plugins.d:$build/sim-routers
export sim=$build/routesim scenarios

die()
{
	echo "make.sh: $*" >&2
	exit 1
}

# plan PLOT X SCENARIO LABEL SEEDS [KEY=VALUE...]: runs for a plot, its figures at this X; SEEDS: 11-14.
plan()
{
	local seed tail=''

	[ $# -le 5 ] || tail=$(printf '\t%s' "${@:6}")
	for ((seed = ${5%-*}; seed <= ${5#*-}; seed++)); do
		printf '%06d\t%s\t%s\t%s\t%s\t%s%s\n' $((++number)) "$1" "$2" "$3" "$4" $seed "$tail"
	done >>"$tmp/plan"
}

# One line of the plan.
run_one()
{
	local field setting args=()

	IFS=$'\t' read -r -a field <<<"$1"
	for setting in "${field[@]:6}"; do
		args+=(--set "$setting")
	done
	"$sim" --scenario "$scenarios/${field[3]}.conf" --routers "${field[4]}" --seeds "${field[5]}" \
		--no-header "${args[@]}" | sed "s/^/${field[1]},${field[2]},/" >"$TMPDIR/run.${field[0]}"
	[ -s "$TMPDIR/run.${field[0]}" ] || touch "$TMPDIR/failed"
}
export -f run_one

plan_all()
{
	local t m r

	for r in $("$sim" --scenario "$scenarios/B1.conf" --list); do
		plan order 0 B1 "$r" 11-14
	done
	for t in 0.1 0.3 1 2 5 15 60; do
		for r in round_robin least_connections heap_free headroom; do
			plan interval $t B1 "$r" 11-14 "interval=$t"
		done
		plan interval_bare $t B1 heap_free 11-14 "interval=$t" health=off
	done
	for m in 1 2 4 8 16 32; do
		for r in headroom headroom+peers least_connections least_connections+peers; do
			plan hosts $m B1 "$r" 11-14 "hosts=$m"
		done
	done
	for t in 0.1 0.5 1 2 5 10 20 50; do
		for r in sort best2 li; do
			plan theory $t B0 "${r}_$t" 11-12
		done
		plan theory $t B0 random 11-12
	done
	for r in headroom+peers headroom least_connections round_robin; do
		plan crash aside B8 "$r" 11-14
		plan crash bare B8 "$r" 11-14 health=off
	done
}

simulate()
{
	[ -x "$sim" ] || die "there is no $sim: ./run sim builds it"
	number=0
	plan_all
	echo "make.sh: $number runs, $jobs at once"
	# shellcheck disable=SC2016 # the inner shell's word
	tr '\n' '\0' <"$tmp/plan" | xargs -0 -n 1 -P "$jobs" bash -c 'run_one "$1"' run_one
	[ ! -e "$tmp/failed" ] || die "some runs failed (see above)"
	{
		"$sim" --scenario "$scenarios/B1.conf" --seeds 1 --routers '' | sed 's/^/plot,x,/'
		cat "$tmp"/run.*
	} >"$out/runs.csv"
	for gc in parallel g1; do
		"$sim" --scenario "$scenarios/real_jvm.conf" --set "gc=$gc" --seeds 4 \
			--series "$out/model_$gc.csv" >"$tmp/out"
	done
}

tmp=$(mktemp -d "${TMPDIR:-/tmp}/plots.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp
mkdir -p "$out"
case ${1:-} in
'') simulate ;;
--draw) [ -e "$out/runs.csv" ] || die "there are no figures yet: run it without --draw" ;;
*) die "unknown option $1" ;;
esac
python3 "$here/plot.py" "$out" "$traces" "$here"
