# snmpsim.sh - simulated agents: a file's name is the community, or the context of version 3, that it
# answers to. To be sourced after lib.sh; scene_begin first.
# shellcheck shell=bash

# snmpsim_find: where snmpsim is; without it the scene is skipped.
snmpsim_find()
{
	snmpsim=$(command -v snmpsimd || command -v snmpsim-command-responder) || {
		echo "skipped: snmpsim is not installed (apt-get install snmpsim)"
		exit 77
	}
}

# snmpsim_data: the recordings of a WebLogic domain, in $SCENE/sim/data.
snmpsim_data()
{
	mkdir "$SCENE/sim" "$SCENE/sim/data" "$SCENE/sim/cache"
	bash "$LAB/snmpsim/make.sh" "$SCENE/sim/data" "$ROOT/tests/data/weblogic_domain.snmprec"
}

# snmpsim_start PORT: an agent with them; in version 3 to the user poller (SHA, AES).
snmpsim_start()
{
	local as=()

	# it refuses to run as root
	if [ "$(id -u)" = 0 ]; then
		as=(--process-user=nobody --process-group="$(id -gn nobody)")
		chmod 755 "$SCENE" "$SCENE/sim"
		chmod -R a+rX "$SCENE/sim/data"
		chown nobody "$SCENE/sim/cache"
	fi
	scene_spawn snmpsim "$snmpsim" --data-dir="$SCENE/sim/data" --cache-dir="$SCENE/sim/cache" \
		--variation-modules-dir=/usr/share/snmpsim/variation \
		--agent-udpv4-endpoint="127.0.0.1:$1" "${as[@]}" --v3-user=poller \
		--v3-auth-key=authpass-12345 --v3-auth-proto=SHA --v3-priv-key=privpass-12345 --v3-priv-proto=AES
}
