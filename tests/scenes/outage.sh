#!/bin/bash
# outage.sh - callrouterd is killed, stopped, away, and comes back, while calls are placed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin outage
cluster_begin

# What the client writes of each call.
by_router='decided=router reason=none'
by_default_stale='decided=default reason=stale'
by_nobody='decided=nobody'

# calls NAME PATTERN: how many of that client's calls were so.
calls()
{
	grep -c -- "$2" "$SCENE/$1.log" || true
}

# go_on NAME PATTERN: 20 more calls are placed so.
go_on()
{
	scene_wait 8 "[ \$(calls $1 '$2') -ge $(($(calls "$1" "$2") + 20)) ]"
}

# start_load NAME [SERVICE]
start_load()
{
	scene_spawn "$1" "$CLIENT" --run-dir "$SCENE/run" --service "${2:-shop}" --verbose --threads 3 --rate 150 \
		--path '/call?bytes=4096&ms=1' --seconds 600
}

# end_load NAME: its totals are then in $totals; no call of it failed, unless $2 says so.
end_load()
{
	scene_kill "$1" TERM
	totals=$(tail -n 1 "$SCENE/$1.log")
	[ "${2:-}" = failed ] || same "failed calls of $1" "$(total failed <<<"$totals")" 0
	[ "${2:-}" = failed ] || same "exit status of $1" "$SCENE_STATUS" 0
}

inflight()
{
	status_of '[.ranking[].inflight] | add'
}

decided()
{
	status_of '[.decided.router, .decided.default, .decided.refused, .decided.nobody] | @tsv'
}

start_heapd ms1 256
start_heapd ms2 128
start_heapd ms3 64
cat >"$CONFIG" <<-X
	cluster: outage
	servers:
	  - { name: ms1, address: "127.0.0.1:$(port_of ms1)" }
	  - { name: ms2, address: "127.0.0.1:$(port_of ms2)" }
	  - { name: ms3, address: "127.0.0.1:$(port_of ms3)" }
	collectors:
	  - name: jvm
	    plugin: http
	    profile: jolokia
	    target: "http://\${host}:\${port}"
	    interval: 200ms
	    timeout: 200ms
	services:
	  - { name: shop, router: heap_free, stale_after: 1500ms }
	  - { name: calm, router: heap_free, stale_after: 60s }
X

### kill -9

start_daemon
scene_wait 5 '[ "$(ranking)" = "ms1 ms2 ms3" ]'
start_load load
go_on load "$by_router"
scene_kill callrouterd KILL
killed=$(wc -l <"$SCENE/load.log")
go_on load "$by_default_stale"
first=$(grep -n -m 1 decided=default "$SCENE/load.log" | cut -d : -f 1)
[ "$first" -gt $((killed + 20)) ] || scene_fail "the router decided about only $((first - killed)) calls after the kill"
scene_ok "callrouterd was killed: the router's last ranking decides on, about $((first - killed)) more calls"

same "other reasons than stale" "$(calls load 'decided=default reason=[^s]')" 0
same "ctl route" "$(ctl route shop --json | jq -c '[.decided_by, .reason, (.servers | sort)]')" \
	'["default","stale",["ms1","ms2","ms3"]]'
lines=$(wc -l <"$SCENE/load.log")
go_on load "$by_default_stale"
same "servers that the default used" \
	"$(tail -n "+$((lines + 1))" "$SCENE/load.log" | cut -d ' ' -f 1 | sort -u | xargs)" "ms1 ms2 ms3"
if ctl status >"$SCENE/out" 2>"$SCENE/err"; then
	scene_fail "status without a daemon: exit status 0"
fi
scene_ok "past stale_after the default decides, for that reason, on all servers"

start_daemon
go_on load "$by_router"
lines=$(wc -l <"$SCENE/load.log")
go_on load "$by_router"
same "default decisions after it came back" \
	"$(tail -n "+$((lines + 1))" "$SCENE/load.log" | grep -c decided=default || true)" 0
end_load load
same "decided" "$(decided)" "$(printf '%s\t%s\t0\t0' "$(total router <<<"$totals")" "$(total default <<<"$totals")")"
same "fallback reasons" "$(status_of '.fallback_reasons | tojson')" "{\"stale\":$(total default <<<"$totals")}"
scene_ok "callrouterd is back: the router decides; 0 of $(total calls <<<"$totals") calls failed, all are counted"

### Calls in progress, and a clean stop

before=$(decided)
scene_spawn long "$CLIENT" --run-dir "$SCENE/run" --service shop --threads 3 --calls 3 --path '/call?ms=4500'
scene_wait 3 '[ "$(inflight)" = 3 ]'
scene_kill callrouterd TERM
same "exit status of callrouterd" "$SCENE_STATUS" 0
grep -q 'stopping signal=TERM' "$SCENE/callrouterd.log" || scene_fail "the log does not say that it stops"
[ ! -S "$SCENE/run/control.sock" ] || scene_fail "the socket is left behind"
start_daemon
same "calls in progress after a restart" "$(inflight)" 3
scene_kill callrouterd KILL
start_daemon
same "calls in progress after a kill" "$(inflight)" 3
scene_wait 9 '[ "$(inflight)" = 0 ]'
scene_wait 2 '! scene_alive long'
same "the long calls" "$(total failed <"$SCENE/long.log")" 0
same "decided" "$(decided)" "$(awk '{ print $1 + 3 "\t" $2 "\t" $3 "\t" $4 }' <<<"$before")"
scene_ok "totals and calls in progress outlive a clean stop and a kill, and end at 0"

start_load short calm
go_on short "$by_router"
scene_kill callrouterd TERM
start_daemon
go_on short "$by_router"
end_load short
same "default decisions" "$(total default <<<"$totals")" 0
scene_ok "a restart within stale_after is not even noticed: what was measured is still fresh"

start_load stop
go_on stop "$by_router"
scene_kill callrouterd TERM
same "exit status of callrouterd" "$SCENE_STATUS" 0
go_on stop "$by_default_stale"
start_daemon
go_on stop "$by_router"
end_load stop
scene_ok "a clean stop is no different: 0 of $(total calls <<<"$totals") calls failed"

### A data plane that was there first

scene_kill callrouterd TERM
rm -rf "$SCENE/run"
start_load first
go_on first "$by_nobody reason=no_snapshot"
mkdir "$SCENE/run"
start_daemon
go_on first "$by_router"
same "calls without a server after the first with one" \
	"$(sed -n '/decided=router/,$p' "$SCENE/first.log" | grep -c "$by_nobody" || true)" 0
scene_ok "a data plane that was there before callrouterd works as soon as it comes"

### A run directory that is wiped

scene_kill callrouterd KILL
rm -rf "$SCENE/run"
lines=$(wc -l <"$SCENE/first.log")
go_on first decided=
mkdir "$SCENE/run"
start_daemon
go_on first "$by_router"
same "failed calls since" "$(tail -n "+$lines" "$SCENE/first.log" | grep -c "$by_nobody" || true)" 0
scene_wait 5 'ctl plugins --json | jq -e "[.processes[] | select(.program == \"callrouter-client\")] | length == 1"'
scene_wait 5 '[ "$(status_of .decided.router)" -ge 20 ]'
end_load first failed
same "calls that got nobody were all before the first daemon" "$(total nobody <<<"$totals")" "$(total failed <<<"$totals")"
scene_ok "the run directory was wiped and made again: the living data plane attaches to the new one"
