#!/bin/bash
# health_eject.sh - a server that fails every call is out for everybody after ten failures in a row
# from two processes together, is tried by one call, and comes back; with all out, all are tried.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
. "$(dirname "$0")/health_lib.sh"
scene_begin health_eject
cluster_begin

for name in a b; do
	start_heapd $name 8
done
write_config '{ failures: 10, out_for: 2s, slow_start: 0s }' a b
start_daemon

### Ten in a row, from two processes

fail_calls a
one=$(big_client --calls 12)
same "failed calls" "$(total failed <<<"$one")" 0
first=$(total failovers <<<"$one")
[ "$first" -ge 4 ] && [ "$first" -le 8 ] || scene_fail "half of 12 calls should have met a: $one"
same "failures in a row" "$(server_of a .failures_in_row)" "$first"
same "state after $first failures" "$(state_of a)" up
ctl servers | grep -qE "^a .* up, failed $first " || scene_fail "$(ctl servers)"

two=$(big_client --calls 20)
second=$(total failovers <<<"$two")
same "failures of both together" $((first + second)) 10
same "failed calls" "$(total failed <<<"$two")" 0
same "state after 10 failures" "$(state_of a)" ejected
scene_ok "out after $first failures in one process and $second in another"
route=$(ctl route shop)
grep -qE 'not listed: a \(ejected, [123]s left\)' <<<"$route" || scene_fail "$route"
holds "route" "$(ctl route shop --json)" '.servers == ["b"] and .not_listed[0].server == "a" and
	.not_listed[0].reason == "ejected" and .not_listed[0].for_s > 0'
holds "status" "$(ctl status --json)" '.services[0].ranking[] | select(.server == "a") |
	.state == "ejected" and .state_for_s > 0'
scene_wait 3 '[ "$(logs "server ejected name=a")" = 1 ]'

### Seen by both; one trial

for client in one two; do
	totals=$(big_client --calls 8)
	same "detours of client $client" "$(total failovers <<<"$totals")" 0
	same "calls that b served" "$(total b <<<"$totals")" 8
done
scene_wait 4 '[ "$(state_of a)" = trial ]'
scene_spawn load1 "$CLIENT" --run-dir "$SCENE/run" --service shop --rate 100 --calls 40 \
	--path '/call?bytes=2097152&ms=1'
totals=$(big_client --rate 100 --calls 40)
scene_wait 10 'grep -q "^calls=" "$SCENE/load1.log"'
tried=$(($(total failovers <<<"$totals") + $(total failovers <"$SCENE/load1.log")))
same "calls that tried it" "$tried" 1
same "state after the trial" "$(state_of a)" ejected
scene_wait 3 '[ "$(logs "server ejected name=a")" = 2 ]'
scene_ok "one call of two processes tried it, and it was out again"

### A reload and a restart keep an ejection

write_config '{ failures: 10, out_for: 60s, slow_start: 0s }' a b
ctl reload >/dev/null
same "state after a reload" "$(state_of a)" ejected
scene_wait 4 '[ "$(state_of a)" = trial ]'
totals=$(big_client --calls 10)
same "calls that tried it" "$(total failovers <<<"$totals")" 1
scene_kill callrouterd KILL
start_daemon
same "state after a restart" "$(state_of a)" ejected
holds "what is left of it" "$(server_of a .state_for_s)" '. > 30 and . < 67'
scene_ok "a reload and a restart keep an ejection"

### All out: all are tried

fail_calls b
scene_wait 10 'big_client --calls 10; [ "$(state_of b)" = ejected ]'
same "state of a" "$(state_of a)" ejected
totals=$(big_client --calls 10) || true
same "failed calls while nobody is well" "$(total failed <<<"$totals")" 10
# At most half of them are kept out: one is tried by every call, and found as soon as it is well.
heal_calls a
heal_calls b
totals=$(big_client --calls 10)
same "failed calls with all servers out" "$(total failed <<<"$totals")" 0
out=$(ctl servers --json | jq -r '[.servers[] | select(.state == "ejected") | .server] | join(" ")')
[ "$out" = a ] || [ "$out" = b ] || scene_fail "one of two should be out still, not \"$out\""
scene_ok "with all servers out, calls still find one that is well"

### The operator knows better

ctl restore "$out" >"$SCENE/restored"
finds "$SCENE/restored" "$out gets calls again (it was ejected)"
same "state after restore" "$(state_of "$out")" up
totals=$(big_client --calls 10)
[ "$(total "$out" <<<"$totals")" -ge 1 ] || scene_fail "no call for $out: $totals"
if ctl restore nobody 2>"$SCENE/unknown"; then
	scene_fail "an unknown server was restored"
fi
finds "$SCENE/unknown" 'no server "nobody" in the configuration; callrouterctl servers lists them'
ctl drain b >/dev/null
ctl restore b >"$SCENE/restored"
finds "$SCENE/restored" "but drained: callrouterctl undrain gives it calls again"
holds "a restored server stays drained" "$(ctl route shop --json)" \
	'.not_listed | any(.server == "b" and .reason == "drained")'
ctl undrain b >/dev/null
scene_ok "restore brings a server back at once, and resurrects no drain"
