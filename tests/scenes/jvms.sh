#!/bin/bash
# jvms.sh - four real JVMs, each with another collector of garbage, that serve their own heap in the
# forms of WebLogic, WildFly, Jolokia, Spring and the exporters: what each profile makes of it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster.sh"
scene_begin jvms
cluster_begin
mib=1048576

command -v java >/dev/null || scene_fail "no java: apt-get install default-jre-headless"
bash "$LAB/jvm_pages/jvm.sh" compile "$SCENE/classes" || scene_fail "JvmPages.java does not compile"

# start_jvm NAME OPTION...
start_jvm()
{
	scene_spawn "$1" bash "$LAB/jvm_pages/jvm.sh" run "$SCENE/classes" 0 "$@"
}

start_jvm ms1 -XX:+UseSerialGC -Xms64m -Xmx64m
start_jvm ms2 -XX:+UseG1GC -Xms64m -Xmx64m
# It grows, and its pools could come to more than all of it.
start_jvm ms3 -XX:+UseParallelGC -Xms32m -Xmx128m
start_jvm ms4 -XX:+UseZGC -Xms64m -Xmx64m
for name in ms1 ms2 ms3 ms4; do
	scene_wait 20 "grep -q '^ready port' '$SCENE/$name.log' || ! scene_alive $name"
	sed -n 's/^ready port //p' "$SCENE/$name.log" >"$SCENE/$name.port"
	[ -s "$SCENE/$name.port" ] || scene_fail "the JVM $name did not start"
done
scene_ok "four JVMs: Serial, G1, Parallel, ZGC"

(umask 077 && echo secret >"$SCENE/password")
target="target: \"http://\${host}:\${port}\", interval: 1s, timeout: 1s"
{
	echo "cluster: jvms"
	echo "servers:"
	for name in ms1 ms2 ms3 ms4; do
		echo "  - { name: $name, address: \"127.0.0.1:$(port_of $name)\" }"
	done
	cat <<-X
		collectors:
		  - { name: jolokia, plugin: http, profile: jolokia, $target }
		  - { name: jolokia_bulk, plugin: http, profile: jolokia-bulk, $target }
		  - { name: actuator, plugin: http, profile: actuator, $target }
		  - { name: micrometer, plugin: http, profile: micrometer, $target }
		  - { name: client, plugin: http, profile: client-java, path: /client, $target }
		  - { name: simpleclient, plugin: http, profile: simpleclient, path: /simpleclient, $target }
		  - { name: otel, plugin: http, profile: otel-jvm, path: /otel, $target }
		  - { name: weblogic, plugin: http, profile: weblogic-rest-server, $target }
		  - { name: weblogic_1036, plugin: http, profile: weblogic-rest-1036, $target }
		  - { name: wildfly, plugin: http, profile: wildfly, user: poller, password_file: password, $target }
		  - { name: domain, plugin: http, profile: weblogic-rest, servers: [ms1], target: "http://127.0.0.1:$(port_of ms1)", interval: 1s }
		services:
		  - { name: shop, router: heap_free, servers: [ms1, ms2, ms4] }
	X
} >"$CONFIG"

# tries COLLECTOR SERVER: callrouterctl source test; the page is in $SCENE/page.
tries()
{
	timeout 20 "$CTL" --run-dir "$SCENE/run" source test "$1" --server "$2" -c "$CONFIG" \
		--plugins-dir "$SCENE/plugins.d" >"$SCENE/page" 2>&1 ||
		scene_fail "source test $1 --server $2: $(cat "$SCENE/page")"
}

# figure NAME: its bytes in the page, "-" if it is not there, or nothing if it is not asked for.
figure()
{
	awk -v name="jvm_heap_$1_bytes" '$1 == name { print $2 }' "$SCENE/page"
}

# state NAME: the word at the end of its line.
state()
{
	awk -v name="jvm_heap_$1_bytes" '$1 == name { print $NF }' "$SCENE/page"
}

# truth SERVER NAME: what the JVM itself says.
truth()
{
	get "$1" /truth
	sed -n "s/^$2=//p" "$SCENE/.get"
}

# within WHAT VALUE LEAST MOST
within()
{
	case $2 in
	'' | *[!0-9]*) scene_fail "$1: \"$2\" is no number: $(cat "$SCENE/page")" ;;
	esac
	if [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
		scene_fail "$1: $2 is not in $3 .. $4: $(cat "$SCENE/page")"
	fi
}

### Before the first collection nothing is known of what one keeps

for name in ms1 ms2 ms3 ms4; do
	tries jolokia_bulk $name
	same "after a collection, $name" "$(state used_after_gc)" undefined
	within "used heap of $name" "$(figure used)" 100000 $((40 * mib))
done
scene_ok "what is in use after a collection is undefined before the first one"

### Each profile, each collector of garbage

for name in ms1 ms2 ms3 ms4; do
	get $name '/keep?mb=20'
	max=$(truth $name max)
	committed=$(truth $name committed)
	for collector in jolokia jolokia_bulk actuator micrometer client simpleclient otel weblogic \
		weblogic_1036 wildfly; do
		what="$collector of $name"
		tries $collector $name
		size=$(figure size)
		# a heap may have grown
		[ "$size" = "$committed" ] || committed=$(truth $name committed)
		same "size, $what" "$size" "$committed"
		within "used, $what" "$(figure used)" $((20 * mib)) "$size"
		case $collector-$name in
		actuator-*) same "max, $what" "$(figure max)" "" ;;
		micrometer-ms3 | otel-ms3) same "max, $what" "$(state max)" missing ;;
		*) same "max, $what" "$(figure max)" "$max" ;;
		esac
		case $collector in
		jolokia_bulk | micrometer | client | simpleclient | otel)
			within "used after a collection, $what" "$(figure used_after_gc)" $((20 * mib)) "$size"
			;;
		esac
	done
done
scene_ok "ten profiles say of four JVMs what the JVMs say of themselves"

same "the sum of G1's maxima" "$(truth ms2 pools_max)" $(($(truth ms2 max) - 2))
sum=$(truth ms3 pools_max)
[ "$sum" -gt "$(truth ms3 max)" ] || scene_fail "Parallel's pools come to $sum, no more than the heap"
scene_ok "sums of the pools' maxima are wrong with G1 and Parallel; nobody takes them"

tries domain ms1
finds "$SCENE/page" "  administration server, skipped: /adminServer is true"
same "max, domain" "$(figure max)" "$(truth ms1 max)"
scene_ok "the search over a domain leaves the administration server out"

### A daemon that polls all of it

for name in ms1 ms2 ms4; do
	get $name /drop
done
start_daemon
get ms1 '/keep?mb=35'
scene_wait 5 '[[ "$(ranking)" = *" ms1" ]]'
get ms1 /drop
get ms2 '/keep?mb=35'
scene_wait 5 '[[ "$(ranking)" = *" ms2" ]]'
scene_ok "the JVM that holds most comes last, whoever it is"
scene_wait 5 'ctl servers --json | jq -e ".servers | map(select(.server == \"ms2\"))[0].metrics
	| (.jvm_heap_used_after_gc_bytes | .fresh and .value >= 36700160)
	and (.jvm_heap_free_after_gc_bytes | .fresh and .value < 32000000)"'
scene_wait 5 'ctl servers --json | jq -e ".servers | all(.rejected == {} and .inconsistent == [])"'
scene_wait 5 'ctl servers --json | jq -e ".sources | all(.good > 0 and (.failed | del(.timeout)) == {})"'
scene_ok "what it kept at its last collection is known; no answer was bad, no value was refused"
