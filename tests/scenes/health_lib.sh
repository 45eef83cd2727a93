# health_lib.sh - what the scenes about health share; to be sourced after cluster.sh.
# shellcheck shell=bash

# write_config HEALTH [NAME...]: a service "shop" of these servers (a b c) by round robin.
write_config()
{
	local health=$1 name
	shift
	[ $# -gt 0 ] || set -- a b c
	{
		echo "servers:"
		for name; do
			echo "  - { name: $name, address: \"127.0.0.1:$(port_of "$name")\" }"
		done
		echo "services:"
		echo "  - { name: shop, default: round_robin, health: $health }"
	} >"$CONFIG"
}

# state_of NAME: up, aside, ejected ...
state_of()
{
	server_of "$1" .state
}

# server_of NAME FILTER: jq over one server of the servers document.
server_of()
{
	ctl servers --json | jq -r ".servers[] | select(.server == \"$1\") | $2"
}

# fail_calls NAME: from now on its memory is full and every call of 2 MiB fails there.
fail_calls()
{
	get "$1" "/lab/keep?mb=7"
}

# heal_calls NAME
heal_calls()
{
	get "$1" /lab/free
}

# big_client OPTION...: calls of 2 MiB, which a heap of 8 MiB takes unless it is kept full.
big_client()
{
	client --path '/call?bytes=2097152&ms=1' "$@"
}

# logs TEXT: how many lines of the daemon's log hold it.
logs()
{
	grep -cF -- "$1" "$SCENE/callrouterd.log" || true
}
