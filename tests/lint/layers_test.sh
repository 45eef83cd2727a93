#!/bin/bash
# layers_test.sh - layers.sh finds every kind of forbidden include, and nothing in a good tree.
set -euo pipefail

layers=$(cd "$(dirname "$0")/.." && pwd)/layers.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
failed=0

# put FILE LINES...: one line each, after a first comment.
put()
{
	local file=$1
	shift
	printf '/* %s [L%s] */\n' "$file" "${tag:-1}" >"$file"
	[ $# -eq 0 ] || printf '%s\n' "$@" >>"$file"
}

good_tree()
{
	rm -rf "${tree:?}"/*
	mkdir -p include/callrouter core routers collectors/{source,resolve} daemon dataplanes/client plugins.d
	put include/callrouter/plugin.h '#include <stdint.h>'
	put include/callrouter/order.h '#include <callrouter/plugin.h>'
	put routers/a.c '#include <callrouter/order.h>' '#include <math.h>'
	put plugins.d/example.c '#include <callrouter/plugin.h>'
	tag=1 put core/low.h '#include <callrouter/plugin.h>' '#include <sys/types.h>'
	tag=2 put core/high.h '#include "low.h"'
	put core/high.c '#include "high.h"' '#include "low.h"'
	put daemon/d.h '#include "high.h"' '#include "e.h"'
	put daemon/e.h
	put daemon/d.c '#include "d.h"' '#include <event2/event.h>'
	put collectors/x.h
	put collectors/x.c '#include <curl/curl.h>' '#include "source.h"' '#include "x.h"'
	put collectors/source/source.h '#include <callrouter/plugin.h>'
	put collectors/source/source_b.h '#include "source.h"'
	put collectors/source/source_a.c '#include "low.h"' '#include "source_b.h"' '#include <yaml.h>'
	put collectors/resolve/resolve.h '#include <stdint.h>'
	put collectors/resolve/resolve.c '#include "resolve.h"' '#include "low.h"' '#include <arpa/inet.h>'
	put collectors/y.c '#include "resolve.h"'
	put daemon/s.c '#include "source.h"' '#include "resolve.h"'
	put dataplanes/client/c.c '#include <callrouter/callrouter.h>' '#include <curl/curl.h>'
}

# refused FILE LINE: the good tree with this line added to this file is found fault with, there.
refused()
{
	good_tree
	[ -e "$1" ] || put "$1"
	echo "$2" >>"$1"
	if bash "$layers" "$tree" >out 2>&1; then
		echo "FAIL: not found: $1: $2"
		failed=1
	elif ! grep -qF "${1%%/*}" out; then
		echo "FAIL: found without telling where: $1: $2"
		failed=1
	fi
}

good_tree
bash "$layers" "$tree" || { echo "FAIL: a good tree is refused"; failed=1; }
refused routers/a.c '#include <callrouter/callrouter.h>'
refused routers/a.c '#include "low.h"'
refused routers/a.c '#include <curl/curl.h>'
refused routers/a.c ' #  include <pthread.h>'
refused plugins.d/example.c '#include <unistd.h>'
refused collectors/x.c '#include "low.h"'
refused collectors/x.c '#include "source_b.h"'
refused collectors/source/source_a.c '#include "high.h"'
refused collectors/source/source_a.c '#include "x.h"'
refused collectors/resolve/resolve.c '#include "source.h"'
refused collectors/source/source_a.c '#include "resolve.h"'
refused collectors/resolve/resolve.c '#include "high.h"'
refused collectors/resolve/resolve.c '#include "x.h"'
refused collectors/x.c '#include <event2/event.h>'
refused collectors/x.c '#include <callrouter/callrouter.h>'
refused core/low.h '#include "high.h"'
refused core/low.c '#include "high.h"'
refused core/high.c '#include "d.h"'
refused core/high.c '#include <curl/curl.h>'
refused core/high.h '#include <callrouter/callrouter.h>'
refused daemon/d.c '#include "x.h"'
refused dataplanes/client/c.c '#include "low.h"'
refused dataplanes/client/c.c '#include <callrouter/plugin.h>'
refused include/callrouter/plugin.h '#include <callrouter/order.h>'
refused include/callrouter/plugin.h '#include <pthread.h>'
refused include/callrouter/order.h '#include <callrouter/callrouter.h>'
refused daemon/e.h '#include "d.h"'
good_tree
printf '/* no tag */\n' >core/low.h
bash "$layers" "$tree" >out && { echo "FAIL: a core header without its layer is accepted"; failed=1; }
exit $failed
