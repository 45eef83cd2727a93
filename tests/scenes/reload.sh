#!/bin/bash
# reload.sh - the configuration is changed while calls are placed: whole or not at all, and what has
# been counted, learnt and wished stays.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin reload
cluster_begin

start_heapd ms1 256
start_heapd ms2 128
start_heapd ms3 64
start_heapd other 32

# server NAME [PORT [MORE]]: its line in a configuration.
server()
{
	echo "  - { name: $1, address: \"127.0.0.1:${2:-$(port_of "$1")}\"${3:+, $3} }"
}

# config [SERVICE]: $CONFIG with the servers on standard input and this description of the service.
config()
{
	{
		echo "cluster: reload"
		echo "servers:"
		cat
		cat <<-'X'
			collectors:
			  - name: jvm
			    plugin: http
			    profile: jolokia
			    target: "http://${host}:${port}"
			    interval: 200ms
			    timeout: 200ms
			services:
		X
		# without a slow start the best server comes first at once
		echo "  - { name: shop, stale_after: 5s, health: { slow_start: 0s }, ${1:-router: heap_free} }"
	} >"$CONFIG.new"
	mv "$CONFIG.new" "$CONFIG"
}

reload()
{
	ctl reload >"$SCENE/out" 2>"$SCENE/err" || scene_fail "reload: $(cat "$SCENE/err")"
	same "what reload says" "$(cat "$SCENE/out")" "the configuration is read again and in use"
}

# refused TEXT...: a reload is refused with these texts, in the answer and in the log; all goes on.
refused()
{
	local text lines before

	before=$(ranking)
	lines=$(wc -l <"$SCENE/callrouterd.log")
	if ctl reload >"$SCENE/out" 2>"$SCENE/err"; then
		scene_fail "it was reloaded, expected: $*"
	else
		same "exit status" $? 1
	fi
	tail -n "+$((lines + 1))" "$SCENE/callrouterd.log" >"$SCENE/new"
	for text; do
		finds "$SCENE/err" "$text"
		finds "$SCENE/new" "$text"
	done
	finds "$SCENE/new" "the old configuration stays"
	same "the ranking" "$(ranking)" "$before"
}

# of SERVER FIELD: of the servers document.
of()
{
	ctl servers --json | jq -r ".servers[] | select(.server == \"$1\") | .$2"
}

(server ms1; server ms2) | config
start_daemon
scene_wait 5 '[ "$(ranking)" = "ms1 ms2" ]'
scene_wait 5 'status_of "[.ranking[].metrics.jvm_heap_free_bytes.fresh] | all" | grep -x true'
scene_spawn load "$CLIENT" --run-dir "$SCENE/run" --service shop --verbose --threads 3 --rate 100 \
	--path '/call?bytes=4096&ms=1' --seconds 600
scene_wait 5 'grep -c "^ms1 decided=router" "$SCENE/load.log"'

### Servers

(server ms1; server ms2; server ms3) | config
reload
scene_wait 5 '[ "$(ranking)" = "ms1 ms2 ms3" ]'
scene_ok "a server is added"

calls=$(of ms1 calls)
[ "$calls" -gt 0 ] || scene_fail "no call of ms1 was counted"
scene_spawn long "$CLIENT" --run-dir "$SCENE/run" --service shop --calls 1 --path '/call?ms=3000'
scene_wait 2 '[ "$(of ms1 inflight)" -ge 1 ]'
(server ms2; server ms3) | config
scene_kill callrouterd HUP
scene_wait 5 '[ "$(ranking)" = "ms2 ms3" ]'
scene_wait 5 'tail -n 5 "$SCENE/load.log" | grep -c "^ms2 " | grep -x 5'
[[ $(ctl servers --json) != *'"ms1"'* ]] || scene_fail "ms1 is still there"
(server ms1; server ms2; server ms3) | config
reload
scene_wait 5 '[ "$(ranking)" = "ms1 ms2 ms3" ]'
[ "$(of ms1 calls)" -ge "$calls" ] || scene_fail "the calls of ms1 were forgotten"
[ "$(of ms1 inflight)" -ge 1 ] || scene_fail "the call in progress was forgotten"
scene_wait 5 '! scene_alive long'
same "the call that was in progress all the while" "$(total failed <"$SCENE/long.log")" 0
scene_ok "a server is removed by SIGHUP, and added again: its calls are still counted"

(server ms1 "" "weight: 0"; server ms2 "" "weight: 9"; server ms3) | config
reload
scene_wait 5 '[ "$(ranking)" = "ms2 ms3" ]'
same "why ms1 is not ranked" "$(status_of '.not_ranked | tojson')" '[{"server":"ms1","reason":"weight 0"}]'
same "weights" "$(status_of '[.ranking[].weight] | tojson')" '[9,1]'
(server ms1; server ms2; server ms3) | config
reload
scene_wait 5 '[ "$(ranking)" = "ms1 ms2 ms3" ]'
scene_ok "weights are changed"

### Routers

(server ms1; server ms2; server ms3) | config 'router: { plugin: sorted, options: { order_by: jvm_heap_free_bytes } }'
reload
scene_wait 5 '[ "$(ranking) $(status_of .router.plugin)" = "ms3 ms2 ms1 sorted" ]'
(server ms1; server ms2; server ms3) |
	config 'router: { plugin: sorted, options: { order_by: "-jvm_heap_free_bytes" } }'
reload
scene_wait 5 '[ "$(ranking)" = "ms1 ms2 ms3" ]'
(server ms1; server ms2; server ms3) | config 'router: random, default: { plugin: sorted, options: { order_by: jvm_heap_free_bytes } }'
scene_kill callrouterd HUP
scene_wait 5 '[ "$(status_of "[.router.plugin, .router.state, .default, .ranked_by] | tojson")" = \
	"[\"random\",\"per call\",\"sorted\",\"default\"]" ]'
(server ms1; server ms2; server ms3) | config
reload
scene_wait 5 '[ "$(ranking) $(status_of .router.plugin)" = "ms1 ms2 ms3 heap_free" ]'
same "calls that were not decided by the service's router all the while" \
	"$(grep -c 'decided=[^r]\|decided=refused' "$SCENE/load.log" || true)" 0
scene_ok "router, default and options are changed, for plugins that were never used before, too"

### Mistakes

cp "$CONFIG" "$SCENE/good.yaml"
cat >"$CONFIG" <<-X
	cluster: reload
	servers:
	  - { name: ms1, adress: "127.0.0.1:$(port_of ms1)" }
	  - { name: ms2, address: "127.0.0.1:$(port_of ms2)", weight: 101 }
	services:
	  - { name: shop, router: heapfree, stale_after: soon }
	  - { name: more, router: { plugin: sorted, options: { order_by: "-heap" } } }
	  - { name: many, router: { plugin: sorted, options: { order: "-inflight" } }, default: http }
X
refused "$CONFIG:3:18: unknown key \"adress\" in a server; did you mean \"address\"?" \
	"$CONFIG:3:5: this server has no address" \
	"$CONFIG:4:54: weight \"101\" is out of range" \
	"$CONFIG:6:27: there is no plugin \"heapfree\" in $SCENE/plugins.d: did you mean \"heap_free\"?" \
	"$CONFIG:6:50: " \
	"$CONFIG:7:37: plugin sorted: order_by: \"-heap\" is no metric" \
	"$CONFIG:8:63: plugin sorted: no option \"order\"; did you mean \"order_by\"?" \
	"$CONFIG:8:27: plugin sorted: option \"order_by\" is missing" \
	"$CONFIG:8:89: plugin \"http\" is a collector, a router is needed here"
finds "$SCENE/err" "callrouterctl: the configuration is not applied: the old one stays in use"
grep -q '^callrouterctl: ' <(head -n 1 "$SCENE/err") && scene_fail "a mistake does not begin with its file"
holds "the mistakes as a document" "$(ctl reload --json || true)" \
	'.applied == false and (.mistakes | length >= 9 and all(startswith("'"$CONFIG"':")))'
scene_kill callrouterd HUP
scene_wait 5 '[ "$(grep -c "reload refused error=" "$SCENE/callrouterd.log")" = 3 ]'
echo "servers: [" >"$CONFIG"
refused "$CONFIG:2:1: "
rm "$CONFIG"
refused "$CONFIG: "
mkfifo "$CONFIG"
refused "$CONFIG: "
rm "$CONFIG"
(server ms1; server ms2; server ms3) | config 'router: heap_free'
sed -i '1a group: no_such_group' "$CONFIG"
refused "$CONFIG:2:8: this machine has no group \"no_such_group\""
sed -i 's/^group:.*/group: daemon/' "$CONFIG"
if [ "$(id -u)" = 0 ]; then
	reload
	finds "$SCENE/callrouterd.log" "group not changed"
fi
cp "$SCENE/good.yaml" "$CONFIG"
reload
same "the ranking" "$(ranking)" "ms1 ms2 ms3"
scene_ok "a bad file is refused whole, with all its mistakes, in the answer and in the log"

### What the operator wants

ctl drain ms2 >"$SCENE/out"
same "what drain says" "$(cat "$SCENE/out")" "ms2 is drained: it gets no new calls until callrouterctl undrain"
ctl weight ms3 7 >"$SCENE/out"

# wished: ms2 is drained and ms3 has weight 7.
wished()
{
	scene_wait 5 '[ "$(ranking)" = "ms1 ms3" ]'
	same "$1: who is not ranked" "$(status_of '.not_ranked | tojson')" '[{"server":"ms2","reason":"drained"}]'
	same "$1: the weight of ms3" "$(status_of '.ranking[] | select(.server == "ms3") | .weight')" 7
	same "$1: a route" "$(ctl route shop --json | jq -c .servers)" '["ms1","ms3"]'
}
wished "at once"
reload
wished "after a reload"
decided=$(status_of .decided.router)
scene_kill callrouterd TERM
start_daemon
wished "after a restart"
scene_kill callrouterd KILL
start_daemon
wished "after a kill"
[ "$(status_of .decided.router)" -ge "$decided" ] || scene_fail "decisions were forgotten"
(server ms1; server ms3) | config
reload
scene_wait 5 '[ "$(ranking)" = "ms1 ms3" ]'
(server ms1; server ms2; server ms3) | config
reload
wished "after ms2 was removed and added"
ctl undrain ms2 >"$SCENE/out"
ctl weight ms3 default >"$SCENE/out"
scene_wait 5 '[ "$(ranking)" = "ms1 ms2 ms3" ]'
same "the weight of ms3" "$(status_of '[.ranking[].weight] | tojson')" '[1,1,1]'
scene_ok "drains and weights outlive reloads, restarts and kills, and are undone"

### Names, addresses, services

calls=$(of ms2 calls)
(server ms1; server ms2 "$(port_of other)"; server new "$(port_of ms3)") | config
reload
scene_wait 5 '[ "$(ranking)" = "ms1 new ms2" ]'
scene_wait 5 '[ "$(of ms2 metrics.jvm_heap_size_bytes.value)" = 33554432 ]'
same "the address of ms2" "$(of ms2 address)" "127.0.0.1:$(port_of other)"
same "the calls of ms2, at its new address" "$(of ms2 calls)" "$calls"
same "the calls of new, which is ms3 under another name" "$(of new calls)" 0
ctl drain ms1 >"$SCENE/out"
ctl drain new >"$SCENE/out"
scene_wait 5 'tail -n 5 "$SCENE/load.log" | grep -c "^ms2 " | grep -x 5'
same "calls served" "$(curl -sf --noproxy '*' -o /dev/null -w '%{http_code}' "http://$(of ms2 address)/call")" 200
ctl undrain ms1 >"$SCENE/out"
ctl undrain new >"$SCENE/out"
scene_ok "a new name is another server, a new address is the same one"

if ctl route extra 2>"$SCENE/err"; then scene_fail "a service that is not there was routed"; fi
finds "$SCENE/err" 'no service "extra" is published: callrouterctl status shows those that are'
(server ms1; server ms2; server ms3) | config
echo "  - { name: extra, servers: [ms3, ms2], router: round_robin }" >>"$CONFIG"
reload
scene_wait 5 'ctl route extra --json | jq -e ".decided_by == \"router\" and (.servers | sort) == [\"ms2\", \"ms3\"]"'
same "services" "$(ctl status --json | jq -c '[.services[].name]')" '["shop","extra"]'
(server ms1; server ms2; server ms3) | config
reload
scene_wait 5 '! ctl route extra'
scene_ok "a service comes and goes"

### A plugin whose trial takes its time

cat >"$SCENE/lazy.c" <<-'X'
	#include <time.h>
	#include <callrouter/plugin.h>
	static int lazy_open(const struct cr_open *in, void **self)
	{
		nanosleep(&(struct timespec){ .tv_sec = 1, .tv_nsec = 200000000 }, 0);
		return 0;
	}
	static int lazy_rank(void *self, const struct cr_view *view, uint16_t *order, size_t n, double *const *column)
	{
		return (int)n;
	}
	CR_ROUTER = { CR_ROUTER_HEAD("lazy", "1", "opens slowly"), .open = lazy_open, .rank = lazy_rank };
X
cc -shared -fPIC -I "$ROOT/include" -o "$SCENE/plugins.d/lazy.so" "$SCENE/lazy.c"
(server ms1; server ms2; server ms3) | config 'router: lazy'
echo "  - { name: extra, servers: [ms2, ms3], router: lazy }" >>"$CONFIG"
reload
ctl drain ms2 >"$SCENE/out"
same "a route, right after drain has answered" "$(ctl route shop --json | jq -c '[.decided_by, (.servers | sort)]')" \
	'["router",["ms1","ms3"]]'
same "a route of the new service" "$(ctl route extra --json | jq -c .servers)" '["ms3"]'
ctl undrain ms2 >"$SCENE/out"
same "a route, right after undrain has answered" "$(ctl route shop --json | jq -c '.servers | length')" 3
scene_wait 10 '[ "$(status_of .router.plugin)" = lazy ]'
scene_wait 5 'ctl route extra --json | jq -e ".decided_by == \"router\" and (.servers | length) == 2"'
(server ms1; server ms2; server ms3) | config
reload
scene_wait 5 '[ "$(ranking) $(status_of .router.plugin)" = "ms1 ms2 ms3 heap_free" ]'
scene_ok "no trial holds up a drain; until it is passed, the service keeps its router"

### An administration server that a collector found

cat >"$SCENE/finds.c" <<-X
	#include <string.h>
	#include <unistd.h>
	#include <callrouter/plugin.h>
	static int64_t finds_collect(void *self, const struct cr_round *round)
	{
		for (size_t i = 0; i < round->n; i++) {
			struct cr_target *target = round->target[i];

			if (strcmp(target->name, "ms3") == 0 && access("$SCENE/silent", F_OK) == 0) {
				round->fail(round, target, CR_CONNECT, "silent");
				continue;
			}
			if (strcmp(target->name, "ms3") == 0 && access("$SCENE/is_admin", F_OK) == 0)
				round->skip(round, target, NULL, "this is AdminServer");
			round->done(round, target);
		}
		return INT64_MAX;
	}
	CR_COLLECTOR = { CR_COLLECTOR_HEAD("finds", "1", "finds an admin server"), .collect = finds_collect };
X
cc -shared -fPIC -I "$ROOT/include" -o "$SCENE/plugins.d/finds.so" "$SCENE/finds.c"
touch "$SCENE/is_admin"
(server ms1; server ms2; server ms3) | config
sed -i 's/^collectors:/&\n  - { name: finds, plugin: finds, target: "${host}", interval: 100ms, timeout: 100ms }/' "$CONFIG"
reload
scene_wait 5 '[ "$(ranking) $(of ms3 skipped)" = "ms1 ms2 this is AdminServer" ]'
touch "$SCENE/silent" # from now on nobody says so any more
before=$(of ms3 polls)
reload
same "a route right after a reload" "$(ctl route shop --json | jq -c .servers)" '["ms1","ms2"]'
scene_wait 5 '[ "$(of ms3 polls)" -gt "$before" ]'
scene_kill callrouterd KILL
start_daemon
same "a route right after a restart" "$(ctl route shop --json | jq -c .servers)" '["ms1","ms2"]'
same "what is said of it" "$(of ms3 skipped)" "an administration server, before callrouterd was restarted"
rm "$SCENE/silent" "$SCENE/is_admin"
scene_wait 5 '[ "$(ranking) $(of ms3 skipped)" = "ms1 ms2 ms3 null" ]'
(server ms1; server ms2; server ms3) | config
reload
reload # the thread of a collector that is no longer used is given back with the next reload
scene_ok "it gets no calls after a reload and a restart, until it turns out to be none"

### Often

# figures: descriptors, threads and children of callrouterd. Connections to servers come and go.
figures()
{
	local pid fd others=0 connections=0
	pid=$(scene_pid callrouterd)
	for fd in "/proc/$pid/fd"/*; do
		case $(readlink "$fd") in
		socket:*) connections=$((connections + 1)) ;;
		*) others=$((others + 1)) ;;
		esac
	done
	[ "$connections" -le 10 ] || others="$others and $connections connections"
	echo "$others descriptors, $(ls "/proc/$pid/task" | wc -l) threads," \
		"$(wc -w <"/proc/$pid/task/$pid/children") children"
}

resident_kib()
{
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$(scene_pid callrouterd)/status"
}
scene_wait 5 '[ "$(ranking)" = "ms1 ms2 ms3" ]'
before=$(figures)
for round in {1..50}; do
	case $((round % 3)) in
	0) (server ms1; server ms2; server ms3) | config 'router: { plugin: sorted, options: { order_by: "-jvm_heap_free_bytes" } }' ;;
	1) (server ms1; server ms3) | config ;;
	2) (server ms1; server ms2; server ms3) | config ;;
	esac
	reload
	[ "$round" != 10 ] || resident=$(resident_kib)
done
grown=$(($(resident_kib) - resident))
scene_wait 5 '[ "$(ranking)" = "ms1 ms2 ms3" ]'
scene_wait 5 "[ \"\$(figures)\" = '$before' ]"
# A sanitizer's allocator keeps what was freed for a while.
grep -q __asan_init "$DAEMON" || [ "$grown" -lt 512 ] || scene_fail "callrouterd has grown by $grown KiB in 40 reloads"
scene_kill load TERM
totals=$(tail -n 1 "$SCENE/load.log")
same "exit status of the client" "$SCENE_STATUS" 0
same "failed calls" "$(total failed <<<"$totals")" 0
# On a busy machine a rank() may be past its deadline in earnest: the daemon then says so.
late='no such reason'
! grep -q 'rank() is past its deadline' "$SCENE/callrouterd.log" || late='reason=rank_late'
same "calls decided by the default" "$(grep 'decided=default' "$SCENE/load.log" | grep -v "$late" || true)" ""
scene_ok "50 reloads in a row: $before, $grown KiB more; 0 of $(total calls <<<"$totals") calls failed"
