#!/bin/bash
# bench_polls.sh - what polling thousands of targets costs, beside bare loops of the same libraries:
# ./run bench --polls. All of it on the loopback device; nothing here judges, it prints.
#
#	bench_polls.sh [--targets N] [--seconds S] [--rounds R] [--only PATTERN] [--soft-limit N] [--json]
. "$(dirname "$0")/scenes/lib.sh"
. "$(dirname "$0")/scenes/cluster.sh"

targets=5000 # of each kind
seconds=10   # of each measurement
rounds=1
only=
soft=
json=
while [ $# -gt 0 ]; do
	case $1 in
	--targets) targets=$2 && shift ;;
	--seconds) seconds=$2 && shift ;;
	--rounds) rounds=$2 && shift ;;
	--only) only=$2 && shift ;;
	--soft-limit) soft=$2 && shift ;; # of callrouterd's open files
	--json) json=1 ;;
	*) echo "bench_polls.sh: unknown option $1" >&2 && exit 2 ;;
	esac
	shift
done

http_first=50000 # their addresses: what is dead and what slow goes by the hundreds
interval_ms=2000
timeout_ms=500
delay_ms=300 # of the slow ones
warm_ms=6000 # three rounds: connections are made, the dead have been found out
lab=$BUILD/lab
real_time=()
if [ "$(id -u)" -eq 0 ] && chrt -f 10 true 2>/dev/null; then
	real_time=(chrt -f 10)
fi
ulimit -Sn "${soft:-$(ulimit -Hn)}"

scene_begin bench_polls
(umask 077 && echo public >"$SCENE/community")
closed=$(scene_port)

# is_wanted NAME
is_wanted()
{
	# shellcheck disable=SC2053 # a pattern
	[ -z "$only" ] || [[ $1 == $only ]]
}

# start_responders MUTE SLOW: percent of the targets; ports in $snmp_port and $http_port.
start_responders()
{
	local kind

	snmp_port=$(scene_port)
	http_port=$(scene_port)
	for kind in snmp http; do
		scene_spawn $kind "${real_time[@]}" "$lab/${kind}_responder" --mute "$1" --slow "$2" \
			--delay $delay_ms --port "$([ $kind = snmp ] && echo "$snmp_port" || echo "$http_port")"
		scene_wait 10 "grep -q ^ready '$SCENE/$kind.log'"
		: >"$SCENE/$kind.log"
	done
}

# servers LETTER FIRST PORT DEAD: half of the dead are not there at all, the others are mute.
servers()
{
	awk -v letter="$1" -v first="$2" -v port="$3" -v gone=$(($4 / 2)) -v n="$targets" \
		-v closed="$closed" 'BEGIN {
		for (i = 0; i < n; i++) {
			k = first + i
			printf "  - { name: %s%d, address: \"127.%d.%d.%d:%d\" }\n", letter, i, 1 + k / 62500,
				int(k / 250) % 250, 1 + k % 250, i % 100 < gone ? closed : port
		}
	}'
}

names()
{
	awk -v letter="$1" -v n="$targets" 'BEGIN { for (i = 0; i < n; i++) printf "%s%s%d", i ? ", " : "", letter, i }'
}

# configure SNMP HTTP DEAD: which kinds are polled.
configure()
{
	echo "cluster: many"
	echo "servers:"
	[ "$1" = 0 ] || servers a 0 "$snmp_port" "$3"
	[ "$2" = 0 ] || servers b $http_first "$http_port" "$3"
	echo "collectors:"
	[ "$1" = 0 ] || echo "  - { name: snmp, plugin: snmp, profile: jvm-mib, target: \"udp:\${host}:\${port}\", community_file: community, interval: ${interval_ms}ms, timeout: ${timeout_ms}ms, servers: [$(names a)] }"
	[ "$2" = 0 ] || echo "  - { name: http, plugin: http, profile: jolokia, target: \"http://\${host}:\${port}\", interval: ${interval_ms}ms, timeout: ${timeout_ms}ms, servers: [$(names b)] }"
	echo "services:"
	[ "$1" = 0 ] || echo "  - { name: snmp, router: heap_free, servers: [$(names a)] }"
	[ "$2" = 0 ] || echo "  - { name: http, router: heap_free, servers: [$(names b)] }"
}

# figures: of the sources, and when they were true.
figures()
{
	ctl servers --json | jq -c --argjson now "$(scene_now_ms)" '{now: $now, sources: [.sources[]
		| {name: (.name // .source), polls, good, failed, skipped, latency_ms, in_flight}]}'
}

# measure NAME SNMP HTTP DEAD SLOW: one callrouterd; one line of JSON to $SCENE/results.
measure()
{
	local name=$1 before after probe

	is_wanted "$name" || return 0
	rm -rf "$SCENE/run" "$SCENE/state" "$SCENE/plugins.d"
	cluster_begin
	start_responders "$4" "$5"
	configure "$2" "$3" "$4" >"$CONFIG"
	scene_spawn callrouterd "${real_time[@]}" "$DAEMON" -c "$CONFIG" --run-dir "$SCENE/run" \
		--state-dir "$SCENE/state" --plugins-dir "$SCENE/plugins.d" --log-level error
	scene_wait 20 "[ -e '$SCENE/run/snapshot.1' ]"
	sleep "$((warm_ms / 1000)).$((warm_ms % 1000))"
	before=$(figures)
	if [ -n "${PERF:-}" ]; then
		perf record -q -F 3999 -o "$PERF.$name" -p "$(scene_pid callrouterd)" -- sleep 5 >&2
	fi
	probe=$("$lab/poll_probe" "$SCENE/run" "$(scene_pid callrouterd)" $((seconds * 1000)) "$4")
	after=$(figures)
	jq -n -c --arg name "$name" --argjson before "$before" --argjson after "$after" \
		--argjson probe "$probe" --argjson targets $((targets * ($2 + $3))) '
		{what: $name, $targets, $probe, sources: [range($after.sources | length) as $i
			| $after.sources[$i] + {per_s: (($after.sources[$i].polls - $before.sources[$i].polls)
				/ ($after.now - $before.now) * 1000)}]}
		| .polls_per_s = ([.sources[].per_s] | add)' >>"$SCENE/results"
	scene_kill callrouterd TERM
	scene_kill snmp TERM
	scene_kill http TERM
	[ ! -s "$SCENE/callrouterd.log" ] || sed 's/^/callrouterd: /' "$SCENE/callrouterd.log" | head -n 20 >&2
}

# bare NAME KIND FIRST [OPTION...]
bare()
{
	local name=$1 kind=$2 first=$3

	shift 3
	is_wanted "$name" || return 0
	start_responders 0 0
	"${real_time[@]}" "$lab/bare_$kind" "$@" --port "$([ "$kind" = snmp ] && echo "$snmp_port" || echo "$http_port")" \
		--targets "$targets" --first "$first" --interval $interval_ms --warm $warm_ms \
		--measure $((seconds * 1000)) | jq -c --arg name "$name" '{what: $name} + .' >>"$SCENE/results"
	scene_kill snmp TERM
	scene_kill http TERM
}

for ((round = 0; round < rounds; round++)); do
	bare bare_snmp snmp 0
	measure snmp 1 0 0 0
	measure snmp_faults 1 0 10 5
	bare bare_http http $http_first
	bare bare_http_shared http $http_first --share 128
	measure http 0 1 0 0
	measure http_faults 0 1 10 5
	measure both 1 1 0 0
	measure both_faults 1 1 10 5
done
# What a round costs beside the bare loop: medians over the rounds; the main thread's part is publishing.
# shellcheck disable=SC2016
figures='
	def median: sort | .[length / 2 | floor];
	def of($what): map(select(.what == $what));
	def bare($what): of($what) | map(.cpu_us_per_poll) | if length > 0 then median else null end;
	def cpu(f): map((.probe | f) / .probe.seconds / .polls_per_s * 1e6) | median;
	def round2: . * 100 | round / 100;
	def ratio($a; $b): if $b == null then null else $a / $b | round2 end;
	. as $all | [ $all[] | select(.probe).what ] | unique_by(["snmp", "snmp_faults", "http", "http_faults",
		"both", "both_faults"] as $order | . as $w | $order | index($w)) | map(. as $what | ($all | of($what)) as $runs
	| ($runs | cpu(.snmp_s + .http_s)) as $poll | ($runs | cpu(.main_s)) as $main
	| {what: $what, targets: $runs[0].targets, polls_per_s: ([$runs[].polls_per_s] | median | round),
		poll_us: ($poll | round2), publish_us: ($main | round2), all_us: ($poll + $main | round2),
		to_bare_snmp: (if $what | startswith("snmp") then ratio($poll + $main; $all | bare("bare_snmp")) else null end),
		to_bare_http: (if $what | startswith("http") then ratio($poll + $main; $all | bare("bare_http_shared")) else null end),
		to_plain_http: (if $what | startswith("http") then ratio($poll + $main; $all | bare("bare_http")) else null end),
		resident_mib: ([$runs[].probe.resident_kib] | median / 1024 | round),
		published_per_s: ([$runs[].probe.published_per_s] | median),
		oldest_ms: ([$runs[].probe.oldest_ms] | max), unknown: ([$runs[].probe.unknown] | max)})
	| {bare: {snmp_us: ($all | bare("bare_snmp")), http_us: ($all | bare("bare_http_shared")),
		plain_http_us: ($all | bare("bare_http"))}, runs: .}'
if [ -n "$json" ]; then
	cat "$SCENE/results"
	exit
fi
jq -s -r "$figures"' | .bare
	| "bare loops, us of CPU per poll: net-snmp \(.snmp_us); libcurl in handles of 128 targets \(.http_us), as it comes \(.plain_http_us)\n"' \
	"$SCENE/results"
jq -s -r "$figures"' | ["callrouterd", "targets", "polls/s", "us/poll", "publish", "all", "to bare", "to plain", "MiB", "publ./s", "oldest"],
	(.runs[] | [.what, .targets, .polls_per_s, .poll_us, .publish_us, .all_us,
		((.to_bare_snmp // .to_bare_http) | if . == null then "-" else "\(.)x" end),
		(.to_plain_http | if . == null then "-" else "\(.)x" end), .resident_mib, .published_per_s,
		"\(.oldest_ms) ms\(if .unknown > 0 then " (unknown!)" else "" end)"]) | @tsv' "$SCENE/results" |
	column -t -s $'\t'
