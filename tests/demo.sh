#!/bin/bash
# demo.sh [--keep] - the whole product at work on a small cluster of real processes on loopback.
# Each step says what happens and checks that it did. Called by ./run demo, which builds first.
CALLROUTER_BUILD=${CALLROUTER_BUILD:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/release}
. "$(dirname "${BASH_SOURCE[0]}")/scenes/lib.sh"

keep=no
case "$*" in
"") ;;
--keep) keep=yes ;;
*)
	echo "usage: demo.sh [--keep]" >&2
	exit 2
	;;
esac

bold=
plain=
if [ -t 1 ]; then
	bold=$'\e[1m'
	plain=$'\e[0m'
fi

step()
{
	printf '\n%s%s%s\n' "$bold" "$*" "$plain"
}

ctl()
{
	"$CTL" --run-dir "$SCENE/run" "$@"
}

# jq over the status document of the service.
status_of()
{
	ctl status shop --json | jq -r ".services[0] | $1"
}

# The ranking in one line: "ms2 ms1 ms3".
ranking()
{
	status_of '[.ranking[].server] | join(" ")'
}

# The same with sizes: "ms2 250 MiB free, ms1 ...".
ranking_in_words()
{
	status_of '[.ranking[] | "\(.server) (\((.metrics.jvm_heap_free_bytes.value // 0) / 1048576 | floor) MiB free)"]
		| join(", ")'
}

# start_heapd NAME MIB [PORT]
start_heapd()
{
	scene_spawn "$1" "$BUILD/tests/heapd" --port "${3:-0}" --name "$1" --heap $(($2 * 1048576)) \
		--values "$SCENE/$1.values"
}

port_of_heapd()
{
	scene_wait 10 "grep -q '^ready port' $SCENE/$1.log"
	sed -n 's/^ready port \([0-9]*\).*/\1/p' "$SCENE/$1.log"
}

# One real snmpd answers for the whole domain, the admin server's row included.
start_snmpd()
{
	port[snmpd]=$(scene_port)
	cp "$BUILD/lab/weblogic_agent" "$SCENE/agent" # snmpd cannot take a path with spaces
	cat >"$SCENE/snmpd.conf" <<-X
		agentaddress udp:127.0.0.1:${port[snmpd]}
		rocommunity public 127.0.0.1 .1
		pass_persist .1.3.6.1.4.1.140.625 $SCENE/agent $SCENE/domain.values
	X
	scene_spawn domain bash -c 'cd "$1" && while :; do
		cat admin.values ms2.values >domain.new && mv domain.new domain.values; sleep 0.1; done' - "$SCENE"
	scene_wait 5 "[ -s $SCENE/domain.values ]"
	scene_spawn snmpd env MIBS= SNMPCONFPATH="$SCENE/snmp" SNMP_PERSISTENT_DIR="$SCENE/snmp" \
		/usr/sbin/snmpd -f -Lo -C -c "$SCENE/snmpd.conf" -I -smux
	scene_wait 10 "MIBS= snmpget -v2c -c public -t 0.2 -r 0 127.0.0.1:${port[snmpd]} .1.3.6.1.2.1.1.3.0"
}

start_servers()
{
	step "1. Servers: an admin server and three managed ones, each with a heap that really moves"
	start_heapd admin 512
	start_heapd ms2 256
	start_heapd ms3 64
	scene_spawn tomcat bash "$LAB/tomcat.sh" start "$SCENE/tomcat" ms1 0
	port[admin]=$(port_of_heapd admin)
	port[ms2]=$(port_of_heapd ms2)
	port[ms3]=$(port_of_heapd ms3)
	start_snmpd
	scene_wait 60 '! scene_alive tomcat'
	[ -e "$SCENE/tomcat/port" ] || scene_fail "Tomcat did not start"
	port[ms1]=$(cat "$SCENE/tomcat/port")
	scene_adopt ms1 "$(cat "$SCENE/tomcat/pid")"
	echo "  admin  127.0.0.1:${port[admin]}  administration server, 512 MiB, the MOST free heap: must never get a call"
	echo "  ms1    127.0.0.1:${port[ms1]}  a real Tomcat in a JVM of 192 MiB, polled by HTTP (its status page)"
	echo "  ms2    127.0.0.1:${port[ms2]}  lab server of 256 MiB, polled by SNMP (WebLogic's MIB from a real snmpd)"
	echo "  ms3    127.0.0.1:${port[ms3]}  lab server of 64 MiB, polled by HTTP (as Jolokia answers)"
}

write_config()
{
	mkdir "$SCENE/plugins.d" "$SCENE/run" "$SCENE/state"
	cp "$PLUGINS"/*.so "$SCENE/plugins.d/"
	(umask 077 && echo public >"$SCENE/community")
	cat >"$SCENE/callrouter.yaml" <<-X
		cluster: demo
		servers:
		  - { name: admin, address: "127.0.0.1:${port[admin]}", role: admin }
		  - { name: ms1, address: "127.0.0.1:${port[ms1]}" }
		  - { name: ms2, address: "127.0.0.1:${port[ms2]}" }
		  - { name: ms3, address: "127.0.0.1:${port[ms3]}" }
		collectors:
		  - name: tomcat
		    plugin: http
		    profile: tomcat-status
		    target: "http://\${host}:\${port}"
		    servers: [ms1]
		    user: poller
		    password_file: $SCENE/tomcat/password
		    interval: 500ms
		    timeout: 400ms
		  - name: weblogic
		    plugin: snmp
		    profile: weblogic-mib
		    target: "udp:127.0.0.1:${port[snmpd]}"
		    servers: [ms2]
		    community_file: $SCENE/community
		    interval: 500ms
		    timeout: 400ms
		  - name: jolokia
		    plugin: http
		    profile: jolokia
		    target: "http://\${host}:\${port}"
		    servers: [ms3]
		    interval: 500ms
		    timeout: 400ms
		services:
		  - name: shop
		    servers: [ms1, ms2, ms3]
		    router: heap_free
		    default: round_robin
		    stale_after: 5s
	X
}

start_daemon()
{
	step "2. callrouterd polls them and ranks them by free heap; it is in the path of no call"
	write_config
	"$DAEMON" -c "$SCENE/callrouter.yaml" --plugins-dir "$SCENE/plugins.d" --check
	scene_spawn callrouterd "$DAEMON" -c "$SCENE/callrouter.yaml" --run-dir "$SCENE/run" \
		--state-dir "$SCENE/state" --plugins-dir "$SCENE/plugins.d"
	scene_wait 10 'status_of "[.ranking[].metrics.jvm_heap_free_bytes.fresh] | all and length == 3" | grep -x true'
	scene_wait 10 'ranking | grep -x "ms2 ms1 ms3"'
	[[ $(ctl status --json) != *'"server":"admin"'* ]] || scene_fail "the admin server is ranked"
	ctl status
}

# client OPTIONS...: the example client, one line of totals.
client()
{
	"$CLIENT" --run-dir "$SCENE/run" --service shop --path '/load/call.jsp?bytes=4096&ms=2' "$@"
}

# total NAME <<<TOTALS: one figure of the client's line.
total()
{
	sed -n "s/.*\\<$1=\\([0-9]*\\).*/\\1/p"
}

call_some()
{
	local totals

	step "3. 200 HTTP calls through libcallrouter: they go where the most heap is free"
	totals=$(client --calls 200 --threads 4) || scene_fail "calls failed: $totals"
	echo "  $totals"
	[ "$(total router <<<"$totals")" = 200 ] || scene_fail "not all calls were decided by the router"
	[ "$(total ms2 <<<"$totals")" = 200 ] || scene_fail "not all calls went to ms2, which has the most free heap"
}

fill_heap()
{
	step "4. The heap of ms2 fills (240 of its 256 MiB are held): the ranking follows within two polls"
	echo "  before: $(ranking_in_words)"
	curl -sf --noproxy '*' "http://127.0.0.1:${port[ms2]}/lab/keep?mb=240" >/dev/null
	scene_wait 5 'ranking | grep -x "ms1 ms3 ms2"'
	echo "  after:  $(ranking_in_words)"
}

# The router of the README, built as the README says.
build_router()
{
	mkdir "$SCENE/author"
	awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$ROOT/README.md" >"$SCENE/author/heap_free.c"
	cc -std=c11 -O2 -Wall -Wextra -Werror -shared -fPIC -I "$ROOT/include" -o "$SCENE/author/heap_free.so" \
		"$SCENE/author/heap_free.c"
}

swap_router()
{
	local swapped

	step "5. A new router is dropped in while calls flow (the one of the README: the largest free SHARE first)"
	scene_spawn load "$CLIENT" --run-dir "$SCENE/run" --service shop --verbose --threads 4 --rate 60 \
		--path '/load/call.jsp?bytes=4096&ms=2' --seconds 600
	build_router
	ctl check "$SCENE/author/heap_free.so"
	scene_wait 5 "grep -q '^ms1 ' $SCENE/load.log"
	echo "  before: router $(status_of '"\(.router.plugin) \(.router.version)"'): $(ranking_in_words)"
	swapped=$(scene_now_ms)
	mv "$SCENE/author/heap_free.so" "$SCENE/plugins.d/heap_free.so"
	scene_wait 5 'status_of .router.version | grep -x 2.0.0'
	swapped=$(($(scene_now_ms) - swapped))
	# From now on all calls go where the new router says.
	scene_wait 5 "[ \$(tail -n 30 $SCENE/load.log | grep -c '^ms3 ') = 30 ]"
	echo "  after:  router $(status_of '"\(.router.plugin) \(.router.version)"'): $(ranking_in_words)," \
		"$swapped ms after the file was moved in"
	[ "$(ranking)" = "ms3 ms1 ms2" ] || scene_fail "the ranking is not the new router's"
	ctl plugins
}

kill_server()
{
	local line

	step "6. ms3, which gets the calls now, is killed: it is put aside, and no call fails"
	line=$(wc -l <"$SCENE/load.log")
	scene_kill ms3 KILL
	scene_wait 5 "tail -n +$((line + 20)) $SCENE/load.log | grep -q '^ms1 '"
	sleep 1
	scene_kill load TERM
	tail -n 1 "$SCENE/load.log" | sed 's/^/  /'
	[ "$SCENE_STATUS" = 0 ] || scene_fail "calls failed"
	[ "$(tail -n 1 "$SCENE/load.log" | total failed)" = 0 ] || scene_fail "calls failed"
	[ "$(tail -n 1 "$SCENE/load.log" | total failovers)" -gt 0 ] || scene_fail "no call went to its second server"
	[ "$(tail -n 1 "$SCENE/load.log" | total default)" = 0 ] || scene_fail "the default decided about calls"
	grep -q admin "$SCENE/load.log" && scene_fail "the admin server got a call"
	ctl status
}

stay_up()
{
	trap 'echo; exit 0' INT TERM
	start_heapd ms3 64 "${port[ms3]}"
	step "ms3 is started again, and all stays up until Ctrl-C. In another terminal:"
	cat <<-X
		  cd $ROOT
		  alias ctl='$CTL --run-dir $SCENE/run'
		  ctl status --watch
		  ctl servers
		  ctl route shop --count 3
		  ctl rollback heap_free      # the built-in router again
		  ctl drain ms1               # no new calls there; ctl undrain ms1
		  curl '127.0.0.1:${port[ms2]}/lab/free'              # ms2's heap is free again
		  curl '127.0.0.1:${port[ms1]}/load/keep.jsp?mb=80'   # the Tomcat holds 80 MB; ?free=1 gives them back
		  $CLIENT --run-dir $SCENE/run --service shop --path '/load/call.jsp?bytes=4096' --seconds 10 --rate 50
		  cp YOUR_ROUTER.so $SCENE/plugins.d/
	X
	scene_spawn idle sleep infinity
	wait "$(scene_pid idle)"
}

declare -A port
started=$SECONDS
scene_begin demo
start_servers
start_daemon
call_some
fill_heap
swap_router
kill_server
[ $keep = no ] || stay_up
step "All of it happened as promised, in $((SECONDS - started)) s; everything is ended and removed."
