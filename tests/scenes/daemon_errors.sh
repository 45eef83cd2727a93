#!/bin/bash
# daemon_errors.sh - how callrouterd refuses to start, what it checks, and who may run and steer it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin daemon_errors
cluster_begin
chmod 755 "$SCENE" # others have to get there

# ends STATUS COMMAND...: it ends with this exit status; its output is in $SCENE/out and $SCENE/err.
ends()
{
	local status=0 expected=$1

	shift
	timeout 10 "$@" >"$SCENE/out" 2>"$SCENE/err" || status=$?
	[ "$status" = "$expected" ] ||
		scene_fail "exit status $status, expected $expected, of: $* : $(cat "$SCENE/out" "$SCENE/err")"
}

# daemon STATUS OPTION...: callrouterd with this scene's folders ends with this status.
daemon()
{
	local status=$1

	shift
	ends "$status" "$DAEMON" -c "$CONFIG" --run-dir "$SCENE/run" --state-dir "$SCENE/state" \
		--plugins-dir "$SCENE/plugins.d" "$@"
}

says()
{
	finds "$SCENE/err" "$1"
}

# Starting and --check tell the mistakes of $SCENE/expected, and no others.
tells_expected()
{
	local option

	for option in "" --check; do
		# shellcheck disable=SC2086
		daemon 1 $option
		grep -v 'not started' "$SCENE/err" >"$SCENE/mistakes" || true
		cmp -s "$SCENE/mistakes" "$SCENE/expected" ||
			scene_fail "other mistakes: $(diff "$SCENE/expected" "$SCENE/mistakes")"
	done
}

good_config()
{
	cat >"$CONFIG" <<-'X'
		servers:
		  - { name: ms1, address: "127.0.0.1:7101" }
		  - { name: ms2, address: "127.0.0.1:7102" }
		services:
		  - { name: shop, router: round_robin }
	X
}

### The command line

ends 2 "$DAEMON" --frobnicate
says "unrecognized option '--frobnicate'"
says "usage: callrouterd [-c FILE]"
ends 2 "$DAEMON" --log-level loud
says "callrouterd: --log-level loud: one of error, warn, info, debug"
ends 2 "$DAEMON" somewhere
says 'callrouterd: unexpected argument "somewhere"'
ends 2 "$DAEMON" -c
says "option requires an argument -- 'c'"
ends 0 "$DAEMON" --help
finds "$SCENE/out" "usage: callrouterd"
ends 0 "$DAEMON" --version
grep -Eqx 'callrouterd [0-9]+\.[0-9]+\.[0-9]+' "$SCENE/out" || scene_fail "no version: $(cat "$SCENE/out")"
ends 2 "$CLIENT"
says "usage: callrouter-client --service NAME"
ends 0 "$CLIENT" --help
finds "$SCENE/out" "usage: callrouter-client --service NAME"
scene_ok "a wrong command line: exit status 2 and what is right"

### The configuration

daemon 1
says "$CONFIG: cannot be opened: No such file or directory; check the path and its permissions"
says "not started error=\"$CONFIG: 1 mistake, the configuration is not applied\""
cat >"$CONFIG" <<-'X'
	servers:
	  - { name: ms1, address: "127.0.0.1" }
	  - { name: admin, address: "127.0.0.1:7001", role: boss }
	collectors:
	  - { name: jvm, plugin: round_robin, target: "http://${host}:${port}" }
	services:
	  - { name: shop, servers: [ms1, ms9], router: http, default: rund_robin }
	  - { name: shop, router: { plugin: sorted, options: { order_by: "-heap" } } }
X
cat >"$SCENE/expected" <<-X
	$CONFIG:2:27: address "127.0.0.1" has no port; write HOST:PORT, like "127.0.0.1:7001"
	$CONFIG:3:53: role "boss" is unknown; write managed or admin
	$CONFIG:5:26: plugin "round_robin" is a router, a collector is needed here
	$CONFIG:7:34: no server has the name "ms9"; did you mean "ms1"?
	$CONFIG:7:48: plugin "http" is a collector, a router is needed here
	$CONFIG:7:63: there is no plugin "rund_robin" in $SCENE/plugins.d: did you mean "round_robin"?
	$CONFIG:8:5: service "shop" is there twice, before on line 7; names must differ
	$CONFIG:8:37: plugin sorted: order_by: "-heap" is no metric, nor inflight, inflight_bytes, latency, failure_ratio, weight
X
tells_expected
ends 1 "$CTL" check "$CONFIG" --plugins-dir "$SCENE/plugins.d"
cmp -s "$SCENE/err" "$SCENE/expected" || scene_fail "callrouterctl check tells other mistakes"
scene_ok "all mistakes at once, whoever checks: exit status 1"

good_config
sed -i 's/round_robin/nowhere/' "$CONFIG"
daemon 1
says "there is no plugin \"nowhere\": no nowhere.so in $SCENE/plugins.d; put it there, or name its folder by --plugins-dir"
daemon 1 --check --plugins-dir "$SCENE/none"
says "no nowhere.so in $SCENE/plugins.d, $SCENE/none (No such file or directory); put it there"
many=()
for i in {1..20}; do
	many+=(--plugins-dir "$SCENE/plugins.d/$i")
done
daemon 1 --check "${many[@]}"
says "(No such file or directory), "
says " more; put it there"
good_config
rm -r "$SCENE/run" "$SCENE/state"
find "$SCENE" -mindepth 1 ! -name out ! -name err | sort >"$SCENE/before.list"
daemon 0 --check
same "what --check says" "$(cat "$SCENE/out")" "$CONFIG: good: 2 servers, 0 collectors, 1 service"
find "$SCENE" -mindepth 1 ! -name out ! -name err ! -name before.list | sort >"$SCENE/.after"
diff <(grep -v before.list "$SCENE/before.list") <(grep -v .after "$SCENE/.after") ||
	scene_fail "--check left something behind"
scene_ok "--check starts nothing and leaves nothing behind"

### Secrets

(umask 077 && echo public >"$SCENE/community")
cat >>"$CONFIG" <<-'X'
	collectors:
	  - { name: wls, plugin: snmp, profile: jvm-mib, target: "udp:${host}:161", community_file: community }
X
daemon 0 --check
chmod 644 "$SCENE/community"
daemon 1 --check
says "community_file: $SCENE/community has mode 644, so others than its owner and group can get at it; run chmod 640 $SCENE/community"
rm "$SCENE/community"
daemon 1 --check
says "community_file: $SCENE/community cannot be opened: No such file or directory; create it, with mode 640, or correct the path"
(umask 077 && printf '\npublic\n' >"$SCENE/community")
daemon 1 --check
says "$CONFIG:7:93: community_file: $SCENE/community has nothing in its first line; write the secret there"
(umask 077 && echo horse-battery >"$SCENE/password")
cat >"$CONFIG" <<-X
	servers:
	  - { name: ms1, address: "127.0.0.1:7101" }
	services:
	  - { name: shop, router: round_robin }
	collectors:
	  - name: wls
	    plugin: snmp
	    profile: jvm-mib
	    target: "udp:\${host}:161"
	    version: 3
	    user: poller
	    auth_password_file: password
X
daemon 1 --check
says "$CONFIG:12:25: plugin snmp: auth_password_file: not used without auth_protocol; set that as in the agent (sha-256, say), or leave it out"
cp "$CONFIG" "$SCENE/kept"
cat >>"$CONFIG" <<-'X'
	    community_file: community
	    engine_id: 0x80z
	  - name: web
	    plugin: http
	    profile: jolokia
	    target: "http://${host}:8778"
	    user: a:b
	    password_file: password
	    secret_header: Host
	    secret_header_file: password
	    ca_file: missing.pem
	    key_file: password
X
echo public | install -m 640 /dev/stdin "$SCENE/community"
cat >"$SCENE/expected" <<-X
	$CONFIG:12:25: plugin snmp: auth_password_file: not used without auth_protocol; set that as in the agent (sha-256, say), or leave it out
	$CONFIG:13:21: plugin snmp: community_file: version 3 has a user instead; leave it out, or set version to 2c
	$CONFIG:14:16: plugin snmp: engine_id "0x80z": write 5 to 32 bytes in hexadecimal
	$CONFIG:19:11: plugin http: user: "a:b" must not hold a colon
	$CONFIG:21:20: plugin http: secret_header: Host is not yours to set
	$CONFIG:23:14: plugin http: ca_file $SCENE/missing.pem: No such file or directory
	$CONFIG:24:15: plugin http: key_file needs cert_file
X
tells_expected
mv "$SCENE/kept" "$CONFIG"
sed -i 's/^\( *\)user:.*/&\n\1auth_protocol: sha-256/' "$CONFIG"
daemon 0 --check
good_config
scene_ok "secrets are in files that others cannot read, and in their first line"

### Targets

echo public | install -m 640 /dev/stdin "$SCENE/community"
cat >"$CONFIG" <<-'X'
	servers:
	  - { name: ms1, address: "127.0.0.1:7101", vars: { jmx: 8080 } }
	  - { name: ms2, address: "127.0.0.1:7102", vars: { jmx: 80800 } }
	  - { name: ms3, address: "127.0.0.1:7103", vars: { jmx: "" }, targets: { mib: "ftp:ms3:161" } }
	  - { name: ms4, address: "127.0.0.1:7104", targets: { web: "http://bob:hunter2@ms4/" } }
	services:
	  - { name: shop, router: round_robin }
	collectors:
	  - { name: web, plugin: http, profile: jolokia, target: "http://${host}:${jmx}" }
	  - { name: mib, plugin: snmp, profile: jvm-mib, target: "udp:${host}:161", community_file: community }
	  - { name: all, plugin: snmp, profile: weblogic-mib, target: "udp:10.0.0.1:99999", community_file: community }
X
cat >"$SCENE/expected" <<-X
	$CONFIG:4:80: the target for collector "mib" cannot be polled: "ftp" is no transport; write udp:HOST:PORT, tcp:HOST:PORT or udp6:[ADDRESS]:PORT
	$CONFIG:5:61: the target for collector "web" cannot be polled: it must not hold a user; use user and password_file
	$CONFIG:9:58: target cannot be polled for server "ms2" and 1 other: "80800" is no port; ports are 1 to 65535
	$CONFIG:11:63: target cannot be polled: "99999" is no port; ports are 1 to 65535
X
tells_expected
sed -i 's/80800/8081/; s/jmx: "" /jmx: 8082 /; s/ftp:ms3/tcp:ms3/; s/bob:hunter2@//; s/99999/161/' "$CONFIG"
daemon 0 --check
good_config
scene_ok "targets that nobody can poll are mistakes of the file, each told once"

# Ten thousand servers are checked by one process of each plugin.
{
	echo "servers:"
	for i in {1..10000}; do
		echo "  - { name: ms$i, address: \"10.0.$((i / 256)).$((i % 256)):7001\" }"
	done
	cat <<-'X'
		services:
		  - { name: shop, router: round_robin }
		collectors:
		  - { name: web, plugin: http, profile: jolokia, target: "http://${host}:${port}" }
		  - { name: mib, plugin: snmp, profile: jvm-mib, target: "udp:${host}:1610000", community_file: community }
	X
} >"$CONFIG"
daemon 1 --check
same "what it says" "$(cat "$SCENE/err")" \
	"$CONFIG:10006:58: target cannot be polled for server \"ms1\" and 9999 others: \"1610000\" is no port; ports are 1 to 65535"
sed -i 's/1610000/161/' "$CONFIG"
daemon 0 --check
good_config
scene_ok "20,000 targets are checked at once"

### Plugins

# plugin NAME TEXT: a router of that name that does this when it is loaded or opened.
plugin()
{
	cat >"$SCENE/$1.c" <<-X
		#include <stdlib.h>
		#include <callrouter/plugin.h>
		$2
		static int rank(void *self, const struct cr_view *view, uint16_t *order, size_t n, double *const *column)
		{
			return (int)n;
		}
		CR_ROUTER = { CR_ROUTER_HEAD("$1", "1", "for tests"), .rank = rank OPEN };
	X
	cc -shared -fPIC -I "$ROOT/include" -DOPEN="${3:-}" -o "$SCENE/plugins.d/$1.so" "$SCENE/$1.c"
}
plugin dies '__attribute__((constructor)) static void die(void) { abort(); }'
plugin opens 'static int open_it(const struct cr_open *in, void **out) { abort(); }' ', .open = open_it'
sed -i 's/round_robin/dies/' "$CONFIG"
daemon 1
says "$CONFIG:5:27: $SCENE/plugins.d/dies.so crashed, or ended its process, while it was loaded (a constructor?)"
daemon 1 --check
good_config
sed -i 's/round_robin/opens/' "$CONFIG"
daemon 1 --check
says "$CONFIG:5:27: plugin opens: $SCENE/plugins.d/opens.so crashed, or ended its process, in open()"
good_config
scene_ok "a plugin that crashes is a mistake of the file that names it"

plugin marks "__attribute__((constructor)) static void mark(void) { system(\"touch $SCENE/was_run\"); }"
sed -i 's/round_robin/marks/' "$CONFIG"
# mistrusted PATH: the plugin is a mistake, and none of its code is run.
mistrusted()
{
	chmod o+w "$1"
	for option in "" --check; do
		daemon 1 $option
		says "$CONFIG:5:27: others can write to $1: do chmod o-w $1"
	done
	chmod o-w "$1"
	[ ! -e "$SCENE/was_run" ] || scene_fail "it was loaded although others can write to $1"
}
mistrusted "$SCENE/plugins.d/marks.so"
mistrusted "$SCENE/plugins.d"
daemon 0 --check
[ -e "$SCENE/was_run" ] || scene_fail "its code leaves no trace"
rm "$SCENE/plugins.d/marks.so"
good_config
scene_ok "a plugin that others can write is a mistake of the file that names it, and is never loaded"

check=("$DAEMON" --check-plugin)
ends 0 "${check[@]}" "$PLUGINS/sorted.so" order_by=-inflight
same "what it says" "$(cat "$SCENE/out")" "$PLUGINS/sorted.so: good: router sorted 1.0.0: sorts by what order_by says"
ends 0 "$CTL" check "$PLUGINS/sorted.so" order_by=-inflight
ends 0 "${check[@]}" "$PLUGINS/http.so" profile=jolokia
finds "$SCENE/out" "$PLUGINS/http.so: good: collector http "
ends 1 "${check[@]}" "$PLUGINS/sorted.so"
says "$PLUGINS/sorted.so: refused: sorted: option \"order_by\" must be given"
ends 1 "${check[@]}" "$PLUGINS/sorted.so" order_by=heap
says "refused: sorted: order_by: \"heap\" is no metric"
ends 1 "${check[@]}" "$PLUGINS/sorted.so" order_by=inflight colour=red
says "refused: sorted: no option \"colour\""
ends 2 "${check[@]}" "$PLUGINS/sorted.so" order_by
says 'callrouterd: option "order_by" is not of the form NAME=VALUE'
ends 1 "${check[@]}" "$SCENE/nowhere.so"
says "$SCENE/nowhere.so: No such file or directory"
ends 1 "${check[@]}" "$SCENE/plugins.d/dies.so"
says "dies.so crashed, or ended its process, while it was loaded (a constructor?)"
ends 1 "${check[@]}" "$SCENE/plugins.d/opens.so"
says "opens.so crashed, or ended its process, in open()"
cp "$PLUGINS/random.so" "$SCENE/chance.so"
ends 1 "${check[@]}" "$SCENE/chance.so"
says "its .name is \"random\": rename the file to random.so, or the plugin"
head -c 9000 "$PLUGINS/random.so" >"$SCENE/chance.so"
ends 1 "${check[@]}" "$SCENE/chance.so"
says "chance.so: the file is cut off after 9000 bytes, its code or data is missing: copy it again, whole"
scene_ok "--check-plugin loads, opens and tries a plugin with its options"

### Folders

daemon 1 --run-dir "$SCENE/no/where"
says "$SCENE/no/where cannot be made: No such file or directory"
daemon 1 --state-dir "$CONFIG"
says "$CONFIG"
long=$SCENE/$(printf 'x%.0s' {1..100})
daemon 1 --run-dir "$long"
says "has a path too long for a socket"
rm -rf "$long"

start_daemon
daemon 1
says "another callrouterd serves $SCENE/run: stop it, or give --run-dir"
same "the first one" "$(ctl status --json | jq -r .daemon.pid)" "$(scene_pid callrouterd)"
scene_kill callrouterd KILL
[ -S "$SCENE/run/control.sock" ] || scene_fail "there is no stale socket to be replaced"
start_daemon
same "mode of the socket" "$(stat -c %a "$SCENE/run/control.sock")" 660
same "mode of the snapshot" "$(stat -c %a "$SCENE/run/snapshot.1")" 640
same "mode of the counters" "$(stat -c %a "$SCENE/run/counters.1")" 660
scene_kill callrouterd TERM
echo mine >"$SCENE/run/control.sock"
daemon 1
says "$SCENE/run/control.sock is not a socket: remove it"
same "a file in the socket's place" "$(cat "$SCENE/run/control.sock")" mine
rm "$SCENE/run/control.sock"
scene_ok "one daemon per run directory; a stale socket is replaced, another file is not"

### Log lines

log_lines()
{
	grep -Evc "$1" "$SCENE/err" || true
}
cp "$CONFIG" "$SCENE/good.yaml"
printf 'servers: 1\nservices: 2\n' >"$CONFIG"
JOURNAL_STREAM=8:1 daemon 1
same "lines without a priority" "$(log_lines '^<3>(configuration mistake|not started) ')" 0
same "lines" "$(wc -l <"$SCENE/err")" 3
cp "$SCENE/good.yaml" "$CONFIG"
JOURNAL_STREAM=8:1 start_daemon
scene_kill callrouterd HUP
scene_wait 5 'grep -c "^<6>configuration applied" "$SCENE/callrouterd.log" | grep -x 2'
scene_kill callrouterd TERM
: >"$SCENE/callrouterd.log"
start_daemon
scene_kill callrouterd TERM
grep -Ev '^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]{12} (info |warn |error|debug) [a-z]' "$SCENE/callrouterd.log" &&
	scene_fail "a line of the log has another form"
: >"$SCENE/callrouterd.log"
start_daemon --log-level error
scene_kill callrouterd TERM
same "log at level error" "$(cat "$SCENE/callrouterd.log")" ""
scene_ok "one line per event, with <N> for the journal"

### Relative folders

cd "$SCENE" || exit
mkdir here
cd here || exit
ln -s ../plugins.d ../callrouter.yaml .
scene_spawn callrouterd "$DAEMON" -c callrouter.yaml --run-dir run --state-dir state --plugins-dir plugins.d
cd /
scene_wait 10 '"$CTL" --run-dir "$SCENE/here/run" status --json | jq -e ".services[0].ranking | length == 2"'
same "first servers of 100 calls" "$("$CTL" --run-dir "$SCENE/here/run" route shop --count 100 --json |
	jq -c '[.[].servers[0]] | group_by(.) | map(length) | length')" 2
same "who decided" "$("$CTL" --run-dir "$SCENE/here/run" route shop --count 100 --json | jq -c '[.[].decided_by] | unique')" '["router"]'
scene_spawn other "$CLIENT" --run-dir "$SCENE/here/run" --service shop --seconds 60 --rate 5
scene_wait 5 '"$CTL" --run-dir "$SCENE/here/run" plugins --json |
	jq -e "[.processes[] | select(.program == \"callrouter-client\") | .lacks] == [null]"'
scene_kill other KILL
"$CTL" --run-dir "$SCENE/here/run" reload >"$SCENE/out"
scene_kill callrouterd TERM
same "exit status" "$SCENE_STATUS" 0
cd "$SCENE" || exit
scene_ok "relative folders, for data planes in other folders"

### Other users

if [ "$(id -u)" != 0 ]; then
	scene_ok "not root: other users are not tried"
	exit 0
fi
nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
mkdir -m 755 bin
cp -L "$DAEMON" "$CTL" "$BUILD"/libcallrouter.so* bin/
daemon=(env LD_LIBRARY_PATH="$SCENE/bin" "$SCENE/bin/callrouterd")

ends 1 "${nobody[@]}" "${daemon[@]}" -c "$CONFIG" --run-dir "$SCENE/run" --state-dir "$SCENE/state" --plugins-dir "$SCENE/plugins.d"
says "$SCENE/run cannot be written: Permission denied"
ends 1 "${nobody[@]}" "${daemon[@]}" -c "$CONFIG" --run-dir "$SCENE/run3" --state-dir "$SCENE/state" --plugins-dir "$SCENE/plugins.d"
says "$SCENE/run3 cannot be made: Permission denied"
(umask 077 && echo public >"$SCENE/community")
cp "$CONFIG" secret.yaml
echo 'collectors: [{ name: wls, plugin: snmp, profile: jvm-mib, target: "udp:${host}:161", community_file: community }]' >>secret.yaml
ends 1 "${nobody[@]}" "${daemon[@]}" -c secret.yaml --plugins-dir "$SCENE/plugins.d" --check
says "community_file: $SCENE/community cannot be opened: Permission denied; let the daemon's user read it"
chmod 600 "$CONFIG"
ends 1 "${nobody[@]}" "${daemon[@]}" -c "$CONFIG" --plugins-dir "$SCENE/plugins.d" --check
says "$CONFIG: cannot be opened: Permission denied; check the path and its permissions"
chmod 644 "$CONFIG"
scene_ok "what may not be read or written is told"

install -d -o nobody -g nogroup his
scene_spawn callrouterd "${nobody[@]}" "${daemon[@]}" -c "$CONFIG" --run-dir "$SCENE/his/run" \
	--state-dir "$SCENE/his/state" --plugins-dir "$SCENE/plugins.d"
his=("${nobody[@]}" env LD_LIBRARY_PATH="$SCENE/bin" "$SCENE/bin/callrouterctl" --run-dir "$SCENE/his/run")
scene_wait 10 '"${his[@]}" status --json | jq -e ".services[0].ranking | length == 2"'
same "his own drain" "$("${his[@]}" drain ms1 --json | jq -c .)" '{"server":"ms1","drained":true}'
same "a route" "$("${his[@]}" route shop --json | jq -c .servers)" '["ms2"]'
same "owners" "$(stat -c %U his/run/* his/state/* | sort -u)" nobody
ctl --run-dir "$SCENE/his/run" undrain ms1 >"$SCENE/out" || scene_fail "root may not undrain"
scene_kill callrouterd TERM
scene_ok "a normal user runs it in folders of his own; root may steer it"

start_daemon
as_group=(setpriv --reuid=nobody --regid=0 --clear-groups env LD_LIBRARY_PATH="$SCENE/bin" "$SCENE/bin/callrouterctl" --run-dir "$SCENE/run")
ends 0 "${as_group[@]}" status
finds "$SCENE/out" "ms1"
for command in "drain ms1" "undrain ms1" "weight ms1 5" reload "rollback round_robin" "adopt $SCENE/plugins.d/round_robin.so"; do
	# shellcheck disable=SC2086
	ends 1 "${as_group[@]}" $command
	says "callrouterctl: \"${command%% *}\" is for root and the user that callrouterd runs as (uid 0); you are uid $(id -u nobody): try it with sudo"
done
same "servers that may be contacted" "$(status_of '[.ranking[].weight] | tojson')" '[1,1]'
ends 1 "${nobody[@]}" env LD_LIBRARY_PATH="$SCENE/bin" "$SCENE/bin/callrouterctl" --run-dir "$SCENE/run" status
says "callrouterctl: $SCENE/run/control.sock may only be used by root, callrouterd's user and its group: try it with sudo, or join the group"
scene_ok "the group may look; changes are for root and the daemon's user"
