#!/bin/bash
# snmp_agents.sh - other real agents: a subagent over AgentX, and simulated ones (snmpsim) where the
# community decides about whom WebLogic's agent speaks; a slow and a faulty one among them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/snmpsim.sh"
scene_begin snmp_agents

snmpd=$(PATH=$PATH:/usr/sbin:/sbin command -v snmpd) || {
	echo "skipped: snmpd is not installed (apt-get install snmpd)"
	exit 77
}
snmpsim_find
port=$(scene_port)
sim_port=$(scene_port)

# poll COMMUNITY ARGUMENTS...: output in $SCENE/out.log, its errors in $SCENE/err.log.
poll()
{
	(umask 077 && printf '%s\n' "$1" >"$SCENE/community")
	"$BUILD/lab/poll_once" -t 1500 "${@:2}" "community_file=$SCENE/community" \
		>"$SCENE/out.log" 2>"$SCENE/err.log"
}

expect()
{
	sort >"$SCENE/expected.log"
	sort -o "$SCENE/out.log" "$SCENE/out.log"
	cmp -s "$SCENE/out.log" "$SCENE/expected.log" ||
		scene_fail "other values than expected: $(diff "$SCENE/expected.log" "$SCENE/out.log")"
}

cat >"$SCENE/snmpd.conf" <<-X
	agentaddress udp:127.0.0.1:$port
	rocommunity public 127.0.0.1 .1
	master agentx
	agentXSocket unix:$SCENE/agentx
	agentXPerms 0777 0777
X
MIBS="" SNMP_PERSISTENT_DIR=$SCENE/persist scene_spawn snmpd "$snmpd" -f -Lo -C \
	-c "$SCENE/snmpd.conf" -I -smux -p "$SCENE/snmpd.lock"
echo 6442450944 8589934592 17179869184 >"$SCENE/values"
scene_wait 10 '[ -S "$SCENE/agentx" ]'
MIBS="" SNMP_PERSISTENT_DIR=$SCENE/persist scene_spawn subagent "$BUILD/lab/jvm_subagent" \
	"unix:$SCENE/agentx" "$SCENE/values"
subagent=(-n ms1 "$PLUGINS/snmp.so" "udp:127.0.0.1:$port" profile=jvm-mib)
# It registers its objects one after the other: a poll in between gets some of them.
scene_wait 20 'poll public "${subagent[@]}" && grep -q jvm_heap_max_bytes "$SCENE/out.log"'
expect <<-X
	- jvm_heap_used_bytes 6442450944
	- jvm_heap_size_bytes 8589934592
	- jvm_heap_max_bytes 17179869184
X
echo 100 200 0 >"$SCENE/values"
poll public "${subagent[@]}" || scene_fail "$(cat "$SCENE/err.log")"
expect <<-X
	- jvm_heap_used_bytes 100
	- jvm_heap_size_bytes 200
X
scene_ok "a subagent's 64-bit counters, above and below 4 GiB; a maximum of 0 is none"

poll public -n ms1 "$PLUGINS/snmp.so" "udp:127.0.0.1:$port" profile=host-mib ||
	scene_fail "$(cat "$SCENE/err.log")"
memory=$(sed -n 's/^- host_memory_free_bytes //p' "$SCENE/out.log")
available=$(awk '/^MemAvailable:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)
awk -v seen="$memory" -v is="$available" 'BEGIN { exit !(seen > is * 0.5 && seen < is * 1.5) }' ||
	scene_fail "host-mib says $memory bytes, /proc/meminfo $available"
scene_ok "host-mib reads what /proc/meminfo calls available"

scene_kill subagent
! poll public "${subagent[@]}" || scene_fail "a poll without the subagent went well"
grep -qF "failed (absent)" "$SCENE/err.log" || scene_fail "$(cat "$SCENE/err.log")"
grep -qF "an SNMP subagent" "$SCENE/err.log" || scene_fail "$(cat "$SCENE/err.log")"
scene_ok "without the subagent it says what to start"

snmpsim_data
snmpsim_start "$sim_port"
weblogic=("$PLUGINS/snmp.so" "udp:127.0.0.1:$sim_port" profile=weblogic-mib)
scene_wait 20 'poll weblogic "${weblogic[@]}"'
expect <<-X
	AdminServer jvm_heap_free_bytes 419430400
	AdminServer jvm_heap_size_bytes 536870912
	AdminServer jvm_heap_free_ratio 0.78
	AdminServer running 1
X
poll weblogic@ms1 "${weblogic[@]}" || scene_fail "$(cat "$SCENE/err.log")"
expect <<-X
	ms1 jvm_heap_free_bytes 314572800
	ms1 jvm_heap_size_bytes 1073741824
	ms1 jvm_heap_free_ratio 0.29
	ms1 running 1
X
poll weblogic@mydomain "${weblogic[@]}" || scene_fail "$(cat "$SCENE/err.log")"
expect <<-X
	AdminServer jvm_heap_free_bytes 419430400
	AdminServer jvm_heap_size_bytes 536870912
	AdminServer jvm_heap_free_ratio 0.78
	AdminServer running 1
	ms1 jvm_heap_free_bytes 314572800
	ms1 jvm_heap_size_bytes 1073741824
	ms1 jvm_heap_free_ratio 0.29
	ms1 running 1
	ms2 jvm_heap_free_bytes 3221225472
	ms2 jvm_heap_size_bytes 4294967296
	ms2 jvm_heap_free_ratio 0.75
	ms2 running 1
	absent ms3: it is ADMIN, not RUNNING (.1.3.6.1.4.1.140.625.360.1.60)
X
! poll weblogic@mydomain -n ms3 "${weblogic[@]}" || scene_fail "the figures of ms3, which is in state ADMIN, are taken"
grep -qF "left out: it is ADMIN, not RUNNING" "$SCENE/err.log" || scene_fail "$(cat "$SCENE/err.log")"
poll weblogic@mydomain "${weblogic[@]}" 'requests={ state: { where: ~ } }' || scene_fail "$(cat "$SCENE/err.log")"
grep -qx "ms3 running 0" "$SCENE/out.log" || scene_fail "the condition cannot be taken away: $(cat "$SCENE/out.log")"
scene_ok "the community is the admin server, one server, or all of the domain"

poll weblogic@mydomain -n ms2 "${weblogic[@]}" || scene_fail "$(cat "$SCENE/err.log")"
expect <<-X
	- jvm_heap_free_bytes 3221225472
	- jvm_heap_size_bytes 4294967296
	- jvm_heap_free_ratio 0.75
	- running 1
X
! poll weblogic@ms1 -n ms2 "${weblogic[@]}" || scene_fail "ms1's figures were taken for ms2's"
grep -qF "no row of this server" "$SCENE/err.log" || scene_fail "$(cat "$SCENE/err.log")"
scene_ok "one server of the domain; another server's figures are not taken for its own"

(umask 077 && echo authpass-12345 >"$SCENE/auth" && echo privpass-12345 >"$SCENE/priv")
"$BUILD/lab/poll_once" -t 1500 -n ms1 "${weblogic[@]}" version=3 user=poller auth_protocol=sha \
	"auth_password_file=$SCENE/auth" priv_protocol=aes "priv_password_file=$SCENE/priv" context=weblogic@ms1 \
	>"$SCENE/out.log" 2>"$SCENE/err.log" || scene_fail "$(cat "$SCENE/err.log")"
expect <<-X
	- jvm_heap_free_bytes 314572800
	- jvm_heap_size_bytes 1073741824
	- jvm_heap_free_ratio 0.29
	- running 1
X
scene_ok "in version 3 the context chooses"

sim=(-n ms1 "$PLUGINS/snmp.so" "udp:127.0.0.1:$sim_port" profile=jvm-mib)
poll slow "${sim[@]}" || scene_fail "$(cat "$SCENE/err.log")"
expect <<-X
	- jvm_heap_used_bytes 200000000
	- jvm_heap_size_bytes 500000000
X
! poll faulty "${sim[@]}" || scene_fail "a faulty agent went well: $(cat "$SCENE/out.log")"
grep -q "^failed" "$SCENE/err.log" || scene_fail "$(cat "$SCENE/err.log")"
scene_ok "a slow agent is waited for, a faulty one is told of"
