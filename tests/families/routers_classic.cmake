# Tests of the classical routers: what they do, together and one by one.
set(classic core/plugin.c core/elf.c core/option.c core/text.c core/err.c)
set(classic_tests routers_classic routers_classic_turns routers_classic_least
	routers_classic_hash routers_classic_maglev)
foreach(name ${classic_tests})
	unit_test(${name} SOURCES ${classic} LIBS m)
	target_compile_definitions(test_${name} PRIVATE PLUGINS_DIR="${CMAKE_BINARY_DIR}/plugins.d")
	add_dependencies(test_${name} weighted_round_robin weighted_random least_connections
		weighted_least_connections two_choices hash)
endforeach()
