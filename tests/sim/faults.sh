#!/bin/bash
# faults.sh - each fault and each kind of poll that scenarios know, briefly: the run ends, counts its
# calls, and shows what the fault is there to show.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
build=${CALLROUTER_BUILD:-$here/../../build/release}
export ROUTESIM_PLUGINS=$build/plugins.d:$build/sim-routers
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm
tmp=$(mktemp -d "${TMPDIR:-/tmp}/faults.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp
status=0

# value COLUMN ROUTER SETTING...: one figure of a run of 200 s.
value()
{
	local column=$1 router=$2 args=() setting

	for setting in "${@:3}"; do
		args+=(--set "$setting")
	done
	"$build/routesim" --scenario "$here/scenarios/B5.conf" --routers "$router" --seeds 11 \
		--set duration=200 "${args[@]}" |
		awk -F, -v column="$column" '
			NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
			NR == 2 { print $at }'
}

# expect TEXT LEFT OP RIGHT
expect()
{
	if awk -v l="$2" -v r="$4" "BEGIN { exit !(l != \"\" && r != \"\" && l + 0 $3 r + 0) }"; then
		echo "ok   $1: $2 $3 $4"
	else
		echo "FAIL $1: $2 is not $3 $4"
		status=1
	fi
}

plain=$(value fail_ppm fewest)
expect "calls of 180 s at 300 a second" "$(value calls fewest)" '>' 53000
expect "a slow server is noticed" "$(value p99_ms round_robin slow_server=3 slow_speed=0.05)" '>' \
	"$(value p99_ms round_robin)"
expect "a flapping server is noticed" "$(value p99_ms round_robin flap_server=3)" '>' \
	"$(value p99_ms round_robin)"
expect "a burst loads the servers" "$(value cpu_spread fewest burst_factor=3)" '>' 1
expect "less heap: more collections" "$(value full_gcs fewest half_server=0 half_share=0.5)" '>' \
	"$(value full_gcs fewest)"
expect "a leak ends in lost calls" "$(value oom fewest leak_server=0 leak_per_minute=0.9)" '>' 10
expect "and in a dead server" \
	"$(value other fewest leak_server=0 leak_per_minute=0.9 oom=crash)" '>' 0
expect "a black hole eats calls" "$(value fail_ppm fewest+blind hole_server=2)" '>' 100000
expect "a gray server eats its share" \
	"$(value other round_robin+blind gray_server=2 gray_share=0.5 from=0)" '>' 3000
expect "one that refuses costs another try, not the call" \
	"$(value fail_ppm round_robin gray_server=2 gray_outcome=refused)" '<=' 200
expect "restarts with a drain lose less than without" \
	"$(value other round_robin restart_every=20 restart_down=5 restart_drain=10)" '<' \
	"$(value other round_robin restart_every=20 restart_down=5)"
expect "G1 collects without full collections" "$(value full_gcs fewest gc=g1)" '<' \
	"$(value full_gcs fewest)"
expect "lost polls: stale, so the default decides" \
	"$(value by_default heap_free poll_loss=0.95)" '>' "$(value by_default heap_free)"
expect "noise hides which heap is the emptiest" "$(value top_share heap_free poll_noise=1)" '<' \
	"$(value top_share heap_free)"
frozen=(frozen_server=7 frozen_from=0.05)
expect "a server whose exporter repeats good times draws calls" \
	"$(value live_max heap_free "${frozen[@]}")" '>' "$(value live_max heap_free)"
expect "not from a router that looks at it" "$(value share_max headroom "${frozen[@]}")" '<=' \
	"$(value share_max headroom)"
expect "polls in step: all go to the same server" "$(value top_share heap_free phase=sync)" '>' 0.9
expect "metrics that nobody measures: the default decides" \
	"$(value by_default heap_free 'hide=jvm_heap_free_bytes')" '>' 53000
expect "wrong weights draw calls" "$(value share_max weighted_least_connections "weights=100 1")" ">" 1.2
expect "wrong hints fill heaps" "$(value live_max headroom hint_wrong=1 rate=650)" '>' \
	"$(value live_max headroom rate=650)"
expect "tiny hints: no call is big" "$(value mean_ms headroom hint_factor=0.001)" '==' \
	"$(value mean_ms headroom hint=none)"
expect "many hosts see less" "$(value small_p99_ms least_connections hosts=32)" '>' 200
expect "unless they tell each other" "$(value small_p99_ms least_connections+peers hosts=32)" '<' 50
expect "messages of peers that get lost: as without peers" \
	"$(value mean_ms headroom+peers peer_loss=1)" '==' "$(value mean_ms headroom)"
expect "many servers" "$(value top_share headroom servers=64 heap_scale=0.1)" '<' 0.1
expect "few threads: refused" "$(value refused fewest threads=3 backlog=0)" '>' 1000
refusing=(tries=1 gray_server=2 gray_share=1 gray_outcome=refused)
expect "without health each call finds out" \
	"$(value refused round_robin "${refusing[@]}" health=off)" '>' 3000
expect "put aside, only every 2 to 30 s one does" \
	"$(value refused round_robin "${refusing[@]}" health=aside)" '<' 100
expect "a black hole is not put aside" \
	"$(value other least_connections hole_server=2 health=aside)" '>' 3000
expect "but out, after 10 failures for each of 4 hosts" \
	"$(value other least_connections hole_server=2)" '<' 100
# Ten calls are in progress when a server dies: ten failures in a row.
dying=(restart_every=60 restart_down=8 hosts=1 send_mb=4)
expect "checks bring back who was out" "$(value share_min least_connections "${dying[@]}" check=1)" \
	'>' "$(value share_min least_connections "${dying[@]}")"
expect "a recorded heap is what routers see" \
	"$(value mean_ms heap_free "trace=$here/traces/tomcat_heap_sawtooth.csv")" '!=' \
	"$(value mean_ms heap_free)"
printf '# how it was made\nt_ms,free,total,max\n1,2,3\n' >"$tmp/bad.csv"
expect "a line of a recorded heap that is too short is named" \
	"$("$build/routesim" --scenario "$here/scenarios/B5.conf" --routers fewest --seeds 1 \
		--set "trace=$tmp/bad.csv" 2>&1 | grep -c 'bad.csv:3: 4 values are wanted')" '==' 1
rm "$tmp/bad.csv"
expect "without faults nearly nothing is lost" "$plain" '<' 100
expect "an unknown key is a mistake" \
	"$("$build/routesim" --scenario "$here/scenarios/B5.conf" --routers fewest --seeds 1 \
		--set no_such_key=1 2>&1 | grep -c 'unknown key')" '==' 1
expect "nothing is left behind" "$(find "$tmp" -mindepth 1 | wc -l)" '==' 0
exit $status
