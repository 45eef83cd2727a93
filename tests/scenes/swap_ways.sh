#!/bin/bash
# Every way in which people put a file into plugins.d, under load from two processes: who decides
# afterwards, one answer in the log, the same in the list of plugins, and no call that failed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/swap_lib.sh"
scene_begin swap_ways

v=$SCENE/v
PLUGIN=$SCENE/plugins.d/first.so

# by_rename FILE: as rsync and dpkg do.
by_rename()
{
	cp "$1" "$SCENE/plugins.d/.first.so.x7Rq2a"
	mv "$SCENE/plugins.d/.first.so.x7Rq2a" "$PLUGIN"
}

# in_pieces FILE SECONDS: written in place, in 20 pieces.
in_pieces()
{
	local size piece i

	size=$(stat -c %s "$1")
	piece=$((size / 20 + 1))
	: >"$PLUGIN"
	for i in {0..19}; do
		dd if="$1" bs=$piece skip="$i" count=1 status=none >>"$PLUGIN"
		sleep "$2"
	done
}

# refused VERSION IN USE TEXT...: it decides as before, and the one answer has these texts.
refused()
{
	local in_use=$1
	shift

	scene_wait 5 '[ -n "$(answers)" ]'
	one_answer "plugin refused" "$@"
	same "who decides" "$(deciders)" "s$in_use"
	same "version in the list" "$(current)" "$in_use"
	same "refused in the list" "$(plugin_of '[.generations[] | select(.state == "refused")] | length')" 1
}

# silent: nothing is said about first.so, and nothing changes, for longer than two slow looks take.
silent()
{
	local in_use=$1

	sleep 2.5
	same "answers" "$(answers)" ""
	same "who decides" "$(deciders)" "s$in_use"
}

for i in 2 3 4 5 6 7 8; do
	version $i
done
swap_begin

### Whole files

mark
cp "$v/2.so" "$PLUGIN"
taken 2
scene_ok "cp over it"

mark
cp "$v/3.so" "$SCENE/plugins.d/other.so"
mv "$SCENE/plugins.d/other.so" "$PLUGIN"
taken 3
scene_ok "mv within the folder"

mark
cp "$v/4.so" "$SCENE/elsewhere.so"
mv "$SCENE/elsewhere.so" "$PLUGIN"
taken 4
scene_ok "mv from another folder"

mark
install -m 0755 "$v/5.so" "$PLUGIN"
taken 5
scene_ok "install"

mark
by_rename "$v/6.so"
taken 6
scene_ok "a dot name, then rename"

mark
rm "$PLUGIN"
one_answer "plugin file removed" 'consequence="the loaded generation runs on"'
same "version in the list" "$(current)" 6
same "note in the list" "$(plugin_of '.generations[] | select(.state == "current") | .note')" \
	"its file was removed from the plugin directory"
same "who decides" "$(deciders)" s6
mark
cp "$v/7.so" "$PLUGIN"
taken 7
scene_ok "rm, then cp of a new one"

mark
cc -std=gnu11 -D_GNU_SOURCE -O1 -shared -fPIC -fvisibility=hidden -I "$ROOT/include" -DFIRST=8 \
	-DVERSION='"8"' -o "$PLUGIN" "$ROOT/tests/plugins/first.c"
taken 8
scene_ok "cc -o straight into plugins.d"

mark
in_pieces "$v/1.so" 0.05
taken 1
scene_ok "a writer who takes a second"

mark
(in_pieces "$v/2.so" 0.005; in_pieces "$v/3.so" 0.005)
decides s3
same "version in the list" "$(current)" 3
scene_ok "two writers, one after the other"

mark
ln -sfn "$v/4.so" "$PLUGIN"
taken 4
mark
version 5 -O2 # the file that the link names changes: only the slow look sees it
mv "$v/5.so" "$v/4.so"
taken 5
version 5
version 4
scene_ok "a symbolic link is followed"
rm "$PLUGIN"

### Nothing new

mark
by_rename "$v/4.so"
decides s4
mark
touch "$PLUGIN"
one_answer "plugin file unchanged" "version=4"
same "version in the list" "$(current)" 4
scene_ok "touch"

mark
chmod 0700 "$PLUGIN"
chmod 0755 "$PLUGIN"
cp "$v/5.so" "$SCENE/plugins.d/.first.so"
cp "$v/5.so" "$SCENE/plugins.d/first.so.tmp"
cp "$v/5.so" "$SCENE/plugins.d/first.so~"
cp "$v/5.so" "$SCENE/plugins.d/first-5.so"
silent 4
scene_ok "chmod, dot names, temporary names and backups are passed over"

### Many

mark
for i in 1 2 3 5 6 7 8 1 2 3; do
	by_rename "$v/$i.so"
	sleep 0.05
done
decides s3
same "version in the list" "$(current)" 3
scene_ok "ten in half a second: the last one wins"
mark
for i in 1 2 5 6 7 8 1 2 3 7; do
	cp "$v/$i.so" "$PLUGIN"
	sleep 0.1
done
decides s7
same "version in the list" "$(current)" 7
scene_ok "ten in a second, in place: the last one wins"

### Bad ones

echo "this is no plugin" >"$v/text.so"
mark
by_rename "$v/8.so"
decides s8
by_rename "$v/text.so"
scene_wait 5 'answers | grep "plugin refused"'
by_rename "$v/6.so"
decides s6
same "answers" "$(answers | sed 's/.*plugin \([a-z]*\) .*/\1/' | tr '\n' ' ')" "swapped refused swapped "
scene_ok "a broken one between two good ones"

mark
by_rename "$v/text.so"
refused 6 "is not a shared object (no ELF header): build it with cc -shared -fPIC"
mark
by_rename "$v/text.so"
refused 6 "is not a shared object (no ELF header): build it with cc -shared -fPIC"
scene_ok "a text file, also a second time"

mark
: >"$PLUGIN"
refused 6 "the file is empty: copy it again, whole"
scene_ok "an empty file"

mark
head -c 9000 "$v/8.so" >"$v/short.so"
cp "$v/short.so" "$PLUGIN"
refused 6 "the file is cut off after 9000 bytes"
scene_ok "a truncated file"

mark
cp "$v/8.so" "$v/arm.so"
printf '\xb7\x00' | dd of="$v/arm.so" bs=1 seek=18 conv=notrunc status=none
cp "$v/arm.so" "$PLUGIN"
refused 6 "is for ARM64, this callrouter for "
scene_ok "a file for another machine"

NAME=misnamed version 8 -DNAME='"second"'
mark
cp "$v/misnamed.so" "$PLUGIN"
refused 6 'its .name is "second": rename the file to second.so, or the plugin'
scene_ok "another name inside"

mark
chmod o+w "$PLUGIN"
cp "$v/8.so" "$PLUGIN"
refused 6 "others can write to $PLUGIN: do chmod o-w $PLUGIN"
mark
chmod o-w "$PLUGIN"
taken 8
scene_ok "a file that others can write, until they cannot"

mark
chmod o+w "$SCENE/plugins.d"
cp "$v/6.so" "$PLUGIN"
refused 8 "others can write to $SCENE/plugins.d: do chmod o-w $SCENE/plugins.d"
mark
chmod o-w "$SCENE/plugins.d"
taken 6
scene_ok "a folder in which others can write, until they cannot"

mark
cp "$v/7.so" "$PLUGIN"
taken 7
mkdir "$SCENE/plugins.new"
cp "$PLUGINS"/*.so "$SCENE/plugins.new"
cp "$v/8.so" "$SCENE/plugins.new/first.so"
mark
mv "$SCENE/plugins.d" "$SCENE/plugins.old"
mv "$SCENE/plugins.new" "$SCENE/plugins.d"
decides s8
mark
by_rename "$v/1.so"
taken 1
scene_ok "the whole folder replaced"

### Nobody noticed

for i in a b; do
	end_load $i
	holds "load $i" "$TOTALS" '.failed == 0 and .calls > 1000 and .decided.router == .calls'
done
scene_wait 5 "status_of '[.ranking[].inflight] | add' | grep -x 0"
same "faults of the daemon" "$(grep -c ' error ' "$SCENE/callrouterd.log")" \
	"$(grep -c 'error plugin refused' "$SCENE/callrouterd.log")"
scene_ok "no call failed, and none is still counted"
