#!/bin/bash
# backup.sh - two collectors of the same figures, one of which only stands in for the other.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin backup
cluster_begin

# size SIZE: the heap of ms1, fresh and measured.
size()
{
	ctl servers ms1 | grep -Eq "^jvm_heap_size_bytes +$1 +[0-9.]+ [a-z]+ +fresh +measured\$"
}

# polls SOURCE: its good polls.
polls()
{
	ctl servers --json | jq ".sources[] | select(.source == \"$1\") | .good"
}

start_heapd first 256
start_heapd second 128
cat >"$CONFIG" <<-X
	cluster: backup
	servers:
	  - { name: ms1, address: "127.0.0.1:$(port_of first)", vars: { other: $(port_of second) } }
	collectors:
	  - { name: second, plugin: http, profile: jolokia, target: "http://\${host}:\${other}", interval: 100ms, backup: true }
	  - { name: first, plugin: http, profile: jolokia, target: "http://\${host}:\${port}", interval: 100ms, timeout: 100ms }
	services:
	  - { name: shop, router: heap_free, stale_after: 6s }
X
ctl check "$CONFIG" --plugins-dir "$SCENE/plugins.d" >"$SCENE/out" 2>"$SCENE/err" || scene_fail "$(cat "$SCENE/err")"
same "warnings of a backup" "$(cat "$SCENE/err")" ""
sed 's/, backup: true//' "$CONFIG" >"$SCENE/equal.yaml"
ctl check "$SCENE/equal.yaml" --plugins-dir "$SCENE/plugins.d" >"$SCENE/out" 2>"$SCENE/err" || scene_fail "$(cat "$SCENE/err")"
finds "$SCENE/err" "two_sources: collectors second and first both give jvm_heap_max_bytes"
finds "$SCENE/err" "(backup: true)"
scene_ok "two collectors of one figure are warned of, unless one is a backup"

start_daemon
scene_wait 5 'size "256\.0 MiB"'
# Both are polled; whatever came last, one of them counts.
seen=$(polls second)
for _ in 1 2 3 4 5; do
	scene_wait 5 "[ \"\$(polls second)\" -gt $seen ]"
	seen=$(polls second)
	size "256\.0 MiB" || scene_fail "a backup counts beside a fresh value: $(ctl servers ms1)"
done
scene_kill first KILL
scene_wait 20 'size "128\.0 MiB"'
start_heapd first 256 "$(port_of first)"
scene_wait 20 'size "256\.0 MiB"'
scene_ok "a backup stands in for a source that fails, until that is back"
