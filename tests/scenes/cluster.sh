# cluster.sh - what scenes with a callrouterd need: servers, a configuration, the daemon, the client.
# To be sourced after lib.sh; scene_begin first, then cluster_begin.
# shellcheck shell=bash

# cluster_begin: the folders of a daemon of our own.
cluster_begin()
{
	mkdir "$SCENE/run" "$SCENE/state" "$SCENE/plugins.d"
	cp "$PLUGINS"/*.so "$SCENE/plugins.d/"
	CONFIG=$SCENE/callrouter.yaml
}

# start_daemon [OPTION...]: callrouterd with $CONFIG; comes back when it has published.
start_daemon()
{
	scene_spawn callrouterd "$DAEMON" -c "$CONFIG" --run-dir "$SCENE/run" \
		--state-dir "$SCENE/state" --plugins-dir "$SCENE/plugins.d" "$@"
	scene_wait 10 'ctl status --json | jq -e ".services[0].ranking | length > 0"'
}

ctl()
{
	"$CTL" --run-dir "$SCENE/run" "$@"
}

# status_of FILTER [SERVICE]: jq over one service (the first one) of the status document.
status_of()
{
	ctl status ${2:+"$2"} --json | jq -r ".services[0] | $1"
}

# The ranking in one line: "ms2 ms1 ms3".
ranking()
{
	status_of '[.ranking[].server] | join(" ")' "${1:-}"
}

# start_heapd NAME MIB [PORT]; the port is then in $SCENE/NAME.port.
start_heapd()
{
	: >"$SCENE/$1.log"
	scene_spawn "$1" "$BUILD/tests/heapd" --port "${3:-0}" --name "$1" --heap $(($2 * 1048576)) \
		--values "$SCENE/$1.values"
	scene_wait 10 "grep -q '^ready port' '$SCENE/$1.log'"
	sed -n 's/^ready port //p' "$SCENE/$1.log" >"$SCENE/$1.port"
}

port_of()
{
	cat "$SCENE/$1.port"
}

# get NAME PATH: an HTTP request to a server.
get()
{
	curl -sf --noproxy '*' "http://127.0.0.1:$(port_of "$1")$2" >"$SCENE/.get"
}

# client OPTION...: the example client calls heapd's, asking for a little memory for a moment.
client()
{
	"$CLIENT" --run-dir "$SCENE/run" --service shop --path '/call?bytes=4096&ms=1' "$@"
}

# total NAME <<<TOTALS: one figure of the client's last line.
total()
{
	sed -n "s/.*\\<$1=\\([0-9]*\\).*/\\1/p" | tail -n 1
}

# same WHAT IS EXPECTED
same()
{
	[ "$2" = "$3" ] || scene_fail "$1: \"$2\", expected \"$3\""
}

# holds WHAT DOCUMENT JQ-CONDITION
holds()
{
	jq -e "$3" <<<"$2" >/dev/null || scene_fail "$1: not so: $3 in $2"
}

# finds FILE TEXT: the file has a line with this text.
finds()
{
	grep -qF -- "$2" "$1" || scene_fail "no \"$2\" in ${1##*/}: $(tail -n 20 "$1")"
}
