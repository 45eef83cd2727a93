#!/bin/bash
# health_check.sh - the daemon's own checks: TCP and HTTP, falling and rising, over reloads, and
# without the daemon.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
. "$(dirname "$0")/health_lib.sh"
scene_begin health_check
cluster_begin

for name in a b c; do
	start_heapd $name 8
done
timing='interval: 100ms, timeout: 100ms, fall: 3, rise: 2'

### TCP

write_config "{ slow_start: 3s, check: { tcp: true, $timing } }"
start_daemon
scene_wait 5 '[ "$(server_of c .check.passed_in_row)" -ge 2 ]'
same "state" "$(state_of c)" up
scene_kill c KILL
scene_wait 5 '[ "$(state_of c)" = down ]'
[ "$(server_of c .check.failed_in_row)" -ge 3 ] || scene_fail "down after $(server_of c .check.failed_in_row)"
holds "route" "$(ctl route shop --json)" '(.servers | sort) == ["a", "b"] and
	.not_listed == [{ server: "c", reason: "down", for_s: null }]'
scene_wait 3 '[ "$(logs "server down name=c")" = 1 ]'
finds "$SCENE/callrouterd.log" 'error="connect: Connection refused"'
totals=$(client --calls 20)
same "detours: nobody asks a server that is down" "$(total failovers <<<"$totals")" 0
# It is renewed for as long as it lasts.
sleep 1.5
same "state" "$(state_of c)" down
start_heapd c 8 "$(port_of c)"
scene_wait 5 '[ "$(state_of c)" = up ]'
holds "slow start" "$(server_of c .slow_start)" '. >= 0.1 and . < 1'
scene_wait 3 '[ "$(logs "server back name=c")" = 1 ]'
scene_ok "a TCP check takes a server out and brings it back"

### An operator's drain is stronger

ctl drain c >/dev/null
sleep 0.5
holds "route" "$(ctl route shop --json)" '.not_listed | any(.server == "c" and .reason == "drained")'
ctl undrain c >/dev/null
same "slow start of an undrained server" "$(server_of c '.slow_start < 0.5')" true
scene_ok "a check resurrects no drain"

### HTTP

write_config "{ slow_start: 0s, check: { http: '/call?bytes=2097152', $timing } }"
ctl reload >/dev/null
scene_wait 5 '[ "$(server_of b .check.passed_in_row)" -ge 2 ]'
fail_calls b
scene_wait 5 '[ "$(state_of b)" = down ]'
same "what it answered" "$(server_of b .check.error)" "it answered 503"
heal_calls b
scene_wait 5 '[ "$(state_of b)" = up ]'
scene_ok "an HTTP check takes a server out and brings it back"

### Reloads while it is down

fail_calls b
scene_wait 5 '[ "$(state_of b)" = down ]'
ctl reload >/dev/null
same "state after a reload" "$(state_of b)" down
write_config "{ slow_start: 0s, check: { http: '/call?bytes=2097153', $timing } }"
ctl reload >/dev/null
same "state after a reload with another check" "$(state_of b)" down
sleep 1.5
same "state, by the other check" "$(state_of b)" down
write_config "{ slow_start: 0s }"
ctl reload >/dev/null
same "state without a check" "$(state_of b)" up
same "check" "$(server_of b .check)" null
scene_ok "reloads are clean"

### The daemon dies, a server is down

write_config "{ slow_start: 0s, check: { http: '/call?bytes=2097152', $timing } }"
ctl reload >/dev/null
scene_wait 5 '[ "$(state_of b)" = down ]'
scene_kill callrouterd KILL
holds "for a moment it is still down" "$(ctl route shop --json)" '.not_listed | any(.server == "b")'
scene_wait 5 'ctl route shop --json | jq -e ".not_listed == []"'
scene_ok "without a daemon nobody stays down"
start_daemon
scene_wait 5 '[ "$(state_of b)" = down ]'
scene_ok "and a new daemon finds it again"
