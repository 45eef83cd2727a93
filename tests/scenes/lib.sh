# lib.sh - what every scene (a test with real processes) needs; to be sourced by bash scripts.
#
#	. "$(dirname "$0")/lib.sh"
#	scene_begin hello
#	port=$(scene_port)
#	scene_spawn web some-server --port "$port"
#	scene_wait 5 'curl -sf "http://127.0.0.1:$port/"'
#	scene_kill web KILL
#	scene_ok "the server answered"
#
# Whatever a scene spawned is ended and its folder is removed however the scene ends; if it fails,
# the ends of all logs are shown first.
# shellcheck shell=bash disable=SC2034
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${CALLROUTER_BUILD:-$ROOT/build/dev}
DAEMON=$BUILD/callrouterd
CTL=$BUILD/callrouterctl
CLIENT=$BUILD/callrouter-client
PLUGINS=$BUILD/plugins.d
LAB=$ROOT/tests/lab
SCENE_PORTS=${TMPDIR:-/tmp}/callrouter-ports.$UID

# scene_begin NAME: makes the folder $SCENE and sees to it that nothing outlives the scene.
scene_begin()
{
	SCENE_NAME=$1
	SCENE=$(mktemp -d "${TMPDIR:-/tmp}/callrouter-$1.XXXXXX")
	export CALLROUTER_SCENE=$SCENE
	: >"$SCENE/.groups"
	: >"$SCENE/.ports"
	trap scene_end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

# The processes (zombies left out) of process group $1; or, without an argument, those that carry
# this scene's mark in their environment although their group was ended.
scene_processes()
{
	local stat pid line state group

	if [ $# -eq 0 ]; then
		for stat in /proc/[0-9]*/environ; do
			pid=${stat//[^0-9]/}
			if [ "$pid" != $$ ] && [ "$pid" != "$BASHPID" ] &&
				grep -qzxF "CALLROUTER_SCENE=$SCENE" "$stat" 2>/dev/null; then
				echo "$pid"
			fi
		done
		return 0
	fi
	for stat in /proc/[0-9]*/stat; do
		{ read -r line <"$stat"; } 2>/dev/null || continue
		pid=${line%% *}
		line=${line##*) } # the rest: state, parent, process group, ...
		read -r state _ group _ <<<"$line"
		if [ "$state" != Z ] && [ "$state" != X ] && [ "$group" = "$1" ]; then
			echo "$pid"
		fi
	done
}

# Ends what was spawned, politely, then not; called once, on EXIT.
scene_end()
{
	local status=$? group port left deadline

	trap - EXIT INT TERM HUP
	set +e
	if [ "$status" -ne 0 ]; then
		scene_logs
	fi
	exec 3>&2 2>/dev/null # bash would tell of every process that ended by a signal
	while read -r group; do
		kill -TERM -- "-$group" 2>/dev/null
	done <"$SCENE/.groups"
	deadline=$(($(scene_now_ms) + 4000))
	while read -r group; do
		while [ -n "$(scene_processes "$group")" ]; do
			if [ "$(scene_now_ms)" -gt "$deadline" ]; then
				kill -KILL -- "-$group" 2>/dev/null
				break
			fi
			sleep 0.02
		done
	done <"$SCENE/.groups"
	mapfile -t left < <(scene_processes)
	if [ ${#left[@]} -gt 0 ]; then
		echo "FAIL: $SCENE_NAME: processes outlived the end of their group: ${left[*]}" >&3
		kill -KILL "${left[@]}"
		status=1
	fi
	while read -r port; do
		rm -f "$SCENE_PORTS/$port"
	done <"$SCENE/.ports"
	rmdir "$SCENE_PORTS" # unless another scene runs
	if [ -n "${SCENE_KEEP:-}" ]; then
		echo "kept: $SCENE" >&3
	else
		rm -rf "$SCENE"
	fi
	if [ "$status" -eq 0 ]; then
		echo "PASS: $SCENE_NAME"
	else
		echo "FAIL: $SCENE_NAME (status $status)" >&3
	fi
	exit "$status"
}

# Shows the end of every log.
scene_logs()
{
	local log

	for log in "$SCENE"/*.log; do
		[ -s "$log" ] || continue
		echo "--- ${log##*/} (last lines)" >&2
		tail -n 60 "$log" >&2
	done
	echo "---" >&2
}

# Milliseconds, for deadlines.
scene_now_ms()
{
	local now=${EPOCHREALTIME/[.,]/}

	echo $((now / 1000))
}

# Prints a port of 127.0.0.1 that nobody uses for TCP or UDP, another one each time; no scene that
# runs beside this one gets it either. It lies below the range from which the kernel takes ports
# for outgoing connections.
scene_port()
{
	local port hex tries

	for tries in {1..200}; do
		mkdir -p "$SCENE_PORTS"
		port=$((10000 + (RANDOM * 32768 + RANDOM) % 22000))
		printf -v hex '%04X' "$port"
		if scene_take_port "$port" &&
			! cat /proc/net/{tcp,tcp6,udp,udp6} 2>/dev/null |
				grep -qE "^ *[0-9]+: [0-9A-F]+:$hex "; then
			echo "$port"
			return 0
		fi
	done
	scene_fail "no free port found in $tries tries"
}

# scene_take_port PORT: makes the link that says which process has taken it; false if there is one,
# unless that process is gone (then nobody has it from now on).
scene_take_port()
{
	local taken=$SCENE_PORTS/$1 owner

	if ln -s $$ "$taken" 2>/dev/null; then
		echo "$1" >>"$SCENE/.ports"
		return 0
	fi
	owner=$(readlink "$taken") && ! kill -0 "$owner" 2>/dev/null && rm -f "$taken"
	return 1
}

# scene_spawn NAME COMMAND...: runs it in the background, as leader of a process group of its own;
# output is added to $SCENE/NAME.log, the process id is in $SCENE/NAME.pid.
scene_spawn()
{
	local name=$1
	shift
	setsid -- "$@" >>"$SCENE/$name.log" 2>&1 </dev/null &
	echo $! >"$SCENE/$name.pid"
	echo $! >>"$SCENE/.groups"
}

# scene_adopt NAME PID: the same for a process that somebody else started in a group of its own.
scene_adopt()
{
	echo "$2" >"$SCENE/$1.pid"
	echo "$2" >>"$SCENE/.groups"
}

# scene_pid NAME: prints the process id of what was spawned under this name last.
scene_pid()
{
	cat "$SCENE/$1.pid"
}

# scene_alive NAME: does it still run?
scene_alive()
{
	local line

	{ read -r line <"/proc/$(scene_pid "$1")/stat"; } 2>/dev/null || return 1
	line=${line##*) }
	[ "${line%% *}" != Z ]
}

# scene_kill NAME [SIGNAL, preset TERM]: sends it to that process alone, not to its children. For
# signals that end a process it waits until the process is gone; its status is in SCENE_STATUS then.
scene_kill()
{
	local name=$1 signal=${2:-TERM} pid

	pid=$(scene_pid "$name")
	kill -s "$signal" "$pid" || scene_fail "$name (process $pid) was gone before SIG$signal"
	case $signal in
	TERM | KILL | INT | QUIT | ABRT | SEGV) ;;
	*) return 0 ;;
	esac
	SCENE_STATUS=0
	# Standard error: bash would tell of every process that ended by a signal.
	{
		scene_poll 10 "! scene_alive $name" || SCENE_STATUS=lives
		if [ "$SCENE_STATUS" = 0 ]; then
			wait "$pid" || SCENE_STATUS=$?
		fi
	} 2>/dev/null
	[ "$SCENE_STATUS" != lives ] || scene_fail "$name (process $pid) is still there 10 s after SIG$signal"
}

# scene_poll SECONDS 'CONDITION': looks every 20 ms whether the bash condition holds; false if it
# does not in time.
scene_poll()
{
	local deadline=$(($(scene_now_ms) + $1 * 1000)) condition=$2

	while ! eval "$condition" >"$SCENE/.wait" 2>&1; do
		[ "$(scene_now_ms)" -le "$deadline" ] || return 1
		sleep 0.02
	done
}

# scene_wait SECONDS 'CONDITION': the same, and fails the scene with the condition's text and its
# last output.
scene_wait()
{
	scene_poll "$@" && return 0
	head -c 2000 "$SCENE/.wait" >&2
	scene_fail "not within $1 s: $2"
}

# scene_fail TEXT: ends the scene.
scene_fail()
{
	echo "FAIL: $SCENE_NAME: ${BASH_SOURCE[-1]##*/}:${BASH_LINENO[-2]}: $*" >&2
	exit 1
}

# scene_ok TEXT: something holds.
scene_ok()
{
	echo "ok: $*"
}
