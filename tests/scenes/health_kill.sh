#!/bin/bash
# health_kill.sh - a server dies and comes back while calls are placed: it is put aside at once, no
# call fails, and it starts slowly.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
. "$(dirname "$0")/health_lib.sh"
scene_begin health_kill
cluster_begin

for name in a b c; do
	start_heapd $name 64
done
write_config '{ aside: 500ms, aside_most: 1s, slow_start: 4s }'
start_daemon
same "state of a server nobody complained of" "$(state_of c)" up
# All are new: nobody has to spare anybody.
same "slow start of the first start" "$(server_of c .slow_start)" null

scene_spawn load "$CLIENT" --run-dir "$SCENE/run" --service shop --threads 4 --rate 400 --verbose \
	--path '/call?bytes=4096&ms=1' --seconds 600
scene_wait 10 'grep -q "^c " "$SCENE/load.log"'
scene_ok "calls go everywhere"

### kill -9

scene_kill c KILL
scene_wait 3 '[ "$(state_of c)" = aside ]'
scene_wait 3 '[ "$(logs "server aside name=c")" = 1 ]'
scene_wait 3 'ctl route shop | grep -E "not listed: c \(aside, [0-9]+s left\)"'
ctl servers >"$SCENE/servers.txt"
grep -qE '^c .* aside [0-9]+s ' "$SCENE/servers.txt" || scene_fail "no aside in $(cat "$SCENE/servers.txt")"
scene_ok "status, route and log say that it is aside"
# It stays dead for several trials; still that is told once, and costs few calls a detour.
sleep 3
same "lines of the log" "$(logs "server aside name=c")" 1
served=$(grep -c "^c " "$SCENE/load.log")
sleep 0.5
same "calls that a dead server served" "$(grep -c "^c " "$SCENE/load.log")" "$served"

### back

start_heapd c 64 "$(port_of c)"
scene_wait 8 '[ "$(state_of c)" = up ]'
scene_wait 3 '[ "$(logs "server back name=c")" = 1 ]'
slow_start=$(server_of c .slow_start)
holds "slow start" "$slow_start" '. >= 0.1 and . < 1'
scene_wait 8 "[ \$(grep -c '^c ' '$SCENE/load.log') -gt $served ]"
scene_ok "it is back with a slow start"
scene_wait 8 '[ "$(server_of c .slow_start)" = null ]'

scene_kill load TERM
totals=$(tail -n 1 "$SCENE/load.log")
same "failed calls" "$(total failed <<<"$totals")" 0
same "exit status of the load" "$SCENE_STATUS" 0
failovers=$(total failovers <<<"$totals")
# Four threads may meet the dying server at once; then one call every half second, later every second.
[ "$failovers" -ge 1 ] && [ "$failovers" -le 24 ] || scene_fail "$failovers calls took a detour: $totals"
scene_ok "no call failed, $failovers took a detour"
