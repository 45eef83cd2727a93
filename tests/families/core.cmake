# Tests of core's tools, the loader, order.h and the routers.
set(loader core/plugin.c core/elf.c core/option.c core/text.c core/err.c)
unit_test(text SOURCES core/text.c)
unit_test(words SOURCES core/text.c core/words.c core/err.c core/log.c core/boot.c)
unit_test(option SOURCES core/option.c core/text.c core/err.c)
unit_test(session SOURCES core/session.c)
target_compile_definitions(test_session PRIVATE DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/data")
unit_test(order)
unit_test(fade LIBS m)
unit_test(plugin SOURCES ${loader})
unit_test(elf SOURCES ${loader})
unit_test(routers SOURCES ${loader} core/words.c)
unit_test(routers_call SOURCES ${loader})

# The example as an author builds it: by the line in plugins.d/README.md, in a folder of his own.
add_test(NAME docs.plugin_cc_line COMMAND sh -euc [[
	line=$(grep -m 1 '^cc .*-I include' "$1/plugins.d/README.md")
	mkdir -p "$2" && cd "$2" && ln -sfn "$1/include" include && ln -sfn "$1/plugins.d" plugins.d
	rm -f example.so
	eval "$line"
	test -f example.so]] sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/author)

test_plugin(good)
test_plugin(collecting)
add_dependencies(test_plugin plugin_good plugin_collecting)
add_dependencies(test_elf plugin_good)

# Plugins with one thing wrong: tests/plugins/SOURCE.c, compiled with these macros.
function(bad_plugin name source)
	add_library(bad_${name} MODULE EXCLUDE_FROM_ALL plugins/${source}.c)
	target_include_directories(bad_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
	target_compile_definitions(bad_${name} PRIVATE ${ARGN})
	set_target_properties(bad_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} SKIP_BUILD_RPATH ON
		LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-plugins)
	add_dependencies(test_plugin bad_${name})
endfunction()
bad_plugin(no_table bad SYMBOL=nobody_looks_for_this)
bad_plugin(major_2 bad SYMBOL=cr_router_2)
bad_plugin(two_tables bad BOTH)
bad_plugin(no_head bad ABI=0)
bad_plugin(too_short bad SIZE=16)
bad_plugin(longer bad SIZE=4096 NAME="longer")
bad_plugin(minor_9 bad ABI=0x10009)
bad_plugin(minor_4 bad ABI=0x10004)
bad_plugin(minor_0 bad ABI=0x10000 "SIZE=offsetof(struct cr_router,prepare)" NAME="minor_0"
	PREPARE=prepare RELEASE=release)
bad_plugin(no_name bad NAME=NULL)
bad_plugin(bad_name bad NAME="Not-A-Name")
bad_plugin(no_version bad VERSION=NULL)
bad_plugin(no_summary bad SUMMARY="two\\nlines")
bad_plugin(no_function bad ROUTE=NULL)
bad_plugin(nobody_reads bad ROUTE=NULL RANK=rank PREPARE=prepare RELEASE=release)
bad_plugin(no_release bad PREPARE=prepare)
bad_plugin(many_words bad SHARED_WORDS=257)
bad_plugin(bad_metric bad WANTS=capital)
bad_plugin(many_columns bad COLUMNS=nine)
bad_plugin(many_needs bad NEEDS=seventy)
bad_plugin(many_metrics bad NEEDS=forty WANTS=forty)
bad_plugin(bad_options bad OPTIONS=loud)
bad_plugin(no_collect collecting COLLECT=NULL)
bad_plugin(undefined bad CALLS=undefined_function)

# It is linked with a library that the loader will not find.
bad_plugin(no_library bad CALLS=function_of_a_library)
add_library(bad_library SHARED EXCLUDE_FROM_ALL plugins/library.c)
set_target_properties(bad_library PROPERTIES OUTPUT_NAME callrouter_test
	LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-library)
target_link_libraries(bad_no_library PRIVATE bad_library)

add_library(plugin_example MODULE EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/plugins.d/example.c)
target_link_libraries(plugin_example PRIVATE callrouter_strict)
set_target_properties(plugin_example PROPERTIES PREFIX "" OUTPUT_NAME example
	LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-plugins)
add_dependencies(test_routers heap_free sorted plugin_example)
add_dependencies(test_routers_call round_robin random)

foreach(test test_plugin test_elf test_routers test_routers_call)
	target_compile_definitions(${test} PRIVATE PLUGINS_DIR="${CMAKE_BINARY_DIR}/plugins.d"
		TEST_PLUGINS_DIR="${CMAKE_BINARY_DIR}/test-plugins")
endforeach()
