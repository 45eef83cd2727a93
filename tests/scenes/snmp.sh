#!/bin/bash
# snmp.sh - the SNMP collector against a real snmpd that serves WebLogic's table and the JVM MIB.
. "$(dirname "$0")/lib.sh"
scene_begin snmp

snmpd=$(PATH=$PATH:/usr/sbin:/sbin command -v snmpd) || {
	echo "skipped: snmpd is not installed (apt-get install snmpd)"
	exit 77
}
port=$(scene_port)
jvm=.1.3.6.1.4.1.42.2.145.3.163.1.1.2

(umask 077 && echo public >"$SCENE/community" && echo wrong >"$SCENE/wrong")

# The admin server has the most free heap: the collector reports it like the others.
cat >"$SCENE/values" <<-X
	AdminServer 4000000000 5000000000 80
	ms1 314572800 1073741824 29
	ms2 3221225472 4294967296 75
	ms3 - 1073741824 -
X
cat >"$SCENE/snmpd.conf" <<-X
	agentaddress udp:127.0.0.1:$port,tcp:127.0.0.1:$port
	rocommunity public 127.0.0.1 .1
	pass_persist .1.3.6.1.4.1.140.625 $BUILD/lab/weblogic_agent $SCENE/values
	override -rw $jvm.11.0 uinteger 200000000
	override -rw $jvm.12.0 uinteger 500000000
	override -rw $jvm.13.0 uinteger 0
X

start_snmpd()
{
	MIBS="" SNMP_PERSISTENT_DIR=$SCENE/persist scene_spawn snmpd "$snmpd" -f -Lo -C \
		-c "$SCENE/snmpd.conf" -I -smux -x "unix:$SCENE/agentx" -p "$SCENE/snmpd.lock"
}

# poll [-n SERVER] ENDPOINT PROFILE [COMMUNITY]: output in $SCENE/out, its errors in $SCENE/err.
poll()
{
	local name=()

	if [ "$1" = -n ]; then
		name=(-n "$2")
		shift 2
	fi
	"$BUILD/lab/poll_once" -t 1500 "${name[@]}" "$PLUGINS/snmp.so" "$1" "profile=$2" \
		"community_file=$SCENE/${3:-community}" >"$SCENE/out" 2>"$SCENE/err"
}

expect()
{
	sort "$SCENE/out" >"$SCENE/out.log"
	sort >"$SCENE/expected.log"
	cmp -s "$SCENE/out.log" "$SCENE/expected.log" ||
		scene_fail "other values than expected: $(diff "$SCENE/expected.log" "$SCENE/out.log")"
}

expect_error()
{
	grep -qF "$1" "$SCENE/err" || scene_fail "no \"$1\" in: $(cat "$SCENE/err")"
}

start_snmpd
scene_wait 20 "poll udp:127.0.0.1:$port weblogic-mib"

poll "udp:127.0.0.1:$port" weblogic-mib || scene_fail "$(cat "$SCENE/err")"
expect <<-X
	AdminServer jvm_heap_free_bytes 4000000000
	AdminServer jvm_heap_size_bytes 5000000000
	AdminServer jvm_heap_free_ratio 0.8
	ms1 jvm_heap_free_bytes 314572800
	ms1 jvm_heap_size_bytes 1073741824
	ms1 jvm_heap_free_ratio 0.29
	ms2 jvm_heap_free_bytes 3221225472
	ms2 jvm_heap_size_bytes 4294967296
	ms2 jvm_heap_free_ratio 0.75
	ms3 jvm_heap_size_bytes 1073741824
X
scene_ok "a domain's agent: every row, the admin server's too"

poll -n ms2 "127.0.0.1:$port" weblogic-mib || scene_fail "$(cat "$SCENE/err")"
expect <<-X
	- jvm_heap_free_bytes 3221225472
	- jvm_heap_size_bytes 4294967296
	- jvm_heap_free_ratio 0.75
X
poll -n ms2 "udp:localhost:$port" weblogic-mib || scene_fail "$(cat "$SCENE/err")"
poll -n ms2 "tcp:localhost:$port" weblogic-mib || scene_fail "$(cat "$SCENE/err")"
! poll -n ms2 "udp:no-such-host.invalid:$port" weblogic-mib || scene_fail "a host of no name answers"
expect_error "no-such-host.invalid"
scene_ok "one server of it, at an address and at a name"

echo "ms1 100 200 50" >"$SCENE/values.new"
mv "$SCENE/values.new" "$SCENE/values"
poll "tcp:127.0.0.1:$port" weblogic-mib || scene_fail "$(cat "$SCENE/err")"
expect <<-X
	ms1 jvm_heap_free_bytes 100
	ms1 jvm_heap_size_bytes 200
	ms1 jvm_heap_free_ratio 0.5
X
scene_ok "new values, over TCP"

for i in {1..100}; do
	echo "server$i $((i * 1048576)) 1073741824 $((i % 100))"
done >"$SCENE/values"
poll "udp:127.0.0.1:$port" weblogic-mib || scene_fail "$(cat "$SCENE/err")"
[ "$(wc -l <"$SCENE/out")" = 300 ] || scene_fail "$(wc -l <"$SCENE/out") lines for 100 servers"
grep -qx 'server77 jvm_heap_free_bytes 80740352' "$SCENE/out" || scene_fail "server77 is wrong"
scene_ok "a domain of 100 servers"

poll -n ms1 "udp:127.0.0.1:$port" jvm-mib || scene_fail "$(cat "$SCENE/err")"
expect <<-X
	- jvm_heap_used_bytes 200000000
	- jvm_heap_size_bytes 500000000
X
scene_ok "a JVM's own agent; a maximum of 0 is none"

: >"$SCENE/values"
! poll "udp:127.0.0.1:$port" weblogic-mib || scene_fail "a poll of an empty table went well"
expect_error "failed (absent)"
expect_error "enable the SNMP agent in WebLogic"
! poll -n ms1 "udp:127.0.0.1:$port" jvm-mib wrong || scene_fail "a wrong community went well"
expect_error "failed (timeout)"
expect_error "wrong community"
scene_kill snmpd
for protocol in udp tcp; do
	! poll -n ms1 "$protocol:127.0.0.1:$port" jvm-mib || scene_fail "a dead port went well"
	expect_error "failed (connect)"
	expect_error "nobody listens at $protocol:127.0.0.1:$port"
done
scene_ok "an empty table, a wrong community and a dead port are told apart"

start_snmpd
scene_wait 20 "poll -n ms1 udp:127.0.0.1:$port jvm-mib"
scene_ok "the agent is back"
