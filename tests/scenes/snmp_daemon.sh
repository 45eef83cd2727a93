#!/bin/bash
# snmp_daemon.sh - callrouterd polls servers by SNMP version 3: what a wrong key does is seen in its
# reports, and is over with the next reload.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin snmp_daemon
cluster_begin

snmpd=$(PATH=$PATH:/usr/sbin:/sbin command -v snmpd) || {
	echo "skipped: snmpd is not installed (apt-get install snmpd)"
	exit 77
}
jvm=.1.3.6.1.4.1.42.2.145.3.163.1.1.2
(
	umask 077
	echo authpass-12345 >"$SCENE/auth"
	echo wrongpass-1234 >"$SCENE/priv"
)

# start_agent NAME USED: a server's own agent, of 500 MB.
start_agent()
{
	[ -e "$SCENE/$1.port" ] || scene_port >"$SCENE/$1.port"
	cat >"$SCENE/$1.conf" <<-X
		agentaddress udp:127.0.0.1:$(port_of "$1")
		createUser poller SHA-256 "authpass-12345" AES "privpass-12345"
		rouser poller priv .1
		override -rw $jvm.11.0 uinteger $2
		override -rw $jvm.12.0 uinteger 500000000
		override -rw $jvm.13.0 uinteger 500000000
	X
	MIBS="" SNMP_PERSISTENT_DIR=$SCENE/$1.persist scene_spawn "$1" "$snmpd" -f -Lo -C \
		-c "$SCENE/$1.conf" -I -smux -x "unix:$SCENE/$1.agentx" -p "$SCENE/$1.lock"
}

start_agent ms1 100000000
start_agent ms2 300000000
cat >"$CONFIG" <<-X
	cluster: keys
	servers:
	  - { name: ms1, address: "127.0.0.1:$(port_of ms1)" }
	  - { name: ms2, address: "127.0.0.1:$(port_of ms2)" }
	collectors:
	  - name: jvm
	    plugin: snmp
	    profile: jvm-mib
	    target: "udp:\${host}:\${port}"
	    version: 3
	    user: poller
	    auth_protocol: sha-256
	    auth_password_file: auth
	    priv_protocol: aes
	    priv_password_file: priv
	    interval: 500ms
	    timeout: 400ms
	services:
	  - { name: shop, router: heap_free, stale_after: 2s }
X
start_daemon

# errors: what the two servers say about their last poll.
errors()
{
	ctl servers --json | jq -r '[.servers[].error] | unique | join("; ")'
}

scene_wait 10 '[[ $(errors) == "jvm: auth: the agent is there, but does not answer what user poller encrypts: wrong priv_password_file"* ]]'
holds "the source" "$(ctl servers --json)" '.sources[0].good == 0 and .sources[0].failed.auth >= 2'
grep -q "^  polls     ms1 fails for .*: jvm: auth: .*: wrong priv_password_file" <<<"$(ctl status shop)" ||
	scene_fail "status does not say so: $(ctl status shop)"
scene_ok "a wrong key of privacy is told of by its name, in status too"

(umask 077 && echo privpass-12345 >"$SCENE/priv.new" && mv "$SCENE/priv.new" "$SCENE/priv")
ctl reload
scene_wait 10 '[ "$(status_of "[.ranking[].metrics.jvm_heap_free_bytes.value] | tojson")" = "[400000000,200000000]" ]'
scene_ok "with the right password in the file and a reload they are polled"

scene_kill ms1
scene_wait 10 '[ "$(status_of ".ranking[] | select(.server == \"ms1\") | .metrics.jvm_heap_free_bytes.fresh")" = false ]'
start_agent ms1 450000000
scene_wait 10 '[ "$(ranking)" = "ms2 ms1" ] && [ "$(errors)" = "" ]'
scene_ok "an agent that was started again, as another engine, is polled on"
