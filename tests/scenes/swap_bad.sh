#!/bin/bash
# Routers that crash, loop, leave or lie: on trial they get no further; later they are sent away and
# the version before decides again. No call fails, whatever they do.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/swap_lib.sh"
scene_begin swap_bad

v=$SCENE/v
PLUGIN=$SCENE/plugins.d/first.so
now=$SCENE/now # "an hour later": while this file is there, they misbehave

put()
{
	cp "$v/$1.so" "$SCENE/plugins.d/.new"
	mv "$SCENE/plugins.d/.new" "$PLUGIN"
}

# refused NAME TEXT...: put there, it is refused with these texts, and version 1 decides on.
refused()
{
	local name=$1
	shift

	mark
	put "$name"
	scene_wait 8 'answers | grep "plugin refused"'
	one_answer "plugin refused" "$@"
	same "who decides ($name)" "$(deciders)" s1
	same "version in use ($name)" "$(current)" 1
	same "states in the list ($name)" "$(plugin_of '.generations[].state' | grep -vx previous | sort | xargs)" \
		"current ${STATES:-refused}"
}

# sent_away NAME TEXT: it has just misbehaved: quarantined for this, and version 1 decides again.
sent_away()
{
	scene_wait 8 'said | grep "plugin quarantined name=first"'
	said | grep "plugin quarantined name=first" | grep -qF -- "$2" ||
		scene_fail "not quarantined for \"$2\": $(said | grep 'plugin quarantined')"
	scene_wait 8 '[ "$(current)" = 1 ]'
	decides s1
	same "quarantined in the list" \
		"$(plugin_of '.generations[] | select(.state == "quarantined") | .version' | head -n 1)" "$1"
	rm -f "$now"
}

# The sum of a reason's count over the loads a and b cannot be had while they run: the daemon's.
reason()
{
	status_of ".fallback_reasons.$1 // 0"
}

restart_daemon()
{
	scene_kill callrouterd TERM
	start_daemon
}

rankers()
{
	local pid

	for pid in $(pgrep -P "$(scene_pid callrouterd)" || true); do
		tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q '/first\.' && echo "$pid"
	done
	true
}

### Built ahead

for where in CONSTRUCTOR OPEN RANK ROUTE; do
	for what in CRASH LOOP LEAVE; do
		NAME=$where-$what version 2 -DIN_$where=$what
	done
done
NAME=OPEN-FAIL version 2 -DIN_OPEN=FAIL
for what in FORGE REPEAT EXCEED; do
	NAME=RANK-$what version 2 -DIN_RANK=$what
	NAME=ROUTE-$what version 2 -DIN_ROUTE=$what
done
NAME=demanding version 2 -DDEMANDS
NAME=unloadable version 2 -DIN_OPEN=FAIL -DWHEN_ENV='"SCENE_BAD"'
NAME=deadly version 2 -DIN_CONSTRUCTOR=CRASH -DWHEN_ENV='"SCENE_BAD"'
for what in CRASH LOOP LEAVE HANG_UP FAIL FORGE REPEAT EXCEED; do
	NAME=rank-$what version 3 -DIN_RANK=$what -DWHEN_FILE="\"$now\""
done
for what in FAIL FORGE REPEAT EXCEED; do
	NAME=route-$what version 4 -DIN_ROUTE=$what -DWHEN_FILE="\"$now\""
done
NAME=route-CRASH version 4 -DIN_ROUTE=CRASH -DWHEN_FILE="\"$now\"" -DWHEN_ENV='"SCENE_BAD"'
version 5
version 6
swap_begin --allow router,default

### On trial

for what in CRASH LEAVE; do
	refused CONSTRUCTOR-$what "crashed, or ended its process, while it was loaded (a constructor?)"
done
refused CONSTRUCTOR-LOOP "did not return within 2 s while it was loaded (a constructor?)"
for where in OPEN RANK ROUTE; do
	refused $where-CRASH "first crashed in ${where,,}() (signal 4, SIGILL)"
	refused $where-LEAVE "first ended its process in ${where,,}()"
	refused $where-LOOP "first did not return within 2 s in ${where,,}(): it was ended"
done
scene_ok "what crashes, loops or leaves in its constructor, open(), rank() or route() is refused"

refused OPEN-FAIL "first: it was told to fail"
for where in RANK ROUTE; do
	refused $where-FORGE "on a made-up service of 1 server: ${where,,}() put a row into order that was not offered"
	refused $where-REPEAT "on a made-up service of 3 servers: ${where,,}() listed a server twice"
	refused $where-EXCEED "on a made-up service of 1 server: ${where,,}() returned 1001 servers of 1 that were offered"
done
refused demanding "demanded"
scene_ok "what fails, or lists nonsense, or demands an option that is not given, is refused"

### In the data planes

SCENE_BAD=1 start_load c --allow router,default
decides s1
refused unloadable "process $(scene_pid load-c) (load) cannot load it: first: it was told to fail"
mark
ctl adopt --force "$PLUGIN" >"$SCENE/adopt.out"
decides s2
same "version in use" "$(current)" unloadable
same "who lacks it" "$(ctl plugins --json | jq -r '.processes[] | select(.lacks != null) | .pid')" \
	"$(scene_pid load-c)"
mark
put 1
taken 1
same "who lacks it" "$(ctl plugins --json | jq -r '.processes[] | select(.lacks != null) | .pid')" ""
scene_ok "what one process cannot load is refused, and adopt --force overrides that"

STATES=quarantined refused deadly "quarantined: process $(scene_pid load-c) (load) died while it loaded it"
scene_wait 5 '! scene_alive load-c'
SCENE_BAD=1 start_load c --allow router,default
decides s1
mark
restart_daemon
decides s1
scene_wait 5 'said | grep "plugin file not taken name=first"'
scene_alive load-c || scene_fail "the file was prepared again, and killed another process"
end_load c
scene_ok "what kills a process that loads it never gets into office, nor after a restart"

### An hour later, in rank()

put 5
decides s5
put 1
decides s1
for what in CRASH LEAVE HANG_UP LOOP; do
	put rank-$what
	decides s3
	mark
	late=$(reason rank_late)
	touch "$now"
	case $what in
	CRASH) sent_away rank-$what "first crashed in rank() (signal 4, SIGILL)" ;;
	LEAVE) sent_away rank-$what "first ended its process in rank()" ;;
	HANG_UP) sent_away rank-$what "first broke its process's connection to callrouterd in rank()" ;;
	LOOP)
		sent_away rank-$what "first did not return within 2 s in rank(): it was ended"
		said | grep -q 'rank late plugin=first' || scene_fail "the late rank() was not reported"
		[ "$(reason rank_late)" -gt "$late" ] || scene_fail "no call by the default while rank() was late"
		;;
	esac
	mark
	restart_daemon
	decides s1
	scene_wait 5 'said | grep "plugin file not taken name=first"'
	same "version in use" "$(current)" 1
done
scene_ok "what crashes, leaves or loops in rank() later is quarantined, the version before returns"

ctl adopt "$PLUGIN" >"$SCENE/adopt.out"
decides s3
same "what adopt said" "$(cut -d ' ' -f 1-2 "$SCENE/adopt.out")" "first rank-LOOP"
same "version in use" "$(current)" rank-LOOP
same "quarantined in the list" \
	"$(plugin_of '[.generations[] | select(.version == "rank-LOOP")] | length')" 1
scene_ok "adopt takes a quarantined file again"

ctl rollback first >"$SCENE/rollback.out"
decides s1
same "version in use" "$(current)" 1
same "state in the list" "$(plugin_of '.generations[] | select(.version == "rank-LOOP") | .state')" \
	"rolled back"
mark
touch "$PLUGIN"
one_answer "plugin file not taken" "rolled back: rolled back by the operator" \
	"callrouterctl adopt $PLUGIN"
mark
restart_daemon
decides s1
scene_wait 5 'said | grep "plugin file not taken name=first"'
same "version in use" "$(current)" 1
ctl rollback first >"$SCENE/rollback.out" 2>&1 && scene_fail "rolled back further than there is"
finds "$SCENE/rollback.out" "first has no previous generation to go back to"
scene_ok "what was rolled back stays away, through touch and restart"

# nonsense FILE FIRST REASON: while it misbehaves the default decides for this reason; it stays in
# office.
nonsense()
{
	local before

	put "$1"
	decides "s$2"
	before=$(reason "$3")
	touch "$now"
	decides "default:$3"
	rm "$now"
	decides "s$2"
	[ "$(reason "$3")" -gt "$before" ] || scene_fail "$1: no call counted under $3"
	same "version in use" "$(current)" "$1"
}
nonsense rank-FAIL 3 rank_error
nonsense rank-FORGE 3 rank_bad_order
nonsense rank-REPEAT 3 rank_bad_order
nonsense rank-EXCEED 3 rank_bad_order
nonsense route-FAIL 4 route_error
nonsense route-FORGE 4 unknown_server
nonsense route-REPEAT 4 repeated_server
nonsense route-EXCEED 4 route_error
scene_ok "nonsense from rank() and route() harms no call, and is counted"

### An hour later, in route()

put 1
decides s1
put route-CRASH
decides s4
SCENE_BAD=1 start_load c --allow router,default
decides s4
mark
touch "$now"
scene_wait 5 '! scene_alive load-c'
sent_away route-CRASH "process $(scene_pid load-c) (load) died in its route()"
mark
restart_daemon
decides s1
scene_wait 5 'said | grep "plugin file not taken name=first"'
ctl adopt "$PLUGIN" >"$SCENE/adopt.out"
decides s4
put 1
decides s1
scene_ok "what kills a process in route() is quarantined, and the others go on"

### Rankers that are killed

for signal in KILL TERM INT; do
	mark
	before=$(rankers)
	kill -s $signal "$before"
	if [ $signal = KILL ]; then
		scene_wait 5 '[ -n "$(rankers)" ] && [ "$(rankers)" != "$before" ]'
		scene_wait 5 'said | grep "ranker started again plugin=first"'
	else
		same "ranker after SIG$signal" "$(rankers)" "$before"
	fi
	same "version in use" "$(current)" 1
	same "quarantined" "$(said | grep -c quarantined)" 0
	decides s1
done
kill -INT -- "-$(scene_pid callrouterd)" # as from a terminal: to all processes of the group
scene_wait 5 '! scene_alive callrouterd'
same "quarantined" "$(said | grep -c quarantined)" 0
start_daemon
decides s1
scene_ok "a ranker that is killed is started again; signals to all are for the daemon"

### The snapshot is cut under the daemon

for len in 0 100 5000; do
	truncate -s $len "$SCENE/run/snapshot.1"
	scene_wait 5 "[ \"\$(stat -c %s \"$SCENE/run/snapshot.1\")\" -gt 5000 ]"
done
scene_alive callrouterd || scene_fail "a truncated snapshot ended the daemon"
put 6
decides s6
put 1
decides s1
scene_ok "a truncated snapshot is made again, and the daemon goes on"

### The state is lost

number()
{
	plugin_of '.generations[] | select(.state == "current") | .generation'
}
put 6
decides s6
before=$(number)
scene_kill callrouterd TERM
rm "$SCENE/state/manifest.json"
mark
start_daemon
scene_wait 5 '[ "$(current)" = 6 ]'
[ "$(number)" -gt "$before" ] || scene_fail "generation $(number) after $before"
before=$(number)
scene_kill callrouterd TERM
rm -r "$SCENE/state"
start_daemon
scene_wait 5 '[ "$(current)" = 6 ]'
[ "$(number)" -gt "$before" ] || scene_fail "generation $(number) after $before"
scene_kill callrouterd TERM
printf '{ "layout": 1, "seq"' >"$SCENE/state/manifest.json"
mark
start_daemon
said | grep -F "manifest begun anew" | grep -qF "it is kept as $SCENE/state/manifest.json.bad" ||
	scene_fail "nothing said about a torn manifest"
same "the torn manifest" "$(cat "$SCENE/state/manifest.json.bad")" '{ "layout": 1, "seq"'
scene_wait 5 '[ "$(current)" = 6 ]'
decides s6
scene_ok "no number comes back, even if the manifest, or all state, is lost"

### Nobody noticed

for i in a b; do
	end_load $i
	holds "load $i" "$TOTALS" '.failed == 0 and .calls > 10000 and
		(.reasons | keys - ["quarantined", "rank_late", "rank_error", "rank_bad_order",
		"route_error", "unknown_server", "repeated_server", "no_router", "not_loaded"] | length) == 0'
done
scene_wait 5 "status_of '[.ranking[].inflight] | add' | grep -x 0"
scene_ok "no call failed, and none is still counted"
