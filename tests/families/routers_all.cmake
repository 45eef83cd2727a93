# What every router of the build keeps: the tests find them by themselves.
unit_test(routers_all SOURCES core/plugin.c core/elf.c core/option.c core/text.c core/err.c LIBS m)
unit_test(routers_lives SOURCES ${library})
set(all_routers "")
foreach(source ${router_sources})
	cmake_path(GET source STEM router)
	string(APPEND all_routers "${router},")
	foreach(name routers_all routers_lives)
		add_dependencies(test_${name} ${router})
	endforeach()
endforeach()
foreach(name routers_all routers_lives)
	target_compile_definitions(test_${name} PRIVATE PLUGINS_DIR="${CMAKE_BINARY_DIR}/plugins.d"
		ROUTERS="${all_routers}")
endforeach()

# And what shows that, and what each of them does, is written down.
add_test(NAME tree.readme COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/lint/readme_test.sh)
set_tests_properties(tree.readme PROPERTIES LABELS unit TIMEOUT 60)
