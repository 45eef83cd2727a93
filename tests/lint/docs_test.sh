#!/bin/bash
# docs_test.sh - what the documents and the profiles' head comments tell people to write is good: each
# yaml block is taken by `callrouterd --check` (a fragment is completed first), each profile has a place
# in docs/sources/, and no link goes nowhere.
#
#   docs_test.sh [ROOT]    another tree than this one
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
root=${1:-$here}
build=${CALLROUTER_BUILD:-$here/build/dev}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$root" || exit 1
shopt -s nullglob
pages=(README.md plugins.d/README.md docs/*.md docs/sources/*.md)
status=0
checked=0

complain()
{
	echo "$*"
	status=1
}

# Each yaml block of the pages into $dir/PAGE:LINE.block, without the indentation of its list.
cut_pages()
{
	awk -v dir="$dir" '
		FNR == 1 { out = "" }
		/^```yaml$/ { out = FILENAME; gsub("/", "+", out); out = dir "/" out ":" FNR ".block"; printf "" >out; next }
		/^```$/ { if (out != "") close(out); out = ""; next }
		out != "" { print >out }' "${pages[@]}"
}

# What stands indented in a profile's head: the lines to write. Other groups of such lines are laid over
# them, each on its own; those with a plugin stand alone. What is indented more is for other files.
cut_profiles()
{
	awk -v dir="$dir" '
		function put(text) { out = dir "/" name ":" ++n ".block"; printf "%s", text >out; close(out) }
		function cut() {
			if (group ~ /^    plugin:/)
				put(lines = group)
			else if (group != "")
				other[++n_others] = group
			group = ""
		}
		function finish(i) {
			cut()
			for (i = 1; i <= n_others; i++)
				put(lines other[i])
			n = n_others = is_head = 0
			lines = ""
		}
		FNR == 1 { if (is_head) finish(); name = FILENAME; gsub("/", "+", name); is_head = 1 }
		!is_head { next }
		/^#   [a-z]/ || (/^#    / && group != "") { group = group "    " substr($0, 5) "\n"; next }
		/^#/ { cut(); next }
		{ finish() }
		END { if (is_head) finish() }' collectors/profiles/*.yaml
}

has()
{
	grep -qE -- "$1" "$block"
}

is_snmp()
{
	local profile

	profile=$(sed -n 's/^    profile: *\([a-z0-9-]*\).*/\1/p' "$block" | head -n 1)
	has '^ *plugin: *snmp' || grep -qs '^transport: snmp' "collectors/profiles/$profile.yaml"
}

# The servers of a page that has none, with whatever variables its targets have.
servers()
{
	local vars

	vars=$(grep -oE '\$\{[a-z_]+\}' "$block" | sort -u | grep -vE '\{(host|port|name)\}' |
		sed -E 's/\$\{(.*)\}/\1: 1161/' | paste -sd,)
	echo "servers:"
	echo "  - { name: ms1, address: \"127.0.0.1:7101\", vars: { $vars } }"
	echo "  - { name: ms2, address: \"127.0.0.1:7102\", vars: { $vars } }"
}

# A whole configuration of what a block shows.
complete()
{
	if has '^servers:'; then
		cat "$block"
	elif has '^(collectors|services):'; then
		servers
		cat "$block"
		has '^services:' || echo 'services: [{ name: orders }]'
	elif has '^(router|default|smooth|health|stale_after):'; then
		servers
		echo 'services:'
		echo '  - name: orders'
		sed 's/^/    /' "$block"
	else
		servers
		echo 'services: [{ name: orders }]'
		echo 'collectors:'
		echo '  - name: shown'
		has '^    plugin:' || { is_snmp && echo '    plugin: snmp' || echo '    plugin: http'; }
		has '^    target:' || echo "    target: \"$(is_snmp && echo udp || echo http)://\${host}:1161\"" | sed 's,udp://,udp:,'
		has '^    profile:|format:' || echo '    format: json'
		cat "$block"
	fi
}

# Alternatives of one key that a block shows one after the other are checked each by itself.
take_apart()
{
	local key

	key=$(grep -oE '^(router|smooth|health|default):' "$1" | sort | uniq -d | head -n 1)
	[ -n "$key" ] || return 0
	awk -v key="$key" -v name="${1%.block}" '
		index($0, key) == 1 || n == 0 { n++ }
		{ print >(name "." n ".block") }' "$1"
	rm "$1"
}

check_block()
{
	local block=$1 place=${1##*/} file said

	place=${place%.block}
	place=${place//+//}
	if head -n 1 "$block" | grep -q '^# prometheus.yml$'; then
		command -v promtool >/dev/null || return 0
		checked=$((checked + 1))
		said=$(promtool check config "$block" 2>&1) || complain "$place: not a configuration of Prometheus: $said"
		return 0
	fi
	checked=$((checked + 1))
	# A group that this machine has.
	complete | sed "s/^group: .*/group: $(id -gn)/" >"$dir/config.yaml"
	# Secrets and other files that it names.
	for file in $(grep -oE '[a-z]+_file: *[^ ,}]+' "$dir/config.yaml" | sed 's/.*: *//'); do
		(umask 077 && echo a-good-secret >"$dir/${file##*/}")
	done
	for file in $(sed -n 's/.*profile: *\.\/\([a-z.]*\).*/\1/p' "$dir/config.yaml"); do
		cp collectors/profiles/json.yaml "$dir/$file"
	done
	said=$("$build/callrouterd" -c "$dir/config.yaml" --check --plugins-dir "$build/plugins.d" \
		--plugins-dir "$build/test-plugins" --profiles-dir collectors/profiles 2>&1) ||
		complain "$place: what it shows is not taken:
$said
$(cat -n "$dir/config.yaml")"
}

check_blocks()
{
	local block

	for block in "$dir"/*.block; do
		take_apart "$block"
	done
	for block in "$dir"/*.block; do
		check_block "$block"
	done
}

# Every profile is told of in a page about its family, in lines to copy.
check_families()
{
	local profile

	for profile in collectors/profiles/*.yaml; do
		profile=$(basename "$profile" .yaml)
		grep -qE "(profile: |#.* )$profile($|[ ,:])" "$dir"/docs+sources+*.block ||
			complain "docs/sources/: no page has lines with the profile $profile"
	done
}

# The anchors that a page has, as GitHub makes them.
anchors()
{
	awk '/^```/ { inside = !inside } !inside && /^#+ / { print }' "$1" | sed -E 's/^#+ //' |
		tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

check_links()
{
	local page link target anchor

	for page in "${pages[@]}"; do
		for link in $(awk '/^```/ { inside = !inside } !inside' "$page" | grep -oE '\]\([^) ]+\)' |
			sed -E 's/^\]\(//; s/\)$//' | grep -vE '^https?:'); do
			target=${link%%#*}
			anchor=${link#"$target"}
			target=$(dirname "$page")/${target:-$(basename "$page")}
			if [ ! -e "$target" ]; then
				complain "$page: the link $link goes nowhere"
			elif [ -n "$anchor" ] && ! anchors "$target" | grep -qxF -- "${anchor#\#}"; then
				complain "$page: $target has no heading ${anchor#\#}"
			fi
		done
	done
}

[ -x "$build/callrouterd" ] || {
	echo "no $build/callrouterd: build first"
	exit 1
}
cut_pages
cut_profiles
check_families
check_blocks
check_links
[ "$checked" -ge "${DOCS_BLOCKS_MIN:-60}" ] || complain "only $checked blocks were found"
exit $status
