#!/bin/bash
# install.sh - what `cmake --install` puts down is complete: others can build plugins and programs
# with it, by pkg-config and by CMake; and two builds in different folders give the same plugins.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
scene_begin install

source="$SCENE/a copy"
prefix=$SCENE/prefix

# Shows what a command said only if it fails.
quietly()
{
	"$@" >"$SCENE/command.log" 2>&1 || scene_fail "failed: $*"
	rm "$SCENE/command.log"
}

cached()
{
	sed -n "s/^$1:[A-Z]*=//p" "$BUILD/CMakeCache.txt"
}

build_a_copy()
{
	local part

	mkdir "$source"
	for part in CMakeLists.txt cmake core collectors daemon dataplanes docs include plugins.d routers; do
		cp -r "$ROOT/$part" "$source/"
	done
	# The same place below the source: debug information names it.
	copy_build=$source/${BUILD#"$ROOT"/}
	quietly cmake -S "$source" -B "$copy_build" -G Ninja -DCALLROUTER_TESTS=OFF \
		-DCMAKE_BUILD_TYPE="$(cached CMAKE_BUILD_TYPE)" \
		-DCMAKE_C_COMPILER="$(cached CMAKE_C_COMPILER)" -DCMAKE_INSTALL_PREFIX="$prefix"
	quietly cmake --build "$copy_build" -j "$(nproc)"
	scene_ok "it builds in a folder with a space in its name"
}

compare_plugins()
{
	local plugin

	[ "$BUILD" = "$ROOT/${BUILD#"$ROOT"/}" ] || return 0
	for plugin in "$copy_build"/plugins.d/*.so; do
		cmp "$plugin" "$PLUGINS/${plugin##*/}" ||
			scene_fail "two builds of ${plugin##*/} differ (is $BUILD up to date?)"
	done
	scene_ok "two builds in different folders give the same plugins, byte by byte"
}

check_files()
{
	local name

	quietly cmake --install "$copy_build"
	for name in sbin/callrouterd bin/callrouterctl include/callrouter/plugin.h \
		include/callrouter/order.h include/callrouter/callrouter.h \
		lib*/**/libcallrouter.so lib*/**/pkgconfig/callrouter.pc \
		lib*/**/callrouter/plugins.d/{heap_free,sorted,round_robin,random,snmp,http}.so \
		lib/systemd/system/callrouterd.service lib/sysusers.d/callrouter.conf \
		share/bash-completion/completions/callrouterctl \
		share/callrouter/profiles/{jolokia,tomcat-status,weblogic-rest,weblogic-mib}.yaml \
		share/doc/callrouter/{config.md,sources.md,sources/tomcat.md,README.md,example.c} \
		share/man/man1/callrouterctl.1 share/man/man8/callrouterd.8; do
		compgen -G "$prefix/$name" >/dev/null || scene_fail "not installed: $name"
	done
	grep -q "^ExecStart=$prefix/sbin/callrouterd " "$prefix/lib/systemd/system/callrouterd.service" ||
		scene_fail "the service does not start the daemon that was installed"
	quietly "$prefix/bin/callrouterctl" --help
	"$prefix/bin/callrouterctl" profile show jolokia |
		cmp -s - "$prefix/share/callrouter/profiles/jolokia.yaml" ||
		scene_fail "callrouterctl does not find the installed profiles"
	scene_ok "programs, library, headers, plugins, profiles, manual pages and service are installed"
}

# The line that the authors' guide gives, to the letter, in a folder that has nothing but the source.
build_example()
{
	local line folder="$SCENE/author"

	mkdir "$folder"
	cp "$ROOT/plugins.d/example.c" "$folder/"
	line=$(grep -m 1 '^cc .*pkg-config.* example\.c$' "$ROOT/plugins.d/README.md") ||
		scene_fail "plugins.d/README.md does not tell the cc line for example.c"
	(cd "$folder" && quietly bash -c "$line")
	[ -e "$folder/example.so" ] || scene_fail "no example.so came of: $line"
	[ "$(nm -D --defined-only "$folder/example.so" | awk '{ print $3 }')" = cr_router_1 ] ||
		scene_fail "example.so exports something else than one plugin symbol"
	quietly "$prefix/bin/callrouterctl" check "$folder/example.so"
	scene_ok "the example builds as documented: $line"
}

write_program()
{
	cat >"$1/program.c" <<-'X'
		#include <stdio.h>

		#include <callrouter/callrouter.h>

		int main(int argc, char **argv)
		{
			struct cr *cr;
			char err[320];

			if (argc != 2 || cr_attach(&(struct cr_config){ .run_dir = argv[1] }, &cr, err, sizeof err) < 0)
				return 1;
			puts(cr_version());
			cr_detach(cr);
			return 0;
		}
	X
}

build_program()
{
	local folder="$SCENE/program" version

	mkdir "$folder" "$SCENE/run"
	write_program "$folder"
	# shellcheck disable=SC2046
	(cd "$folder" && quietly cc program.c -o program $(pkg-config --cflags --libs callrouter) \
		-Wl,-rpath,"$(pkg-config --variable=libdir callrouter)")
	version=$("$folder/program" "$SCENE/run")
	[ "$version" = "$(pkg-config --modversion callrouter)" ] ||
		scene_fail "the library says it is $version"
	[ -e "$(pkg-config --variable=pluginsdir callrouter)/heap_free.so" ] ||
		scene_fail "pkg-config's pluginsdir is not where the plugins are"
	scene_ok "a program builds with pkg-config and runs"
}

build_with_cmake()
{
	local folder="$SCENE/project"

	mkdir "$folder"
	write_program "$folder"
	cp "$ROOT/plugins.d/example.c" "$folder/"
	cat >"$folder/CMakeLists.txt" <<-'X'
		cmake_minimum_required(VERSION 3.20)
		project(program C)
		find_package(callrouter 1.0 REQUIRED)
		add_executable(program program.c)
		target_link_libraries(program PRIVATE callrouter::callrouter)
		add_library(example MODULE example.c)
		target_link_libraries(example PRIVATE callrouter::headers m)
		set_target_properties(example PROPERTIES PREFIX "")
	X
	quietly cmake -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
	quietly cmake --build "$folder/build"
	quietly "$folder/build/program" "$SCENE/run"
	[ -e "$folder/build/example.so" ] || scene_fail "CMake made no example.so"
	scene_ok "a program and a plugin build with find_package(callrouter)"
}

shopt -s globstar
build_a_copy
compare_plugins
check_files
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(compgen -G "$prefix/lib*/**/callrouter.pc")")
build_example
build_program
build_with_cmake
