#!/bin/bash
# start.sh - signals at bad moments: a reload asked for during the start, a ranker that is stopped; two daemons; no standard streams.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin start
cluster_begin
start_heapd ms1 64
cat >"$CONFIG" <<X
servers:
  - { name: ms1, address: "127.0.0.1:$(port_of ms1)" }
collectors:
  - { name: jolokia, plugin: http, profile: jolokia, target: "http://\${host}:\${port}", interval: 200ms, timeout: 150ms }
services:
  - { name: shop, router: heap_free }
X

# heeds_hup PID: it is no shell any more, and has got as far as to block or catch SIGHUP.
heeds_hup()
{
	[ "$(readlink "/proc/$1/exe")" = "$(realpath "$DAEMON")" ] &&
		grep -qE '^Sig(Blk|Cgt):.*[13579bdf]$' "/proc/$1/status"
}

applied=0
for delay in 0.01 0.02 0.03 0.05; do
	scene_spawn callrouterd "$DAEMON" -c "$CONFIG" --run-dir "$SCENE/run" --state-dir "$SCENE/state" \
		--plugins-dir "$SCENE/plugins.d"
	scene_wait 10 'heeds_hup "$(scene_pid callrouterd)"'
	sleep "$delay" # a moment of the start, not a proof
	kill -HUP "$(scene_pid callrouterd)"
	scene_wait 10 'ctl status --json | jq -e ".services[0].ranking | length > 0"'
	applied=$((applied + 2))
	scene_wait 5 'grep -c "configuration applied" "$SCENE/callrouterd.log" | grep -qx $applied'
	scene_kill callrouterd
done
scene_ok "a reload asked for during the start is done after it"

# whoever starts it ignores the ends of its children: so would the daemon, and convict who is stopped
trap '' CHLD
start_daemon
trap - CHLD
mkdir "$SCENE/run2"
if timeout 10 "$DAEMON" -c "$CONFIG" --run-dir "$SCENE/run2" --state-dir "$SCENE/state" \
	--plugins-dir "$SCENE/plugins.d" 2>"$SCENE/err"; then scene_fail "two daemons share a state directory"; fi
finds "$SCENE/err" "another callrouterd serves $(realpath "$SCENE/state"): stop it, or give --state-dir"
scene_ok "a second daemon is kept from the state directory"

scene_wait 5 '[ "$(status_of .router.state)" = active ]'
ranker=$(pgrep -P "$(scene_pid callrouterd)" -f heap_free)
kill -STOP "$ranker"
scene_wait 10 'grep -q "ranker started again.*did not run for 2 s" "$SCENE/callrouterd.log"'
scene_wait 5 '[ "$(status_of .router.state)" = active ]'
same "generations of heap_free" "$(ctl plugins --json | jq -c '[.plugins[] | select(.plugin == "heap_free").generations[].state]')" '["current"]'
scene_ok "a router whose process was stopped is started again, not quarantined"
scene_kill callrouterd

# files of its own would be in their place, and a ranker have none
printf '#!/bin/bash\nexec "%s" "$@" <&- >&- 2>&-\n' "$DAEMON" >"$SCENE/closed"
chmod +x "$SCENE/closed"
DAEMON=$SCENE/closed start_daemon
scene_wait 5 '[ "$(status_of .router.state)" = active ]'
same "standard streams" "$(readlink "/proc/$(scene_pid callrouterd)/fd/"{0,1,2} | uniq)" /dev/null
scene_ok "a daemon that was started without standard streams works"
scene_kill callrouterd
