#!/bin/bash
# A thousand swaps of a router with rank() and route() while four threads in two processes decide:
# no call fails, nothing grows, and the new version decides soon. CALLROUTER_SWAPS: another number.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/swap_lib.sh"
scene_begin swap_many

v=$SCENE/v
PLUGIN=$SCENE/plugins.d/first.so
swaps=${CALLROUTER_SWAPS:-1000}

for i in 2 3 4 5 6 7 8; do
	version $i
done
swap_begin --rate "${CALLROUTER_RATE:-2000}"
pids=$(scene_pid callrouterd),$(scene_pid load-a),$(scene_pid load-b)
"$BUILD/tests/swap_drive" "$PLUGIN" "$SCENE/changes" 4 "$swaps" "$pids" s2="$v/2.so" s3="$v/3.so" \
	s4="$v/4.so" s5="$v/5.so" s6="$v/6.so" s7="$v/7.so" s8="$v/8.so" s1="$v/1.so" \
	>"$SCENE/figures" || scene_fail "a swap did not arrive"
figures=$(cat "$SCENE/figures")
echo "$figures"
for i in a b; do
	end_load $i
	holds "load $i" "$TOTALS" '.failed == 0 and .calls > 1000 and .decided.router == .calls'
done
same "swaps in the log" "$(grep -c 'plugin swapped name=first' "$SCENE/callrouterd.log")" $((swaps + 1))
same "complaints in the log" "$(grep -cE ' (warn|error) ' "$SCENE/callrouterd.log" || true)" 0
scene_ok "$swaps swaps, no call failed, all were decided by a router"

holds "nobody else decided meanwhile" "$figures" '.astray == 0'
# the target is 100 ms and 500 ms; twice as long is borne on a busy machine
holds "the first call decided by the new version" "$figures" \
	'.first_ms.p50 < 200 and .first_ms.p99 < 1000'
scene_ok "median $(jq .first_ms.p50 <<<"$figures") ms, p99 $(jq .first_ms.p99 <<<"$figures") ms from" \
	"rename to the first decision of the new version, $(jq .last_ms.p50 <<<"$figures") ms and" \
	"$(jq .last_ms.p99 <<<"$figures") ms to that in the last of four threads"

is_sanitized || holds "memory" "$figures" '.processes | all(.rss_kib[1] - .rss_kib[0] <= 2048)'
holds "mappings and descriptors" "$figures" \
	'.processes | all(.maps[1] - .maps[0] <= 12 and .fds[1] == .fds[0])'
same "staged files kept" "$(($(find "$SCENE/state/plugins" -name 'first.*' | wc -l) <= 10))" 1
scene_ok "memory, mappings, descriptors and staged files do not grow"
