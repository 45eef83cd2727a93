#!/bin/bash
# jvm.sh - compiles and starts JvmPages.
#
#   jvm.sh compile DIR                       its classes into DIR
#   jvm.sh run DIR PORT NAME [OPTION...]     with these options of java; stays until it ends
#
# A JRE alone compiles with the Eclipse compiler that Debian's tomcat10 brings.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
ecj=/usr/share/java/eclipse-jdt-core.jar

case ${1:-} in
compile)
	mkdir -p "$2"
	if command -v javac >/dev/null; then
		javac -d "$2" "$here/JvmPages.java"
	elif [ -e $ecj ]; then
		java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "/usr/share/java/*" \
			org.eclipse.jdt.internal.compiler.batch.Main -17 -nowarn -proc:none -d "$2" \
			"$here/JvmPages.java"
	else
		echo "jvm.sh: no javac and no $ecj: apt-get install tomcat10" >&2
		exit 1
	fi
	;;
run)
	classes=$2
	arguments=("$3" "$4")
	shift 4
	exec java -XX:TieredStopAtLevel=1 "$@" -cp "$classes" JvmPages "${arguments[@]}"
	;;
*)
	echo "usage: jvm.sh compile DIR | jvm.sh run DIR PORT NAME [OPTION...]" >&2
	exit 2
	;;
esac
