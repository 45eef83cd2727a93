#!/bin/bash
# collectors200.sh - 200 targets by SNMP and 200 by HTTP, 20 of each dead: the others are polled as if
# the dead ones were not there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin collectors200
cluster_begin

snmpd=$(PATH=$PATH:/usr/sbin:/sbin command -v snmpd) || {
	echo "skipped: snmpd is not installed (apt-get install snmpd)"
	exit 77
}
interval_ms=1000
bound_ms=400 # until it is answered, put, published and looked at, on a busy machine
jvm=.1.3.6.1.4.1.42.2.145.3.163.1.1.2

# start_snmpd NAME: a JVM's agent; its port is in $SCENE/NAME.port.
start_snmpd()
{
	scene_port >"$SCENE/$1.port"
	cat >"$SCENE/$1.conf" <<-X
		agentaddress udp:127.0.0.1:$(port_of "$1")
		rocommunity public 127.0.0.1 .1
		override -rw $jvm.11.0 uinteger 200000000
		override -rw $jvm.12.0 uinteger 500000000
	X
	MIBS="" SNMP_PERSISTENT_DIR=$SCENE/persist-$1 scene_spawn "$1" "$snmpd" -f -Lo -C \
		-c "$SCENE/$1.conf" -I -smux -x "unix:$SCENE/$1.agentx" -p "$SCENE/$1.lock"
	scene_wait 10 "grep -q 'NET-SNMP version' '$SCENE/$1.log'"
}

# One process answers for all the living, one is stopped and never answers, nobody is at the third port.
start_snmpd agent
start_snmpd silent_agent
start_heapd jvm 64
start_heapd silent_jvm 64
scene_kill silent_agent STOP
scene_kill silent_jvm STOP
closed=$(scene_port)
(umask 077 && echo public >"$SCENE/community")

# servers LETTER LIVING SILENT: 200 lines; each tenth is dead, by turns silent and not there at all.
servers()
{
	local i port

	for i in {1..200}; do
		case $((i % 20)) in
		0) port=$3 ;;
		10) port=$closed ;;
		*) port=$2 ;;
		esac
		echo "  - { name: $1$i, address: \"127.0.0.1:$port\" }"
	done
}
names()
{
	printf "$1%d, " {1..199}
	echo "${1}200"
}
cat >"$CONFIG" <<-X
	cluster: many
	servers:
	$(servers a "$(port_of agent)" "$(port_of silent_agent)")
	$(servers b "$(port_of jvm)" "$(port_of silent_jvm)")
	collectors:
	  - { name: by_snmp, plugin: snmp, profile: jvm-mib, target: "udp:\${host}:\${port}", community_file: community,
	      interval: ${interval_ms}ms, timeout: 500ms, servers: [$(names a)] }
	  - { name: by_http, plugin: http, profile: jolokia, target: "http://\${host}:\${port}",
	      interval: ${interval_ms}ms, timeout: 500ms, servers: [$(names b)] }
	services:
	  - { name: snmp, router: heap_free, stale_after: 10s, servers: [$(names a)] }
	  - { name: http, router: heap_free, stale_after: 10s, servers: [$(names b)] }
X
start_daemon

# Of each service: how many servers are measured, and the greatest age of a measurement in ms.
look='[.services[].ranking | [.[] | .metrics.jvm_heap_size_bytes // empty | .age_s * 1000 | floor] | length, max]'
scene_wait 10 "ctl status --json | jq -c '$look' | grep -E '^\[180,[0-9]+,180,[0-9]+\]$'"
scene_ok "180 of 200 are measured, by SNMP and by HTTP"

until=$(($(scene_now_ms) + 6 * interval_ms))
n=0
while [ "$(scene_now_ms)" -lt "$until" ]; do
	ctl status --json | jq -r "$look | @tsv" >>"$SCENE/ages"
	n=$((n + 1))
done
sort -n -k 2 "$SCENE/ages" | tail -n 1 | cut -f 2 >"$SCENE/snmp.age"
sort -n -k 4 "$SCENE/ages" | tail -n 1 | cut -f 4 >"$SCENE/http.age"
for way in snmp http; do
	age=$(cat "$SCENE/$way.age")
	[ "$age" -le $((interval_ms + bound_ms)) ] ||
		scene_fail "a living server's figures were $age ms old by $way, more than $interval_ms + $bound_ms"
done
same "measured servers, at all $n looks" "$(cut -f 1,3 "$SCENE/ages" | sort -u)" "$(printf '180\t180')"
scene_ok "in $n looks no figure of a living one was older than $(cat "$SCENE/snmp.age") ms by SNMP, $(cat "$SCENE/http.age") ms by HTTP"

document=$(ctl servers --json)
holds "the sources" "$document" '[.sources[] | [.targets, (.good > 900), (.failed | keys)]]
	== [[200, true, ["connect", "timeout"]], [200, true, ["connect", "timeout"]]]'
holds "the dead" "$document" '[.servers[] | select((.metrics | length) == 0) | .server | ltrimstr("a") | ltrimstr("b") | tonumber % 10]
	| length == 40 and all(. == 0)'
same "all are ranked, the unknown ones last" \
	"$(status_of '.ranking | [length, ([.[-20:][].metrics] | unique)] | tojson' snmp)" '[200,[{}]]'
scene_ok "the 20 dead ones are unknown, and ranked last"
