# Tests of libcallrouter: what becomes of a call.
set(library core/callrouter.c core/route.c core/session.c core/ticket.c core/look.c core/refresh.c core/world.c
	core/guests.c core/view.c core/plugin.c core/elf.c core/option.c ${counters_part}
	core/health.c core/snapshot_reader.c core/snapshot_writer.c core/image.c core/text.c
	core/words.c core/err.c tests/data_plane.c)
set(library_tests stress_route stress_health stress_hostile)
stress_test(route SOURCES ${library})
stress_test(health SOURCES ${library})
stress_test(hostile SOURCES ${library})
foreach(name route route_lists route_guests route_prepare route_counts route_silent fork fork_dead
	lifecycle attach health health_limits health_calls health_daemon health_look health_start
	health_waiting health_hostile session_call)
	unit_test(${name} SOURCES ${library})
	list(APPEND library_tests test_${name})
endforeach()
foreach(name says garbage probe prepares)
	test_plugin(${name})
endforeach()

foreach(test ${library_tests})
	target_compile_definitions(${test} PRIVATE PLUGINS_DIR="${CMAKE_BINARY_DIR}/plugins.d"
		TEST_PLUGINS_DIR="${CMAKE_BINARY_DIR}/test-plugins")
	add_dependencies(${test} plugin_says plugin_garbage plugin_probe plugin_prepares heap_free
		hash headroom_lite least_connections random two_choices weighted_least_connections
		round_robin weighted_random weighted_round_robin)
endforeach()
# core.cmake makes it.
add_dependencies(test_route_guests plugin_collecting)
