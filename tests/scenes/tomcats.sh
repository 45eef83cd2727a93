#!/bin/bash
# tomcats.sh - two real Tomcats, polled by their status page; one is made to hold 80 MB.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin tomcats
cluster_begin

for name in ms1 ms2; do
	scene_spawn "$name" bash "$LAB/tomcat.sh" run "$SCENE/tomcat-$name" "$name" 0
done
for name in ms1 ms2; do
	scene_wait 90 "[ -e '$SCENE/tomcat-$name/port' ] || ! scene_alive $name"
	scene_alive "$name" || scene_fail "Tomcat $name did not start"
	cp "$SCENE/tomcat-$name/port" "$SCENE/$name.port"
done

cat >"$CONFIG" <<-X
	cluster: tomcats
	servers:
	  - { name: ms1, address: "127.0.0.1:$(port_of ms1)" }
	  - { name: ms2, address: "127.0.0.1:$(port_of ms2)" }
	collectors:
	$(for name in ms1 ms2; do
		echo "  - { name: status_$name, plugin: http, profile: tomcat-status, servers: [$name]," \
			"target: \"http://\${host}:\${port}\", user: poller," \
			"password_file: tomcat-$name/password, interval: 500ms, timeout: 400ms }"
	done)
	services:
	  - { name: shop, router: heap_free, stale_after: 5s }
X
start_daemon

free_of()
{
	status_of ".ranking[] | select(.server == \"$1\") | .metrics.jvm_heap_free_bytes.value"
}

# Where they start is theirs: whichever is first now is made to hold 80 MB.
get ms1 '/load/keep.jsp?free=1'
get ms2 '/load/keep.jsp?free=1'
get ms2 '/load/keep.jsp?mb=30'
scene_wait 5 'status_of "[.ranking[].metrics.jvm_heap_free_bytes.fresh] | all and length == 2" | grep -x true'
scene_wait 5 '[ "$(ranking)" = "ms1 ms2" ]'
before=$(free_of ms1)
scene_ok "ms1 has the most free heap: $((before / 1048576)) MiB, ms2 has $(($(free_of ms2) / 1048576)) MiB"

get ms1 '/load/keep.jsp?mb=80'
scene_wait 5 '[ "$(ranking)" = "ms2 ms1" ]'
# A poll may have come in the middle of it.
scene_wait 5 '[ "$(free_of ms1)" -le $((before - 60 * 1048576)) ]'
same "first of 50 calls" "$(ctl route shop --count 50 --json | jq -c '[.[].servers[0]] | unique')" '["ms2"]'
scene_ok "ms1 holds 80 MB: the ranking flips"

get ms1 '/load/keep.jsp?free=1'
scene_wait 5 '[ "$(ranking)" = "ms1 ms2" ]'
same "first of 50 calls" "$(ctl route shop --count 50 --json | jq -c '[.[].servers[0]] | unique')" '["ms1"]'
scene_ok "its heap is free again: the ranking flips back"

totals=$(client --path '/load/call.jsp?bytes=4096&ms=1' --calls 100 --threads 4) || scene_fail "calls failed: $totals"
same "calls that ms1 served" "$(total ms1 <<<"$totals")" 100
scene_ok "100 calls went there"

cat >"$SCENE/stranger.yaml" <<-X
	servers: [{ name: ms1, address: "127.0.0.1:$(port_of ms1)" }]
	collectors:
	  - { name: nobody, plugin: http, profile: tomcat-status, target: "http://\${host}:\${port}" }
	  - name: poller
	    plugin: http
	    profile: tomcat-status
	    target: "http://\${host}:\${port}"
	    path: /manager/html
	    user: poller
	    password_file: tomcat-ms1/password
	services: [{ name: shop }]
X
# is_told NAME TEXT: trying this source fails, and says so.
is_told()
{
	! ctl source test "$1" -c "$SCENE/stranger.yaml" --plugins-dir "$SCENE/plugins.d" >"$SCENE/tried.log" 2>&1 ||
		scene_fail "Tomcat lets in $1"
	finds "$SCENE/tried.log" "HTTP status $2; the role manager-status is needed"
}
is_told nobody "401: set user and password_file"
is_told poller "403: this user may not read this, or this host may not"
scene_ok "whoever is not known, or not allowed, is told what to do"
