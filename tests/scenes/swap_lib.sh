# swap_lib.sh - what scenes of swaps need: versions of the router "first", a daemon that uses it,
# and two processes with two threads each that check every decision. To be sourced after lib.sh;
# scene_begin first, then swap_begin.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

LOAD=$BUILD/tests/load
SERVERS=s1,s2,s3,s4,s5,s6,s7,s8

# version FIRST [-DMACRO=VALUE...]: builds $SCENE/v/FIRST.so of the router that puts server
# s<FIRST> first; its version is FIRST, too. With NAME=... it is called so.
version()
{
	local first=$1 name=${NAME:-$1}
	shift

	mkdir -p "$SCENE/v"
	cc -std=gnu11 -D_GNU_SOURCE -O1 -shared -fPIC -fvisibility=hidden -I "$ROOT/include" \
		-DFIRST="$first" -DVERSION="\"$name\"" "$@" -o "$SCENE/v/$name.so" \
		"$ROOT/tests/plugins/first.c"
}

# swap_config [LINE OF THE SERVICE]
swap_config()
{
	local i

	{
		echo "cluster: swaps"
		echo "servers:"
		for i in 1 2 3 4 5 6 7 8; do
			echo "  - { name: s$i, address: \"127.0.0.1:$((7000 + i))\" }"
		done
		echo "services:"
		# nobody listens there, and the load says of calls what it likes
		echo "  - { name: shop, servers: [$SERVERS], router: first, default: round_robin, health: off }"
	} >"$CONFIG"
}

# swap_begin [LOAD OPTION...]: version 1 decides, and calls flow.
swap_begin()
{
	local i

	cluster_begin
	swap_config
	version 1
	cp "$SCENE/v/1.so" "$PLUGIN"
	start_daemon
	: >"$SCENE/changes"
	for i in a b; do
		start_load "$i" "$@"
	done
	decides s1
}

# start_load NAME [OPTION...]
start_load()
{
	local name=$1
	shift

	: >"$SCENE/load-$name.log"
	scene_spawn "load-$name" "$LOAD" --run-dir "$SCENE/run" --service shop --servers $SERVERS \
		--threads 2 --rate 1000 --changes "$SCENE/changes" "$@"
}

# end_load NAME: its totals are in TOTALS, as JSON; the scene fails if a decision was wrong.
end_load()
{
	scene_kill "load-$1" TERM
	TOTALS=$(tail -n 1 "$SCENE/load-$1.log")
	echo "load $1: $TOTALS"
	[ "$SCENE_STATUS" = 0 ] || scene_fail "load-$1: status $SCENE_STATUS: $(cat "$SCENE/load-$1.log")"
}

# Who decides now in the threads of the loads that live: one line each, without repetitions.
deciders()
{
	awk '{ who[$2 " " $3] = $4 } END { for (t in who) print substr(t, 1, index(t, " ") - 1), who[t] }' \
		"$SCENE/changes" | while read -r pid who; do
		if grep -q '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" 2>/dev/null; then
			echo "$who"
		fi
	done | sort -u
}

# decides WHO: from now on all threads say so.
decides()
{
	scene_poll 5 "deciders | grep -x '$1' && [ \$(deciders | wc -l) = 1 ]" && return 0
	tail -n 20 "$SCENE/changes" >&2
	scene_fail "not within 5 s: $1 decides; now: $(deciders | xargs)"
}

# Sanitizers keep what was freed: what memory a process uses says nothing then.
is_sanitized()
{
	grep -qE '__(asan|tsan)_init' "$DAEMON"
}

# jq over the plugin first in the list of plugins.
plugin_of()
{
	ctl plugins --json | jq -r ".plugins[] | select(.plugin == \"first\") | $1"
}

# The version in use, by the list of plugins.
current()
{
	plugin_of '.generations[] | select(.state == "current") | .version'
}

# mark: what the daemon says from now on is said.
mark()
{
	MARK=$(wc -l <"$SCENE/callrouterd.log")
}

said()
{
	tail -n +$((MARK + 1)) "$SCENE/callrouterd.log"
}

# The daemon's answers to what was done with the file since mark.
answers()
{
	said | grep -E 'plugin (swapped|refused|file not taken|file unchanged|file removed|quarantined):? .*name=first' ||
		true
}

# one_answer TEXT...: exactly one answer was given since mark, and it has these texts.
one_answer()
{
	local text

	scene_wait 5 '[ -n "$(answers)" ]'
	same "number of answers ($(answers))" "$(answers | wc -l)" 1
	for text in "$@"; do
		[[ $(answers) == *"$text"* ]] || scene_fail "no \"$text\" in: $(answers)"
	done
}

# taken FIRST [VERSION]: this version decides in all threads, the list says so, and one answer was
# given.
taken()
{
	decides "s$1"
	same "version in the list" "$(current)" "${2:-$1}"
	one_answer "plugin swapped" "version=${2:-$1}"
}
