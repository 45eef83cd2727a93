#!/bin/bash
# readme_test.sh - tests/README*.md name only tests that exist, and every router and capture.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
status=0

names=$(grep -oh '`[a-z_]*\.[a-z0-9_]*`' tests/README*.md | tr -d '`' | sort -u |
	grep -vE '\.(c|h|md|json|prom|xml|txt|html|csv|headers|snmprec)$')
[ "$(wc -l <<<"$names")" -gt 80 ] || {
	echo "tests/README.md: only $(wc -l <<<"$names") names of tests were found"
	status=1
}
# Names may stand on a line of their own.
known=$(cat tests/test_*.c | tr '\n' ' ' | grep -oE 'Test\([a-z0-9_]+,[[:space:]]*[a-z0-9_]+' |
	sed -E 's/Test\(//; s/,[[:space:]]*/./')
for name in $names; do
	case $name in
	scene.*) [ -e "tests/scenes/${name#scene.}.sh" ] ;;
	tree.*) grep -q "NAME $name " tests/families/tree.cmake ;;
	bench.runs) [ -e tests/bench.c ] ;;
	*) grep -qxF -- "$name" <<<"$known" ;;
	esac || {
		echo "tests/README*.md: there is no test $name"
		status=1
	}
done
for router in routers/*.c; do
	router=$(basename "$router" .c)
	grep -q "^| \`$router\` |" tests/README.md || {
		echo "tests/README.md: what shows that $router does what it should?"
		status=1
	}
done
for capture in tests/data/*; do
	capture=${capture##*/}
	case $capture in
	config_*) continue ;;
	esac
	grep -qF "\`$capture\`" tests/README*.md || {
		echo "tests/README*.md: which test replays $capture?"
		status=1
	}
done
exit $status
