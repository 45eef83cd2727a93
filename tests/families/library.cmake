# Tests of libcallrouter: what becomes of a call.
set(library core/callrouter.c core/route.c core/refresh.c core/world.c core/guests.c core/view.c
	core/plugin.c core/elf.c core/option.c core/counters.c core/counters_daemon.c
	core/snapshot_reader.c core/snapshot_writer.c core/image.c core/runfile.c core/boot.c
	core/text.c core/err.c tests/data_plane.c)
set(library_tests route route_lists route_guests route_counts route_silent fork lifecycle attach)
foreach(name ${library_tests})
	unit_test(${name} SOURCES ${library})
endforeach()
stress_test(route SOURCES ${library})

foreach(name says garbage probe)
	test_plugin(${name})
endforeach()
foreach(name ${library_tests})
	if(TARGET test_${name})
		target_compile_definitions(test_${name} PRIVATE
			PLUGINS_DIR="${CMAKE_BINARY_DIR}/plugins.d"
			TEST_PLUGINS_DIR="${CMAKE_BINARY_DIR}/test-plugins")
		add_dependencies(test_${name} plugin_says plugin_garbage plugin_probe plugin_collecting heap_free round_robin)
	endif()
endforeach()
