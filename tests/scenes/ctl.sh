#!/bin/bash
# ctl.sh - callrouterctl, command by command, against a living callrouterd.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin ctl
cluster_begin
unset NO_COLOR
export LC_ALL=C TERM=xterm

# ends STATUS ARGUMENT...: callrouterctl ends with this status; what it says is in $SCENE/out and err.
ends()
{
	local status=0 expected=$1

	shift
	timeout 15 "$CTL" --run-dir "$SCENE/run" "$@" >"$SCENE/out" 2>"$SCENE/err" || status=$?
	[ "$status" = "$expected" ] ||
		scene_fail "exit status $status, expected $expected, of: callrouterctl $*: $(cat "$SCENE/out" "$SCENE/err")"
}

# says TEXT: it said so, to a person who made a mistake.
says()
{
	finds "$SCENE/err" "$1"
	[ ! -s "$SCENE/out" ] || scene_fail "a mistake is told on standard output: $(cat "$SCENE/out")"
}

# shows FILTER: its output, with what moves masked, is the text on standard input.
shows()
{
	sed -E "$1; s/ +\$//" "$SCENE/out" >"$SCENE/got"
	cat >"$SCENE/expected"
	cmp -s "$SCENE/got" "$SCENE/expected" || scene_fail "it shows other text: $(diff "$SCENE/expected" "$SCENE/got")"
}

# router NAME CODE...: a router of our own, built and put into plugins.d.
router()
{
	{
		echo '#include <callrouter/order.h>'
		printf '%s\n' "${@:2}"
	} >"$SCENE/$1.c"
	cc -shared -fPIC -I "$ROOT/include" -o "$SCENE/$1.so" "$SCENE/$1.c"
	mv "$SCENE/$1.so" "$SCENE/plugins.d/"
}
router by_call '#include <string.h>
	static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
			 uint16_t *order, size_t n)
	{
		if (call->method.len == 4 && memcmp(call->method.ptr, "POST", 4) == 0)
			return CR_REFUSE;
		if (call->client.len == 8 && memcmp(call->client.ptr, "10.0.0.1", 8) == 0)
			return CR_DEFAULT;
		if (call->cost_bytes == 65536)
			return 1;
		for (size_t i = 0; i < call->n_params; i++)
			if (call->param[i]->name.len == 2 && memcmp(call->param[i]->name.ptr, "to", 2) == 0)
				cr_order_front(order, n, call->param[i]->value.ptr[0] - 49);
		if (call->key.len == 1)
			cr_order_front(order, n, call->key.ptr[0] - 97);
		return (int)n;
	}
	CR_ROUTER = { CR_ROUTER_HEAD("by_call", "0.1", "does what the call says"), .route = route };'
router by_session '
	static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
			 uint16_t *order, size_t n)
	{
		if (call->secondary != CR_NONE)
			cr_order_front(order, n, call->secondary);
		if (call->primary != CR_NONE)
			cr_order_front(order, n, call->primary);
		return (int)n;
	}
	CR_ROUTER = { CR_ROUTER_HEAD("by_session", "1", "goes where the session lives"), .route = route };'
router breaks '#include <stdlib.h>
	static int rank(void *self, const struct cr_view *view, uint16_t *order, size_t n, double *const *column)
	{
		abort();
	}
	CR_ROUTER = { CR_ROUTER_HEAD("breaks", "1", "crashes"), .rank = rank };'
router thinks '
	static const char *const columns[] = { "row", "half", NULL };
	static int rank(void *self, const struct cr_view *view, uint16_t *order, size_t n, double *const *column)
	{
		for (size_t i = 0; i < view->n; i++) {
			column[0][i] = i;
			column[1][i] = i / 2.0;
		}
		return (int)n;
	}
	CR_ROUTER = { CR_ROUTER_HEAD("thinks", "1", "shows what it thinks"), .columns = columns, .rank = rank };'

### Without a daemon

ends 2 status
says "callrouterctl: no callrouterd serves $SCENE/run: start it (systemctl start callrouterd, or callrouterd -c FILE --run-dir DIR), or name its run directory with --run-dir DIR"
for command in servers plugins reload "drain ms1" "weight ms1 3" "rollback heap_free"; do
	# shellcheck disable=SC2086
	ends 2 $command
	says "no callrouterd serves $SCENE/run"
done
ends 2 route shop
says "nothing is published in $SCENE/run: start callrouterd, or name its run directory with --run-dir DIR"
scene_ok "without a daemon: exit status 2, and what to do"

### status

start_heapd ms1 256
start_heapd ms2 128
start_heapd ms3 64
cat >"$CONFIG" <<-X
	cluster: looked-at
	servers:
	  - { name: admin, address: "127.0.0.1:7001", role: admin }
	  - { name: ms1, address: "127.0.0.1:$(port_of ms1)", weight: 5 }
	  - { name: ms2, address: "127.0.0.1:$(port_of ms2)", weight: 3 }
	  - { name: ms3, address: "127.0.0.1:$(port_of ms3)" }
	collectors:
	  - { name: jvm, plugin: http, profile: jolokia, target: "http://\${host}:\${port}", interval: 200ms, timeout: 200ms }
	services:
	  - { name: shop, router: heap_free, stale_after: 60s }
	  - { name: plain, servers: [ms3] }
	  - { name: calls, router: by_call }
	  - { name: broken, router: breaks, servers: [ms1, ms2] }
	  - { name: seen, router: thinks, servers: [ms1, ms2] }
	  - { name: lives, router: by_session }
	  - { name: keyed, router: hash }
X
start_daemon
scene_wait 5 '[ "$(ranking)" = "ms1 ms2 ms3" ]'
mask="s/[0-9.]+ m?s( +[0-9]+ +-)/AGE\1/; s/pid [0-9]+/pid PID/; s/up [0-9.]+ m?s/up N s/; s/127.0.0.1:[0-9]{5}/ADDRESS/
	s/HEAP SIZE  +AGE/HEAP SIZE AGE/; s/(B|-)  +AGE/\1 AGE/; s/callrouterd [0-9.]+/callrouterd VERSION/; s/generation [0-9]+/generation G/"

ends 0 status shop
shows "$mask" <<-'X'
	looked-at   callrouterd VERSION, up N s, pid PID

	shop
	  router    heap_free 1.0.0 (generation G): active
	  default   round_robin
	  calls     none yet
	  #  SERVER  STATE  HEAP FREE  HEAP SIZE AGE  INFLIGHT  SHARE  WEIGHT  ADDRESS
	  1  ms1     up     256.0 MiB  256.0 MiB AGE         0      -       5  ADDRESS
	  2  ms2     up     128.0 MiB  128.0 MiB AGE         0      -       3  ADDRESS
	  3  ms3     up      64.0 MiB   64.0 MiB AGE         0      -       1  ADDRESS
X
grep -A 3 -F '#  SERVER' "$SCENE/out" | awk '{ print index($0, " 127.0.0.1") + index($0, " ADDRESS") }' | sort -u >"$SCENE/columns"
same "places where the last column begins" "$(wc -l <"$SCENE/columns")" 1
ends 0 status
same "services" "$(grep -E '^[a-z]+$' "$SCENE/out" | xargs)" "shop plain calls broken seen lives keyed"
finds "$SCENE/out" "  router    none: the default decides every call"
finds "$SCENE/out" "  router    by_call 0.1 (generation "
finds "$SCENE/out" "): per call"
finds "$SCENE/out" "  router    breaks: not loaded"
grep -Eq '^  2  ms2 .* 1 +0\.5  127\.0\.0\.1:[0-9]+$' "$SCENE/out" || scene_fail "no columns: $(cat "$SCENE/out")"
ends 1 status shopp
says 'callrouterctl: no service "shopp" is configured; there are these: shop, plain, calls, broken'
ends 2 status a b
says "callrouterctl: status: too many arguments"
ends 2 --frobnicate
ends 2 stauts
says 'callrouterctl: no command "stauts": did you mean "status"?'
ends 2
ends 0 --help
finds "$SCENE/out" "usage: callrouterctl [--run-dir DIR] COMMAND"
ends 0 --version
ends 0 status --help
scene_ok "status is a page of aligned columns"

scene_wait 5 'ctl status --json | jq -e ".daemon.uptime_s >= 2"' # shares count from the first second on
client --calls 60 --threads 2 >"$SCENE/calls.log"
ends 0 status shop
finds "$SCENE/out" "  calls     60: 100.0 % by the router, 0.0 % by the default"
scene_wait 3 'status_of "[.ranking[].share] == [1, 0, 0]" shop | grep -x true'
ends 0 status shop
grep -Eq ' 0  100 % ' "$SCENE/out" || scene_fail "no share of 100 %: $(cat "$SCENE/out")"

### status --json

ends 0 status --json
jq -e '
	def is(keys; types): (keys_unsorted == keys) and ([.[] | type] == types);
	def count: type == "number" and . == floor and . >= 0;
	is(["cluster", "daemon", "services", "warnings"]; ["string", "object", "array", "array"])
	and .warnings == []
	and (.daemon | is(["pid", "uptime_s", "version"]; ["number", "number", "string"]) and (.pid | count) and (.uptime_s | count))
	and ([.services[].name] == ["shop", "plain", "calls", "broken", "seen", "lives", "keyed"])
	and all(.services[];
		(keys_unsorted == ["name", "router", "default", "decided", "fallback_reasons", "default_decides_now",
			"ranked_by", "stale_after_s", "ranking", "not_ranked", "warnings", "failing"])
		and .default == "round_robin"
		and (.decided | keys_unsorted == ["router", "default", "refused", "nobody"] and all(.[]; count))
		and (.fallback_reasons | type == "object" and all(.[]; count))
		and (.not_ranked == []) and (.warnings == [])
		and all(.ranking[];
			is(["position", "server", "address", "state", "weight", "inflight", "share", "metrics",
				"columns", "state_for_s", "failures_in_row", "slow_start"]; ["number", "string", "string", "string",
				"number", "number", (.share | type), "object", "object", "null", "number", "null"])
			and (.share | type == "number" or . == null) and .state == "up"
			and all(.metrics[]; is(["value", "age_s", "fresh"]; ["number", "number", "boolean"]) and .age_s >= 0 and .fresh)))
	and (.services[0] | (.router | .plugin == "heap_free" and .version == "1.0.0" and (.generation | count) and .state == "active")
		and .default_decides_now == null and .ranked_by == "router" and .stale_after_s == 60
		and .decided == { router: 60, default: 0, refused: 0, nobody: 0 } and .fallback_reasons == {}
		and ([.ranking[] | [.position, .server, .weight]] == [[1, "ms1", 5], [2, "ms2", 3], [3, "ms3", 1]])
		and (.ranking[2].metrics | keys == ["jvm_heap_available_bytes", "jvm_heap_free_bytes", "jvm_heap_free_ratio", "jvm_heap_max_bytes",
			"jvm_heap_size_bytes", "jvm_heap_used_bytes"])
		and .ranking[2].metrics.jvm_heap_size_bytes.value == 67108864)
	and (.services[1] | .router == null and .default_decides_now == "no_router" and .ranked_by == "default")
	and (.services[2].router | .version == "0.1" and .state == "per call")
	and (.services[3].router == { plugin: "breaks", version: null, generation: null, state: "not loaded" })
	and (.services[3].default_decides_now == "not_loaded")
	and (.services[:4] | all(.[].ranking[]; .columns == {}))
	and ([.services[4].ranking[].columns | tojson] == ["{\"row\":0,\"half\":0}", "{\"row\":1,\"half\":0.5}"])
' "$SCENE/out" >/dev/null || scene_fail "the document is another one: $(cat "$SCENE/out")"
ends 0 status plain --json
same "a document of one service" "$(jq -c '[.services[].name]' "$SCENE/out")" '["plain"]'
scene_ok "status --json has the fields and types that are promised"

### route

ends 0 route shop
same "a sentence" "$(cat "$SCENE/out")" "shop: router decided: ms1, ms2, ms3"
ends 0 route shop --json
same "a document" "$(jq -c . "$SCENE/out")" '{"service":"shop","decided_by":"router","reason":null,"servers":["ms1","ms2","ms3"],"not_listed":[]}'
ends 0 route plain --json
same "without a router" "$(jq -c . "$SCENE/out")" '{"service":"plain","decided_by":"default","reason":"no_router","servers":["ms3"],"not_listed":[]}'
same "of a router that is not loaded" "$(ctl route broken --json | jq -c '[.decided_by, .reason]')" '["default","not_loaded"]'
ends 0 route plain
finds "$SCENE/out" "  because the service has no router, only a default"
ends 0 route calls --param to=3 --json
same "--param" "$(jq -c .servers "$SCENE/out")" '["ms3","ms1","ms2"]'
ends 0 route calls --param a=b --param to=2 --json
same "two of them" "$(jq -c .servers "$SCENE/out")" '["ms2","ms1","ms3"]'
ends 0 route calls --key c --json
same "--key" "$(jq -c .servers "$SCENE/out")" '["ms3","ms1","ms2"]'
ends 0 route calls --cost 64KiB --json
same "--cost" "$(jq -c .servers "$SCENE/out")" '["ms1"]'
ends 0 route calls --method POST --json
same "--method" "$(jq -c . "$SCENE/out")" '{"service":"calls","decided_by":"refused","reason":"router_refused","servers":[],"not_listed":[]}'
ends 0 route calls --method POST
shows "" <<-'X'
	calls: router refused
	  because the router refused the call
X
ends 0 route calls --client 10.0.0.1 --json
same "--client" "$(jq -c '[.decided_by, .reason, (.servers | length)]' "$SCENE/out")" '["default","router_default",3]'
ends 0 route shop --count 20
shows "" <<-'X'
	shop: 20 calls, router decided 20
	  FIRST SERVER  CALLS    SHARE
	  ms1              20  100.0 %
X
ends 0 route calls --client 10.0.0.1 --count 30 --json
same "30 documents" "$(jq -c '[length, ([.[].servers[0]] | group_by(.) | map(length))]' "$SCENE/out")" '[30,[10,10,10]]'
ends 0 route shop --count 1 --json
same "--count 1" "$(jq -c '[type, length]' "$SCENE/out")" '["array",1]'
ends 1 route nowhere
says 'callrouterctl: no service "nowhere" is published: callrouterctl status shows those that are'
ends 2 route
says "callrouterctl: route: an argument is missing"
ends 2 route shop --param to
says "callrouterctl: --param to: NAME=VALUE is wanted"
ends 2 route shop --count 0
says "callrouterctl: --count 0: 1 .. 1000000 is wanted"
ends 2 route shop --cost heavy
says "callrouterctl: --cost heavy: bytes are wanted, such as 64KiB"
### route --session

for service in lives keyed; do
	scene_wait 5 "ctl route $service --json | jq -e '.decided_by == \"router\"'"
done
id=BBp9TAACMTglQ2TDFAKR4tpyXg73LZDQJ2PtT9x8htG1tWY122aa
ends 0 route lives --session "$id!ms3!ms2!1308677666322"
shows "" <<-'X'
	lives: router decided: ms3, ms2, ms1
	  session: id 52 bytes, primary ms3, secondary ms2
X
ends 0 route lives --session "$id!ms2!NONE"
shows "" <<-'X'
	lives: router decided: ms2, ms1, ms3
	  session: id 52 bytes, primary ms2, secondary none
X
ends 0 route lives --session "$id!-2032354160!ms3"
shows "" <<-'X'
	lives: router decided: ms3, ms1, ms2
	  session: id 52 bytes, primary -2032354160 (no server of lives), secondary ms3
X
ends 0 route lives --session C5DC1ECDB2B7E0703BBD4D9C2C298035.ms2 --json
same "a document" "$(jq -c '[.servers[0], .session]' "$SCENE/out")" \
	'["ms2",{"id":"C5DC1ECDB2B7E0703BBD4D9C2C298035","primary":{"name":"ms2","is_server":true},"secondary":null}]'
ends 0 route lives --session $'x!\x1b[31m\xff!ms4' --json
same "a session of any bytes" "$(jq -c .session "$SCENE/out")" \
	'{"id":"x","primary":{"name":"\u001b[31m?","is_server":false},"secondary":{"name":"ms4","is_server":false}}'
ends 0 route lives --session $'x!\x1b[31m'
finds "$SCENE/out" "  session: id 1 byte, primary ?[31m (no server of lives), secondary none"
ends 0 route lives --session "$id!ms2!ms3" --count 10
shows "" <<-'X'
	lives: 10 calls, router decided 10
	  session: id 52 bytes, primary ms2, secondary ms3
	  FIRST SERVER  CALLS    SHARE
	  ms2              10  100.0 %
X
ends 0 route lives --session "$id!ms2!ms3" --count 2 --json
same "documents of many" "$(jq -c '[.[].session]' "$SCENE/out")" '[null,null]'
for key in a b c d e f g h; do
	ctl route keyed --key "$key$id" --json | jq -c .servers
done >"$SCENE/keys"
[ "$(sort -u "$SCENE/keys" | wc -l)" -gt 1 ] || scene_fail "all keys go the same way"
for key in a b c d e f g h; do
	for servers in '' '!ms1!ms2' '!ms1!ms3' '!ms3!NONE' '!-1!-2!1308677666322'; do
		ctl route keyed --session "$key$id$servers" --json | jq -c .servers
	done | sort -u
done >"$SCENE/sessions"
cmp -s "$SCENE/keys" "$SCENE/sessions" || scene_fail "a session moves with its servers: $(diff "$SCENE/keys" "$SCENE/sessions")"
same "--key and --session" "$(ctl route keyed --session "x$id!ms1" --key "a$id" --json | jq -c .servers)" "$(head -n 1 "$SCENE/keys")"
same "--session and --key" "$(ctl route keyed --key "a$id" --session "x$id!ms1" --json | jq -c .servers)" "$(head -n 1 "$SCENE/keys")"
ends 2 route lives --session ''
says "callrouterctl: --session: the value of a session cookie is wanted, such as id!primary!secondary or id.route"
same "what route has counted" "$(status_of '.decided | tojson' shop)" '{"router":60,"default":0,"refused":0,"nobody":0}'
same "calls in progress" "$(status_of '[.ranking[].inflight] | add' shop)" 0
scene_ok "route asks a data plane, and counts nothing"

### servers, plugins

ends 0 servers
grep -Eq '^ms2 +managed +up +3 +0 +0 +0 +128\.0 MiB +[0-9.]+ m?s +[0-9]+ +0 +127\.0\.0\.1:[0-9]+ *$' "$SCENE/out" ||
	scene_fail "no line of ms2: $(cat "$SCENE/out")"
grep -Eq '^admin +admin +admin +1 +0 +0 +0 +- +- +0 +0 +127\.0\.0\.1:7001 *$' "$SCENE/out" || scene_fail "no line of admin"
grep -Eq '^jvm +http +3 +200 ms +[0-9]+ +[0-9]+ +0 ' "$SCENE/out" || scene_fail "no line of the source"
ends 0 servers --json
jq -e '(keys_unsorted == ["servers", "sources"])
	and ([.servers[] | .server] == ["admin", "ms1", "ms2", "ms3"])
	and all(.servers[]; keys_unsorted == ["server", "address", "role", "state", "weight", "weight_set", "drained", "skipped",
		"inflight", "calls", "failures", "polls", "poll_failures", "error", "failing", "metrics", "absent", "inconsistent",
		"rejected", "rejected_by",
		"check", "state_for_s", "failures_in_row", "slow_start"])
	and (.servers[0] | .role == "admin" and .metrics == {} and .polls == 0)
	and (.servers[1] | .calls == 60 and .failures == 0 and .error == null and .skipped == null and .weight_set == false)
	and (.sources | length == 1 and .[0].source == "jvm" and .[0].targets == 3)' "$SCENE/out" >/dev/null ||
	scene_fail "the document of servers: $(cat "$SCENE/out")"
ends 0 plugins
grep -Eq '^heap_free +router +[0-9]+ +1\.0\.0 +current +shop router +'"$SCENE"'/plugins\.d/heap_free\.so' "$SCENE/out" ||
	scene_fail "no line of heap_free: $(cat "$SCENE/out")"
grep -Eq '^breaks +router +[0-9]+ +1 +refused .*crashed' "$SCENE/out" || scene_fail "breaks is not refused"
ends 0 plugins --json
jq -e '(keys_unsorted == ["plugins", "processes"])
	and ([.plugins[].plugin] - ["heap_free", "round_robin", "by_call", "by_session", "hash", "breaks", "thinks", "http"] == [])
	and all(.plugins[]; keys_unsorted == ["plugin", "kind", "file", "used_by", "generations"])' "$SCENE/out" >/dev/null ||
	scene_fail "the document of plugins: $(cat "$SCENE/out")"
scene_ok "servers and plugins"

### drain, undrain, weight

ends 0 drain ms1
same "what it says" "$(cat "$SCENE/out")" "ms1 is drained: it gets no new calls until callrouterctl undrain"
scene_wait 3 '[ "$(ranking shop)" = "ms2 ms3" ]'
same "why not" "$(status_of '.not_ranked | tojson' shop)" '[{"server":"ms1","reason":"drained"}]'
ends 0 status shop
finds "$SCENE/out" "  not ranked: ms1 (drained)"
ends 0 route shop
finds "$SCENE/out" "  not listed: ms1 (drained)"
same "why not" "$(ctl route shop --json | jq -c .not_listed)" '[{"server":"ms1","reason":"drained","for_s":null}]'
for service in shop calls broken; do
	same "calls of $service that would go to ms1" "$(ctl route $service --count 100 --json | jq -c '[.[].servers[]] | index("ms1")')" null
done
ends 0 weight ms2 0
same "what it says" "$(cat "$SCENE/out")" "ms2 has weight 0 now: it gets no new calls"
scene_wait 3 '[ "$(ranking shop)" = "ms3" ]'
same "why not" "$(status_of '.not_ranked | tojson' shop)" '[{"server":"ms1","reason":"drained"},{"server":"ms2","reason":"weight 0"}]'
client --calls 30 >"$SCENE/calls.log"
same "calls that ms3 served" "$(total ms3 <"$SCENE/calls.log")" 30
ends 0 route broken
same "nobody is left" "$(head -n 1 "$SCENE/out")" "broken: nobody decided"
finds "$SCENE/out" "  because no server of the service may be contacted"
ends 0 status broken
finds "$SCENE/out" "  no server may be contacted"
ends 0 undrain ms1
same "what it says" "$(cat "$SCENE/out")" "ms1 gets calls again"
ends 0 weight ms2 7 --json
same "a document" "$(jq -c . "$SCENE/out")" '{"server":"ms2","weight":7}'
scene_wait 3 '[ "$(ranking shop)" = "ms1 ms2 ms3" ]'
same "the weight" "$(status_of '.ranking[1].weight' shop)" 7
ends 0 servers
grep -Eq '^ms2 +managed +up +7 \(set\) ' "$SCENE/out" || scene_fail "the weight is not shown as set"
ends 0 weight ms2 default
ends 0 restore ms2
same "what it says" "$(cat "$SCENE/out")" "ms2 gets calls again (it was up)"
ends 0 restore ms2 --json
same "a document" "$(jq -c . "$SCENE/out")" '{"server":"ms2","was":"up","drained":false}'
ends 1 restore ms9
says 'callrouterctl: no server "ms9" in the configuration; callrouterctl servers lists them'
ends 1 restore admin
says "callrouterctl: admin is an administration server: no call goes there anyway"
ends 2 restore
ends 1 drain ms9
says 'callrouterctl: no server "ms9" in the configuration; callrouterctl servers lists them'
ends 1 drain admin
says "callrouterctl: admin is an administration server: no call goes there anyway"
ends 2 weight ms2 101
says 'callrouterctl: "101" is no weight: 0 .. 100, or default'
ends 2 weight ms2
ends 2 drain
scene_ok "drain, undrain and weight take effect"

### Others

ends 0 reload
ends 1 rollback heap_free
says "callrouterctl: heap_free has no previous generation to go back to"
ends 1 rollback nothing
says 'callrouterctl: no plugin "nothing" is in use: see callrouterctl plugins'
ends 1 adopt "$SCENE/nowhere.so"
ends 0 check "$CONFIG" --plugins-dir "$SCENE/plugins.d"
same "what it says" "$(cat "$SCENE/out")" "$CONFIG: good: 4 servers, 1 collector, 7 services"
echo "nonsense: 1" >"$SCENE/bad.yaml"
ends 1 check "$SCENE/bad.yaml"
finds "$SCENE/err" "$SCENE/bad.yaml:1:1: unknown key \"nonsense\""
ends 0 check "$PLUGINS/sorted.so" order_by=-inflight
ends 1 check "$PLUGINS/sorted.so"
ends 1 check "$SCENE/plugins.d/breaks.so"
finds "$SCENE/err" "in rank()"
ends 2 check "$CONFIG" order_by=-inflight
# Without a file: the one that callrouterd reads by itself, if this machine has one.
etc=/etc/callrouter/callrouter.yaml
ends "$([ -e "$etc" ] && "$DAEMON" -c "$etc" --check >"$SCENE/etc" 2>&1; echo $?)" check
grep -q "^$etc:" "$SCENE/out" "$SCENE/err" || scene_fail "check does not say which file: $(cat "$SCENE/out" "$SCENE/err")"
mkdir "$SCENE/beside"
cp -L "$CTL" "$SCENE/beside/callrouterctl"
printf '#!/bin/sh\necho "$*"\n' >"$SCENE/beside/callrouterd"
chmod +x "$SCENE/beside/callrouterd"
same "what callrouterd is asked" "$("$SCENE/beside/callrouterctl" check --plugins-dir /p)" "--plugins-dir /p --check"
scene_ok "reload, rollback, adopt, check"

### The terminal

if script -qec true /dev/null </dev/null >/dev/null 2>&1; then # there may be no terminals here
	# on_terminal SECONDS COMMAND: its output on a terminal of its own.
	on_terminal()
	{
		timeout 10 script -qec "stty cols 120 rows 40; timeout --foreground -s INT $1 $2 || true" /dev/null </dev/null \
			>"$SCENE/screen" 2>&1 || true
	}
	look="'$CTL' --run-dir '$SCENE/run' status shop"
	on_terminal 5 "$look"
	grep -q $'\033\\[[0-9;]*m' "$SCENE/screen" || scene_fail "no colour on a terminal"
	on_terminal 5 "env NO_COLOR=1 $look"
	if grep -q $'\033' "$SCENE/screen"; then scene_fail "colour in spite of NO_COLOR"; fi
	on_terminal 0.7 "$look --watch --interval 200ms"
	[ "$(grep -o 'callrouterd [0-9.]*, up' "$SCENE/screen" | wc -l)" -ge 2 ] ||
		scene_fail "--watch drew less than two pages: $(cat -v "$SCENE/screen")"
	grep -q $'\033\\[?1049h' "$SCENE/screen" || scene_fail "--watch does not use a screen of its own"
	tail -c 40 "$SCENE/screen" | grep -q $'\033\\[?1049l' || scene_fail "--watch does not give the screen back"
fi
ends 0 status
if grep -q $'\033' "$SCENE/out"; then scene_fail "colour in a file"; fi
timeout -s INT 0.7 "$CTL" --run-dir "$SCENE/run" status --watch --interval 200ms --json >"$SCENE/out" || true
[ "$(jq -s 'length >= 2 and all(.cluster == "looked-at")' "$SCENE/out")" = true ] || scene_fail "--watch --json: $(cat "$SCENE/out")"
scene_ok "colours and --watch on a terminal, neither where there is none"

### Completion

# completes LINE WORDS: the last word of the line is completed to these.
completes()
{
	local got

	got=$(PATH=$(dirname "$CTL"):$PATH bash -c '
		. "$1"
		read -ra COMP_WORDS <<<"$2"
		case $2 in *" ") COMP_WORDS+=("") ;; esac
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_callrouterctl
		printf "%s\n" "${COMPREPLY[@]}" | sort | xargs' - "$ROOT/docs/completion/callrouterctl.bash" "$1")
	same "completion of \"$1\"" "$got" "$2"
}
at="callrouterctl --run-dir $SCENE/run"
completes "callrouterctl un" "undrain"
completes "callrouterctl r" "reload restore rollback route"
completes "$at status " "broken calls keyed lives plain seen shop"
completes "$at drain m" "ms1 ms2 ms3"
completes "$at restore m" "ms1 ms2 ms3"
completes "$at rollback h" "hash heap_free http"
completes "$at route shop --c" "--client --cost --count"
completes "$at route shop --se" "--session"
completes "$at servers m" "ms1 ms2 ms3"
completes "$at source " "test"
completes "$at source test j" "jvm"
completes "callrouterctl source test jvm --re" "--replay --request"
completes "callrouterctl profile show jolokia" "jolokia jolokia-bulk"
completes "callrouterctl check $SCENE/plugins.d/heap_f" "$SCENE/plugins.d/heap_free.so"
scene_ok "tab completion knows commands, options, services, servers and plugins"
