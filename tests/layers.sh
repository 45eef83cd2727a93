#!/bin/bash
# layers.sh - who may include whom: routers see the public headers only, data planes the library's
# header only, core looks downward only, nobody looks up into the daemon.
#
# usage: layers.sh [ROOT]; prints each line that breaks the rule, exit status 1 if there is one.
set -euo pipefail
export LC_ALL=C
shopt -s nullglob

cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"
standard=" assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h
	stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h
	string.h strings.h tgmath.h time.h uchar.h wchar.h wctype.h "
# The libraries of the collectors; everything else in <> is the C library's.
collectors_use=" net-snmp/net-snmp-config.h net-snmp/net-snmp-includes.h net-snmp/library/large_fd_set.h curl/curl.h expat.h jansson.h yaml.h "
faults=0
declare -A layer # of core headers, and of core/*.c without a header of their own

fault()
{
	echo "$file:$line: includes $included: $*"
	faults=1
}

is_in()
{
	[[ $2 =~ [[:space:]]$1[[:space:]] ]]
}

# The tag "[L2]" in the first comment of a file, as a number; nothing if there is none.
tag_of()
{
	awk '/\[L[1-4]\]/ { match($0, /\[L[1-4]\]/); print substr($0, RSTART + 2, 1); exit }
		/\*\// { exit }' "$1"
}

public_header()
{
	case $file:$name in
	include/callrouter/plugin.h:callrouter/* | include/callrouter/words.h:callrouter/*)
		fault "this header stands on its own" ;;
	include/callrouter/order.h:callrouter/plugin.h | include/callrouter/callrouter.h:callrouter/*) ;;
	*:callrouter/*) fault "only plugin.h, below it, may be included here" ;;
	*) is_in "$name" "$standard" || fault "public headers need the C standard library alone" ;;
	esac
}

router()
{
	case $quote$name in
	\<callrouter/plugin.h | \<callrouter/order.h) ;;
	\"*) [ -e "routers/$name" ] || fault "there is no such header in routers/" ;;
	*) is_in "$name" "$standard" ||
		fault "a router includes <callrouter/plugin.h>, <callrouter/order.h> and the C standard library" ;;
	esac
}

# The source language and the resolver are shared with the daemon: they may use core's lowest layer.
library_needs()
{
	local folder=${file%/*}

	[[ $folder == collectors/* && (-e $folder/$name || ${layer[core/$name]:-} == 1) ]]
}

collector()
{
	case $quote$name in
	\<callrouter/plugin.h | \<callrouter/order.h) ;;
	\<callrouter/*) fault "a collector is a plugin: <callrouter/plugin.h> alone" ;;
	\"source.h | \"resolve.h) library_needs || [[ $file != collectors/*/* ]] ||
		fault "the libraries of the collectors know nothing of each other" ;;
	\"*) library_needs || [[ $file != collectors/*/* && -e collectors/$name ]] ||
		fault "a collector's own headers, source.h and resolve.h, or a library's own and the lowest of core" ;;
	\<*/* | \<expat.h | \<jansson.h | \<yaml.h)
		[[ $name == sys/* || $name == net/* || $name == netinet/* || $name == arpa/* ]] ||
			is_in "$name" "$collectors_use" || fault "not a library of the collectors" ;;
	esac
}

core()
{
	local own=${layer[$file]:-4}

	case $quote$name in
	\<callrouter/callrouter.h)
		[ "$own" -ge 3 ] || fault "only the upper layers of core know the data planes' header" ;;
	\<callrouter/*) ;;
	\"*)
		if [ ! -e "core/$name" ]; then
			fault "core includes nothing but core"
		elif [ "${layer[core/$name]}" -gt "$own" ]; then
			fault "layer ${layer[core/$name]} lies above layer $own"
		fi
		;;
	\<*/*) [[ $name == sys/* || $name == linux/* || $name == net/* || $name == netinet/* || $name == arpa/* ]] ||
		fault "core needs the C library alone" ;;
	*) is_in "$name" " jansson.h yaml.h expat.h event.h " && fault "core needs the C library alone" ;;
	esac
	return 0
}

daemon()
{
	[ "$quote" = '<' ] || [ -e "daemon/$name" ] || [ -e "core/$name" ] ||
		[[ $name == source.h || $name == source_yaml.h || $name == resolve.h || $name == secret.h ]] ||
		fault "the daemon includes its own headers, those of core, the source language's, the resolver's, and secret.h"
}

dataplane()
{
	case $quote$name in
	\<callrouter/callrouter.h) ;;
	\<callrouter/*) fault "a data plane includes <callrouter/callrouter.h> alone" ;;
	\"*) [ -e "${file%/*}/$name" ] || fault "a data plane includes its own headers only" ;;
	esac
}

check()
{
	case $file in
	include/callrouter/*) public_header ;;
	routers/* | plugins.d/*) router ;;
	collectors/*) collector ;;
	core/*) core ;;
	daemon/*) daemon ;;
	dataplanes/*) dataplane ;;
	esac
}

learn_layers()
{
	local header source

	for header in core/*.h; do
		[ -e "$header" ] || continue
		layer[$header]=$(tag_of "$header")
		if [ -z "${layer[$header]}" ]; then
			echo "$header:1: the first comment does not tell its layer, as in \"[L2]\""
			faults=1
			layer[$header]=4
		fi
		source=${header%.h}.c
		layer[$source]=${layer[$header]}
	done
	for source in core/*.c; do
		[ -n "${layer[$source]:-}" ] || layer[$source]=$(tag_of "$source")
	done
}

# Headers of one layer may include each other, but not in a circle.
circles()
{
	local folder

	for folder in core daemon collectors collectors/source collectors/resolve; do
		awk '/^#include "/ { name = FILENAME; sub(/.*\//, "", name); split($0, part, "\"");
			print name, part[2] }' "$folder"/*.h /dev/null | tsort >/dev/null || {
			echo "$folder: these headers include each other in a circle (see above)"
			faults=1
		}
	done
}

learn_layers
# Lines "file:line:<name", the bracket or quote kept: which kind of include it is.
while IFS=: read -r file line included; do
	quote=${included:0:1}
	name=${included:1}
	check
done < <(find include core routers collectors daemon dataplanes plugins.d -name '*.[ch]' -print0 2>/dev/null |
	sort -z | xargs -0r grep -Hn '^[[:space:]]*#[[:space:]]*include' |
	sed -E 's/:[[:space:]]*#[[:space:]]*include[[:space:]]*([<"])([^>"]*)[>"].*/:\1\2/')
circles
exit $faults
