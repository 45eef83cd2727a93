#!/bin/bash
# keys.sh - each key of scenario files does something: with another value the figures are others.
# A key that is not in the table below is a mistake, too.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
build=${CALLROUTER_BUILD:-$here/../../build/release}
export ROUTESIM_PLUGINS=$build/plugins.d:$build/sim-routers
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm
tmp=$(mktemp -d "${TMPDIR:-/tmp}/keys.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp
status=0

# KEY=VALUE ROUTER [other settings that both runs have...]; "_" stands for a blank in a value.
table()
{
	cat <<-X
		duration=50 fewest
		warmup=0.5 fewest
		servers=9 fewest
		threads=4 fewest
		backlog=0 fewest threads=4
		heap_gb=2 fewest
		cores=2 fewest
		speed=0.5 fewest
		weights=100_1 weighted_least_connections
		heap_scale=0.3 fewest
		base_live=0.4 fewest
		gc=g1 fewest
		eden=0.1 fewest
		eden_least=0.2 fewest heap_scale=0.3
		minor_pause=0.1 fewest
		copy_gb=0.1 fewest
		floating=0.5 fewest
		full_at=0.4 fewest
		full_room=0.9 fewest heap_scale=0.2
		full_pause=1 fewest
		full_per_gb=3 fewest
		mark_at=0.2 fewest gc=g1
		oom_at=0.3 fewest full_at=0.3
		oom=crash fewest full_at=0.3 oom_at=0.3
		oom_down=5 fewest full_at=0.3 oom_at=0.3 oom=crash
		workload=theory fewest rate=10
		rate=200 fewest
		burst_factor=2 fewest
		burst_on=3 fewest burst_factor=2
		burst_off=3 fewest burst_factor=2
		medium_share=0.1 fewest
		big_share=0.001 fewest
		small_kb=200 fewest
		small_sigma=1 fewest
		medium_min_mb=10 fewest
		medium_max_mb=20 fewest
		big_min_mb=200 fewest
		big_max_mb=300 fewest
		big_alpha=2 fewest
		cpu_ms=10 fewest
		cpu_mb=20 fewest
		cpu_noise=0 fewest
		garbage=6 fewest
		send_mb=10 fewest
		hint=exact headroom
		hint_wrong=0.5 headroom
		hint_factor=0.01 headroom
		tries=1 round_robin gray_server=2 gray_outcome=refused
		report=no least_connections hole_server=2
		health=off least_connections hole_server=2
		aside=20 round_robin gray_server=2 gray_outcome=refused tries=1
		aside_most=2.5 round_robin gray_server=2 gray_share=1 gray_outcome=refused tries=1
		failures=3 least_connections hole_server=2
		out_for=5 least_connections hole_server=2
		slow_start=0 round_robin restart_every=15 restart_down=3
		check=1 round_robin restart_every=15 restart_down=6
		hosts=8 least_connections
		hosts_known=no headroom hosts=8
		interval=1 heap_free
		jitter=0.5 heap_free
		phase=server heap_free
		poll_patience=0 heap_free
		poll_loss=0.5 heap_free
		poll_noise=0.2 heap_free
		stale_after=0.5 heap_free
		hog_age=5 headroom
		debounce=2 heap_free
		tick=5 headroom
		after_gc=major heap_weighted
		peers=0.25 least_connections
		peer_loss=0.5 least_connections peers=0.25
		frozen_server=0 heap_free
		frozen_from=0.8 heap_free frozen_server=0
		hide=jvm_heap_free_bytes heap_free
		trace=$here/traces/tomcat_heap_sawtooth.csv heap_free
		preset=random heap_free hide=jvm_heap_free_bytes
		from=0.6 fewest slow_server=3
		slow_server=3 fewest
		slow_speed=0.1 fewest slow_server=3
		flap_server=3 fewest
		flap_speed=0.5 fewest flap_server=3
		flap_period=3 fewest flap_server=3
		half_server=0 fewest
		half_share=0.6 fewest half_server=0
		leak_server=0 fewest
		leak_per_minute=0.6 fewest leak_server=0
		hole_server=2 round_robin
		hole_after=0.5 round_robin hole_server=2
		gray_server=2 round_robin
		gray_share=0.9 round_robin gray_server=2
		gray_after=0.5 round_robin gray_server=2
		gray_outcome=refused round_robin gray_server=2
		restart_every=15 round_robin restart_down=3
		restart_down=1 round_robin restart_every=25
		restart_drain=5 round_robin restart_every=15 restart_down=3
	X
}

# figures ROUTER SETTING...: those of a minute; kept, since many keys compare with the same.
figures()
{
	local file=$tmp/run.${*//[\/ ]/,} args=() setting

	if [ ! -e "$file" ]; then
		for setting in duration=60 "${@:2}"; do
			args+=(--set "${setting//_[0-9]/ ${setting##*_}}")
		done
		"$build/routesim" --scenario "$here/scenarios/B5.conf" --routers "$1" --seeds 11 \
			--no-header "${args[@]}" >"$file.new" || return 1
		mv "$file.new" "$file"
	fi
	cut -d, -f3- "$file"
}

n=0
while read -r setting router rest; do
	# shellcheck disable=SC2086 # several settings
	before=$(figures "$router" $rest) && after=$(figures "$router" $rest "$setting") || {
		echo "FAIL $setting: the run failed"
		status=1
		continue
	}
	n=$((n + 1))
	[ "$before" != "$after" ] || { echo "FAIL $setting changes nothing" && status=1; }
done < <(table)

while read -r key _; do
	table | grep -q "^$key=" || { echo "FAIL $key is not tested" && status=1; }
done < <("$build/routesim" --keys)
echo "$n keys change what they are there for"
exit $status
