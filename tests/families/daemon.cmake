# The daemon's middle (image, seats, publisher), its rankers, and the daemon as a whole.
set(middle daemon/assemble.c daemon/roster.c daemon/seats.c daemon/generation.c daemon/stage.c
	${servers_part} ${config_part} tests/fake_ranker.c core/plugin.c core/elf.c ${counters_part}
	core/image.c core/log.c core/option.c core/text.c core/view.c core/words.c core/err.c)
set(middle_libs source_yaml source PkgConfig::jansson PkgConfig::libevent_core m)
unit_test(assemble SOURCES ${middle} LIBS ${middle_libs})
unit_test(seats SOURCES ${middle} LIBS ${middle_libs})
unit_test(publisher SOURCES daemon/publisher.c daemon/smooth.c core/snapshot_writer.c core/snapshot_reader.c ${middle}
	LIBS ${middle_libs})

unit_test(smooth SOURCES daemon/smooth.c core/image.c core/text.c core/err.c LIBS m)
unit_test(derive SOURCES daemon/derive.c)
target_compile_definitions(test_smooth PRIVATE TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data")

# They are their own rankers.
foreach(name ranker ranker_life ranker_targets)
	unit_test(${name} SOURCES daemon/ranker.c daemon/ranker_life.c daemon/ranker_now.c
		daemon/ranker_child.c daemon/ranker_collector.c daemon/ranker_facts.c
		daemon/ranker_trial.c daemon/document.c core/plugin.c core/elf.c ${counters_part}
		core/image.c core/log.c core/option.c core/text.c
		core/view.c core/words.c core/err.c LIBS PkgConfig::jansson PkgConfig::libevent_core m)
	target_compile_definitions(test_${name} PRIVATE
		TEST_PLUGINS_DIR="${CMAKE_BINARY_DIR}/test-plugins")
endforeach()
test_plugin(acts)
# library.cmake makes the other one
add_dependencies(test_ranker plugin_acts plugin_prepares)
add_dependencies(test_ranker_life plugin_acts)
test_plugin(judges)
test_plugin(made_for_1_2)
add_dependencies(test_ranker_targets plugin_judges plugin_made_for_1_2)

unit_test(catalogue SOURCES daemon/catalogue.c daemon/generation.c daemon/manifest.c daemon/stage.c
	daemon/document.c daemon/statefile.c core/log.c
	core/plugin.c core/elf.c core/option.c core/text.c core/words.c core/err.c LIBS PkgConfig::jansson)
target_compile_definitions(test_catalogue PRIVATE
	TEST_PLUGINS_DIR="${CMAKE_BINARY_DIR}/test-plugins")
add_dependencies(test_catalogue plugin_collecting)

unit_test(ranker_facts SOURCES daemon/ranker_facts.c daemon/document.c core/plugin.c core/elf.c
	core/option.c core/text.c core/err.c LIBS PkgConfig::jansson PkgConfig::libevent_core)
unit_test(census SOURCES daemon/census.c ${counters_part} core/log.c core/text.c core/err.c
	LIBS PkgConfig::libevent_core)

scene_test(domain)
scene_test(tomcats TIMEOUT 180)
scene_test(outage)
scene_test(reload)
scene_test(health_kill)
scene_test(health_eject)
scene_test(health_check)
scene_test(warnings)
scene_test(heap_max)
scene_test(backup)
scene_test(sources)
scene_test(start)
scene_test(daemon_errors)
scene_test(descriptors)
scene_test(ctl)
scene_test(collectors200 HEAVY)

# Names of hosts; also for the SNMP collector, see snmp.cmake.
set(resolve collectors/resolve/resolve.c collectors/resolve/resolve_address.c core/err.c)
unit_test(resolve SOURCES tests/lab/fake_names.c ${resolve})
stress_test(resolve SOURCES tests/lab/fake_names.c ${resolve})

# Checks of servers, what begins their lives, and what is told of them.
set(checks daemon/check.c daemon/check_list.c daemon/check_run.c daemon/roster.c ${resolve}
	core/health.c ${counters_part} core/image.c core/log.c core/text.c core/words.c)
foreach(name check check_apply)
	unit_test(${name} SOURCES ${checks} tests/lab/fake_http.c LIBS PkgConfig::libevent_core)
endforeach()
target_sources(test_check_apply PRIVATE lab/fake_names.c)
unit_test(lives SOURCES daemon/lives.c daemon/health_log.c ${checks} LIBS PkgConfig::libevent_core)
