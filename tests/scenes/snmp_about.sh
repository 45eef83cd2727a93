#!/bin/bash
# snmp_about.sh - a domain's one agent is asked about each server by itself, as WebLogic's
# administration server is: by what follows the community, then in version 3 by the context.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
. "$(dirname "$0")/snmpsim.sh"
scene_begin snmp_about
cluster_begin

snmpsim_find
port=$(scene_port)
snmpsim_data
# A prefix that stands nowhere else, so that it can be looked for.
for server in ms1 ms2; do
	cp "$SCENE/sim/data/weblogic@$server.snmprec" "$SCENE/sim/data/hushhush@$server.snmprec"
done
snmpsim_start "$port"
(
	umask 077
	echo hushhush >"$SCENE/community"
	echo authpass-12345 >"$SCENE/auth"
	echo privpass-12345 >"$SCENE/priv"
)

# config KEY...: ms1, ms2 and the names in $more are asked for at one address, with these keys.
config()
{
	{
		echo "cluster: domain"
		echo "servers:"
		printf -- '- { name: %s, address: "127.0.0.1:7101" }\n' ms1 ms2 ${more:-}
		cat <<-X
			collectors:
			- name: wls
			  plugin: snmp
			  profile: weblogic-mib
			  target: "udp:127.0.0.1:$port"
			  interval: 500ms
			  timeout: 400ms
		X
		printf '  %s\n' "$@"
		echo "services: [{ name: shop, router: heap_free, stale_after: 10s }]"
	} >"$CONFIG"
}

# tried SERVER: the page of source test.
tried()
{
	ctl source test wls --server "$1" -c "$CONFIG" --plugins-dir "$SCENE/plugins.d"
}

# polled N: wait for more than N good polls from now on.
polled()
{
	local good

	good=$(ctl servers --json | jq '.sources[0].good')
	scene_wait 20 "[ \"\$(ctl servers --json | jq '.sources[0].good')\" -gt $((good + $1)) ]"
}

figures='[.ranking[] | [.server, .metrics.jvm_heap_free_bytes.value]] | tojson'
both='[["ms2",3221225472],["ms1",314572800]]'

suffix=('community_file: community' 'community_suffix: "@${name}"')
config "${suffix[@]}"
scene_wait 20 'tried ms1 >"$SCENE/page"'
finds "$SCENE/page" "udp:127.0.0.1:$port, community_suffix \"@ms1\", server ms1"
tried ms2 >"$SCENE/page" || scene_fail "$(cat "$SCENE/page")"
finds "$SCENE/page" "community_suffix \"@ms2\", server ms2"
! grep -q hushhush "$SCENE/page" || scene_fail "the secret is shown: $(cat "$SCENE/page")"
finds "$SCENE/page" "3221225472 bytes"
scene_ok "source test shows what is sent for each server, but for the secret"

start_daemon
scene_wait 20 '[ "$(status_of "$figures")" = "$both" ]'
holds "polls" "$(ctl servers --json)" '[.servers[] | .polls > 0] == [true, true]'
scene_ok "one address, a community for each server: $both"

more=ms9
config "${suffix[@]}"
ctl reload
# error SERVER: what its last poll failed with, or nothing.
error()
{
	ctl servers --json | jq -r ".servers[] | select(.server == \"$1\").error // \"\""
}
scene_wait 20 '[[ $(error ms9) == *"but the agent answers for other servers: this one is down or slow, or community_suffix \"@ms9\" is wrong" ]]'
polled 6
same "error of ms1" "$(error ms1)" ""
same "error of ms2" "$(error ms2)" ""
scene_ok "a server that the agent does not know fails alone, and is told from a dead agent"

more=
config 'version: 3' 'user: poller' 'auth_protocol: sha' 'auth_password_file: auth' \
	'priv_protocol: aes' 'priv_password_file: priv' 'context: "weblogic@${name}"'
ctl reload
tried ms2 >"$SCENE/page" || scene_fail "$(cat "$SCENE/page")"
finds "$SCENE/page" "udp:127.0.0.1:$port, context \"weblogic@ms2\", server ms2"
polled 4
same "ranking" "$(status_of "$figures")" "$both"
same "error of ms1" "$(error ms1)" ""
scene_ok "in version 3, the context"

config 'version: 3' 'user: poller' 'context: "${name}-${where}"'
! "$DAEMON" --check -c "$CONFIG" --plugins-dir "$SCENE/plugins.d" >"$SCENE/told" 2>&1 ||
	scene_fail "a variable that no server has is taken"
finds "$SCENE/told" 'callrouter.yaml:14:3: context: ${where} is unknown for server "ms1" and 1 other'
config 'community_file: community' 'context: "${name}"'
! "$DAEMON" --check -c "$CONFIG" --plugins-dir "$SCENE/plugins.d" >"$SCENE/told" 2>&1 ||
	scene_fail "a context is taken for version 2c"
finds "$SCENE/told" "context: set version to 3, or leave it out; versions 1 and 2c have a community_suffix"
! grep -q hushhush "$SCENE/callrouterd.log" || scene_fail "the secret is in the log"
scene_ok "--check says where a variable is missing; the secret is in no log"
