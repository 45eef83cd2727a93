#!/bin/bash
# domain.sh - a WebLogic domain: one real snmpd answers for all its servers, the admin server too.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin domain
cluster_begin

snmpd=$(PATH=$PATH:/usr/sbin:/sbin command -v snmpd) || {
	echo "skipped: snmpd is not installed (apt-get install snmpd)"
	exit 77
}
interval_ms=500
publish_ms=250 # debounce, rank, publish, and two programs to look at it
port=$(scene_port)
mib=1048576

# values: the table's rows, by rename, from standard input.
values()
{
	cat >"$SCENE/values.new"
	mv "$SCENE/values.new" "$SCENE/values"
}

values <<-X
	AdminServer $((9000 * mib)) $((9216 * mib)) 97
	ms1 $((300 * mib)) $((1024 * mib)) 29
	ms2 $((3072 * mib)) $((4096 * mib)) 75
	ms3 $((700 * mib)) $((1024 * mib)) 68
	ms4 $((20 * mib)) $((1024 * mib)) 1
	stranger $((8000 * mib)) $((8192 * mib)) 97
X
cp "$BUILD/lab/weblogic_agent" "$SCENE/agent" # snmpd cannot take a path with spaces
cat >"$SCENE/snmpd.conf" <<-X
	agentaddress udp:127.0.0.1:$port
	rocommunity public 127.0.0.1 .1
	pass_persist .1.3.6.1.4.1.140.625 $SCENE/agent $SCENE/values
X
(umask 077 && echo public >"$SCENE/community")
MIBS="" SNMP_PERSISTENT_DIR=$SCENE/persist scene_spawn snmpd "$snmpd" -f -Lo -C \
	-c "$SCENE/snmpd.conf" -I -smux -x "unix:$SCENE/agentx" -p "$SCENE/snmpd.lock"

cat >"$CONFIG" <<-X
	cluster: domain
	servers:
	  - { name: AdminServer, address: "127.0.0.1:7001", role: admin }
	  - { name: ms1, address: "127.0.0.1:7101" }
	  - { name: ms2, address: "127.0.0.1:7102" }
	  - { name: ms3, address: "127.0.0.1:7103" }
	  - { name: ms4, address: "127.0.0.1:7104" }
	collectors:
	  - name: wls
	    plugin: snmp
	    profile: weblogic-mib
	    target: "udp:127.0.0.1:$port"
	    community_file: community
	    interval: ${interval_ms}ms
	    timeout: 400ms
	services:
	  - { name: shop, router: heap_free, stale_after: 2s }
X
start_daemon
scene_wait 10 '[ "$(ranking)" = "ms2 ms3 ms1 ms4" ]'
document=$(ctl status --json)
holds "exact figures" "$document" '[.services[0].ranking[] | [.position, .server,
	.metrics.jvm_heap_free_bytes.value, .metrics.jvm_heap_size_bytes.value]] == [
	[1, "ms2", 3221225472, 4294967296], [2, "ms3", 734003200, 1073741824],
	[3, "ms1", 314572800, 1073741824], [4, "ms4", 20971520, 1073741824]]'
holds "freshness" "$document" '[.services[0].ranking[].metrics.jvm_heap_free_bytes | .fresh and .age_s < 2] | all'
scene_ok "ms2 ms3 ms1 ms4: the most free heap first"

tried=$(ctl source test wls -c "$CONFIG" --plugins-dir "$SCENE/plugins.d" --raw) || scene_fail "source test: $tried"
grep -q '^\.1\.3\.6\.1\.4\.1\.140\.625\.340\.1\.25\..* = INTEGER: 3221225472$' <<<"$tried" ||
	scene_fail "no raw object of ms2: $tried"
grep -A 2 '^ms2$' <<<"$tried" | grep -Eq '^  jvm_heap_free_bytes +3221225472 bytes \(3\.0 GiB\) +found$' ||
	scene_fail "no free heap of ms2: $tried"
grep -qx 'stranger: none of the servers that this collector polls' <<<"$tried" || scene_fail "the stranger is not told apart: $tried"
ctl source test wls -c "$CONFIG" --plugins-dir "$SCENE/plugins.d" --request heap --raw |
	sed -n '/^\.1\.3/p' >"$SCENE/recorded"
ctl source test wls -c "$CONFIG" --plugins-dir "$SCENE/plugins.d" --request heap --replay "$SCENE/recorded" |
	grep -A 2 '^ms2$' | grep -q ' 3221225472 bytes' || scene_fail "what was shown cannot be replayed"
scene_ok "callrouterctl source test shows the agent's objects, rows and figures, and reads them again"

[[ $document != *AdminServer* ]] || scene_fail "the admin server is in the status"
[[ $document != *stranger* ]] || scene_fail "a server that is not in the configuration is in the status"
servers=$(ctl servers --json)
holds "the admin server" "$servers" '.servers | map(select(.server == "AdminServer"))
	| length == 1 and .[0].role == "admin" and .[0].metrics == {} and .[0].polls == 0'
[[ $servers != *stranger* ]] || scene_fail "a server that is not in the configuration is known"
routes=$(ctl route shop --count 200 --json)
holds "200 routes" "$routes" 'length == 200 and all(.servers == ["ms2", "ms3", "ms1", "ms4"]
	and .decided_by == "router" and .reason == null)'
scene_ok "the admin server, with the most free heap of all, is nowhere; nor is the stranger"

# change TEXT EXPECTED: rewrite the table; the ranking follows within two intervals.
change()
{
	local began

	values
	began=$(scene_now_ms)
	scene_wait 5 "[ \"\$(ranking)\" = '$2' ]"
	began=$(($(scene_now_ms) - began))
	echo "$1: seen after $began ms"
	[ "$began" -le $((2 * interval_ms + publish_ms)) ] ||
		scene_fail "$1: $began ms are more than two intervals"
}
for round in 1 2 3; do
	change "$round: ms1 gets the most" "ms1 ms2 ms3 ms4" <<-X
		AdminServer $((9000 * mib)) $((9216 * mib)) 97
		ms1 $((900 * mib * round + 3000 * mib)) $((8192 * mib)) 50
		ms2 $((3072 * mib)) $((4096 * mib)) 75
		ms3 $((700 * mib)) $((1024 * mib)) 68
		ms4 $((20 * mib)) $((1024 * mib)) 1
	X
	change "$round: ms3 and ms4 change places" "ms2 ms4 ms3 ms1" <<-X
		AdminServer $((9000 * mib)) $((9216 * mib)) 97
		ms1 $((1 * mib)) $((8192 * mib)) 0
		ms2 $((3072 * mib)) $((4096 * mib)) 75
		ms3 $((100 * mib)) $((1024 * mib)) 10
		ms4 $((800 * mib)) $((1024 * mib)) 78
	X
done
scene_ok "a changed value changes the ranking within two intervals"

# Servers of the domain with the state that serverRuntimeTable has of them; ms3's is given.
states()
{
	cat <<-X
		AdminServer $((9000 * mib)) $((9216 * mib)) 97 RUNNING
		ms1 $((1 * mib)) $((8192 * mib)) 0 RUNNING
		ms2 $((3072 * mib)) $((4096 * mib)) 75 RUNNING
		ms3 $((4000 * mib)) $((4096 * mib)) 97 $1
		ms4 $((800 * mib)) $((1024 * mib)) 78
	X
}
change "ms3, which is running, has the most" "ms3 ms2 ms4 ms1" < <(states RUNNING)
states STANDBY | values
scene_wait 10 '[ "$(ranking)" = "ms2 ms4 ms1 ms3" ]'
holds "ms3's value" "$(ctl status --json)" '.services[0].ranking[3] | .server == "ms3"
	and .metrics.jvm_heap_free_bytes.fresh == false and .metrics.jvm_heap_free_bytes.age_s > 2'
ctl servers ms3 >"$SCENE/servers.log"
grep -q '^fails for .*: wls: absent: it is STANDBY, not RUNNING (' "$SCENE/servers.log" ||
	scene_fail "ms3 is not told why: $(cat "$SCENE/servers.log")"
! ctl servers ms4 | grep -q '^fails for' || scene_fail "ms4, of whose state nothing is known, is left out"
change "ms3 is running again" "ms3 ms2 ms4 ms1" < <(states RUNNING)
! ctl servers ms3 | grep -q '^fails for' || scene_fail "ms3 still fails"
scene_ok "a server in STANDBY, with the most free heap, does not count, and is told why"

change "ms3 gets little" "ms2 ms4 ms3 ms1" <<-X
	AdminServer $((9000 * mib)) $((9216 * mib)) 97
	ms1 $((1 * mib)) $((8192 * mib)) 0
	ms2 $((3072 * mib)) $((4096 * mib)) 75
	ms3 $((100 * mib)) $((1024 * mib)) 10
	ms4 $((800 * mib)) $((1024 * mib)) 78
X
values <<-X
	AdminServer $((9000 * mib)) $((9216 * mib)) 97
	ms1 $((1 * mib)) $((8192 * mib)) 0
	ms3 $((100 * mib)) $((1024 * mib)) 10
	ms4 $((800 * mib)) $((1024 * mib)) 78
X
scene_wait 5 'status_of ".ranking[] | select(.server == \"ms2\") | .metrics.jvm_heap_free_bytes.age_s" | grep -x "[1-9].*"'
same "until stale_after ms2 keeps its place" "$(ranking)" "ms2 ms4 ms3 ms1"
scene_wait 5 '[ "$(ranking)" = "ms4 ms3 ms1 ms2" ]'
holds "ms2's value" "$(ctl status --json)" '.services[0].ranking[3] |
	.server == "ms2" and .state == "up" and .metrics.jvm_heap_free_bytes.fresh == false
	and .metrics.jvm_heap_free_bytes.value == 3221225472 and .metrics.jvm_heap_free_bytes.age_s > 2'
same "calls" "$(ctl route shop --json | jq -c '[.decided_by, .servers]')" '["router",["ms4","ms3","ms1","ms2"]]'
ctl status >"$SCENE/status.log"
grep -Eq '^ +4 +ms2 +up .* [0-9.]+ s stale ' "$SCENE/status.log" || scene_fail "status does not call it stale"
scene_ok "a server whose row is gone becomes stale, and is ranked last, not dropped"

values <<-X
	AdminServer $((9000 * mib)) $((9216 * mib)) 97
X
scene_wait 6 '[ "$(status_of .default_decides_now)" = stale ]'
same "the router's state" "$(status_of .router.state)" "waiting for metrics"
same "calls" "$(ctl route shop --json | jq -c '[.decided_by, .reason, (.servers | length)]')" '["default","stale",4]'
scene_ok "with no server's row left the default decides, for the reason \"stale\""
