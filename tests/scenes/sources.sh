#!/bin/bash
# sources.sh - the source language from the operator's side: profiles, trying a source live and with a
# recorded answer, a wrong profile, smoothing, and values that nobody believes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin sources
cluster_begin
mib=1048576

# ends STATUS ARGUMENT...: callrouterctl ends with this status; what it says is in $SCENE/out and err.
ends()
{
	local status=0 expected=$1

	shift
	timeout 20 "$CTL" --run-dir "$SCENE/run" "$@" >"$SCENE/out" 2>"$SCENE/err" || status=$?
	[ "$status" = "$expected" ] ||
		scene_fail "exit status $status, expected $expected, of: callrouterctl $*: $(cat "$SCENE/out" "$SCENE/err")"
}

# tries STATUS NAME OPTION...: callrouterctl source test.
tries()
{
	ends "$1" source test "${@:2}" -c "$CONFIG" --plugins-dir "$SCENE/plugins.d"
}

# shown LINE: exactly this line, blanks squeezed, is in the output.
shown()
{
	sed -E 's/ +/ /g; s/^ //; s/ $//' "$SCENE/out" | grep -qxF -- "$1" ||
		scene_fail "no line \"$1\" in: $(cat "$SCENE/out")"
}

### Profiles

ends 0 profile list
grep -Eq '^jolokia +A JVM with the Jolokia agent' "$SCENE/out" || scene_fail "jolokia is not listed"
same "profiles listed" "$(($(wc -l <"$SCENE/out") - 1))" "$(find "$ROOT/collectors/profiles" -name '*.yaml' | wc -l)"
for profile in $(sed '1d; s/ .*//' "$SCENE/out"); do
	ends 0 profile show "$profile"
	cmp -s "$SCENE/out" "$ROOT/collectors/profiles/$profile.yaml" || scene_fail "profile show $profile shows something else"
done
ends 1 profile show jolokya
finds "$SCENE/err" 'callrouterctl: no profile "jolokya"; did you mean "jolokia"?'
mkdir "$SCENE/own"
echo '# Mine alone. And more.' >"$SCENE/own/mine.yaml"
ends 0 profile list --profiles-dir "$SCENE/own"
grep -Eq '^mine +Mine alone$' "$SCENE/out" || scene_fail "mine is not listed: $(cat "$SCENE/out")"
ends 2 profile
ends 2 profile lst
scene_ok "profile list, profile show, and a directory of one's own"

### Live

start_heapd ms1 256
start_heapd ms2 128
cat >"$SCENE/own/page.yaml" <<-'X'
	# The page of the lab's server.
	path: /jolokia/read/java.lang:type=Memory/HeapMemoryUsage
	format: json
	fields:
	  jvm_heap_used_bytes: /value/used
	  jvm_heap_size_bytes: /value/committed
	  jvm_heap_max_bytes: { select: /value/nowhere, optional: true }
	  jvm_heap_free_ratio: { select: /value/max, unit: percent, optional: true }
X
cat >"$CONFIG" <<-X
	cluster: sources
	servers:
	  - { name: ms1, address: "127.0.0.1:$(port_of ms1)" }
	  - { name: ms2, address: "127.0.0.1:$(port_of ms2)" }
	collectors:
	  - { name: jvm, plugin: http, profile: jolokia, target: "http://\${host}:\${port}", interval: 100ms, timeout: 100ms }
	  - name: page
	    plugin: http
	    profile: ./own/page.yaml
	    target: "http://\${host}:\${port}"
	    interval: 300ms
	  - { name: dead, plugin: http, profile: jolokia, target: "http://\${host}:1" }
	  - { name: nul, plugin: http, profile: jolokia, path: /lab/nul, target: "http://\${host}:\${port}" }
	services:
	  - { name: shop, router: heap_free, smooth: { jvm_heap_free_bytes: { window_max: 2s, band: 10% } } }
X
tries 0 jvm
shown "source jvm: plugin http, http://127.0.0.1:$(port_of ms1), server ms1"
grep -q '^answer to request: HTTP status 200, [0-9]* bytes$' "$SCENE/out" || scene_fail "no raw answer: $(cat "$SCENE/out")"
grep -q '"HeapMemoryUsage"' "$SCENE/out" || scene_fail "no raw answer: $(cat "$SCENE/out")"
shown "jvm_heap_size_bytes $((256 * mib)) bytes (256.0 MiB) found"
grep -Eq '^  jvm_heap_free_bytes +[0-9]+ bytes .* derived: size - used$' "$SCENE/out" || scene_fail "nothing derived: $(cat "$SCENE/out")"
tries 0 jvm --server ms2
shown "jvm_heap_size_bytes $((128 * mib)) bytes (128.0 MiB) found"
tries 0 page
shown "jvm_heap_max_bytes - missing"
grep -Eq 'derived: size - used, for want of max$' "$SCENE/out" || scene_fail "available is not derived: $(cat "$SCENE/out")"
tries 1 dead
shown "failed: connect: cannot connect to http://127.0.0.1:1: Connection refused"
tries 1 nul --raw
shown '{"value":{"used":"a\\b","committed":5,"max":-1},"status":200}?\0 junk'
shown "answer to request: HTTP status 200, 69 bytes"
shown "failed: reply: bad JSON in line 1, column 62: it holds a NUL byte"
get ms1 /lab/nul
cp "$SCENE/.get" "$SCENE/nul.json"
tries 1 nul --replay "$SCENE/nul.json"
shown "failed: reply: bad JSON in line 1, column 62: it holds a NUL byte"
tries 1 jvn
finds "$SCENE/err" 'no collector "jvn"; did you mean "jvm"?'
tries 1 jvm --server ms3
finds "$SCENE/err" 'collector jvm polls no server "ms3"'
scene_ok "a live source: raw answer, fields, states, what is derived; and why there is nothing"

# One place with a page for each server, a header that is a secret; and what is told at check time.
(umask 077 && echo k3y-of-the-scene >"$SCENE/gateway.key")
cat >"$SCENE/gateway.yaml" <<-X
	servers:
	  - { name: ms1, address: "127.0.0.1:7101", vars: { what: HeapMemoryUsage } }
	  - { name: ms2, address: "127.0.0.1:7102", vars: { what: "Heap?Usage" } }
	collectors:
	  - name: gateway
	    plugin: http
	    profile: jolokia
	    target: "http://127.0.0.1:$(port_of ms1)"
	    path: "/jolokia/read/java.lang:type=Memory/\${what}"
	    secret_header: X-Api-Key
	    secret_header_file: gateway.key
	services: [{ name: shop }]
X
CONFIG=$SCENE/gateway.yaml
tries 0 gateway --raw
shown "source gateway: plugin http, http://127.0.0.1:$(port_of ms1), server ms1"
shown "jvm_heap_size_bytes $((256 * mib)) bytes (256.0 MiB) found"
! grep -q k3y "$SCENE/out" "$SCENE/err" || scene_fail "a secret is shown: $(cat "$SCENE/out" "$SCENE/err")"
tries 1 gateway --server ms2
grep -q 'Heap%3fUsage' "$SCENE/out" || scene_fail "another page than that of ms2: $(cat "$SCENE/out")"
sed -i 's/what: "Heap?Usage"/wat: x/' "$CONFIG"
tries 1 gateway
finds "$SCENE/err" "$CONFIG:9:5: path: \${what} is unknown for server \"ms2\"; did you mean \${wat}?"
chmod 644 "$SCENE/gateway.key"
tries 1 gateway
finds "$SCENE/err" "$CONFIG:11:25: secret_header_file: $SCENE/gateway.key has mode 644"
CONFIG=$SCENE/callrouter.yaml
scene_ok "one place with a page for each server, and a header that is a secret"

### Recorded

data=$ROOT/tests/data
tries 0 jvm --replay "$data/jolokia_like_g1.json"
shown "jvm_heap_used_bytes 4116480 bytes (3.9 MiB) found"
shown "jvm_heap_max_bytes 134217728 bytes (128.0 MiB) found"
shown "jvm_heap_available_bytes 130101248 bytes (124.1 MiB) derived: max - used"
shown "jvm_heap_free_ratio 0.969329834 derived: available / max"
shown "good: 3 figures, 1 row"
head -c 200 /dev/zero | tr '\0' '<' >"$SCENE/page.html"
tries 1 jvm --replay "$SCENE/page.html"
grep -q '^failed: reply: ' "$SCENE/out" || scene_fail "HTML is taken for JSON: $(cat "$SCENE/out")"
echo '{"status":200,"value":{"used":300,"committed":200,"max":-1}}' >"$SCENE/odd.json"
tries 0 jvm --replay "$SCENE/odd.json"
shown "jvm_heap_max_bytes - undefined"
shown "inconsistent: used > size"
echo '{"status":200,"value":{"used":-0.0,"committed":200,"max":-1}}' >"$SCENE/odd.json"
tries 0 jvm --replay "$SCENE/odd.json"
shown "jvm_heap_used_bytes 0 bytes (0 B) found"
tries 1 jvm --replay "$SCENE/nowhere.json"
finds "$SCENE/err" "callrouterd: $SCENE/nowhere.json: No such file or directory"
{
	printf '{"status":200,"value":{"used":3,"committed":4,"max":5},"filler":"'
	head -c 5000 /dev/zero | tr '\0' x
	printf '"}\033'
} >"$SCENE/long.json"
tries 1 jvm --replay "$SCENE/long.json"
grep -q ' more bytes; --raw shows all$' "$SCENE/out" || scene_fail "a long answer is not cut short"
tries 1 jvm --replay "$SCENE/long.json" --raw
[ "$(tr -cd x <"$SCENE/out" | wc -c)" -ge 5000 ] || scene_fail "--raw does not show all"
! grep -q $'\033' "$SCENE/out" || scene_fail "an answer can steer the terminal"
scene_ok "a recorded answer, good, odd, long and none"

(umask 077 && echo public >"$SCENE/community")
cat >"$SCENE/wls.yaml" <<-X
	servers:
	  - { name: ms1, address: "127.0.0.1:7101" }
	  - { name: ms2, address: "127.0.0.1:7102" }
	collectors:
	  - { name: wls, plugin: snmp, profile: weblogic-mib, community_file: community, target: "udp:127.0.0.1:1" }
	  - { name: boot, plugin: http, profile: actuator, target: "http://\${host}:\${port}" }
	services: [{ name: shop }]
X
CONFIG=$SCENE/wls.yaml
tries 1 boot --replay "$SCENE/page.html"
finds "$SCENE/err" "collector boot makes 2 requests; say with --request which one the file answers: used, committed"
tries 0 wls --replay "$data/weblogic_domain.snmprec"
shown "answer to all requests: $(wc -c <"$data/weblogic_domain.snmprec") bytes"
grep -Eq '^  jvm_heap_free_bytes +[0-9]+ bytes .* found$' "$SCENE/out" || scene_fail "no free heap of all: $(cat "$SCENE/out")"
grep -Eq '^  running +1 +found$' "$SCENE/out" || scene_fail "no state: $(cat "$SCENE/out")"
for walk in weblogic_domain.snmprec weblogic_walk.txt; do
	tries 0 wls --replay "$data/$walk"
	shown "jvm_heap_free_bytes 314572800 bytes (300.0 MiB) found"  # ms1
	shown "jvm_heap_free_bytes 3221225472 bytes (3.0 GiB) found"   # ms2
	shown "jvm_heap_size_bytes 4294967296 bytes (4.0 GiB) found"   # the same, above 32 bits
	shown "left out: it is ADMIN, not RUNNING (.1.3.6.1.4.1.140.625.360.1.60)" # ms3
	shown "AdminServer: none of the servers that this collector polls"
	shown "good: 12 figures, 3 rows"
done
tries 0 wls --request heap --replay "$data/weblogic_domain.snmprec"
grep -q '^ms1$' "$SCENE/out" || scene_fail "no row of ms1: $(cat "$SCENE/out")"
grep -Eq '^  jvm_heap_free_bytes +[0-9]+ bytes .* found$' "$SCENE/out" || scene_fail "no free heap: $(cat "$SCENE/out")"
# What snmpwalk printed of a real agent, and what snmpsim recorded of it, say the same.
sed 1,/^answer/d "$SCENE/out" | grep '^  jvm' >"$SCENE/of_recording"
tries 0 wls --request heap --replay "$data/weblogic_walk.txt"
sed 1,/^answer/d "$SCENE/out" | grep '^  jvm' | cmp -s - "$SCENE/of_recording" || scene_fail "a walk says something else: $(cat "$SCENE/out")"
shown "jvm_heap_free_bytes 3221225472 bytes (3.0 GiB) found"
shown "jvm_heap_size_bytes 4294967296 bytes (4.0 GiB) found"
tries 0 wls --request 1 --replay "$data/weblogic_domain.snmprec"
tries 1 wls --request 3 --replay "$data/weblogic_domain.snmprec"
finds "$SCENE/err" 'no request "3"; there are heap, state'
{
	cat "$data/weblogic_walk.txt"
	printf '\0'
} >"$SCENE/nul.txt"
tries 1 wls --request heap --replay "$SCENE/nul.txt"
shown "failed: reply: 2 of 2 requests failed; heap: it holds a NUL byte, which no recorded walk does"
tries 1 wls --request heap --replay "$SCENE/page.html"
grep -q 'failed: reply: .*snmpwalk -On' "$SCENE/out" || scene_fail "HTML is taken for SNMP: $(cat "$SCENE/out")"
CONFIG=$SCENE/callrouter.yaml
scene_ok "a recorded walk of an SNMP agent"

### Wrong profiles

cp "$CONFIG" "$SCENE/good.yaml"
sed -i 's/profile: jolokia, target: "http:..${host}:${port}"/profile: jolokya, target: "http:\/\/${host}:${port}"/' "$CONFIG"
sed -i 's/format: json/format: jsn/; s/committed/&, unit: furlong/' "$SCENE/own/page.yaml"
sed -i 's|: /value/committed, unit: furlong|: { select: /value/committed, unit: furlong }|' "$SCENE/own/page.yaml"
tries 1 jvm
finds "$SCENE/err" "$CONFIG:6:41: no profile \"jolokya\"; did you mean \"jolokia\"?"
finds "$SCENE/err" "$SCENE/own/page.yaml:3:1: unknown word \"jsn\"; did you mean \"json\"?"
cp "$SCENE/good.yaml" "$CONFIG"
sed -i 's/format: jsn/format: json/; s/unit: furlong/unit: b/' "$SCENE/own/page.yaml"
ends 0 check "$CONFIG" --plugins-dir "$SCENE/plugins.d"
scene_ok "a wrong profile is told with the file and line where it is wrong"

# The manual's own example; this machine need not have its group.
sed -n '/^```yaml$/,/^```$/p' "$ROOT/docs/config.md" | sed '1d; /^```$/,$d; /^group:/d' >"$SCENE/example.yaml"
grep -q 'profile: weblogic-mib' "$SCENE/example.yaml" || scene_fail "no example in docs/config.md"
ends 0 check "$SCENE/example.yaml" --plugins-dir "$SCENE/plugins.d"
scene_ok "the example of docs/config.md is a good configuration"

### A daemon: smoothing, freshness, what is not believed

start_daemon
scene_wait 5 '[ "$(ranking)" = "ms1 ms2" ]'
# The order is the same before anything is known.
scene_wait 5 'ctl servers ms1 | grep -Eq "^jvm_heap_free_bytes +[0-9.]+ MiB +[0-9.]+ m?s +fresh +size - used$"'
ctl servers ms1 | grep -Eq "^jvm_heap_size_bytes .* fresh +measured$" || scene_fail "how is not shown: $(ctl servers ms1)"
scene_wait 8 'ctl status | grep -q "bad JSON in line 1, column 62: it holds a NUL byte"'
ends 1 servers msl
finds "$SCENE/err" 'no server "msl"; did you mean "ms1"?'
scene_wait 8 'ctl servers --json | jq -e ".sources | map({ (.source): . }) | add
	| (.jvm | .good > 0 and .latency_s > 0 and .latency_worst_s > 0 and .good_age_s < 5)
	and (.dead | .good == 0 and .good_age_s == null and .latency_worst_s == null and .failed.connect > 0)"'
scene_wait 8 'ctl servers --json | jq -e ".servers[0] | .rejected | keys == [\"above_one\"] and .above_one > 1"'
ctl servers ms1 | grep -Eq '^not taken from page: above_one [0-9]+; the last, [0-9.]+ m?s ago: jvm_heap_free_ratio: above_one: 2684354\.56: more than all of it; is it percent\?$' ||
	scene_fail "nobody says what was not taken: $(ctl servers ms1)"
# 200 MiB kept: measured, but not yet given to the router
get ms1 /lab/keep?mb=200
scene_wait 5 'status_of ".ranking[] | select(.server == \"ms1\") | .metrics.jvm_heap_free_bytes
	| select(.smoothed - .value > 50000000)" | grep -q smoothed'
same "the order, while the window lasts" "$(ranking)" "ms1 ms2"
ctl status | grep -q 'smoothed jvm_heap_free_bytes: ms1 2[0-9.]* MiB, ms2 1[0-9.]* MiB' || scene_fail "status does not show it: $(ctl status)"
scene_wait 6 '[ "$(ranking)" = "ms2 ms1" ]'
scene_ok "a router sees the window's largest value, and status both"

scene_kill ms2
scene_wait 15 'ctl servers ms2 | grep -Eq "^jvm_heap_free_bytes.* stale +size - used$"'
ends 0 servers ms2
grep -Eq '^jvm_heap_free_bytes +[0-9.]+ MiB .* stale +size - used$' "$SCENE/out" || scene_fail "a dead server's value is gone: $(cat "$SCENE/out")"
scene_ok "a failed poll only makes a value older"
