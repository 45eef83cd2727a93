#!/bin/bash
# heap_max.sh - servers whose source says no maximum of the heap: the configuration gives one.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin heap_max
cluster_begin
mib=1048576

# config FIELDS [HEAP_MAX OF MS2 [HEAP_MAX OF ALL]]: what the collector leaves out, and both sizes.
config()
{
	cat >"$CONFIG.new" <<-X
		cluster: heap_max
		servers:
		  - { name: ms1, address: "127.0.0.1:$(port_of ms1)" }
		  - { name: ms2, address: "127.0.0.1:$(port_of ms2)"${2:+, heap_max: $2} }
		collectors:
		  - name: jvm
		    plugin: http
		    profile: jolokia
		    target: "http://\${host}:\${port}"
		    interval: 100ms
		    timeout: 100ms
		    ${1:+fields: { $1: ~ \}}
		    ${3:+heap_max: $3}
		services:
		  - { name: shop, router: heap_free, stale_after: 3s }
	X
	mv "$CONFIG.new" "$CONFIG"
}

# knows SERVER METRIC VALUE STATE HOW: a line of what is known of it.
knows()
{
	ctl servers "$1" | grep -Eq "^$2 +$3 +[0-9.]+ [a-z]+ +$4 +$5\$"
}

start_heapd ms1 256
start_heapd ms2 128
get ms1 /lab/keep?mb=64
config jvm_heap_max_bytes 2GiB 1GiB
start_daemon
scene_wait 5 'knows ms1 jvm_heap_max_bytes "1\.0 GiB" fresh "heap_max of the configuration"'
scene_wait 5 'knows ms2 jvm_heap_max_bytes "2\.0 GiB" fresh "heap_max of the configuration"'
knows ms1 jvm_heap_available_bytes "[0-9.]+ [MG]iB" fresh "max - used" || scene_fail "$(ctl servers ms1)"
knows ms1 jvm_heap_free_ratio "0\.9[0-9]*" fresh "available / max" || scene_fail "$(ctl servers ms1)"
holds "what is known of ms2" "$(ctl servers ms2 --json)" ".metrics
	| .jvm_heap_available_bytes.value == $((2048 * mib)) - .jvm_heap_used_bytes.value"
timeout 20 "$CTL" source test jvm --server ms2 -c "$CONFIG" --plugins-dir "$SCENE/plugins.d" >"$SCENE/out"
grep -Eq '^  jvm_heap_max_bytes +2147483648 bytes \(2\.0 GiB\) +derived: heap_max of the configuration$' "$SCENE/out" ||
	scene_fail "a tried source does not know it: $(cat "$SCENE/out")"
scene_ok "a server has its own heap_max, else its collector's, and it is told where it is from"

### A dead server

scene_kill ms1 KILL
scene_wait 15 'knows ms1 jvm_heap_available_bytes "[0-9.]+ [MG]iB" stale "max - used"'
knows ms1 jvm_heap_max_bytes "1\.0 GiB" stale "heap_max of the configuration" || scene_fail "$(ctl servers ms1)"
scene_ok "a dead server is not made to look alive"

### A restart

# What was configured has been published, but is no measurement for the next daemon.
scene_kill callrouterd TERM
config jvm_heap_max_bytes
start_daemon
scene_wait 5 'knows ms2 jvm_heap_available_bytes "[0-9.]+ MiB" fresh "size - used, for want of max"'
ctl servers ms2 | grep -Eq '^jvm_heap_max_bytes ' && scene_fail "there is a maximum: $(ctl servers ms2)"
scene_ok "a restarted daemon takes nothing for measured that was configured"

### A reload

config "" 2GiB 1GiB
scene_kill callrouterd HUP
scene_wait 5 'knows ms2 jvm_heap_max_bytes "128\.0 MiB" fresh measured'
config jvm_heap_max_bytes 3GiB
scene_kill callrouterd HUP
scene_wait 5 'knows ms2 jvm_heap_max_bytes "3\.0 GiB" fresh "heap_max of the configuration"'
scene_ok "a measured maximum wins, and one that is measured no more gives way to a new heap_max"
