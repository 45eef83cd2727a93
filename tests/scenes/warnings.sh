#!/bin/bash
# warnings.sh - status and the log warn of a herd and of a full cluster, and only of those.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
. "$(dirname "$0")/health_lib.sh"
scene_begin warnings
cluster_begin

start_heapd a 256
for name in b c d; do
	start_heapd $name 64
done
{
	echo "servers:"
	for name in a b c d; do
		echo "  - { name: $name, address: \"127.0.0.1:$(port_of $name)\" }"
	done
	cat <<-'X'
		collectors:
		  - { name: jvm, plugin: http, profile: jolokia, target: "http://${host}:${port}", interval: 200ms, timeout: 200ms }
		services:
		  - { name: shop, router: heap_free, full_at: 2 }
		  - { name: calm, default: round_robin, full_at: 2 }
	X
} >"$CONFIG"
start_daemon
scene_wait 5 '[ "$(status_of .router.state shop)" = active ]'

### Of the configuration

# is_good FILE: callrouterctl check takes it; what it warns of is in $SCENE/err.
is_good()
{
	ctl check "$1" --plugins-dir "$SCENE/plugins.d" >"$SCENE/out" 2>"$SCENE/err" || scene_fail "$1 is refused: $(cat "$SCENE/err")"
}

reload()
{
	cp "$1" "$CONFIG"
	ctl reload >"$SCENE/out" 2>&1 || scene_fail "reload: $(cat "$SCENE/out")"
}

clashes=$SCENE/clashes.yaml
sed 's|^services:|  - { name: other, plugin: http, profile: jolokia, target: "http://${host}:${port}", servers: [b, c] }\n  - { name: pools, plugin: http, profile: micrometer, target: "http://${host}:${port}", servers: [d] }\n&|
	s|\(name: jvm, .*\) }$|\1, servers: [a, b, c] }|' "$CONFIG" >"$clashes"
says="collectors jvm and other both give jvm_heap_max_bytes, jvm_heap_size_bytes, jvm_heap_used_bytes of b and 1 other:"
mixes="router heap_free looks at jvm_heap_free_bytes, which the servers of service shop have from different kinds of source: 3 servers by collector jvm (jolokia), 1 server by collector pools (micrometer);"
is_good "$clashes"
finds "$SCENE/err" "$clashes:8:5: warning: two_sources: $says"
finds "$SCENE/err" "$clashes:11:27: warning: mixed_sources: $mixes"
same "lines of warnings" "$(wc -l <"$SCENE/err")" 2
grep -q ': good: 4 servers, 3 collectors, 2 services$' "$SCENE/out" || scene_fail "$(cat "$SCENE/out")"
cp "$CONFIG" "$SCENE/calm.yaml"
reload "$clashes"
holds "the warnings" "$(ctl status --json)" '[.warnings[].warning] == ["two_sources"] and
	[.services[] | [.name, .warnings[].warning]] == [["shop", "mixed_sources"], ["calm"]]'
ctl status | grep -qF "  warning   two_sources: $says" || scene_fail "$(ctl status)"
ctl status shop | grep -qF "  warning   mixed_sources: $mixes" || scene_fail "$(ctl status)"
same "lines of the log" "$(logs "configuration warning")" 2
reload "$SCENE/calm.yaml"
holds "no warnings" "$(ctl status --json)" '[.warnings[], .services[].warnings[]] == []'
is_good "$CONFIG"
same "warnings of a calm configuration" "$(cat "$SCENE/err")" ""
scene_ok "a configuration with one figure from two sources is taken, and warned of"

warnings()
{
	status_of '[.warnings[].warning] | join(" ")' "$1"
}

scene_spawn even "$CLIENT" --run-dir "$SCENE/run" --service calm --rate 100 --threads 2 --seconds 600
sleep 3
same "warnings while calls go everywhere" "$(warnings calm)$(warnings shop)" ""
scene_kill even TERM

### The first place goes to and fro

first()
{
	status_of .ranking[0].server shop
}

for ((turn = 0; ; turn++)); do
	((turn < 40)) || scene_fail "nobody says that the ranking is unsteady: $(ctl status shop)"
	get a '/lab/keep?mb=220'
	scene_wait 5 '[ "$(first)" != a ]'
	sleep 0.6 # the daemon looks every half second
	get a '/lab/keep?free=1'
	scene_wait 5 '[ "$(first)" = a ]'
	sleep 0.6
	[[ "$(warnings shop)" != *unsteady* ]] || break
done
holds "the warning" "$(ctl status shop --json)" '.services[0].warnings[] | select(.warning == "unsteady") |
	.changes >= 10 and .metric == "jvm_heap_free_bytes"'
ctl status shop | grep -qE '^  warning   unsteady: the first place changed [0-9]+ times in the last minute; smooth: \[jvm_heap_free_bytes\] in service shop steadies it$' ||
	scene_fail "$(ctl status shop)"
same "lines of the log" "$(logs "unsteady service=shop")" 1
same "warnings of a router that chooses for each call" "$(warnings calm)" ""
sed 's/router: heap_free,/& smooth: [jvm_heap_free_bytes],/' "$CONFIG" >"$SCENE/smooth.yaml"
reload "$SCENE/smooth.yaml"
scene_wait 5 '[ "$(warnings shop)" = "" ]'
reload "$SCENE/calm.yaml"
scene_wait 5 '[ "$(first)" = a ]'
scene_ok "a ranking that is turned about by the heap is shown, until it is smoothed"

### Most free heap first, and all go there

scene_spawn herd "$CLIENT" --run-dir "$SCENE/run" --service shop --rate 100 --threads 2 --seconds 600
scene_wait 10 '[ "$(warnings shop)" = herd ]'
holds "the warning" "$(ctl status shop --json)" '.services[0].warnings[0] | .server == "a" and .share > 0.9 and .fair_share == 0.25'
ctl status shop | grep -qE '^  warning   herd: a got [0-9]+ % of the calls, its weight is 25 % of all$' ||
	scene_fail "$(ctl status shop)"
sleep 2
same "lines of the log" "$(logs "herd service=shop server=a")" 1
scene_kill herd TERM
scene_ok "a herd is shown, and told once"

### Full

scene_spawn full "$CLIENT" --run-dir "$SCENE/run" --service calm --threads 12 --path '/call?ms=300' --seconds 600
scene_wait 10 '[[ "$(warnings calm)" == *cluster_full* ]]'
holds "the warning" "$(ctl status calm --json)" '.services[0].warnings[] | select(.warning == "cluster_full") |
	.reason == "calls" and .calls_per_weight > 2'
scene_wait 3 '[ "$(logs "cluster full service=calm")" = 1 ]'
scene_kill full TERM
scene_wait 15 '[ "$(warnings calm)$(warnings shop)" = "" ]'
scene_ok "a full cluster is shown, and no longer when it is over"
