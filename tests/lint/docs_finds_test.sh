#!/bin/bash
# docs_finds_test.sh - docs_test.sh takes a good tree, and finds each kind of mistake in another.
set -euo pipefail

docs_test=$(cd "$(dirname "$0")" && pwd)/docs_test.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
failed=0
export DOCS_BLOCKS_MIN=4

good_tree()
{
	rm -rf "${tree:?}"/*
	mkdir -p docs/sources plugins.d collectors/profiles
	cat >README.md <<-'X'
		# A title
		See [here](docs/sources.md#the-figures-a_b-2), [below](#a-title) and [there](https://example.org/x).
	X
	echo >plugins.d/README.md
	cat >docs/sources.md <<-'X'
		## The figures, `a_b`: 2
		```yaml
		collectors:
		  - name: page
		    plugin: http
		    profile: page
		    target: "http://${host}:${jmx}"
		    user: poller
		    password_file: poller.password
		```
		```yaml
		smooth: [jvm_heap_free_bytes]
		smooth: { busy_threads: default }
		```
	X
	cat >docs/sources/page.md <<-'X'
		```yaml
		    profile: page
		    fields: { jvm_heap_used_bytes: { unit: mib } }
		```
	X
	cat >collectors/profiles/page.yaml <<-'X'
		# A page.
		#
		#   plugin: http
		#   profile: page
		#   target: "http://${host}:${port}"
		#
		# In megabytes:
		#   fields: { jvm_heap_used_bytes: { unit: mib } }
		scope: server
		format: json
		fields:
		  jvm_heap_used_bytes: { select: /used }
	X
}

# finds NAME 'CHANGE' TEXT: with this change it fails and says so.
finds()
{
	good_tree
	eval "$2"
	if bash "$docs_test" "$tree" >"$tree/said" 2>&1; then
		echo "FAIL: $1 is not found"
		failed=1
	elif ! grep -qF -- "$3" said; then
		echo "FAIL: $1: no \"$3\" in: $(cat said)"
		failed=1
	fi
}

good_tree
bash "$docs_test" "$tree" || {
	echo "FAIL: a good tree is not taken"
	exit 1
}
finds "an unknown key" "sed -i 's/user: poller/usr: poller/' docs/sources.md" 'docs/sources.md:2'
finds "a profile that is not there" "sed -i 's/profile: page/profile: pag/' docs/sources.md" '"pag"'
finds "a mistake in a fragment" "sed -i 's/mib/megs/' docs/sources/page.md" 'docs/sources/page.md:1'
finds "the second of two alternatives" "sed -i 's/busy_threads: default/busy_threads: best/' docs/sources.md" 'docs/sources.md:11.2'
finds "a mistake in a profile's head" "sed -i 's/^#   target: .*/#   target: nowhere/' collectors/profiles/page.yaml" 'collectors/profiles/page.yaml:1'
finds "a mistake in the rest of a head" "sed -i '/^#/s/mib/megs/' collectors/profiles/page.yaml" 'collectors/profiles/page.yaml:2'
finds "a profile without a page" "cp collectors/profiles/page.yaml collectors/profiles/other.yaml" 'no page has lines with the profile other'
finds "a link to no file" "sed -i 's,sources.md#,source.md#,' README.md" 'docs/source.md#the-figures-a_b-2 goes nowhere'
finds "a link to no heading" "sed -i 's/figures-a/figure-a/' README.md" 'has no heading the-figure-a_b-2'
finds "a heading that is only in an example" "printf '%s\n' '\`\`\`' '# nowhere' '\`\`\`' '[x](#nowhere)' >>README.md" 'has no heading nowhere'
finds "an empty tree" "rm docs/sources.md; echo >README.md" 'blocks were found'
exit $failed
