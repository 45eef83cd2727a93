#!/bin/bash
# record.sh - records the heap of a real JVM under the simulator's load into tests/sim/traces.
#
# usage: record.sh [SEED...]     default: 4 11; nine minutes each. Needs two cores with nothing else to
#                                do (or root's RECORD_NICE=-15), 1 GB, and Java 17; a JRE alone
#                                compiles with the Eclipse compiler that Debian's tomcat10 brings.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
traces=$here/../../sim/traces
seconds=${RECORD_SECONDS:-260}
warm_up=${RECORD_WARM_UP:-20}
ecj=/usr/share/java/eclipse-jdt-core.jar
[ $# -gt 0 ] || set -- 4 11

# Linux weighs sessions first: start it with setsid, or the whole session runs first.
if [ -n "${RECORD_NICE:-}" ]; then
	echo "$RECORD_NICE" >"/proc/$$/autogroup"
	renice -n "$RECORD_NICE" $$ >"/dev/null"
fi

tmp=$(mktemp -d "${TMPDIR:-/tmp}/record.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

if command -v javac >/dev/null; then
	javac -d "$tmp" "$here/HeapLoad.java"
elif [ -e $ecj ]; then
	java -cp "/usr/share/java/*" org.eclipse.jdt.internal.compiler.batch.Main -17 -nowarn -proc:none \
		-d "$tmp" "$here/HeapLoad.java"
else
	echo "record.sh: no javac and no $ecj: install default-jdk-headless or tomcat10" >&2
	exit 1
fi
version=$(java -version 2>&1 | sed -n '2s/.*build \([^)]*\).*/\1/p')

# record COLLECTOR OPTION SEED
record()
{
	local file=$traces/jvm_$1_seed$3.csv

	java -Xms512m -Xmx512m "$2" -cp "$tmp" HeapLoad "$3" "$seconds" >"$tmp/all.csv"
	{
		echo "# one OpenJDK $version, -Xms512m -Xmx512m $2, on two cores; tests/lab/jvm_trace/record.sh"
		echo "# the calls of scenarios/real_jvm.conf, seed $3; the first $warm_up s are left out"
		echo "# live: what the application knows to hold; after_gc: in use after the last collection"
		awk -F, -v from="$warm_up" 'NR == 1 || $1 >= 1000 * from' "$tmp/all.csv"
	} >"$tmp/trace.csv"
	mv "$tmp/trace.csv" "$file"
	echo "record.sh: $file has $(wc -c <"$file") bytes"
}

for seed; do
	record parallel -XX:+UseParallelGC "$seed"
	record g1 -XX:+UseG1GC "$seed"
done
