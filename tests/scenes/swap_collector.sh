#!/bin/bash
# Collectors are replaced while they poll: values keep coming, nobody crashes, what was loaded stays
# mapped, and nothing else grows.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/swap_lib.sh"
scene_begin swap_collector

v=$SCENE/v
SWAPS=50

# beat VALUE [-DMACRO...]: builds $SCENE/v/beat-VALUE.so, version VALUE.
beat()
{
	mkdir -p "$v"
	cc -std=gnu11 -D_GNU_SOURCE -O1 -shared -fPIC -fvisibility=hidden -I "$ROOT/include" -DVALUE="$1" \
		-DVERSION="\"$1\"" "${@:2}" -o "$v/beat-$1.so" "$ROOT/tests/plugins/beat.c"
}

put()
{
	cp "$1" "$SCENE/plugins.d/.new"
	mv "$SCENE/plugins.d/.new" "$SCENE/plugins.d/$2.so"
}

# metric SERVER FILTER: of its free heap.
metric()
{
	status_of ".ranking[] | select(.server == \"$1\") | .metrics.jvm_heap_free_bytes.$2"
}

# The version of a plugin in use.
version_of()
{
	ctl plugins --json | jq -r ".plugins[] | select(.plugin == \"$1\") | .generations[] |
		select(.state == \"current\") | .version"
}

# mappings [TEXT]: how many of the daemon's mappings have it in their name.
mappings()
{
	grep -c "${1:-}" "/proc/$(scene_pid callrouterd)/maps" || true
}

# resident NOT-TEXT | resident: KiB of the daemon's memory, without the mappings named so.
resident()
{
	awk -v not="${1:-nothing is called so}" '/^[0-9a-f]+-/ { skip = index($0, not) > 0 }
		/^Rss:/ && !skip { sum += $2 } END { print sum }' "/proc/$(scene_pid callrouterd)/smaps"
}

for value in $(seq 1 $((SWAPS + 2))); do
	beat "$value"
done
beat 99 -DOPENS=-5
cluster_begin
cp "$v/beat-1.so" "$SCENE/plugins.d/beat.so"
start_heapd ms2 64
cat >"$CONFIG" <<-X
	cluster: collectors
	servers:
	  - { name: ms1, address: "127.0.0.1:7001" }
	  - { name: ms2, address: "127.0.0.1:$(port_of ms2)" }
	collectors:
	  - { name: beats, plugin: beat, target: "beat:\${name}", servers: [ms1], interval: 100ms, timeout: 100ms }
	  - name: pages
	    plugin: http
	    profile: jolokia
	    target: "http://\${host}:\${port}"
	    servers: [ms2]
	    interval: 200ms
	    timeout: 150ms
	services:
	  - { name: shop, servers: [ms1, ms2], router: heap_free, default: round_robin, stale_after: 2s, health: off }
X
start_daemon
scene_wait 5 '[ "$(metric ms1 value)" = 1 ] && [ "$(metric ms2 fresh)" = true ]'
: >"$SCENE/load-a.log"
scene_spawn load-a "$LOAD" --run-dir "$SCENE/run" --service shop --servers ms1,ms2 --threads 2 \
	--rate 500

### A small one, many times

for value in $(seq 2 $((SWAPS + 1))); do
	put "$v/beat-$value.so" beat
	scene_wait 5 "[ \"\$(metric ms1 value)\" = $value ]"
	case $value in
	11)
		at_10=$(resident /plugins/beat.)
		others_10=$(($(mappings) - $(mappings /plugins/beat.)))
		objects_10=$(mappings /plugins/beat.)
		;;
	esac
done
objects=$(mappings /plugins/beat.)
grown=$(($(resident /plugins/beat.) - at_10))
others=$(($(mappings) - objects - others_10))
echo "$SWAPS swaps: $((objects - objects_10)) mappings and $(($(resident) - $(resident /plugins/beat.))) KiB" \
	"of the objects stay; $others other mappings and $grown KiB of other memory since the 10th"
same "version of beat" "$(version_of beat)" $((SWAPS + 1))
same "objects that stay mapped" \
	"$(grep -o '/plugins/beat\.[0-9]*\.so' "/proc/$(scene_pid callrouterd)/maps" | sort -u | wc -l)" \
	$((SWAPS + 1))
# one object of the size of this one has 5 mappings
[ $((objects - objects_10)) -le $(((SWAPS - 10) * 6)) ] || scene_fail "$objects mappings of objects"
[ $others -le 4 ] || scene_fail "$others mappings more"
# what the loader keeps of it in memory, and what malloc's arenas of the threads grow by once
is_sanitized || [ $grown -le $(((SWAPS - 10) * 16 + 512)) ] || scene_fail "$grown KiB more"
same "staged files kept" "$(($(find "$SCENE/state/plugins" -name 'beat.*' | wc -l) <= 10))" 1
scene_ok "$SWAPS swaps of a collector: each one polls at once, and what was loaded stays mapped"

put "$v/beat-99.so" beat
scene_wait 5 "grep 'plugin refused name=beat' '$SCENE/callrouterd.log'"
finds "$SCENE/callrouterd.log" 'error="open() failed: it was told to fail"'
same "version of beat" "$(version_of beat)" $((SWAPS + 1))
scene_wait 5 "[ \"\$(metric ms1 age_s | cut -d . -f 1)\" = 0 ]"
ctl rollback beat >"$SCENE/rollback.out"
scene_wait 5 "[ \"\$(metric ms1 value)\" = $SWAPS ]"
scene_ok "one that cannot be opened is refused, and rollback brings the one before"

### The real one, under way

for i in 1 2 3; do
	cp "$PLUGINS/http.so" "$v/http.so"
	head -c $i /dev/zero >>"$v/http.so" # another file with the same code
	before=$(ctl plugins --json | jq '.plugins[] | select(.plugin == "http") | .generations[0].generation')
	put "$v/http.so" http
	scene_wait 5 "[ \$(ctl plugins --json | jq '.plugins[] | select(.plugin == \"http\") | .generations[0].generation') -gt $before ]"
	same "fresh" "$(metric ms2 fresh)" true
	get ms2 "/lab/keep?mb=$((5 * i))"
	size=$(metric ms2 value)
	scene_wait 5 "[ \$(metric ms2 value) != $size ]"
done
same "fresh" "$(metric ms2 fresh)" true
scene_ok "http.so is replaced between two polls"

end_load a
holds "load a" "$TOTALS" '.failed == 0 and .calls > 1000 and .decided.router == .calls'
scene_kill callrouterd TERM
same "end of the daemon" "$SCENE_STATUS" 0
scene_ok "all calls were decided by the router, and the daemon ends in good order"
