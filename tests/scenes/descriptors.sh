#!/bin/bash
# descriptors.sh - a process that callrouterd starts in the middle of its HTTP polls has none of their
# descriptors: it could answer or hold up somebody else's connections.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin descriptors
cluster_begin

start_heapd jvm 64
start_heapd silent 64
scene_kill silent STOP # its polls are under way for 4 s

config()
{
	{
		echo "servers:"
		echo "  - { name: ms1, address: \"127.0.0.1:$(port_of jvm)\" }"
		for i in {1..20}; do
			echo "  - { name: dead$i, address: \"127.0.0.1:$(port_of silent)\" }"
		done
		cat <<-X
			collectors:
			  - { name: jvm, plugin: http, profile: jolokia, target: "http://\${host}:\${port}", servers: [ms1],
			      interval: 100ms }
			  - { name: dead, plugin: http, profile: jolokia, target: "http://\${host}:\${port}",
			      interval: 4s, timeout: 4s, servers: [$(printf 'dead%d, ' {1..19}) dead20] }
			services:
			  - { name: shop, router: { plugin: sorted, options: { order_by: "$1" } } }
		X
	} >"$CONFIG"
}

# The rankers of the daemon.
rankers()
{
	local pid name

	for pid in $(cat "/proc/$(scene_pid callrouterd)"/task/*/children); do
		{ read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
		[ "$name" != cr-ranker ] || echo "$pid"
	done
}

# descriptors_of PID: their numbers, in order.
descriptors_of()
{
	find "/proc/$1/fd" -mindepth 1 -printf '%f\n' | sort -n | tr '\n' ' '
}

# How many sockets the daemon has, and how many descriptors that outlive an exec().
sockets()
{
	find "/proc/$(scene_pid callrouterd)/fd" -lname 'socket:*' | wc -l
}
inheritable()
{
	local flags n=0 info

	for info in "/proc/$(scene_pid callrouterd)"/fdinfo/*; do
		flags=$(sed -n 's/^flags:[[:space:]]*//p' "$info" 2>/dev/null) || continue
		[ "${info##*/}" -le 2 ] || [ -z "$flags" ] || [ $((flags & 02000000)) -ne 0 ] || n=$((n + 1))
	done
	echo "$n"
}

config -jvm_heap_free_bytes
exec 7<"$CONFIG" 30<"$CONFIG" # as a careless parent leaves them
start_daemon
exec 7<&- 30<&-
scene_wait 10 'ctl status --json | jq -e "[.services[0].ranking[] | select(.metrics.jvm_heap_size_bytes)] | length == 1"'
scene_wait 25 '[ "$(sockets)" -ge 15 ]'
# shellcheck disable=SC2034 # read by the condition below
first=$(rankers)
config -jvm_heap_size_bytes
ctl reload >/dev/null
scene_wait 10 '[ -n "$(rankers)" ] && [ "$(rankers)" != "$first" ] && [ "$(rankers | wc -l)" = 1 ]'
ranker=$(rankers)
polls=$(sockets)
left=$(inheritable)
# its standard streams and its way to the daemon: see ranker_wire.h
same "descriptors of a ranker" "$(descriptors_of "$ranker")" "0 1 2 10 "
[ "$(readlink "/proc/$ranker/fd/10")" != "$(readlink "/proc/$ranker/fd/2")" ] || scene_fail "10 is a stream"
scene_ok "a ranker that was started among $polls sockets has 4 descriptors ($left of the daemon's would outlive an exec)"
