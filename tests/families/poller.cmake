# What is known of the servers, and the polling of sources.
set(servers ${servers_part} core/err.c core/log.c core/text.c)
set(poller daemon/poller.c daemon/poller_callbacks.c daemon/poller_log.c daemon/poller_round.c
	daemon/poller_schedule.c daemon/poller_source.c daemon/poller_thread.c ${config_part}
	core/plugin.c core/elf.c core/option.c core/words.c ${servers})
set(poller_libs source_yaml source PkgConfig::jansson)
unit_test(servers SOURCES ${servers} LIBS PkgConfig::jansson)
unit_test(servers_scan SOURCES ${servers} LIBS PkgConfig::jansson)
unit_test(servers_put SOURCES ${servers} LIBS PkgConfig::jansson)
unit_test(servers_operator SOURCES ${servers} LIBS PkgConfig::jansson)
unit_test(poller SOURCES ${poller} LIBS ${poller_libs})
unit_test(poller_change SOURCES ${poller} LIBS ${poller_libs})
target_compile_definitions(test_poller_change PRIVATE
	TEST_PLUGINS_DIR="${CMAKE_BINARY_DIR}/test-plugins")
# daemon.cmake makes it
add_dependencies(test_poller_change plugin_made_for_1_2)
unit_test(poller_log SOURCES ${poller} LIBS ${poller_libs})
unit_test(poller_memory SOURCES ${poller} LIBS ${poller_libs})
failing_memory(poller_memory)
unit_test(poller_schedule SOURCES ${poller} LIBS ${poller_libs})
stress_test(poller SOURCES ${poller} LIBS ${poller_libs})
