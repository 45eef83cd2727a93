#!/bin/bash
# prometheus.sh - a real Prometheus server that scrapes node_exporter and two real JVMs every second,
# asked for all servers at once: figures, their true age, and what happens when a target dies.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin prometheus
cluster_begin

for program in prometheus prometheus-node-exporter java; do
	command -v $program >/dev/null ||
		scene_fail "no $program: apt-get install prometheus prometheus-node-exporter default-jre-headless"
done
bash "$LAB/jvm_pages/jvm.sh" compile "$SCENE/classes" || scene_fail "JvmPages.java does not compile"
for name in ms1 ms2; do
	scene_spawn $name bash "$LAB/jvm_pages/jvm.sh" run "$SCENE/classes" 0 $name \
		-XX:+UseSerialGC -Xms64m -Xmx64m
done
for name in ms1 ms2; do
	scene_wait 20 "grep -q '^ready port' '$SCENE/$name.log' || ! scene_alive $name"
	sed -n 's/^ready port //p' "$SCENE/$name.log" >"$SCENE/$name.port"
	[ -s "$SCENE/$name.port" ] || scene_fail "the JVM $name did not start"
done

node=$(scene_port)
scene_spawn node prometheus-node-exporter --web.listen-address="127.0.0.1:$node" \
	--collector.disable-defaults --collector.meminfo
prometheus=$(scene_port)
# ms3 gives the time of its figures itself, and it is always the same: Prometheus repeats them for
# five minutes. ms9 is dead from the beginning.
cat >"$SCENE/prometheus.yml" <<-X
	global: { scrape_interval: 1s, scrape_timeout: 900ms }
	scrape_configs:
	  - job_name: node
	    static_configs: [{ targets: ["127.0.0.1:$node"], labels: { server: ms1 } }]
	  - job_name: jvm
	    metrics_path: /actuator/prometheus
	    static_configs:
	      - { targets: ["127.0.0.1:$(port_of ms1)"], labels: { server: ms1 } }
	      - { targets: ["127.0.0.1:$(port_of ms2)"], labels: { server: ms2 } }
	      - { targets: ["127.0.0.1:1"], labels: { server: ms9 } }
	  - job_name: frozen
	    metrics_path: /frozen
	    static_configs: [{ targets: ["127.0.0.1:$(port_of ms1)"], labels: { server: ms3 } }]
X
scene_spawn prometheus prometheus --config.file="$SCENE/prometheus.yml" \
	--storage.tsdb.path="$SCENE/tsdb" --web.listen-address="127.0.0.1:$prometheus"

# asked QUERY: what Prometheus itself answers, its result.
asked()
{
	curl -sf --noproxy '*' --get "http://127.0.0.1:$prometheus/api/v1/query" \
		--data-urlencode "query=$1" | jq -c .data.result
}
scene_wait 30 'asked "count by (server) (jvm_memory_used_bytes)" | jq -e "length == 3"'
scene_ok "Prometheus has scraped two JVMs, one of them under a second name with a time of its own"

### What goes wrong in a query

# query NAME QUERY: a collector with one query.
query()
{
	echo "  - { name: $1, plugin: http, target: \"http://127.0.0.1:$prometheus\", scope: group," \
		"path: /api/v1/query, query: { query: '$2' }, format: promql, key: server," \
		"fields: { jvm_heap_used_bytes: value } }"
}
servers()
{
	echo "cluster: prometheus"
	echo "servers:"
	for name in ms1 ms2; do
		echo "  - { name: $name, address: \"127.0.0.1:$(port_of $name)\" }"
	done
	echo '  - { name: ms3, address: "127.0.0.1:1" }'
	echo '  - { name: ms9, address: "127.0.0.1:2" }'
}
cat >"$SCENE/queries.yaml" <<-X
	$(servers)
	collectors:
	$(query empty 'jvm_memory_used_bytes{area="nowhere"}')
	$(query wrong 'sum by (server) (')
	$(query matrix 'jvm_memory_used_bytes[5s]')
	$(query scalar 'scalar(count(up))')
	$(query nan 'max by (server) (up) * 0 / 0')
	$(query infinite 'max by (server) (up + 1) / 0')
	$(query double 'jvm_memory_used_bytes{area="heap"}')
	services: [{ name: shop }]
X

# tries STATUS NAME: callrouterctl source test; the page is in $SCENE/page.
tries()
{
	local status=0

	timeout 20 "$CTL" --run-dir "$SCENE/run" source test "$2" -c "$SCENE/queries.yaml" \
		--plugins-dir "$SCENE/plugins.d" >"$SCENE/page" 2>&1 || status=$?
	same "status of source test $2, which says $(cat "$SCENE/page")" "$status" "$1"
}
tries 1 empty
finds "$SCENE/page" "failed: absent: the query has no result"
tries 1 wrong
finds "$SCENE/page" 'failed: reply: Prometheus says bad_data: invalid parameter "query"'
finds "$SCENE/page" "HTTP status 400"
tries 1 matrix
finds "$SCENE/page" "the query's result is a \"matrix\""
tries 1 scalar
finds "$SCENE/page" "the query's result is a scalar, which has no labels"
tries 1 nan
finds "$SCENE/page" "jvm_heap_used_bytes: nan: NaN"
tries 1 infinite
finds "$SCENE/page" "jvm_heap_used_bytes: infinite: +Inf"
tries 0 double
finds "$SCENE/page" "a second row of this name does not count"
finds "$SCENE/page" "no row of ms9"
scene_ok "no result, an error, a matrix, a scalar, NaN, infinity, two rows of one name: each is told by name"

### What goes right, and how old it is

cat >"$CONFIG" <<-X
	$(servers)
	collectors:
	  - name: prom
	    plugin: http
	    profile: prometheus-query
	    target: "http://127.0.0.1:$prometheus"
	    interval: 500ms
	    timeout: 500ms
	  - { name: host, plugin: http, profile: node-exporter, target: "http://\${host}:$node", servers: [ms1] }
	services:
	  - { name: shop, router: heap_free, stale_after: 4s }
X
start_daemon

# used FILTER SERVER: jq over what is known of a server's heap in use.
used()
{
	ctl servers --json | jq -e ".servers | map(select(.server == \"$2\"))[0].metrics.jvm_heap_used_bytes | $1"
}

# age_by_prometheus SERVER: how long ago it saw this server, in s.
age_by_prometheus()
{
	asked "time() - min by (server) (timestamp(jvm_memory_used_bytes{server=\"$1\",area=\"heap\"}))" |
		jq -r '.[0].value[1]'
}
for name in ms1 ms2; do
	get $name '/keep?mb=20'
	scene_wait 10 "used '.fresh and .value >= 20971520' $name"
done
same "size of ms1's heap" "$(ctl servers --json | jq '.servers[0].metrics.jvm_heap_size_bytes.value')" \
	"$(get ms1 /truth && sed -n 's/^committed=//p' "$SCENE/.get")"
get ms1 /drop
get ms2 '/keep?mb=15'
scene_wait 10 '[[ "$(ranking)" = "ms1 ms2"* ]]'
scene_ok "one poll brings the heaps of all servers, and the ranking follows them"

available_kib=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
scene_wait 10 'ctl servers --json | jq -e ".servers[0].metrics.host_memory_free_bytes
	| .fresh and (.value / 1024 / '"$available_kib"' | . > 0.5 and . < 2)"'
scene_ok "node_exporter says how much memory the host has free"

# The answer's own time is that of the question: only timestamp() tells that ms3 is old.
scene_wait 10 "used '(.fresh | not) and .age_s > 4' ms3"
scene_wait 10 "used '.fresh and .age_s < 4' ms1"
true_age=$(age_by_prometheus ms3)
used ". as \$of | (\$of.age_s - $true_age) | . > -2 and . < 2" ms3 >"$SCENE/.wait" ||
	scene_fail "ms3's value is $(used .age_s ms3) s old, Prometheus says $true_age s"
asked 'jvm_memory_used_bytes{server="ms3"}' | jq -e 'length > 0' >"$SCENE/.wait" ||
	scene_fail "Prometheus does not repeat ms3's value any more"
scene_ok "a value that Prometheus repeats is as old as it is: $true_age s"

scene_wait 5 'ctl servers --json | jq -e ".servers | map(select(.server == \"ms9\"))[0]
	| .metrics.jvm_heap_used_bytes == null and (.error | contains(\"no row of this server\"))"'
scene_ok "of a server that Prometheus never reached nothing is known"

### A target dies, then Prometheus

scene_kill ms2 KILL
scene_wait 15 "used '.fresh | not' ms2"
used '.value >= 20971520 and .age_s > 4' ms2 >"$SCENE/.wait" || scene_fail "ms2's last value is gone: $(used . ms2)"
used '.fresh and .age_s < 4' ms1 >"$SCENE/.wait" || scene_fail "ms1 suffers: $(used . ms1)"
ctl servers ms2 | grep -q '^fails for .*: prom: absent: .*no row of this server' ||
	scene_fail "nobody says why: $(ctl servers ms2)"
scene_ok "a dead target has no row any more: its last value ages, the others stay fresh"

scene_kill prometheus KILL
scene_wait 15 'ctl servers --json | jq -e ".sources[] | select(.source == \"prom\") | .failed.connect > 0"'
used '.value > 0' ms1 >"$SCENE/.wait" || scene_fail "ms1's last value is gone: $(used . ms1)"
scene_ok "without Prometheus the source says that nobody answers, and the last values are kept to age"
