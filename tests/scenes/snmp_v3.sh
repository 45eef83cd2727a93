#!/bin/bash
# snmp_v3.sh - SNMP version 3 with a real snmpd: all keys and ciphers, every way to be refused, and
# agents that are started again with the same engine and with a new one.
. "$(dirname "$0")/lib.sh"
scene_begin snmp_v3

snmpd=$(PATH=$PATH:/usr/sbin:/sbin command -v snmpd) || {
	echo "skipped: snmpd is not installed (apt-get install snmpd)"
	exit 77
}
port=$(scene_port)
jvm=.1.3.6.1.4.1.42.2.145.3.163.1.1.2
mkdir "$SCENE/persist"
(
	umask 077
	echo public >"$SCENE/community"
	echo authpass-12345 >"$SCENE/auth"
	echo privpass-12345 >"$SCENE/priv"
	echo wrongpass-1234 >"$SCENE/wrong"
)
cat >"$SCENE/snmpd.conf" <<-X
	agentaddress udp:127.0.0.1:$port,tcp:127.0.0.1:$port
	rocommunity public 127.0.0.1 .1
	createUser sha SHA "authpass-12345" AES "privpass-12345"
	createUser sha224 SHA-224 "authpass-12345" AES "privpass-12345"
	createUser sha256 SHA-256 "authpass-12345" AES-256 "privpass-12345"
	createUser sha384 SHA-384 "authpass-12345" AES "privpass-12345"
	createUser sha512 SHA-512 "authpass-12345" AES-192 "privpass-12345"
	createUser plain SHA "authpass-12345"
	rouser sha priv .1
	rouser sha224 auth .1
	rouser sha256 priv .1
	rouser sha384 priv .1
	rouser sha512 priv .1
	rouser plain noauth .1
	override -rw $jvm.11.0 uinteger 200000000
	override -rw $jvm.12.0 uinteger 500000000
	override -rw $jvm.13.0 uinteger 0
X

# start_snmpd [-C]: with -C it forgets who it was, and is a new engine each time.
start_snmpd()
{
	SNMPCONFPATH=$SCENE/persist MIBS="" SNMP_PERSISTENT_DIR=$SCENE/persist scene_spawn snmpd \
		"$snmpd" -f -Lo "$@" -c "$SCENE/snmpd.conf" -I -smux -x "unix:$SCENE/agentx" \
		-p "$SCENE/snmpd.lock"
	scene_wait 20 'ask - sha auth_protocol=sha priv_protocol=aes'
}

# ask PROTOCOL (-: udp) USER OPTION...: one poll; limit: milliseconds.
ask()
{
	local protocol=$1 user=$2 passwords=()
	shift 2
	[ "$protocol" != - ] || protocol=udp
	[[ $* != *auth_protocol* ]] || passwords+=("auth_password_file=${auth:-$SCENE/auth}")
	[[ $* != *priv_protocol* ]] || passwords+=("priv_password_file=${priv:-$SCENE/priv}")
	"$BUILD/lab/poll_once" -n ms1 -t "${limit:-3000}" "$PLUGINS/snmp.so" "$protocol:127.0.0.1:$port" \
		profile=jvm-mib version=3 "user=$user" "${passwords[@]}" "$@" >"$SCENE/out.log" 2>"$SCENE/err.log"
}

good()
{
	ask "$@" || scene_fail "$*: $(cat "$SCENE/err.log")"
	[ "$(cat "$SCENE/out.log")" = "$(printf '%s\n' '- jvm_heap_used_bytes 200000000' \
		'- jvm_heap_size_bytes 500000000')" ] || scene_fail "$*: $(cat "$SCENE/out.log")"
}

# bad WORDS ASK...: the poll fails with these words.
bad()
{
	local words=$1
	shift
	! ask "$@" || scene_fail "$*: went well"
	grep -qF "$words" "$SCENE/err.log" || scene_fail "$*: no \"$words\" in: $(cat "$SCENE/err.log")"
}

start_snmpd
good - sha auth_protocol=sha priv_protocol=aes
good - sha224 auth_protocol=sha-224
good - sha224 auth_protocol=sha-224 priv_protocol=aes
good - sha256 auth_protocol=sha-256 priv_protocol=aes-256
good - sha384 auth_protocol=sha-384 priv_protocol=aes
good - sha512 auth_protocol=sha-512 priv_protocol=aes-192
good - plain
good - plain auth_protocol=sha
good tcp sha256 auth_protocol=sha-256 priv_protocol=aes-256
scene_ok "every kind of key and cipher, three levels, over UDP and TCP"

bad "failed (auth)" - nobody auth_protocol=sha
bad "the agent knows no user nobody" - nobody auth_protocol=sha
auth=$SCENE/wrong bad "refuses the key of user sha: wrong auth_password_file" - sha auth_protocol=sha priv_protocol=aes
bad "refuses the key of user sha: wrong auth_password_file" - sha auth_protocol=sha-256 priv_protocol=aes
limit=800 priv=$SCENE/wrong bad "does not answer what user sha encrypts: wrong priv_password_file" - sha auth_protocol=sha priv_protocol=aes
limit=800 bad "does not answer what user sha256 encrypts" - sha256 auth_protocol=sha-256 priv_protocol=aes
bad "does not offer authPriv to user plain" - plain auth_protocol=sha priv_protocol=aes
bad "user sha may not read this with authNoPriv: set priv_protocol" - sha auth_protocol=sha
bad "user sha may not read this with noAuthNoPriv: set auth_protocol" - sha
bad "another engine id: correct engine_id" - sha auth_protocol=sha priv_protocol=aes engine_id=0102030405
# snmpd keeps silent about a context that it does not have
limit=800 bad 'or it has no context "ms1" (option context)' - sha auth_protocol=sha priv_protocol=aes context=ms1
limit=800 bad 'busy, or it has no context "ms1" (option context)' - plain context=ms1
scene_ok "unknown user, wrong keys, wrong levels, wrong engine, wrong context: each in its own words"

# watch: polls in the background every 200 ms; its lines are in $SCENE/watch.log.
watch()
{
	scene_spawn watch "$BUILD/lab/poll_once" -n ms1 -t 400 -c 10000 "$PLUGINS/snmp.so" \
		"udp:127.0.0.1:$port" profile=jvm-mib version=3 user=sha auth_protocol=sha priv_protocol=aes \
		"auth_password_file=$SCENE/auth" "priv_password_file=$SCENE/priv"
	scene_wait 5 'grep -q "^good" "$SCENE/watch.log"'
}

# outage SIGNAL [-C]: the agent goes, is missed, and comes again; the watcher has to find it.
outage()
{
	: >"$SCENE/watch.log"
	scene_kill snmpd "$1"
	scene_wait 5 'grep -q "nobody listens" "$SCENE/watch.log"'
	start_snmpd "${@:2}"
	: >"$SCENE/watch.log"
	scene_wait 5 'grep -q "^good" "$SCENE/watch.log"'
}

watch
boots=$(sed -n 's/^engineBoots //p' "$SCENE/persist/snmpd.conf")
outage TERM
[ "$(sed -n 's/^engineBoots //p' "$SCENE/persist/snmpd.conf")" -gt "$boots" ] ||
	scene_fail "the agent has not counted its boots up from $boots"
scene_ok "an agent that comes back as the same engine is polled on"
outage TERM -C
scene_ok "an agent that has lost its state is found as the new engine"
outage KILL -C
outage KILL -C
scene_ok "again and again"

# No outage is seen in between: the port answers all the time.
: >"$SCENE/watch.log"
scene_kill snmpd STOP
scene_wait 10 '[ $(grep -c "no answer to user sha" "$SCENE/watch.log") = 3 ] &&
	grep -q "no answer to the discovery" "$SCENE/watch.log"'
scene_kill snmpd CONT
: >"$SCENE/watch.log"
scene_wait 5 'grep -q "^good" "$SCENE/watch.log"'
scene_ok "an agent that was silent for long is polled on"
