#!/bin/bash
# run.sh - which router is better? Runs scenarios in virtual time, in parallel, and judges them.
#
# usage: run.sh [--quick]                   the public scenarios B0 .. B8, seeds 11-14
#                                           (--quick: B0 and B6 on seeds 11-12, B1 on all four,
#                                           and only the routers that limits name)
#        run.sh --scenario FILE... [--routers LIST] [--seeds LIST] [--set KEY=VALUE]...
#        run.sh --keys                      all keys of scenario files and what they mean
#
# --routers: labels of the file, names of plugins, or plugin:option=value:...; +peers (hosts tell each
# other what they have in progress) and +blind (the core is not told how calls ended) may follow;
# separated by commas. --csv FILE keeps the figures of all runs. JOBS: how many runs at once.
# CALLROUTER_BUILD: the build folder, default build/release. The hosts' files lie in TMPDIR, default
# /dev/shm: they are written some hundred times in a virtual second.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
build=${CALLROUTER_BUILD:-$here/../../build/release}
jobs=${JOBS:-$(nproc)}
export ROUTESIM_PLUGINS=$build/plugins.d:$build/sim-routers
sim=$build/routesim
files=() routers='' seeds='' csv='' quick='' set_args=()

die()
{
	echo "sim: $*" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 && shift && continue ;;
	--keys) exec "$sim" --keys ;;
	--help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" && exit ;;
	esac
	[ $# -ge 2 ] || die "$1: a value is wanted (or it is unknown, see --help)"
	case $1 in
	--scenario) files+=("$2") ;;
	--routers) routers=$2 ;;
	--seeds) seeds=$2 ;;
	--set) set_args+=(--set "$2") ;;
	--csv) csv=$2 ;;
	*) die "unknown option $1, see --help" ;;
	esac
	shift 2
done

[ -x "$sim" ] || die "there is no $sim: build it with ninja, or run ./run sim"
if [ ${#files[@]} -eq 0 ]; then
	files=("$here"/scenarios/B[0-8].conf)
	[ -z "$quick" ] || files=("$here"/scenarios/B{0,1,6}.conf)
fi

[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sim.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp

# The seeds of a scenario, "11,13-15" as one number a line. Two are not enough where the limits are
# about the rare lost call, or a tail.
seeds_of()
{
	local part all=${seeds:-11-14}

	[ -n "$seeds" ] || [ -z "$quick" ] || [[ $1 == */B1.conf ]] || all=11-12
	for part in ${all//,/ }; do
		[[ $part =~ ^[0-9]+(-[0-9]+)?$ ]] || die "--seeds $seeds: 11,12 or 11-14 is wanted"
		seq "${part%-*}" "${part#*-}"
	done
}

# The labels to run of a scenario, one a line.
labels_of()
{
	if [ -n "$routers" ]; then
		tr , '\n' <<<"$routers"
	elif [ -n "$quick" ]; then
		"$sim" --scenario "$1" --list | grep -xFf <("$sim" --scenario "$1" --limits | tr ' ' '\n')
	else
		"$sim" --scenario "$1" --list || die "$1 cannot be used (see above)"
	fi
}

# One run: settings, then number, file, label, seed. Its line goes to a file of its own, so that the
# order is kept.
run_one()
{
	local at=$(($# - 3))

	"$sim" --scenario "${@:at+1:1}" --routers "${@:at+2:1}" --seeds "${@:at+3:1}" --no-header \
		"${@:1:at-1}" >"$TMPDIR/run.${!at}" || touch "$TMPDIR/failed"
}
export -f run_one
export sim

number=0
for file in "${files[@]}"; do
	"$sim" --scenario "$file" --limits >>"$tmp/limits" || die "$file cannot be used (see above)"
	labels_of "$file" >"$tmp/labels"
	seeds_of "$file" >"$tmp/seeds"
	while read -r label; do
		while read -r seed; do
			number=$((number + 1))
			printf '%s\0%s\0%s\0%s\0' "$(printf %06d $number)" "$file" "$label" "$seed"
		done <"$tmp/seeds"
	done <"$tmp/labels"
done >"$tmp/list"

# shellcheck disable=SC2016 # the inner shell's words
xargs -r -0 -n 4 -P "$jobs" bash -c 'run_one "$@"' run_one "${set_args[@]}" <"$tmp/list" 2>"$tmp/errors" || true
"$sim" --scenario "${files[0]}" --seeds 1 --routers '' >"$tmp/csv"
cat "$tmp"/run.* >>"$tmp/csv" 2>/dev/null || true
sort -u "$tmp/errors" >&2
[ -z "$csv" ] || cp "$tmp/csv" "$csv"
status=0
awk -f "$here/judge.awk" "$tmp/limits" "$tmp/csv" || status=1
[ ! -e "$tmp/failed" ] || { echo "sim: some runs failed (see above)" >&2 && status=1; }
exit $status
