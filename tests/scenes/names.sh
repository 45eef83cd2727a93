#!/bin/bash
# names.sh - 200 names and a name server that never answers: servers at addresses, and at names that
# this machine knows itself, are polled as if the others were not there, by a few threads.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"

# In a network and with files of its own: port 53 and /etc/resolv.conf are this scene's.
if [ -z "${NAMES_OF_ITS_OWN:-}" ]; then
	for own in "-m -n" "-r -m -n"; do
		# shellcheck disable=SC2086
		if unshare $own sh -c 'ip link set lo up && mount --bind /etc/hosts /etc/hosts' 2>/dev/null; then
			NAMES_OF_ITS_OWN=1 exec unshare $own bash "$0"
		fi
	done
	echo "skipped: no network of its own here (it takes root or user namespaces, and iproute2)"
	exit 77
fi
ip link set lo up
scene_begin names
cluster_begin

interval_ms=1000
bound_ms=2000 # until it is answered, put, published and looked at, on a busy machine
threads_max=80 # 32 for the names of each plugin, a few of callrouterd's own; not one for each name

# own_file FILE: it has from now on what standard input says.
own_file()
{
	cat >"$SCENE/${1##*/}"
	mount --bind "$SCENE/${1##*/}" "$1"
}

# Of each ten servers the first eight have names that nobody knows, one has an address, one has a
# name that is in /etc/hosts.
servers() # LETTER N PORT
{
	local i host

	for ((i = 0; i < $2; i++)); do
		host=$1$i.dead.test
		[ $((i % 10)) != 8 ] || host=127.1.0.$((i % 250 + 1))
		[ $((i % 10)) != 9 ] || host=$1$i.here.test
		echo "  - { name: $1$i, address: \"$host:$3\" }"
	done
}
names()
{
	printf "$1%d, " $(seq 0 $(($2 - 2)))
	echo "$1$(($2 - 1))"
}

for ((i = 9; i < 200; i += 10)); do
	echo "127.0.0.99 a$i.here.test" # refuses
	echo "127.1.0.$((i + 1)) a$i.here.test b$i.here.test"
done | own_file /etc/hosts
echo "nameserver 127.77.0.53" | own_file /etc/resolv.conf
echo "hosts: files dns" | own_file /etc/nsswitch.conf

http=$(scene_port)
snmp=$(scene_port)
scene_spawn http "$BUILD/lab/http_responder" --port "$http"
scene_spawn snmp "$BUILD/lab/snmp_responder" --port "$snmp"
scene_spawn nameserver "$BUILD/lab/snmp_responder" --port 53 # what it hears is no SNMP
for name in http snmp nameserver; do
	scene_wait 10 "grep -qx ready '$SCENE/$name.log'"
done
(umask 077 && echo public >"$SCENE/community")
cat >"$CONFIG" <<-X
	servers:
	$(servers a 200 "$http")
	$(servers b 50 "$snmp")
	collectors:
	  - { name: by_http, plugin: http, profile: jolokia, target: "http://\${host}:\${port}", max_inflight: 8,
	      interval: ${interval_ms}ms, timeout: 500ms, servers: [$(names a 200)] }
	  - { name: by_snmp, plugin: snmp, profile: jvm-mib, target: "udp:\${host}:\${port}", community_file: community,
	      interval: ${interval_ms}ms, timeout: 500ms, servers: [$(names b 50)] }
	services:
	  - { name: http, router: heap_free, stale_after: 10s, servers: [$(names a 200)] }
	  - { name: snmp, router: heap_free, stale_after: 10s, servers: [$(names b 50)] }
X
start_daemon

# Ages in ms of the servers measured so far whose numbers end in $1, of both services.
ages()
{
	ctl status --json | jq -r '.services[].ranking[] | select(.server | endswith("'"$1"'")) |
		.metrics.jvm_heap_size_bytes // empty | .age_s * 1000 | floor'
}

scene_wait 5 '[ "$(ages 8 | wc -l)" = 25 ]'
scene_ok "the 25 servers at addresses are measured"
threads=0
until=$(($(scene_now_ms) + 40000))
until [ "$(ages 9 | wc -l)" = 25 ]; do
	[ "$(scene_now_ms)" -lt "$until" ] ||
		scene_fail "of the 25 servers at known names $(ages 9 | wc -l) are measured"
	ages 8 >>"$SCENE/ages"
	now=$(sed -n 's/^Threads:[[:space:]]*//p' "/proc/$(scene_pid callrouterd)/status")
	threads=$((now > threads ? now : threads))
done
age=$(sort -n "$SCENE/ages" | tail -n 1)
[ "$age" -le $((interval_ms + bound_ms)) ] ||
	scene_fail "a figure of a server at an address was $age ms old, more than $interval_ms + $bound_ms"
[ "$threads" -le "$threads_max" ] || scene_fail "callrouterd had $threads threads, more than $threads_max"
scene_ok "then the 25 at known names; meanwhile no figure of the others was older than $age ms"
scene_ok "callrouterd had $threads threads at most"

document=$(ctl servers --json)
holds "what is said of the 200" "$document" '[.servers[] | select(.address | contains(".dead.")) |
	.server as $s | .error | test(": name \($s).dead.test (was not resolved in time: name server slow or down|" +
		"cannot be resolved: no name server answers) .see /etc/resolv.conf.$")] | length == 200 and all'
holds "nobody went short of a place" "$document" '[.sources[].error // "" | contains("max_inflight")] | any | not'
ctl status >"$SCENE/status"
grep -q 'a0 fails for .*: name a0.dead.test ' "$SCENE/status" ||
	scene_fail "callrouterctl status does not say what is wrong: $(head -20 "$SCENE/status")"
scene_ok "what is wrong with the 200 is told, and where to look"
